/* Lock files with a PID: what counts as a PID, and when the lock is stale. */
#include "lock/pidfile.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/duration.h"
#include "check.h"
#include "proc/procfs.h"

static const struct {
	const char *text;
	pid_t pid;
} texts[] = {
	{ "4711\n", 4711 },
	{ "4711", 4711 },
	{ " 4711 \n\n", 4711 },
	{ "\t0004711\r\n", 4711 },
	{ "1\n", 1 },
	{ "\r\f\v\t 1 \t\n", 1 },
	{ "2147483647", INT_MAX },
	{ "2147483648", -1 },
	{ "4294971307", -1 },
	{ "18446744073709551617\n", -1 },
	{ "99999999999999999999999999999999", -1 },
	{ "", 0 },
	{ "\n", 0 },
	{ " \t\n", 0 },
	{ "0\n", -1 },
	{ "000", -1 },
	{ "-1", -1 },
	{ "+1", -1 },
	{ "4711 4712", -1 },
	{ "4711 host", -1 },
	{ "4711x", -1 },
	{ "pid 4711", -1 },
	{ "0x10", -1 },
	{ "\xc2\xa0"
	  "4711\n",
	  -1 },
};

static void
check_texts(void)
{
	for (size_t i = 0; i < COUNT(texts); i++) {
		const char *const text = texts[i].text;

		errno = 0;
		CHECK(pidfile_parse(text, strlen(text)) == texts[i].pid, text);
		CHECK((errno == EINVAL) == (texts[i].pid == -1), text);
	}
	CHECK(pidfile_parse("47\0011", 5) == -1, "a control character");
	CHECK(pidfile_parse("47\00011", 5) == -1, "a null byte");
}

static void
check_owners(void)
{
	const int64_t now = duration_since_epoch();
	const pid_t parent = getppid();
	int status;
	const pid_t child = fork();

	if (child == 0)
		_exit(0);

	siginfo_t info;

	(void)waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
	CHECK(pidfile_owner_state(child, now) == OWNER_DEAD, "a zombie");
	(void)waitpid(child, &status, 0);
	CHECK(pidfile_owner_state(child, now) == OWNER_DEAD, "nobody");
	CHECK(pidfile_owner_state(INT_MAX, now) == OWNER_DEAD, "no PID");
	CHECK(pidfile_owner_state(parent, now) == OWNER_ALIVE, "our parent");
	CHECK(pidfile_owner_state(parent, INT64_MAX) == OWNER_ALIVE,
	      "our parent, in a file from the future");
	CHECK(pidfile_owner_state(parent, 0) == OWNER_REUSED,
	      "our parent, in a file from long ago");
	CHECK(pidfile_owner_state(1, now) == OWNER_ALIVE, "process 1");
	CHECK(pidfile_owner_state(getpid(), now) == OWNER_REUSED, "ourselves");
}

int
main(void)
{
	procfs_start();
	check_texts();
	check_owners();
	return failures;
}
