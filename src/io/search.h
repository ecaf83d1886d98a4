#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SEARCH_TEXT_MAX 1024 /* bytes */

/* A search for TEXT in a stream that comes in chunks. */
struct search {
	const char *text;
	size_t length;  /* 1 to SEARCH_TEXT_MAX */
	size_t carried; /* bytes kept from earlier chunks; 0 at the start */
};

/* Returns whether the text ends in CHUNK, the next SIZE bytes of the stream.
 * CHUNK is not changed, and is at the same address in each call, behind
 * SEARCH_TEXT_MAX bytes in which the search keeps the end of earlier chunks. */
bool search_continue(struct search *search, char *chunk, size_t size);
