#pragma once

#include <stddef.h>

#include "base/strbuf.h"

/* Text in aligned columns. Empty, if all but COLUMNS is 0. */
struct table {
	size_t columns;
	struct strbuf cells; /* row by row; a null byte ends each */
};

/* Adds CELL behind the last one. What is not printable comes out as '?'.
 * Returns 0, or -1 with errno ENOMEM. */
int table_add(struct table *table, const char *cell);

/* Prints TABLE to stdout: rows of at most WIDTH characters, of which each
 * column but the last takes at most CELL_WIDTH. Returns the status to exit
 * with, as message_print() does. */
int table_print(const struct table *table, size_t width, size_t cell_width);

/* Frees the memory of TABLE, which is empty then. */
void table_free(struct table *table);
