/* Memory that grows, and arrays that end with NULL. */
#include "base/array.h"

#include <sys/mman.h>

#include <errno.h>

#define CAPACITY_MIN 64

void *
array_resize(void *memory, size_t old_size, size_t size)
{
	void *const resized =
	    memory == NULL ? mmap(NULL, size, PROT_READ | PROT_WRITE,
	                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
	                   : mremap(memory, old_size, size, MREMAP_MAYMOVE);

	return resized == MAP_FAILED ? NULL : resized;
}

void *
array_grow(void *items, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return items;

	const size_t wanted = count == 0 ? CAPACITY_MIN : 2 * count;
	void *const grown =
	    array_resize(items, *capacity * size, wanted * size);

	if (grown != NULL)
		*capacity = wanted;
	return grown;
}

void
array_free(void *memory, size_t size)
{
	const int why = errno;

	if (memory != NULL)
		(void)munmap(memory, size);
	errno = why;
}

size_t
/* cppcheck-suppress constParameter ; its items are */
array_count(char *const strings[])
{
	size_t count = 0;

	while (strings[count] != NULL)
		count++;
	return count;
}
