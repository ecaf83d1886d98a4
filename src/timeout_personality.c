/* Standing in for timeout(1): its command line, its words, its statuses. */
#include "timeout_personality.h"

#include <ctype.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "help.h"
#include "options.h"
#include "print.h"
#include "signals.h"

#define NAME "timeout"

#define SEE_HELP "(see " NAME " --help)"

/* Beyond every signed 64-bit number of nanoseconds, and far from the largest
 * double: a factor that has come so far need not grow any more. */
#define HUGE_FACTOR 1e300

/* More digits than a double holds. */
#define MANY_DIGITS 1e18

#define EXPONENT_MAX 100000

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

/* The value of the digit C, in whatever base; else one too large for any. */
static int
digit_value(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	return isalpha((unsigned char)c) ? 10 + tolower((unsigned char)c) - 'a'
	                                 : INT8_MAX;
}

/* Adds to *EXPONENT what stands behind LETTER, if that is a number. Returns
 * where it ends. */
static const char *
read_exponent(const char *text, char letter, long *exponent)
{
	const bool has_sign =
	    *text != '\0' && (text[1] == '-' || text[1] == '+');

	if (tolower((unsigned char)*text) != letter ||
	    !isdigit((unsigned char)text[1 + has_sign]))
		return text;

	char *end;
	const long given = strtol(text + 1, &end, 10);

	*exponent += given > EXPONENT_MAX    ? EXPONENT_MAX
	             : given < -EXPONENT_MAX ? -EXPONENT_MAX
	                                     : given;
	return end;
}

/* VALUE times BASE to the power of EXPONENT. In one step, which is exact for
 * all that anybody writes; and what is not zero stays so. */
static double
scale(double value, int base, long exponent)
{
	double factor = 1;

	for (long i = labs(exponent); i > 0 && factor < HUGE_FACTOR; i--)
		factor *= base;
	return exponent < 0 ? value / factor : value * factor;
}

/*
 * Reads digits, decimal or behind "0x", with a point and an exponent, as
 * strtod(3) does, which would be 6 KiB more of code. Returns where they end, or
 * NULL if there are none.
 */
static const char *
read_digits(const char *text, double *value)
{
	const bool is_hexadecimal =
	    strncasecmp(text, "0x", 2) == 0 &&
	    digit_value(text[2 + (text[2] == '.')]) < 16;
	const int base = is_hexadecimal ? 16 : 10;
	const int step = is_hexadecimal ? 4 : 1; /* a digit, of the exponent */
	bool has_digits = false;
	bool has_point = false;
	long exponent = 0;

	*value = 0;
	for (text += is_hexadecimal ? 2 : 0;; text++) {
		const int digit = digit_value(*text);

		if (*text == '.' && !has_point) {
			has_point = true;
			continue;
		}
		if (digit >= base)
			break;
		has_digits = true;
		if (*value >= MANY_DIGITS) {
			exponent += has_point ? 0 : step;
			continue;
		}
		*value = *value * base + digit;
		exponent -= has_point ? step : 0;
	}
	if (!has_digits)
		return NULL;
	text = read_exponent(text, is_hexadecimal ? 'p' : 'e', &exponent);
	*value = scale(*value, is_hexadecimal ? 2 : base, exponent);
	return text;
}

static const char *
read_number(const char *text, double *value)
{
	const bool is_negative = *text == '-';

	text += is_negative || *text == '+';
	if (strncasecmp(text, "inf", 3) == 0) {
		*value = HUGE_FACTOR;
		text += strncasecmp(text, "infinity", 8) == 0 ? 8 : 3;
	} else {
		text = read_digits(text, value);
	}
	return is_negative && *value > 0 ? NULL : text;
}

/*
 * The nanoseconds in what is left of TEXT, a number in *SECONDS having been
 * read: one suffix at most. NEVER for 0, which means none; -1 if it is none.
 */
static int64_t
in_nanoseconds(const char *suffix, double number)
{
	const char *const letter =
	    *suffix == '\0' ? "s" : strchr("smhd", *suffix);
	double ns = number * (double)SECOND;

	if (letter == NULL || (*suffix != '\0' && suffix[1] != '\0'))
		return -1;
	ns *= *letter == 'd' ? 86400 : *letter == 'h' ? 3600 : 1;
	ns *= *letter == 'm' ? 60 : 1;
	if (ns >= (double)NEVER || !(ns > 0))
		return NEVER;

	const int64_t whole = (int64_t)ns;

	return whole + ((double)whole < ns);
}

/* What strtod(3) reads, but for NaN, and a suffix. */
static int
take_interval(const char *text, int64_t *ns)
{
	double number = 0;
	const char *const suffix =
	    read_number(text + strspn(text, " \t\n\v\f\r"), &number);
	const int64_t interval =
	    suffix == NULL ? -1 : in_nanoseconds(suffix, number);

	if (interval == -1) {
		message("invalid time interval '%s' (1.5, 30m, 0 for none)",
		        text);
		return STATUS_FAILED;
	}
	*ns = interval;
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
