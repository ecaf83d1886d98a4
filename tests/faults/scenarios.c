/*
 * The runs in which the faults are made. Each has what the others lack, since
 * each call is tried with each of its errors, and a run makes a thousand calls.
 */
#include "scenario.h"

#define RESOURCES                                                              \
	"--lock=L", "--cleanup=C", "--cleanup=D", "--name=r", "--registry=R"
#define PATIENCE "--kill-after=20ms", "--idle-after-exit=10ms"

#define WORDS(...)                                                             \
	(const char *const[])                                                  \
	{                                                                      \
		__VA_ARGS__, NULL                                              \
	}

const struct scenario scenarios[] = {
	{ .name = "timeout",
	  .status = 124,
	  .arguments = WORDS(RESOURCES, PATIENCE, "--idle-timeout=60",
	                     "--tee=T", "--report=J", "--timeout=100ms"),
	  .command = WORDS("litter", "C", "D"),
	  .is_registered = true,
	  .cleans_up = true },
	{ .name = "exit",
	  .status = 7,
	  .arguments = WORDS(RESOURCES, PATIENCE, "--idle-timeout=60",
	                     "--tee=T", "--report=J"),
	  .command = WORDS("litter", "C", "D", "20", "7"),
	  .output = "ready ",
	  .is_registered = true,
	  .cleans_up = true },
	{ .name = "plain",
	  .status = 7,
	  .arguments = WORDS(PATIENCE),
	  .command = WORDS("litter", "C", "D", "20", "7"),
	  .output = "ready " },
	/* Nothing has to be stopped, and the output is not read. */
	{ .name = "end",
	  .status = 3,
	  .arguments = WORDS(RESOURCES, "--report=J"),
	  .command = WORDS("act", "lock=C", "dir=D", "say=done", "exit=3"),
	  .output = "done",
	  .is_registered = true,
	  .cleans_up = true },
	{ .name = "pty",
	  .status = 124,
	  .arguments = WORDS("--pty", PATIENCE, "--timeout=100ms"),
	  .command = WORDS("act", "size", "session", "live"),
	  .output = STAGE_SIZE_TEXT,
	  .stage = STAGE_TERMINAL },
	/* Without a terminal, into a file. */
	{ .name = "capture",
	  .status = 7,
	  .arguments = WORDS("--pty", PATIENCE),
	  .command = WORDS("act", "say=done", "session", "exit=7"),
	  .output = "done\n" },
	{ .name = "idle",
	  .status = 124,
	  .arguments = WORDS(PATIENCE, "--heartbeat=50ms",
	                     "--idle-timeout=80ms", "--tee=T", "--until=never"),
	  .command = WORDS("act", "say=ready", "live") },
	{ .name = "until",
	  .status = 0,
	  .other = 124,
	  .arguments = WORDS(PATIENCE, "--until=dy", "--until-grace=20ms",
	                     "--idle-timeout=4", "--tee=T"),
	  .command = WORDS("act", "say=ready", "session", "live"),
	  .output = "ready\n" },
	{ .name = "leave",
	  .status = 3,
	  .arguments = WORDS("--survivors=leave", "--lock=L", PATIENCE),
	  .command = WORDS("act", "child", "say=done", "exit=3"),
	  .output = "done\n",
	  .lets_go = true },
	{ .name = "wait",
	  .status = 3,
	  .arguments = WORDS("--lock=L", "--lock-wait=20", PATIENCE),
	  .command = WORDS("act", "exit=3"),
	  .stage = STAGE_FREED },
	{ .name = "kept",
	  .status = 75,
	  .arguments = WORDS("--lock=L", "--lock-wait=30ms"),
	  .command = WORDS("act", "exit=3"),
	  .stage = STAGE_KEPT,
	  .subject = SUBJECT_REFUSED },
	{ .name = "held",
	  .status = 75,
	  .arguments = WORDS("--lock=L", "--lock-wait=30ms", "--report=J",
	                     "--name=r", "--registry=R"),
	  .command = WORDS("act", "exit=3"),
	  .stage = STAGE_HELD,
	  .subject = SUBJECT_REFUSED },
	{ .name = "personality",
	  .status = 124,
	  .arguments = WORDS("-k", "0.4"),
	  .operand = "0.1",
	  .command = WORDS("litter", "C", "D"),
	  .subject = SUBJECT_TIMEOUT },
	{ .name = "cancel",
	  .status = 0,
	  .arguments = WORDS("--cancel=r", "--registry=R"),
	  .stage = STAGE_RUN,
	  .subject = SUBJECT_CANCEL,
	  .cleans_up = true },
	{ .name = "reap",
	  .status = 0,
	  .arguments = WORDS("--reap", "--registry=R"),
	  .stage = STAGE_ORPHANS,
	  .subject = SUBJECT_REAP,
	  .cleans_up = true },
};
const size_t scenario_count = sizeof(scenarios) / sizeof(scenarios[0]);

const char *const scenario_staged_arguments[] = { RESOURCES, PATIENCE, NULL };
