/* The command line: one table for getopt_long(3), for --help and for here. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../watchdog.h"
#include "duration.h"
#include "message.h"
#include "signals.h"

#define VERSION "0.1.0"

#define IDLE_AFTER_EXIT_DEFAULT (2 * SECOND)
#define MAX_AFTER_EXIT_DEFAULT  (10 * SECOND)
#define KILL_AFTER_DEFAULT      (5 * SECOND)

#define ACCEPTED_DURATIONS "250ms, 1.5, 30m, never"

/*
 * ROW(id, letter or 0, long name, argument or NULL, what it does)
 * in the order of --help. An id is the letter where there is one.
 */
#define ROWS(ROW)                                                              \
	ROW('t', "timeout", "DUR", "stop COMMAND after DUR (never)")           \
	ROW('k', "kill-after", "DUR", "SIGKILL, DUR after a stop (5s)")        \
	ROW('s', "signal", "SIG", "first signal of a stop (TERM)")             \
	ROW('p', "preserve-status", NULL, "its own status even on a timeout")  \
	ROW(ID_IDLE_AFTER_EXIT, "idle-after-exit", "DUR",                      \
	    "stop survivors idle for DUR (2s)")                                \
	ROW(ID_MAX_AFTER_EXIT, "max-after-exit", "DUR",                        \
	    "stop survivors after DUR (10s)")                                  \
	ROW(ID_SURVIVORS, "survivors", "kill|wait|leave",                      \
	    "what becomes of them (kill)")                                     \
	ROW(ID_DIE_WITH_PARENT, "die-with-parent", NULL,                       \
	    "stop when the caller dies")                                       \
	ROW('f', "foreground", NULL, "stay in the caller's process group")     \
	ROW(ID_SETSID, "setsid", NULL, "get a session of its own")             \
	ROW(ID_NO_STDIN, "no-stdin", NULL, "stdin is /dev/null; own session")  \
	ROW('q', "quiet", NULL, "say nothing")                                 \
	ROW('v', "verbose", NULL, "tell every decision")                       \
	ROW('h', "help", NULL, "show this help and exit")                      \
	ROW('V', "version", NULL, "show the version and exit")

enum {
	ID_IDLE_AFTER_EXIT = 256, /* beyond every letter */
	ID_MAX_AFTER_EXIT,
	ID_SURVIVORS,
	ID_DIE_WITH_PARENT,
	ID_SETSID,
	ID_NO_STDIN,
};

/* '+' stops at the first operand, ':' tells a missing argument apart. Both
 * that and the letters are checked against the table by a test. */
static const char letters[] = "+:t:k:s:pfqvhV";

#define LONG_OPTION(id, name, argument, text)                                  \
	{ name, (argument) != NULL ? required_argument : no_argument, NULL,    \
	  id },

static const struct option long_options[] = { ROWS(LONG_OPTION){ NULL, 0, NULL,
	                                                         0 } };

struct row {
	int id;
	const char *name;
	const char *argument;
	const char *text;
};

#define HELP_ROW(id, name, argument, text) { id, name, argument, text },

static const struct row rows[] = { ROWS(HELP_ROW) };

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static void
add_help(struct line *text)
{
	line_add(
	    text,
	    "Usage: wdrun [OPTION]... [--] COMMAND [ARG]...\n"
	    "Run COMMAND, and see that it ends with all that it started.\n\n");
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const struct row *const row = &rows[i];
		char name[64];
		struct line left = { .text = name, .size = sizeof(name) };

		line_add(&left, "%s%s%s", row->name,
		         row->argument == NULL ? "" : "=",
		         row->argument == NULL ? "" : row->argument);
		if (row->id < ID_IDLE_AFTER_EXIT)
			line_add(text, "  -%c, ", row->id);
		else
			line_add(text, "      ");
		line_add(text, "--%-26s %s\n", name, row->text);
	}
	line_add(text,
	         "\nDUR: " ACCEPTED_DURATIONS " (ms, s, m, h, d; bare: "
	         "seconds).\nStatus: COMMAND's own, 124 timeout, 125 wdrun "
	         "failed, 126 cannot execute,\n127 not found. More: man "
	         "wdrun\n");
}

/* Not by printf(3): stdout's buffer would be another page of memory in each
 * run. What is printed has to arrive: --help > /dev/full is a failure. */
static int
print(const struct line *text)
{
	size_t done = 0;

	while (done < text->length) {
		const ssize_t written = write(STDOUT_FILENO, text->text + done,
		                              text->length - done);

		if (written == -1) {
			message("cannot write to stdout: %s", strerror(errno));
			return STATUS_FAILED;
		}
		done += (size_t)written;
	}
	return EXIT_SUCCESS;
}

static int
print_help(void)
{
	char text[4096];
	struct line help = { .text = text, .size = sizeof(text) };

	add_help(&help);
	return print(&help);
}

static int
print_version(void)
{
	char text[] = "wdrun " VERSION "\n";

	return print(
	    &(struct line){ .text = text, .length = sizeof(text) - 1 });
}

static const struct row *
find_row(int id)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (rows[i].id == id)
			return &rows[i];
	}
	return NULL;
}

/* Tells what is wrong with ARGUMENT, getopt_long having answered FOUND. */
static int
refuse_option(int found, const char *argument)
{
	const struct row *const row = optopt == 0 ? NULL : find_row(optopt);

	if (row != NULL && found == ':')
		message("--%s: an argument is missing (%s)", row->name,
		        row->argument);
	else if (row != NULL)
		message("--%s: takes no argument ('%s')", row->name, argument);
	else if (optopt != 0)
		message("unknown option '-%c' (see wdrun --help)", optopt);
	else
		message("unknown or ambiguous option '%s' (see wdrun --help)",
		        argument);
	return STATUS_FAILED;
}

static int
refuse_value(int id, const char *value, const char *accepted)
{
	const struct row *const row = find_row(id);

	message("--%s: '%s' is not %s", row == NULL ? "?" : row->name, value,
	        accepted);
	return STATUS_FAILED;
}

static int
read_duration(int id, int64_t *ns)
{
	if (duration_parse(optarg, ns) == 0)
		return OPTIONS_ARE_COMPLETE;
	return refuse_value(id, optarg, "a duration (" ACCEPTED_DURATIONS ")");
}

static int
read_signal(struct options *options)
{
	options->signal = signal_parse(optarg);
	if (options->signal != -1)
		return OPTIONS_ARE_COMPLETE;
	return refuse_value('s', optarg, "a signal (TERM, SIGINT, 9, RTMIN+1)");
}

static int
read_survivors(struct options *options)
{
	static const char *const words[] = {
		[SURVIVORS_KILL] = "kill",
		[SURVIVORS_WAIT] = "wait",
		[SURVIVORS_LEAVE] = "leave",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(optarg, words[i]) == 0) {
			options->survivors = (enum survivors)i;
			return OPTIONS_ARE_COMPLETE;
		}
	}
	return refuse_value(ID_SURVIVORS, optarg, "one of kill, wait, leave");
}

static int
choose_session(struct options *options, enum session session)
{
	if (options->session != SESSION_AUTO && options->session != session) {
		message("--foreground and --setsid: only one can be had");
		return STATUS_FAILED;
	}
	options->session = session;
	return OPTIONS_ARE_COMPLETE;
}

/* Takes the option ID, whose argument is in optarg. */
static int
take_option(struct options *options, int id)
{
	switch (id) {
	case 't':
		return read_duration(id, &options->timeout);
	case 'k':
		return read_duration(id, &options->kill_after);
	case 's':
		return read_signal(options);
	case 'p':
		options->preserve_status = true;
		break;
	case ID_IDLE_AFTER_EXIT:
		return read_duration(id, &options->idle_after_exit);
	case ID_MAX_AFTER_EXIT:
		return read_duration(id, &options->max_after_exit);
	case ID_SURVIVORS:
		return read_survivors(options);
	case ID_DIE_WITH_PARENT:
		options->die_with_parent = true;
		break;
	case 'f':
		return choose_session(options, SESSION_CALLERS);
	case ID_SETSID:
		return choose_session(options, SESSION_OWN);
	case ID_NO_STDIN:
		options->no_stdin = true;
		break;
	case 'q':
		options->quiet = true;
		options->verbose = false;
		break;
	case 'v':
		options->verbose = true;
		options->quiet = false;
		break;
	case 'h':
		return print_help();
	default: /* 'V', the last row of the table */
		return print_version();
	}
	return OPTIONS_ARE_COMPLETE;
}

int
options_read(struct options *options, int argc, char *argv[])
{
	*options = (struct options){
		.timeout = NEVER,
		.kill_after = KILL_AFTER_DEFAULT,
		.idle_after_exit = IDLE_AFTER_EXIT_DEFAULT,
		.max_after_exit = MAX_AFTER_EXIT_DEFAULT,
		.signal = SIGTERM,
	};

	opterr = 0;
	for (;;) {
		const int id =
		    getopt_long(argc, argv, letters, long_options, NULL);

		if (id == -1)
			break;

		const int status = id == '?' || id == ':'
		                       ? refuse_option(id, argv[optind - 1])
		                       : take_option(options, id);

		if (status != OPTIONS_ARE_COMPLETE)
			return status;
	}
	if (optind >= argc) {
		message("no COMMAND given (wdrun [OPTION]... [--] COMMAND "
		        "[ARG]...; see wdrun --help)");
		return STATUS_FAILED;
	}
	if (options->timeout == 0)
		options->timeout = NEVER; /* as for timeout(1) */
	if (options->no_stdin && options->session == SESSION_AUTO)
		options->session = SESSION_OWN;
	options->command = argv + optind;
	return OPTIONS_ARE_COMPLETE;
}
