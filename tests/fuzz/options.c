/*
 * Any bytes as a command line of wdrun or of timeout, cut at each null byte: it
 * is refused in one line, or complete and without contradiction; nothing is
 * started, opened, locked or written; and a second reading gives the same.
 */
#include "cli/options.h"

#include <stdint.h>
#include <string.h>

#include "base/duration.h"
#include "base/message.h"
#include "proc/signals.h"
#include "stage.h"
#include "watchdog.h"

#define LINE_MAX_SIZE  4096 /* PIPE_BUF */
#define NAME_LENGTH    255
#define GRACE_DEFAULT  (30 * SECOND)
#define ARGUMENTS_SIZE 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A command line: ARGC strings, which lie between START and END. */
struct line_of {
	int argc;
	char **argv;
	const char *start;
	const char *end;
};

/* Reads it as main does. */
static int
read_line(const struct line_of *line, struct options *options)
{
	message_set_name("wdrun");
	stage_open();

	const int status = options_read(options, line->argc, line->argv);

	stage_close();
	return status;
}

static bool
is_named_timeout(const struct line_of *line)
{
	static const char name[] = "timeout";
	const size_t length = line->argc == 0 ? 0 : strlen(line->argv[0]);

	return length >= strlen(name) &&
	       strcmp(line->argv[0] + length - strlen(name), name) == 0;
}

/* The message is one printable line that begins with a name. */
static void
check_message(const struct line_of *line)
{
	const struct stage_text *const said = &stage.said;
	const char *const name =
	    is_named_timeout(line) ? "timeout: " : "wdrun: ";

	require(said->writes == 1 && said->length <= LINE_MAX_SIZE);
	require(said->length > strlen(name) + 1);
	require(memcmp(said->bytes, name, strlen(name)) == 0);
	for (size_t i = 0; i < said->length - 1; i++) {
		const unsigned char byte = (unsigned char)said->bytes[i];

		require(byte >= ' ' && byte != 0x7f);
	}
	require(said->bytes[said->length - 1] == '\n');
}

/*
 * TEXT is NULL, or an argument or the end of one, of at most LENGTH_MAX bytes.
 */
static void
check_text(const struct line_of *line, const char *text, size_t length_max)
{
	if (text == NULL)
		return;
	require(text >= line->start && text < line->end);
	require(*text != '\0' && strlen(text) <= length_max);
}

static void
check_files(const struct line_of *line, const struct files *files)
{
	require(files->count <= FILES_MAX);
	for (size_t i = 0; i < files->count; i++) {
		require(files->paths[i] != NULL);
		check_text(line, files->paths[i], SIZE_MAX);
	}
}

static void
check_durations(const struct options *options)
{
	require(options->timeout > 0 && options->idle_timeout > 0);
	require(options->heartbeat > 0);
	require(options->until_grace >= 0 && options->kill_after >= 0);
	require(options->idle_after_exit >= 0 && options->max_after_exit >= 0);
	require(options->lock_wait >= 0);
	require(options->until != NULL ||
	        options->until_grace == GRACE_DEFAULT);
}

static bool
is_for_records(const struct options *options)
{
	return options->list || options->reap || options->cancel != NULL;
}

/* Whether there is one of the options that are off by default. */
static bool
has_option_of_runs(const struct options *options)
{
	return options->timeout != NEVER || options->idle_timeout != NEVER ||
	       options->heartbeat != NEVER || options->until != NULL ||
	       options->tee != NULL || options->name != NULL ||
	       options->report != NULL || options->locks.count > 0 ||
	       options->cleanups.count > 0 || options->foreground ||
	       options->setsid || options->pty || options->no_stdin;
}

/*
 * No run has two options that exclude each other, or an option without the one
 * that it requires.
 */
static void
check_combinations(const struct options *options)
{
	require(!options->foreground || !options->setsid);
	require(!options->foreground || !options->pty);
	require(options->foreground || options->setsid || !options->no_stdin);
	require(!options->quiet || !options->verbose);
	require(!options->as_json || options->list);
	require(options->list + options->reap + (options->cancel != NULL) <= 1);
	require(!is_for_records(options) || !has_option_of_runs(options));
	require(options->locks.count > 0 || options->lock_wait == 0);
	require(options->locks.count > 0 ||
	        options->lock_exit == STATUS_LOCKED);
	require(options->lock_exit >= 0 && options->lock_exit <= 255);
}

/* Everything that is no part of timeout's command line has its default. */
static void
check_timeout(const struct options *options)
{
	require(!is_for_records(options));
	require(options->survivors == SURVIVORS_LEAVE);
	require(!options->setsid);
	require(options->idle_timeout == NEVER && options->heartbeat == NEVER);
	require(options->locks.count == 0 && options->cleanups.count == 0);
	require(options->until == NULL && options->tee == NULL);
	require(options->name == NULL && options->registry == NULL);
	require(options->report == NULL && !options->quiet && !options->pty);
	require(!options->no_stdin && !options->die_with_parent);
	require(options->only_forwards_signals ==
	        (options->kill_after == NEVER));
	require(options->outcome_on_kill.kind ==
	        (options->foreground ? OUTCOME_EXIT : OUTCOME_SIGNAL));
}

/* COMMAND is the rest of the command line, unchanged. */
static void
check_command(const struct line_of *line, const struct options *options)
{
	const long at = options->command - line->argv;

	require(at >= 1 && at <= line->argc);
	require((at == line->argc) == is_for_records(options));
	require(line->argv[line->argc] == NULL);
}

static void
check_complete(const struct line_of *line, const struct options *options)
{
	require(stage.said.writes == 0 && stage.printed.writes == 0);
	require(options->terse == is_named_timeout(line));
	require(stage.resets == options->terse);
	require(stage.resets == 0 || stage.signal == options->signal);
	require(options->signal <= SIGNAL_MAX);
	require(options->signal > 0 ||
	        (options->terse && options->signal == 0));
	check_text(line, options->until, UNTIL_MAX);
	check_text(line, options->tee, SIZE_MAX);
	check_text(line, options->name, NAME_LENGTH);
	check_text(line, options->registry, SIZE_MAX);
	check_text(line, options->report, SIZE_MAX);
	check_files(line, &options->locks);
	check_files(line, &options->cleanups);
	check_durations(options);
	check_combinations(options);
	check_command(line, options);
	if (options->terse)
		check_timeout(options);
}

static void
require_same_files(const struct files *one, const struct files *other)
{
	require(one->count == other->count);
	for (size_t i = 0; i < one->count; i++)
		require(one->paths[i] == other->paths[i]);
}

#define SAME(member) require(one->member == other->member)

static void
require_same(const struct options *one, const struct options *other)
{
	SAME(timeout);
	SAME(idle_timeout);
	SAME(until_grace);
	SAME(kill_after);
	SAME(idle_after_exit);
	SAME(max_after_exit);
	SAME(lock_wait);
	SAME(heartbeat);
	SAME(lock_exit);
	SAME(signal);
	SAME(survivors);
	SAME(foreground);
	SAME(setsid);
	SAME(until);
	SAME(tee);
	require_same_files(&one->locks, &other->locks);
	require_same_files(&one->cleanups, &other->cleanups);
	SAME(name);
	SAME(registry);
	SAME(report);
	SAME(cancel);
	SAME(list);
	SAME(reap);
	SAME(as_json);
	SAME(idle_unless_busy);
	SAME(pty);
	SAME(preserve_status);
	SAME(die_with_parent);
	SAME(no_stdin);
	SAME(quiet);
	SAME(verbose);
	SAME(terse);
	SAME(only_forwards_signals);
	SAME(repeats_signals);
	SAME(cancel_ends_survivors);
	SAME(alarm_is_timeout);
	SAME(exits_for_signals);
	SAME(orphans_grace);
	SAME(outcome_on_kill.kind);
	SAME(outcome_on_kill.value);
	SAME(command);
}

static void
check(const struct line_of *line)
{
	struct options options;
	struct options again;
	const int status = read_line(line, &options);

	switch (status) {
	case OPTIONS_ARE_COMPLETE:
		check_complete(line, &options);
		break;
	case 0: /* --help, --version */
		require(stage.said.writes == 0 && stage.printed.writes > 0);
		require(stage.printed.bytes[stage.printed.length - 1] == '\n');
		break;
	default:
		require(status == STATUS_FAILED && stage.printed.writes == 0);
		check_message(line);
		break;
	}

	/* Without an argument, getopt keeps what the last command line left. */
	if (line->argc == 0)
		return;
	require(read_line(line, &again) == status);
	require_same(&options, &again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > ARGUMENTS_SIZE)
		return 0;

	/*
	 * On the heap, with exactly this size, so that a read beyond it is
	 * seen.
	 */
	char *const bytes = malloc(size + 1);
	struct line_of line = { .start = bytes, .end = bytes + size };

	require(bytes != NULL);
	if (size > 0)
		memcpy(bytes, data, size);
	bytes[size] = '\0';
	for (const char *at = bytes; at < line.end; at += strlen(at) + 1)
		line.argc++;
	line.argv = malloc(((size_t)line.argc + 1) * sizeof(*line.argv));
	require(line.argv != NULL);

	char *at = bytes;

	for (int i = 0; i < line.argc; i++) {
		line.argv[i] = at;
		at += strlen(at) + 1;
	}
	line.argv[line.argc] = NULL;
	check(&line);

	/* In the same order, and unchanged. */
	require(size == 0 || memcmp(bytes, data, size) == 0);
	at = bytes;
	for (int i = 0; i < line.argc; i++) {
		require(line.argv[i] == at);
		at += strlen(at) + 1;
	}
	free(line.argv);
	free(bytes);
	return 0;
}
