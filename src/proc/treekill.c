/* Signals to all processes of a tree, and to no other process. */
#include "proc/treekill.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fds.h"
#include "proc/pidfd.h"
#include "proc/procfs.h"
#include "proc/proctree.h"
#include "proc/wait.h"

#define FIRST_PID     2
#define PID_MAX_LIMIT 4194304 /* of any kernel, proc(5): pid_max */
#define ROUNDS        3
#define LOOK_INTERVAL 4096 /* PIDs between two looks for a living child */

/* Whether PROCESS is certainly not in the session of wdrun's parent. A session
 * of -1: getsid(2) failed, for example by a security module's EPERM. */
static bool
is_outside(const struct proctree *tree, const struct process *process)
{
	return process->session > 0 && tree->callers_session != -1 &&
	       process->session != tree->callers_session;
}

/*
 * Whether the process group of PROCESS may be signalled as a group: only the
 * tree is in a group outside the session of wdrun's parent, since setpgid(2)
 * moves processes only within their session. The last check is that PROCESS is
 * still in the group: the kernel reuses the number of a group that ended only
 * after all other numbers (alloc_pid()).
 */
static bool
is_own_group(const struct proctree *tree, const struct process *process)
{
	return process->group > 1 && is_outside(tree, process) &&
	       process->group != getpgrp() &&
	       getpgid(process->pid) == process->group;
}

/* Whether PROCESS, no child of this process, is still the process that was
 * read, and no other process with its PID. No process from outside can enter a
 * session of the tree; in the session of wdrun's parent, the parent of PROCESS
 * has to be the same. Reads "status", which never blocks. */
static bool
is_still_of_tree(const struct proctree *tree, const struct process *process)
{
	struct procfs_status status;

	if (getsid(process->pid) != process->session)
		return false;
	if (is_outside(tree, process))
		return true;
	return procfs_is_ours() == 1 &&
	       procfs_read_status(process->pid, &status) == 0 &&
	       (status.parent == process->parent ||
	        status.parent == tree->root);
}

/* First open, then check: a pidfd stands for one process, even after another
 * process has got the PID. Without pidfds, the kernel gives a PID to a new
 * process only when it has given away all other PIDs (alloc_pid()). */
static int
signal_descendant(const struct proctree *tree, const struct process *process,
                  int signal)
{
	const int fd = pidfd_open(process->pid);
	int result = 0;

	if (is_still_of_tree(tree, process)) {
		result = fd == -1 ? -1 : pidfd_send_signal(fd, signal);
		if (result == -1 && errno != ESRCH)
			result = kill(process->pid, signal);
	}
	fds_close(fd);
	return result;
}

static void
signal_one(const struct proctree *tree, struct process *process, int signal)
{
	/* The kernel does not reuse the PID of a child before this process
	 * reaps the child. */
	const int result = process->parent == tree->root
	                       ? pid_kill(process->pid, signal)
	                       : signal_descendant(tree, process, signal);

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

/* Kills the living children, by asking waitid(2) about every possible PID,
 * which takes half a second if a child does not die. The children of a dead
 * child become children of this process, for the next sweep. */
static void
kill_children_by_number(const struct proctree *tree)
{
	if (!wait_has_living(ANY_CHILD))
		return;
	for (pid_t pid = FIRST_PID; pid <= PID_MAX_LIMIT; pid++) {
		if (pid % LOOK_INTERVAL == 0 && !wait_has_living(ANY_CHILD))
			return;
		if (is_child_of_tree(tree, pid))
			(void)pid_kill(pid, SIGKILL);
	}
}

/* Signals the processes that can be found without /proc. The target is a child
 * not reaped yet, so the kernel does not reuse its PID and process group. */
static void
signal_blindly(const struct proctree *tree, int signal)
{
	if (tree->target > 1) {
		(void)kill(-tree->target, signal); /* if it leads a group */
		(void)pid_kill(tree->target, signal);
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
		(void)pid_kill(pid, topmost->signal);
	return 0;
}

/* Signals the children of this process, if the tree could not be listed for
 * want of memory or descriptors. When the children are dead, their own children
 * become children of this process. */
static void
signal_topmost(const struct proctree *tree, int signal)
{
	struct topmost topmost = { .tree = tree, .signal = signal };
	const int proc_fd = procfs_open_root();
	const bool is_listed =
	    proc_fd != -1 &&
	    procfs_visit_children(proc_fd, tree->root, visit_to_signal,
	                          &topmost) == 0;

	fds_close(proc_fd);
	if (!is_listed && signal == SIGKILL)
		kill_children_by_number(tree);
}

/* --- by groups ------------------------------------------------------------ */

/* A signal on its way to the whole tree. */
struct delivery {
	int signal;
	pid_t *groups; /* groups that were signalled as a whole, sorted */
	size_t group_count;
	size_t capacity;
	size_t count;     /* signals sent, to a group or to a process */
	size_t newcomers; /* processes alive that no earlier sweep has killed */
	bool target_has_it; /* by its PID, not by its process group */
};

/* The index of GROUP in the sorted groups of DELIVERY. */
static size_t
groups_before(const struct delivery *delivery, pid_t group)
{
	size_t low = 0;
	size_t high = delivery->group_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (delivery->groups[middle] < group)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool
has_group(const struct delivery *delivery, pid_t group)
{
	const size_t at = groups_before(delivery, group);

	return at < delivery->group_count && delivery->groups[at] == group;
}

/* Without memory to note GROUP, deliver_to_group() signals the group again. */
static void
note_group(struct delivery *delivery, pid_t group)
{
	const size_t at = groups_before(delivery, group);
	pid_t *const groups =
	    array_grow(delivery->groups, delivery->group_count,
	               &delivery->capacity, sizeof(*groups));

	if (groups == NULL)
		return;
	memmove(&groups[at + 1], &groups[at],
	        (delivery->group_count - at) * sizeof(*groups));
	groups[at] = group;
	delivery->groups = groups;
	delivery->group_count++;
}

/* Signals the group of PROCESS, if the group may be signalled and was not yet.
 * Returns whether PROCESS has got the signal with its group. */
static bool
deliver_to_group(const struct proctree *tree, const struct process *process,
                 struct delivery *delivery)
{
	if (!is_own_group(tree, process))
		return false;
	if (has_group(delivery, process->group))
		return true;
	if (kill(-process->group, delivery->signal) == -1)
		return false;
	note_group(delivery, process->group);
	delivery->count++;
	return true;
}

static void
end_delivery(struct delivery *delivery)
{
	array_free(delivery->groups,
	           delivery->capacity * sizeof(delivery->groups[0]));
}

/* --- the signals ---------------------------------------------------------- */

void
treekill_signal(struct proctree *tree, int signal)
{
	struct process_list *const list = &tree->list;
	struct delivery delivery = { .signal = signal };

	if (tree->way == PROCTREE_BLIND) {
		signal_blindly(tree, signal);
		return;
	}
	if (tree->is_partial ||
	    (list->count == 0 && tree->way == PROCTREE_BY_SCAN))
		signal_topmost(tree, signal);
	for (size_t i = 0; i < list->count; i++) {
		if (!deliver_to_group(tree, &list->entries[i], &delivery))
			signal_one(tree, &list->entries[i], signal);
	}
	end_delivery(&delivery);
}

/* Signals the target before anything is read: its group, in one call, or the
 * target alone if it leads no group. */
static void
signal_target(const struct proctree *tree, struct delivery *delivery)
{
	if (tree->target <= 1)
		return;
	if (tree->session != 0 && kill(-tree->target, delivery->signal) == 0)
		note_group(delivery, tree->target);
	else
		delivery->target_has_it =
		    pid_kill(tree->target, delivery->signal) == 0;
}

/* Signals PROCESS, with its group if that may be signalled. */
static void
deliver(const struct proctree *tree, struct process *process,
        struct delivery *delivery)
{
	if (deliver_to_group(tree, process, delivery) || process->got_signal ||
	    (process->pid == tree->target && delivery->target_has_it))
		return;
	signal_one(tree, process, delivery->signal);
	process->got_signal = true;
	delivery->count++;
}

static void
deliver_to_found(struct proctree *tree, size_t first, void *context)
{
	for (size_t i = first; i < tree->list.count; i++)
		deliver(tree, &tree->list.entries[i], context);
}

/* kill(2) of a group is atomic against fork(2). So a new process in a group
 * that was signalled as a whole was started by a process that has got the
 * signal, as part of an orderly end: the new process gets no signal. */
void
treekill_signal_all(struct proctree *tree, int signal)
{
	struct delivery delivery = { .signal = signal };
	const struct process_list *const list = &tree->list;

	signal_target(tree, &delivery);
	for (size_t i = 0; i < list->count; i++)
		list->entries[i].got_signal = false;
	for (int i = 0; i < ROUNDS; i++) {
		delivery.count = 0;
		proctree_read_each(tree, deliver_to_found, &delivery);
		if (list->count == 0 && tree->is_partial)
			signal_topmost(tree, signal);
		/* The first reading may miss the children of a target that died
		 * during the reading. */
		if (i > 0 && delivery.count == 0 && !tree->has_changed)
			break;
	}
	end_delivery(&delivery);
}

static void
kill_found(struct proctree *tree, size_t first, void *context)
{
	struct delivery *const delivery = context;

	for (size_t i = first; i < tree->list.count; i++) {
		struct process *const process = &tree->list.entries[i];
		const bool is_new = !process->got_kill;

		/* A process that was dead already is no newcomer. */
		if (is_new && !pid_is_dead(process->pid))
			delivery->newcomers++;
		process->got_kill = true;
		if (!is_new || !deliver_to_group(tree, process, delivery))
			signal_one(tree, process, SIGKILL);
	}
}

size_t
treekill_sweep(struct proctree *tree)
{
	struct delivery delivery = { .signal = SIGKILL };

	if (tree->session != 0 && tree->target > 1)
		(void)kill(-tree->target, SIGKILL);
	proctree_read_each(tree, kill_found, &delivery);
	if (tree->way == PROCTREE_BLIND)
		signal_blindly(tree, SIGKILL);
	else if (tree->is_partial || tree->list.count == 0)
		signal_topmost(tree, SIGKILL);
	end_delivery(&delivery);
	return delivery.newcomers;
}

/* Lowers the tree to SCHED_IDLE, which needs no privilege (sched(7)): beside
 * hundreds of forking processes, the supervisor would get a hundredth of a
 * processor. musl's sched_setscheduler(3) always fails. */
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
