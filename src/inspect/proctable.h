#pragma once

#include <stdbool.h>

#define PROCTABLE_LINE_SIZE 512

/* LINE from the field NUMBER on, counted from 0. */
const char *proctable_field(const char *line, int number);

/* Reads the file PATH up to a line that has VALUE, one or more fields, from the
 * field NUMBER on, into LINE. Returns whether there is one. */
bool proctable_find(const char *path, int number, const char *value,
                    char line[PROCTABLE_LINE_SIZE]);
