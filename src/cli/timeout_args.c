/* Parses the command line of timeout(1). */
#include "cli/timeout_args.h"

#include <ctype.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/duration.h"
#include "base/message.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command_line.h"
#include "proc/signals.h"
#include "watchdog.h"

#define NAME "timeout"

/* Times this factor, a number is too long for 64 bits of nanoseconds; divided
 * by this factor, below a nanosecond: no larger factor is needed. */
#define HUGE_FACTOR 1e300

#define EXPONENT_MAX (LONG_MAX / 2)

#define MANY_DIGITS 1e18 /* beyond the digits that a double keeps */

/* From a stop to SIGKILL, if only survivors are left. */
#define ORPHANS_GRACE (5 * SECOND)

/* Returns the value of the digit C of BASE, or -1. */
static int
digit_value(char c, int base)
{
	static const char digits[] = "0123456789abcdef";
	const char *const digit =
	    memchr(digits, tolower((unsigned char)c), (size_t)base);

	return digit == NULL ? -1 : (int)(digit - digits);
}

/* Returns VALUE times BASE to the power of EXPONENT, and 0 only if VALUE is 0:
 * 1e-5000 s must not become 0, which means no timeout. */
static double
scale(double value, int base, long exponent)
{
	double factor = 1;

	for (long left = exponent; left != 0 && factor < HUGE_FACTOR;
	     left -= exponent < 0 ? -1 : 1)
		factor *= base;
	return exponent < 0 ? value / factor : value * factor;
}

/* Parses a signed number at TEXT and adds it to *EXPONENT. Returns the rest of
 * TEXT, or NULL if there is no number. */
static const char *
add_exponent(const char *text, long *exponent)
{
	const bool is_negative = *text == '-';
	const char *const digits = text + (is_negative || *text == '+');
	const size_t count = strspn(digits, "0123456789");
	uint64_t given = 0;

	if (text_read_number(digits, DECIMAL, &given) == NULL ||
	    given > EXPONENT_MAX)
		given = EXPONENT_MAX;
	*exponent += is_negative ? -(long)given : (long)given;
	return count == 0 ? NULL : digits + count;
}

/* Parses the number at TEXT into *VALUE, which must be 0, like strtod(3), but
 * without sign and NaN; strtod(3) would add 8 KiB to the static binary. Returns
 * the rest of TEXT, or NULL if there is no number. */
static const char *
read_number(const char *text, double *value)
{
	if (strncasecmp(text, "inf", 3) == 0) {
		*value = HUGE_FACTOR;
		return text + (strncasecmp(text, "infinity", 8) == 0 ? 8 : 3);
	}

	const bool is_hex = strncasecmp(text, "0x", 2) == 0;
	const int base = is_hex ? 16 : 10;
	const char *end = text + (is_hex ? 2 : 0);
	bool has_digits = false;
	bool has_point = false;
	long exponent = 0;

	for (; digit_value(*end, base) != -1 || (*end == '.' && !has_point);
	     end++) {
		if (*end == '.') {
			has_point = true;
			continue;
		}
		has_digits = true;
		exponent -= has_point;
		if (*value < MANY_DIGITS)
			*value = *value * base + digit_value(*end, base);
		else
			exponent++;
	}
	if (!has_digits)
		return NULL;
	exponent *= is_hex ? 4 : 1; /* 16 is 2 to the power of 4 */
	if (tolower((unsigned char)*end) == (is_hex ? 'p' : 'e'))
		end = add_exponent(end + 1, &exponent);
	*value = scale(*value, is_hex ? 2 : 10, exponent);
	return end;
}

/* Parses a number with s, m, h, d or no unit, as timeout(1) does. Stores
 * nanoseconds, rounded up; NEVER for 0 and for more than 64 bits hold. */
static int
read_interval(const struct option_row *row, void *field, const char *text)
{
	static const char suffixes[] = "smhd";
	static const double seconds[] = { 1, 60, 3600, 86400, 1 /* none */ };
	const char *const sign = text + strspn(text, " \t\n\v\f\r");
	double number = 0;
	const char *const suffix =
	    read_number(sign + (*sign == '-' || *sign == '+'), &number);
	const char *const unit =
	    suffix == NULL ? NULL : strchr(suffixes, *suffix);

	(void)row;
	if (unit == NULL || (*suffix != '\0' && suffix[1] != '\0') ||
	    (*sign == '-' && number > 0)) {
		message("invalid time interval '%s' (1.5, 30m, 0 for none)",
		        text);
		return STATUS_FAILED;
	}

	const double ns = number * seconds[unit - suffixes] * (double)SECOND;
	int64_t whole = NEVER;

	if (ns > 0 && ns < (double)NEVER) {
		whole = (int64_t)ns;
		whole += (double)whole < ns;
	}
	*(int64_t *)field = whole;
	return OPTIONS_ARE_COMPLETE;
}

/* Accepts what kill(1) accepts; 0 and EXIT for no signal; and 128 + N, the exit
 * status after signal N, for N. */
static int
read_signal(const struct option_row *row, void *field, const char *text)
{
	uint64_t number = 0;
	const char *const end = text_read_number(text, DECIMAL, &number);
	int signal = signal_parse(text);

	(void)row;
	if (strcmp(text, "0") == 0 || strcasecmp(text, "EXIT") == 0)
		signal = 0;
	else if (end != NULL && *end == '\0' && number > STATUS_SIGNAL_BASE &&
	         number <= STATUS_SIGNAL_BASE + SIGNAL_MAX)
		signal = (int)number - STATUS_SIGNAL_BASE;
	if (signal == -1) {
		message("'%s': invalid signal (TERM, SIGINT, 9, RTMIN+1)",
		        text);
		return STATUS_FAILED;
	}
	*(int *)field = signal;
	return OPTIONS_ARE_COMPLETE;
}

static const struct option_kind kind_interval = { .read = read_interval,
	                                          .metavar = "DURATION" };
static const struct option_kind kind_signal = { .read = read_signal,
	                                        .metavar = "SIGNAL" };

static const struct option_row rows[] = {
	ROW('f', "foreground", "keep COMMAND in timeout's process group",
	    FLAG(foreground)),
	ROW('k', "kill-after", "SIGKILL, DURATION after the first signal",
	    .kind = &kind_interval, .field = FIELD(int64_t, kill_after)),
	ROW('p', "preserve-status", "COMMAND's status even on a timeout",
	    FLAG(preserve_status)),
	ROW('s', "signal", "first signal (TERM)", .kind = &kind_signal,
	    .field = FIELD(int, signal)),
	ROW('v', "verbose", "print each signal sent", FLAG(verbose)),
	ROW(0, "help", "show this help and exit", PRINTS_HELP),
	ROW(0, "version", "show the version and exit", PRINTS_VERSION),
};

static const struct option_table table = {
	.program = NAME,
	.version = NAME " (wdrun) " WDRUN_VERSION,
	.usage =
	    "Usage: " NAME " [OPTION]... DURATION COMMAND [ARG]...\n"
	    "Run COMMAND, and after DURATION (1.5, 1e3, 30m; 0: none) end it "
	    "with all\nthat it started.\n\n",
	.notes = "\nMore: man wdrun\n",
	.rows = rows,
	.count = sizeof(rows) / sizeof(rows[0]),
};

bool
timeout_args_apply(const char *argument0)
{
	const size_t length = argument0 == NULL ? 0 : strlen(argument0);

	return length >= strlen(NAME) &&
	       strcmp(argument0 + length - strlen(NAME), NAME) == 0;
}

int
timeout_args_read(struct options *options, int argc, char *argv[])
{
	struct command_line line = { .table = &table,
		                     .argc = argc,
		                     .argv = argv };

	message_set_name(NAME);

	/* Where timeout(1) differs from wdrun, with any options. */
	options->survivors = SURVIVORS_LEAVE;
	options->kill_after = NEVER;
	options->orphans_grace = ORPHANS_GRACE;
	options->terse = true;
	options->repeats_signals = true;
	options->cancel_ends_survivors = true;
	options->alarm_is_timeout = true;
	options->exits_for_signals = true;

	const int status = command_line_read(&line, options);

	if (status != OPTIONS_ARE_COMPLETE)
		return status;
	if (argc - line.next < 2) {
		message("missing operand (" NAME
		        " [OPTION]... DURATION COMMAND "
		        "[ARG]...; see " NAME " --help)");
		return STATUS_FAILED;
	}
	options->only_forwards_signals = options->kill_after == NEVER;
	/* GNU timeout sends SIGKILL to its own process group, and so dies by
	 * SIGKILL. With --foreground, where the group is the parent's, GNU
	 * timeout kills the command alone and exits with 128 + 9. */
	options->outcome_on_kill =
	    options->foreground
	        ? (struct outcome){ OUTCOME_EXIT, STATUS_SIGNAL_BASE + SIGKILL }
	        : (struct outcome){ OUTCOME_SIGNAL, SIGKILL };

	/* POSIX.1-2024, timeout: the command inherits each disposition but this
	 * signal's. If nohup(1) or a shell had the signal ignored, the command
	 * would outlive the timeout. */
	signal_reset(options->signal);
	options->command = argv + line.next + 1;
	return read_interval(NULL, &options->timeout, argv[line.next]);
}
