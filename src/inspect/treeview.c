/* The tree of processes, a line for each. */
#include "inspect/treeview.h"

#include <sys/ioctl.h>

#include <unistd.h>

#include "base/duration.h"
#include "base/strbuf.h"
#include "inspect/blocked.h"
#include "proc/procfs.h"

#define WIDTH_DEFAULT 120
#define WIDTH_MAX     300
#define COMMAND_MIN   40 /* columns, even if that makes the line too long */
#define INDENT        2
#define INDENT_MAX    20

/* --- the order ------------------------------------------------------------ */

static bool
is_in(const struct process_list *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->entries[i].pid == pid)
			return true;
	}
	return false;
}

/* The next process of LIST, from *AT on, whose parent is PARENT, or, with
 * PARENT 0, whose parent is not in LIST; or NULL. */
static const struct process *
next_child(const struct process_list *list, pid_t parent, size_t *at)
{
	while (*at < list->count) {
		const struct process *const process = &list->entries[(*at)++];

		if (parent == 0 ? !is_in(list, process->parent)
		                : process->parent == parent)
			return process;
	}
	return NULL;
}

static pid_t
only_child_of(const struct proctree *tree, pid_t pid)
{
	size_t at = 0;
	const struct process *const first = next_child(&tree->list, pid, &at);

	if (tree->is_partial || first == NULL ||
	    next_child(&tree->list, pid, &at) != NULL)
		return 0;
	return first->pid;
}

/* Depth first. Each level of the stack has at least one line, so there are no
 * more levels than lines. */
void
treeview_arrange(struct treeview *view, const struct proctree *tree)
{
	struct {
		pid_t parent;
		size_t at;
	} levels[TREEVIEW_LINES_MAX + 1] = { { 0, 0 } };
	int depth = 0;

	*view = (struct treeview){ .tree = tree };
	while (depth >= 0 && view->count < TREEVIEW_LINES_MAX) {
		const struct process *const process = next_child(
		    &tree->list, levels[depth].parent, &levels[depth].at);

		if (process == NULL) {
			depth--;
			continue;
		}
		view->members[view->count].process = process;
		view->members[view->count].depth = depth;
		view->count++;
		depth++;
		levels[depth].parent = process->pid;
		levels[depth].at = 0;
	}
}

/* --- the lines ------------------------------------------------------------ */

static size_t
width_of_messages(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == -1 || size.ws_col == 0)
		return WIDTH_DEFAULT;
	return size.ws_col < WIDTH_MAX ? size.ws_col : WIDTH_MAX;
}

/* Appends " [S 12s]: reading fd 0 (pipe)". */
static void
add_condition(struct strbuf *line, const struct treeview *view, size_t index,
              enum detail detail)
{
	const struct proctree *const tree = view->tree;
	const struct process *const process = view->members[index].process;
	const bool is_whole =
	    !tree->is_partial && tree->list.count == view->count;
	struct procfs_status status;
	struct procfs_stat stat;
	char age[DURATION_TEXT_SIZE];

	if (detail == DETAIL_BARE) {
		if (procfs_read_status(process->pid, &status) == 0)
			strbuf_addf(line, " [%c]", status.state);
		return;
	}
	/* Gone, hidden from us, or another process has the PID by now. */
	if (procfs_read_stat(process->pid, &stat) == -1 ||
	    stat.session != process->session)
		return;
	strbuf_addf(line, " [%c %s]", stat.state,
	            duration_format_short(procfs_age(&stat), age));
	blocked_add(line, &(struct blocked_process){
	                      .pid = process->pid,
	                      .state = stat.state,
	                      .threads = stat.threads,
	                      .child = only_child_of(tree, process->pid),
	                      .tree = is_whole ? &tree->list : NULL,
	                      .in_short = detail != DETAIL_FULL,
	                  });
}

void
treeview_describe(const struct treeview *view, size_t index, enum detail detail,
                  char line[TREEVIEW_LINE_SIZE])
{
	const pid_t pid = view->members[index].process->pid;
	const int indent = INDENT * (1 + view->members[index].depth);
	char condition[TREEVIEW_LINE_SIZE / 2] = "";
	struct strbuf tail = { .text = condition, .size = sizeof(condition) };
	struct strbuf head = { .text = line, .size = TREEVIEW_LINE_SIZE };

	add_condition(&tail, view, index, detail);
	strbuf_addf(&head, "%*s%d ", indent < INDENT_MAX ? indent : INDENT_MAX,
	            "", pid);

	const size_t taken = sizeof("wdrun: ") - 1 + head.length + tail.length;
	const size_t width = width_of_messages();
	const size_t left = width > taken ? width - taken : 0;

	procfs_add_command(&head, pid,
	                   detail != DETAIL_FULL ? 0
	                   : left > COMMAND_MIN  ? (int)left
	                                         : COMMAND_MIN);
	strbuf_addf(&head, "%s", condition);
}
