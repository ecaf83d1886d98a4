/*
 * impostor PID: starts a process that has PID, which has to be free, and prints
 * `ready PID` when it lives. Needs root: clone3(2), set_tid.
 */
#include "bounded.h"

#include <linux/sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int
main(int argc, char *argv[])
{
	pid_t pid = argc > 1 ? atoi(argv[1]) : 0;
	struct clone_args arguments = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&pid,
		.set_tid_size = 1,
	};

	bound_life();

	const long child = syscall(SYS_clone3, &arguments, sizeof(arguments));

	if (child == -1)
		give_up("clone3");
	if (child == 0) {
		bound_life();
		live();
	}
	say_ready(pid);
	return waitpid(pid, NULL, 0) == pid ? 0 : 99;
}
