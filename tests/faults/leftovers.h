#ifndef LEFTOVERS_H
#define LEFTOVERS_H

#include "scenario.h"

/* Takes VERDICT for ATTEMPT's, unless there is a worse one. */
void conclude(struct attempt *attempt, enum verdict verdict);

/* Prints what was found, and concludes that. */
__attribute__((format(printf, 3, 4))) void
find(struct attempt *attempt, enum verdict verdict, const char *format, ...);

/* The exit status of what was run, or -1. */
int exit_code(const struct attempt *attempt);

/* Whether TEXT is in FILE, near its start. */
bool contains(const char *file, const char *text);

/* Looks whether the lock is free, which it is to be. */
void check_lock(struct attempt *attempt);

/* Looks at the files that are left, and at what has to be in them. */
void check_files(struct attempt *attempt);

#endif
