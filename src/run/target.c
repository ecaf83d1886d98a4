/* The target: the process that becomes COMMAND, from fork to exec. */
#include "run/target.h"

#include <sys/prctl.h>

#include <alloca.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "base/status.h"
#include "io/output.h"
#include "io/tty.h"
#include "proc/signals.h"
#include "run/exec_failure.h"
#include "run/report.h"
#include "run/resources.h"
#include "run/run.h"
#include "run/statuspipe.h"

/* The number of STRINGS before the final NULL. */
static size_t
/* cppcheck-suppress constParameter ; the items are const */
count(char *const strings[])
{
	size_t number = 0;

	while (strings[number] != NULL)
		number++;
	return number;
}

/* Copies the environment FROM to TO, with ID, which has an outer run's within,
 * instead of its WDRUN_ID. TO has room for two more strings than FROM has. */
static void
add_id(char **to, char *const *from, char *id)
{
	const size_t name = strcspn(id, "=") + 1;

	for (; *from != NULL; from++) {
		if (strncmp(*from, id, name) != 0)
			*to++ = *from;
	}
	*to++ = id;
	*to = NULL;
}

/* As execvp(3) in POSIX, and unlike musl's: a file that is no program to the
 * kernel (ENOEXEC) is a shell script. The shell looks the file up in PATH once
 * more, and does the same on ENOEXEC in its own exec. */
static void
execute(char *const command[])
{
	static char shell[] = "/bin/sh";
	static char option[] = "-c";
	static char words[] = "exec \"$0\" \"$@\"";
	const size_t words_count = count(command);
	/* cppcheck-suppress allocaCalled ; see become_target */
	char **const script = alloca((words_count + 4) * sizeof(*script));

	(void)execvp(command[0], command);
	if (errno != ENOEXEC)
		return;
	script[0] = shell;
	script[1] = option;
	script[2] = words;
	memcpy(&script[3], &command[0], (words_count + 1) * sizeof(*script));
	(void)execv(shell, script);
	errno = ENOEXEC;
}

int
target_prepare(struct run *run)
{
	struct target *const target = &run->target;
	const struct sigaction by_default = { .sa_handler = SIG_DFL };
	struct sigaction sigchld;

	if (signals_block(&target->callers_mask) == -1) {
		message("cannot block signals: %s", strerror(errno));
		return -1;
	}
	/* If SIGCHLD is ignored, the kernel reaps children by itself, and their
	 * status is lost: wait(2). give_signals() undoes this for the
	 * target. */
	if (sigaction(SIGCHLD, &by_default, &sigchld) == -1) {
		message("cannot reset SIGCHLD: %s", strerror(errno));
		return -1;
	}
	target->ignores_sigchld = sigchld.sa_handler == SIG_IGN;

	run->tty.fd = -1;
	target->shares_group = !run->output.has_pty && !run->options.setsid &&
	                       (tty_open(&run->tty) || run->options.foreground);
	return 0;
}

/* Ends the target before its exec. The front prints WHY, an errno. */
static _Noreturn void
fail(const struct run *run, int why, int status)
{
	struct statuspipe entry = { .exec_errno = why };

	if (why == ENOENT)
		exec_failure_look(run->options.command[0], &entry);
	statuspipe_send(run->watchers.statuspipe[1], &entry);
	report_note_exec_failure(run, why);
	_exit(status);
}

/* Puts the command's own stdin, stdout and stderr in place. */
static int
give_descriptors(const struct run *run)
{
	if (run->options.no_stdin &&
	    dup2(run->watchers.null_fd, STDIN_FILENO) == -1)
		return -1;
	return output_connect(&run->output);
}

/* Undoes target_prepare() for the target. */
static void
give_signals(const struct target *target)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	if (target->ignores_sigchld)
		(void)sigaction(SIGCHLD, &ignore, NULL);
	(void)signals_set_mask(target->callers_mask);
}

/* Async-signal-safe, but for resources_register(), which is safe since the
 * parent has one thread and forked by _Fork(). */
static _Noreturn void
become_target(struct run *run, pid_t supervisor)
{
	/* On the stack, as malloc(3) is not async-signal-safe. check_stack() in
	 * watchdog.c makes sure that there is room. */
	char **const environment =
	    /* cppcheck-suppress allocaCalled ; for that reason */
	    alloca((count(environ) + 2) * sizeof(*environment));

	/* First arms the signal, then looks at the parent: if the supervisor
	 * died between fork and prctl(2), no signal comes. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1)
		fail(run, errno, STATUS_FAILED);
	if (getppid() != supervisor)
		_exit(STATUS_FAILED);

	if (!run->target.shares_group)
		(void)setpgid(0, 0); /* in the supervisor's session */
	/* No process of the command may live that --reap does not know of. */
	if (resources_register(run) == -1) {
		const int why = errno;

		message("cannot put the run on record: %s", strerror(why));
		report_note_exec_failure(run, why);
		_exit(STATUS_FAILED);
	}
	if (give_descriptors(run) == -1)
		fail(run, errno, STATUS_FAILED);
	add_id(environment, environ, run->id);
	environ = environment;
	give_signals(&run->target);

	execute(run->options.command);
	const int why = errno;

	fail(run, why, why == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN);
}

void
target_note(struct run *run, pid_t pid)
{
	run->target.pid = pid;
	run->tree_is_empty = false;
	run->tree.target = pid;
}

int
target_start(struct run *run)
{
	const pid_t supervisor = getpid();
	const pid_t target = _Fork();

	if (target == -1)
		return -1;
	if (target == 0)
		become_target(run, supervisor);
	/* By the supervisor, so that the target's exec is not delayed. */
	statuspipe_send(run->watchers.statuspipe[1],
	                &(struct statuspipe){ .target = target });
	target_note(run, target);
	return 0;
}

void
target_note_exit(struct target *target, const siginfo_t *info, bool by_itself)
{
	target->has_exited = true;
	target->exited_by_itself = by_itself;
	if (info == NULL)
		return;
	target->outcome.kind =
	    info->si_code == CLD_EXITED ? OUTCOME_EXIT : OUTCOME_SIGNAL;
	target->outcome.value = info->si_status;
}

void
target_signal(const struct target *target, int signal)
{
	/* 0: the supervisor died before the front had the target's PID. kill(0)
	 * would signal the caller's own process group. */
	if (target->pid <= 1)
		return;
	/* In the caller's job, too, the target may lead a group of its own. Not
	 * yet reaped, the target keeps that number from others. */
	if (kill(-target->pid, signal) == 0)
		return;
	/* The target leads no group, or has not called setpgid(2) yet. */
	if (!target->has_exited)
		(void)kill(target->pid, signal);
}
