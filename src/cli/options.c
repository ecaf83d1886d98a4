/* wdrun's own options: values, rows, and which options exclude each other. */
#include "cli/options.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "base/duration.h"
#include "base/message.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/timeout_args.h"
#include "proc/signals.h"
#include "watchdog.h"

#define ACCEPTED_DURATIONS "250ms, 1.5, 1h30m, never; units ms, s, m, h, d, w"

#define STATUS_MAX      255
#define NAME_LENGTH_MAX 255

/* --- kinds ---------------------------------------------------------------- */

static int
read_duration(const struct option_row *row, void *field, const char *text)
{
	if (duration_parse(text, field) == -1)
		return command_line_refuse(row, text);
	return OPTIONS_ARE_COMPLETE;
}

/* A bound of 0 means no bound, as in timeout(1). */
static int
read_bound(const struct option_row *row, void *field, const char *text)
{
	int64_t *const bound = field;
	const int status = read_duration(row, field, text);

	if (*bound == 0)
		*bound = NEVER;
	return status;
}

static int
read_signal(const struct option_row *row, void *field, const char *text)
{
	const int signal = signal_parse(text);

	if (signal == -1)
		return command_line_refuse(row, text);
	*(int *)field = signal;
	return OPTIONS_ARE_COMPLETE;
}

static int
read_status(const struct option_row *row, void *field, const char *text)
{
	uint64_t status = 0;
	const char *const end = text_read_number(text, DECIMAL, &status);

	if (end == NULL || *end != '\0' || status > STATUS_MAX)
		return command_line_refuse(row, text);
	*(int *)field = (int)status;
	return OPTIONS_ARE_COMPLETE;
}

static int
read_survivors(const struct option_row *row, void *field, const char *text)
{
	enum survivors *const survivors = field;

	if (strcmp(text, "kill") == 0)
		*survivors = SURVIVORS_KILL;
	else if (strcmp(text, "wait") == 0)
		*survivors = SURVIVORS_WAIT;
	else if (strcmp(text, "leave") == 0)
		*survivors = SURVIVORS_LEAVE;
	else
		return command_line_refuse(row, text);
	return OPTIONS_ARE_COMPLETE;
}

static int
read_text(const struct option_row *row, void *field, const char *text)
{
	const size_t length = strlen(text);

	if (length < row->kind->length_min || length > row->kind->length_max)
		return command_line_refuse(row, text);
	*(const char **)field = text;
	return OPTIONS_ARE_COMPLETE;
}

static int
read_output(const struct option_row *row, void *field, const char *text)
{
	if (strcmp(text, "-") != 0)
		return read_text(row, field, text);
	message("--%s: '-' does not mean stdout, which is for COMMAND alone "
	        "(for a file named '-': './-')",
	        row->name);
	return STATUS_FAILED;
}

static int
read_files(const struct option_row *row, void *field, const char *text)
{
	struct files *const files = field;

	if (files->count == FILES_MAX) {
		message("--%s: '%s' is not accepted: the option can be given "
		        "%d times at most",
		        row->name, text, FILES_MAX);
		return STATUS_FAILED;
	}
	if (read_text(row, &files->paths[files->count], text) !=
	    OPTIONS_ARE_COMPLETE)
		return STATUS_FAILED;
	files->count++;
	return OPTIONS_ARE_COMPLETE;
}

#define A_DURATION "a duration (" ACCEPTED_DURATIONS ")"
#define KIND(name, ...)                                                        \
	static const struct option_kind kind_##name = { __VA_ARGS__ }

KIND(duration, read_duration, "DUR", A_DURATION, 0, 0);
KIND(bound, read_bound, "DUR", A_DURATION, 0, 0);
KIND(signal, read_signal, "SIG", "a signal (TERM, SIGINT, 9, RTMIN+1)", 0, 0);
KIND(status, read_status, "CODE", "a status (0 to 255)", 0, 0);
KIND(survivors, read_survivors, "kill|wait|leave", "one of kill, wait, leave",
     0, 0);
KIND(until, read_text, "TEXT", "a text (1 to 1024 bytes)", 1, UNTIL_MAX);
KIND(name, read_text, "NAME", "a name (1 to 255 bytes)", 1, NAME_LENGTH_MAX);
KIND(output, read_output, "FILE", "a file name", 1, SIZE_MAX);
KIND(files, read_files, "FILE", "a file name", 1, SIZE_MAX);
KIND(directory, read_text, "DIR", "a directory", 1, SIZE_MAX);
KIND(run, read_text, "RUN", "a run", 0, SIZE_MAX);

/* --- rows ----------------------------------------------------------------- */

/* For ROW: the kind, and the field of struct options to fill. */
#define OF(what, type, member)                                                 \
	.kind = &kind_##what, .field = FIELD(type, member)
#define DURATION(member)   OF(duration, int64_t, member)
#define BOUND(member)      OF(bound, int64_t, member)
#define TEXT(what, member) OF(what, const char *, member)
#define FILES(member)      OF(files, struct files, member)
#define COMMON             .is_common = true

static const struct option_row rows[] = {
	ROW('t', "timeout", "stop COMMAND after DUR (never)", BOUND(timeout)),
	ROW('i', "idle-timeout", "stop when silent for DUR (never)",
	    BOUND(idle_timeout)),
	ROW(0, "idle-unless-busy", "no -i stop during CPU use or I/O",
	    FLAG(idle_unless_busy), .needs = "idle-timeout"),
	ROW('u', "until", "TEXT in output says work is done",
	    TEXT(until, until)),
	ROW(0, "until-grace", "time to exit after TEXT (30s)",
	    DURATION(until_grace), .needs = "until"),
	ROW('k', "kill-after", "SIGKILL, DUR after a stop (5s)",
	    DURATION(kill_after)),
	ROW('s', "signal", "first signal of a stop (TERM)",
	    OF(signal, int, signal)),
	ROW('p', "preserve-status", "COMMAND's status on a timeout",
	    FLAG(preserve_status)),
	ROW(0, "idle-after-exit", "stop survivors idle for DUR (2s)",
	    DURATION(idle_after_exit)),
	ROW(0, "max-after-exit", "stop survivors after DUR (10s)",
	    DURATION(max_after_exit)),
	ROW(0, "survivors", "what to do to them (kill)",
	    OF(survivors, enum survivors, survivors)),
	ROW(0, "die-with-parent", "stop when the parent dies",
	    FLAG(die_with_parent)),
	ROW('f', "foreground", "stay in wdrun's process group",
	    FLAG(foreground)),
	ROW(0, "setsid", "give COMMAND its own session", FLAG(setsid)),
	ROW(0, "pty", "give COMMAND its own terminal", FLAG(pty)),
	ROW(0, "tee", "append a copy of the output", TEXT(output, tee)),
	ROW(0, "no-stdin", "stdin is /dev/null, and --setsid", FLAG(no_stdin)),
	ROW(0, "heartbeat", "line per DUR of silence (never)",
	    BOUND(heartbeat)),
	ROW(0, "report", "tell how the run ended, as JSON",
	    TEXT(output, report)),
	ROW('l', "lock", "hold this lock; may repeat", FILES(locks)),
	ROW('w', "lock-wait", "wait DUR for a held lock (0)",
	    DURATION(lock_wait), .needs = "lock"),
	ROW('E', "lock-exit", "status if a lock is held (75)",
	    OF(status, int, lock_exit), .needs = "lock"),
	ROW('c', "cleanup", "clear COMMAND's lock; may repeat",
	    FILES(cleanups)),
	ROW('n', "name", "put the run on record as NAME", TEXT(name, name)),
	ROW(0, "registry", "directory of the record", TEXT(directory, registry),
	    COMMON),
	ROW(0, "list", "show the runs on record", FLAG(list), COMMON),
	ROW(0, "json", "with --list: as JSON", FLAG(as_json), .needs = "list",
	    COMMON),
	ROW(0, "cancel", "stop RUN on record", TEXT(run, cancel), COMMON),
	ROW(0, "reap", "end what killed runs have left", FLAG(reap), COMMON),
	ROW('q', "quiet", "say nothing", FLAG(quiet),
	    .clears = FIELD(bool, verbose), COMMON),
	ROW('v', "verbose", "print every decision", FLAG(verbose),
	    .clears = FIELD(bool, quiet), COMMON),
	ROW('h', "help", "show this help", PRINTS_HELP),
	ROW('V', "version", "show the version", PRINTS_VERSION),
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

_Static_assert(ROW_COUNT <= OPTION_ROWS_MAX, "more rows than can be read");

const struct option_table options_table = {
	.program = "wdrun",
	.version = "wdrun " WDRUN_VERSION,
	.usage = "Usage: wdrun [OPTION]... [--] COMMAND [ARG]...\n"
	         "       wdrun --list|--cancel=RUN|--reap [--registry=DIR]\n"
	         "Run COMMAND, and leave none of its processes behind.\n",
	.notes =
	    "(): the default. DUR in ms, s (or bare), m, h, d, w: 1h30m\n"
	    "Status: COMMAND's, 75 lock held, 124 timeout, 125 failure of\n"
	    "wdrun, 126 cannot execute, 127 not found. More: man wdrun\n",
	.rows = rows,
	.count = ROW_COUNT,
};

/* --- combinations --------------------------------------------------------- */

/* Whether the options ask for work on recorded runs, and start no run. */
static bool
is_for_records(const struct options *options)
{
	return options->list || options->reap || options->cancel != NULL;
}

/* The options that were given together, but exclude each other; or NULL. */
static const char *
find_conflict(const struct options *options)
{
	if (options->list + options->reap + (options->cancel != NULL) > 1)
		return "--list, --cancel and --reap";
	if (options->foreground && options->setsid)
		return "--foreground and --setsid";
	if (options->foreground && options->pty)
		return "--pty and --foreground";
	return NULL;
}

/* Whether the option NAME was given. */
static bool
is_given(const struct command_line *line, const char *name)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (strcmp(rows[i].name, name) == 0)
			return (line->given >> i & 1) != 0;
	}
	return false;
}

/* Refuses a given option that would have no effect. */
static int
check_given(const struct command_line *line, const struct options *options)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const struct option_row *const row = &rows[i];

		if ((line->given >> i & 1) == 0)
			continue;
		if (row->needs != NULL && !is_given(line, row->needs)) {
			message("--%s needs --%s, which is not given",
			        row->name, row->needs);
			return STATUS_FAILED;
		}
		if (!row->is_common && is_for_records(options)) {
			message("--%s cannot be given with --list, --cancel or "
			        "--reap",
			        row->name);
			return STATUS_FAILED;
		}
	}
	return OPTIONS_ARE_COMPLETE;
}

static int
read_command_line(struct options *options, int argc, char *argv[])
{
	struct command_line line = { .table = &options_table,
		                     .argc = argc,
		                     .argv = argv };
	const int status = command_line_read(&line, options);

	if (status != OPTIONS_ARE_COMPLETE)
		return status;

	const char *const conflict = find_conflict(options);
	/* Before Linux 5.18, execve(2) accepts an empty ARGV: then line.next,
	 * 1, is behind the NULL of ARGV. */
	const char *const command = line.next < argc ? argv[line.next] : NULL;

	options->command = argv + line.next;

	if (conflict != NULL)
		message("%s: only one can be given", conflict);
	else if (is_for_records(options) && command != NULL)
		message("--list, --cancel and --reap take no COMMAND ('%s')",
		        command);
	else if (!is_for_records(options) && command == NULL)
		message("no COMMAND given (see wdrun --help)");
	else
		return check_given(&line, options);
	return STATUS_FAILED;
}

int
options_read(struct options *options, int argc, char *argv[])
{
	*options = (struct options){
		.timeout = NEVER,
		.idle_timeout = NEVER,
		.until_grace = 30 * SECOND,
		.kill_after = 5 * SECOND,
		.idle_after_exit = 2 * SECOND,
		.max_after_exit = 10 * SECOND,
		.lock_exit = STATUS_LOCKED,
		.heartbeat = NEVER,
		.orphans_grace = NEVER,
		.signal = SIGTERM,
	};

	const int status = timeout_args_apply(argv[0])
	                       ? timeout_args_read(options, argc, argv)
	                       : read_command_line(options, argc, argv);

	if (options->no_stdin && !options->foreground)
		options->setsid = true;
	return status;
}
