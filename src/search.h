#ifndef WDRUN_SEARCH_H
#define WDRUN_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

#define SEARCH_TEXT_MAX      1024   /* bytes that a text may have, */
#define SEARCH_TEXT_MAX_WORD "1024" /* for messages */

/* A search for TEXT in what comes in chunks. Starts as { text, length, 0 }. */
struct search {
	const char *text;
	size_t length;  /* 1 to SEARCH_TEXT_MAX */
	size_t carried; /* bytes of earlier chunks, now right before the next */
};

/*
 * Whether the text ends in CHUNK, the next SIZE bytes, wherever it began. CHUNK
 * is to come each time at the same place, behind SEARCH_TEXT_MAX bytes of room,
 * in which the search keeps the end of what it has seen. The chunk stays as it
 * is.
 */
bool search_continue(struct search *search, char *chunk, size_t size);

#endif
