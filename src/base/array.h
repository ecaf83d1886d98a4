#pragma once

#include <stddef.h>

/* Arrays in memory from mmap(2): malloc(3) would make up a tenth of the static
 * binary. */

/* Makes the array ITEMS (NULL, or from array_grow()) hold an item more than its
 * COUNT items of SIZE bytes each. Updates *CAPACITY, the number of items that
 * fit. Returns the array, which may have moved; or NULL with errno ENOMEM, and
 * ITEMS stays. */
void *array_grow(void *items, size_t count, size_t *capacity, size_t size);

/* Resizes MEMORY (NULL, or from array_resize()) from OLD_SIZE to SIZE bytes;
 * new bytes are 0. Returns like array_grow(). */
void *array_resize(void *memory, size_t old_size, size_t size);

/* Maps SIZE bytes of zeroes that are shared with children forked later. Pages
 * that are never touched take no memory. Returns the memory, to be freed by
 * array_free(); or NULL with errno ENOMEM. */
void *array_share(size_t size);

/* Frees MEMORY of SIZE bytes, which may be NULL. Keeps errno. */
void array_free(void *memory, size_t size);

/* Returns the number of STRINGS before the final NULL. Async-signal-safe. */
size_t array_count(char *const strings[]);

typedef int array_compare(const void *, const void *);

/* Like qsort(3), in a tenth of the code: a Shell sort, fast for items that are
 * nearly sorted, as the kernel's PIDs are. ITEMS may be NULL if COUNT is 0. */
void array_sort(void *items, size_t count, size_t size, array_compare *compare);
