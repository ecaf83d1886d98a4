/* Numbers and strings put together into text. */
#include "text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 24
#define DECIMAL    10
#define HEX        16

struct text {
	char *bytes;
	size_t size;
	size_t length; /* that it would have */
};

/* What stands between % and the letter. */
struct form {
	bool is_left; /* - */
	bool is_signed;
	char pad; /* a blank, or 0 */
	size_t width;
	size_t limit;  /* of a string */
	unsigned size; /* how many of l there are; or two for z */
};

static void
add_byte(struct text *text, char byte)
{
	if (text->length + 1 < text->size)
		text->bytes[text->length] = byte;
	text->length++;
}

static void
add_padding(struct text *text, char byte, size_t length, size_t width)
{
	for (; length < width; length++)
		add_byte(text, byte);
}

static void
add_field(struct text *text, const struct form *form, const char *field,
          size_t length)
{
	if (!form->is_left)
		add_padding(text, form->pad, length, form->width);
	for (size_t i = 0; i < length; i++)
		add_byte(text, field[i]);
	if (form->is_left)
		add_padding(text, ' ', length, form->width);
}

static void
add_number(struct text *text, const struct form *form, uint64_t number,
           unsigned base)
{
	char digits[DIGITS_MAX];
	size_t at = sizeof(digits);
	const bool is_negative = form->is_signed && (int64_t)number < 0;

	if (is_negative)
		number = 0 - number;
	do
		digits[--at] = "0123456789abcdef"[number % base];
	while ((number /= base) > 0);
	if (is_negative)
		digits[--at] = '-'; /* no number here has both, it and zeros */
	add_field(text, form, &digits[at], sizeof(digits) - at);
}

/*
 * In a struct, so that it can be passed on and read on: va_arg(3) leaves what
 * was passed by itself as good as lost. The analyzer does not see through the
 * va_copy(3) into it.
 * NOLINTBEGIN(clang-analyzer-valist.Uninitialized)
 */
struct arguments {
	va_list list;
};

static int64_t
next_signed(struct arguments *arguments, unsigned size)
{
	switch (size) {
	case 0:
		return va_arg(arguments->list, int);
	case 1:
		return va_arg(arguments->list, long);
	default:
		return va_arg(arguments->list, long long);
	}
}

static uint64_t
next_unsigned(struct arguments *arguments, unsigned size)
{
	switch (size) {
	case 0:
		return va_arg(arguments->list, unsigned);
	case 1:
		return va_arg(arguments->list, unsigned long);
	default:
		return va_arg(arguments->list, unsigned long long);
	}
}

/* A width or precision: digits, or * for an argument. */
static size_t
read_size(const char **at, struct arguments *arguments)
{
	size_t number = 0;

	if (**at == '*') {
		const int given = va_arg(arguments->list, int);

		(*at)++;
		return given < 0 ? SIZE_MAX : (size_t)given;
	}
	for (; **at >= '0' && **at <= '9'; (*at)++)
		number = number * DECIMAL + (size_t)(**at - '0');
	return number;
}

/* Reads what stands between % and the letter, and goes to that. */
static struct form
read_form(const char **at, struct arguments *arguments)
{
	struct form form = { .pad = ' ', .limit = SIZE_MAX };

	for (; **at == '-' || **at == '0'; (*at)++) {
		form.is_left |= **at == '-';
		if (**at == '0')
			form.pad = '0';
	}
	form.width = read_size(at, arguments);
	if (**at == '.') {
		(*at)++;
		form.limit = read_size(at, arguments);
	}
	/* size_t is a long on every Linux. */
	for (; **at == 'l' || **at == 'z'; (*at)++)
		form.size++;
	return form;
}

static void
add_conversion(struct text *text, char letter, struct form *form,
               struct arguments *arguments)
{
	switch (letter) {
	case 'd':
		form->is_signed = true;
		add_number(text, form,
		           (uint64_t)next_signed(arguments, form->size),
		           DECIMAL);
		return;
	case 'u':
		add_number(text, form, next_unsigned(arguments, form->size),
		           DECIMAL);
		return;
	case 'x':
		add_number(text, form, next_unsigned(arguments, form->size),
		           HEX);
		return;
	case 's': {
		const char *const string = va_arg(arguments->list, char *);

		/* With a limit, it need not have an end. */
		add_field(text, form, string, strnlen(string, form->limit));
		return;
	}
	case 'c':
		add_byte(text, (char)va_arg(arguments->list, int));
		return;
	case '%':
		add_byte(text, '%');
		return;
	default:
		abort();
	}
}

/* NOLINTEND(clang-analyzer-valist.Uninitialized) */

size_t
text_vformat(char *bytes, size_t size, const char *format, va_list list)
{
	struct text text = { .bytes = bytes, .size = size };
	struct arguments arguments;

	va_copy(arguments.list, list);
	for (const char *at = format; *at != '\0'; at++) {
		if (*at != '%') {
			add_byte(&text, *at);
			continue;
		}
		at++;

		struct form form = read_form(&at, &arguments);

		add_conversion(&text, *at, &form, &arguments);
	}
	va_end(arguments.list);
	if (size > 0)
		bytes[text.length < size ? text.length : size - 1] = '\0';
	return text.length;
}

size_t
text_format(char *bytes, size_t size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	const size_t length = text_vformat(bytes, size, format, arguments);

	va_end(arguments);
	return length;
}
