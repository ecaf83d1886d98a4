/*
 * Any bytes as a stream, in any cuts, and any of them as the text of --until:
 * it is found in the chunk in which it ends, as by a search in the whole
 * stream; and the chunk does not change.
 *
 * An input is the length of the text (two bytes), the text, the number of cuts
 * (a byte), the sizes of chunks (a byte each, used again and again), and the
 * stream.
 */
#include "io/search.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "require.h"

#define CHUNK_MAX UINT8_MAX

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
	const uint8_t *at;
	size_t size;
};

/* Takes the first SIZE of BYTES, or what is left of them, away. */
static struct bytes
take(struct bytes *bytes, size_t size)
{
	struct bytes taken = { bytes->at,
		               size < bytes->size ? size : bytes->size };

	bytes->at += taken.size;
	bytes->size -= taken.size;
	return taken;
}

/* For each length of STREAM: whether TEXT ends there. */
static bool *
find_ends(struct bytes stream, struct bytes text)
{
	bool *const is_end = calloc(stream.size + 1, sizeof(*is_end));
	const uint8_t *at = stream.at;
	const uint8_t *const end = stream.at + stream.size;

	require(is_end != NULL);
	while ((at = memmem(at, (size_t)(end - at), text.at, text.size)) !=
	       NULL) {
		is_end[(size_t)(at - stream.at) + text.size] = true;
		at++;
	}
	return is_end;
}

static void
check(struct bytes stream, struct bytes text, struct bytes sizes)
{
	struct search search = { (const char *)text.at, text.size, 0 };
	bool *const is_end = find_ends(stream, text);
	/* With exactly the promised size, so that a read beyond it is seen. */
	char *const buffer = malloc(SEARCH_TEXT_MAX + CHUNK_MAX);
	size_t fed = 0;

	require(buffer != NULL);
	for (size_t cut = 0; stream.size > 0; cut++) {
		const size_t size =
		    sizes.size == 0 ? CHUNK_MAX : sizes.at[cut % sizes.size];
		const struct bytes chunk = take(&stream, size);
		char *const place = buffer + SEARCH_TEXT_MAX;
		bool is_expected = false;

		for (size_t i = 0; i < chunk.size; i++)
			is_expected |= is_end[++fed];
		memcpy(place, chunk.at, chunk.size);
		require(search_continue(&search, place, chunk.size) ==
		        is_expected);
		require(memcmp(place, chunk.at, chunk.size) == 0);
		/* If all sizes were 0, the loop would not end. */
		if (cut > sizes.size && fed == 0)
			break;
	}
	free(buffer);
	free(is_end);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes rest = { data, size };
	const struct bytes length = take(&rest, 2);

	if (length.size < 2)
		return 0;

	const struct bytes text = take(
	    &rest, 1 + (length.at[0] * 256U + length.at[1]) % SEARCH_TEXT_MAX);
	const struct bytes count = take(&rest, 1);

	if (count.size == 0)
		return 0;

	const struct bytes sizes = take(&rest, *count.at);

	check(rest, text, sizes);
	return 0;
}
