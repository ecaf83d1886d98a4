#pragma once

#include <sys/types.h>

struct strbuf;

#define CMDLINE_MAX  1000 /* the WIDTH of what need not be short */
#define CMDLINE_SIZE (CMDLINE_MAX + 1)

/*
 * Appends PID's command line to LINE, as a shell would take it; "[comm]" as
 * ps(1) does where there is none, or where WIDTH is 0; "?" where PID is gone.
 * The program is named without its directory. What is longer than WIDTH bytes
 * loses the middle of its paths, and then its end; but not the name of the
 * script, the first operand of an interpreter, for which it gets wider.
 *
 * The arguments are in the process's own memory, and to read them is to wait
 * for its mmap_lock (get_cmdline() in the kernel): for ever, if one of its
 * threads hangs with it. The name never has to be waited for.
 */
void cmdline_add(struct strbuf *line, pid_t pid, int width);
