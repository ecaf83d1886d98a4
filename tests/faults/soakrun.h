#pragma once

#include <stdint.h>
#include <sys/types.h>

enum kind { KIND_BARE, KIND_RELAY, KIND_RESOURCES, KIND_COUNT };

enum victim {
	VICTIM_NONE,
	VICTIM_FRONT,
	VICTIM_SUPERVISOR,
	VICTIM_BOTH,
};

struct one_run {
	enum kind kind;
	enum victim victim;
	int status;     /* the command's */
	int64_t moment; /* of the kill */
	pid_t front;    /* 0 once it was reaped */
	int ended_by;   /* its wait status */
};

/* Returns a random run. */
struct one_run soak_make(uint64_t *state);

/* Becomes wdrun. The files of the run have NUMBER in their name. */
_Noreturn void soak_execute(const struct one_run *run, int number);
