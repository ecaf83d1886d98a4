/* One look at a tree, by one helper, with one deadline. */
#include "inspect/look.h"

#include <sys/stat.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "inspect/scene.h"
#include "proc/tree.h"

#define INDENT 2

/* Fills SIGHT at a glance: "status" and "comm" can always be read. */
static void
glance(struct sight *sight, const struct member *process)
{
	struct strbuf name = { .text = sight->name,
		               .size = sizeof(sight->name) };
	struct procstat stat;

	*sight = (struct sight){
		.pid = process->pid,
		.parent = process->parent,
		.indent = INDENT,
		.is_refused = kill(process->pid, 0) == -1 && errno == EPERM,
	};
	cmdline_add(&name, sight->pid, 0);
	if (procstat_read_status(sight->pid, &stat) == 0 && !stat.is_dead)
		sight->state = stat.state;
}

static void
look_in_depth(struct scene *scene, struct sight *sight)
{
	struct strbuf command = { .text = sight->command,
		                  .size = sizeof(sight->command) };
	struct procstat stat;

	if (procstat_read(sight->pid, &stat) == -1 || stat.is_dead) {
		sight->state = '\0';
		return;
	}
	sight->state = stat.state;
	sight->age = procstat_age(&stat);
	sight->cpu = stat.cpu;
	scene->sight = sight;
	blocked_describe(scene);
	if (scene->look->tells_holders)
		fd_say_output(scene);
	cmdline_add(&command, sight->pid, LOOK_COMMAND);
	sight->is_whole = true;
}

/* The life of the helper: first looks at those whose files can be read, then at
 * those whose files may hang. */
static _Noreturn void
look_at_all(struct scene *scene)
{
	const int keep[] = { procfs_fd() };

	/* A helper that hangs holds nothing of the caller's open. */
	fds_release(keep, 1);
	(void)close(STDERR_FILENO);
	tree_take_priority();
	if (fchdir(procfs_fd()) == -1)
		_exit(1);
	for (int in_last = 0; in_last <= 1; in_last++) {
		for (size_t i = 0; i < scene->look->count; i++) {
			struct sight *const sight = &scene->look->sights[i];

			if (!sight->is_whole && sight->state != '\0' &&
			    (sight->state == 'D' ||
			     procfs_is_in_exec(sight->pid)) == in_last)
				look_in_depth(scene, sight);
		}
	}
	_exit(0);
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
look_take(struct look *look, const struct tree *tree, int64_t until)
{
	/* Pages that are never touched take no memory. */
	static struct scene scene;

	look->total = tree->count;
	for (size_t i = 0; i < look->total && i < LOOK_MAX; i++) {
		struct sight *const sight = &look->sights[i];

		glance(sight, &tree->members[i]);
		for (size_t j = 0; j < i; j++) {
			if (look->sights[j].pid == sight->parent)
				sight->indent = look->sights[j].indent + INDENT;
		}
		look->count++;
	}
	scene.look = look;
	scene.is_partial = tree->is_partial || look->total > look->count;

	const pid_t helper = helper_fork();

	if (helper == 0)
		look_at_all(&scene);
	wait_or_kill(helper, until);
}

/* Adds "  4711 sleep 10 [S 12s, cpu 1.9s]: sleeping", or of a process that was
 * only seen at a glance, "  4711 [sleep] [S]". */
static void
add_line(struct strbuf *line, const struct sight *sight)
{
	const bool is_whole = sight->is_whole; /* may change */
	const int64_t age = sight->age - sight->age % SECOND;
	const int64_t cpu = sight->cpu - sight->cpu % (SECOND / 10);
	char text[DURATION_TEXT_SIZE];

	strbuf_addf(line, "%*s%d %s [%c", sight->indent, "", sight->pid,
	            is_whole ? sight->command : sight->name, sight->state);
	if (is_whole)
		strbuf_addf(line, " %s", duration_format(age, text));
	if (is_whole && cpu > 0)
		strbuf_addf(line, ", cpu %s", duration_format(cpu, text));
	strbuf_addf(line, "]");
	if (is_whole && sight->wait[0] != '\0')
		strbuf_addf(line, ": %s", sight->wait);
	if (sight->is_refused)
		strbuf_addf(line, " (%s)", strerror(EPERM));
}

void
look_add_lines(struct strbuf *lines, const struct look *look)
{
	const char *colon = look->is_late ? " (seen after the signal):" : ":";

	for (size_t i = 0; i < look->count; i++) {
		if (look->sights[i].state == '\0')
			continue;
		strbuf_addf(lines, "%s%c", colon, '\0');
		add_line(lines, &look->sights[i]);
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
		const bool is_whole = sight->is_whole; /* may change */
		const bool has_wait = is_whole && sight->wait[0] != '\0';
		const char state[] = { sight->state, '\0' };

		if (sight->state == '\0')
			continue;
		json_add_comma(line);
		strbuf_addf(line, "{");
		json_add_number(line, "pid", sight->pid);
		json_add_number(line, "ppid", sight->parent);
		json_add_text(line, "command",
		              is_whole ? sight->command : sight->name);
		json_add_text(line, "state", state);
		if (is_whole)
			json_add_number(line, "cpu_ms",
			                sight->cpu / MILLISECOND);
		else
			json_add_text(line, "cpu_ms", NULL);
		json_add_text(line, "waiting_for",
		              has_wait ? sight->wait : NULL);
		strbuf_addf(line, "}");
	}
	strbuf_addf(line, "]");
}
