/* Letting go of the caller's descriptors. */
#include "descriptors.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#define FIRST_OTHER 3
#define TRIED_MAX   (1 << 20) /* takes a tenth of a second */

#ifndef SYS_close_range
#define SYS_close_range 436 /* the same on every architecture but alpha */
#endif

int
descriptors_open_null(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd < FIRST_OTHER);
	return fd;
}

static void
close_listed(unsigned first, unsigned last, DIR *list)
{
	const int list_fd = dirfd(list);

	for (const struct dirent *entry; (entry = readdir(list)) != NULL;) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;

		const long fd = strtol(entry->d_name, NULL, 10);

		if (fd >= first && fd <= last && fd != list_fd)
			(void)close((int)fd);
	}
}

/* close_range(2) for a kernel before 5.9, or a filter that forbids it. */
static void
close_one_by_one(unsigned first, unsigned last)
{
	struct rlimit limit = { .rlim_cur = FIRST_OTHER };
	DIR *const list = opendir("/proc/self/fd");

	if (list != NULL) {
		close_listed(first, last, list);
		(void)closedir(list);
		return;
	}

	/* The hard limit: the soft one may have been lowered since. But it may
	 * be a thousand million. */
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_max > TRIED_MAX)
		limit.rlim_max = TRIED_MAX;
	for (rlim_t fd = first; fd <= last && fd < limit.rlim_max; fd++)
		(void)close((int)fd);
}

static void
close_from_to(unsigned first, unsigned last)
{
	if (first <= last && syscall(SYS_close_range, first, last, 0) == -1)
		close_one_by_one(first, last);
}

/* Not qsort(3): for four numbers it takes a page of stack more than this, in
 * both watchers, and pages are what a short run pays for. */
static void
sort(int numbers[], size_t count)
{
	for (size_t i = 1; i < count; i++) {
		const int number = numbers[i];
		size_t to = i;

		for (; to > 0 && numbers[to - 1] > number; to--)
			numbers[to] = numbers[to - 1];
		numbers[to] = number;
	}
}

static void
close_all_but(int keep[], size_t count)
{
	unsigned first = FIRST_OTHER;

	sort(keep, count);
	for (size_t i = 0; i < count; i++) {
		if (keep[i] < FIRST_OTHER)
			continue;
		close_from_to(first, (unsigned)keep[i] - 1);
		first = (unsigned)keep[i] + 1;
	}
	close_from_to(first, UINT_MAX);
}

void
descriptors_release(int null_fd, int keep[], size_t count)
{
	(void)dup2(null_fd, STDIN_FILENO);
	(void)dup2(null_fd, STDOUT_FILENO);
	close_all_but(keep, count);
	if (chdir("/") == -1)
		return; /* barred from the root: then it stays where it is */
}
