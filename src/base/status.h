#pragma once

/* The exit statuses of wdrun's own: EXIT STATUS of wdrun(1). Those from 124 on
 * are also timeout(1)'s and the shell's. */
enum {
	STATUS_NOT_HAD = 1, /* --cancel: there is no such run */
	STATUS_LOCKED = 75, /* EX_TEMPFAIL of sysexits.h */
	STATUS_TIMED_OUT = 124,
	STATUS_FAILED = 125,
	STATUS_CANNOT_RUN = 126,
	STATUS_NOT_FOUND = 127,
	STATUS_SIGNAL_BASE = 128, /* plus the number of the signal */
};
