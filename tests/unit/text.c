/* Numbers in text, and text in text, are found as by libc's functions. */
#include "base/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "check.h"

static const struct {
	const char *text;
	unsigned base;
	int digits; /* 0: no number */
	uint64_t number;
} numbers[] = {
	{ "0", DECIMAL, 1, 0 },
	{ "0007", DECIMAL, 4, 7 },
	{ "4711 9", DECIMAL, 4, 4711 },
	{ "12a", DECIMAL, 2, 12 },
	{ "18446744073709551615", DECIMAL, 20, UINT64_MAX },
	{ "18446744073709551616", DECIMAL, 0, 0 },
	{ "99999999999999999999", DECIMAL, 0, 0 },
	{ "184467440737095516150", DECIMAL, 0, 0 },
	{ "", DECIMAL, 0, 0 },
	{ "-1", DECIMAL, 0, 0 },
	{ "+1", DECIMAL, 0, 0 },
	{ " 1", DECIMAL, 0, 0 },
	{ "/", DECIMAL, 0, 0 },
	{ ":", DECIMAL, 0, 0 },
	{ "a", DECIMAL, 0, 0 },
	{ "af", HEXADECIMAL, 2, 0xaf },
	{ "0100007F:0050", HEXADECIMAL, 8, 0x0100007f },
	{ "ffffffffffffffff", HEXADECIMAL, 16, UINT64_MAX },
	{ "10000000000000000", HEXADECIMAL, 0, 0 },
	{ "0x7", HEXADECIMAL, 1, 0 },
	{ "g", HEXADECIMAL, 0, 0 },
	{ "G", HEXADECIMAL, 0, 0 },
	{ "@", HEXADECIMAL, 0, 0 },
	{ "`", HEXADECIMAL, 0, 0 },
	{ "\x10", HEXADECIMAL, 0, 0 },
	{ "\xff", HEXADECIMAL, 0, 0 },
};

static void
check_numbers(void)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const char *const text = numbers[i].text;
		uint64_t number = 1;
		const char *const end =
		    text_read_number(text, numbers[i].base, &number);

		CHECK(number == numbers[i].number, text);
		CHECK(text_number(text, numbers[i].base) == number, text);
		CHECK(end == (numbers[i].digits == 0
		                  ? NULL
		                  : text + numbers[i].digits),
		      text);
	}
}

/* Every byte alone is a digit to exactly the bases to which C has it as one. */
static void
check_digits(void)
{
	for (int byte = 1; byte < 256; byte++) {
		const char text[] = { (char)byte, '\0' };
		const bool is_decimal = byte >= '0' && byte <= '9';
		const bool is_hexadecimal =
		    strchr("0123456789abcdefABCDEF", byte) != NULL;
		uint64_t number;

		CHECK((text_read_number(text, DECIMAL, &number) != NULL) ==
		          is_decimal,
		      text);
		CHECK((text_read_number(text, HEXADECIMAL, &number) != NULL) ==
		          is_hexadecimal,
		      text);
	}
}

static void
check_find(const char *text, const char *part)
{
	for (size_t size = 0; size <= strlen(text); size++)
		CHECK(text_find(text, size, part, strlen(part)) ==
		          memmem(text, size, part, strlen(part)),
		      part);
}

int
main(void)
{
	check_numbers();
	check_digits();
	check_find("aaabaab", "a");
	check_find("aaabaab", "aab");
	check_find("aaabaab", "baab");
	check_find("aaabaab", "aaabaab");
	check_find("aaabaab", "aaabaabb");
	check_find("aaabaab", "c");
	check_find("", "a");
	return failures != 0;
}
