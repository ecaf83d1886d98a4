#pragma once

#include <sys/types.h>

struct strbuf;

/*
 * Appends PID's command line to LINE, quoted for a shell; "[comm]", as ps(1)
 * does, if PID has none or WIDTH is 0; "?" if PID is gone. The program's
 * absolute path loses its directory. A text longer than WIDTH bytes loses its
 * middle, and one that is too long to be read its end.
 *
 * The arguments are in PID's memory: reading them waits for PID's mmap_lock
 * (get_mm_cmdline() in the kernel), for ever if a thread hangs with that lock.
 * Reading "comm" never waits.
 */
void cmdline_add(struct strbuf *line, pid_t pid, int width);
