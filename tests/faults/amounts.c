/* Measures what may leak. */
#include "amounts.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "../programs/trial.h"

#define FREEING_TIME   (10000 * MILLISECOND)
#define PAUSE_US       200000
#define FILES_SLACK    2000 /* what other processes on this machine may open */
#define SHARED_SLACK   (16 * 1024)
#define RESIDENT_SLACK 512 /* both in KiB */

static long
count_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	long count = 0;

	while (directory != NULL && readdir(directory) != NULL)
		count++;
	if (directory != NULL)
		(void)closedir(directory);
	return count;
}

/*
 * Returns the number behind KEY in FILE, or the first number without KEY; 0
 * where there is none.
 */
static long
read_number(const char *file, const char *key)
{
	FILE *const stream = fopen(file, "re");
	char line[256];
	long number = 0;

	while (stream != NULL && fgets(line, sizeof(line), stream) != NULL) {
		if (strncmp(line, key, strlen(key)) == 0) {
			number = strtol(line + strlen(key), NULL, 10);
			break;
		}
	}
	if (stream != NULL)
		(void)fclose(stream);
	return number;
}

struct amounts
amounts_measure(void)
{
	return (struct amounts){
		.descriptors = count_descriptors(),
		.resident = read_number("/proc/self/status", "VmRSS:"),
		.files = read_number("/proc/sys/fs/file-nr", ""),
		.shared = read_number("/proc/meminfo", "Shmem:"),
	};
}

bool
amounts_are_no_more(const struct amounts *before, const struct amounts *after)
{
	return after->descriptors <= before->descriptors &&
	       after->resident <= before->resident + RESIDENT_SLACK &&
	       after->files <= before->files + FILES_SLACK &&
	       after->shared <= before->shared + SHARED_SLACK;
}

struct amounts
amounts_remeasure(const struct amounts *before)
{
	const int64_t deadline = now() + FREEING_TIME;
	struct amounts after = amounts_measure();

	while (!amounts_are_no_more(before, &after) && now() < deadline) {
		(void)usleep(PAUSE_US);
		after = amounts_measure();
	}
	return after;
}

void
amounts_print(const struct amounts *before, const struct amounts *after)
{
	printf("soak: descriptors %ld, then %ld; memory %ld, then %ld KiB; "
	       "of the machine: open files %ld, then %ld; shared memory %ld, "
	       "then %ld KiB\n",
	       before->descriptors, after->descriptors, before->resident,
	       after->resident, before->files, after->files, before->shared,
	       after->shared);
}
