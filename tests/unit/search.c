/*
 * A text is found in whatever chunks it arrives, as by a search in the whole
 * stream.
 */
#include "io/search.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define STREAM_MAX 5000
#define ROUNDS     20000

static uint64_t random_state = 1;

/* Returns a number below BOUND. xorshift64*: the same numbers in each run. */
static size_t
random_below(size_t bound)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (size_t)((random_state * UINT64_C(0x2545f4914f6cdd1d)) >> 33) %
	       bound;
}

/* Whether the text ends in the SIZE bytes of the stream from FIRST on. */
static bool
ends_in(const char *stream, size_t first, size_t size,
        const struct search *search)
{
	for (size_t end = first + 1; end <= first + size; end++) {
		if (end >= search->length &&
		    memcmp(stream + end - search->length, search->text,
		           search->length) == 0)
			return true;
	}
	return false;
}

/*
 * Feeds the next SIZE bytes of the stream, FIRST bytes of which were fed.
 * Before the chunk there are only the bytes that the header requires, and
 * behind it the rest of an earlier, longer chunk.
 */
static bool
feed(struct search *search, const char *stream, size_t first, size_t size)
{
	static char *buffer;
	static char *chunk;

	if (buffer == NULL) {
		buffer = malloc(SEARCH_TEXT_MAX + STREAM_MAX);
		chunk = buffer + SEARCH_TEXT_MAX;
	}
	memcpy(chunk, stream + first, size);

	const bool is_found = search_continue(search, chunk, size);

	CHECK(memcmp(chunk, stream + first, size) == 0,
	      "the chunk has changed");
	return is_found;
}

/* The stream as a whole, or cut at ONE and at TWO. */
static void
check_cuts(const char *stream, size_t length, const char *text, size_t one,
           size_t two)
{
	struct search search = { text, strlen(text), 0 };
	const size_t ends[] = { one, two, length };
	size_t first = 0;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const size_t size = ends[i] - first;

		CHECK(feed(&search, stream, first, size) ==
		          ends_in(stream, first, size, &search),
		      text);
		first = ends[i];
	}
}

/* Texts that contain their own beginning, at all borders. */
static void
check_all_borders(void)
{
	static const struct {
		const char *text;
		const char *stream;
	} rows[] = {
		{ "x", "..x.." },
		{ "ab", "..aab.." },
		{ "aa", ".aaa.a.aa" },
		{ "aab", "aaaab.aaab" },
		{ "abab", ".ababab.abaabab" },
		{ "abcabd", "abcabcabd.abcabdabcabd" },
		{ "DONE", "DONDONEDONEDON" },
		{ "never", "neve.nevenevr" },
		{ "\xff\x01\n", "\xff\xff\x01\n.\xff\x01" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const size_t length = strlen(rows[i].stream);

		for (size_t one = 0; one <= length; one++) {
			for (size_t two = one; two <= length; two++)
				check_cuts(rows[i].stream, length, rows[i].text,
				           one, two);
		}
	}
}

/* One byte at a time, with the longest text. */
static void
check_single_bytes(size_t text_length)
{
	char text[SEARCH_TEXT_MAX + 1] = "";
	char stream[3 * SEARCH_TEXT_MAX];
	struct search search = { text, text_length, 0 };

	memset(text, 'a', text_length);
	text[text_length - 1] = 'b';
	memset(stream, 'a', sizeof(stream));
	stream[2 * SEARCH_TEXT_MAX] = 'b';
	for (size_t i = 0; i < sizeof(stream); i++)
		CHECK(feed(&search, stream, i, 1) == (i == 2 * SEARCH_TEXT_MAX),
		      "a byte at a time");
}

/* At each border of two chunks. */
static void
check_long_texts(void)
{
	char text[SEARCH_TEXT_MAX + 1] = "";
	char stream[2 * SEARCH_TEXT_MAX];

	for (size_t i = 0; i < SEARCH_TEXT_MAX; i++)
		text[i] = (char)('a' + random_below(26));
	memset(stream, '.', sizeof(stream));
	memcpy(stream + 500, text, SEARCH_TEXT_MAX);
	for (size_t one = 0; one <= sizeof(stream); one++)
		check_cuts(stream, sizeof(stream), text, one, sizeof(stream));
}

/* A text that was found is found again, and its end is not found twice. */
static void
check_again(void)
{
	struct search search = { "abc", 3, 0 };

	CHECK(feed(&search, "abc", 0, 3), "first");
	CHECK(!feed(&search, "xabc", 0, 1), "its end was found twice");
	CHECK(!feed(&search, "ab", 0, 2), "a beginning");
	CHECK(!feed(&search, "", 0, 0), "nothing");
	CHECK(feed(&search, "c", 0, 1), "second");
}

/* Few letters, so that parts of the text appear by chance; zero is a letter. */
static void
check_random(void)
{
	static const char letters[] = { 'a', 'b', '\0' };
	char text[12];
	static char stream[STREAM_MAX];

	for (int round = 0; round < ROUNDS; round++) {
		struct search search = { text, 1 + random_below(sizeof(text)),
			                 0 };
		const size_t length = random_below(200);

		for (size_t i = 0; i < search.length; i++)
			text[i] = letters[random_below(sizeof(letters))];
		for (size_t i = 0; i < length; i++)
			stream[i] = letters[random_below(sizeof(letters))];
		for (size_t first = 0; first < length;) {
			size_t size = random_below(search.length * 3);

			if (size > length - first)
				size = length - first;
			CHECK(feed(&search, stream, first, size) ==
			          ends_in(stream, first, size, &search),
			      "at random");
			first += size;
		}
	}
}

int
main(void)
{
	check_all_borders();
	for (size_t length = 1; length <= SEARCH_TEXT_MAX; length *= 2)
		check_single_bytes(length);
	check_single_bytes(SEARCH_TEXT_MAX - 1);
	check_long_texts();
	check_again();
	check_random();
	return failures != 0;
}
