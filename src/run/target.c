/* The target: the process that becomes COMMAND, from fork to exec. */
#include <sys/prctl.h>

#include <alloca.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/message.h"
#include "proc/signals.h"
#include "run/run.h"

/* As execvp(3) in POSIX, and unlike musl's: a file that is no program to the
 * kernel (ENOEXEC) is a shell script. The shell looks the file up in PATH once
 * more, and does the same on ENOEXEC in its own exec. */
static void
execute(char *const command[], char *const environment[])
{
	static char shell[] = "/bin/sh";
	static char option[] = "-c";
	static char words[] = "exec \"$0\" \"$@\"";
	size_t size = sizeof(*command); /* of COMMAND */

	(void)execvpe(command[0], command, environment);
	if (errno != ENOEXEC)
		return;
	for (size_t i = 0; command[i] != NULL; i++)
		size += sizeof(*command);

	char **const script = alloca(3 * sizeof(*script) + size);

	script[0] = shell;
	script[1] = option;
	script[2] = words;
	memcpy(&script[3], command, size);
	(void)execve(shell, script, environment);
	errno = ENOEXEC;
}

void
target_prepare(struct run *run)
{
	struct target *const target = run->target;

	(void)signals_mask(SIG_SETMASK, SIGNALS_ALL, &target->callers_mask);
	/* If SIGCHLD is ignored, the status of children is lost: wait(2). */
	target->ignores_sigchld = signal(SIGCHLD, SIG_DFL) == SIG_IGN;
	target->shares_group =
	    !run->output.has_pty && !run->options.setsid &&
	    (terminal_share(&run->output.terminal) || run->options.foreground);
}

/* Ends the target before its exec, because of errno. */
static _Noreturn void
fail(const struct run *run, int status)
{
	const int why = errno;

	if (status == STATUS_NOT_FOUND)
		command_find_interpreter(run->options.command[0],
		                         run->facts->interpreter);
	run->facts->exec_error = why;
	_exit(status);
}

/* Where the run is, too: each other page costs a fault, and a page table. */
static volatile sig_atomic_t early_stop __attribute__((section(".data")));

/* Ctrl-Z before the exec would stop the target, and with it the supervisor,
 * which waits in vfork(2). So this handler takes the signal, until the exec. */
static void
note_early_stop(int signal)
{
	early_stop = signal;
}

/* malloc(3) and the like are safe here: the supervisor has one thread. */
static _Noreturn void
become_target(struct run *run)
{
	/* For the supervisor, whose memory this is, and for the front. */
	run->target->pid = run->tree.target = run->tree.group = getpid();
	run->facts->tree_is_empty = false;
	/* Armed first, since a supervisor that is dead sends no signal. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1)
		fail(run, STATUS_FAILED);
	if (getppid() != run->watchers.supervisor)
		(void)kill(getpid(), SIGKILL); /* as that signal would have */

	if (!run->target->shares_group)
		(void)setpgid(0, 0); /* in the supervisor's session */
	/* No process of the command may live that --reap does not know of. */
	if (record_start(&run->record, run->cleanups,
	                 run->options.cleanups.count,
	                 duration_add(duration_of_clock(CLOCK_REALTIME),
	                              run->options.timeout)) == -1) {
		message("cannot put the run on record");
		fail(run, STATUS_FAILED);
	}
	if (run->options.no_stdin)
		(void)close(STDIN_FILENO);
	if ((run->options.no_stdin && fds_fill_standard(0) == -1) ||
	    output_connect(&run->output) == -1)
		fail(run, STATUS_FAILED);
	if (!signal_is_ignored(SIGTSTP))
		(void)signal(SIGTSTP, note_early_stop);
	/* As they were before target_prepare(). */
	if (run->target->ignores_sigchld)
		(void)signal(SIGCHLD, SIG_IGN);
	(void)signals_mask(SIG_SETMASK, run->target->callers_mask, NULL);

	size_t count = 2; /* the variable, and NULL */

	for (char **variable = environ; *variable != NULL; variable++)
		count++;

	char **const environment = alloca(count * sizeof(*environment));

	runid_copy_environment(environment, run->facts->id_variable);
	execute(run->options.command, environment);
	fail(run, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN);
}

/* Sends the target a stop from before its exec, and what the terminal has sent
 * to its job in the meantime: that is pending in the front, since before the
 * supervisor's fork, or in this process, as a child has no pending signals of
 * its parent (fork(2)). The front passes it on as one that was delivered. */
static void
send_early_signals(struct run *run)
{
	static const int keys[] = { SIGINT, SIGQUIT, SIGTSTP };
	uint64_t early = early_stop != 0 ? SIGNAL_BIT(SIGTSTP) : 0;

	if (run->target->shares_group)
		early |= run->target->early_signals | signals_pending();
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if ((early & SIGNAL_BIT(keys[i])) != 0)
			tree_signal_target(&run->tree, keys[i]);
	}
}

int
target_start(struct run *run)
{
	/* Not plain_fork(): to copy the page tables, and the pages that the
	 * target writes to, costs a tenth of a start. Until its exec the target
	 * has our memory, and this process waits. NOLINTBEGIN(*ork) */
	const pid_t target = vfork();

	if (target == -1)
		return -1;
	if (target == 0)
		become_target(run);
	/* NOLINTEND(*ork) */
	send_early_signals(run);
	return 0;
}
