/* The times of timeout(1). */
#include "interval.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "duration.h"

/* Beyond every signed 64-bit number of nanoseconds, and far from the largest
 * double: a factor that has come so far need not grow any more. */
#define HUGE_FACTOR 1e300

/* More digits than a double holds. */
#define MANY_DIGITS 1e18

#define EXPONENT_MAX 100000

/* The value of the digit C, in whatever base; else one too large for any. */
static int
digit_value(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	return isalpha((unsigned char)c) ? 10 + tolower((unsigned char)c) - 'a'
	                                 : INT8_MAX;
}

/* Adds to *EXPONENT what stands behind LETTER, if that is a number. Returns
 * where it ends. */
static const char *
read_exponent(const char *text, char letter, long *exponent)
{
	const bool has_sign =
	    *text != '\0' && (text[1] == '-' || text[1] == '+');

	if (tolower((unsigned char)*text) != letter ||
	    !isdigit((unsigned char)text[1 + has_sign]))
		return text;

	char *end;
	const long given = strtol(text + 1, &end, 10);

	*exponent += given > EXPONENT_MAX    ? EXPONENT_MAX
	             : given < -EXPONENT_MAX ? -EXPONENT_MAX
	                                     : given;
	return end;
}

/* VALUE times BASE to the power of EXPONENT. In one step, which is exact for
 * all that anybody writes; and what is not zero stays so. */
static double
scale(double value, int base, long exponent)
{
	double factor = 1;

	for (long i = labs(exponent); i > 0 && factor < HUGE_FACTOR; i--)
		factor *= base;
	return exponent < 0 ? value / factor : value * factor;
}

/*
 * Reads digits, decimal or behind "0x", with a point and an exponent, as
 * strtod(3) does, which would be 6 KiB more of code. Returns where they end, or
 * NULL if there are none.
 */
static const char *
read_digits(const char *text, double *value)
{
	const bool is_hexadecimal =
	    strncasecmp(text, "0x", 2) == 0 &&
	    digit_value(text[2 + (text[2] == '.')]) < 16;
	const int base = is_hexadecimal ? 16 : 10;
	const int step = is_hexadecimal ? 4 : 1; /* a digit, of the exponent */
	bool has_digits = false;
	bool has_point = false;
	long exponent = 0;

	*value = 0;
	for (text += is_hexadecimal ? 2 : 0;; text++) {
		const int digit = digit_value(*text);

		if (*text == '.' && !has_point) {
			has_point = true;
			continue;
		}
		if (digit >= base)
			break;
		has_digits = true;
		if (*value >= MANY_DIGITS) {
			exponent += has_point ? 0 : step;
			continue;
		}
		*value = *value * base + digit;
		exponent -= has_point ? step : 0;
	}
	if (!has_digits)
		return NULL;
	text = read_exponent(text, is_hexadecimal ? 'p' : 'e', &exponent);
	*value = scale(*value, is_hexadecimal ? 2 : base, exponent);
	return text;
}

static const char *
read_number(const char *text, double *value)
{
	const bool is_negative = *text == '-';

	text += is_negative || *text == '+';
	if (strncasecmp(text, "inf", 3) == 0) {
		*value = HUGE_FACTOR;
		text += strncasecmp(text, "infinity", 8) == 0 ? 8 : 3;
	} else {
		text = read_digits(text, value);
	}
	return is_negative && *value > 0 ? NULL : text;
}

/* NUMBER of what SUFFIX says, which is one letter at most, in nanoseconds. -1
 * if it is no suffix. */
static int64_t
in_nanoseconds(const char *suffix, double number)
{
	const char *const letter =
	    *suffix == '\0' ? "s" : strchr("smhd", *suffix);
	double ns = number * (double)SECOND;

	if (letter == NULL || (*suffix != '\0' && suffix[1] != '\0'))
		return -1;
	ns *= *letter == 'd' ? 86400 : *letter == 'h' ? 3600 : 1;
	ns *= *letter == 'm' ? 60 : 1;
	if (ns >= (double)NEVER || !(ns > 0))
		return NEVER;

	const int64_t whole = (int64_t)ns;

	return whole + ((double)whole < ns);
}

int
interval_parse(const char *text, int64_t *ns)
{
	double number = 0;
	const char *const suffix =
	    read_number(text + strspn(text, " \t\n\v\f\r"), &number);
	const int64_t interval =
	    suffix == NULL ? -1 : in_nanoseconds(suffix, number);

	if (interval == -1) {
		errno = EINVAL;
		return -1;
	}
	*ns = interval;
	return 0;
}
