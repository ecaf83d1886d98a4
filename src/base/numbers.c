/* Sets of numbers, in sorted arrays. */
#include "base/numbers.h"

#include <string.h>

#include "base/array.h"

/* Returns how many entries are smaller than NUMBER: its place. */
static size_t
find(const struct numbers *numbers, pid_t number)
{
	size_t low = 0;
	size_t high = numbers->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (numbers->entries[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool
is_at(const struct numbers *numbers, size_t place, pid_t number)
{
	return place < numbers->count && numbers->entries[place] == number;
}

bool
numbers_have(const struct numbers *numbers, pid_t number)
{
	return is_at(numbers, find(numbers, number), number);
}

int
numbers_add(struct numbers *numbers, pid_t number)
{
	const size_t place = find(numbers, number);

	if (is_at(numbers, place, number))
		return 0;

	pid_t *const entries = array_grow(numbers->entries, numbers->count,
	                                  &numbers->capacity, sizeof(*entries));

	if (entries == NULL)
		return -1;
	memmove(&entries[place + 1], &entries[place],
	        (numbers->count - place) * sizeof(*entries));
	entries[place] = number;
	numbers->entries = entries;
	numbers->count++;
	return 0;
}

void
numbers_remove(struct numbers *numbers, pid_t number)
{
	const size_t place = find(numbers, number);
	pid_t *const entries = numbers->entries;

	if (!is_at(numbers, place, number))
		return;
	numbers->count--;
	memmove(&entries[place], &entries[place + 1],
	        (numbers->count - place) * sizeof(*entries));
}

void
numbers_free(struct numbers *numbers)
{
	array_free(numbers->entries, numbers->capacity * sizeof(pid_t));
	*numbers = (struct numbers){ .entries = NULL };
}
