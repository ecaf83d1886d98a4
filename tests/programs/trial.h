/*
 * What the programs share that run wdrun again and again, and look at what it
 * leaves: time, random numbers, messages, locks.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define MICROSECOND INT64_C(1000)
#define MILLISECOND INT64_C(1000000)
#define TEXT_MAX    512

/* Returns the time in nanoseconds, as all moments here. */
static inline int64_t
now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 * MILLISECOND + time.tv_nsec;
}

static inline void
sleep_until(int64_t moment)
{
	const struct timespec time = {
		.tv_sec = moment / (1000 * MILLISECOND),
		.tv_nsec = moment % (1000 * MILLISECOND),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) ==
	       EINTR)
		continue;
}

/*
 * SplitMix64: the numbers of all seeds are equally good, so that a trial
 * depends on the seed and its own number only.
 */
static inline uint64_t
random_number(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Copies the last line of FILE without its newline. */
static inline void
last_line(const char *file, char text[TEXT_MAX])
{
	char buffer[TEXT_MAX] = "";
	const int fd = open(file, O_RDONLY | O_CLOEXEC);
	const off_t size = fd == -1 ? 0 : lseek(fd, 0, SEEK_END);
	const off_t from = size < TEXT_MAX ? 0 : size - (TEXT_MAX - 1);
	ssize_t length = fd == -1 ? 0 : pread(fd, buffer, TEXT_MAX - 1, from);

	if (fd != -1)
		(void)close(fd);
	if (length > 0 && buffer[length - 1] == '\n')
		length--;
	buffer[length < 0 ? 0 : length] = '\0';

	const char *start = strrchr(buffer, '\n');

	(void)snprintf(text, TEXT_MAX, "%s",
	               start == NULL ? buffer : start + 1);
}

/* Returns whether the lock is free or does not exist, without a wait. */
static inline bool
lock_is_free(const char *file)
{
	const int fd = open(file, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (fd == -1)
		return errno == ENOENT;

	const bool is_free = flock(fd, LOCK_EX | LOCK_NB) == 0;

	(void)close(fd);
	return is_free;
}
