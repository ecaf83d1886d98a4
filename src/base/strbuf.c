/* Formats text. */
#include "base/strbuf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define DIGITS_MAX 24
#define DECIMAL    10
#define HEX        16
#define GROWN_MIN  1024

/* The state of formatting. The va_list is in a struct, which functions share:
 * after va_arg(3) on a va_list parameter, the caller's va_list is indeterminate
 * (C11, 7.16). The analyzer does not see the va_copy(3).
 * NOLINTBEGIN(clang-analyzer-valist.Uninitialized) */
struct formatter {
	char *text;
	size_t size;
	size_t length;  /* of the complete text, also beyond SIZE */
	const char *at; /* position in the format */
	va_list arguments;

	/* The current conversion: */
	bool is_left;   /* - */
	char pad;       /* ' ' or '0' */
	size_t width;   /* least number of bytes */
	size_t limit;   /* largest number of bytes of a string */
	unsigned longs; /* number of l; z is l, as size_t is a long on Linux */
};

static void
add_byte(struct formatter *to, char byte)
{
	if (to->length + 1 < to->size)
		to->text[to->length] = byte;
	to->length++;
}

static void
add_field(struct formatter *to, const char *field, size_t length)
{
	const size_t padding = length < to->width ? to->width - length : 0;

	for (size_t i = 0; !to->is_left && i < padding; i++)
		add_byte(to, to->pad);
	for (size_t i = 0; i < length; i++)
		add_byte(to, field[i]);
	for (size_t i = 0; to->is_left && i < padding; i++)
		add_byte(to, ' ');
}

static void
add_number(struct formatter *to, uint64_t number, unsigned base,
           bool is_negative)
{
	char digits[DIGITS_MAX];
	size_t at = sizeof(digits);

	if (is_negative)
		number = 0 - number;
	do
		digits[--at] = "0123456789abcdef"[number % base];
	while ((number /= base) > 0);
	if (is_negative)
		digits[--at] = '-'; /* %04d is for positive numbers only */
	add_field(to, &digits[at], sizeof(digits) - at);
}

/* Returns the next integer argument, sign-extended if IS_SIGNED. */
static uint64_t
next_number(struct formatter *from, bool is_signed)
{
	if (from->longs > 1)
		return va_arg(from->arguments, unsigned long long);
	if (!is_signed)
		return from->longs == 1 ? va_arg(from->arguments, unsigned long)
		                        : va_arg(from->arguments, unsigned);
	return (uint64_t)(from->longs == 1 ? va_arg(from->arguments, long)
	                                   : va_arg(from->arguments, int));
}

/* Parses a width or precision: digits, or * (NONE for a negative argument). */
static size_t
read_size(struct formatter *from, size_t none)
{
	size_t number = 0;

	if (*from->at == '*') {
		const int given = va_arg(from->arguments, int);

		from->at++;
		return given < 0 ? none : (size_t)given;
	}
	for (; *from->at >= '0' && *from->at <= '9'; from->at++)
		number = number * DECIMAL + (size_t)(*from->at - '0');
	return number;
}

/* Parses what stands between % and the letter. */
static void
read_form(struct formatter *from)
{
	from->is_left = false;
	from->pad = ' ';
	from->limit = SIZE_MAX;
	from->longs = 0;
	for (; *from->at == '-' || *from->at == '0'; from->at++) {
		from->is_left |= *from->at == '-';
		if (*from->at == '0')
			from->pad = '0';
	}
	from->width = read_size(from, 0);
	if (*from->at == '.') {
		from->at++;
		from->limit = read_size(from, SIZE_MAX);
	}
	for (; *from->at == 'l' || *from->at == 'z'; from->at++)
		from->longs++;
}

/* Formats the next argument by LETTER. Returns false if LETTER is unknown. */
static bool
convert(struct formatter *to, char letter)
{
	const char *string;
	uint64_t number;

	switch (letter) {
	case 'd':
		number = next_number(to, true);
		add_number(to, number, DECIMAL, (int64_t)number < 0);
		return true;
	case 'u':
	case 'x':
		number = next_number(to, false);
		add_number(to, number, letter == 'x' ? HEX : DECIMAL, false);
		return true;
	case 's':
		string = va_arg(to->arguments, char *);
		/* With a precision, STRING may lack a null byte: printf(3). */
		add_field(to, string, strnlen(string, to->limit));
		return true;
	case 'c':
		add_byte(to, (char)va_arg(to->arguments, int));
		return true;
	case '%':
		add_byte(to, '%');
		return true;
	default:
		return false;
	}
}

/* NOLINTEND(clang-analyzer-valist.Uninitialized) */

/* Like vsnprintf(3), with the conversions of strbuf.h. */
__attribute__((format(printf, 3, 0))) static size_t
format_text(char *text, size_t size, const char *format, va_list arguments)
{
	struct formatter to = { .text = text, .size = size, .at = format };

	va_copy(to.arguments, arguments);
	for (; *to.at != '\0'; to.at++) {
		const char *at = to.at;

		if (*at != '%') {
			add_byte(&to, *at);
			continue;
		}
		to.at++;
		read_form(&to);
		if (convert(&to, *to.at))
			continue;
		/* The size of the argument is not known: no later argument can
		 * be found. */
		for (; *at != '\0'; at++)
			add_byte(&to, *at);
		break;
	}
	va_end(to.arguments);
	if (size > 0)
		text[to.length < size ? to.length : size - 1] = '\0';
	return to.length;
}

size_t
strbuf_format(char *bytes, size_t size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	const size_t length = format_text(bytes, size, format, arguments);

	va_end(arguments);
	return length;
}

/* Gives LINE twice the room that LENGTH more bytes need. */
static bool
grow(struct strbuf *line, size_t length)
{
	const size_t size = 2 * (line->length + length) + GROWN_MIN;
	char *const text = array_resize(line->text, line->size, size);

	if (text == NULL)
		return false;
	line->text = text;
	line->size = size;
	return true;
}

/* Writes behind LINE's text what fits. Returns the length without a limit. */
__attribute__((format(printf, 2, 0))) static size_t
add_what_fits(struct strbuf *line, const char *format, va_list arguments)
{
	const size_t left = line->size - line->length;
	char *const end = left == 0 ? NULL : line->text + line->length;

	/* The analyzer does not see the caller's va_start(3). */
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
	return format_text(end, left, format, arguments);
}

void
strbuf_vaddf(struct strbuf *line, const char *format, va_list arguments)
{
	size_t length = add_what_fits(line, format, arguments);

	if (length >= line->size - line->length && line->grows &&
	    grow(line, length))
		length = add_what_fits(line, format, arguments);

	const size_t left = line->size - line->length;

	line->is_cut |= length >= left;
	if (left > 0)
		line->length += length < left ? length : left - 1;
}

void
strbuf_free(struct strbuf *line)
{
	array_free(line->text, line->size);
	*line = (struct strbuf){ .text = NULL };
}

void
strbuf_addf(struct strbuf *line, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	strbuf_vaddf(line, format, arguments);
	va_end(arguments);
}
