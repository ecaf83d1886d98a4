/* The descendants of a subreaper: finding and reaping them. */
#include "proc/proctree.h"

#include <sys/wait.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/fds.h"
#include "proc/helper.h"
#include "proc/pidfd.h"
#include "proc/procfs.h"
#include "proc/runid.h"
#include "proc/wait.h"

#define FIRST_PID 1
#define CPU_TICK  (10 * MILLISECOND)

#define LATE_INTERVAL 16 /* processes between two looks at the clock */

struct id_search {
	const char *id;
	bool is_found;
};

/* The main thread may have exited, and shows no environment then. */
static int
find_id(pid_t tid, void *context)
{
	struct id_search *const search = context;

	search->is_found |= runid_has(tid, search->id);
	return 0;
}

/* Whether CHILD is certainly of the run. A subreaper also gets the orphans of
 * strangers, which have neither the session nor the ID of the run. */
static bool
is_of_run(const struct proctree *tree, pid_t child)
{
	struct id_search search = { .id = runid_of(tree->id) };

	if (child == tree->target ||
	    (tree->session != 0 && getsid(child) == tree->session))
		return true;
	(void)procfs_visit_threads(child, find_id, &search);
	return search.is_found;
}

bool
proctree_is_stranger(const struct proctree *tree, pid_t child)
{
	if (!tree->has_strangers)
		return false;
	for (size_t i = 0; i < tree->stranger_count; i++) {
		if (tree->strangers[i] == child)
			return true;
	}
	return !is_of_run(tree, child);
}

/* --- lists ---------------------------------------------------------------- */

/* Returns 0, or -1 with errno ENOMEM. */
static int
append(struct process_list *list, const struct process *process)
{
	struct process *const entries = array_grow(
	    list->entries, list->count, &list->capacity, sizeof(*entries));

	if (entries == NULL)
		return -1;
	list->entries = entries;
	entries[list->count++] = *process;
	return 0;
}

static int
by_pid(const void *left, const void *right)
{
	const struct process *const a = left;
	const struct process *const b = right;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

const struct process *
proctree_find(const struct process_list *list, pid_t pid)
{
	const struct process key = { .pid = pid };

	if (list->count == 0) /* perhaps without memory: bsearch(3) */
		return NULL;
	return bsearch(&key, list->entries, list->count, sizeof(key), by_pid);
}

const struct process *
proctree_next_child(const struct process_list *list, pid_t parent, size_t *at)
{
	while (*at < list->count) {
		const struct process *const process = &list->entries[(*at)++];

		if (parent == 0 ? proctree_find(list, process->parent) == NULL
		                : process->parent == parent)
			return process;
	}
	return NULL;
}

/* The walk finds a process twice if the process becomes an orphan, a child of
 * the subreaper, meanwhile. */
static void
sort_and_unify(struct process_list *list)
{
	size_t kept = 0;

	array_sort(list->entries, list->count, sizeof(list->entries[0]),
	           by_pid);
	for (size_t i = 0; i < list->count; i++) {
		if (kept == 0 ||
		    list->entries[kept - 1].pid != list->entries[i].pid)
			list->entries[kept++] = list->entries[i];
	}
	list->count = kept;
}

/* --- reading the tree ----------------------------------------------------- */

/* A walk over the children of PARENT, or over all processes. */
struct walk {
	struct proctree *tree;
	struct process_list *list;
	pid_t parent;
	size_t proven; /* this many of LIST are proven: visit_to_prove() */
	size_t at;     /* the first of LIST that is still to be proven */
	int64_t until;
	proctree_found *found; /* or NULL */
	void *context;
};

/* Appends PID, a child of the walk's parent, unless PID is a stranger, a helper
 * or dead; a dead process too if FOUND is to signal, since the check would hold
 * up the signal. Makes system calls alone: PID's files in /proc may block. */
static int
add_child(struct walk *walk, pid_t pid)
{
	const struct process process = {
		.pid = pid,
		.parent = walk->parent,
		.group = getpgid(pid),
		.session = getsid(pid),
	};

	if (walk->parent == walk->tree->root &&
	    (helper_is(pid) || proctree_is_stranger(walk->tree, pid)))
		return 0;
	/* read_by_scan() asks whether the list has a living process. */
	if ((walk->found == NULL || walk->tree->way == PROCTREE_BY_SCAN) &&
	    pid_is_dead(pid))
		return 0;
	return append(walk->list, &process);
}

/* Looks at the clock seldom, so that a small tree is read whole. READ is how
 * many processes were read. */
static bool
is_late(const struct walk *walk, size_t read)
{
	return read % LATE_INTERVAL == LATE_INTERVAL - 1 &&
	       duration_now() >= walk->until;
}

static int
visit_child(pid_t pid, void *context)
{
	struct walk *const walk = context;

	if (is_late(walk, walk->list->count)) {
		errno = ETIME;
		return -1;
	}
	return add_child(walk, pid);
}

/* Proves that PID was a child of the walk's parent before and after
 * add_child(): so add_child() did not see another process that got a dead
 * child's PID. */
static int
visit_to_prove(pid_t pid, void *context)
{
	struct walk *const walk = context;
	struct process *const entries = walk->list->entries;

	for (size_t i = walk->at; i < walk->list->count; i++) {
		if (entries[i].pid == pid) {
			entries[walk->proven++] = entries[i];
			walk->at = i + 1;
			break;
		}
	}
	return 0;
}

/* Appends the children of the walk's parent. Returns 0, or -1 with errno. */
static int
add_children(struct walk *walk, int proc_fd)
{
	struct process_list *const list = walk->list;
	int result;

	walk->proven = list->count;
	walk->at = list->count;
	result =
	    procfs_visit_children(proc_fd, walk->parent, visit_child, walk);
	/* The kernel does not reuse a child's PID before the reaping. */
	if (list->count == walk->at || walk->parent == walk->tree->root)
		return result;
	(void)procfs_visit_children(proc_fd, walk->parent, visit_to_prove,
	                            walk);
	list->count = walk->proven;
	return result;
}

/* Copies what the reading before knew of the list from FIRST on, and calls
 * FOUND. */
static void
note_found(const struct walk *walk, size_t first)
{
	const struct process_list *const before = &walk->tree->before;
	const struct process_list *const list = walk->list;

	for (size_t i = first; i < list->count; i++) {
		struct process *const process = &list->entries[i];
		const struct process *const known =
		    proctree_find(before, process->pid);

		if (known != NULL)
			process->refused = known->refused;
	}
	if (walk->found != NULL && list->count > first)
		walk->found(walk->tree, first, walk->context);
}

/* Breadth first: the list is the queue. Returns 0, or -1 with errno if the
 * children of the root cannot be read. */
static int
read_by_children(struct walk *walk, int proc_fd)
{
	struct proctree *const tree = walk->tree;

	if (add_children(walk, proc_fd) == -1)
		tree->is_partial = true;
	if (tree->is_partial && tree->list.count == 0)
		return -1;
	note_found(walk, 0);
	for (size_t i = 0; i < tree->list.count; i++) {
		const size_t first = tree->list.count;

		if (is_late(walk, i)) {
			tree->is_partial = true;
			break;
		}
		walk->parent = tree->list.entries[i].pid;
		const int result = add_children(walk, proc_fd);
		const int why = result == -1 ? errno : 0;

		note_found(walk, first);
		/* ENOENT, ESRCH: the process is dead. */
		tree->is_partial |= why != 0 && why != ENOENT && why != ESRCH;
	}
	return 0;
}

static int
visit_any(pid_t pid, void *context)
{
	const struct walk *const walk = context;
	struct procfs_status status;
	struct process process = { .pid = pid };

	if (procfs_read_status(pid, &status) == -1)
		return 0;
	process.parent = status.parent;
	return append(walk->list, &process);
}

/* Appends the processes of ALL whose parent is PARENT, and is still PARENT
 * after add_child(). */
static void
take_children(struct walk *walk, const struct process_list *all, pid_t parent)
{
	struct proctree *const tree = walk->tree;

	walk->parent = parent;
	for (size_t i = 0; i < all->count; i++) {
		const size_t count = tree->list.count;
		struct procfs_status status;

		if (all->entries[i].parent != parent)
			continue;
		tree->is_partial |= add_child(walk, all->entries[i].pid) == -1;
		if (procfs_read_status(all->entries[i].pid, &status) == -1 ||
		    status.parent != parent)
			tree->list.count = count;
	}
}

static void
read_by_scan(struct walk *walk)
{
	struct proctree *const tree = walk->tree;
	struct process_list all = { .entries = NULL };
	struct walk machine = { .tree = tree, .list = &all };
	struct procfs_status first;

	tree->is_partial = procfs_visit_all(visit_any, &machine) == -1;
	take_children(walk, &all, tree->root);
	for (size_t i = 0; i < tree->list.count; i++)
		take_children(walk, &all, tree->list.entries[i].pid);
	array_free(all.entries, all.capacity * sizeof(all.entries[0]));
	/* Under "hidepid" (proc(5)), the scan misses a setuid program of the
	 * tree. /proc then hides process 1 as well. */
	if (tree->list.count == 0 &&
	    procfs_read_status(FIRST_PID, &first) == -1)
		tree->is_partial = true;
	/* A command may have mounted another /proc meanwhile. */
	if (procfs_is_ours() != 1)
		tree->list.count = 0;
	note_found(walk, 0);
}

static void
read_tree(struct proctree *tree, int64_t until, proctree_found *found,
          void *context)
{
	const struct process_list last = tree->list;
	const int proc_fd = procfs_open_root();
	struct walk walk = { .tree = tree,
		             .list = &tree->list,
		             .parent = tree->root,
		             .until = until,
		             .found = found,
		             .context = context };

	tree->list = tree->before;
	tree->list.count = 0;
	tree->before = last;
	tree->is_partial = proc_fd == -1;

	tree->way = proc_fd == -1 ? PROCTREE_BLIND : PROCTREE_BY_CHILDREN;
	if (proc_fd != -1 && read_by_children(&walk, proc_fd) == -1 &&
	    errno == ENOENT) {
		tree->way = PROCTREE_BY_SCAN;
		read_by_scan(&walk);
	}
	fds_close(proc_fd);
	sort_and_unify(&tree->list);
}

void
proctree_read(struct proctree *tree)
{
	read_tree(tree, NEVER, NULL, NULL);
}

void
proctree_read_until(struct proctree *tree, int64_t until)
{
	read_tree(tree, until, NULL, NULL);
}

void
proctree_read_each(struct proctree *tree, int64_t until, proctree_found *found,
                   void *context)
{
	read_tree(tree, until, found, context);
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
proctree_activity(const struct proctree *tree)
{
	const struct process_list *const list = &tree->list;
	uint64_t sum = list->count;

	for (size_t i = 0; i < list->count; i++) {
		const pid_t pid = list->entries[i].pid;

		sum = mix(sum, (uint64_t)pid);
		sum = mix(sum, cpu_ticks(pid));
		if (!procfs_may_block(pid))
			sum = mix(sum, procfs_read_io(pid));
	}
	return sum;
}

/* --- the children of this process ----------------------------------------- */

void
proctree_reap_child(struct proctree *tree, pid_t pid)
{
	if (wait_reap(pid) != pid)
		return;
	numbers_remove(&tree->killed, pid);
	for (size_t i = 0; i < tree->stranger_count; i++) {
		if (tree->strangers[i] == pid)
			tree->strangers[i--] =
			    tree->strangers[--tree->stranger_count];
	}
}

struct reaping {
	struct proctree *tree;
	pid_t keep;
};

static int
visit_to_reap(pid_t pid, void *context)
{
	const struct reaping *const reaping = context;
	siginfo_t info;

	/* helper_run() reaps its helpers. */
	if (pid != reaping->keep &&
	    wait_peek(pid, WEXITED | WNOWAIT, &info) == pid)
		proctree_reap_child(reaping->tree, pid);
	return 0;
}

void
proctree_reap(struct proctree *tree, pid_t keep)
{
	struct reaping reaping = { .tree = tree, .keep = keep };
	const int proc_fd = procfs_open_root();

	if (proc_fd != -1 &&
	    procfs_visit_children(proc_fd, tree->root, visit_to_reap,
	                          &reaping) == -1 &&
	    errno == ENOENT)
		(void)procfs_visit_all(visit_to_reap, &reaping);
	fds_close(proc_fd);
}

int
proctree_note_strangers(struct proctree *tree)
{
	const struct process_list *const list = &tree->list;

	proctree_read(tree);
	/* Without a usable /proc, only what is certainly of the run counts. */
	tree->has_strangers = list->count > 0 || tree->is_partial;
	if (list->count == 0)
		return 0;
	tree->strangers = array_resize(NULL, 0, list->count * sizeof(pid_t));
	if (tree->strangers == NULL)
		return -1;
	for (size_t i = 0; i < list->count; i++) {
		if (list->entries[i].parent == tree->root)
			tree->strangers[tree->stranger_count++] =
			    list->entries[i].pid;
	}
	return 0;
}
