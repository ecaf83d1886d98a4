#pragma once

/* Exit statuses of wdrun's own. From 124 on, timeout(1) and the shell agree. */
enum {
	STATUS_NOT_HAD = 1, /* no such run or process; --reap: a run is left */
	STATUS_TIMED_OUT = 124,
	STATUS_FAILED = 125,
	STATUS_CANNOT_RUN = 126,
	STATUS_NOT_FOUND = 127,
	STATUS_SIGNAL_BASE = 128, /* plus the number of the signal */
};
