/* The barest program with two processes around a command: what a start costs
 * that has nothing to do. */
#include <sys/wait.h>

#include <unistd.h>

int
main(int argc, char *argv[])
{
	int status = 0;

	(void)argc;
	if (fork() == 0) {
		(void)setsid();
		if (fork() == 0) {
			(void)execv(argv[1], argv + 1);
			_exit(127);
		}
	}
	(void)wait(&status);
	_exit(status >> 8);
}
