#ifndef WDRUN_FAMILY_H
#define WDRUN_FAMILY_H

#include <stddef.h>

#include "proctree.h"

#define FAMILY_LINES_MAX 32
#define FAMILY_LINE_SIZE 768

/* The processes of a tree as a tree: a line for each, its children behind it
 * and further to the right. */
struct family {
	size_t count; /* of the lines */
	char lines[FAMILY_LINES_MAX][FAMILY_LINE_SIZE];
};

/*
 * Reads the processes of TREE, as it was last read, into *FAMILY: PID, command
 * line, state and age of each, and what it is blocked in. A child process does
 * it, as some of that may never answer: then the line has less, and so have all
 * that were not read after 0.4 seconds.
 */
void family_read(struct family *family, const struct proctree *tree);

/* Prints FAMILY, a message for each line, and how many are not in it. */
void family_print(const struct family *family, const struct proctree *tree);

#endif
