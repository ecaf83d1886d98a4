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

/* How much of a process is read, and what the reading may wait for. */
enum detail {
	DETAIL_FULL,  /* memory too: may hang, as blocked_add() */
	DETAIL_SHORT, /* no memory: may wait as procfs_may_block() */
	DETAIL_BARE,  /* name and state: waits for nothing */
};

/* The processes of a tree in the order of their lines: each before its
 * children. */
struct treeview {
	const struct proctree *tree;
	size_t total;  /* processes of TREE */
	size_t count;  /* of them in PROCESSES */
	size_t step;   /* COUNT looks in short, then COUNT in full */
	int64_t ahead; /* nanoseconds from the reading to the shown ages */
	struct treeview_process {
		pid_t pid;
		pid_t parent;
		pid_t session;
		int depth; /* in the tree */

		/* What treeview_read() finds. */
		bool is_bare;  /* only name and state could be read */
		bool is_stuck; /* waits for stuck processes only */
		int64_t age;   /* nanoseconds */
		int64_t cpu;   /* nanoseconds, with those of reaped children */
		struct blocked_process blocked; /* PID 0: gone or dead */
		char wait[TREEVIEW_WAIT_SIZE];  /* ": sleeping", or "" */
		char command[CMDLINE_SIZE];
	} processes[TREEVIEW_MAX];
};

/* Puts the first TREEVIEW_MAX processes of TREE, as last read, into *VIEW. The
 * ages will be shown for a time that is AHEAD nanoseconds later. */
void treeview_arrange(struct treeview *view, const struct proctree *tree,
                      int64_t ahead);

/* Reads about the processes of VIEW, whose TREE was not read again: first all
 * in short (no arguments, only names), then all in full. May never return, as
 * blocked_add(): VIEW keeps what was read until then, and the next call reads
 * the rest. */
void treeview_read(struct treeview *view);

/* Whether treeview_read() has nothing left to read. */
bool treeview_is_read(const struct treeview *view);

/* After a treeview_read() that did not return: skips the process with which the
 * reading hung, so that the next call goes on with the rest. Of a process not
 * yet read in short, reads name and state. Waits for nothing. */
void treeview_skip(struct treeview *view);

/*
 * Ends the last line of LINES with ':', and appends lines, each behind a null
 * byte: for each process that was read, its PID, command line, state, age and
 * CPU time, and what it is blocked in, indented by its depth; then the
 * processes that wait only for each other, and the number of processes not
 * read.
 */
void treeview_add(struct strbuf *lines, const struct treeview *view);
