/* The command lines of wdrun and timeout(1): options, values, --help. */
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/message.h"
#include "base/path.h"
#include "base/text.h"
#include "proc/signals.h"
#include "watchdog.h"

#define SHOWN_MAX 255 /* bytes of a value in a message */
#define NAME_SIZE 24  /* of an option, with "=DUR" */

enum kind {
	KIND_FLAG,
	KIND_HELP, /* --version, too */
	KIND_DURATION,
	KIND_BOUND, /* 0 means no bound, as in timeout(1) */
	KIND_SIGNAL,
	KIND_STATUS,
	KIND_SURVIVORS,
	KIND_KEEP,
	KIND_UNTIL,
	KIND_NAME,
	KIND_FILE,
	KIND_FILES,
};

#define A_DURATION                                                             \
	"a duration (250ms, 1.5, 1h30m, never; units ms, s, m, h, d, w)"

/* Words after "is not". */
static const char *const accepted[] = {
	[KIND_DURATION] = A_DURATION,
	[KIND_BOUND] = A_DURATION,
	[KIND_SIGNAL] = "a signal (TERM, SIGINT, 9, RTMIN+1)",
	[KIND_STATUS] = "a status (0 to 255)",
	[KIND_SURVIVORS] = "one of kill, wait, leave",
	[KIND_KEEP] = "the name of a program (no blank, no slash)",
	[KIND_UNTIL] = "a text (1 to 1024 bytes)",
	[KIND_NAME] = "a name, a directory or a PID",
	[KIND_FILE] = "a file name ('./-' for one that is named '-')",
	[KIND_FILES] = "a file name ('./-' for '-'), or is one of more than 16",
};

/* --- the options ---------------------------------------------------------- */

struct row {
	const char *name;
	char letter; /* or 0 */
	enum kind kind;
	size_t field;        /* offset in struct options */
	const char *metavar; /* in --help; NULL: the option takes no value */
	const char *initial; /* the value where none is given, or NULL */
	const char *help;
};

/* The columns kind, field, metavar and, where all have the same, initial. */
#define OF(kind, member)  kind, offsetof(struct options, member)
#define FLAG(member)      OF(KIND_FLAG, member), NULL, NULL
#define DURATION(member)  OF(KIND_DURATION, member), "DUR"
#define BOUND(member)     OF(KIND_BOUND, member), "DUR", "never"
#define UNTIL(member)     OF(KIND_UNTIL, member), "TEXT", NULL
#define NAME(member, var) OF(KIND_NAME, member), var, NULL
#define PATH(member)      OF(KIND_FILE, member), "FILE", NULL
#define PATHS(member)     OF(KIND_FILES, member), "FILE", NULL

/* Their texts fit: --help has at most 44 lines of 60 columns. */
static const struct row rows[] = {
	{ "timeout", 't', BOUND(timeout), "stop COMMAND after DUR" },
	{ "idle-timeout", 'i', BOUND(idle_timeout), "stop if silent for DUR" },
	{ "idle-unless-busy", 0, FLAG(idle_unless_busy),
	  "-i: do not stop a busy COMMAND" },
	{ "until", 'u', UNTIL(until), "if it hangs after TEXT: status 0" },
	{ "until-failure", 0, UNTIL(until_failure), "the same, with status 1" },
	{ "until-grace", 0, DURATION(until_grace), "30s",
	  "silence allowed after TEXT" },
	{ "kill-after", 'k', DURATION(kill_after), "5s",
	  "SIGKILL DUR after -s signal" },
	{ "signal", 's', OF(KIND_SIGNAL, signal), "SIG", "TERM",
	  "first signal of a stop" },
	{ "preserve-status", 'p', FLAG(preserve_status),
	  "COMMAND's status on a timeout" },
	{ "idle-after-exit", 0, DURATION(idle_after_exit), "2s",
	  "stop survivors idle for DUR" },
	{ "max-after-exit", 0, DURATION(max_after_exit), "10s",
	  "stop survivors after DUR" },
	{ "survivors", 0, OF(KIND_SURVIVORS, survivors), "HOW", "kill",
	  "kill|wait|leave the rest" },
	{ "keep", 0, OF(KIND_KEEP, keep), "NAME", NULL,
	  "let a daemon live; may repeat" },
	{ "die-with-parent", 0, FLAG(die_with_parent),
	  "stop when the parent dies" },
	{ "die-with-reader", 0, FLAG(die_with_reader),
	  "stop when nobody reads stdout" },
	{ "foreground", 'f', FLAG(foreground),
	  "stay in wdrun's process group" },
	{ "setsid", 0, FLAG(setsid), "give COMMAND its own session" },
	{ "pty", 0, FLAG(pty), "give COMMAND its own terminal" },
	{ "tee", 0, PATH(tee), "append a copy of the output" },
	{ "no-stdin", 0, FLAG(no_stdin), "stdin is /dev/null, and --setsid" },
	{ "heartbeat", 0, BOUND(heartbeat), "line per DUR of silence" },
	{ "report", 0, PATH(report), "tell how the run ended, as JSON" },
	{ "lock", 'l', PATHS(locks), "hold this lock; may repeat" },
	{ "lock-wait", 'w', DURATION(lock_wait), "0",
	  "wait DUR for a held lock" },
	{ "lock-exit", 'E', OF(KIND_STATUS, lock_exit), "CODE", "75",
	  "status if a lock is held" },
	{ "cleanup", 'c', PATHS(cleanups), "remove a dead lock; may repeat" },
	{ "name", 'n', NAME(name, "NAME"), "put the run on record as NAME" },
	{ "registry", 0, NAME(registry, "DIR"), "keep the record in DIR" },
	{ "list", 0, FLAG(list), "show the runs on record" },
	{ "explain", 0, NAME(explain, "PID|RUN"), "say what it waits for" },
	{ "json", 0, FLAG(as_json), "--list, --explain: as JSON" },
	{ "cancel", 0, NAME(cancel, "RUN"), "stop this run on record" },
	{ "reap", 0, FLAG(reap), "kill what killed runs have left" },
	{ "quiet", 'q', FLAG(quiet), "print errors only" },
	{ "verbose", 'v', FLAG(verbose), "print every decision" },
	{ "help", 'h', KIND_HELP, 0, NULL, NULL, "show this help" },
	{ "version", 'V', KIND_HELP, 0, NULL, NULL, "show the version" },
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

/* What getopt_long(3) returns for the long option of row N: no letter. */
#define LONG_OPTION(n) (UINT8_MAX + 1 + (int)(n))

#define ORPHANS_GRACE (5 * SECOND)

/* The operand of timeout(1). */
static const struct row operand = { "DURATION", 0, BOUND(timeout), NULL };

static const char usage[] =
    "Usage: wdrun [OPTION]... [--] COMMAND [ARG]...\n"
    "       wdrun --list|--explain=PID|--cancel=RUN|--reap\n"
    "Run COMMAND, and leave none of its processes behind.\n";

static const char notes[] =
    "(): the default. DUR in ms, s (or bare), m, h, d, w: 1h30m\n"
    "Status: COMMAND's, 75 lock held, 124 timeout, 125 failure of\n"
    "wdrun, 126 cannot execute, 127 not found. More: man wdrun\n";

static const char timeout_usage[] =
    "Usage: timeout [OPTION]... DURATION COMMAND [ARG]...\n"
    "Run COMMAND, and after DURATION (1.5, 1e3, 30m; 0: none) end it\n"
    "with all that it started. More: man wdrun\n";

/* Prints --help or --version. Returns the exit status. */
static int
print(bool is_timeout, bool is_help)
{
	struct strbuf text = { .grows = true };

	if (!is_help)
		strbuf_addf(&text, "%s " WDRUN_VERSION "\n",
		            is_timeout ? "timeout (wdrun, as GNU coreutils)"
		                       : "wdrun");
	else
		strbuf_addf(&text, "%s", is_timeout ? timeout_usage : usage);
	/* "  -t, --timeout=DUR         stop COMMAND after DUR (never)" */
	for (size_t i = 0; is_help && i < ROW_COUNT; i++) {
		const struct row *const row = &rows[i];
		const char letter[] = { '-', row->letter, ',', '\0' };
		char name[NAME_SIZE];

		(void)snprintf(name, sizeof(name),
		               row->metavar == NULL ? "%s" : "%s=%s", row->name,
		               row->metavar);
		strbuf_addf(&text, "  %3s --%-19s %s",
		            row->letter == 0 ? "" : letter, name, row->help);
		if (row->initial != NULL && !is_timeout)
			strbuf_addf(&text, " (%s)", row->initial);
		strbuf_addf(&text, "\n");
	}
	if (is_help && !is_timeout)
		strbuf_addf(&text, "%s", notes);
	return message_print(&text);
}

static bool
store_survivors(enum survivors *survivors, const char *text)
{
	if (strcmp(text, "kill") == 0)
		*survivors = SURVIVORS_KILL;
	else if (strcmp(text, "wait") == 0)
		*survivors = SURVIVORS_WAIT;
	else if (strcmp(text, "leave") == 0)
		*survivors = SURVIVORS_LEAVE;
	else
		return false;
	return true;
}

static bool
store_keep(const char **keep, const char *name)
{
	struct strbuf names = { .grows = true };

	if (*name == '\0' || name[strcspn(name, " \t\n/")] != '\0')
		return false;
	strbuf_addf(&names, "%s%s%s", *keep == NULL ? "" : *keep,
	            *keep == NULL ? "" : " ", name);
	*keep = names.text; /* the old one stays, for this process's life */
	return !names.is_cut;
}

static bool
store_text(const char **field, const char *text, enum kind kind)
{
	const bool is_file = kind == KIND_FILE || kind == KIND_FILES;

	*field = text;
	/* stdout, "-", is for COMMAND alone. */
	return *text != '\0' &&
	       (kind != KIND_UNTIL || strlen(text) <= UNTIL_MAX) &&
	       (!is_file || strcmp(text, "-") != 0);
}

/* Reads TEXT, the value of option ROW. Returns whether it is one. */
static bool
store(struct options *options, const struct row *row, const char *text)
{
	void *const field = (char *)options + row->field;
	struct files *const files = field;
	int *const number = field;
	int64_t *const time = field;
	long status;

	switch (row->kind) {
	case KIND_FLAG:
		*(bool *)field = true;
		return true;
	case KIND_DURATION:
	case KIND_BOUND:
		if (duration_parse(text, time) == -1)
			return false;
		if (row->kind == KIND_BOUND && *time == 0)
			*time = NEVER;
		return true;
	case KIND_SIGNAL:
		/* For timeout(1), 0 means no signal, as for kill(1). */
		*number = strcmp(text, "0") == 0 ? 0 : signal_parse(text);
		return *number >= (options->is_timeout ? 0 : 1);
	case KIND_STATUS:
		status = strtol(text, NULL, 10);
		*number = (int)status;
		/* strtol(3) takes blanks and signs, too. */
		return *text != '\0' && status <= UINT8_MAX &&
		       text[strspn(text, "0123456789")] == '\0';
	case KIND_SURVIVORS:
		return store_survivors(field, text);
	case KIND_KEEP:
		return store_keep(field, text);
	case KIND_UNTIL:
	case KIND_NAME:
	case KIND_FILE:
		return store_text(field, text, row->kind);
	case KIND_FILES:
		return files->count < FILES_MAX &&
		       store_text(&files->paths[files->count++], text,
		                  row->kind);
	case KIND_HELP:
		break;
	}
	return true;
}

/* --- reading -------------------------------------------------------------- */

/* The row for which getopt_long(3) returns FOUND, or NULL. */
static const struct row *
find_row(int found)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (found == LONG_OPTION(i) ||
		    (found != 0 && found == rows[i].letter))
			return &rows[i];
	}
	return NULL;
}

/* Says what getopt_long(3), which returned FOUND, finds wrong in WORD. */
static int
refuse_word(int found, const char *word)
{
	const struct row *const row = find_row(optopt);
	const size_t length = strcspn(word, "=") - 2; /* of a long name */
	bool is_short = false;

	for (size_t i = 0; i < ROW_COUNT && optopt == 0; i++)
		is_short |= strncmp(rows[i].name, word + 2, length) == 0;
	if (is_short)
		message("'%s' is short for several options (see --help)", word);
	else if (row == NULL)
		message("'%s' is not an option (see --help)", word);
	else if (found == ':')
		message("--%s needs a value: %s (see --help)", row->name,
		        row->metavar);
	else
		message("--%s takes no value (see --help)", row->name);
	return STATUS_FAILED;
}

/* Applies the option ROW, whose value is in optarg. */
static int
apply(struct options *options, const struct row *row)
{
	if (row->kind == KIND_HELP)
		return print(options->is_timeout, row->letter == 'h');
	if (!store(options, row, optarg)) {
		message("%s%s: '%.*s' is not %s", row == &operand ? "" : "--",
		        row->name, SHOWN_MAX, optarg, accepted[row->kind]);
		return STATUS_FAILED;
	}
	/* The last of the two counts. */
	options->verbose &= row->letter != 'q';
	options->quiet &= row->letter != 'v';
	return OPTIONS_ARE_COMPLETE;
}

/* Backwards, so that a file comes before its directory. */
static int
compare_paths(const void *left, const void *right)
{
	return strcmp(*(const char *const *)right, *(const char *const *)left);
}

/* Makes the paths of OPTION canonical, since the watchers leave the caller's
 * directory, and sorts them, so that runs take shared locks in the same order.
 * Drops what is there twice, or in LOCKS. Returns false after a message. */
static bool
resolve(const char *option, struct files *files, const struct files *locks)
{
	const char **const paths = files->paths;
	size_t count = 0;

	for (size_t i = 0; i < files->count; i++) {
		const char *const given = paths[i];

		paths[i] = path_resolve(given);
		if (paths[i] == NULL) {
			message("--%s: '%s': %s", option, given,
			        strerror(errno));
			return false;
		}
	}
	qsort(paths, files->count, sizeof(*paths), compare_paths);
	for (size_t i = 0; i < files->count; i++) {
		if ((count == 0 || strcmp(paths[count - 1], paths[i]) != 0) &&
		    bsearch(&paths[i], locks->paths, locks->count,
		            sizeof(*paths), compare_paths) == NULL)
			paths[count++] = paths[i];
	}
	paths[count] = NULL;
	files->count = count;
	return true;
}

/* Refuses OPTIONS that exclude each other, or a path that leads nowhere. */
static int
check(struct options *options, bool has_command)
{
	const int actions = options->list + options->reap +
	                    (options->explain != NULL) +
	                    (options->cancel != NULL) + has_command;

	if (actions == 0)
		message("no COMMAND given (see --help)");
	else if (actions > 1)
		message("of --list, --explain, --cancel, --reap and a COMMAND "
		        "only one can be given");
	else if (options->foreground && (options->setsid || options->pty))
		message("--foreground goes with neither --setsid nor --pty");
	else if (!has_command ||
	         (resolve("lock", &options->locks, &(struct files){ 0 }) &&
	          resolve("cleanup", &options->cleanups, &options->locks)))
		return OPTIONS_ARE_COMPLETE;
	return STATUS_FAILED;
}

/* Makes getopt_long(3)'s tables of ROWS. "+": options end at COMMAND; ":": it
 * prints nothing, and tells a missing value from an unknown option. Returns the
 * tail of NAMES, timeout(1)'s options. */
static const struct option *
make_tables(char *letters, struct option *names)
{
	struct option *last = names + ROW_COUNT;

	letters = stpcpy(letters, "+:");
	*last = (struct option){ .name = NULL };
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const char letter = rows[i].letter;
		const bool has_value = rows[i].metavar != NULL;
		const bool is_of_timeout =
		    letter != 0 && strchr("fkpsvhV", letter) != NULL;

		*(is_of_timeout ? --last : names++) =
		    (struct option){ rows[i].name, has_value, NULL,
			             LONG_OPTION(i) };
		if (letter == 0)
			continue;
		*letters++ = letter;
		if (has_value)
			*letters++ = ':';
	}
	*letters = '\0';
	return last;
}

/* Reads DURATION, the first of COUNT operands, before COMMAND. */
static int
read_timeout_operand(struct options *options, int count, char *duration)
{
	if (count < 2) {
		message("missing operand: DURATION COMMAND (see --help)");
		return STATUS_FAILED;
	}
	if (options->kill_after == 0)
		options->kill_after = NEVER;
	options->passes_on = options->kill_after == NEVER;
	options->hup_cancels = !options->passes_on;
	optarg = duration;
	optind++;
	return apply(options, &operand);
}

static void
set_defaults(struct options *options)
{
	/* "timeout", or "wdrun-timeout" beside the system's. */
	const char *const name =
	    strstr(program_invocation_short_name, "timeout");

	options->keep = getenv(KEEP_VARIABLE);
	if (options->keep != NULL && *options->keep == '\0')
		options->keep = NULL;
	options->registry = getenv("WDRUN_REGISTRY");
	if (options->registry != NULL && *options->registry == '\0')
		options->registry = NULL;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (rows[i].initial != NULL)
			(void)store(options, &rows[i], rows[i].initial);
	}
	options->orphans_grace = NEVER;
	if (name == NULL || strcmp(name, "timeout") != 0)
		return;
	options->is_timeout = true;
	options->alarm_is_timeout = options->has_gnu_status = true;
	options->leads_group = options->drops_ignored = true;
	options->survivors = SURVIVORS_LEAVE;
	options->kill_after = NEVER;
	options->orphans_grace = ORPHANS_GRACE;
}

int
options_read(struct options *options, int argc, char *argv[])
{
	char letters[2 * ROW_COUNT + sizeof("+:")];
	struct option names[ROW_COUNT + 1];
	const struct option *const timeouts = make_tables(letters, names);
	int status = OPTIONS_ARE_COMPLETE;

	set_defaults(options);
	while (status == OPTIONS_ARE_COMPLETE) {
		const int at = optind;
		int found = getopt_long(argc, argv, letters, names, NULL);

		/* Several options may begin so, but only one of timeout(1). */
		if (found == '?' && optopt == 0 && options->is_timeout) {
			optind = at;
			found =
			    getopt_long(argc, argv, letters, timeouts, NULL);
		}
		if (found == -1)
			break;

		const struct row *const row = find_row(found);

		status = row == NULL ? refuse_word(found, argv[at])
		                     : apply(options, row);
	}
	if (status == OPTIONS_ARE_COMPLETE && options->is_timeout)
		status =
		    read_timeout_operand(options, argc - optind, argv[optind]);
	if (status != OPTIONS_ARE_COMPLETE)
		return status;

	options->command = argv + optind;
	if (options->survivors != SURVIVORS_KILL) /* they have no such limit */
		options->idle_after_exit = options->max_after_exit = NEVER;
	if (options->no_stdin && !options->foreground)
		options->setsid = true;
	return check(options, optind < argc);
}
