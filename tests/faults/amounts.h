#pragma once

#include <stdbool.h>

/* What may leak. */
struct amounts {
	long descriptors; /* of this process */
	long resident;    /* its memory */
	long files;       /* open, of the machine */
	long shared;      /* shared memory of the machine */
};

struct amounts amounts_measure(void);

/*
 * Whether AFTER is no more than BEFORE, except for what other processes on this
 * machine may have taken meanwhile.
 */
bool amounts_are_no_more(const struct amounts *before,
                         const struct amounts *after);

/*
 * Measures, and repeats that for a while as long as it is more than BEFORE: the
 * kernel frees some things later.
 */
struct amounts amounts_remeasure(const struct amounts *before);

void amounts_print(const struct amounts *before, const struct amounts *after);
