/*
 * Any bytes as a lock file: a PID is read as a simple reader would read it; a
 * lock is taken only where no living process is named, and every other file is
 * left as it was, byte for byte.
 */
#include "lock/lockfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lock/pidfile.h"
#include "require.h"

#define PID_MAX_LIMIT 4194304
#define READ_MAX      64 /* a text of this length is no PID */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[] = "/tmp/wdrun-fuzz.XXXXXX";
static char path[64];
static struct pathat at;

static void
remove_directory(void)
{
	(void)unlink(path);
	(void)rmdir(directory);
}

static void
make_directory(void)
{
	if (path[0] != '\0')
		return;
	require(mkdtemp(directory) != NULL);
	(void)snprintf(path, sizeof(path), "%s/lock", directory);
	require(pathat_open(&at, path, PATHAT_MUST_EXIST) == 0);
	(void)atexit(remove_directory);
}

/* Returns the PID in TEXT; 0 for blanks; -1 for anything else. */
static long long
read_naively(const char *text, size_t size)
{
	static const char blanks[] = " \t\n\v\f\r";
	const char *const start = text + strspn(text, blanks);
	const size_t digits = strspn(start, "0123456789");
	const char *const end = start + digits;
	long long pid;

	if (strlen(text) != size || end[strspn(end, blanks)] != '\0')
		return -1;
	if (digits == 0)
		return *start == '\0' ? 0 : -1;
	errno = 0;
	pid = strtoll(start, NULL, 10);
	return errno != 0 || pid == 0 || pid > INT_MAX ? -1 : pid;
}

/* Writes the file with a modification time long ago. */
static void
write_file(const uint8_t *data, size_t size)
{
	const struct timespec then[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	require(fd != -1 && write(fd, data, size) == (ssize_t)size);
	require(futimens(fd, then) == 0);
	(void)close(fd);
}

static bool
is_untouched(const uint8_t *data, size_t size)
{
	uint8_t *const now = malloc(size + 1);
	const int fd = open(path, O_RDONLY);
	const bool is_same = fd != -1 &&
	                     read(fd, now, size + 1) == (ssize_t)size &&
	                     memcmp(now, data, size) == 0;

	(void)close(fd);
	free(now);
	return is_same;
}

static void
try_to_take(const uint8_t *data, size_t size, long long pid)
{
	struct lockfile lock = { .at = at, .fd = -1 };
	const int result = lockfile_take(&lock);

	if (pid == -1) {
		require(result == -1 && errno == EINVAL);
		require(is_untouched(data, size));
		return;
	}
	/*
	 * No living process has written in 1970, except for this process
	 * itself.
	 */
	require(result == 0 && lock.is_taken &&
	        lock.last_owner == (pid == getpid() ? 0 : pid));
	require(lockfile_release(&lock, (pid_t[2]){ getpid() }) == 0);
	require(access(path, F_OK) == -1);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[4096 + 1];

	if (size >= sizeof(text))
		return 0;
	make_directory();
	memcpy(text, data, size);
	text[size] = '\0';

	const long long pid = read_naively(text, size);

	require(pidfile_parse((const char *)data, size) == pid);

	const long long known = size >= READ_MAX ? -1 : pid;

	write_file(data, size);
	const struct lockfile_rule rule = { .own = (pid_t[2]){ 0 } };
	const bool is_pid = known > 0 && known <= PID_MAX_LIMIT;

	require(lockfile_remove(&at, &rule) == (known <= 0 ? -1 : is_pid));
	if (is_pid)
		write_file(data, size);
	try_to_take(data, size, known);
	return 0;
}
