/*
 * seize PID: stops PID as a debugger does, by ptrace(2), says `ready PID` and
 * holds it until either of them ends.
 */
#include "bounded.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

int
main(int argc, char *argv[])
{
	const pid_t pid = argc > 1 ? (pid_t)atoi(argv[1]) : -1;
	int status;

	bound_life();
	if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) == -1 ||
	    waitpid(pid, &status, 0) == -1)
		give_up("ptrace");
	say_ready(pid);
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	return 0;
}
