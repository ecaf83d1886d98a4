#pragma once

#include "scenario.h"

/* Sets the verdict of ATTEMPT, unless it has a worse one. */
void conclude(struct attempt *attempt, enum verdict verdict);

/* Prints a finding, and concludes it. */
__attribute__((format(printf, 3, 4))) void
find(struct attempt *attempt, enum verdict verdict, const char *format, ...);

/* Returns the exit status of the run, or -1. */
int exit_code(const struct attempt *attempt);

/* Whether TEXT is in FILE, near its start. */
bool contains(const char *file, const char *text);

/* Checks that the lock is free. */
void check_lock(struct attempt *attempt);

/* Checks the files that are left, and their content. */
void check_files(struct attempt *attempt);
