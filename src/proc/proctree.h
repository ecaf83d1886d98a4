#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/numbers.h"

struct process {
	pid_t pid;
	pid_t parent;
	pid_t group;
	pid_t session;
	int refused; /* errno of the last attempt to signal, or 0 */
};

struct process_list {
	struct process *entries;
	size_t count;
	size_t capacity;
};

/* The living descendants of ROOT, a subreaper, at the last reading, without
 * helpers (helper.h) and strangers: children that ROOT had before the run, from
 * a program that executed wdrun without a fork. */
struct proctree {
	pid_t root;
	pid_t target;  /* the only process known without /proc */
	pid_t session; /* made for the target; 0: target in the caller's */
	pid_t callers_session; /* not to be signalled by process group */
	pid_t *strangers;      /* strangers not reaped yet */
	size_t stranger_count;
	const char *id; /* "WDRUN_ID=…", which the whole tree has */
	enum {
		PROCTREE_BLIND,       /* there was no usable /proc */
		PROCTREE_BY_CHILDREN, /* costs the size of the tree */
		PROCTREE_BY_SCAN,     /* costs the size of the machine */
	} way;                        /* how the last reading was done */
	bool has_strangers;           /* even if all are reaped by now */
	bool is_partial; /* LIST is incomplete: no memory, time or /proc */
	struct process_list list;   /* sorted by PID */
	struct process_list before; /* the list of the reading before */
	struct numbers killed;      /* sent SIGKILL, not reaped: treekill.c */
};

/* Reads the tree into tree->list, which stays empty with PROCTREE_BLIND. The
 * list may miss a process (no memory, say): only waitid(2) can say that the
 * tree is empty. Never waits for a process of the tree. */
void proctree_read(struct proctree *tree);

/* Reads the tree from the target outwards, until the clock says UNTIL; by a
 * scan, to its end. */
void proctree_read_until(struct proctree *tree, int64_t until);

/* Called for the processes in tree->list from FIRST on, not sorted yet. */
typedef void proctree_found(struct proctree *tree, size_t first, void *context);

/* As proctree_read_until(), and calls FOUND as soon as the children of a
 * process are known. With PROCTREE_BY_CHILDREN, the list includes zombies. */
void proctree_read_each(struct proctree *tree, int64_t until,
                        proctree_found *found, void *context);

/* Returns the process PID of LIST, which is sorted, or NULL. */
const struct process *proctree_find(const struct process_list *list, pid_t pid);

/* Returns the next process of LIST, from index *AT on, whose parent is PARENT,
 * or with PARENT 0, whose parent is not in LIST; or NULL. Moves *AT on. */
const struct process *proctree_next_child(const struct process_list *list,
                                          pid_t parent, size_t *at);

/* A number that changes when a process of the tree, as last read, comes, goes,
 * computes, reads or writes. */
uint64_t proctree_activity(const struct proctree *tree);

/* Notes the present children of this process as strangers. Returns 0, or -1
 * with errno ENOMEM. */
int proctree_note_strangers(struct proctree *tree);

/* Whether CHILD, a child of this process and no helper, is a stranger or the
 * orphan of a stranger. If there were strangers, only the target's session or
 * the run's ID proves that CHILD is of the run. */
bool proctree_is_stranger(const struct proctree *tree, pid_t child);

/* Reaps the child PID, if it is dead, and forgets that PID was a stranger's or
 * was killed: another process may get the number. */
void proctree_reap_child(struct proctree *tree, pid_t pid);

/* Reaps the dead children of this process but KEEP (0: all). Costs the number
 * of children. */
void proctree_reap(struct proctree *tree, pid_t keep);
