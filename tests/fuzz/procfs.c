/*
 * Any bytes as a line of /proc/PID/stat: it is read as by a reader that splits
 * it at the blanks behind the last parenthesis, or refused by both. And any
 * bytes as the name in such a line: the rest is read as it is.
 */
#include "proc/procstat.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "target.h"

/* As proc(5) counts the fields: the state is the third. */
#define STATE 3
#define LAST  51
#define WORDS (LAST + 1) /* so that the end of the last one is seen */

#define NAME_MAX_SIZE 64

static bool
is_number(const char *word)
{
	const char *const digits = word + (*word == '-');

	return *digits != '\0' &&
	       strspn(digits, "0123456789") == strlen(digits);
}

/*
 * Cuts TEXT into WORDS, each between two blanks. Returns how many there are, at
 * most WORDS_MAX.
 */
static int
split(char *text, char *words[], int words_max)
{
	int count = 0;

	for (char *word; count < words_max && (word = strsep(&text, " "));)
		words[count++] = word;
	return count;
}

/* Changes TEXT. Returns whether it was read. */
static bool
read_naively(char *text, struct procstat *stat)
{
	char *words[WORDS + 1];
	long long numbers[LAST + 1];
	char *name_end = NULL;

	for (char *at = text; *at != '\0'; at++) {
		if (*at == ')')
			name_end = at;
	}
	/* The first word behind the parenthesis is empty. */
	if (name_end == NULL ||
	    split(name_end + 1, words + STATE - 1, WORDS - STATE + 2) <
	        WORDS - STATE + 2 ||
	    *words[STATE - 1] != '\0' || strlen(words[STATE]) != 1 ||
	    !isalpha((unsigned char)*words[STATE]))
		return false;
	for (int i = STATE + 1; i <= LAST; i++) {
		if (!is_number(words[i]))
			return false;
		errno = 0;
		numbers[i] = (long long)strtoull(words[i], NULL, 10);
		if (errno == ERANGE)
			return false;
	}
	*stat = (struct procstat){
		.state = *words[STATE],
		.parent = (pid_t)numbers[4],
		.group = (pid_t)numbers[5],
		.session = (pid_t)numbers[6],
		.terminal = (unsigned)numbers[7],
		.terminal_group = (pid_t)numbers[8],
		.threads = numbers[20],
		.start = (uint64_t)numbers[22],
		.exit_signal = (int)numbers[38],
		.has_empty_environment =
		    numbers[50] != 0 && numbers[50] == numbers[51],
	};
	for (int i = 14; i <= 17; i++)
		stat->cpu += (uint64_t)numbers[i];
	return true;
}

static void
require_same(const struct procstat *one, const struct procstat *other)
{
	require(one->state == other->state);
	require(one->parent == other->parent);
	require(one->group == other->group);
	require(one->session == other->session);
	require(one->terminal == other->terminal);
	require(one->terminal_group == other->terminal_group);
	require(one->threads == other->threads);
	require(one->cpu == other->cpu);
	require(one->start == other->start);
	require(one->exit_signal == other->exit_signal);
	require(one->has_empty_environment == other->has_empty_environment);
	require(procstat_is_dead(one) == procstat_is_dead(other));
}

static void
check_line(char *text)
{
	struct procstat stat;
	struct procstat expected;

	errno = 0;

	const bool is_read = procstat_parse(text, &stat) == 0;

	require(is_read || errno == EINVAL);
	require(is_read == read_naively(text, &expected));
	if (is_read)
		require_same(&stat, &expected);
}

static void
check_name(const char *name)
{
	char text[512];
	struct procstat stat;
	const struct procstat expected = {
		.state = 'Z',
		.parent = 1,
		.group = 4194304,
		.session = 3,
		.terminal = 34816,
		.terminal_group = -1,
		.threads = 2,
		.cpu = 10,
		.start = 123456789,
		.exit_signal = 17,
		.has_empty_environment = true,
	};

	(void)snprintf(text, sizeof(text),
	               "7 (%.*s) Z 1 4194304 3 34816 -1 4194560 2 0 0 0 "
	               "1 2 3 4 20 -5 2 0 123456789 3653632 198 "
	               "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 "
	               "0 0 0 0 0 1 2 3 4 140731 140731 0\n",
	               NAME_MAX_SIZE, name);
	require(procstat_parse(text, &stat) == 0);
	require_same(&stat, &expected);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* With exactly this size, so that a read beyond it is seen. */
	char *const text = malloc(size + 1);

	require(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	check_name(text);
	check_line(text);
	free(text);
	return 0;
}
