/* The tree of processes, a line for each. */
#include "inspect/treeview.h"

#include <sys/ioctl.h>

#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "inspect/fdinfo.h"
#include "proc/procfs.h"
#include "proc/procstat.h"

#define COMMAND_MIN     40 /* columns, even if that makes the line too long */
#define INDENT          2
#define INDENT_MAX      20
#define CONDITION_SIZE  64
#define SEARCHED_MAX    128 /* processes that are searched for other ends */
#define TENTH_OF_SECOND (SECOND / 10)

/* Depth first. Each level but the first has a process in VIEW: so there are at
 * most TREEVIEW_MAX + 1 levels. */
void
treeview_arrange(struct treeview *view, const struct proctree *tree,
                 int64_t ahead)
{
	struct {
		pid_t parent;
		size_t at;
	} levels[TREEVIEW_MAX + 1] = { { 0, 0 } };
	int depth = 0;

	view->tree = tree;
	view->total = tree->list.count;
	view->ahead = ahead;
	view->count = 0;
	view->step = 0;
	while (depth >= 0 && view->count < TREEVIEW_MAX) {
		const struct process *const process = proctree_next_child(
		    &tree->list, levels[depth].parent, &levels[depth].at);

		if (process == NULL) {
			depth--;
			continue;
		}
		view->processes[view->count++] = (struct treeview_process){
			.pid = process->pid,
			.parent = process->parent,
			.session = process->session,
			.depth = depth,
		};
		depth++;
		levels[depth].parent = process->pid;
		levels[depth].at = 0;
	}
}

/* --- the look ------------------------------------------------------------- */

static int
width_of_messages(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == -1 || size.ws_col == 0)
		return CMDLINE_MAX;
	return size.ws_col - (int)strlen("wdrun: ");
}

/* Appends " [S 12s, cpu 1.9s]: reading fd 0 (pipe)". */
static void
add_condition(struct strbuf *line, const struct treeview_process *process)
{
	const int64_t tenths = process->cpu / TENTH_OF_SECOND;
	char text[DURATION_TEXT_SIZE];

	strbuf_addf(line, " [%c", process->blocked.state);
	if (!process->is_bare)
		strbuf_addf(line, " %s",
		            duration_format_short(process->age, text));
	if (process->cpu >= 60 * SECOND)
		strbuf_addf(line, ", cpu %s",
		            duration_format_short(process->cpu, text));
	else if (tenths > 0)
		strbuf_addf(line, ", cpu %d.%ds", (int)(tenths / 10),
		            (int)(tenths % 10));
	strbuf_addf(line, "]%s", process->wait);
}

static int
indent_of(const struct treeview_process *process)
{
	const int indent = INDENT * (1 + process->depth);

	return indent < INDENT_MAX ? indent : INDENT_MAX;
}

/* Reads about SHOWN, unless the process is gone or dead: wdrun itself decides
 * what becomes of a zombie. */
static void
read_process(struct treeview_process *shown, const struct treeview *all,
             struct fdtable *table, bool in_short)
{
	const struct proctree *const tree = all->tree;
	/* *SHOWN is set as a whole, since this process may be killed before. */
	struct treeview_process view = *shown;
	char line[TREEVIEW_WAIT_SIZE + CONDITION_SIZE] = "";
	struct strbuf head = { .text = line, .size = sizeof(line) };
	struct strbuf wait = { .text = view.wait, .size = sizeof(view.wait) };
	struct strbuf command = { .text = view.command,
		                  .size = sizeof(view.command) };
	const pid_t pid = view.pid;
	struct procstat stat;

	/* Another process may have the PID by now. */
	if (procstat_read(pid, &stat) == -1 || stat.session != view.session ||
	    procstat_is_dead(&stat))
		return;
	view.is_bare = false;
	view.age = procstat_age(&stat) + all->ahead;
	view.cpu = procstat_time(stat.cpu);
	view.blocked = (struct blocked_process){
		.pid = pid,
		.state = stat.state,
		.threads = stat.threads,
		.is_busy = view.cpu > (view.age - all->ahead) / 2,
		.list = tree->is_partial ? NULL : &tree->list,
		.table = table,
		.in_short = in_short,
	};
	view.wait[0] = '\0';
	blocked_add(&wait, &view.blocked);

	strbuf_addf(&head, "%*s%d ", indent_of(&view), "", pid);
	add_condition(&head, &view);

	const int left = width_of_messages() - (int)head.length;

	cmdline_add(&command, pid,
	            in_short             ? 0
	            : left > COMMAND_MIN ? left
	                                 : COMMAND_MIN);
	*shown = view;
}

static bool
is_stuck(const struct treeview *view, pid_t pid)
{
	for (size_t i = 0; i < view->count; i++) {
		if (view->processes[i].blocked.pid == pid)
			return view->processes[i].is_stuck;
	}
	return false;
}

/* Whether a process that is not stuck can end the wait of PROCESS. */
static bool
can_go_on(const struct treeview *view, const struct treeview_process *process)
{
	const struct fdinfo_ends *const others = &process->blocked.others;

	for (int i = 0; i < others->count; i++) {
		if (!is_stuck(view, others->pids[i]))
			return true;
	}
	return false;
}

/* Finds the processes that wait only for each other, by taking away the
 * processes whose wait another process can end. Leaves out a process that has
 * gone on since it was described (it may be answering another process), and a
 * process with several threads (another thread may go on). */
static void
find_stuck(struct treeview *view)
{
	bool has_changed = true;

	for (size_t i = 0; i < view->count; i++) {
		const struct blocked_process *const blocked =
		    &view->processes[i].blocked;

		view->processes[i].is_stuck = blocked->others.count > 0 &&
		                              blocked->threads == 1 &&
		                              blocked_is_unchanged(blocked);
	}
	while (has_changed) {
		has_changed = false;
		for (size_t i = 0; i < view->count; i++) {
			struct treeview_process *const process =
			    &view->processes[i];
			const bool is_free =
			    process->is_stuck && can_go_on(view, process);

			process->is_stuck &= !is_free;
			has_changed |= is_free;
		}
	}
}

bool
treeview_is_read(const struct treeview *view)
{
	return view->count == 0 || view->step > 2 * view->count;
}

void
treeview_read(struct treeview *view)
{
	const struct proctree *const tree = view->tree;
	const bool is_small =
	    !tree->is_partial && tree->list.count <= SEARCHED_MAX;
	struct fdtable table = { .list = is_small ? &tree->list : NULL };

	for (; view->step < 2 * view->count; view->step++) {
		struct treeview_process *const process =
		    &view->processes[view->step % view->count];

		if (!process->is_bare || !procfs_may_block(process->pid))
			read_process(process, view, &table,
			             view->step < view->count);
	}
	find_stuck(view);
	view->step++;
}

/* Reads only the name and the state of SHOWN: no other read is safe. */
static void
read_bare(struct treeview_process *shown)
{
	const pid_t pid = shown->pid;
	struct strbuf command = { .text = shown->command,
		                  .size = sizeof(shown->command) };
	struct procfs_status status;

	if (procfs_read_status(pid, &status) == -1 || status.state == 'Z')
		return;
	cmdline_add(&command, pid, 0);
	shown->is_bare = true;
	shown->blocked.state = status.state;
	shown->blocked.pid = pid;
}

void
treeview_skip(struct treeview *view)
{
	if (view->step < view->count)
		read_bare(&view->processes[view->step]);
	/* Of find_stuck() a half is no proof. */
	for (size_t i = 0; i < view->count && view->step >= 2 * view->count;
	     i++)
		view->processes[i].is_stuck = false;
	view->step++;
}

/* --- the lines ------------------------------------------------------------ */

static void
add_stuck(struct strbuf *lines, const struct treeview *view)
{
	int count = 0;

	for (size_t i = 0; i < view->count; i++) {
		if (!treeview_is_read(view) || !view->processes[i].is_stuck)
			continue;
		if (count++ == 0)
			strbuf_addf(lines, "%c  ", '\0');
		else
			strbuf_addf(lines, " and ");
		strbuf_addf(lines, "%d", view->processes[i].blocked.pid);
	}
	if (count == 1)
		strbuf_addf(lines, " waits only for itself");
	else if (count > 1)
		strbuf_addf(lines, " wait only for each other");
}

void
treeview_add(struct strbuf *lines, const struct treeview *view)
{
	const size_t shown =
	    view->step < view->count ? view->step : view->count;
	const size_t rest = view->total - shown;
	const char *colon = ":";

	for (size_t i = 0; i < shown; i++) {
		const struct treeview_process *const process =
		    &view->processes[i];

		if (process->blocked.pid == 0)
			continue;
		strbuf_addf(lines, "%s%c%*s%d %s", colon, '\0',
		            indent_of(process), "", process->blocked.pid,
		            process->command);
		add_condition(lines, process);
		colon = "";
	}
	add_stuck(lines, view);
	if (rest > 0)
		strbuf_addf(lines, "%c  and %zu more", '\0', rest);
}
