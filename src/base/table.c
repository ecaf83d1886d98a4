/* Rows and columns on stdout. */
#include "base/table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/status.h"
#include "base/utf8.h"

#define COLUMNS_MAX 16
#define GAP         2 /* blanks between columns */

int
table_add(struct table *table, const char *cell)
{
	struct strbuf *const cells = &table->cells;
	const size_t start = cells->length;

	cells->grows = true;
	strbuf_addf(cells, "%s%c", cell, '\0');
	if (cells->is_cut)
		return -1;
	utf8_make_printable(cells->text + start, cells->length - start - 1);
	return 0;
}

/* How many characters a row and each column take at most. */
struct layout {
	size_t row;
	size_t columns[COLUMNS_MAX];
};

static void
find_widths(const struct table *table, size_t cell_width, struct layout *layout)
{
	const char *cell = table->cells.text;
	const char *const end = cell + table->cells.length;

	for (size_t i = 0; cell < end; i++) {
		size_t *const width = &layout->columns[i % table->columns];
		size_t count;

		(void)utf8_columns(cell, cell_width, &count);
		if (count > *width)
			*width = count;
		cell += strlen(cell) + 1;
	}
}

/* Appends at most WIDTH characters of CELL, and blanks up to PADDING
 * characters. Returns how many characters were appended. */
static size_t
add_cell(struct strbuf *row, const char *cell, size_t width, size_t padding)
{
	size_t count;
	const size_t length = utf8_columns(cell, width, &count);

	strbuf_addf(row, "%.*s", (int)length, cell);
	for (; count < padding; count++)
		strbuf_addf(row, " ");
	return count;
}

/* Appends the row that begins with CELL; the last column gets what the others
 * leave. Returns the cell behind the row. */
static const char *
add_row(struct strbuf *row, const char *cell, const struct table *table,
        const struct layout *layout)
{
	size_t left = layout->row;

	for (size_t i = 0; i < table->columns; i++) {
		const bool is_last = i + 1 == table->columns;
		const size_t column = is_last ? left : layout->columns[i];
		const size_t width = left < column ? left : column;

		left -= add_cell(row, cell, width, is_last ? 0 : width);
		if (!is_last)
			left -= add_cell(row, "", 0, left < GAP ? left : GAP);
		cell += strlen(cell) + 1;
	}
	strbuf_addf(row, "\n");
	return cell;
}

int
table_print(const struct table *table, size_t width, size_t cell_width)
{
	struct strbuf rows = { .grows = true };
	struct layout layout = { .row = width };
	const char *cell = table->cells.text;
	const char *const end = cell + table->cells.length;
	int status = STATUS_FAILED;

	find_widths(table, cell_width, &layout);
	while (cell < end)
		cell = add_row(&rows, cell, table, &layout);
	if (rows.is_cut)
		message("cannot print the table: %s", strerror(ENOMEM));
	else
		status = message_print(&rows);
	strbuf_free(&rows);
	return status;
}

void
table_free(struct table *table)
{
	strbuf_free(&table->cells);
}
