/* The tree of a run: from /proc to its end. */
#include "proc/tree.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/kernel.h"
#include "proc/procfs.h"
#include "proc/signals.h"

#define PID_END      4194305 /* pid_max of any kernel, and 1: proc(5) */
#define WALK_BOUND   SECOND
#define RESTLESS_MAX 3 /* readings in a row with newcomers: then a storm */
#define TICK         (10 * MILLISECOND) /* of the start of a process: proc(5) */
#define LAST_BOUND   (5 * SECOND)       /* since a process came or died */
#define INNER_BOUND  (5 * SECOND)       /* for the watchers of inner runs */

/* --- the processor -------------------------------------------------------- */

/* Of sched_setattr(2), which musl does not have. */
struct attributes {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime;
	uint64_t unused[2];
};

static bool is_real_time; /* this process is, since tree_take_priority() */

/* With SCHED_RR: the highest priority, as the tree may have real-time
 * processes. With SCHED_OTHER: the shortest time slice; since Linux 6.12 any
 * process may choose that, and then runs first when it wakes up (pick_eevdf()),
 * with the same share of the processor as before. */
static bool
set_policy(uint32_t policy)
{
	const struct attributes attributes = {
		.size = sizeof(attributes),
		.policy = policy,
		.flags = 1, /* SCHED_FLAG_RESET_ON_FORK */
		.nice = getpriority(PRIO_PROCESS, 0),
		.priority = policy == SCHED_RR ? 99 : 0,
		.runtime = MILLISECOND / 2,
	};

	return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

void
tree_take_priority(void)
{
	/* A filter may kill whoever asks: SystemCallFilter, systemd.exec(5). */
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) > 0)
		return;
	is_real_time = set_policy(SCHED_RR);
	if (!is_real_time && syscall(SYS_sched_getscheduler, 0) == SCHED_OTHER)
		(void)set_policy(SCHED_OTHER);
}

/* --- the tree ------------------------------------------------------------- */

/* Pages that are not used cost nothing. Only one tree is read at a time. */
static struct member listed[PROCFS_LIST_MAX];  /* the list */
static struct member pending[PROCFS_LIST_MAX]; /* a stack: to be visited */

/* A bit for each PID. A process with the PID of a dead one gets no first
 * signal; SIGKILL goes to all each time. */
static uint64_t seen[PID_END / 64 + 1];   /* by tree_signal(), tree_kill() */
static uint64_t spared[PID_END / 64 + 1]; /* children, not of the tree */

/* The present reading of the tree, depth first, with a signal on the way. */
static struct {
	int signal;      /* 0: none */
	bool is_request; /* a signal from which a process may end in order */
	bool is_for_end; /* in kill_unwatched(): SEEN are inner watchers */
	size_t fresh;    /* that were not seen before, zombies too */
	size_t pending_count;
} walk;

static bool
has(const uint64_t *pids, pid_t pid)
{
	return (pids[pid / 64] >> pid % 64 & 1) != 0;
}

static void
add(uint64_t *pids, pid_t pid)
{
	pids[pid / 64] |= UINT64_C(1) << pid % 64;
}

/* Marks PID as seen, if the reading has a signal. */
static void
mark(pid_t pid)
{
	if (walk.signal == 0)
		return;
	walk.fresh += !has(seen, pid);
	add(seen, pid);
}

/* Whether waitid(2) and kill(2) know PROCESS, by its PID, as a child. */
static bool
is_child(const struct tree *tree, const struct member *process)
{
	return tree->is_ours && process->parent == tree->self;
}

/* Whether the child PID, or ANY_CHILD, is alive: no zombie. */
static bool
child_is_living(pid_t pid)
{
	siginfo_t info;

	/* Without WEXITED, waitid(2) passes over zombies:
	 * wait_consider_task(), wait_task_zombie(). */
	return wait_poll(pid, WSTOPPED | WNOWAIT, &info) != -1;
}

/* Whether PID was started after the first signal. PIDs ascend, until low ones
 * are given again: then begin_walk() clears LAST_PID. */
static bool
is_newer(const struct tree *tree, pid_t pid)
{
	struct procstat stat;

	return pid > tree->last_pid &&
	       (procstat_read(pid, &stat) == -1 ||
	        procstat_age(&stat) - (duration_now() - tree->signalled_at) <
	            TICK);
}

/* Whether PID had the signal: from this reading, with all, as the target, or as
 * a member of its group. A group of another PID namespace has the number 0. */
static bool
had_signal(const struct tree *tree, pid_t pid)
{
	const bool group_had = tree->keep == NULL || tree->group_has_signal;
	const bool is_of_target = tree->is_ours && tree->target != 0 &&
	                          (pid == tree->target ||
	                           (group_had && getpgid(pid) == tree->target));

	return has(seen, pid) || ((tree->all_have_signal || is_of_target) &&
	                          !is_newer(tree, pid));
}

/* Puts the children of PID, at DIR, on the stack, the eldest on top. SIGKILL
 * goes to our own at once: to look at each first takes ten times as long. */
static void
reach_children(const struct tree *tree, int dir, pid_t pid)
{
	static struct procfs_list list;

	procfs_list_children(dir, pid, &list);
	/* The supervisor of a run within this one passes the signal on. */
	if (walk.is_request && list.count > 0 && pid != tree->self &&
	    procfs_name_begins(pid, SUPERVISOR_NAME))
		return;
	while (list.count-- > 0) {
		const struct member child = { list.numbers[list.count], pid };

		/* Kept, with what is below it. */
		if (has(spared, child.pid) ||
		    (tree->keeps_leaders && tree->is_ours &&
		     getsid(child.pid) == child.pid &&
		     procfs_bears(child.pid, tree->keep)))
			continue;
		/* A process that had the first signal starts children for an
		 * orderly end. Older ones are orphans that it, a subreaper or
		 * the init of a PID namespace, has got since. */
		if (walk.is_request && !has(seen, child.pid) &&
		    is_newer(tree, child.pid) && had_signal(tree, pid))
			continue;
		if (walk.signal == SIGKILL && is_child(tree, &child)) {
			(void)kill(child.pid, SIGKILL);
			mark(child.pid);
		}
		if (walk.pending_count < PROCFS_LIST_MAX)
			pending[walk.pending_count++] = child;
	}
}

/* Begins a reading, with SIGNAL or 0, of the ROOT, or, without one, of this
 * process's children less the spared. Returns whether /proc has them. */
static bool
begin_walk(struct tree *tree, int signal)
{
	tree->self = procfs_self();
	tree->is_ours = tree->self == getpid();
	walk.signal = signal;
	walk.is_request = signal != 0 && signal != SIGKILL && signal != SIGSTOP;
	if (walk.is_request && procfs_last_pid() < tree->last_pid)
		tree->last_pid = 0; /* then the age alone tells who is newer */
	walk.fresh = walk.pending_count = 0;

	const int dir = procfs_dir(tree->self);
	struct procstat stat;

	/* With a ROOT, too: without "children" files, this call reads /proc. */
	reach_children(tree, dir, tree->self);
	fds_close(dir);
	if (tree->root == 0)
		return dir != -1;
	(void)procstat_read_status(tree->root, &stat);
	*pending = (struct member){ tree->root, stat.parent };
	walk.pending_count = 1;
	return true;
}

bool
tree_is_empty(struct tree *tree)
{
	return !child_is_living(ANY_CHILD) ||
	       (tree->spares && begin_walk(tree, 0) && walk.pending_count == 0);
}

/* Whether *PROCESS is alive and a child of the tree; an orphan is now a child
 * of this process, or of an inner run's supervisor. Opens its directory as
 * *DIR: -1 where a child's directory is hidden ("hidepid", proc(5)). */
static bool
open_living(const struct tree *tree, struct member *process, int *dir)
{
	const bool is_own = is_child(tree, process);
	struct procstat stat = { .parent = tree->self };

	if (is_own && !child_is_living(process->pid)) {
		/* The group's signal has killed it before the reading. */
		if (had_signal(tree, process->pid))
			mark(process->pid);
		return false;
	}
	*dir = procfs_dir(process->pid);
	if (!is_own &&
	    (procstat_read_status(process->pid, &stat) == -1 || stat.is_dead ||
	     (stat.parent != process->parent && stat.parent != tree->self &&
	      !(walk.is_for_end && has(seen, stat.parent))))) {
		fds_close(*dir);
		return false;
	}
	process->parent = stat.parent;
	return true;
}

/* A child keeps its PID until it is reaped: kill(2) reaches it also where its
 * directory is hidden, or no descriptor is free. */
static void
signal_process(const struct tree *tree, const struct member *process, int dir,
               int signal)
{
	if (!is_child(tree, process) || kill(process->pid, signal) == -1)
		procfs_kill(dir, process->pid, signal);
}

/* SIGKILL and SIGSTOP go before the children are read, so that there can be no
 * others; the first signal after that: what its handler forks is spared. */
static void
visit(struct tree *tree, struct member process)
{
	int dir;

	if (!open_living(tree, &process, &dir))
		return;
	listed[tree->count++] = process;
	if (walk.signal != 0 && !walk.is_request)
		signal_process(tree, &process, dir, walk.signal);
	reach_children(tree, dir, process.pid);
	if (walk.is_request && !had_signal(tree, process.pid)) {
		signal_process(tree, &process, dir, walk.signal);
		signal_process(tree, &process, dir, SIGCONT);
	}
	mark(process.pid);
	fds_close(dir);
}

/* Reads the tree, with SIGNAL or 0, until UNTIL. Returns how many are new. */
static size_t
walk_tree(struct tree *tree, int signal, int64_t until)
{
	tree->members = listed;
	tree->count = 0;
	(void)begin_walk(tree, signal);
	while (walk.pending_count > 0 && tree->count < PROCFS_LIST_MAX) {
		visit(tree, pending[--walk.pending_count]);
		if (duration_now() >= until)
			break; /* after a visit at least */
	}
	tree->is_partial =
	    walk.pending_count > 0 || tree->count == PROCFS_LIST_MAX;
	return walk.fresh;
}

/* Reads the tree until nobody is new. Returns how many were. */
static size_t
walk_until_rest(struct tree *tree, int signal, int64_t until)
{
	size_t count = 0;

	do
		count += walk_tree(tree, signal, until);
	while (walk.fresh > 0 && duration_now() < until);
	return count;
}

/* Sends SIGNAL to PROCESS of the list, if it is still of the tree. */
static void
signal_member(const struct tree *tree, struct member *process, int signal)
{
	int dir;

	if (open_living(tree, process, &dir)) {
		signal_process(tree, process, dir, signal);
		fds_close(dir);
	}
}

void
tree_read(struct tree *tree, int64_t until)
{
	(void)walk_tree(tree, 0, until);
}

void
tree_spare(struct tree *tree, const char *names)
{
	size_t count = 0;
	pid_t before = 0;

	tree_read(tree, duration_now() + WALK_BOUND);
	for (size_t i = 0; i < tree->count; i++) {
		const struct member process = listed[i];
		/* The command of a run within this one is the eldest child of a
		 * supervisor, listed right behind it, and leads no session. */
		const bool is_orphan =
		    process.parent == tree->self ||
		    (names != NULL &&
		     procfs_name_begins(process.parent, SUPERVISOR_NAME) &&
		     (process.parent != before ||
		      process.parent == tree->target ||
		      getsid(process.pid) == process.pid));

		before = process.pid;
		/* In the /proc of another PID namespace, no child is known. */
		if (process.pid == tree->target || !is_orphan ||
		    (names != NULL &&
		     (!tree->is_ours || !procfs_bears(process.pid, names))))
			continue;
		add(spared, process.pid);
		tree->spares = true;
		listed[count++] = process;
	}
	tree->count = count;
}

/* --- the first signal ----------------------------------------------------- */

/* Signals the target's group, whose number nobody else gets until the target is
 * reaped; and the target, if it left that. With KEEP, the target alone. */
static void
signal_group(const struct tree *tree, int signal)
{
	if (tree->target > 1 &&
	    (tree->keep != NULL || kill(-tree->target, signal) == -1 ||
	     getpgid(tree->target) != tree->target))
		(void)kill(tree->target, signal);
}

void
tree_signal_target(struct tree *tree, int signal)
{
	if (!tree->keeps_leaders)
		signal_group(tree, signal);
	if (tree->target == 0 || tree->keep != NULL)
		tree_signal_members(tree, tree->group, signal);
	/* In a front last: the target's death moves its children meanwhile, but
	 * not to the front. */
	if (tree->keeps_leaders)
		signal_group(tree, signal);
}

void
tree_signal_members(struct tree *tree, pid_t group, int signal)
{
	tree_read(tree, duration_now() + WALK_BOUND);
	/* Parents first: a script whose command is dead goes on. */
	for (size_t i = 0; tree->is_ours && i < tree->count; i++) {
		const pid_t pid = listed[i].pid;

		if (pid != tree->target &&
		    (group == ANY_GROUP || getpgid(pid) == group))
			signal_member(tree, &listed[i], signal);
	}
}

size_t
tree_signal_again(struct tree *tree, int64_t until)
{
	const int64_t bound = duration_now() + WALK_BOUND;

	return walk_until_rest(tree, tree->signal,
	                       until < bound ? until : bound);
}

size_t
tree_signal(struct tree *tree, int signal, int64_t until)
{
	memset(seen, 0, sizeof(seen));
	tree->signal = signal;
	tree->signalled_at = duration_now();
	tree->last_pid = procfs_last_pid();
	if (!tree->group_has_signal) {
		signal_group(tree, signal);
		signal_group(tree, SIGCONT);
	}
	(void)sched_yield(); /* to the target: autogroup in sched(7) */

	const size_t count = tree_signal_again(tree, until);

	tree->group_has_signal = tree->all_have_signal = false;
	return count;
}

/* --- the end -------------------------------------------------------------- */

bool
tree_reap_child(struct tree *tree, pid_t child, siginfo_t *end)
{
	if (child == tree->target)
		return false;
	/* A real-time process would spin in waitid(2) for a thread of CHILD
	 * that it keeps from running: d_invalidate(), called by
	 * proc_invalidate_siblings_dcache(). */
	if (is_real_time)
		(void)set_policy(SCHED_OTHER);

	const bool is_reaped = wait_poll(child, WEXITED, end) > 0;

	if (is_real_time)
		(void)set_policy(SCHED_RR);
	spared[child / 64] &= ~(UINT64_C(1) << child % 64);
	tree->killed += end->si_code == CLD_KILLED && end->si_status == SIGKILL;
	return is_reaped;
}

/* Stops the tree, so that nobody forks, and then kills it, children first: the
 * kernel continues a stopped process whose group its parent's death orphans
 * (kill_orphaned_pgrp()). Returns how many were new. */
static size_t
freeze_and_kill(struct tree *tree)
{
	const size_t count =
	    walk_until_rest(tree, SIGSTOP, duration_now() + 5 * SECOND);

	for (size_t i = tree->count; i-- > 0;)
		signal_member(tree, &listed[i], SIGKILL);
	return count;
}

/* Whether a member that this process may signal is runnable: it needs only a
 * processor to take SIGKILL, or to free its memory. */
static bool
has_dying(const struct tree *tree)
{
	struct procstat stat;

	for (size_t i = 0; i < tree->count; i++) {
		if (procstat_read_status(listed[i].pid, &stat) == 0 &&
		    stat.state == 'R' && kill(listed[i].pid, 0) == 0)
			return true;
	}
	return false;
}

/* Kills all but the watchers of runs within this one, which it adds to SEEN:
 * each supervisor with its parent, and a front that has none by now. Returns
 * whether there are any. */
static bool
kill_unwatched(struct tree *tree)
{
	bool has_watchers = false;

	tree_read(tree, duration_now() + WALK_BOUND);
	/* Children first: so a supervisor's parent is in SEEN in time. */
	for (size_t i = tree->count; i-- > 0;) {
		const struct member process = listed[i];
		const bool is_supervisor =
		    procfs_name_begins(process.pid, SUPERVISOR_NAME);

		if (is_supervisor)
			add(seen, process.parent);
		if (is_supervisor || procfs_has_our_program(process.pid))
			add(seen, process.pid);
		has_watchers |= has(seen, process.pid);
	}
	/* At once: whoever waits for another one, by a lock, would go on. */
	if (!has_watchers)
		signal_group(tree, SIGKILL);
	for (size_t i = 0; i < tree->count; i++) { /* parents first */
		if (!has(seen, listed[i].pid))
			signal_member(tree, &listed[i], SIGKILL);
	}
	return has_watchers;
}

bool
tree_kill(struct tree *tree, struct supervisor *self,
          void (*reap)(struct supervisor *self, int64_t now))
{
	const int64_t began = duration_now();

	/* A watcher was lost, without a stop. A reading while the target dies
	 * would miss its children: they come to this process then. */
	if (tree->signal == 0) {
		signal_group(tree, SIGKILL);
		wait_or_kill(tree->target, began + WALK_BOUND);
	}
	/* Inner watchers put status, report and locks in order. */
	memset(seen, 0, sizeof(seen));
	walk.is_for_end = true;
	while (kill_unwatched(tree) && duration_now() < began + INNER_BOUND)
		duration_sleep(10 * MILLISECOND);

	int64_t last = duration_now();
	const int64_t bound = last + TREE_KILL_BOUND;
	int restless = 0;

	walk.is_for_end = false;
	tree->killed = 0;
	for (;;) {
		const size_t killed = tree->killed;
		const size_t fresh =
		    restless < RESTLESS_MAX
		        ? walk_tree(tree, SIGKILL, duration_now() + WALK_BOUND)
		        : freeze_and_kill(tree);

		/* So much reading can keep a processor from the target. Its
		 * death brings its children here: then one list kills them. */
		if (tree->is_partial)
			wait_or_kill(tree->target, duration_now() + WALK_BOUND);
		restless = fresh > 0 ? restless + 1 : 0;
		/* In a tree that forks nobody is reaped: the dead count in its
		 * limits (RLIMIT_NPROC, pids.max), and leave no room. */
		if (fresh > 0 && restless <= RESTLESS_MAX)
			continue;

		const bool is_alive = !tree_is_empty(tree);
		const int64_t now = duration_now();

		reap(self, now);
		if (fresh > 0 || tree->killed > killed || tree->is_partial ||
		    (now - last >= SECOND && has_dying(tree)))
			last = now;
		if (!is_alive || now >= bound || now - last >= LAST_BOUND)
			return !is_alive;
		duration_sleep(MILLISECOND / 2 + (now - last) / 64);
	}
}
