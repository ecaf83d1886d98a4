/* Signals to a whole tree: to all of it, and to no other process. */
#include "proc/treekill.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "proc/procfs.h"
#include "proc/procid.h"
#include "proc/proctree.h"
#include "proc/wait.h"

#define FIRST_PID     2
#define PID_MAX_LIMIT 4194304 /* of any kernel, proc(5): pid_max */
#define ROUNDS        3
#define LOOK_INTERVAL 4096 /* numbers between two looks for any child */

static int
by_group(const void *left, const void *right)
{
	const struct process *const a = left;
	const struct process *const b = right;

	return (a->group > b->group) - (a->group < b->group);
}

/*
 * Whether the group of PROCESS may be signalled as a group. setpgid(2) moves
 * processes within their session only: so a group outside the session of
 * wdrun's parent consists of the tree alone. That PROCESS is still in the group
 * is looked at last: the number of a group that ended is given away again only
 * after all other numbers (alloc_pid() in the kernel).
 */
static bool
is_own_group(const struct proctree *tree, const struct process *process)
{
	return process->group > 1 &&
	       process->session != tree->callers_session &&
	       process->group != getpgrp() &&
	       getpgid(process->pid) == process->group;
}

static void
signal_one(const struct proctree *tree, struct process *process, int signal)
{
	const struct procid procid = { process->pid, process->start };
	/* The PID of a child is its own until this process reaps it. */
	const int result = process->parent == tree->root
	                       ? kill(process->pid, signal)
	                       : procid_kill(&procid, signal);

	process->refused = result == -1 && errno != ESRCH ? errno : 0;
}

/* Whether PID is certainly a child of this process, alive, and of the tree. */
static bool
is_child_of_tree(const struct proctree *tree, pid_t pid)
{
	siginfo_t info;

	return wait_peek(pid, WSTOPPED | WNOWAIT, &info) >= CHILD_NONE_READY &&
	       !proctree_is_stranger(tree, pid);
}

/* Kills the children that are alive, by asking waitid(2) about every number
 * there may be; half a second, where a child does not die. The children of a
 * dead child come to this process, for the next sweep. */
static void
kill_children_by_number(const struct proctree *tree)
{
	if (!wait_has_living(ANY_CHILD))
		return;
	for (pid_t pid = FIRST_PID; pid <= PID_MAX_LIMIT; pid++) {
		if (pid % LOOK_INTERVAL == 0 && !wait_has_living(ANY_CHILD))
			return;
		if (is_child_of_tree(tree, pid))
			(void)kill(pid, SIGKILL);
	}
}

/* Signals what can be found without /proc. The target is a child not yet
 * reaped, so its PID and the number of its group are its own. */
static void
signal_blindly(const struct proctree *tree, int signal)
{
	if (tree->target > 1) {
		(void)kill(-tree->target, signal); /* if it leads a group */
		(void)kill(tree->target, signal);
	}
	if (signal == SIGKILL)
		kill_children_by_number(tree);
}

struct topmost {
	const struct proctree *tree;
	int signal;
};

static int
visit_to_signal(pid_t pid, void *context)
{
	const struct topmost *const topmost = context;

	if (is_child_of_tree(topmost->tree, pid))
		(void)kill(pid, topmost->signal);
	return 0;
}

/* Signals the children of this process, where the tree could not be listed, for
 * want of memory or since the stat files are hidden. When these are dead, their
 * children take their places. */
static void
signal_topmost(const struct proctree *tree, int signal)
{
	struct topmost topmost = { .tree = tree, .signal = signal };

	if (tree->way == PROCTREE_BY_CHILDREN)
		(void)procfs_visit_children(tree->root, 1, visit_to_signal,
		                            &topmost);
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

/* Whether GROUP had a process in the reading before: then it was signalled as a
 * whole, and a process that has joined it since got the signal too, or was
 * forked by one that has handled it. */
static bool
group_was_signalled(const struct proctree *tree, pid_t group)
{
	for (size_t i = 0; i < tree->before.count; i++) {
		if (tree->before.entries[i].group == group)
			return true;
	}
	return false;
}

/* Sends SIGNAL to the processes that were forked, or have left their group,
 * since the reading before. Returns how many that are. */
static size_t
signal_missed(struct proctree *tree, int signal)
{
	size_t count = 0;

	for (size_t i = 0; i < tree->list.count; i++) {
		struct process *const process = &tree->list.entries[i];

		if ((!process->is_new && !process->has_moved) ||
		    (is_own_group(tree, process) &&
		     group_was_signalled(tree, process->group)))
			continue;
		signal_one(tree, process, signal);
		count++;
	}
	return count;
}

void
treekill_signal_all(struct proctree *tree, int signal)
{
	treekill_signal(tree, signal);
	for (int i = 1; i < ROUNDS; i++) {
		proctree_read(tree);
		if (signal_missed(tree, signal) == 0)
			return;
	}
}

void
treekill_signal_now(struct proctree *tree, int signal)
{
	proctree_read(tree);
	treekill_signal(tree, signal);
}

size_t
treekill_sweep(struct proctree *tree)
{
	struct process_list *const list = &tree->list;
	size_t newcomers = 0;

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

/* Hundreds of forking processes leave the supervisor a hundredth of a
 * processor: from now on they get what is left over, which needs no privilege
 * (sched(7)). musl's sched_setscheduler(3) always fails. */
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
