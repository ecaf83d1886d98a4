#pragma once

#include <stdbool.h>

#define PROCTABLE_LINE_SIZE 512

/* Returns LINE from field NUMBER on, counted from 0. */
const char *proctable_field(const char *line, int number);

/* Copies the first line of the file PATH that has VALUE, one or more fields,
 * from field NUMBER on, to LINE. Returns whether there is such a line. */
bool proctable_find(const char *path, int number, const char *value,
                    char line[PROCTABLE_LINE_SIZE]);
