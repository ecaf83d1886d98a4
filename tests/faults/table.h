#pragma once

#include <stddef.h>

#include "scenario.h"

struct one_case {
	const struct scenario *scenario;
	struct fault fault;
	enum verdict verdict;
};

const char *verdict_name(enum verdict verdict);

/*
 * Prints a row for each system call and fault, and for each scenario. Returns
 * the number of findings.
 */
int table_print(const struct one_case cases[], size_t case_count);
