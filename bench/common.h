#pragma once

/*
 * What the benchmarks share: candidates, which are the ways to do a thing that
 * are compared, with their samples and medians. bench/run starts the
 * benchmarks. A benchmark ends when anything goes wrong.
 */
#include <sys/types.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CANDIDATES_MAX 32
#define WORDS_MAX      24
#define WORDS_APPENDED 5 /* at most, by the benchmark itself */

struct candidate {
	const char *name;
	char *words[WORDS_MAX + WORDS_APPENDED + 1]; /* and the final NULL */
	size_t word_count;
	int64_t *samples; /* nanoseconds */
	size_t sample_count;
	size_t sample_room;
};

static inline _Noreturn void
fail(const char *what)
{
	perror(what);
	exit(1);
}

static inline int64_t
now_ns(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC, &now) == -1)
		fail("clock_gettime");
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline pid_t
fork_or_fail(void)
{
	const pid_t pid = fork();

	if (pid == -1)
		fail("fork");
	return pid;
}

/* Reads a number from the command line. */
static inline int
number(const char *text, int min, int max)
{
	char *end = NULL;
	const long value = strtol(text, &end, 10);

	if (end == text || *end != '\0' || value < min || value > max) {
		(void)fprintf(stderr, "%s: '%s' is not %d to %d\n",
		              program_invocation_short_name, text, min, max);
		exit(2);
	}
	return (int)value;
}

/* Splits "NAME=WORD WORD..." in place. There may be no WORD. */
static inline void
candidate_parse(struct candidate *candidate, char *text)
{
	char *const words = strchr(text, '=');
	char *rest = NULL;

	if (words == NULL) {
		(void)fprintf(stderr, "%s: '%s' is not NAME=WORDS\n",
		              program_invocation_short_name, text);
		exit(2);
	}
	*words = '\0';
	candidate->name = text;

	char *word = strtok_r(words + 1, " ", &rest);
	for (; word != NULL; word = strtok_r(NULL, " ", &rest)) {
		if (candidate->word_count == WORDS_MAX) {
			(void)fprintf(stderr, "%s: %s: too many words\n",
			              program_invocation_short_name, text);
			exit(2);
		}
		candidate->words[candidate->word_count++] = word;
	}
}

static inline void
candidate_note(struct candidate *candidate, int64_t sample)
{
	if (candidate->sample_count == candidate->sample_room) {
		const size_t room = 2 * candidate->sample_room + 64;
		int64_t *const samples =
		    realloc(candidate->samples, room * sizeof(*samples));

		if (samples == NULL)
			fail("realloc");
		candidate->samples = samples;
		candidate->sample_room = room;
	}
	candidate->samples[candidate->sample_count++] = sample;
}

static inline int
candidate_compare_samples(const void *left, const void *right)
{
	const int64_t a = *(const int64_t *)left;
	const int64_t b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

/* Returns the median in nanoseconds. Sorts the samples. */
static inline double
candidate_median(struct candidate *candidate)
{
	if (candidate->sample_count == 0)
		return 0;
	qsort(candidate->samples, candidate->sample_count,
	      sizeof(*candidate->samples), candidate_compare_samples);
	return (double)candidate->samples[candidate->sample_count / 2];
}

/*
 * Writes 0 to COUNT - 1 into ORDER, in a new random order with each call:
 * Fisher-Yates. The seed is fixed, so that two runs have the same orders.
 */
static inline void
shuffle(size_t *order, size_t count)
{
	static uint64_t seed = 88172645463325252;

	for (size_t i = 0; i < count; i++)
		order[i] = i;
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
