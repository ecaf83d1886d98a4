/*
 * status COMMAND [ARG]...: runs COMMAND and prints what waitpid(2) says of it:
 * `exit N`, `signal N` or `signal N core`.
 */
#include "bounded.h"

#include <sys/wait.h>

int
main(int argc, char *argv[])
{
	int status;

	if (argc < 2)
		return 99;
	bound_life();

	const pid_t child = fork();

	if (child == -1)
		give_up("fork");
	if (child == 0) {
		execvp(argv[1], argv + 1);
		give_up(argv[1]);
	}
	if (waitpid(child, &status, 0) != child)
		give_up("waitpid");
	if (WIFEXITED(status))
		printf("exit %d\n", WEXITSTATUS(status));
	else
		printf("signal %d%s\n", WTERMSIG(status),
		       WCOREDUMP(status) ? " core" : "");
	return 0;
}
