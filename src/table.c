/* Rows and columns on stdout. */
#include "table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "utf8.h"

#define COLUMNS_MAX       16
#define ROW_SIZE          16384
#define CELLS_SIZE_MIN    4096
#define GAP               2 /* between columns */
#define CONTINUATION      0x80
#define CONTINUATION_MASK 0xc0

static int
grow(struct line *cells, size_t size)
{
	size_t wanted = cells->size == 0 ? CELLS_SIZE_MIN : cells->size;

	while (wanted < size)
		wanted *= 2;

	char *const text = realloc(cells->text, wanted);

	if (text == NULL)
		return -1;
	cells->text = text;
	cells->size = wanted;
	return 0;
}

int
table_add(struct table *table, const char *cell)
{
	struct line *const cells = &table->cells;
	const size_t length = strlen(cell);

	if (cells->size - cells->length <= length &&
	    grow(cells, cells->length + length + 1) == -1)
		return -1;
	memcpy(cells->text + cells->length, cell, length + 1);
	utf8_make_printable(cells->text + cells->length, length);
	cells->length += length + 1;
	return 0;
}

/*
 * How many bytes of TEXT its first WIDTH characters take; *COUNT is how many of
 * them there are. Each counts as one column, which is wrong for some scripts:
 * there, a table is less even.
 */
static size_t
measure(const char *text, size_t width, size_t *count)
{
	size_t length = 0;

	*count = 0;
	for (; text[length] != '\0'; length++) {
		if (((unsigned char)text[length] & CONTINUATION_MASK) ==
		    CONTINUATION)
			continue;
		if (*count == width)
			break;
		++*count;
	}
	return length;
}

/* How many characters the columns take, the last one what is left. */
struct layout {
	size_t row;
	size_t columns[COLUMNS_MAX];
};

/* Finds how wide the columns are. */
static void
find_widths(const struct table *table, size_t cell_width,
            size_t widths[COLUMNS_MAX])
{
	const char *cell = table->cells.text;
	const char *const end = cell + table->cells.length;

	for (size_t i = 0; cell < end; i++) {
		size_t *const width = &widths[i % table->columns];
		size_t count;

		(void)measure(cell, cell_width, &count);
		if (count > *width)
			*width = count;
		cell += strlen(cell) + 1;
	}
}

/* Appends CELL, of at most WIDTH characters, and blanks up to PADDING. Returns
 * how many characters that are. */
static size_t
add_cell(struct line *row, const char *cell, size_t width, size_t padding)
{
	size_t count;
	const size_t length = measure(cell, width, &count);
	const size_t blanks = padding < width ? padding : width;

	line_add(row, "%.*s", (int)length, cell);
	for (; count < blanks; count++)
		line_add(row, " ");
	return count;
}

/* Appends the row that begins with CELL. Returns the cell behind it. */
static const char *
add_row(struct line *row, const char *cell, const struct table *table,
        const struct layout *layout)
{
	size_t left = layout->row;

	for (size_t i = 0; i < table->columns; i++) {
		const bool is_last = i + 1 == table->columns;
		const size_t width = is_last || left < layout->columns[i]
		                         ? left
		                         : layout->columns[i];

		left -= add_cell(row, cell, width,
		                 is_last ? 0 : layout->columns[i]);
		if (!is_last)
			left -= add_cell(row, "", left, GAP);
		cell += strlen(cell) + 1;
	}
	line_add(row, "\n");
	return cell;
}

int
table_print(const struct table *table, size_t width, size_t cell_width)
{
	struct layout layout = { .row = width };
	const char *cell = table->cells.text;
	const char *const end = cell + table->cells.length;
	int status = EXIT_SUCCESS;

	find_widths(table, cell_width, layout.columns);
	while (status == EXIT_SUCCESS && cell < end) {
		char text[ROW_SIZE];
		struct line row = { .text = text, .size = sizeof(text) };

		cell = add_row(&row, cell, table, &layout);
		status = print_line(&row);
	}
	return status;
}

void
table_free(struct table *table)
{
	free(table->cells.text);
	table->cells = (struct line){ .text = NULL };
}
