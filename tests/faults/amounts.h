#ifndef AMOUNTS_H
#define AMOUNTS_H

#include <stdbool.h>

/* What may leak. */
struct amounts {
	long descriptors; /* of this process */
	long resident;    /* its memory */
	long files;       /* open, of the machine */
	long shared;      /* memory of nobody's own, of the machine */
};

struct amounts amounts_measure(void);

/* Whether AFTER is no more than BEFORE, but for what others on this machine
 * may have taken meanwhile. */
bool amounts_are_no_more(const struct amounts *before,
                         const struct amounts *after);

/* Measures, and again for a while where it is more than BEFORE: the kernel
 * frees some things when it finds the time. */
struct amounts amounts_settle(const struct amounts *before);

void amounts_print(const struct amounts *before, const struct amounts *after);

#endif
