/*
 * A text is found in whatever chunks it arrives, as by a search in the whole
 * stream.
 */
#include "io/output.h"

#include <stdint.h>
#include <string.h>

#include "check.h"
#include "watchdog.h"

#define STREAM_MAX 200
#define ROUNDS     20000

struct search {
	const char *text;
	size_t length;
	size_t carried;
};

/* Returns a number below BOUND. xorshift64*: the same numbers in each run. */
static size_t
random_below(size_t bound)
{
	static uint64_t state = 1;

	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (size_t)((state * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % bound;
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

/* Feeds SIZE bytes at CHUNK; behind them is the rest of an earlier chunk. */
static bool
feed(struct search *search, const char *chunk, size_t size)
{
	static char buffer[UNTIL_MAX + STREAM_MAX];
	char *const place = buffer + UNTIL_MAX;

	memcpy(place, chunk, size);

	struct stream of = { .text = place,
		             .text_size = size,
		             .carried = search->carried };
	const bool is_found = stream_search(&of, search->text, search->length);

	search->carried = of.carried;

	CHECK(memcmp(place, chunk, size) == 0, "the chunk has changed");
	return is_found;
}

/* Feeds the stream in chunks of a random size, SIZE_MAX at most. */
static void
check(struct search search, const char *stream, size_t length, size_t size_max)
{
	for (size_t first = 0; first < length;) {
		size_t size = random_below(size_max + 1);

		if (size > length - first)
			size = length - first;
		CHECK(feed(&search, stream + first, size) ==
		          ends_in(stream, first, size, &search),
		      "a text");
		first += size;
	}
}

/* Few letters, so that parts of the text appear by chance; zero is a letter. */
static void
check_random(void)
{
	static const char letters[] = { 'a', '\xff', '\0' };
	char text[12];
	char stream[STREAM_MAX];
	const size_t text_length = 1 + random_below(sizeof(text));
	const size_t length = random_below(sizeof(stream));

	for (size_t i = 0; i < text_length; i++)
		text[i] = letters[random_below(sizeof(letters))];
	for (size_t i = 0; i < length; i++)
		stream[i] = letters[random_below(sizeof(letters))];
	check((struct search){ text, text_length, 0 }, stream, length,
	      text_length * 3);
}

int
main(void)
{
	for (int round = 0; round < ROUNDS; round++)
		check_random();
	return failures != 0;
}
