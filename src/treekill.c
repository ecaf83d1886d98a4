/* Signals to a whole tree: to all of it, and to nobody else. */
#include "treekill.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "children.h"
#include "pidfd.h"
#include "procfs.h"

#define FIRST_PID     2
#define PID_MAX_LIMIT 4194304 /* of any kernel, proc(5): pid_max */
#define LOOK_INTERVAL 4096    /* numbers between two looks for any child */

static int
by_group(const void *left, const void *right)
{
	const struct process *const a = left;
	const struct process *const b = right;

	return (a->group > b->group) - (a->group < b->group);
}

/*
 * Whether PROCESS's group may be signalled as one. Only the tree can be in a
 * group of a session that began in the tree, since setpgid(2) moves within a
 * session; the caller's session is another matter. That the process is still
 * in the group is looked at last of all: a number that no group has any more
 * is given away again only after all others have had their turn
 * (alloc_pid() in the kernel).
 */
static bool
is_own_group(const struct proctree *tree, const struct process *process)
{
	return process->group > 1 &&
	       process->session != tree->callers_session &&
	       process->group != getpgrp() &&
	       getpgid(process->pid) == process->group;
}

/* Whether PID is still what it was when the tree was read. */
static bool
is_same(const struct process *process)
{
	struct procfs_stat stat;

	return procfs_read_stat(process->pid, &stat) == 0 &&
	       stat.start == process->start;
}

/*
 * A pidfd stands for one process, whatever becomes of its PID; looked at after
 * it was opened, it is the right one for good. Without pidfds (a filter may
 * forbid them) the look comes just before the signal.
 */
static int
signal_verified(const struct process *process, int signal)
{
	const int fd = pidfd_open(process->pid);

	if (fd == -1 && errno == ESRCH)
		return -1;
	if (!is_same(process)) {
		if (fd != -1)
			(void)close(fd);
		errno = ESRCH;
		return -1;
	}
	if (fd == -1)
		return kill(process->pid, signal);

	int result = pidfd_send_signal(fd, signal);
	int why = errno;

	/* ESRCH and EPERM are answers, all else is a call that is missing. */
	if (result == -1 && why != ESRCH && why != EPERM) {
		result = kill(process->pid, signal);
		why = errno;
	}
	(void)close(fd);
	errno = why;
	return result;
}

static void
signal_one(const struct proctree *tree, struct process *process, int signal)
{
	/* A child's PID is its own until we reap it, and that is not now. */
	const int result = process->parent == tree->root
	                       ? kill(process->pid, signal)
	                       : signal_verified(process, signal);

	process->refused = result == -1 && errno != ESRCH ? errno : 0;
}

/*
 * The children that are alive, found by asking for every number there may be,
 * until none is left. That takes half a second where one does not die; and what
 * is below them comes to us when they are dead, for the next sweep.
 */
static void
kill_children_by_number(const struct proctree *tree)
{
	siginfo_t info;

	if (!children_are_alive(ANY_CHILD))
		return;
	for (pid_t pid = FIRST_PID; pid <= PID_MAX_LIMIT; pid++) {
		if (pid % LOOK_INTERVAL == 0 && !children_are_alive(ANY_CHILD))
			return;
		/* CHILD_UNKNOWN is not enough to kill somebody. */
		if (children_look(pid, WSTOPPED | WNOWAIT, &info) >=
		        CHILD_NONE_READY &&
		    !proctree_is_stranger(tree, pid))
			(void)kill(pid, SIGKILL);
	}
}

/* What can be done without /proc. The target is a child not yet reaped, so both
 * numbers are its own. */
static void
signal_blindly(const struct proctree *tree, int signal)
{
	if (tree->target > 1 && tree->target_group > 1)
		(void)kill(-tree->target_group, signal);
	if (tree->target > 1)
		(void)kill(tree->target, signal);
	if (signal == SIGKILL)
		kill_children_by_number(tree);
}

struct peel {
	const struct proctree *tree;
	int signal;
};

static int
visit_to_signal(pid_t pid, void *context)
{
	const struct peel *const peel = context;

	if (!proctree_is_stranger(peel->tree, pid))
		(void)kill(pid, peel->signal);
	return 0;
}

/*
 * For a tree that could not be listed, as there was no memory, or its stat
 * files are hidden: its topmost processes, which are our own children. When
 * these are dead, their children are.
 */
static void
signal_topmost(const struct proctree *tree, int signal)
{
	struct peel peel = { .tree = tree, .signal = signal };

	if (tree->way == PROCTREE_BY_CHILDREN)
		(void)procfs_visit_children(tree->root, 1, visit_to_signal,
		                            &peel);
	else if (signal == SIGKILL)
		kill_children_by_number(tree);
}

void
treekill_signal(struct proctree *tree, int signal)
{
	struct process_list *const list = &tree->list;

	if (tree->way == PROCTREE_BLIND || tree->way == PROCTREE_UNTRIED) {
		signal_blindly(tree, signal);
		return;
	}
	if (list->count == 0 &&
	    (tree->is_partial || tree->way == PROCTREE_BY_SCAN))
		signal_topmost(tree, signal);
	if (list->count > 1)
		qsort(list->entries, list->count, sizeof(list->entries[0]),
		      by_group);

	pid_t done = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct process *const process = &list->entries[i];

		if (process->group == done)
			continue;
		if (is_own_group(tree, process) &&
		    kill(-process->group, signal) == 0)
			done = process->group;
		else
			signal_one(tree, process, signal);
	}
	proctree_sort(list);
}

size_t
treekill_sweep(struct proctree *tree)
{
	struct process_list *const list = &tree->list;
	size_t newcomers = 0;

	proctree_read(tree);
	treekill_signal(tree, SIGKILL);
	for (size_t i = 0; i < list->count; i++) {
		struct process *const process = &list->entries[i];

		if (process->got_kill)
			signal_one(tree, process, SIGKILL);
		else
			newcomers++;
		process->got_kill = true;
	}
	return newcomers;
}

/*
 * A storm of hundreds leaves its killer a hundredth of a processor. What it has
 * forked gets what is left over from now on, and its children with it. That is
 * allowed for one's own: sched(7). Not by sched_setscheduler(3), which musl
 * leaves to fail.
 */
static void
calm(const struct process_list *list)
{
	const struct sched_param none = { .sched_priority = 0 };

	for (size_t i = 0; i < list->count; i++)
		(void)syscall(SYS_sched_setscheduler, list->entries[i].pid,
		              SCHED_IDLE, &none);
}

void
treekill_freeze(struct proctree *tree, int limit)
{
	bool is_still = false;

	while (!is_still && limit-- > 0) {
		proctree_read(tree);
		treekill_signal(tree, SIGSTOP);
		calm(&tree->list);
		is_still = true;
		for (size_t i = 0; i < tree->list.count; i++)
			is_still &= !tree->list.entries[i].is_new;
	}
}
