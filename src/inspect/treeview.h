#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "proc/proctree.h"

#define TREEVIEW_LINES_MAX 32
#define TREEVIEW_LINE_SIZE 768

/* The processes of a tree in the order of lines: each before its children. */
struct treeview {
	const struct proctree *tree;
	size_t count;
	struct {
		const struct process *process;
		int depth; /* in the tree */
	} members[TREEVIEW_LINES_MAX];
};

/* Puts the processes of TREE, as it was last read and for as long as it is not
 * read again, into *VIEW; the first ones, if there are too many. */
void treeview_arrange(struct treeview *view, const struct proctree *tree);

/* Writes line INDEX of VIEW into LINE, indented: PID, command line, state and
 * age of the process, and what it is blocked in. Unless IN_SHORT, this may
 * never return, as blocked_add(); in short, the arguments are left out. */
void treeview_describe(const struct treeview *view, size_t index, bool in_short,
                       char line[TREEVIEW_LINE_SIZE]);
