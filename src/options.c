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
#include "registry.h"
#include "timeout_personality.h"
#include "values.h"

#define IDLE_AFTER_EXIT_DEFAULT (2 * SECOND)
#define MAX_AFTER_EXIT_DEFAULT  (10 * SECOND)
#define KILL_AFTER_DEFAULT      (5 * SECOND)
#define UNTIL_GRACE_DEFAULT     (30 * SECOND)
#define NOT_GIVEN               (-1) /* no duration is negative */

/* '+' stops at the first operand, ':' tells a missing argument apart. Both
 * that and the letters are checked against the table by a test. */
static const char letters[] = "+:t:i:u:k:s:pfl:w:E:c:n:qvhV";

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
choose_mode(struct options *options, enum mode mode)
{
	if (options->mode != MODE_RUN && options->mode != mode) {
		message("--list, --cancel and --reap: only one can be had");
		return STATUS_FAILED;
	}
	options->mode = mode;
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

/* Takes the option ID, whose argument is in optarg, if it is one of those that
 * are about a run. */
static int
take_option_of_run(struct options *options, int id)
{
	options->is_for_run = true;
	switch (id) {
	case 't':
		return value_read_duration(id, &options->timeout);
	case 'i':
		return value_read_duration(id, &options->idle_timeout);
	case ID_IDLE_UNLESS_BUSY:
		options->idle_unless_busy = true;
		break;
	case 'u':
		return value_read_until(options);
	case ID_UNTIL_GRACE:
		return value_read_duration(id, &options->until_grace);
	case ID_PTY:
		options->pty = true;
		break;
	case ID_TEE:
		return value_read_tee(options);
	case 'k':
		return value_read_duration(id, &options->kill_after);
	case 's':
		return value_read_signal(options);
	case 'p':
		options->preserve_status = true;
		break;
	case ID_IDLE_AFTER_EXIT:
		return value_read_duration(id, &options->idle_after_exit);
	case ID_MAX_AFTER_EXIT:
		return value_read_duration(id, &options->max_after_exit);
	case ID_SURVIVORS:
		return value_read_survivors(options);
	case ID_DIE_WITH_PARENT:
		options->die_with_parent = true;
		break;
	case 'f':
		return choose_session(options, SESSION_CALLERS);
	case ID_SETSID:
		return choose_session(options, SESSION_OWN);
	case 'l':
		return value_read_file(id, &options->locks);
	case 'w':
		return value_read_duration(id, &options->lock_wait);
	case 'E':
		return value_read_lock_exit(options);
	case 'c':
		return value_read_file(id, &options->cleanups);
	case 'n':
		return value_read_name(options);
	case ID_REPORT:
		return value_read_report(options);
	case ID_HEARTBEAT:
		return value_read_duration(id, &options->heartbeat);
	default: /* ID_NO_STDIN */
		options->no_stdin = true;
		break;
	}
	return OPTIONS_ARE_COMPLETE;
}

static int
take_option(struct options *options, int id)
{
	switch (id) {
	case ID_REGISTRY:
		return value_read_registry(options);
	case ID_LIST:
		return choose_mode(options, MODE_LIST);
	case ID_REAP:
		return choose_mode(options, MODE_REAP);
	case ID_CANCEL:
		options->cancel = optarg;
		return choose_mode(options, MODE_CANCEL);
	case ID_JSON:
		options->as_json = true;
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
	case 'V':
		return help_print_version();
	default:
		return take_option_of_run(options, id);
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
	if (options->locks.count == 0 && options->lock_wait != NOT_GIVEN)
		return refuse_combination(
		    "--lock-wait: says nothing without --lock");
	if (options->locks.count == 0 && options->lock_exit != NOT_GIVEN)
		return refuse_combination(
		    "--lock-exit: says nothing without --lock");
	if (options->as_json && options->mode != MODE_LIST)
		return refuse_combination(
		    "--json: says nothing without --list");
	return OPTIONS_ARE_COMPLETE;
}

/* OPERAND is what is left of the command line, or NULL. */
static int
check_mode(const struct options *options, const char *operand)
{
	if (options->mode == MODE_RUN && operand == NULL)
		return refuse_combination(
		    "no COMMAND given (wdrun [OPTION]... [--] COMMAND "
		    "[ARG]...; see wdrun --help)");
	if (options->mode == MODE_RUN)
		return OPTIONS_ARE_COMPLETE;
	if (operand != NULL) {
		message("--list, --cancel and --reap take no COMMAND ('%s')",
		        operand);
		return STATUS_FAILED;
	}
	if (options->is_for_run)
		return refuse_combination(
		    "--list, --cancel and --reap go with --registry, --json, "
		    "--quiet and --verbose alone");
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
	if (options->heartbeat == 0)
		options->heartbeat = NEVER;
	if (options->lock_wait == NOT_GIVEN)
		options->lock_wait = 0;
	if (options->lock_exit == NOT_GIVEN)
		options->lock_exit = STATUS_LOCKED;
	options->is_registered = options->name != NULL ||
	                         options->registry != NULL ||
	                         registry_is_wanted();
}

static int
read_command_line(struct options *options, int argc, char *argv[])
{
	opterr = 0;
	for (;;) {
		const int id =
		    getopt_long(argc, argv, letters, long_options, NULL);

		if (id == -1)
			break;

		const int taken = id == '?' || id == ':'
		                      ? refuse_option(id, argv[optind - 1])
		                      : take_option(options, id);

		if (taken != OPTIONS_ARE_COMPLETE)
			return taken;
	}

	/* Until Linux 5.18, execve(2) lets a caller pass no argument at all,
	 * not even the first; behind the end of the list is the environment. */
	const int status =
	    check_mode(options, optind < argc ? argv[optind] : NULL);

	return status == OPTIONS_ARE_COMPLETE ? check_combinations(options)
	                                      : status;
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
		.lock_wait = NOT_GIVEN,
		.lock_exit = NOT_GIVEN,
		.heartbeat = NEVER,
		.signal = SIGTERM,
	};

	const int status = timeout_personality_applies(argv[0])
	                       ? timeout_personality_read(options, argc, argv)
	                       : read_command_line(options, argc, argv);

	settle(options);
	options->command = argv + optind;
	return status;
}
