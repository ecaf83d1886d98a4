/* Durations: parsing, formatting, adding; and clocks. */
#include "base/duration.h"

#include <sys/syscall.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/strbuf.h"

struct unit {
	const char *suffix;
	int64_t ns;
};

static const struct unit units[] = {
	{ "", SECOND },       { "ms", MILLISECOND },  { "s", SECOND },
	{ "m", 60 * SECOND }, { "h", 3600 * SECOND }, { "d", 86400 * SECOND },
	{ "sec", SECOND },    { "min", 60 * SECOND }, { "w", 604800 * SECOND },
};

#define UNIT_COUNT        (sizeof(units) / sizeof(units[0]))
#define UNITS_WRITTEN     6 /* of units[]: the others are only parsed */
#define UNIT_MILLISECONDS 1
#define UNIT_SECONDS      2

#define DIGITS   "0123456789"
#define DECIMALS 3 /* after the point, in formatted durations */

/* Returns the unit named by the LENGTH bytes at SUFFIX, or NULL. */
static const struct unit *
find_unit(const char *suffix, size_t length)
{
	for (size_t i = 0; i < UNIT_COUNT; i++) {
		if (strncmp(units[i].suffix, suffix, length) == 0 &&
		    units[i].suffix[length] == '\0')
			return &units[i];
	}
	return NULL;
}

/* Returns the number at DIGITS times UNIT, or NEVER on overflow. */
static int64_t
read_whole(const char *digits, int64_t unit)
{
	int64_t value = 0;

	for (; isdigit((unsigned char)*digits); digits++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, *digits - '0', &value))
			return NEVER;
	}
	return __builtin_mul_overflow(value, unit, &value) ? NEVER : value;
}

/* Returns the fraction "0.DIGITS" of UNIT, rounded up: "0.0…1" must not become
 * 0, which means no timeout. Starts from the last of the COUNT digits, so that
 * the value stays below UNIT for any COUNT. */
static int64_t
read_fraction(const char *digits, size_t count, int64_t unit)
{
	int64_t value = 0;
	bool is_rounded = false;

	for (size_t i = count; i > 0; i--) {
		value += (digits[i - 1] - '0') * unit;
		is_rounded |= value % 10 != 0;
		value /= 10;
	}
	return value + is_rounded;
}

/* Parses a number and its unit at TEXT into *NS. Returns the rest of TEXT, or
 * NULL if the number is missing or the unit unknown. */
static const char *
read_part(const char *text, int64_t *ns)
{
	const size_t whole = strspn(text, DIGITS);
	const bool has_point = text[whole] == '.';
	const char *const decimals = text + whole + has_point;
	const size_t fraction = has_point ? strspn(decimals, DIGITS) : 0;
	const char *const suffix = decimals + fraction;
	const size_t length = strcspn(suffix, DIGITS ".");
	const struct unit *const unit = find_unit(suffix, length);

	if (whole + fraction == 0 || unit == NULL)
		return NULL;
	*ns = read_whole(text, unit->ns);
	if (fraction > 0)
		*ns = duration_add(*ns,
		                   read_fraction(decimals, fraction, unit->ns));
	return suffix + length;
}

int
duration_parse(const char *text, int64_t *ns)
{
	const char *rest = text;
	int64_t sum = 0;
	int64_t part;

	if (strcmp(text, "never") == 0 || strcmp(text, "infinity") == 0) {
		*ns = NEVER;
		return 0;
	}
	do {
		const char *const start = rest;

		rest = read_part(start, &part);
		/* Refuses "1h30": the unit of 30 is unclear. */
		if (rest == NULL || (strchr(DIGITS ".", rest[-1]) != NULL &&
		                     (start != text || *rest != '\0'))) {
			errno = EINVAL;
			return -1;
		}
		sum = duration_add(sum, part);
	} while (*rest != '\0');
	*ns = sum;
	return 0;
}

char *
duration_format(int64_t ns, char text[DURATION_TEXT_SIZE])
{
	struct strbuf line = { .text = text, .size = DURATION_TEXT_SIZE };
	const struct unit *best =
	    &units[ns > 0 && ns < SECOND ? UNIT_MILLISECONDS : UNIT_SECONDS];

	if (ns == NEVER) {
		strbuf_addf(&line, "never");
		return text;
	}
	for (size_t i = UNIT_SECONDS; i < UNITS_WRITTEN; i++) {
		if (ns >= units[i].ns && ns % units[i].ns == 0)
			best = &units[i];
	}
	strbuf_addf(&line, "%" PRId64, ns / best->ns);

	int64_t rest = ns % best->ns;
	int64_t scale = best->ns;

	for (int decimals = 0; rest > 0 && decimals < DECIMALS; decimals++) {
		scale /= 10;
		strbuf_addf(&line, "%s%d", decimals == 0 ? "." : "",
		            (int)(rest / scale));
		rest %= scale;
	}
	strbuf_addf(&line, "%s", best->suffix);
	return text;
}

char *
duration_format_short(int64_t ns, char text[DURATION_TEXT_SIZE])
{
	struct strbuf line = { .text = text, .size = DURATION_TEXT_SIZE };
	const struct unit *unit = &units[UNIT_SECONDS];
	const int64_t time = ns < 0 ? 0 : ns;

	if (time == NEVER) {
		strbuf_addf(&line, "-");
		return text;
	}
	while (unit < &units[UNITS_WRITTEN - 1] && time >= unit[1].ns)
		unit++;
	strbuf_addf(&line, "%d%s", (int)(time / unit->ns), unit->suffix);
	if (unit > &units[UNIT_SECONDS])
		strbuf_addf(&line, "%02d%s",
		            (int)(time % unit->ns / unit[-1].ns),
		            unit[-1].suffix);
	return text;
}

/* Not by the vDSO: see duration_now_fast(). */
static int64_t
read_clock(clockid_t clock)
{
	struct timespec now = { .tv_sec = 0 };

#ifdef __LP64__
	/* If a seccomp filter forbids the system call, the vDSO works. */
	if (syscall(SYS_clock_gettime, clock, &now) == -1)
		(void)clock_gettime(clock, &now);
#else /* on 32 bits, the call may have 32 bits of seconds */
	(void)clock_gettime(clock, &now);
#endif
	return now.tv_sec * SECOND + now.tv_nsec;
}

int64_t
duration_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t
duration_now_fast(void)
{
	struct timespec now = { .tv_sec = 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

int64_t
duration_since_epoch(void)
{
	return read_clock(CLOCK_REALTIME);
}

void
duration_sleep(int64_t ns)
{
	const struct timespec time = { ns / SECOND, ns % SECOND };

	(void)nanosleep(&time, NULL);
}

int64_t
duration_add(int64_t start, int64_t ns)
{
	int64_t sum;

	return __builtin_add_overflow(start, ns, &sum) ? NEVER : sum;
}
