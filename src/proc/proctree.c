/* The processes below one process: who they are, and the reaping of them. */
#include "proc/proctree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "proc/helper.h"
#include "proc/procfs.h"
#include "proc/runid.h"
#include "proc/wait.h"

#define FIRST_PID 1

/* Whether CHILD is certainly of the run. This process, a subreaper, also gets
 * the orphans of strangers, which have neither session nor ID of the run. */
static bool
is_of_run(const struct proctree *tree, pid_t child)
{
	char id[RUNID_SIZE];

	if (child == tree->target ||
	    (tree->session != 0 && getsid(child) == tree->session))
		return true;
	return runid_read(child, id) && strcmp(id, runid_of(tree->id)) == 0;
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

void
proctree_sort(struct process_list *list)
{
	/* qsort(3) takes no NULL, as an empty list has. */
	if (list->count > 1)
		qsort(list->entries, list->count, sizeof(list->entries[0]),
		      by_pid);
}

/* A process that was handed to the subreaper during the walk was seen twice. */
static void
sort_and_unify(struct process_list *list)
{
	size_t kept = 0;

	proctree_sort(list);
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
};

/* Appends PROCESS, but no stranger or helper. Returns 0, or -1: ENOMEM. */
static int
add_process(const struct walk *walk, const struct process *process)
{
	if (process->parent == walk->tree->root &&
	    (process->exit_signal == HELPER_EXIT_SIGNAL ||
	     proctree_is_stranger(walk->tree, process->pid)))
		return 0;
	return append(walk->list, process);
}

static struct process
process_from(pid_t pid, const struct procfs_stat *stat)
{
	return (struct process){
		.pid = pid,
		.parent = stat->parent,
		.group = stat->group,
		.session = stat->session,
		.state = stat->state,
		.exit_signal = stat->exit_signal,
		.threads = stat->threads,
		.start = stat->start,
		.cpu = stat->cpu,
	};
}

/* A child of this process whose stat file is hidden, as that of a setuid or
 * undumpable program is under "hidepid" (proc(5)). The kernel listed the child,
 * and as long as it is not reaped, the PID is its own. */
static int
add_hidden_child(const struct walk *walk, pid_t pid)
{
	const struct process process = {
		.pid = pid,
		.parent = walk->tree->root,
		.group = getpgid(pid),
		.session = getsid(pid),
		.state = '?',
		.threads = 1,
	};

	return wait_has_living(pid) ? add_process(walk, &process) : 0;
}

static int
visit_child(pid_t pid, void *context)
{
	const struct walk *const walk = context;
	const pid_t root = walk->tree->root;
	struct procfs_stat stat;

	if (procfs_read_stat(pid, &stat) == -1)
		/* A hidden process further down becomes a child of this process
		 * when its parent is dead. */
		return walk->parent == root ? add_hidden_child(walk, pid) : 0;

	/* The PID may belong to another process by now; but not if its parent
	 * is of the tree, or if it was just handed to the subreaper. */
	if (procfs_is_dead(&stat) ||
	    (stat.parent != walk->parent && stat.parent != root))
		return 0;

	const struct process process = process_from(pid, &stat);

	return add_process(walk, &process);
}

/* Breadth first: the list is the queue. Returns 0, or -1 with errno where the
 * children of the root cannot be read. */
static int
read_by_children(struct proctree *tree)
{
	struct walk walk = { tree, &tree->list, tree->root };

	if (procfs_visit_children(tree->root, 1, visit_child, &walk) == -1) {
		tree->is_partial = true;
		return -1;
	}
	for (size_t i = 0; i < tree->list.count; i++) {
		const struct process parent = tree->list.entries[i];

		walk.parent = parent.pid;
		if (procfs_visit_children(parent.pid, parent.threads,
		                          visit_child, &walk) == -1 &&
		    errno != ENOENT && errno != ESRCH)
			tree->is_partial = true;
	}
	return 0;
}

static int
visit_any(pid_t pid, void *context)
{
	struct procfs_stat stat;

	if (procfs_read_stat(pid, &stat) == -1 || procfs_is_dead(&stat))
		return 0;

	const struct process process = process_from(pid, &stat);

	return add_process(context, &process);
}

/* Appends the processes of ALL whose parent is PARENT. */
static void
take_children(struct proctree *tree, const struct process_list *all,
              pid_t parent)
{
	for (size_t i = 0; i < all->count; i++) {
		if (all->entries[i].parent == parent)
			tree->is_partial |=
			    append(&tree->list, &all->entries[i]) == -1;
	}
}

static void
read_by_scan(struct proctree *tree)
{
	struct process_list all = { .entries = NULL };
	struct walk walk = { tree, &all, 0 };
	struct procfs_stat first;

	if (procfs_visit_all(visit_any, &walk) == -1)
		tree->is_partial = true;
	take_children(tree, &all, tree->root);
	for (size_t i = 0; i < tree->list.count; i++)
		take_children(tree, &all, tree->list.entries[i].pid);
	array_free(all.entries, all.capacity * sizeof(all.entries[0]));
	/* Under "hidepid" (proc(5)), which process 1 shows, a setuid program of
	 * the tree is not found. */
	if (tree->list.count == 0 && procfs_read_stat(FIRST_PID, &first) == -1)
		tree->is_partial = true;
}

static int
visit_nothing(pid_t pid, void *context)
{
	(void)pid;
	(void)context;
	return 0;
}

static void
choose_way(struct proctree *tree)
{
	const int is_ours = procfs_is_ours();

	if (is_ours == 0)
		tree->way = PROCTREE_BLIND;
	if (is_ours != 1)
		return;
	if (procfs_visit_children(tree->root, 1, visit_nothing, NULL) == 0)
		tree->way = PROCTREE_BY_CHILDREN;
	else if (errno == ENOENT)
		tree->way = PROCTREE_BY_SCAN;
}

/* Carries over what is known of a process from the reading before. */
static void
remember(struct proctree *tree)
{
	const struct process_list *const before = &tree->before;

	for (size_t i = 0; i < tree->list.count; i++) {
		struct process *const process = &tree->list.entries[i];
		const struct process *const known =
		    before->count == 0
		        ? NULL
		        : bsearch(process, before->entries, before->count,
		                  sizeof(*process), by_pid);

		process->is_new =
		    known == NULL || known->start != process->start;
		if (process->is_new)
			continue;
		process->has_moved = known->group != process->group;
		process->got_kill = known->got_kill;
		process->refused = known->refused;
	}
}

void
proctree_read(struct proctree *tree)
{
	const struct process_list last = tree->list;

	tree->list = tree->before;
	tree->list.count = 0;
	tree->before = last;
	tree->is_partial = false;

	if (tree->way == PROCTREE_UNTRIED)
		choose_way(tree);
	if (tree->way == PROCTREE_BY_CHILDREN)
		(void)read_by_children(tree);
	else if (tree->way == PROCTREE_BY_SCAN)
		read_by_scan(tree);
	else
		tree->is_partial = true;
	sort_and_unify(&tree->list);
	remember(tree);
}

uint64_t
proctree_activity(const struct proctree *tree)
{
	/* Any mixing will do: it need only change when an input does. */
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t sum = tree->list.count;

	for (size_t i = 0; i < tree->list.count; i++) {
		const struct process *const process = &tree->list.entries[i];

		sum = sum * odd + (uint64_t)process->pid;
		sum = sum * odd + process->start;
		sum = sum * odd + process->cpu;
		sum = sum * odd + procfs_read_io(process->pid);
	}
	return sum;
}

/* --- the children of this process ----------------------------------------- */

void
proctree_reap_child(struct proctree *tree, pid_t pid)
{
	if (wait_reap(pid) != pid)
		return;
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

	if (pid != reaping->keep)
		proctree_reap_child(reaping->tree, pid);
	return 0;
}

void
proctree_reap(struct proctree *tree, pid_t keep)
{
	struct reaping reaping = { .tree = tree, .keep = keep };

	if (procfs_visit_children(tree->root, 1, visit_to_reap, &reaping) ==
	        -1 &&
	    errno == ENOENT)
		(void)procfs_visit_all(visit_to_reap, &reaping);
}

int
proctree_note_strangers(struct proctree *tree)
{
	const struct process_list *const list = &tree->list;

	proctree_read(tree);
	if (list->count == 0)
		return 0;
	tree->strangers = array_resize(NULL, 0, list->count * sizeof(pid_t));
	if (tree->strangers == NULL)
		return -1;
	tree->has_strangers = true;
	for (size_t i = 0; i < list->count; i++) {
		if (list->entries[i].parent == tree->root)
			tree->strangers[tree->stranger_count++] =
			    list->entries[i].pid;
	}
	return 0;
}
