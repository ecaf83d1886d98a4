/* wdrun's own processes: who they are, and their end. */
#include "helper.h"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "children.h"
#include "duration.h"

#define PATIENCE    (200 * MILLISECOND)
#define PAUSE_FIRST (MILLISECOND / 16)
#define PAUSE_LAST  (16 * MILLISECOND)

void
helper_follow(pid_t parent, int signal)
{
	(void)prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0);
	/* A parent in another PID namespace has no number here. */
	const pid_t now = getppid();

	if (now != parent && now != 0)
		_exit(0);
}

void
helper_add(struct proctree *tree, pid_t pid)
{
	if (tree->helper_count < HELPERS_MAX)
		tree->helpers[tree->helper_count++] = pid;
}

bool
helper_is(const struct proctree *tree, pid_t pid)
{
	for (size_t i = 0; i < tree->helper_count; i++) {
		if (tree->helpers[i] == pid)
			return true;
	}
	return false;
}

void
helper_keep_going(const struct proctree *tree)
{
	siginfo_t info;

	for (size_t i = 0; i < tree->helper_count; i++) {
		const pid_t pid = tree->helpers[i];

		if (children_look(pid, WSTOPPED, &info) == pid)
			(void)kill(pid, SIGCONT);
	}
}

/*
 * Reaps PID when it is dead. Until then it gets SIGNAL, if that is not 0, time
 * and again: one that comes just before a call which blocks does not interrupt
 * it.
 */
static bool
insist(struct proctree *tree, pid_t pid, int signal)
{
	int64_t pause = PAUSE_FIRST;

	for (int64_t slept = 0; slept < PATIENCE; slept += pause) {
		if (!helper_is(tree, pid))
			return true;
		/* Not reaped, so the number is its own. */
		if (signal != 0)
			(void)kill(pid, signal);
		proctree_reap_child(tree, pid);
		if (!helper_is(tree, pid))
			return true;
		(void)nanosleep(&(struct timespec){ .tv_nsec = pause }, NULL);
		if (pause < PAUSE_LAST)
			pause *= 2;
	}
	return false;
}

bool
helper_await(struct proctree *tree, pid_t pid)
{
	return insist(tree, pid, 0);
}

bool
helper_ask(struct proctree *tree, pid_t pid, int signal)
{
	return insist(tree, pid, signal);
}

bool
helper_end(struct proctree *tree, pid_t pid, int signal)
{
	return (signal != SIGKILL && insist(tree, pid, signal)) ||
	       insist(tree, pid, SIGKILL);
}
