#ifndef WDRUN_LISTENER_H
#define WDRUN_LISTENER_H

#include <stdint.h>

struct run;

/*
 * The clocks that go by the command's output. Nothing ticks for them: the
 * relays note the time of what they carry, and a clock that runs out is set
 * again if there was something since.
 */

/*
 * Notes what survivors could keep a reader of the output waiting with. It is
 * asked for as a pipe or a socket first: fstat(2) on any file might have to
 * wait for a file system that hangs.
 */
void listener_note_output(struct run *run);

/* Sets the first of these clocks, the command having been started at NOW. */
void listener_begin(struct run *run, int64_t now);

/* Looks at what the relays tell, passes on a lost reader, and sets the clocks.
 * One that is due after that, is due. */
void listener_attend(struct run *run, int64_t now);

#endif
