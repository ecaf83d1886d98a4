#pragma once

#include <stdio.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* The number of failures so far, which main returns. */
static int failures;

/* Prints which row of a table is wrong, and continues with the next row. */
#define CHECK(claim, name)                                                     \
	do {                                                                   \
		if (!(claim)) {                                                \
			(void)printf("%s: not so: %s\n", name, #claim);        \
			failures++;                                            \
		}                                                              \
	} while (0)
