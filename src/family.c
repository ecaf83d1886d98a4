/* The tree of processes, told as a tree. */
#include "family.h"

#include <sys/ioctl.h>
#include <sys/prctl.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "blocked.h"
#include "children.h"
#include "duration.h"
#include "fork.h"
#include "message.h"
#include "procfs.h"

#define PATIENCE      (400 * MILLISECOND) /* less than the narrator is given */
#define PATIENCE_EACH (150 * MILLISECOND)
#define WIDTH_DEFAULT 120
#define WIDTH_MAX     300
#define COMMAND_MIN   40 /* columns, though the line gets too long by it */
#define INDENT        2
#define INDENT_MAX    20

/* In the order of their lines: who they are, and how far down in the tree. */
struct member {
	const struct process *process;
	int depth;
	pid_t only_child;
};

struct view {
	const struct proctree *tree;
	size_t width;
	size_t count;
	struct member members[FAMILY_LINES_MAX];
};

/* --- who is in it --------------------------------------------------------- */

static bool
is_in(const struct process_list *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->entries[i].pid == pid)
			return true;
	}
	return false;
}

/* The next of LIST from *AT on whose parent is PARENT, or with PARENT 0 one
 * whose parent is not in it; or NULL. */
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
only_child_of(const struct process_list *list, pid_t pid)
{
	size_t at = 0;
	const struct process *const first = next_child(list, pid, &at);

	return first != NULL && next_child(list, pid, &at) == NULL ? first->pid
	                                                           : 0;
}

/* Depth first, with the way back on a stack: each level has at least one line,
 * so there are not more levels than lines. */
static void
arrange(struct view *view)
{
	const struct process_list *const list = &view->tree->list;
	struct {
		pid_t parent;
		size_t at;
	} levels[FAMILY_LINES_MAX + 1] = { { 0, 0 } };
	int depth = 0;

	while (depth >= 0 && view->count < FAMILY_LINES_MAX) {
		const struct process *const process =
		    next_child(list, levels[depth].parent, &levels[depth].at);

		if (process == NULL) {
			depth--;
			continue;
		}
		view->members[view->count++] = (struct member){
			.process = process,
			.depth = depth,
			.only_child = only_child_of(list, process->pid),
		};
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

/* " [S 12s]: reading fd 0 (pipe)" */
static void
add_condition(struct line *line, const struct view *view,
              const struct member *member, bool in_short)
{
	const struct proctree *const tree = view->tree;
	const pid_t pid = member->process->pid;
	struct procfs_stat stat;
	char age[DURATION_TEXT_SIZE];

	/* Gone, or hidden from us; or another one has its PID by now. */
	if (procfs_read_stat(pid, &stat) == -1 ||
	    stat.start != member->process->start)
		return;

	const struct suspended process = {
		.pid = pid,
		.state = stat.state,
		.threads = stat.threads,
		.child = tree->is_partial ? 0 : member->only_child,
		.tree = tree->is_partial || tree->list.count > FAMILY_LINES_MAX
		            ? NULL
		            : &tree->list,
		.in_short = in_short,
	};

	line_add(line, " [%c %s]", stat.state,
	         duration_format_short(procfs_age(&stat), age));
	blocked_add(line, &process);
}

/* Writes the line of MEMBER into TEXT. In short, it waits for nobody. */
static void
make_line(const struct view *view, const struct member *member, bool in_short,
          char text[FAMILY_LINE_SIZE])
{
	char condition[FAMILY_LINE_SIZE / 2];
	struct line tail = { .text = condition, .size = sizeof(condition) };
	struct line line = { .text = text, .size = FAMILY_LINE_SIZE };
	const int indent = INDENT * (1 + member->depth);

	condition[0] = '\0';
	add_condition(&tail, view, member, in_short);
	line_add(&line, "%*s%d ", indent < INDENT_MAX ? indent : INDENT_MAX, "",
	         member->process->pid);

	const size_t taken = sizeof("wdrun: ") - 1 + line.length + tail.length;
	const size_t left = view->width > taken ? view->width - taken : 0;

	procfs_add_command(&line, member->process->pid,
	                   in_short             ? 0
	                   : left > COMMAND_MIN ? (int)left
	                                        : COMMAND_MIN);
	line_add(&line, "%s", condition);
}

/* Makes the lines from FIRST on, and writes each into FD. */
static _Noreturn void
make_lines(const struct view *view, size_t first, int fd)
{
	char text[FAMILY_LINE_SIZE];

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = first; i < view->count; i++) {
		make_line(view, &view->members[i], false, text);
		if (write(fd, text, sizeof(text)) != (ssize_t)sizeof(text))
			break;
	}
	_exit(0);
}

/* Takes lines from FD until one does not come in time, or END. */
static void
take_lines(struct family *family, const struct view *view, int fd, int64_t end)
{
	while (family->count < view->count) {
		struct pollfd line = { .fd = fd, .events = POLLIN };
		const int64_t left = end - duration_now();
		const int64_t patience =
		    left < PATIENCE_EACH ? left : PATIENCE_EACH;

		if (patience <= 0 ||
		    poll(&line, 1, (int)(patience / MILLISECOND)) <= 0 ||
		    read(fd, family->lines[family->count], FAMILY_LINE_SIZE) !=
		        FAMILY_LINE_SIZE)
			return;
		family->count++;
	}
}

/* Has a child read what may never answer, from the next line on. */
static void
read_lines(struct family *family, const struct view *view, int64_t end)
{
	int made[2];

	if (pipe2(made, O_CLOEXEC) == -1)
		return;

	const pid_t child = process_fork();

	if (child == 0)
		make_lines(view, family->count, made[1]);
	(void)close(made[1]);
	if (child != -1) {
		take_lines(family, view, made[0], end);
		(void)kill(child, SIGKILL);
		(void)children_reap(child);
	}
	(void)close(made[0]);
}

void
family_read(struct family *family, const struct proctree *tree)
{
	const int64_t end = duration_now() + PATIENCE;
	struct view view = { .tree = tree, .width = width_of_messages() };

	arrange(&view);
	family->count = 0;
	while (family->count < view.count) {
		if (duration_now() < end)
			read_lines(family, &view, end);
		if (family->count == view.count)
			break;
		/* That one hangs, or there is no time left. */
		make_line(&view, &view.members[family->count], true,
		          family->lines[family->count]);
		family->count++;
	}
}

void
family_print(const struct family *family, const struct proctree *tree)
{
	for (size_t i = 0; i < family->count; i++)
		message("%s", family->lines[i]);
	if (tree->list.count > family->count)
		message("  and %zu more", tree->list.count - family->count);
}
