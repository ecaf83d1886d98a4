/*
 * seize PID [FILE [SECONDS]]: stops the process as a debugger does, prints
 * `ready PID`, and holds the process until it ends, or for SECONDS. With FILE
 * it holds the process from its next system call on whose second argument is
 * a path that ends with FILE, as openat(2) has it; then it prints `held`.
 */
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "bounded.h"

/* Whether the second argument of the process's system call ends with FILE. */
static bool
calls_with(pid_t pid, const char *file)
{
	char name[32], path[64] = "";
	unsigned long address = 0;
	struct iovec own = { path, sizeof(path) - 1 }, its = { .iov_len = 63 };
	size_t length;
	FILE *call;

	(void)snprintf(name, sizeof(name), "/proc/%d/syscall", (int)pid);
	call = fopen(name, "re");
	if (call == NULL)
		return false;
	if (fscanf(call, "%*s %*s %lx", &address) != 1)
		address = 0;
	(void)fclose(call);
	its.iov_base = (void *)address;
	/* Where the memory ends behind the path, the call reads less. */
	if (process_vm_readv(pid, &own, 1, &its, 1, 0) == -1)
		return false;
	length = strlen(path);
	return length >= strlen(file) &&
	       strcmp(path + length - strlen(file), file) == 0;
}

static void
await_stop(pid_t pid)
{
	if (waitpid(pid, NULL, 0) == -1)
		give_up("waitpid");
}

int
main(int argc, char **argv)
{
	const pid_t pid = argc > 1 ? atoi(argv[1]) : 0;

	bound_life();
	if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) == -1)
		give_up("ptrace");
	await_stop(pid);
	printf("ready %d\n", (int)pid);
	(void)fflush(stdout);
	while (argc > 2 && !calls_with(pid, argv[2])) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) == -1)
			give_up("the process has ended");
		await_stop(pid);
	}
	printf("held\n");
	(void)fflush(stdout);
	if (argc > 3) {
		(void)sleep((unsigned)atoi(argv[3]));
		(void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
	} else {
		await_stop(pid);
	}
	return 0;
}
