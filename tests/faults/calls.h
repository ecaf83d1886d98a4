#pragma once

#include <stdbool.h>

#define CALLS_MAX  512 /* numbers that are counted */
#define ERRORS_MAX 4

/* A system call, and the errors that it may return. */
struct call {
	const char *name;
	int errors[ERRORS_MAX]; /* 0 ends them */
};

/*
 * Returns what is known of the call NUMBER; its name is NULL for an unknown
 * call.
 */
const struct call *call_of(long number);

/* Returns the number of NAME, or -1. */
long call_number(const char *name);

/*
 * Whether the call is executed although it is made to fail: Linux closes the
 * descriptor also when close(2) fails.
 */
bool call_is_made_to_fail(long number);
