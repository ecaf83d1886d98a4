/* Lines that tell that a silent command is still running. */
#include "run/heartbeat.h"

#include <string.h>

#include "base/duration.h"
#include "base/message.h"
#include "base/text.h"
#include "run/run.h"

#define LINE_SIZE 512
#define SHOWN_MAX 64 /* bytes of a name that are shown */
#define HOUR      (3600 * SECOND)

/* The name of the run, or else the file name of its command. */
static const char *
name_of(const struct options *options)
{
	const char *const command = options->command[0];
	const char *const slash = strrchr(command, '/');

	if (options->name != NULL)
		return options->name;
	return slash == NULL || slash[1] == '\0' ? command : slash + 1;
}

/* Appends NS, rounded to the nearest second, or from an hour on to the nearest
 * minute. */
static void
add_duration(struct strbuf *line, int64_t ns)
{
	const int64_t unit = ns < HOUR ? SECOND : HOUR / 60;
	char text[DURATION_TEXT_SIZE];

	strbuf_addf(line, "%s",
	            duration_format_short(duration_add(ns, unit / 2), text));
}

static void
tell_progress(struct run *run, int64_t now)
{
	char text[LINE_SIZE];
	struct strbuf line = { .text = text, .size = sizeof(text) };
	const struct output *const output = &run->output;
	const int64_t heard_at = output_read_progress(output, now).heard_at;
	const int64_t end = run->timers.due[TIMER_TIMEOUT];
	const char *const name = name_of(&run->options);

	strbuf_addf(&line, "%.*s: ", (int)utf8_fit(name, SHOWN_MAX), name);
	add_duration(&line, now - run->target.started);
	strbuf_addf(&line, " elapsed");
	if (end != NEVER && end - now < SECOND) {
		strbuf_addf(&line, ", less than 1s left");
	} else if (end != NEVER) {
		strbuf_addf(&line, ", ");
		add_duration(&line, end - now);
		strbuf_addf(&line, " left");
	}
	if (heard_at > 0) {
		strbuf_addf(&line, ", last output ");
		add_duration(&line, now - heard_at);
		strbuf_addf(&line, " ago");
	} else if (output->channel_count > 0) {
		strbuf_addf(&line, ", no output yet");
	}
	tree_read(&run->tree, NEVER);
	if (!run->tree.is_partial)
		strbuf_addf(&line, ", %zu process%s", run->tree.list.count,
		            run->tree.list.count == 1 ? "" : "es");
	message("%s", text);
}

void
heartbeat_begin(struct run *run, int64_t now)
{
	if (!run->options.quiet)
		run->timers.due[TIMER_HEARTBEAT] =
		    duration_add(now, run->options.heartbeat);
}

void
heartbeat_attend(struct run *run, int64_t now)
{
	const int64_t heard_at =
	    output_read_progress(&run->output, now).heard_at;
	int64_t *const due = &run->timers.due[TIMER_HEARTBEAT];

	if (now < *due || run->timers.paused_at != NEVER)
		return;
	*due = duration_add(heard_at, run->options.heartbeat);
	if (*due > now)
		return;
	tell_progress(run, now);
	*due = duration_add(now, run->options.heartbeat);
}
