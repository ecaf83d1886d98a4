/* Arrays in memory from mmap(2), and arrays that end with NULL. */
#include "base/array.h"

#include <sys/mman.h>

#include <errno.h>

#define CAPACITY_MIN 64

static void *
map(size_t size, int flags)
{
	void *const mapped = mmap(NULL, size, PROT_READ | PROT_WRITE,
	                          MAP_ANONYMOUS | flags, -1, 0);

	return mapped == MAP_FAILED ? NULL : mapped;
}

void *
array_share(size_t size)
{
	return map(size, MAP_SHARED | MAP_NORESERVE);
}

void *
array_resize(void *memory, size_t old_size, size_t size)
{
	if (memory == NULL)
		return map(size, MAP_PRIVATE);

	void *const resized = mremap(memory, old_size, size, MREMAP_MAYMOVE);

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

struct sorting {
	size_t size;
	array_compare *compare;
};

static void
swap(char *one, char *other, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		const char byte = one[i];

		one[i] = other[i];
		other[i] = byte;
	}
}

/* Moves the item at INDEX, in steps of GAP, before all larger items. */
static void
sink(char *items, size_t index, size_t gap, const struct sorting *sorting)
{
	for (; index >= gap; index -= gap) {
		char *const at = items + index * sorting->size;
		char *const before = at - gap * sorting->size;

		if (sorting->compare(before, at) <= 0)
			break;
		swap(before, at, sorting->size);
	}
}

void
array_sort(void *items, size_t count, size_t size, array_compare *compare)
{
	const struct sorting sorting = { size, compare };

	for (size_t gap = count / 2; gap > 0; gap /= 2) {
		for (size_t i = gap; i < count; i++)
			sink(items, i, gap, &sorting);
	}
}

size_t
/* cppcheck-suppress constParameter ; the items are const */
array_count(char *const strings[])
{
	size_t count = 0;

	while (strings[count] != NULL)
		count++;
	return count;
}
