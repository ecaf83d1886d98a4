/* The processes below one process: who they are and whether any is left. */
#include "proctree.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "children.h"
#include "environment.h"
#include "helper.h"
#include "procfs.h"

#define FIRST_CAPACITY 64
#define FIRST_PID      1

bool
proctree_is_stranger(const struct proctree *tree, pid_t child)
{
	if (helper_is(tree, child))
		return true;
	if (!tree->has_strangers || child == tree->target)
		return false;
	for (size_t i = 0; i < tree->stranger_count; i++) {
		if (tree->strangers[i] == child)
			return true;
	}
	return !(tree->target_group != 0 &&
	         getsid(child) == tree->target_group) &&
	       !environment_has(child, tree->id);
}

static bool
is_stranger(const struct proctree *tree, const struct process *process)
{
	return process->parent == tree->root &&
	       proctree_is_stranger(tree, process->pid);
}

static int
list_append(struct process_list *list, const struct process *process)
{
	if (list->count == list->capacity) {
		const size_t capacity =
		    list->capacity == 0 ? FIRST_CAPACITY : 2 * list->capacity;
		struct process *const entries =
		    realloc(list->entries, capacity * sizeof(*entries));

		if (entries == NULL)
			return -1;
		list->entries = entries;
		list->capacity = capacity;
	}
	list->entries[list->count++] = *process;
	return 0;
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
		.threads = stat->threads,
		.start = stat->start,
		.cpu = stat->cpu,
	};
}

static int
by_pid(const void *left, const void *right)
{
	const struct process *const a = left;
	const struct process *const b = right;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

static int
by_parent(const void *left, const void *right)
{
	const struct process *const a = left;
	const struct process *const b = right;

	return (a->parent > b->parent) - (a->parent < b->parent);
}

/* qsort(3) with an order that does not care for an empty list's NULL. */
static void
list_sort(struct process_list *list, int (*order)(const void *, const void *))
{
	if (list->count > 1)
		qsort(list->entries, list->count, sizeof(list->entries[0]),
		      order);
}

/* One that was handed to the subreaper during the walk was seen twice. */
static void
list_sort_and_unify(struct process_list *list)
{
	size_t kept = 0;

	list_sort(list, by_pid);
	for (size_t i = 0; i < list->count; i++) {
		if (kept == 0 ||
		    list->entries[kept - 1].pid != list->entries[i].pid)
			list->entries[kept++] = list->entries[i];
	}
	list->count = kept;
}

/* A walk over the children of PARENT. */
struct walk {
	struct proctree *tree;
	pid_t parent;
};

/*
 * A child of our own whose stat is hidden from us, as that of a setuid or
 * undumpable program is under "hidepid" (proc(5)). The kernel listed it, and as
 * long as it is not reaped the PID is its own.
 */
static int
list_hidden_child(struct proctree *tree, pid_t pid)
{
	const struct process process = {
		.pid = pid,
		.parent = tree->root,
		.group = getpgid(pid),
		.session = getsid(pid),
		.state = '?',
		.threads = 1,
	};

	if (!children_are_alive(pid))
		return 0;
	return is_stranger(tree, &process) ? 0
	                                   : list_append(&tree->list, &process);
}

static int
visit_child(pid_t pid, void *context)
{
	const struct walk *const walk = context;
	struct procfs_stat stat;

	if (procfs_read_stat(pid, &stat) == -1)
		/* One further down will be ours when its parent is dead. */
		return walk->parent == walk->tree->root
		           ? list_hidden_child(walk->tree, pid)
		           : 0;

	/* The PID may be somebody else's by now. A child of the tree's is not,
	 * nor is one that was just handed to the subreaper. */
	if (procfs_is_dead(&stat) ||
	    (stat.parent != walk->parent && stat.parent != walk->tree->root))
		return 0;

	const struct process process = process_from(pid, &stat);

	if (is_stranger(walk->tree, &process))
		return 0;
	return list_append(&walk->tree->list, &process);
}

/* Breadth first: the list is the queue. */
static int
read_by_children(struct proctree *tree)
{
	struct walk walk = { .tree = tree, .parent = tree->root };

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

	return list_append(context, &process);
}

/* Appends those of ALL, sorted by parent, whose parent is PARENT. */
static void
take_children(struct proctree *tree, const struct process_list *all,
              pid_t parent)
{
	size_t low = 0;
	size_t high = all->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (all->entries[middle].parent < parent)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < all->count && all->entries[low].parent == parent; low++) {
		if (!is_stranger(tree, &all->entries[low]))
			tree->is_partial |=
			    list_append(&tree->list, &all->entries[low]) == -1;
	}
}

static void
read_by_scan(struct proctree *tree)
{
	struct process_list all = { .entries = NULL };
	struct procfs_stat first;

	if (procfs_visit_all(visit_any, &all) == -1)
		tree->is_partial = true;
	list_sort(&all, by_parent);
	take_children(tree, &all, tree->root);
	for (size_t i = 0; i < tree->list.count; i++)
		take_children(tree, &all, tree->list.entries[i].pid);
	free(all.entries);
	/* Where /proc hides what is not ours to see ("hidepid", proc(5)), which
	 * shows on process 1, a setuid program of the tree is not found. */
	if (tree->list.count == 0 && procfs_read_stat(FIRST_PID, &first) == -1)
		tree->is_partial = true;
}

static void
choose_way(struct proctree *tree)
{
	const int is_ours = procfs_is_ours();

	if (is_ours == 0)
		tree->way = PROCTREE_BLIND;
	if (is_ours != 1)
		return;
	if (read_by_children(tree) == 0)
		tree->way = PROCTREE_BY_CHILDREN;
	else if (errno == ENOENT)
		tree->way = PROCTREE_BY_SCAN;
	/* The way is chosen; what this reading lacks, the next one may not. */
	tree->list.count = 0;
	tree->is_partial = false;
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
		process->got_kill = known->got_kill;
		process->refused = known->refused;
	}
}

void
proctree_sort(struct process_list *list)
{
	list_sort(list, by_pid);
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
	list_sort_and_unify(&tree->list);
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

/* Takes PID out of the COUNT PIDS. Returns how many are left. */
static size_t
forget(pid_t pid, pid_t pids[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (pids[i] == pid)
			pids[i--] = pids[--count];
	}
	return count;
}

void
proctree_reap_child(struct proctree *tree, pid_t pid)
{
	if (children_reap(pid) != pid)
		return;
	tree->helper_count = forget(pid, tree->helpers, tree->helper_count);
	tree->stranger_count =
	    forget(pid, tree->strangers, tree->stranger_count);
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
	proctree_read(tree);
	if (tree->list.count == 0)
		return 0;

	tree->strangers = malloc(tree->list.count * sizeof(pid_t));
	if (tree->strangers == NULL)
		return -1;
	tree->has_strangers = true;
	for (size_t i = 0; i < tree->list.count; i++) {
		if (tree->list.entries[i].parent == tree->root)
			tree->strangers[tree->stranger_count++] =
			    tree->list.entries[i].pid;
	}
	return 0;
}
