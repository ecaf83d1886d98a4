/* Numbers and strings put together into text. */
#include "base/strbuf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define DIGITS_MAX 24
#define DECIMAL    10
#define HEX        16
#define GROWN_MIN  1024

/*
 * A text that is being formatted. The arguments are in a struct, so that each
 * function reads on where another has stopped: after va_arg(3) on a parameter,
 * the va_list of the calling function is indeterminate. The analyzer does not
 * see through the va_copy(3) into the struct.
 * NOLINTBEGIN(clang-analyzer-valist.Uninitialized)
 */
struct formatter {
	char *text;
	size_t size;
	size_t length;  /* that TEXT would have, if SIZE were no bound */
	const char *at; /* in the format */
	va_list arguments;

	/* What stands between % and the letter: */
	bool is_left;   /* - */
	char pad;       /* ' ' or '0' */
	size_t width;   /* at least so many bytes */
	size_t limit;   /* at most so many bytes of a string */
	unsigned longs; /* how many of l, or z: size_t is a long on Linux */
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
		digits[--at] = '-'; /* no format has zeros before the sign */
	add_field(to, &digits[at], sizeof(digits) - at);
}

/* The next argument, an integer; in 64 bits, with its sign if IS_SIGNED. */
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

/* A width or precision: digits, or * for an argument (NONE, if negative). */
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

/* Reads what stands between % and the letter. */
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

/* Returns whether there is a conversion of this LETTER. */
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
		/* With a limit, the string need not have an end. */
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

/* As vsnprintf(3), within the limits that strbuf.h names. */
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
		/* How large its argument is, and with that where the next one
		 * begins, is not known. */
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

/* Makes LINE as long as LENGTH more bytes need, and then twice as long. */
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

/* Appends to LINE what fits. Returns the length of the whole. */
__attribute__((format(printf, 2, 0))) static size_t
add_what_fits(struct strbuf *line, const char *format, va_list arguments)
{
	const size_t left = line->size - line->length;
	char *const end = left == 0 ? NULL : line->text + line->length;

	/* The analyzer does not see that ARGUMENTS were started. */
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
