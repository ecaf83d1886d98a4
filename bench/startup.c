/*
 * What a wrapper costs at the start: wall time, from before the spawn to after
 * the wait, of a command that does nothing, bare and under each wrapper.
 *
 * Usage: startup ROUNDS COMMAND NAME=WRAPPER...
 *
 * WRAPPER is a prefix in words ("/usr/bin/timeout 60"); COMMAND is appended to
 * it. Each round runs the bare command and each wrapper once, in a new random
 * order, so that whatever else the machine does meets all of them alike.
 *
 * Prints a line "NAME MEDIAN OVERHEAD" for each, in microseconds, where the
 * overhead is the median less that of the bare command, named "bare".
 */
#include <sys/types.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_MAX     20000
#define WARM_UP_ROUNDS 20
#define CANDIDATES_MAX 32
#define WORDS_MAX      16

extern char **environ;

struct candidate {
	const char *name;
	char *words[WORDS_MAX + 1]; /* with the final NULL */
	int64_t nanoseconds[ROUNDS_MAX];
};

static _Noreturn void
fail(const char *what)
{
	perror(what);
	exit(1);
}

static int64_t
now_ns(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC, &now) == -1)
		fail("clock_gettime");
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Splits "NAME=WORD WORD..." in place, and appends the command. */
static void
candidate_parse(struct candidate *candidate, char *text, char *command)
{
	char *const wrapper = strchr(text, '=');
	size_t count = 0;

	if (wrapper == NULL) {
		(void)fprintf(stderr, "startup: '%s' is not NAME=WRAPPER\n",
		              text);
		exit(2);
	}
	*wrapper = '\0';
	candidate->name = text;

	char *rest = NULL;
	char *word = strtok_r(wrapper + 1, " ", &rest);
	for (; word != NULL; word = strtok_r(NULL, " ", &rest)) {
		if (count == WORDS_MAX - 1) {
			(void)fprintf(stderr, "startup: %s: too many words\n",
			              text);
			exit(2);
		}
		candidate->words[count++] = word;
	}
	candidate->words[count] = command;
}

/* stdin is /dev/null: no wrapper is to meet a terminal there. */
static int64_t
time_one_run(const struct candidate *candidate)
{
	pid_t pid = -1;
	int status = 0;

	const int64_t start = now_ns();
	const int why = posix_spawn(&pid, candidate->words[0], NULL, NULL,
	                            candidate->words, environ);
	if (why != 0 || waitpid(pid, &status, 0) != pid) {
		(void)fprintf(stderr, "startup: %s: cannot run %s\n",
		              candidate->name, candidate->words[0]);
		exit(1);
	}
	const int64_t end = now_ns();

	if (status != 0) {
		(void)fprintf(stderr, "startup: %s: wait status %d\n",
		              candidate->name, status);
		exit(1);
	}
	return end - start;
}

/* Fisher-Yates; the seed is fixed, so two runs use the same orders. */
static void
shuffle(size_t *order, size_t count)
{
	static uint64_t seed = 88172645463325252;

	for (size_t left = count; left > 1; left--) {
		seed ^= seed << 13; /* xorshift64, Marsaglia 2003 */
		seed ^= seed >> 7;
		seed ^= seed << 17;

		const size_t other = (size_t)(seed % left);
		const size_t kept = order[left - 1];
		order[left - 1] = order[other];
		order[other] = kept;
	}
}

static int
compare(const void *left, const void *right)
{
	const int64_t a = *(const int64_t *)left;
	const int64_t b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

static double
median_us(int64_t *nanoseconds, int count)
{
	qsort(nanoseconds, (size_t)count, sizeof(*nanoseconds), compare);
	return (double)nanoseconds[count >> 1] / 1e3;
}

static void
run_rounds(struct candidate *candidates, size_t count, int rounds)
{
	size_t order[CANDIDATES_MAX];

	for (size_t i = 0; i < count; i++)
		order[i] = i;

	for (int round = -WARM_UP_ROUNDS; round < rounds; round++) {
		shuffle(order, count);
		for (size_t i = 0; i < count; i++) {
			struct candidate *const one = &candidates[order[i]];
			const int64_t taken = time_one_run(one);

			if (round >= 0)
				one->nanoseconds[round] = taken;
		}
	}
}

int
main(int argc, char *argv[])
{
	static struct candidate candidates[CANDIDATES_MAX];
	char bare_text[] = "bare=";

	if (argc < 3 || argc - 3 > CANDIDATES_MAX - 1) {
		(void)fprintf(stderr, "usage: startup ROUNDS COMMAND "
		                      "NAME=WRAPPER...\n");
		return 2;
	}

	const long rounds = strtol(argv[1], NULL, 10);
	if (rounds < 1 || rounds > ROUNDS_MAX) {
		(void)fprintf(stderr, "startup: '%s' is not 1 to %d rounds\n",
		              argv[1], ROUNDS_MAX);
		return 2;
	}

	const int null_fd = open("/dev/null", O_RDONLY);
	if (null_fd == -1 || dup2(null_fd, STDIN_FILENO) == -1)
		fail("/dev/null");
	if (null_fd > STDERR_FILENO)
		(void)close(null_fd);

	size_t count = 0;
	candidate_parse(&candidates[count++], bare_text, argv[2]);
	for (int i = 3; i < argc; i++)
		candidate_parse(&candidates[count++], argv[i], argv[2]);

	run_rounds(candidates, count, (int)rounds);

	const double bare = median_us(candidates[0].nanoseconds, (int)rounds);
	(void)printf("bare %.1f 0.0\n", bare);
	for (size_t i = 1; i < count; i++) {
		const double median =
		    median_us(candidates[i].nanoseconds, (int)rounds);

		(void)printf("%s %.1f %.1f\n", candidates[i].name, median,
		             median - bare);
	}
	return 0;
}
