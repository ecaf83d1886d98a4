#ifndef CALLS_H
#define CALLS_H

#include <stdbool.h>

#define CALLS_MAX  512 /* numbers that are counted */
#define ERRORS_MAX 4

/* A system call, and what it may fail with. */
struct call {
	const char *name;
	int errors[ERRORS_MAX]; /* 0 ends them */
};

/* What is known of the call NUMBER: its name is NULL where that is nothing. */
const struct call *call_of(long number);

/* The number of NAME, or -1. */
long call_number(const char *name);

/* Whether it is to be made all the same when it is to fail: Linux has closed a
 * descriptor when close(2) fails. */
bool call_is_made_to_fail(long number);

#endif
