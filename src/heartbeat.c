/* A sign of life from a run whose command is silent. */
#include "heartbeat.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../watchdog.h"
#include "duration.h"
#include "fork.h"
#include "helper.h"
#include "message.h"
#include "settle.h"

#define LINE_SIZE 512
#define SHOWN_MAX 64 /* bytes of a name that are shown */

/* By which name the run is known to who reads the line. */
static const char *
name_of(const struct options *options)
{
	const char *const command = options->command[0];
	const char *const slash = strrchr(command, '/');

	if (options->name != NULL)
		return options->name;
	return slash == NULL || slash[1] == '\0' ? command : slash + 1;
}

/* Not cut within a character. */
static void
add_name(struct line *line, const char *name)
{
	size_t length = strnlen(name, SHOWN_MAX);

	while (length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80)
		length--;
	line_add(line, "%.*s", (int)length, name);
}

/* "5m", "5m03s" */
static void
add_duration(struct line *line, int64_t ns)
{
	char text[DURATION_TEXT_SIZE];
	const size_t length = strlen(duration_format_short(ns, text));

	/* "5m00s" is for tables. */
	if (length > 3 && strncmp(&text[length - 3], "00", 2) == 0)
		text[length - 3] = '\0';
	line_add(line, "%s", text);
}

static void
add_state(struct line *line, struct run *run, int64_t now)
{
	const struct output *const output = &run->output;
	const int64_t heard_at = output_heard_at(output, now);

	add_name(line, name_of(&run->options));
	line_add(line, ": ");
	add_duration(line, now - run->started);
	line_add(line, " elapsed");
	if (run->clocks.timeout != NEVER) {
		line_add(line, ", ");
		add_duration(line, run->clocks.timeout - now);
		line_add(line, " left");
	}
	if (heard_at > 0) {
		line_add(line, ", last output ");
		add_duration(line, now - heard_at);
		line_add(line, " ago");
	} else if (output->channel_count > 0) {
		line_add(line, ", no output yet");
	}
	proctree_read(&run->tree);
	if (!run->tree.is_partial)
		line_add(line, ", %zu process%s", run->tree.list.count,
		         run->tree.list.count == 1 ? "" : "es");
}

/* By a helper, as stderr may be stuck. One that is, is not sent another. */
static void
tell(struct run *run, int64_t now)
{
	const pid_t self = getpid();
	char text[LINE_SIZE];
	struct line line = { .text = text, .size = sizeof(text) };

	if (helper_is(&run->tree, run->herald))
		return;
	add_state(&line, run, now);
	run->herald = process_fork();
	if (run->herald == 0) {
		helper_follow(self, SIGKILL);
		settle_let_go(run);
		message("%s", text);
		_exit(EXIT_SUCCESS);
	}
	if (run->herald > 0)
		helper_add(&run->tree, run->herald);
}

void
heartbeat_begin(struct run *run, int64_t now)
{
	run->started = now;
	if (!run->options.quiet)
		run->clocks.heartbeat =
		    duration_add(now, run->options.heartbeat);
}

void
heartbeat_end(struct run *run)
{
	(void)helper_end(&run->tree, run->herald, SIGKILL);
}

void
heartbeat_attend(struct run *run, int64_t now)
{
	const int64_t heard_at = output_heard_at(&run->output, now);
	const int64_t due = duration_add(heard_at, run->options.heartbeat);

	if (now < run->clocks.heartbeat || run->paused_at != NEVER)
		return;
	if (run->state >= STATE_STOPPING) {
		run->clocks.heartbeat = NEVER;
	} else if (due > now) {
		run->clocks.heartbeat = due;
	} else {
		tell(run, now);
		run->clocks.heartbeat =
		    duration_add(now, run->options.heartbeat);
	}
}
