#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "inspect/blocked.h"
#include "proc/cmdline.h"
#include "proc/proctree.h"

#define TREEVIEW_MAX       32 /* processes that are shown */
#define TREEVIEW_WAIT_SIZE 1024

/* How much of a process is read, by what reading it may wait for. */
enum detail {
	DETAIL_FULL,  /* its memory: for ever, as blocked_add() */
	DETAIL_SHORT, /* no memory; a process in execve(2): procfs_may_block()
	               */
	DETAIL_BARE,  /* nothing: name and state */
};

/* The processes of a tree in the order of their lines: each before its
 * children. */
struct treeview {
	const struct proctree *tree;
	size_t count;
	size_t step; /* of treeview_read(): all in short, then all in full */
	struct treeview_process {
		const struct process *process;
		pid_t parent;
		int depth; /* in the tree */

		/* What treeview_read() finds. */
		bool is_bare;  /* only name and state could be read */
		bool is_stuck; /* those that are can only wait for each other */
		int64_t age;   /* in nanoseconds, as CPU */
		int64_t cpu;   /* with that of children it has waited for */
		struct blocked_process
		    blocked;                   /* no PID: it is gone, or dead */
		char wait[TREEVIEW_WAIT_SIZE]; /* ": sleeping", or "" */
		char command[CMDLINE_SIZE];
	} processes[TREEVIEW_MAX];
};

/* Puts the processes of TREE, as it was last read and for as long as it is not
 * read again, into *VIEW; the first ones, if there are too many. */
void treeview_arrange(struct treeview *view, const struct proctree *tree);

/*
 * Reads about the processes of VIEW: first in short, their names instead of
 * their arguments, and then, from the first on, in full. May never return, as
 * blocked_add(); what was read until then stays in VIEW. Called again, goes on
 * behind that.
 */
void treeview_read(struct treeview *view);

/* Whether treeview_read() has nothing left to read. */
bool treeview_is_read(const struct treeview *view);

/* Where treeview_read() does not return: skips what it hangs in, so that it can
 * go on with the rest. Of a process that was not even read in short, reads name
 * and state. Waits for nothing. */
void treeview_skip(struct treeview *view);

/*
 * Appends to LINES, whose last line it ends with ':', a line for each process
 * that was read, with a null byte before it: PID, command line, state, age and
 * CPU time, and what it is blocked in, indented by its depth; one for
 * those that wait only for each other; and one for the number of
 * processes that were not read.
 */
void treeview_add(struct strbuf *lines, const struct treeview *view);
