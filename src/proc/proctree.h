#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
	pid_t pid;
	pid_t parent;
	pid_t group;
	pid_t session;
	char state;
	int exit_signal; /* what its death sends to its parent */
	long threads;
	bool is_new;    /* the reading before did not find it */
	bool has_moved; /* it was in another process group then */
	bool got_kill;  /* SIGKILL was sent to it, or to its group */
	int refused;    /* errno of the last attempt to signal it, or 0 */
	uint64_t start; /* clock ticks after boot */
	uint64_t cpu;   /* clock ticks */
};

struct process_list {
	struct process *entries;
	size_t count;
	size_t capacity;
};

/* The living descendants of ROOT, a child subreaper, as they were last read,
 * but for helpers (helper.h) and strangers: children that ROOT had before the
 * run, from a program that executed wdrun without a fork. */
struct proctree {
	pid_t root;
	pid_t target;  /* where /proc cannot be read, all that is known */
	pid_t session; /* made for the target; 0: it is in the caller's */
	pid_t callers_session; /* its groups must not be signalled as groups */
	pid_t *strangers;      /* those that were not reaped yet */
	size_t stranger_count;
	bool has_strangers; /* there are strangers, or there were */
	const char *id;     /* "WDRUN_ID=…", as all of the tree have it */
	enum {
		PROCTREE_UNTRIED,     /* or there was no memory to try */
		PROCTREE_BY_CHILDREN, /* costs the size of the tree */
		PROCTREE_BY_SCAN,     /* costs the size of the machine */
		PROCTREE_BLIND,       /* there is no usable /proc */
	} way;
	bool is_partial; /* for want of memory, or of /proc, the list is not
	                  * the whole tree */
	struct process_list list;   /* sorted by PID */
	struct process_list before; /* the list of the reading before */
};

/* Reads the tree into tree->list, which stays empty with PROCTREE_BLIND. A
 * process may be missing from the list, for want of memory, say: only waitid(2)
 * can say that nothing is left. */
void proctree_read(struct proctree *tree);

/* Sorts LIST by PID, as proctree_read() leaves it. */
void proctree_sort(struct process_list *list);

/* A number that changes when a process of the tree comes, goes, computes, reads
 * or writes. Taken from the latest reading, and from /proc/PID/io. */
uint64_t proctree_activity(const struct proctree *tree);

/* Notes the children that this process has already as strangers. Returns 0, or
 * -1 with errno ENOMEM. */
int proctree_note_strangers(struct proctree *tree);

/* Whether CHILD, a child of this process and no helper, is a stranger or an
 * orphan of a stranger's. If there were strangers, a child of the run is known
 * by the target's session or the run's ID. */
bool proctree_is_stranger(const struct proctree *tree, pid_t child);

/* Reaps the child PID, if it is dead, and forgets that it was a stranger: the
 * number may become that of a process of the tree. */
void proctree_reap_child(struct proctree *tree, pid_t pid);

/* Reaps the dead children of this process, all but KEEP (0: none is kept).
 * Costs the number of its children. */
void proctree_reap(struct proctree *tree, pid_t keep);
