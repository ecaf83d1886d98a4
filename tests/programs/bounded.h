/*
 * What all test programs share: a life that ends by itself, whatever the
 * process ignores, so that a fault of wdrun leaves no process on the machine
 * for long.
 */
#pragma once

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define LIFE_SECONDS 900

/* Says what failed, with errno, and ends the process with 99. */
static inline _Noreturn void
give_up(const char *what)
{
	perror(what);
	_exit(99);
}

/*
 * Kills the calling process LIFE_SECONDS from now, by a timer that sends
 * SIGKILL. alarm(2) would not do: SIGALRM can be ignored, and stays pending
 * while a process is stopped. Neither fork nor exec keeps the timer: call this
 * in each process.
 */
static inline void
bound_life(void)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL,
		.sigev_signo = SIGKILL,
	};
	const struct itimerspec life = { .it_value.tv_sec = LIFE_SECONDS };
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) == -1 ||
	    timer_settime(timer, 0, &life, NULL) == -1)
		give_up("timer");
}

/* fork(2) whose child has a bounded life; a failure ends the program. */
static inline pid_t
fork_bounded(void)
{
	const pid_t pid = fork();

	if (pid == -1)
		give_up("fork");
	if (pid == 0)
		bound_life();
	return pid;
}

/* Returns SIZE bytes of zeroes that are shared with children forked later. */
static inline void *
share(size_t size)
{
	void *const memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
	                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		give_up("mmap");
	return memory;
}

/*
 * Prints `ready PID` for the test: PID is the process to look at, and it
 * misbehaves from now on.
 */
static inline void
say_ready(pid_t pid)
{
	dprintf(STDOUT_FILENO, "ready %d\n", (int)pid);
}

static inline _Noreturn void
live(void)
{
	for (;;)
		pause();
}

/* Waits until the process has the state WANTED of /proc/PID/stat. */
static inline void
await_state(pid_t pid, char wanted)
{
	char state = '?';
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	while (state != wanted) {
		FILE *const stat = fopen(path, "re");

		if (stat == NULL ||
		    fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
			give_up(path);
		(void)fclose(stat);
		(void)usleep(1000);
	}
}

/* Every signal has its default action, and none is blocked. */
static inline void
reset_signals(void)
{
	sigset_t none;

	for (int i = 1; i <= SIGRTMAX; i++)
		(void)signal(i, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}
