#pragma once

#include <stdbool.h>

#define CALLS_MAX  512 /* numbers that are counted */
#define ERRORS_MAX 4

/* A system call, and the errors that it may return. */
struct call {
	const char *name; /* NULL for a call that calls.c does not know */
	bool is_seen;     /* others see its effect, or it waits for others */
	int errors[ERRORS_MAX]; /* 0 ends them */
};

struct call call_of(long number);
