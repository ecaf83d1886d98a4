/* The command line: one table for getopt_long(3), for --help and for here. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "../watchdog.h"
#include "duration.h"
#include "help.h"
#include "message.h"
#include "optiontable.h"
#include "search.h"
#include "signals.h"

#define IDLE_AFTER_EXIT_DEFAULT (2 * SECOND)
#define MAX_AFTER_EXIT_DEFAULT  (10 * SECOND)
#define KILL_AFTER_DEFAULT      (5 * SECOND)
#define UNTIL_GRACE_DEFAULT     (30 * SECOND)
#define NOT_GIVEN               (-1) /* no duration is negative */

/* '+' stops at the first operand, ':' tells a missing argument apart. Both
 * that and the letters are checked against the table by a test. */
static const char letters[] = "+:t:i:u:k:s:pfqvhV";

#define LONG_OPTION(id, name, argument, text)                                  \
	{ name, (argument) != NULL ? required_argument : no_argument, NULL,    \
	  id },

static const struct option long_options[] = { ROWS(LONG_OPTION){ NULL, 0, NULL,
	                                                         0 } };

/* Tells what is wrong with ARGUMENT, getopt_long having answered FOUND. */
static int
refuse_option(int found, const char *argument)
{
	const struct help_row *const row =
	    optopt == 0 ? NULL : help_find(optopt);

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
	const struct help_row *const row = help_find(id);

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
read_until(struct options *options)
{
	const size_t length = strlen(optarg);

	if (length == 0 || length > SEARCH_TEXT_MAX)
		return refuse_value('u', length == 0 ? "" : "(too long)",
		                    "a text (1 to " SEARCH_TEXT_MAX_WORD
		                    " bytes)");
	options->until = optarg;
	return OPTIONS_ARE_COMPLETE;
}

static int
read_tee(struct options *options)
{
	if (*optarg == '\0')
		return refuse_value(ID_TEE, optarg, "a file name");
	options->tee = optarg;
	return OPTIONS_ARE_COMPLETE;
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
	case 'i':
		return read_duration(id, &options->idle_timeout);
	case ID_IDLE_UNLESS_BUSY:
		options->idle_unless_busy = true;
		break;
	case 'u':
		return read_until(options);
	case ID_UNTIL_GRACE:
		return read_duration(id, &options->until_grace);
	case ID_PTY:
		options->pty = true;
		break;
	case ID_TEE:
		return read_tee(options);
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
		return help_print();
	default: /* 'V', the last row of the table */
		return help_print_version();
	}
	return OPTIONS_ARE_COMPLETE;
}

static int
refuse_combination(const char *what)
{
	message("%s", what);
	return STATUS_FAILED;
}

/* What one option says of another, and is not there; or contradicts it. */
static int
check_combinations(const struct options *options)
{
	if (options->idle_unless_busy && options->idle_timeout == NOT_GIVEN)
		return refuse_combination(
		    "--idle-unless-busy: says nothing without --idle-timeout");
	if (options->until_grace != NOT_GIVEN && options->until == NULL)
		return refuse_combination(
		    "--until-grace: says nothing without --until");
	if (options->pty && options->session == SESSION_CALLERS)
		return refuse_combination(
		    "--pty and --foreground: only one can be had");
	return OPTIONS_ARE_COMPLETE;
}

/* Completes what was given by what follows from it. */
static void
settle(struct options *options)
{
	/* As for timeout(1). */
	if (options->timeout == 0)
		options->timeout = NEVER;
	if (options->idle_timeout == 0 || options->idle_timeout == NOT_GIVEN)
		options->idle_timeout = NEVER;
	if (options->until_grace == NOT_GIVEN)
		options->until_grace = UNTIL_GRACE_DEFAULT;
	if (options->no_stdin && options->session == SESSION_AUTO)
		options->session = SESSION_OWN;
}

int
options_read(struct options *options, int argc, char *argv[])
{
	*options = (struct options){
		.timeout = NEVER,
		.idle_timeout = NOT_GIVEN,
		.until_grace = NOT_GIVEN,
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

	const int status = check_combinations(options);

	settle(options);
	options->command = argv + optind;
	return status;
}
