#pragma once

#include <stdbool.h>

/*
 * wdrun --list: prints to stdout what is on record in REGISTRY (see
 * registry_open): a table, which fits the terminal if stdout is a terminal, or
 * a JSON array. Prints on stderr which files cannot be used, and unless
 * IS_QUIET that a table would be empty. Returns the exit status: 0; or
 * STATUS_FAILED, after a message: nothing was printed then, unless a write to
 * stdout failed.
 */
int list_print(const char *registry, bool as_json, bool is_quiet);
