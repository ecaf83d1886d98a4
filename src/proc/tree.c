/* The tree of a run: reading it, signalling it, ending it. */
#include "proc/tree.h"

#include <sys/wait.h>

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "proc/priority.h"
#include "proc/procfs.h"
#include "proc/wait.h"

#define TREE_MAX 32768   /* processes in a list */
#define PID_END  4194305 /* pid_max of any kernel, and 1: proc(5) */
#define CPU_TICK (10 * MILLISECOND)

#define LATE_INTERVAL 16 /* processes between two looks at the clock */

#define SIGNAL_BOUND SECOND
#define WALK_BOUND   SECOND
#define FREEZE_BOUND (5 * SECOND)
#define RESTLESS_MAX 3            /* readings with newcomers: then a storm */
#define LAST_BOUND   (5 * SECOND) /* after who came or died last */
#define PAUSE_FIRST  (MILLISECOND / 2)
#define PAUSE_LAST   (16 * MILLISECOND)

/* Not on the stack, and not from malloc(3): pages that are not used cost
 * nothing. There is one tree in a process. */
static struct process found[TREE_MAX];   /* the list */
static struct process pending[TREE_MAX]; /* a stack: still to be visited */
static struct process machine[TREE_MAX]; /* all processes: scan() */

/* The round in which a PID got the signal, counted over all signals. A process
 * that gets a PID for the second time in one stop is taken for the first one,
 * and gets no first signal; SIGKILL goes to all in each round. */
static unsigned short marks[PID_END];
static unsigned short last_round;

/* A reading of the tree, depth first, with a signal on the way. */
struct walk {
	struct tree *tree;
	int signal; /* 0: none */
	int64_t until;
	unsigned first_round; /* marks below it are of an earlier signal */
	size_t fresh;         /* processes that were not marked before */
	size_t dead;          /* zombies that were not marked before */
	size_t pending_count;
	size_t machine_count;    /* 0: the kernel has "children" files */
	struct process youngest; /* what is pushed next, but for its PID */
};

/* --- the children of a process -------------------------------------------- */

static int
push(pid_t pid, void *context)
{
	struct walk *const walk = context;

	walk->youngest.pid = pid;
	if (walk->pending_count == TREE_MAX)
		walk->tree->is_partial = true;
	else
		pending[walk->pending_count++] = walk->youngest;
	return 0;
}

static int
note_of_machine(pid_t pid, void *context)
{
	struct walk *const walk = context;
	struct procfs_status status;

	if (procfs_read_status(pid, &status) == 0 &&
	    walk->machine_count < TREE_MAX)
		machine[walk->machine_count++] =
		    (struct process){ .pid = pid, .parent = status.parent };
	return 0;
}

/*
 * Pushes the children of the process PID, whose directory is DIR, so that the
 * eldest is the next. DEPTH is theirs. Those of this process, the first that
 * are asked for, show whether the kernel has "children" files
 * (CONFIG_PROC_CHILDREN). Without these, each reading costs the size of the
 * machine.
 */
static void
push_children(struct walk *walk, int dir, pid_t pid, int depth)
{
	struct tree *const tree = walk->tree;
	const size_t first = walk->pending_count;
	int result = 0;

	walk->youngest = (struct process){ .parent = pid, .depth = depth };
	if (walk->machine_count == 0)
		result = procfs_visit_children(dir, pid, push, walk);
	if (result == -1 && errno == ENOENT && pid == tree->self)
		result = procfs_visit_all(note_of_machine, walk);
	tree->is_partial |= result == -1 && errno != ENOENT && errno != ESRCH;
	for (size_t i = 0; i < walk->machine_count; i++) {
		if (machine[i].parent == pid)
			(void)push(machine[i].pid, walk);
	}
	for (size_t low = first, high = walk->pending_count; low + 1 < high;
	     low++) {
		const struct process process = pending[--high];

		pending[high] = pending[low];
		pending[low] = process;
	}
}

/* --- the walk ------------------------------------------------------------- */

static bool
is_marked(const struct walk *walk, pid_t pid)
{
	return pid > 0 && pid < PID_END && marks[pid] >= walk->first_round;
}

static void
mark(struct walk *walk, pid_t pid)
{
	walk->fresh += !is_marked(walk, pid);
	if (pid > 0 && pid < PID_END)
		marks[pid] = last_round;
}

static void
note_dead(struct walk *walk, pid_t pid)
{
	if (walk->signal == 0 || is_marked(walk, pid))
		return;
	mark(walk, pid);
	walk->fresh--;
	walk->dead++;
}

/* Whether PROCESS is a child of this process, by the PID that waitid(2) knows
 * too. */
static bool
is_child(const struct tree *tree, const struct process *process)
{
	return tree->is_ours && process->parent == tree->self;
}

/* Opens the directory of *PROCESS, if that is alive and still a child of the
 * tree; an orphan is now a child of this process. Returns -1 if not; also for
 * a child of this process whose directory is hidden ("hidepid", proc(5)). */
static int
open_process(struct walk *walk, struct process *process)
{
	const struct tree *const tree = walk->tree;
	const int dir = procfs_dir(process->pid);
	struct procfs_status status;

	if (dir == -1 || is_child(tree, process))
		return dir;

	const bool is_read = procfs_status_of(dir, &status) == 0;

	if (is_read && !status.is_dead && status.parent == process->parent)
		return dir;
	if (is_read && !status.is_dead && status.parent == tree->self) {
		*process = (struct process){ process->pid, tree->self, 0 };
		return dir;
	}
	if (is_read && status.is_dead)
		note_dead(walk, process->pid);
	if (is_read)
		errno = ESRCH;
	fds_close(dir);
	return -1;
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

/* Whether PROCESS is still to get a first signal, from which it may end in good
 * order. The signal has reached the target's group before the reading. Who was
 * found by an earlier round had it, and what such a process has started since
 * is part of its end; but not its orphans. */
static bool
needs_first_signal(const struct walk *walk, const struct process *process)
{
	const pid_t parent = process->parent;

	return !is_marked(walk, process->pid) &&
	       (parent == walk->tree->self || !is_marked(walk, parent) ||
	        marks[parent] == last_round);
}

static bool
is_of_targets_group(const struct tree *tree, pid_t pid)
{
	return tree->is_ours &&
	       (pid == tree->target || getpgid(pid) == tree->target);
}

/* SIGKILL and SIGSTOP go to a process before its children are read, so that it
 * can have no others. Another signal goes after that: what a handler forks is
 * not to be among the children. */
static void
signal_and_push(struct walk *walk, const struct process *process, int dir)
{
	const struct tree *const tree = walk->tree;
	const int signal = walk->signal;
	const bool is_final = signal == SIGKILL || signal == SIGSTOP;

	if (is_final) {
		send(tree, process, dir, signal);
		mark(walk, process->pid);
	}
	if (dir != -1)
		push_children(walk, dir, process->pid, process->depth + 1);
	if (signal == 0 || is_final || !needs_first_signal(walk, process))
		return;
	mark(walk, process->pid);
	if (!is_of_targets_group(tree, process->pid)) {
		send(tree, process, dir, signal);
		send(tree, process, dir, SIGCONT);
	}
}

static void
visit(struct walk *walk, struct process process)
{
	struct tree *const tree = walk->tree;
	const bool is_ours = is_child(tree, &process);

	/* Passes over zombies and helpers: wait.h. */
	if (is_ours && !wait_has_living(process.pid)) {
		note_dead(walk, process.pid);
		return;
	}

	const int dir = open_process(walk, &process);

	/* EMFILE, EPERM: the process is there. */
	tree->is_partial |= dir == -1 && errno != ENOENT && errno != ESRCH;
	if (dir != -1 || is_ours) {
		if (tree->list.count < TREE_MAX)
			found[tree->list.count++] = process;
		else
			tree->is_partial = true;
		signal_and_push(walk, &process, dir);
	}
	fds_close(dir);
}

static void
find_self(struct tree *tree)
{
	if (tree->is_known)
		return;
	tree->self = procfs_self();
	tree->is_ours = tree->self == getpid() && procfs_is_ours();
	tree->is_known = true;
}

/* Reads the tree, with WALK's signal. Returns how many processes are fresh. */
static size_t
walk_tree(struct walk *walk)
{
	struct tree *const tree = walk->tree;

	find_self(tree);

	const int dir = tree->self == 0 ? -1 : procfs_dir(tree->self);

	tree->list = (struct process_list){ found, 0 };
	tree->is_partial = false;
	walk->machine_count = 0;
	walk->fresh = walk->dead = 0;
	walk->pending_count = 0;
	if (walk->signal != 0 && ++last_round == 0) {
		memset(marks, 0, sizeof(marks));
		walk->first_round = last_round = 1;
	}
	if (dir == -1)
		tree->is_partial = true;
	else
		push_children(walk, dir, tree->self, 0);
	fds_close(dir);
	for (size_t i = 1; walk->pending_count > 0; i++) {
		if (i % LATE_INTERVAL == 0 && duration_now() >= walk->until) {
			tree->is_partial = true;
			break;
		}
		visit(walk, pending[--walk->pending_count]);
	}
	return walk->fresh;
}

void
tree_read(struct tree *tree, int64_t until)
{
	struct walk walk = { .tree = tree, .until = until };

	(void)walk_tree(&walk);
}

bool
tree_has_proc(const struct tree *tree)
{
	return tree->self != 0;
}

const struct process *
tree_find(const struct process_list *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->entries[i].pid == pid)
			return &list->entries[i];
	}
	return NULL;
}

/* --- the first signal ----------------------------------------------------- */

/* Signals the target's process group; or the target alone, where that leads no
 * group of its own. */
static void
signal_target(const struct tree *tree, int signal)
{
	if (tree->target <= 1)
		return;
	if (kill(-tree->target, signal) == -1 && !tree->target_is_dead)
		(void)kill(tree->target, signal);
}

/* Signals who is new until nobody is. */
static size_t
signal_newcomers(struct tree *tree, int64_t until)
{
	const int64_t bound = duration_add(duration_now(), SIGNAL_BOUND);
	struct walk walk = { .tree = tree,
		             .signal = tree->signal,
		             .until = until < bound ? until : bound,
		             .first_round = tree->first_round };
	size_t count = 0;

	/* Who is dead by now has died of the signal to the group. */
	do {
		count += walk_tree(&walk);
		count += walk.dead;
	} while (walk.fresh > 0 && duration_now() < walk.until);
	tree->first_round = walk.first_round;
	return count;
}

size_t
tree_signal(struct tree *tree, int signal, int64_t until)
{
	signal_target(tree, signal);
	signal_target(tree, SIGCONT);
	priority_take();
	tree->signal = signal;
	tree->first_round = last_round + 1U;
	return signal_newcomers(tree, until);
}

static int
find_new_orphan(pid_t pid, void *context)
{
	const struct walk *const walk = context;

	return !is_marked(walk, pid) && wait_has_living(pid) ? -1 : 0;
}

void
tree_signal_orphans(struct tree *tree, int64_t until)
{
	struct walk walk = { .tree = tree, .first_round = tree->first_round };
	const int dir = procfs_dir(tree->self);

	errno = 0;
	if (dir != -1 && procfs_visit_children(dir, tree->self, find_new_orphan,
	                                       &walk) == -1)
		(void)signal_newcomers(tree, until);
	fds_close(dir);
}

/* --- the end -------------------------------------------------------------- */

static void
reap(struct tree *tree, pid_t pid)
{
	siginfo_t info;

	if (wait_peek(pid, WEXITED, &info) == pid)
		tree->killed +=
		    info.si_code == CLD_KILLED && info.si_status == SIGKILL;
}

static int
reap_but_target(pid_t pid, void *context)
{
	struct tree *const tree = context;

	if (pid != tree->target)
		reap(tree, pid);
	return 0;
}

/* waitid(2) for any child would return the target, kept as a zombie, again and
 * again: so each child is asked for. */
static void
reap_behind_target(struct tree *tree)
{
	find_self(tree);

	const int dir = tree->is_ours ? procfs_dir(tree->self) : -1;

	if (dir != -1 &&
	    procfs_visit_children(dir, tree->self, reap_but_target, tree) ==
	        -1 &&
	    errno == ENOENT)
		(void)procfs_visit_all(reap_but_target, tree);
	fds_close(dir);
}

void
tree_reap(struct tree *tree)
{
	/* The end of a run without survivors costs no look into /proc. */
	const bool was_dead = tree->target_is_dead;
	pid_t child;
	siginfo_t info;

	while (!tree->target_is_dead &&
	       (child = wait_peek(ANY_CHILD, WEXITED | WNOWAIT, &info)) > 0) {
		if (child != tree->target) {
			reap(tree, child);
			continue;
		}
		tree->target_is_dead = true;
		tree->end = info;
		tree->killed +=
		    info.si_code == CLD_KILLED && info.si_status == SIGKILL;
	}
	if (was_dead)
		reap_behind_target(tree);
}

/* Stops the tree, and then kills it, children before their parents. A process
 * that is stopped forks no more, not even as soon as its parent dies; and its
 * children remain below it, where the next reading finds them. But the kernel
 * continues a stopped process whose parent's death orphans its group
 * (kill_orphaned_pgrp()). Returns how many processes were new. */
static size_t
freeze_and_kill(struct walk *walk)
{
	struct tree *const tree = walk->tree;
	const int64_t until = duration_add(duration_now(), FREEZE_BOUND);
	size_t fresh = 0;

	walk->signal = SIGSTOP;
	walk->until = until;
	do
		fresh += walk_tree(walk);
	while (walk->fresh > 0 && duration_now() < until);
	for (size_t i = tree->list.count; i-- > 0;) {
		struct process process = tree->list.entries[i];
		const int dir = open_process(walk, &process);

		send(tree, &process, dir, SIGKILL);
		fds_close(dir);
	}
	walk->signal = SIGKILL;
	return fresh;
}

bool
tree_kill(struct tree *tree)
{
	struct walk walk = { .tree = tree,
		             .signal = SIGKILL,
		             .first_round = last_round + 1U };
	const int64_t bound = duration_add(duration_now(), TREE_KILL_BOUND);
	int64_t last = duration_now();
	int64_t pause = PAUSE_FIRST;
	int restless = 0;

	signal_target(tree, SIGKILL);
	priority_take();
	tree->killed = 0;
	for (;;) {
		const size_t killed = tree->killed;
		size_t fresh;

		walk.until = duration_add(duration_now(), WALK_BOUND);
		fresh = restless < RESTLESS_MAX ? walk_tree(&walk)
		                                : freeze_and_kill(&walk);
		restless = fresh > 0 ? restless + 1 : 0;
		/* Until the tree is at rest, nobody is reaped: the dead count
		 * in the limits (RLIMIT_NPROC, pids.max), and no new process
		 * takes their place. */
		if (fresh > 0 && restless <= RESTLESS_MAX)
			continue;
		tree_reap(tree);
		if (!wait_has_living(ANY_CHILD))
			return true;

		const int64_t now = duration_now();

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

/* Any mixing will do: SUM need only change when INPUT does. */
static uint64_t
mix(uint64_t sum, uint64_t input)
{
	return sum * UINT64_C(0x9e3779b97f4a7c15) + input;
}

/* The CPU time of all threads of PID, rounded to ticks, so that a process that
 * wakes up and finds nothing to do does not count. The clock ID is that of
 * clock_getcpuclockid(3). */
static uint64_t
cpu_ticks(pid_t pid)
{
	const clockid_t clock = (clockid_t)(~(unsigned)pid << 3 | 2);
	struct timespec time = { .tv_sec = 0 };

	(void)clock_gettime(clock, &time);
	return (uint64_t)((time.tv_sec * SECOND + time.tv_nsec) / CPU_TICK);
}

uint64_t
tree_activity(const struct tree *tree)
{
	uint64_t sum = tree->list.count;

	for (size_t i = 0; i < tree->list.count; i++) {
		const pid_t pid = tree->list.entries[i].pid;

		sum = mix(sum, (uint64_t)pid);
		sum = mix(sum, cpu_ticks(pid));
		if (!procfs_may_block(pid))
			sum = mix(sum, procfs_read_io(pid));
	}
	return sum;
}
