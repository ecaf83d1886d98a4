#ifndef WDRUN_PROCTREE_H
#define WDRUN_PROCTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HELPERS_MAX                                                            \
	8 /* narrator, herald, two relays, copyist, keyboard; two that settle  \
	   */

struct process {
	pid_t pid;
	pid_t parent;
	pid_t group;
	pid_t session;
	char state;
	long threads;
	bool is_new;    /* not seen when the tree was read before */
	bool got_kill;  /* SIGKILL was sent to it, or to its group */
	int refused;    /* errno of the last attempt to signal it, or 0 */
	uint64_t start; /* clock ticks after boot */
	uint64_t cpu;   /* clock ticks */
};

struct process_list {
	struct process *entries; /* sorted by PID once it has been read */
	size_t count;
	size_t capacity;
};

/*
 * The living descendants of ROOT, a process that is a child subreaper, as they
 * were when they were last read. Zombies do not count: they are dead.
 */
struct proctree {
	pid_t root;
	pid_t target;       /* where /proc cannot be read, all that is known */
	pid_t target_group; /* its group, or 0 if that is the caller's */
	pid_t callers_session; /* its groups are not to be signalled as such */
	pid_t *strangers;      /* children that ROOT had before the run */
	size_t stranger_count; /* of those that still live */
	bool has_strangers;    /* or had */
	const char *id;        /* "WDRUN_ID=…", as all of the tree have it */
	pid_t
	    helpers[HELPERS_MAX]; /* children of ROOT's that are wdrun's own */
	size_t helper_count;
	enum {
		PROCTREE_UNTRIED, /* or what was tried failed for want of memory
		                   */
		PROCTREE_BY_CHILDREN, /* costs the size of the tree */
		PROCTREE_BY_SCAN,     /* costs the size of the machine */
		PROCTREE_BLIND,       /* there is no /proc that could be used */
	} way;
	bool is_partial; /* the list is: for want of memory, or of /proc */
	struct process_list list;
	struct process_list before; /* the list of the reading before */
};

/*
 * Reads the tree into tree->list. What cannot be had (memory, a process that
 * just went) is left out, and seen at the next reading if it still lives:
 * "nothing is left" is waitid(2)'s to say. With PROCTREE_BLIND the list stays
 * empty.
 */
void proctree_read(struct proctree *tree);

/* Sorts LIST by PID, as proctree_read leaves it. */
void proctree_sort(struct process_list *list);

/* A number that changes when a process of the tree comes, goes, computes,
 * reads or writes. Taken from the latest reading, and /proc/PID/io. */
uint64_t proctree_activity(const struct proctree *tree);

/* Reaps the dead children of this process, all but KEEP (0: none is kept).
 * Costs the number of its children. */
void proctree_reap(struct proctree *tree, pid_t keep);

/* Notes the children that this process has already, from an exec without a
 * fork, as no part of the tree. Returns 0 or -1 with errno ENOMEM. */
int proctree_note_strangers(struct proctree *tree);

/*
 * Whether CHILD, of this process, is no part of the tree: a helper, or one
 * of the caller's that is below us only since this was an exec without a fork.
 * Orphans of such children come to us as well, as we are a subreaper: so where
 * there were any, a child has to prove that it is of the run, by the target's
 * session or the run's ID.
 */
bool proctree_is_stranger(const struct proctree *tree, pid_t child);

/* Reaps the child PID, if it is dead, and forgets that it was a stranger or a
 * helper: the number may become that of a process of the tree. */
void proctree_reap_child(struct proctree *tree, pid_t pid);

#endif
