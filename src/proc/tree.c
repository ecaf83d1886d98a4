/* The tree of a run: reading it, signalling it, ending it. */
#include "proc/tree.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "proc/children.h"
#include "proc/procfs.h"

#define TREE_MAX 32768   /* processes in a list */
#define PID_END  4194305 /* pid_max of any kernel, and 1: proc(5) */
#define IO_SIZE  512
#define DECIMAL  10

#define WALK_BOUND   SECOND
#define FREEZE_BOUND (5 * SECOND)
#define RESTLESS_MAX 3            /* readings with newcomers: then a storm */
#define LAST_BOUND   (5 * SECOND) /* after who came or died last */
#define PAUSE_FIRST  (MILLISECOND / 2)
#define PAUSE_LAST   (16 * MILLISECOND)

/* Pages that are not used cost nothing. There is one tree in a process. */
static struct process found[TREE_MAX];   /* the list */
static struct process pending[TREE_MAX]; /* a stack: still to be visited */
static pid_t pids[TREE_MAX];             /* what /proc has listed */

/* For each PID the number of the last stop, tree_signal() or tree_kill(), that
 * found it, alive or a zombie. A process with the PID of a dead one is taken
 * for that one, and gets no first signal; SIGKILL goes to all in each reading.
 */
static uint32_t marks[PID_END];
static uint32_t stop; /* the number of the present stop */

/* A reading of the tree, depth first, with a signal on the way. */
struct walk {
	struct tree *tree;
	int signal; /* 0: none */
	int64_t until;
	size_t fresh; /* processes that had no mark */
	size_t pending_count;
};

/* Marks PID, if WALK has a signal. */
static void
mark(struct walk *walk, pid_t pid)
{
	if (walk->signal == 0)
		return;
	walk->fresh += marks[pid] != stop;
	marks[pid] = stop;
}

/* After a failure: a process that is gone is not missed. */
static void
note_failure(struct tree *tree)
{
	tree->is_partial |= errno != ENOENT && errno != ESRCH;
}

/* --- priority ------------------------------------------------------------- */

/* With a lower one, real-time processes of the tree could keep this process
 * from a processor. */
#define REALTIME_HIGHEST 99
#define RESET_ON_FORK    1 /* SCHED_FLAG_RESET_ON_FORK */

/* The time slice, in nanoseconds. Since Linux 6.12 a process chooses its own,
 * without a privilege (sched_setattr(2), sched_runtime). The process with the
 * shortest slice runs first when it wakes up (pick_eevdf()): before 2,000 busy
 * processes, and not after them. Its share of the processor stays the same. */
#define SLICE_SHORT 500000

/* sched_setattr(2): musl and older versions of glibc do not have it. */
struct attributes {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime;
	uint64_t deadline;
	uint64_t period;
};

void
tree_take_priority(void)
{
	struct attributes attributes = {
		.size = sizeof(attributes),
		.policy = SCHED_RR,
		.flags = RESET_ON_FORK,
		.priority = REALTIME_HIGHEST,
	};

	if (syscall(SYS_sched_setattr, 0, &attributes, 0) == 0)
		return;
	attributes.policy = SCHED_OTHER;
	attributes.priority = 0;
	attributes.nice = getpriority(PRIO_PROCESS, 0);
	attributes.runtime = SLICE_SHORT;
	(void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

/* --- the children of a process -------------------------------------------- */

static void
push(struct walk *walk, pid_t pid, pid_t parent, int depth)
{
	if (walk->pending_count < TREE_MAX && pid < PID_END)
		pending[walk->pending_count++] =
		    (struct process){ pid, parent, depth };
	else
		walk->tree->is_partial = true;
}

/* Pushes the children of the process PID, whose directory is DIR, so that the
 * eldest is the next. DEPTH is theirs. */
static void
push_children(struct walk *walk, int dir, pid_t pid, int depth)
{
	struct procfs_list list = { .pids = pids, .size = TREE_MAX };

	if (procfs_list_children(dir, pid, &list) == -1)
		note_failure(walk->tree);
	while (list.count-- > 0)
		push(walk, pids[list.count], pid, depth);
}

/* Begins a reading with the children of this process. */
static void
push_own_children(struct walk *walk)
{
	struct tree *const tree = walk->tree;

	tree->self = procfs_self();
	tree->is_ours = tree->self == getpid();
	walk->pending_count = 0;

	const int dir = procfs_dir(tree->self);

	if (dir == -1)
		tree->is_partial = true;
	else
		push_children(walk, dir, tree->self, 0);
	fds_close(dir);
}

/* --- the walk ------------------------------------------------------------- */

/* Whether waitid(2) and kill(2) know PROCESS, by its PID, as a child. */
static bool
is_child(const struct tree *tree, const struct process *process)
{
	return tree->is_ours && process->parent == tree->self;
}

/* The first signal has reached the target's group before the reading. */
static bool
is_of_targets_group(const struct tree *tree, pid_t pid)
{
	return tree->is_ours &&
	       (pid == tree->target || getpgid(pid) == tree->target);
}

/* Reads the stat of PID, but not in state D: that may block (procfs.h). */
static int
read_stat(pid_t pid, struct procstat *stat)
{
	struct procfs_status status;

	return procfs_read_status(pid, &status) == -1 || status.state == 'D'
	           ? -1
	           : procstat_read(pid, stat);
}

/* Whether PID had the signal as a member of the target's group, and not, as an
 * orphan that a handler of the signal has started, after it. */
static bool
had_signal(const struct walk *walk, pid_t pid)
{
	const struct tree *const tree = walk->tree;
	struct procstat stat;

	if (!is_of_targets_group(tree, pid))
		return false;
	return tree->spares_group || read_stat(pid, &stat) == -1 ||
	       procstat_age(&stat) >= duration_now() - tree->signalled_at;
}

/* Whether *PROCESS is alive and a child of the tree; an orphan is now a child
 * of this process. Opens its directory as *DIR, or not (-1) where that of a
 * child of this process is hidden ("hidepid", proc(5)). A zombie is marked: the
 * group's signal has killed it before the reading. */
static bool
find(struct walk *walk, struct process *process, int *dir)
{
	struct tree *const tree = walk->tree;
	const bool is_own = is_child(tree, process);
	struct procfs_status status;
	siginfo_t info;

	*dir = -1;
	if (is_own && !wait_has_living(process->pid)) { /* nor a helper */
		if (wait_peek(process->pid, WEXITED | WNOWAIT, &info) > 0)
			mark(walk, process->pid);
		return false;
	}
	*dir = procfs_dir(process->pid);
	if (*dir == -1)
		note_failure(tree);
	if (*dir == -1 || is_own)
		return is_own;
	if (procfs_read_status(process->pid, &status) == 0 &&
	    (status.parent == process->parent || status.parent == tree->self)) {
		if (status.parent == tree->self)
			process->depth = 0;
		process->parent = status.parent;
		if (!status.is_dead)
			return true;
		if (is_of_targets_group(tree, process->pid))
			mark(walk, process->pid);
	}
	fds_close(*dir);
	return false;
}

/* Sends SIGNAL to PROCESS by its directory. A child of this process keeps its
 * PID until it is reaped: kill(2) reaches it where its directory is hidden, no
 * descriptor is free, or a filter forbids the call. */
static void
send(const struct tree *tree, const struct process *process, int dir,
     int signal)
{
	if ((dir == -1 || procfs_kill(dir, signal) == -1) &&
	    is_child(tree, process))
		(void)kill(process->pid, signal);
}

/* SIGKILL and SIGSTOP go to a process before its children are read, so that it
 * can have no others. The first signal, from which a process may end in good
 * order, goes after that: what its handler forks is not to be found. */
static void
visit(struct walk *walk, struct process process)
{
	struct tree *const tree = walk->tree;
	const int signal = walk->signal;
	const bool is_final = signal == SIGKILL || signal == SIGSTOP;
	int dir;

	/* Who had the first signal is not asked for children: what it has
	 * started since is part of its end. Its orphans come to this process,
	 * and so get the signal. */
	if (signal != 0 && !is_final && marks[process.pid] == stop)
		return;
	if (!find(walk, &process, &dir))
		return;
	if (tree->list.count < TREE_MAX)
		found[tree->list.count++] = process;
	if (is_final)
		send(tree, &process, dir, signal);
	if (dir != -1)
		push_children(walk, dir, process.pid, process.depth + 1);
	if (!is_final && signal != 0 && !had_signal(walk, process.pid)) {
		send(tree, &process, dir, signal);
		send(tree, &process, dir, SIGCONT);
	}
	mark(walk, process.pid);
	fds_close(dir);
}

/* Reads the tree, with WALK's signal. Returns how many processes are fresh. */
static size_t
walk_tree(struct walk *walk)
{
	struct tree *const tree = walk->tree;

	tree->list = (struct process_list){ found, 0 };
	tree->is_partial = false;
	walk->fresh = 0;
	push_own_children(walk);
	while (walk->pending_count > 0) {
		visit(walk, pending[--walk->pending_count]);
		if (duration_now() >= walk->until && walk->pending_count > 0) {
			tree->is_partial = true;
			break;
		}
	}
	tree->is_partial |= tree->list.count == TREE_MAX;
	return walk->fresh;
}

void
tree_read(struct tree *tree, int64_t until)
{
	struct walk walk = { .tree = tree, .until = until };

	(void)walk_tree(&walk);
}

/* --- the first signal ----------------------------------------------------- */

/* Signals the target's process group, or the target, if it leads none. */
static void
signal_target(const struct tree *tree, int signal)
{
	if (tree->target <= 1)
		return;
	if (kill(-tree->target, signal) == -1 && !tree->target_is_dead)
		(void)kill(tree->target, signal);
}

size_t
tree_signal_orphans(struct tree *tree, int64_t until)
{
	const int64_t bound = duration_add(duration_now(), WALK_BOUND);
	struct walk walk = { .tree = tree,
		             .signal = tree->signal,
		             .until = until < bound ? until : bound };
	bool is_partial = false;
	size_t count = 0;

	do {
		count += walk_tree(&walk);
		tree->spares_group = false;
		is_partial |= tree->is_partial;
	} while (walk.fresh > 0 && duration_now() < walk.until);
	tree->is_partial = is_partial;
	return count;
}

size_t
tree_signal(struct tree *tree, int signal, int64_t until)
{
	signal_target(tree, signal);
	signal_target(tree, SIGCONT);
	tree->signal = signal;
	tree->signalled_at = duration_now();
	tree->spares_group = true;
	stop++;
	if (tree->target_is_dead)
		marks[tree->target] = stop; /* it gets no signal */
	return tree_signal_orphans(tree, until);
}

/* --- the end -------------------------------------------------------------- */

static void
count_killed(struct tree *tree, const siginfo_t *end)
{
	tree->killed += end->si_code == CLD_KILLED && end->si_status == SIGKILL;
}

void
tree_reap(struct tree *tree, bool is_thorough)
{
	struct walk walk = { .tree = tree };
	siginfo_t end;

	while (!tree->target_is_dead &&
	       wait_peek(ANY_CHILD, WEXITED | WNOWAIT, &end) > 0) {
		tree->target_is_dead = end.si_pid == tree->target;
		if (tree->target_is_dead)
			tree->end = end;
		else
			(void)wait_peek(end.si_pid, WEXITED, &end);
		count_killed(tree, &end);
	}
	if (!tree->target_is_dead || !is_thorough)
		return;
	/* For any child, waitid(2) would return the target's zombie again and
	 * again. */
	push_own_children(&walk);
	while (walk.pending_count > 0) {
		const pid_t child = pending[--walk.pending_count].pid;

		if (child != tree->target &&
		    wait_peek(child, WEXITED, &end) == child)
			count_killed(tree, &end);
	}
}

/* Stops the tree, so that nobody forks, and then kills it, children before
 * their parents: the kernel continues a stopped process whose parent's death
 * orphans its group (kill_orphaned_pgrp()). Returns how many were new. */
static size_t
freeze_and_kill(struct tree *tree)
{
	struct walk walk = { .tree = tree,
		             .signal = SIGSTOP,
		             .until = duration_now() + FREEZE_BOUND };
	size_t fresh = 0;

	do
		fresh += walk_tree(&walk);
	while (walk.fresh > 0 && duration_now() < walk.until);
	for (size_t i = tree->list.count; i-- > 0;) {
		int dir;

		if (!find(&walk, &found[i], &dir))
			continue;
		send(tree, &found[i], dir, SIGKILL);
		fds_close(dir);
	}
	return fresh;
}

bool
tree_kill(struct tree *tree)
{
	struct walk walk = { .tree = tree, .signal = SIGKILL };
	int64_t last = duration_now();
	const int64_t bound = last + TREE_KILL_BOUND;
	int64_t pause = PAUSE_FIRST;
	int restless = 0;

	signal_target(tree, SIGKILL);
	tree->killed = 0;
	stop++;
	for (;;) {
		const size_t killed = tree->killed;
		size_t fresh;

		walk.until = duration_now() + WALK_BOUND;
		fresh = restless < RESTLESS_MAX ? walk_tree(&walk)
		                                : freeze_and_kill(tree);
		restless = fresh > 0 ? restless + 1 : 0;
		/* Until the tree is at rest, nobody is reaped: the dead count
		 * in the limits (RLIMIT_NPROC, pids.max), and no new process
		 * takes their place. */
		if (fresh > 0 && restless <= RESTLESS_MAX)
			continue;

		const bool is_alive = wait_has_living(ANY_CHILD);
		const int64_t now = duration_now();

		tree_reap(tree, true);
		if (!is_alive)
			return true;

		if (fresh > 0 || tree->killed > killed) {
			last = now;
			pause = PAUSE_FIRST;
		}
		if (now - last >= LAST_BOUND || now >= bound)
			return false;
		duration_sleep(pause);
		pause = 2 * pause < PAUSE_LAST ? 2 * pause : PAUSE_LAST;
	}
}

/* --- what the tree does --------------------------------------------------- */

/* What PID has read and written, from lines like "rchar: 4711" of its "io", as
 * far as this process may read the file. */
static uint64_t
io_bytes(pid_t pid)
{
	char text[IO_SIZE];
	uint64_t sum = 0;

	if (procfs_read(pid, "io", text, sizeof(text)) == -1)
		return 0;
	for (const char *at = text; (at = strchr(at, ' ')) != NULL; at++)
		sum += strtoull(at, NULL, DECIMAL);
	return sum;
}

uint64_t
tree_activity(const struct tree *tree)
{
	uint64_t sum = tree->list.count;

	for (size_t i = 0; i < tree->list.count; i++) {
		const pid_t pid = tree->list.entries[i].pid;
		struct procstat stat;

		/* Any mixing will do: SUM need only change when a number does.
		 * The kernel tells CPU time in ticks: a process that wakes up
		 * and finds nothing to do does not count. */
		sum = sum * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)pid;
		if (read_stat(pid, &stat) == 0)
			sum += (uint64_t)stat.cpu + io_bytes(pid);
	}
	return sum;
}
