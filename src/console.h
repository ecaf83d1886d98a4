#ifndef WDRUN_CONSOLE_H
#define WDRUN_CONSOLE_H

#include <sys/types.h>

struct run;

/*
 * The caller's terminal under --pty, while a keyboard (see keyboard.h) has it.
 * Without one, all of this does nothing. For the front, if nothing else is
 * said.
 */

/* Starts the keyboard. Returns 0, or -1 with errno of fork(2). */
int console_start(struct run *run);

/* Around a stop of the job: has the keyboard put the terminal's modes back, and
 * take it again. The first waits until that is done, if not for long. */
void console_release(struct run *run);
void console_take(struct run *run);

/* Puts the modes back, where the keyboard cannot any more. For both watchers.
 */
void console_restore(struct run *run);

/* PID was reaped. If it was the keyboard, killed by somebody, that is told. */
void console_note_death(struct run *run, pid_t pid);

/* Ends the keyboard. */
void console_end(struct run *run);

#endif
