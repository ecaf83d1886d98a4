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

/* How much of a process is read, by what reading it may wait for. */
enum detail {
	DETAIL_FULL,  /* its memory: for ever, as blocked_add() */
	DETAIL_SHORT, /* no memory; a process in execve(2), procfs_read_stat()
	               */
	DETAIL_BARE,  /* nothing: name and state */
};

/* Writes line INDEX of VIEW into LINE, indented: PID, command line, state and
 * age of the process, and what it is blocked in, as far as DETAIL goes. */
void treeview_describe(const struct treeview *view, size_t index,
                       enum detail detail, char line[TREEVIEW_LINE_SIZE]);
