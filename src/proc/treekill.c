/* Signals to all processes of a tree, and to no other process. */
#include "proc/treekill.h"

#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/fds.h"
#include "base/numbers.h"
#include "proc/pidfd.h"
#include "proc/priority.h"
#include "proc/procfs.h"
#include "proc/procstat.h"
#include "proc/proctree.h"
#include "proc/wait.h"

#define FIRST_PID     2
#define PID_MAX_LIMIT 4194304 /* of any kernel, proc(5): pid_max */
#define ROUNDS        3       /* at least, unless nothing is new */
#define QUIET_ROUNDS  2       /* in a row: nothing is new */
#define ROUNDS_BOUND  SECOND
#define LOOK_INTERVAL 4096 /* PIDs between two looks for a living child */
#define FREEZE_BOUND  (5 * SECOND)
#define TOP_BOUND     (5 * SECOND)
#define PAUSE_FIRST   (MILLISECOND / 4)
#define PAUSE_LAST    (32 * MILLISECOND)

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
 * which takes half a second if a child does not die, and notes them in KILLED.
 * The children of a dead child become children of this process, for the next
 * sweep. */
static void
kill_children_by_number(const struct proctree *tree, struct numbers *killed)
{
	if (!wait_has_living(ANY_CHILD))
		return;
	for (pid_t pid = FIRST_PID; pid <= PID_MAX_LIMIT; pid++) {
		if (pid % LOOK_INTERVAL == 0 && !wait_has_living(ANY_CHILD))
			return;
		if (is_child_of_tree(tree, pid)) {
			(void)pid_kill(pid, SIGKILL);
			(void)numbers_add(killed, pid);
		}
	}
}

/* --- by groups ------------------------------------------------------------ */

/* A signal on its way to the whole tree. */
struct delivery {
	int signal;
	struct numbers groups; /* signalled as a whole */
	struct numbers alone;  /* processes that were signalled alone */
	size_t count;          /* groups and processes noted in this round */
	int round;             /* from 0 */
	bool has_older; /* this round: a process from before the first signal */
	int64_t began;
};

/* Returns whether there was memory to note NUMBER. If not, the next round
 * signals the same group or process again. */
static bool
note(struct numbers *numbers, pid_t number)
{
	return numbers_add(numbers, number) == 0;
}

/* Signals the group of PROCESS, if the group may be signalled and was not yet.
 * Returns whether PROCESS has got the signal with its group. */
static bool
deliver_to_group(const struct proctree *tree, const struct process *process,
                 struct delivery *delivery)
{
	if (!is_own_group(tree, process))
		return false;
	if (numbers_have(&delivery->groups, process->group))
		return true;
	if (kill(-process->group, delivery->signal) == -1)
		return false;
	delivery->count += note(&delivery->groups, process->group);
	return true;
}

static void
end_delivery(struct delivery *delivery)
{
	numbers_free(&delivery->groups);
	numbers_free(&delivery->alone);
}

/* --- by children ---------------------------------------------------------- */

struct visit {
	const struct proctree *tree;
	int signal;
	struct numbers *signalled;
};

static int
visit_to_signal(pid_t pid, void *context)
{
	const struct visit *const visit = context;

	if (numbers_have(visit->signalled, pid) ||
	    !is_child_of_tree(visit->tree, pid))
		return 0;
	(void)pid_kill(pid, visit->signal);
	(void)numbers_add(visit->signalled, pid);
	return 0;
}

/* Signals the children of this process but those in SIGNALLED, and notes them
 * there. Takes much less time than to read the tree, since one file lists them
 * all. When they are dead, their own children become children of this process.
 * Returns whether there was memory, a descriptor and a usable /proc to list the
 * children. */
static bool
signal_topmost(const struct proctree *tree, int signal,
               struct numbers *signalled)
{
	struct visit visit = { tree, signal, signalled };
	const int proc_fd = procfs_open_root();
	const bool is_listed =
	    proc_fd != -1 &&
	    procfs_visit_children(proc_fd, tree->root, visit_to_signal,
	                          &visit) == 0;

	fds_close(proc_fd);
	if (!is_listed && signal == SIGKILL)
		kill_children_by_number(tree, signalled);
	return is_listed;
}

/* --- the signals ---------------------------------------------------------- */

void
treekill_signal(struct proctree *tree, int signal)
{
	struct process_list *const list = &tree->list;
	struct delivery delivery = { .signal = signal };

	/* The target is a child not reaped yet, so the kernel does not reuse
	 * its PID and process group. */
	if (tree->way == PROCTREE_BLIND && tree->target > 1) {
		(void)kill(-tree->target, signal); /* if it leads a group */
		(void)pid_kill(tree->target, signal);
	}
	if (tree->is_partial ||
	    (list->count == 0 && tree->way == PROCTREE_BY_SCAN))
		(void)signal_topmost(tree, signal, &delivery.alone);
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
		(void)numbers_add(&delivery->groups, tree->target);
	else if (pid_kill(tree->target, delivery->signal) == -1)
		return;
	(void)numbers_add(&delivery->alone, tree->target);
}

/* Whether PROCESS was certainly started after the first signal. */
static bool
is_younger(const struct process *process, const struct delivery *delivery)
{
	struct procstat stat;

	return procstat_read(process->pid, &stat) == 0 &&
	       procstat_age(&stat) < duration_now() - delivery->began;
}

/*
 * Signals PROCESS, with its group if that may be signalled. kill(2) of a group
 * is atomic against fork(2): so a new process in a group that was signalled as
 * a whole was started by a process that has got the signal, as part of an
 * orderly end, and gets no signal. In later rounds the same is taken for
 * granted of each process that was started after the first signal, but of no
 * orphan.
 */
static void
deliver(const struct proctree *tree, struct process *process,
        struct delivery *delivery)
{
	const bool is_late = delivery->round >= ROUNDS;

	if (numbers_have(&delivery->alone, process->pid) ||
	    (is_late && numbers_have(&delivery->groups, process->group)))
		return;

	const bool is_new = is_late && is_younger(process, delivery);

	if (is_new && process->parent != tree->root)
		return;
	delivery->has_older |= !is_new;
	if (deliver_to_group(tree, process, delivery))
		return;
	signal_one(tree, process, delivery->signal);
	delivery->count += note(&delivery->alone, process->pid);
}

static void
deliver_to_found(struct proctree *tree, size_t first, void *context)
{
	for (size_t i = first; i < tree->list.count; i++)
		deliver(tree, &tree->list.entries[i], context);
}

size_t
treekill_signal_all(struct proctree *tree, int signal, int64_t until)
{
	struct delivery delivery = { .signal = signal,
		                     .began = duration_now() };
	const struct process_list *const list = &tree->list;
	size_t most = 0;
	int quiet = 0;
	int without_older = 0;
	int64_t bound = NEVER;

	signal_target(tree, &delivery);
	priority_take(PRIORITY_LASTING);
	for (;; delivery.round++) {
		delivery.count = 0;
		delivery.has_older = false;
		proctree_read_each(tree, until, deliver_to_found, &delivery);
		if (list->count == 0 && tree->is_partial)
			(void)signal_topmost(tree, signal, &delivery.alone);
		if (most < list->count)
			most = list->count;
		/* A process that dies during a reading may leave children,
		 * which the reading misses, to the root. So the first reading
		 * may miss all, however long it takes. */
		quiet = delivery.count > 0 ? 0 : quiet + 1;
		/* Newcomers may come for ever, older processes do not. */
		without_older = delivery.has_older ? 0 : without_older + 1;
		if (without_older == 0)
			bound = duration_add(duration_now(), ROUNDS_BOUND);
		if (quiet == QUIET_ROUNDS || duration_now() >= until ||
		    (delivery.round + 1 >= ROUNDS &&
		     without_older >= QUIET_ROUNDS && duration_now() >= bound))
			break;
		/* The dead would make the next reading longer. */
		proctree_reap(tree, tree->target);
	}
	end_delivery(&delivery);
	return most;
}

/* Whether PROCESS was dead before this sweep. A process of the target's group
 * may be dead by the signal with which the sweep began. */
static bool
was_dead(const struct proctree *tree, const struct process *process)
{
	return process->group != tree->target && pid_is_dead(process->pid);
}

/* Kills PROCESS, with its group the first time. */
static void
kill_one(struct proctree *tree, struct process *process,
         struct delivery *delivery)
{
	const bool is_new = !numbers_have(&tree->killed, process->pid);

	/* A process that was dead already is no newcomer. */
	if (is_new && !was_dead(tree, process))
		(void)numbers_add(&tree->killed, process->pid);
	if (!is_new || !deliver_to_group(tree, process, delivery))
		signal_one(tree, process, SIGKILL);
}

static void
kill_found(struct proctree *tree, size_t first, void *context)
{
	for (size_t i = first; i < tree->list.count; i++)
		kill_one(tree, &tree->list.entries[i], context);
}

/* Stops the tree, and then kills it, from the highest PID down. A process that
 * is stopped forks no more, not even as soon as its parent dies; and its
 * children remain below it, where the next reading finds them. The kernel
 * continues a process whose parent's death orphans its group
 * (kill_orphaned_pgrp()): as a rule the parent has the lower PID. */
static void
freeze_and_kill(struct proctree *tree, struct delivery *delivery)
{
	struct delivery freeze = { .signal = SIGSTOP };
	const int64_t until = duration_add(duration_now(), FREEZE_BOUND);
	int quiet = 0;

	while (quiet < QUIET_ROUNDS && duration_now() < until) {
		freeze.count = 0;
		proctree_read_each(tree, until, deliver_to_found, &freeze);
		quiet = freeze.count > 0 ? 0 : quiet + 1;
	}
	end_delivery(&freeze);
	for (size_t i = tree->list.count; i-- > 0;)
		kill_one(tree, &tree->list.entries[i], delivery);
	/* Then the list may lack most of what was stopped. */
	if (tree->is_partial)
		proctree_read_each(tree,
		                   duration_add(duration_now(), FREEZE_BOUND),
		                   kill_found, delivery);
}

/* Kills the children of this process, and their children as soon as the kernel
 * makes these children of this process, until no child is alive, or none is new
 * for the time of all pauses. No child is reaped meanwhile: until then, a dead
 * process counts in the limits (RLIMIT_NPROC, pids.max), and no new process
 * takes its place. */
static void
kill_from_the_top(struct proctree *tree)
{
	const int64_t bound = duration_add(duration_now(), TOP_BOUND);
	int64_t pause = PAUSE_FIRST;

	while (pause <= PAUSE_LAST && duration_now() < bound &&
	       wait_has_living(ANY_CHILD)) {
		const size_t before = tree->killed.count;

		if (!signal_topmost(tree, SIGKILL, &tree->killed))
			return;
		pause = tree->killed.count > before ? PAUSE_FIRST : 2 * pause;
		duration_sleep(pause);
	}
}

size_t
treekill_sweep(struct proctree *tree, int64_t until, bool is_storm)
{
	const size_t before = tree->killed.count;
	struct delivery delivery = { .signal = SIGKILL };

	if (tree->target > 1)
		(void)kill(tree->session != 0 ? -tree->target : tree->target,
		           SIGKILL);
	if (is_storm)
		freeze_and_kill(tree, &delivery);
	else if (tree->is_partial && tree->way == PROCTREE_BY_CHILDREN)
		(void)signal_topmost(tree, SIGKILL, &tree->killed);
	if (!is_storm)
		proctree_read_each(tree, until, kill_found, &delivery);
	if (is_storm || tree->is_partial || tree->list.count == 0)
		kill_from_the_top(tree);
	end_delivery(&delivery);
	return tree->killed.count - before;
}
