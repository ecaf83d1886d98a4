#ifndef WDRUN_UNIT_CHECK_H
#define WDRUN_UNIT_CHECK_H

#include <stdio.h>

/* Failures so far; what main returns. */
static int failures;

/* Says which row of a table is wrong, and goes on with the next. */
#define CHECK(claim, name)                                                     \
	do {                                                                   \
		if (!(claim)) {                                                \
			(void)printf("%s: not so: %s\n", name, #claim);        \
			failures++;                                            \
		}                                                              \
	} while (0)

#endif
