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
	bool is_new;     /* the reading before did not find it */
	bool got_signal; /* treekill_signal_all() has signalled it by itself */
	bool got_kill;   /* SIGKILL was sent to it, or to its group */
	int refused;     /* errno of the last attempt to signal it, or 0 */
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
		PROCTREE_BLIND,       /* there was no usable /proc */
		PROCTREE_BY_CHILDREN, /* costs the size of the tree */
		PROCTREE_BY_SCAN,     /* costs the size of the machine */
	} way;                        /* of the latest reading */
	bool is_partial;  /* for want of memory, of time, or of /proc, the list
	                   * is not the whole tree */
	bool has_changed; /* while it was read: processes may be missing */
	struct process_list list;   /* sorted by PID */
	struct process_list before; /* the list of the reading before */
};

/* Reads the tree into tree->list, which stays empty with PROCTREE_BLIND. A
 * process may be missing from the list, for want of memory, say: only waitid(2)
 * can say that nothing is left. Never waits for a process of the tree. */
void proctree_read(struct proctree *tree);

/* Reads the tree from the target outwards, until the time is UNTIL. */
void proctree_read_until(struct proctree *tree, int64_t until);

/* Called for tree->list from FIRST on: found so far, not sorted yet. */
typedef void proctree_found(struct proctree *tree, size_t first, void *context);

/* Reads the tree and calls FOUND as soon as the children of a process are
 * known. By their children files, the dead are included that their parents have
 * not reaped. */
void proctree_read_each(struct proctree *tree, proctree_found *found,
                        void *context);

bool proctree_has(const struct process_list *list, pid_t pid);

/* The next process of LIST, from *AT on, whose parent is PARENT, or, with
 * PARENT 0, whose parent is not in LIST; or NULL. */
const struct process *proctree_next_child(const struct process_list *list,
                                          pid_t parent, size_t *at);

/* A number that changes when a process of the tree, as it was last read, comes,
 * goes, computes, reads or writes. A helper reads /proc/PID/io for it. */
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
