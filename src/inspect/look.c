/* One look at a tree, by one helper, with one deadline. */
#include "inspect/look.h"

#include <sys/ioctl.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/text.h"
#include "inspect/scene.h"
#include "proc/helper.h"
#include "proc/priority.h"
#include "proc/procfs.h"
#include "proc/procstat.h"
#include "proc/tree.h"

#define COMMAND_MIN 40 /* columns, even if that makes the line too long */
#define INDENT      2
#define INDENT_MAX  20
#define LINE_SIZE   1024

/* --- what the rooms of this folder share ---------------------------------- */

ssize_t
scene_read(char *text, size_t size, const char *format, ...)
{
	char path[64];
	struct strbuf line = { .text = path, .size = sizeof(path) };
	va_list arguments;

	va_start(arguments, format);
	strbuf_vaddf(&line, format, arguments);
	va_end(arguments);

	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t length = fd == -1 ? -1 : read(fd, text, size - 1);

	text[length > 0 ? length : 0] = '\0';
	fds_close(fd);
	return length;
}

const char *
scene_field(const char *line, int number)
{
	line += strspn(line, " ");
	for (int i = 0; i < number; i++) {
		line += strcspn(line, " ");
		line += strspn(line, " ");
	}
	return line;
}

int
scene_next(DIR **directory, pid_t pid, const char *name)
{
	const struct dirent *entry = NULL;
	char path[32];

	(void)snprintf(path, sizeof(path), "%d/%s", pid, name);
	if (*directory == NULL)
		*directory = opendir(path);
	do
		entry = *directory == NULL ? NULL : readdir(*directory);
	while (entry != NULL && entry->d_name[0] == '.');
	if (entry != NULL)
		return (int)strtol(entry->d_name, NULL, 10);
	if (*directory != NULL)
		(void)closedir(*directory);
	*directory = NULL;
	return -1;
}

void
say(struct scene *scene, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	strbuf_vaddf(&scene->line, format, arguments);
	va_end(arguments);
}

/* --- the look ------------------------------------------------------------- */

static void
arrange(struct look *look, const struct process_list *list)
{
	look->total = list->count;
	for (look->count = 0;
	     look->count < LOOK_MAX && look->count < list->count;
	     look->count++) {
		const struct process *const process =
		    &list->entries[look->count];

		look->sights[look->count] = (struct sight){
			.pid = process->pid,
			.parent = process->parent,
			.depth = process->depth,
			.is_refused =
			    kill(process->pid, 0) == -1 && errno == EPERM,
		};
	}
}

/* "status" and "comm" can always be read. */
static void
glance(struct sight *sight)
{
	struct strbuf name = { .text = sight->name,
		               .size = sizeof(sight->name) };
	struct procfs_status status;

	cmdline_add(&name, sight->pid, 0);
	if (procfs_read_status(sight->pid, &status) == 0)
		sight->state = status.state;
}

/* Adds "  4711 sleep 10 [S 12s, cpu 1.9s]: sleeping", or of a process that was
 * only seen at a glance, "  4711 [sleep] [S]". */
static void
add_line(struct strbuf *line, const struct sight *sight, bool is_whole)
{
	const int64_t tenths = sight->cpu / (SECOND / 10);
	const int indent = INDENT * (1 + sight->depth);
	char text[DURATION_TEXT_SIZE];

	strbuf_addf(line, "%*s%d %s [%c",
	            indent < INDENT_MAX ? indent : INDENT_MAX, "", sight->pid,
	            is_whole ? sight->command : sight->name, sight->state);
	if (!is_whole) {
		strbuf_addf(line, "]");
		return;
	}
	strbuf_addf(line, " %s", duration_format_short(sight->age, text));
	if (tenths >= 600)
		strbuf_addf(line, ", cpu %s",
		            duration_format_short(sight->cpu, text));
	else if (tenths > 0)
		strbuf_addf(line, ", cpu %d.%ds", (int)(tenths / 10),
		            (int)(tenths % 10));
	strbuf_addf(line, "]%s%s", sight->wait[0] == '\0' ? "" : ": ",
	            sight->wait);
}

/* The width that is left for the command line, which is still empty. */
static int
width_for(const struct sight *sight)
{
	char text[LINE_SIZE];
	struct strbuf line = { .text = text, .size = sizeof(text) };
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == -1 || size.ws_col == 0)
		return CMDLINE_MAX;
	strbuf_addf(&line, "wdrun: ");
	add_line(&line, sight, true);

	const int left = size.ws_col - (int)line.length;

	return left > COMMAND_MIN ? left : COMMAND_MIN;
}

static void
look_in_depth(struct scene *scene, struct sight *sight)
{
	struct strbuf command = { .text = sight->command,
		                  .size = sizeof(sight->command) };
	struct procstat stat;

	if (procstat_read(sight->pid, &stat) == -1 || procstat_is_dead(&stat)) {
		sight->state = '\0';
		return;
	}
	sight->state = stat.state;
	sight->age = procstat_age(&stat);
	sight->cpu = procstat_time(stat.cpu);
	scene->sight = sight;
	blocked_describe(scene);
	fd_say_output(scene);
	cmdline_add(&command, sight->pid, width_for(sight));
	sight->is_whole = true;
}

/* The life of the helper: first a glance at all, which cannot hang; then those
 * whose files can be read, then those in state D. */
static void
look_at_all(void *context)
{
	struct scene *const scene = context;
	struct look *const look = scene->look;

	priority_take();
	if (fchdir(procfs_fd()) == -1)
		return;
	for (size_t i = 0; i < look->count; i++)
		glance(&look->sights[i]);
	for (int in_disk = 0; in_disk <= 1; in_disk++) {
		for (size_t i = 0; i < look->count; i++) {
			struct sight *const sight = &look->sights[i];

			if (!sight->is_whole && sight->state != '\0' &&
			    (sight->state == 'D') == in_disk)
				look_in_depth(scene, sight);
		}
	}
}

void
look_take(struct look *look, const struct tree *tree, int64_t until)
{
	/* Pages that are never touched take no memory. */
	static struct scene scene;

	arrange(look, &tree->list);
	scene.look = look;
	scene.tree = tree;
	scene.has_ends = false;
	scene.end_count = 0;
	if (look->count > 0)
		(void)helper_run(look_at_all, &scene, until);
}

/* --- the lines ------------------------------------------------------------ */

/* wdrun itself decides what becomes of a zombie; but the threads of a process
 * may be alive where only its first one is a zombie. */
static bool
is_shown(const struct sight *sight)
{
	return sight->state != '\0' && (sight->state != 'Z' || sight->is_whole);
}

void
look_add_lines(struct strbuf *lines, const struct look *look)
{
	const char *colon = ":";

	for (size_t i = 0; i < look->count; i++) {
		const struct sight *const sight = &look->sights[i];

		if (!is_shown(sight))
			continue;
		strbuf_addf(lines, "%s%c", colon, '\0');
		add_line(lines, sight, sight->is_whole);
		if (sight->is_refused)
			strbuf_addf(lines, " (%s)", strerror(EPERM));
		colon = "";
	}
	if (look->total > look->count)
		strbuf_addf(lines, "%s%c  and %zu more", colon, '\0',
		            look->total - look->count);
}

void
look_add_json(struct strbuf *line, const struct look *look)
{
	strbuf_addf(line, "[");
	for (size_t i = 0; i < look->count; i++) {
		const struct sight *const sight = &look->sights[i];
		const char state[] = { sight->state, '\0' };

		if (!is_shown(sight))
			continue;
		json_add_comma(line);
		strbuf_addf(line, "{");
		json_add_number(line, "pid", sight->pid);
		json_add_number(line, "ppid", sight->parent);
		json_add_text(line, "command",
		              sight->is_whole ? sight->command : sight->name);
		json_add_text(line, "state", state);
		json_add_number(line, "cpu_ms", sight->cpu / MILLISECOND);
		json_add_text(line, "wait",
		              sight->is_whole ? sight->code : NULL);
		json_add_text(line, "waiting_for",
		              !sight->is_whole || sight->wait[0] == '\0'
		                  ? NULL
		                  : sight->wait);
		json_add_key(line, "waits_for");
		strbuf_addf(line, "[");
		for (int at = 0; at < sight->end_count && sight->is_whole; at++)
			strbuf_addf(line, at == 0 ? "%d" : ",%d",
			            sight->ends[at]);
		strbuf_addf(line, "]}");
	}
	strbuf_addf(line, "]");
}
