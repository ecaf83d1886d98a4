/*
 * What a wrapper costs at the start: wall time, from before the spawn to after
 * the wait, of a command that does nothing, bare and under each wrapper.
 *
 * Usage: startup ROUNDS COMMAND NAME=WRAPPER...
 *
 * WRAPPER is a prefix in words ("/usr/bin/timeout 60"), to which COMMAND is
 * appended. Each round runs the bare command and each wrapper once, in a new
 * random order, so that other load of the machine affects all of them alike.
 *
 * Prints a line "NAME MEDIAN OVERHEAD" for each, in microseconds. The overhead
 * is the median minus the median of the bare command, which is named "bare".
 */
#include "common.h"

#include <sys/wait.h>

#include <fcntl.h>
#include <spawn.h>

#define ROUNDS_MAX     20000
#define WARM_UP_ROUNDS 20

extern char **environ;

/* stdin is /dev/null, so that no wrapper has a terminal there. */
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

static void
run_rounds(struct candidate *candidates, size_t count, int rounds)
{
	size_t order[CANDIDATES_MAX];

	for (int round = -WARM_UP_ROUNDS; round < rounds; round++) {
		shuffle(order, count);
		for (size_t i = 0; i < count; i++) {
			struct candidate *const one = &candidates[order[i]];
			const int64_t taken = time_one_run(one);

			if (round >= 0)
				candidate_note(one, taken);
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

	const int rounds = number(argv[1], 1, ROUNDS_MAX);

	const int null_fd = open("/dev/null", O_RDONLY);
	if (null_fd == -1 || dup2(null_fd, STDIN_FILENO) == -1)
		fail("/dev/null");
	if (null_fd > STDERR_FILENO)
		(void)close(null_fd);

	size_t count = 0;
	candidate_parse(&candidates[count++], bare_text);
	for (int i = 3; i < argc; i++)
		candidate_parse(&candidates[count++], argv[i]);
	for (size_t i = 0; i < count; i++)
		candidates[i].words[candidates[i].word_count] = argv[2];

	run_rounds(candidates, count, rounds);

	const double bare = candidate_median(&candidates[0]) / 1e3;
	(void)printf("bare %.1f 0.0\n", bare);
	for (size_t i = 1; i < count; i++) {
		const double median = candidate_median(&candidates[i]) / 1e3;

		(void)printf("%s %.1f %.1f\n", candidates[i].name, median,
		             median - bare);
	}
	return 0;
}
