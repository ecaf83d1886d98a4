#ifndef WDRUN_OPTIONTABLE_H
#define WDRUN_OPTIONTABLE_H

/* What the options are: for getopt_long(3), for --help and for messages. */

#define ACCEPTED_DURATIONS "250ms, 1.5, 30m, never"

/*
 * ROW(id, letter or 0, long name, argument or NULL, what it does)
 * in the order of --help. An id is the letter where there is one.
 */
#define ROWS(ROW)                                                              \
	ROW('t', "timeout", "DUR", "stop COMMAND after DUR (never)")           \
	ROW('i', "idle-timeout", "DUR",                                        \
	    "stop it after DUR without output (never)")                        \
	ROW(ID_IDLE_UNLESS_BUSY, "idle-unless-busy", NULL,                     \
	    "not while it computes, reads or writes")                          \
	ROW('u', "until", "TEXT", "TEXT in the output: the work is done")      \
	ROW(ID_UNTIL_GRACE, "until-grace", "DUR",                              \
	    "then stop it after DUR, status 0 (30s)")                          \
	ROW('k', "kill-after", "DUR", "SIGKILL, DUR after a stop (5s)")        \
	ROW('s', "signal", "SIG", "first signal of a stop (TERM)")             \
	ROW('p', "preserve-status", NULL, "its own status even on a timeout")  \
	ROW(ID_IDLE_AFTER_EXIT, "idle-after-exit", "DUR",                      \
	    "stop survivors idle for DUR (2s)")                                \
	ROW(ID_MAX_AFTER_EXIT, "max-after-exit", "DUR",                        \
	    "stop survivors after DUR (10s)")                                  \
	ROW(ID_SURVIVORS, "survivors", "kill|wait|leave",                      \
	    "what becomes of them (kill)")                                     \
	ROW(ID_DIE_WITH_PARENT, "die-with-parent", NULL,                       \
	    "stop when the caller dies")                                       \
	ROW('f', "foreground", NULL, "stay in the caller's process group")     \
	ROW(ID_SETSID, "setsid", NULL, "get a session of its own")             \
	ROW(ID_PTY, "pty", NULL, "give it a terminal of its own")              \
	ROW(ID_TEE, "tee", "FILE", "append a copy of its output to FILE")      \
	ROW(ID_NO_STDIN, "no-stdin", NULL, "stdin is /dev/null; own session")  \
	ROW(ID_HEARTBEAT, "heartbeat", "DUR",                                  \
	    "a line after each DUR of silence (never)")                        \
	ROW(ID_REPORT, "report", "FILE",                                       \
	    "write how it ended to FILE, as JSON")                             \
	ROW('l', "lock", "FILE", "hold FILE for the run (repeatable)")         \
	ROW('w', "lock-wait", "DUR", "wait for a held lock (0)")               \
	ROW('E', "lock-exit", "CODE", "status when it stays held (75)")        \
	ROW('c', "cleanup", "FILE", "remove COMMAND's own lock (repeatable)")  \
	ROW('n', "name", "NAME", "put the run on record, as NAME")             \
	ROW(ID_REGISTRY, "registry", "DIR", "the record's directory")          \
	ROW(ID_LIST, "list", NULL, "show the runs on record and exit")         \
	ROW(ID_JSON, "json", NULL, "show them as JSON")                        \
	ROW(ID_CANCEL, "cancel", "RUN", "stop that run and exit")              \
	ROW(ID_REAP, "reap", NULL, "end what killed runs have left and exit")  \
	ROW('q', "quiet", NULL, "say nothing")                                 \
	ROW('v', "verbose", NULL, "tell every decision")                       \
	ROW('h', "help", NULL, "show this help and exit")                      \
	ROW('V', "version", NULL, "show the version and exit")

enum {
	ID_FIRST_LONG = 256, /* beyond every letter */
	ID_IDLE_AFTER_EXIT = ID_FIRST_LONG,
	ID_MAX_AFTER_EXIT,
	ID_SURVIVORS,
	ID_DIE_WITH_PARENT,
	ID_SETSID,
	ID_NO_STDIN,
	ID_IDLE_UNLESS_BUSY,
	ID_UNTIL_GRACE,
	ID_PTY,
	ID_TEE,
	ID_REGISTRY,
	ID_LIST,
	ID_JSON,
	ID_CANCEL,
	ID_REAP,
	ID_HEARTBEAT,
	ID_REPORT,
};

#endif
