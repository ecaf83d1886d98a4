#pragma once

#include <stdbool.h>

/*
 * wdrun --list: prints to stdout what is on record in REGISTRY (see
 * registry_open): a table, which fits the terminal if stdout is one, or a JSON
 * array. Says on stderr which files cannot be used, and unless IS_QUIET that
 * there is nothing for the table. Returns the exit status: 0;
 * or STATUS_FAILED, after a message: nothing was printed then, unless writing
 * to stdout is what failed.
 */
int list_print(const char *registry, bool as_json, bool is_quiet);
