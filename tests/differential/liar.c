/*
 * liar LIE COMMAND [ARG]...: runs COMMAND, and changes one thing that a wrapper
 * must not change. With no LIE of this list: nothing.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
tell_lie(const char *lie)
{
	sigset_t set;
	char byte;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR2);

	if (strcmp(lie, "leaks-descriptor") == 0) {
		(void)open("/dev/null", O_RDONLY);
	} else if (strcmp(lie, "closes-descriptor") == 0) {
		(void)close(STDIN_FILENO);
	} else if (strcmp(lie, "blocks-signal") == 0) {
		(void)sigprocmask(SIG_BLOCK, &set, NULL);
	} else if (strcmp(lie, "ignores-signal") == 0) {
		(void)signal(SIGPIPE, SIG_IGN);
	} else if (strcmp(lie, "umask") == 0) {
		(void)umask(0137);
	} else if (strcmp(lie, "directory") == 0) {
		(void)chdir("/");
	} else if (strcmp(lie, "nice") == 0) {
		(void)setpriority(PRIO_PROCESS, 0, 11);
	} else if (strcmp(lie, "non-blocking") == 0) {
		(void)fcntl(STDOUT_FILENO, F_SETFL,
		            fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
	} else if (strcmp(lie, "environment") == 0) {
		(void)setenv("LIAR", "1", 1);
	} else if (strcmp(lie, "reads-input") == 0) {
		(void)read(STDIN_FILENO, &byte, 1);
	} else if (strcmp(lie, "offset") == 0) {
		(void)lseek(STDIN_FILENO, 1, SEEK_CUR);
	} else if (strcmp(lie, "limit") == 0) {
		(void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	}
}

int
main(int argc, char *argv[])
{
	int status;

	if (argc < 3)
		return 95;
	tell_lie(argv[1]);
	if (strcmp(argv[1], "exits-for-signal") != 0 &&
	    strcmp(argv[1], "loses-status") != 0) {
		(void)execvp(argv[2], &argv[2]);
		return 94;
	}
	(void)signal(SIGCHLD, SIG_DFL);
	const pid_t child = fork();

	if (child == 0) {
		(void)execvp(argv[2], &argv[2]);
		_exit(93);
	}
	(void)waitpid(child, &status, 0);
	if (strcmp(argv[1], "loses-status") == 0)
		return 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
	                           : WEXITSTATUS(status);
}
