/*
 * A text is found in whatever chunks it arrives, as by a search in the whole
 * stream.
 */
#include "base/text.h"

#include "check.h"
#include "watchdog.h"

#define TEXT_MAX   12
#define STREAM_MAX 200
#define ROUNDS     20000

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

/* Few letters, so that parts of the text appear by chance; the third is 0. */
static void
fill(char *text, size_t length, size_t letters)
{
	while (length > 0)
		text[--length] = "a\xff"[random_below(letters)];
}

/* Feeds a stream in chunks; behind each is the rest of an earlier one. */
static void
check_random(void)
{
	static char buffer[UNTIL_MAX + STREAM_MAX];
	char *const chunk = buffer + UNTIL_MAX;
	char text[TEXT_MAX + 1];
	char all[STREAM_MAX];
	const size_t length = 1 + random_below(TEXT_MAX);
	const size_t end = random_below(sizeof(all));
	size_t tail = 0;
	size_t size;

	fill(text, length, 2);
	text[length] = '\0';
	fill(all, end, 3);
	for (size_t first = 0; first < end; first += size) {
		/* Where the text begins if it ends in this chunk. */
		const size_t begin = first < length ? 0 : first + 1 - length;

		size = random_below(3 * length + 1);
		size = size < end - first ? size : end - first;
		memcpy(chunk, all + first, size);
		CHECK((memmem(chunk - tail, tail + size, text, length) !=
		       NULL) == (memmem(all + begin, first + size - begin, text,
		                        length) != NULL),
		      "a text");
		chunk_keep_tail(chunk, size, &tail, length - 1);
		CHECK(memcmp(chunk, all + first, size) == 0,
		      "the chunk has changed");
	}
}

int
main(void)
{
	for (int round = 0; round < ROUNDS; round++)
		check_random();
	return failures != 0;
}
