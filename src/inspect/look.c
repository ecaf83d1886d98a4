/* One look at a tree, with one deadline. */
#include "inspect/look.h"

#include <sys/stat.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "inspect/scene.h"
#include "proc/tree.h"

#define INDENT 2

static void
add_command(struct sight *sight, int width)
{
	struct strbuf command = { .text = sight->command,
		                  .size = sizeof(sight->command) };

	cmdline_add(&command, sight->pid, width);
}

/* Reads age, CPU time, command; not within execve(2), where files may hang. */
static void
read_line(struct sight *sight)
{
	struct procstat stat;

	if (sight->state == '\0' || procfs_is_in_exec(sight->pid))
		return;
	if (procstat_read(sight->pid, &stat) == -1 || stat.is_dead) {
		sight->state = '\0';
		return;
	}
	sight->state = stat.state;
	sight->age = procstat_age(&stat);
	sight->cpu = stat.cpu;
	sight->has_times = true;
	sight->is_stuck = scene_is_stuck(sight->pid);
	if (!sight->is_stuck)
		add_command(sight, LOOK_COMMAND);
}

void
look_note_outputs(struct look *look, const int fds[LOOK_OUTPUTS])
{
	for (int i = 0; i < LOOK_OUTPUTS; i++) {
		struct stat file;

		if (fstat(fds[i], &file) == 0 && S_ISFIFO(file.st_mode))
			(void)snprintf(look->outputs[i], LOOK_LINK_SIZE,
			               "pipe:[%ju]", (uintmax_t)file.st_ino);
	}
}

void
look_glance(struct look *look, const struct tree *tree, int64_t until)
{
	look->total = tree->count;
	look->is_partial = tree->is_partial;
	look->count = 0;
	for (size_t i = 0;
	     i < look->total && i < LOOK_MAX && duration_now() < until; i++) {
		const struct member *const process = &tree->members[i];
		struct sight *const sight = &look->sights[look->count++];
		struct procstat stat;

		*sight = (struct sight){
			.pid = process->pid,
			.parent = process->parent,
			.indent = INDENT,
			.is_refused =
			    kill(process->pid, 0) == -1 && errno == EPERM,
		};
		add_command(sight, 0);
		if (procstat_read_status(sight->pid, &stat) == 0 &&
		    !stat.is_dead)
			sight->state = stat.state;
		for (size_t j = 0; j < i; j++) {
			if (look->sights[j].pid == sight->parent)
				sight->indent = look->sights[j].indent + INDENT;
		}
	}
}

/* First the lines of all, as thousands of threads can take all of the time. */
void
look_take(struct look *look, int64_t until)
{
	/* Pages that are never touched take no memory. */
	static struct scene scene;

	if (fchdir(procfs_fd()) == -1)
		return;
	scene.look = look;
	scene.until = until;
	scene.is_partial = look->is_partial || look->total > look->count;
	for (int in_depth = 0; in_depth <= 1; in_depth++) {
		for (size_t i = 0; i < look->count; i++) {
			scene.sight = &look->sights[i];
			look->steps++;
			if (duration_now() >= until)
				return;
			if (!in_depth)
				read_line(scene.sight);
			else if (scene.sight->has_times)
				blocked_describe(&scene);
		}
	}
}

/* Adds a null byte and "  4711 sleep 10 [S 12s, cpu 1.9s]: sleeping", or of a
 * process that was only seen at a glance, "  4711 [sleep] [S]". */
static void
add_line(struct strbuf *line, const struct sight *sight)
{
	const int64_t age = sight->age - sight->age % SECOND;
	const int64_t cpu = sight->cpu - sight->cpu % (SECOND / 10);
	char text[DURATION_TEXT_SIZE];

	strbuf_addf(line, "%c%*s%d %s [%c", '\0', sight->indent, "", sight->pid,
	            sight->command, sight->state);
	if (sight->has_times)
		strbuf_addf(line, " %s", duration_format(age, text));
	if (cpu > 0)
		strbuf_addf(line, ", cpu %s", duration_format(cpu, text));
	strbuf_addf(line, "]");
	if (sight->wait[0] != '\0')
		strbuf_addf(line, ": %s", sight->wait);
	if (sight->is_refused)
		strbuf_addf(line, " (%s)", strerror(EPERM));
}

void
look_add(struct strbuf *lines, const struct look *look, bool in_lines)
{
	const char *separator = in_lines ? ":" : ": ";

	for (size_t i = 0; i < look->count; i++) {
		if (look->sights[i].state == '\0')
			continue;
		strbuf_addf(lines, "%s", separator);
		separator = in_lines ? "" : ", ";
		if (in_lines)
			add_line(lines, &look->sights[i]);
		else
			strbuf_addf(lines, "%d %s", look->sights[i].pid,
			            look->sights[i].command);
	}
	if (look->total <= look->count)
		return;
	if (in_lines)
		strbuf_addf(lines, "%s%c ", separator, '\0');
	strbuf_addf(lines, " and %zu more", look->total - look->count);
}

void
look_add_json(struct strbuf *line, const struct look *look)
{
	strbuf_addf(line, "[");
	for (size_t i = 0; i < look->count; i++) {
		const struct sight *const sight = &look->sights[i];
		const char state[] = { sight->state, '\0' };

		if (sight->state == '\0')
			continue;
		json_add_comma(line);
		strbuf_addf(line, "{");
		json_add_number(line, "pid", sight->pid);
		json_add_number(line, "ppid", sight->parent);
		json_add_text(line, "command", sight->command);
		json_add_text(line, "state", state);
		json_add_number(line, "cpu_ms",
		                sight->has_times ? sight->cpu / MILLISECOND
		                                 : JSON_NULL);
		json_add_text(line, "waiting_for",
		              sight->wait[0] == '\0' ? NULL : sight->wait);
		strbuf_addf(line, "}");
	}
	strbuf_addf(line, "]");
}
