/*
 * launch [OPTION]... COMMAND [ARG]...: executes COMMAND as a child of an
 * unusual parent.
 *
 *	--defaults     every signal has its default action, none is blocked
 *	--block SIG    SIG is blocked
 *	--ignore SIG   SIG is ignored
 *	--pending SIG  SIG is blocked, and has come
 *	--close FD     FD is closed
 *	--group        COMMAND is a job, which SIGTSTP stops: launch stays its
 *	               parent, and exits with its status
 *
 * bash ignores SIGINT in its background jobs and cannot undo that, nor can it
 * block a signal, or have jobs without a terminal: hence this program.
 */
#include "bounded.h"

#include <getopt.h>
#include <sys/wait.h>

static void
change_mask(int how, int number)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, number);
	if (sigprocmask(how, &set, NULL) == -1)
		give_up("sigprocmask");
}

/* Gets the signal from another process, as signals usually come. */
static void
be_sent(int number)
{
	const pid_t self = getpid();
	const pid_t sender = fork();

	if (sender == -1)
		give_up("fork");
	if (sender == 0)
		_exit(kill(self, number) == 0 ? 0 : 99);
	if (waitpid(sender, NULL, 0) != sender)
		give_up("waitpid");
}

/*
 * Returns in a child that leads a process group. This process is its parent in
 * the same session, so that the group is not orphaned: setpgid(2).
 */
static void
become_job(void)
{
	int status;
	const pid_t pid = fork_bounded();

	if (pid == 0) {
		if (setpgid(0, 0) == -1)
			give_up("setpgid");
		return;
	}
	if (waitpid(pid, &status, 0) != pid)
		give_up("waitpid");
	_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status)
	                          : WEXITSTATUS(status));
}

int
main(int argc, char *argv[])
{
	static const struct option options[] = {
		{ "defaults", no_argument, NULL, 'd' },
		{ "block", required_argument, NULL, 'b' },
		{ "ignore", required_argument, NULL, 'i' },
		{ "pending", required_argument, NULL, 'p' },
		{ "close", required_argument, NULL, 'c' },
		{ "group", no_argument, NULL, 'g' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		switch (option) {
		case 'd':
			reset_signals();
			break;
		case 'b':
			change_mask(SIG_BLOCK, signal_number(optarg));
			break;
		case 'i':
			(void)signal(signal_number(optarg), SIG_IGN);
			break;
		case 'p':
			change_mask(SIG_BLOCK, signal_number(optarg));
			be_sent(signal_number(optarg));
			break;
		case 'c':
			(void)close(atoi(optarg));
			break;
		case 'g':
			become_job();
			break;
		default:
			return 99;
		}
	}
	if (optind == argc)
		return 99;
	execvp(argv[optind], argv + optind);
	give_up(argv[optind]);
}
