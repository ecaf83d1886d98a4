/*
 * litter FILE DIRECTORY [MILLISECONDS [STATUS]]: leaves what a run may leave
 * behind. Writes its PID into FILE and makes DIRECTORY, as shell scripts make
 * locks; starts a daemon, and a process that has a session of its own and
 * ignores SIGTERM; prints `ready PID`. Then it lives on, or exits after
 * MILLISECONDS.
 */
#include "bounded.h"

#include <fcntl.h>
#include <sys/stat.h>

static void
take_lock(const char *file)
{
	const int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd == -1 || dprintf(fd, "%d\n", (int)getpid()) < 0)
		give_up(file);
	(void)close(fd);
}

static void
start_stubborn(void)
{
	if (fork_bounded() != 0)
		return;
	(void)setsid();
	(void)signal(SIGTERM, SIG_IGN);
	live();
}

static void
start_daemon(void)
{
	if (fork_bounded() != 0)
		return;
	(void)setsid();
	if (fork_bounded() != 0)
		_exit(0);
	live();
}

int
main(int argc, char *argv[])
{
	if (argc < 3)
		return 99;
	bound_life();
	take_lock(argv[1]);
	if (mkdir(argv[2], 0777) == -1)
		give_up(argv[2]);
	start_stubborn();
	start_daemon();
	say_ready(getpid());
	if (argc == 3)
		live();
	(void)usleep((useconds_t)atoi(argv[3]) * 1000);
	return argc == 4 ? 0 : atoi(argv[4]);
}
