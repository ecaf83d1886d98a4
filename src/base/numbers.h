#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A set of PIDs, or of numbers of process groups. Starts with all bytes 0. */
struct numbers {
	pid_t *entries; /* sorted */
	size_t count;
	size_t capacity;
};

bool numbers_have(const struct numbers *numbers, pid_t number);

/* Returns 0, or -1 with errno ENOMEM. */
int numbers_add(struct numbers *numbers, pid_t number);

void numbers_remove(struct numbers *numbers, pid_t number);

/* Frees the memory of NUMBERS. Keeps errno. */
void numbers_free(struct numbers *numbers);
