#ifndef WDRUN_LIST_H
#define WDRUN_LIST_H

#include <stdbool.h>

/*
 * Prints to stdout what is on record in REGISTRY (as for registry_open): a
 * table for people, which fits the terminal if stdout is one, or JSON for
 * programs. Records that cannot be read are told of. Returns the status to
 * exit with: 0, or 125, having told why.
 */
int list_print(const char *registry, bool as_json);

#endif
