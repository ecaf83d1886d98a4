/*
 * brood NUMBER [fork|vfork|sibling|thread|deep|daemon [PAUSE_US]]: forks NUMBER
 * children, one after the other. Each child makes a session of its own and
 * executes itself with an empty environment: when its parent is dead, nothing
 * shows whose child it was. brood says that it is ready after the first few.
 *
 * vfork: by vfork(2), during which the parent is in state D. sibling: by a
 * child, with CLONE_PARENT. thread: by four threads, after the exit of the main
 * thread. deep: each child has a twentieth of the children of its own. daemon:
 * by a child that then exits, so that not even a living parent shows anything.
 */
#include "bounded.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define READY_AFTER 10
#define THREADS     4

static const char *way = "fork";
static useconds_t pause_us = 200;
static atomic_int born;
static int number;

static bool
is_way(const char *name)
{
	return strcmp(way, name) == 0;
}

static _Noreturn void
be_child(char *left)
{
	char pause[16];
	char *const last[] = { "brood", NULL };
	char *const more[] = { "brood", left, "deep", pause, NULL };
	char *const nothing[] = { NULL };

	(void)snprintf(pause, sizeof(pause), "%u", (unsigned)pause_us);
	(void)setsid();
	(void)execve("/proc/self/exe", is_way("deep") ? more : last, nothing);
	give_up("execve");
}

/* Forks a child that is not waited for, or a sibling of the caller. */
static void
bear(char *left)
{
	pid_t pid;

	if (is_way("vfork"))
		pid = vfork();
	else if (is_way("sibling"))
		pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL,
		                     NULL, NULL, NULL);
	else
		pid = fork();
	if (pid == -1)
		give_up("fork");
	if (pid == 0 && is_way("daemon") && fork() != 0)
		_exit(0);
	if (pid == 0)
		be_child(left);
	if (is_way("daemon"))
		(void)waitpid(pid, NULL, 0);
}

static void *
bear_all(void *unused)
{
	(void)unused;
	for (int i; (i = atomic_fetch_add(&born, 1)) < number;) {
		char left[16];

		(void)snprintf(left, sizeof(left), "%d", number / 20);
		bear(left);
		if (i == READY_AFTER)
			say_ready(getpid());
		if (pause_us > 0)
			(void)usleep(pause_us);
	}
	live();
}

int
main(int argc, char *argv[])
{
	pthread_t thread;

	number = argc > 1 ? atoi(argv[1]) : 0;
	way = argc > 2 ? argv[2] : way;
	if (is_way("deep") && number > 200)
		number = 200; /* 2200 in all */
	pause_us = argc > 3 ? (useconds_t)atoi(argv[3]) : pause_us;
	bound_life();
	if (is_way("sibling") && fork_bounded() != 0)
		live();
	if (!is_way("thread"))
		(void)bear_all(NULL);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread, NULL, bear_all, NULL) != 0)
			give_up("pthread_create");
	pthread_exit(NULL);
}
