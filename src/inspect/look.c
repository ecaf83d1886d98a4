/* One look at a tree, with one deadline. */
#include "inspect/look.h"

#include <sys/stat.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/message.h"
#include "base/status.h"
#include "inspect/scene.h"
#include "proc/tree.h"

#define INDENT        2
#define EXPLAIN_BOUND (5 * SECOND)
#define MEMORY_SHOWN  (INT64_C(100) * 1024) /* KiB, and more */

/* Reads age, CPU time, command; not within execve(2), where files may hang. */
static void
read_line(struct sight *sight)
{
	struct strbuf command = { .text = sight->command,
		                  .size = sizeof(sight->command) };
	struct procstat stat;

	if (procstat_read(sight->pid, &stat) == -1 || stat.is_dead)
		return;
	sight->state = stat.state;
	sight->stop_signal = stat.stop_signal;
	sight->age = procstat_age(&stat);
	sight->cpu = stat.cpu;
	sight->has_times = true;
	cmdline_add(&command, sight->pid, LOOK_COMMAND);
}

void
look_note_streams(struct look *look, const int fds[LOOK_STREAMS])
{
	for (int i = 0; i < LOOK_STREAMS; i++) {
		const struct kernel_statx file = fds_look_at(fds[i], "");

		if (S_ISFIFO(file.mode) || S_ISSOCK(file.mode))
			(void)snprintf(look->streams[i], LOOK_LINK_SIZE,
			               "%s:[%ju]",
			               S_ISFIFO(file.mode) ? "pipe" : "socket",
			               (uintmax_t)file.inode);
	}
}

/* Chooses those of TREE that are shown: where they are too many, the oldest
 * leaves, by PID, each with its ancestors. Members are in depth first order. */
static void
choose(const struct tree *tree, bool chosen[])
{
	const struct member *const all = tree->members;
	const size_t last = tree->count - 1;
	size_t count = 0;

	memset(chosen, 0, tree->count * sizeof(*chosen));
	for (int leaf = 0; leaf < LOOK_MAX; leaf++) {
		pid_t next = INT_MAX;

		for (size_t i = 0; i < tree->count; i++) {
			if (!chosen[i] && all[i].pid < next &&
			    (i == last || all[i + 1].parent != all[i].pid))
				next = all[i].pid;
		}
		for (size_t i = tree->count; i-- > 0 && count < LOOK_MAX;) {
			if (all[i].pid != next)
				continue;
			next = all[i].parent;
			count += !chosen[i];
			chosen[i] = true;
		}
	}
}

void
look_glance(struct look *look, const struct tree *tree)
{
	static bool chosen[PROCFS_LIST_MAX];

	choose(tree, chosen);
	look->total = tree->count;
	look->is_partial = tree->is_partial;
	look->count = 0;
	for (size_t i = 0; i < tree->count; i++) {
		const struct member *const process = &tree->members[i];
		struct sight *const sight = &look->sights[look->count];
		struct strbuf command = { .text = sight->command,
			                  .size = sizeof(sight->command) };
		struct procstat stat;

		if (!chosen[i])
			continue;
		/* A dead process may be held by a debugger. */
		if (procstat_read_status(process->pid, &stat) == -1 ||
		    (stat.is_dead && !stat.is_traced)) {
			look->total--;
			continue;
		}
		*sight = (struct sight){
			.pid = process->pid,
			.parent = process->parent,
			.indent = INDENT,
			.is_refused = tree->root == 0 &&
			              kill(process->pid, 0) == -1 &&
			              errno == EPERM,
			.state = stat.state,
			.memory = stat.memory,
		};
		cmdline_add(&command, sight->pid, 0);
		for (size_t j = 0; j < look->count; j++) {
			if (look->sights[j].pid == sight->parent)
				sight->indent = look->sights[j].indent + INDENT;
		}
		look->count++;
	}
}

/* First the lines of all, as thousands of threads can take all of the time;
 * then what each waits for, for half of the time that is left. */
void
look_take(struct look *look, int64_t until)
{
	/* Pages that are never touched take no memory. */
	static struct scene scene;

	if (fchdir(procfs_fd()) == -1)
		return;
	scene.look = look;
	scene.is_partial = look->is_partial || look->total > look->count;
	scene.end_count = 0;
	for (int in_depth = 0; in_depth <= 1; in_depth++) {
		for (size_t i = 0; i < look->count; i++) {
			const int64_t now = duration_now();

			scene.sight = &look->sights[i];
			scene.until = now + (until - now) / 2;
			if (now >= until)
				return;
			if (!in_depth)
				read_line(scene.sight);
			else if (scene.sight->has_times)
				blocked_describe(&scene);
		}
	}
}

/* Adds "  4711 sleep 10 [S 12s, cpu 1.9s]: sleeping", or of a process that was
 * only seen at a glance, "  4711 [sleep] [S]"; printable. */
static void
add_line(struct strbuf *line, const struct sight *sight)
{
	const int64_t age = sight->age - sight->age % SECOND;
	const int64_t cpu = sight->cpu - sight->cpu % (SECOND / 10);
	const size_t start = line->length;
	char text[DURATION_TEXT_SIZE];

	strbuf_addf(line, "%*s%d %s [%c", sight->indent, "", sight->pid,
	            sight->command, sight->state);
	if (sight->has_times)
		strbuf_addf(line, " %s", duration_format(age, text));
	if (cpu > 0)
		strbuf_addf(line, ", cpu %s", duration_format(cpu, text));
	if (sight->memory >= MEMORY_SHOWN)
		strbuf_addf(line, ", %" PRId64 " MiB", sight->memory / 1024);
	strbuf_addf(line, "]");
	if (sight->wait[0] != '\0')
		strbuf_addf(line, ": %s", sight->wait);
	if (sight->is_refused)
		strbuf_addf(line, " (%s)", strerror(EPERM));
	if (!line->is_cut)
		utf8_make_printable(line->text + start);
}

void
look_add(struct strbuf *lines, const struct look *look, char separator)
{
	for (size_t i = 0; i < look->count; i++) {
		const struct sight *const sight = &look->sights[i];

		if (separator == ',') {
			strbuf_addf(lines, "%s %d %s", i == 0 ? ":" : ",",
			            sight->pid, sight->command);
			continue;
		}
		if (i > 0 || separator == '\0')
			strbuf_addf(lines, i == 0 ? ":%c" : "%c", separator);
		add_line(lines, sight);
	}
	if (look->total > look->count && separator != ',')
		strbuf_addf(lines, "%c ", separator);
	if (look->total > look->count)
		strbuf_addf(lines, " and %zu more", look->total - look->count);
}

void
look_add_json(struct strbuf *line, const struct look *look)
{
	strbuf_addf(line, "[");
	for (size_t i = 0; i < look->count; i++) {
		const struct sight *const sight = &look->sights[i];
		const char state[] = { sight->state, '\0' };

		json_add_comma(line);
		strbuf_addf(line, "{");
		json_add_number(line, "pid", sight->pid);
		json_add_number(line, "ppid", sight->parent);
		json_add_text(line, "command", sight->command);
		json_add_text(line, "state", state);
		json_add_number(line, "cpu_ms",
		                sight->has_times ? sight->cpu / MILLISECOND
		                                 : JSON_NULL);
		json_add_number(line, "rss_kb", sight->memory);
		json_add_text(line, "waiting_for",
		              sight->wait[0] == '\0' ? NULL : sight->wait);
		strbuf_addf(line, "}");
	}
	strbuf_addf(line, "]");
}

int
look_explain(pid_t root, bool as_json)
{
	static struct look look;
	const int64_t until = duration_now() + EXPLAIN_BOUND;
	struct tree tree = { .root = root };
	struct strbuf text = { .grows = true };

	if (root > 0)
		tree_read(&tree, until);
	if (tree.count > 1 && procfs_name_begins(root, SUPERVISOR_NAME)) {
		tree.members++;
		tree.count--;
	}
	look_glance(&look, &tree);
	if (look.count == 0) {
		message("--explain: there is no such process, or it is dead");
		return STATUS_NOT_HAD;
	}
	look_take(&look, until);
	if (as_json)
		look_add_json(&text, &look);
	else
		look_add(&text, &look, '\n');
	strbuf_addf(&text, "\n");
	if (look.is_denied && geteuid() != 0)
		message("this user may not read what some of them wait for: "
		        "root sees more");
	return message_print(&text);
}
