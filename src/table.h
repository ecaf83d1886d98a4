#ifndef WDRUN_TABLE_H
#define WDRUN_TABLE_H

#include <stddef.h>

#include "message.h"

/* Text in aligned columns. All 0 but COLUMNS, it is empty. */
struct table {
	size_t columns;
	struct line cells; /* all of them, row by row; each is a string */
};

/* Adds the cell CELL behind the last; what would not only print there becomes
 * '?'. Returns 0, or -1 with errno ENOMEM. */
int table_add(struct table *table, const char *cell);

/*
 * Prints TABLE to stdout: rows of at most WIDTH characters, of which the
 * columns but the last take at most CELL_WIDTH each. Returns the status to exit
 * with, as print_line does.
 */
int table_print(const struct table *table, size_t width, size_t cell_width);

/* Gives back what TABLE has of memory. */
void table_free(struct table *table);

#endif
