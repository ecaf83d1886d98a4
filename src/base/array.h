#pragma once

#include <stddef.h>

/* Memory that grows, straight from mmap(2): no part of wdrun allocates on its
 * way to COMMAND, and malloc(3) would be a tenth of the static binary. */

/* Makes an array of COUNT items, SIZE bytes each, longer by an item at least.
 * ITEMS is NULL or from array_grow, and takes *CAPACITY items. Returns the
 * array, which may have moved; or NULL with errno ENOMEM, and ITEMS stays. */
void *array_grow(void *items, size_t count, size_t *capacity, size_t size);

/* Changes MEMORY, NULL or from here, from OLD_SIZE to SIZE bytes, of which new
 * ones are 0. Returns as above. */
void *array_resize(void *memory, size_t old_size, size_t size);

/* Makes SIZE bytes, all 0, which the children that are forked from now on share
 * with their parent. Only pages that are written take memory. Returns them, to
 * be given back with array_free(); or NULL with errno ENOMEM. */
void *array_share(size_t size);

/* Gives back MEMORY of SIZE bytes, which may be NULL. Keeps errno. */
void array_free(void *memory, size_t size);

/* How many STRINGS come before the NULL at their end. Async-signal-safe. */
size_t array_count(char *const strings[]);

typedef int array_compare(const void *, const void *);

/* As qsort(3), in a tenth of its size; COUNT may be 0 and ITEMS NULL. Fast
 * enough for items that are nearly in order, as PIDs from the kernel are. */
void array_sort(void *items, size_t count, size_t size, array_compare *compare);
