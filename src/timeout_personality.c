/* Standing in for timeout(1): its command line, its words, its statuses. */
#include "timeout_personality.h"

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "help.h"
#include "interval.h"
#include "options.h"
#include "print.h"
#include "signals.h"

#define NAME "timeout"

#define SEE_HELP "(see " NAME " --help)"

enum { ID_HELP = 256, ID_VERSION };

/* ':' tells a missing argument apart. */
static const char letters[] = "+:fk:ps:v";

static const struct option long_options[] = {
	{ "foreground", no_argument, NULL, 'f' },
	{ "kill-after", required_argument, NULL, 'k' },
	{ "preserve-status", no_argument, NULL, 'p' },
	{ "signal", required_argument, NULL, 's' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, ID_HELP },
	{ "version", no_argument, NULL, ID_VERSION },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
    "Usage: " NAME " [OPTION]... DURATION COMMAND [ARG]...\n"
    "Run COMMAND, and after DURATION (1.5, 1e3, 30m; 0: none) end it with all\n"
    "that it started. Options:\n"
    "  -f, --foreground           -p, --preserve-status    -v, --verbose\n"
    "  -k, --kill-after=DURATION  -s, --signal=SIGNAL      --help, --version\n"
    "More: man wdrun\n";

bool
timeout_personality_applies(const char *argument0)
{
	if (argument0 == NULL)
		return false;

	const size_t length = strlen(argument0);

	return length >= strlen(NAME) &&
	       strcmp(argument0 + length - strlen(NAME), NAME) == 0;
}

static int
take_interval(const char *text, int64_t *ns)
{
	if (interval_parse(text, ns) == -1) {
		message("invalid time interval '%s' (1.5, 30m, 0 for none)",
		        text);
		return STATUS_FAILED;
	}
	return OPTIONS_ARE_COMPLETE;
}

/* As kill(1) names them; also 0, which is no signal, and 128 + N, as statuses
 * have them. */
static int
take_signal(struct options *options, const char *text)
{
	char *end;
	const long number = strtol(text, &end, 10);

	options->signal = signal_parse(text);
	if (strcmp(text, "0") == 0 || strcasecmp(text, "EXIT") == 0)
		options->signal = 0;
	else if (*end == '\0' && number > STATUS_SIGNAL_BASE &&
	         number <= STATUS_SIGNAL_BASE + SIGNAL_MAX)
		options->signal = (int)number - STATUS_SIGNAL_BASE;
	if (options->signal != -1)
		return OPTIONS_ARE_COMPLETE;
	message("'%s': invalid signal (TERM, SIGINT, 9, RTMIN+1)", text);
	return STATUS_FAILED;
}

static int
print(const char *text)
{
	char copy[sizeof(help)];
	struct line line = { .text = copy, .size = sizeof(copy) };

	line_add(&line, "%s", text);
	return print_line(&line);
}

/* The name of the option ID, or NULL for a letter that nobody knows. */
static const char *
name_of(int id)
{
	size_t i = 0;

	while (long_options[i].name != NULL && long_options[i].val != id)
		i++;
	return long_options[i].name;
}

/* Tells what is wrong with ARGUMENT, getopt_long having answered FOUND. */
static int
refuse(int found, const char *argument)
{
	/* musl goes beyond the last one, where that lacks its argument. */
	const bool is_long =
	    argument != NULL && strncmp(argument, "--", 2) == 0;

	if (found == ':' && is_long)
		message("option '%s' requires an argument " SEE_HELP, argument);
	else if (found == ':')
		message("option requires an argument -- '%c' " SEE_HELP,
		        optopt);
	else if (optopt == 0)
		message("unrecognized option '%s' " SEE_HELP, argument);
	else if (name_of(optopt) != NULL)
		message("option '--%s' doesn't allow an argument " SEE_HELP,
		        name_of(optopt));
	else
		message("invalid option -- '%c' " SEE_HELP, optopt);
	return STATUS_FAILED;
}

static int
take_option(struct options *options, int id, const char *last)
{
	switch (id) {
	case 'f':
		options->session = SESSION_CALLERS;
		break;
	case 'k':
		return take_interval(optarg, &options->kill_after);
	case 'p':
		options->preserve_status = true;
		break;
	case 's':
		return take_signal(options, optarg);
	case 'v':
		options->verbose = true;
		break;
	case ID_HELP:
		return print(help);
	case ID_VERSION:
		return print(NAME " (wdrun) " VERSION "\n");
	default:
		return refuse(id, last);
	}
	return OPTIONS_ARE_COMPLETE;
}

static int
read_options(struct options *options, int argc, char *argv[])
{
	int id;

	opterr = 0;
	while ((id = getopt_long(argc, argv, letters, long_options, NULL)) !=
	       -1) {
		const int taken = take_option(options, id, argv[optind - 1]);

		if (taken != OPTIONS_ARE_COMPLETE)
			return taken;
	}
	return OPTIONS_ARE_COMPLETE;
}

int
timeout_personality_read(struct options *options, int argc, char *argv[])
{
	const struct sigaction by_default = { .sa_handler = SIG_DFL };

	message_set_name(NAME);
	options->is_timeout = true;
	options->survivors = SURVIVORS_LEAVE;
	options->kill_after = NEVER;

	const int read = read_options(options, argc, argv);

	if (read != OPTIONS_ARE_COMPLETE)
		return read;
	if (argc - optind < 2) {
		message("missing operand (" NAME
		        " [OPTION]... DURATION COMMAND "
		        "[ARG]...; see " NAME " --help)");
		return STATUS_FAILED;
	}
	/* POSIX: the one disposition that is not inherited. One that nohup(1)
	 * or a shell has left ignored would make of the timeout nothing. */
	(void)sigaction(options->signal, &by_default, NULL);
	return take_interval(argv[optind++], &options->timeout);
}

bool
timeout_personality_has_signalled(const struct run *run, enum reason why)
{
	return run->options.is_timeout && run->target_left &&
	       why == REASON_CANCELLED &&
	       duration_now() - run->cancelled_at < ORPHANS_GRACE;
}

/* Whether the run went as it was asked to, up to a change for WHY. */
static bool
is_usual(enum reason why)
{
	return why != REASON_FRONT_LOST && why != REASON_SUPERVISOR_LOST &&
	       why != REASON_LAST_BOUND;
}

bool
timeout_personality_is_silent(const struct run *run, enum reason why)
{
	return run->options.is_timeout && !run->options.verbose &&
	       is_usual(why);
}

bool
timeout_personality_add(struct line *line, const struct run *run,
                        enum reason why)
{
	char name[SIGNAL_NAME_SIZE];
	int signal = SIGKILL;

	if (!run->options.is_timeout || !is_usual(why))
		return false;
	if (why == REASON_TIMEOUT)
		signal = run->options.signal;
	else if (why == REASON_CANCELLED)
		signal = run->cancel_signal;
	else if (why != REASON_GRACE_OVER)
		return true;
	if (timeout_personality_has_signalled(run, why))
		return true;
	line_add(line, "sending signal %s",
	         signal == 0 ? "EXIT"
	                     : signal_name(signal, name) + strlen("SIG"));
	if (run->target_exited)
		line_add(line, " to what is left of");
	else
		line_add(line, " to");
	line_add(line, " command '%s'", run->options.command[0]);
	return true;
}

void
timeout_personality_tell_core(const struct run *run)
{
	if (run->options.is_timeout && run->target_dumped_core)
		message("the monitored command dumped core");
}

struct outcome
timeout_personality_verdict(const struct run *run)
{
	const struct outcome target = run->target_outcome;
	const bool is_killed =
	    target.kind == OUTCOME_SIGNAL && target.value == SIGKILL;
	const int base = target.kind == OUTCOME_SIGNAL ? STATUS_SIGNAL_BASE : 0;

	/* GNU's sends SIGKILL to its own process group, and so dies by it: but
	 * not in the foreground, where the group is the caller's. */
	if (is_killed && run->options.session != SESSION_CALLERS)
		return target;
	if (is_killed ||
	    (run->options.preserve_status && target.kind != OUTCOME_UNKNOWN))
		return (struct outcome){ OUTCOME_EXIT, base + target.value };
	return (struct outcome){ OUTCOME_EXIT, STATUS_TIMED_OUT };
}
