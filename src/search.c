/* Finding a text, whatever pieces it comes in. */
#include "search.h"

#include <string.h>

bool
search_continue(struct search *search, char *chunk, size_t size)
{
	char *const start = chunk - search->carried;
	const size_t length = search->carried + size;
	const bool is_found =
	    memmem(start, length, search->text, search->length) != NULL;

	/* Of a text that goes on in the next chunk, at most this much is here.
	 * What was carried is shorter than the text, so that none is found
	 * twice. */
	search->carried = length < search->length ? length : search->length - 1;
	memmove(chunk - search->carried, start + length - search->carried,
	        search->carried);
	return is_found;
}
