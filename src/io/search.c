/* Finds a text in a stream that comes in chunks. */
#include "io/search.h"

#include <string.h>

bool
search_continue(struct search *search, char *chunk, size_t size)
{
	char *const start = chunk - search->carried;
	const size_t length = search->carried + size;
	const bool is_found =
	    memmem(start, length, search->text, search->length) != NULL;

	/* Keeps a byte less than the text has: enough for a text that ends in
	 * the next chunk, and too little to find a text twice. */
	search->carried = length < search->length ? length : search->length - 1;
	memmove(chunk - search->carried, start + length - search->carried,
	        search->carried);
	return is_found;
}
