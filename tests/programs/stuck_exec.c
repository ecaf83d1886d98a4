/*
 * stuck_exec FILE: maps FILE, of a file system that hangs from SIGUSR1
 * on (hung_fs), changes it in memory and prints `ready PID`. On a line of stdin
 * it executes sleep(1): within execve(2), the kernel writes what was changed
 * back to FILE, and waits, with a lock that readers of /proc/PID/stat need.
 */
#include "bounded.h"

#include <fcntl.h>
#include <sys/mman.h>

int
main(int argc, char *argv[])
{
	char byte;

	bound_life();
	if (argc != 2)
		return 99;

	const int fd = open(argv[1], O_RDWR);
	volatile char *const memory =
	    fd == -1 ? MAP_FAILED
	             : mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		give_up(argv[1]);
	(void)close(fd);
	memory[0] = 'x';
	say_ready(getpid());
	if (read(STDIN_FILENO, &byte, 1) == -1)
		give_up("read");
	memory[0] = 'y';
	(void)execlp("sleep", "sleep", "1000", (char *)NULL);
	give_up("sleep");
}
