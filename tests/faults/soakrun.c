/* The runs of the soak. */
#include "soakrun.h"

#include <fcntl.h>

#include "../programs/bounded.h"
#include "../programs/trial.h"

#define MOMENTS (150 * MILLISECOND) /* kills come until so long after it */

struct one_run
soak_make(uint64_t *state)
{
	struct one_run run = {
		.kind = (enum kind)(random_number(state) % KIND_COUNT),
		.status = (int)(random_number(state) % 100),
		.moment = (int64_t)(random_number(state) % MOMENTS),
	};

	if (random_number(state) % 3 == 0)
		run.victim = (enum victim)(random_number(state) % 4);
	/* Without an entry no process could find what both watchers left. */
	if (run.victim == VICTIM_BOTH)
		run.kind = KIND_RESOURCES;
	return run;
}

#define WDRUN_AND_BOUNDS                                                       \
	wdrun, wdrun, "--kill-after=20ms", "--idle-after-exit=10ms", "--quiet"

static _Noreturn void
execute_litter(const struct one_run *run, int number)
{
	const char *const wdrun = getenv("WDRUN");
	char files[3][32];
	char cleanups[2][32];
	char status[16];
	char program[TEXT_MAX];

	(void)snprintf(files[0], 32, "--lock=L%d", number);
	(void)snprintf(files[1], 32, "C%d", number);
	(void)snprintf(files[2], 32, "D%d", number);
	(void)snprintf(cleanups[0], 32, "--cleanup=C%d", number);
	(void)snprintf(cleanups[1], 32, "--cleanup=D%d", number);
	(void)snprintf(status, sizeof(status), "%d", run->status);
	(void)snprintf(program, sizeof(program), "%s/litter",
	               getenv("PROGRAMS"));
	(void)execl(WDRUN_AND_BOUNDS, "--name=soak", "--registry=R", files[0],
	            cleanups[0], cleanups[1], program, files[1], files[2], "20",
	            status, NULL);
	give_up(wdrun);
}

_Noreturn void
soak_execute(const struct one_run *run, int number)
{
	const char *const wdrun = getenv("WDRUN");
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char script[64];

	if (null == -1 || dup2(null, STDIN_FILENO) == -1 ||
	    dup2(null, STDOUT_FILENO) == -1)
		give_up("/dev/null");
	(void)snprintf(script, sizeof(script), "%sexit %d",
	               run->kind == KIND_RELAY ? "echo; sleep .02; " : "",
	               run->status);

	switch (run->kind) {
	case KIND_BARE:
		(void)execl(WDRUN_AND_BOUNDS, "sh", "-c", script, NULL);
		break;
	case KIND_RELAY:
		(void)execl(WDRUN_AND_BOUNDS, "--idle-timeout=60", "sh", "-c",
		            script, NULL);
		break;
	case KIND_RESOURCES:
	case KIND_COUNT:
		execute_litter(run, number);
	}
	give_up(wdrun);
}
