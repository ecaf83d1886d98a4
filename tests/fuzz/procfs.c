/*
 * Any bytes as a line of /proc/PID/stat: it is read within its bounds, or
 * refused. And any bytes as the name in such a line, which a process chooses:
 * the rest is read as it is.
 */
#include "proc/procfs.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "target.h"

#define NAME_MAX_SIZE 64

static void
check_line(const char *text)
{
	struct procstat stat;

	if (procstat_parse(text, &stat) == 0)
		require(isalpha((unsigned char)stat.state));
}

static void
check_name(const char *name)
{
	char text[512];
	struct procstat stat;

	(void)snprintf(text, sizeof(text),
	               "7 (%.*s) Z 1 4194304 3 34816 -1 4194560 2 0 0 0 "
	               "1 2 3 4 20 -5 2 0 123456789 3653632 198 "
	               "18446744073709551615 1 1 0 0 0 0 0\n",
	               NAME_MAX_SIZE, name);
	require(procstat_parse(text, &stat) == 0);
	require(stat.state == 'Z');
	require(stat.parent == 1);
	require(stat.session == 3);
	require(stat.cpu == 100 * MILLISECOND);
	require(stat.start == 123456789);
	require(!stat.is_dead);
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
