/*
 * block KIND: prints `ready PID` and blocks until it is killed, in the way of
 * KIND.
 */
#include "bounded.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#define THREADS      4
#define LONG_SECONDS 1000

static int pipe_fds[2];

static void
on_futex(void)
{
	static uint32_t word;

	(void)syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL);
}

static void *
idle(void *unused)
{
	(void)unused;
	live();
}

static void
on_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, idle, NULL) != 0)
			give_up("pthread_create");
	}
	(void)pthread_join(threads[0], NULL);
}

/* Locks the file `record`; the second process that does so waits. */
static void
on_record(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	const int fd = open("record", O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	(void)fcntl(fd, F_SETLKW, &lock);
}

/* Has another process keep the other end of the pipe. */
static void
give_away_other_end(void)
{
	if (fork() == 0)
		live();
	(void)close(pipe_fds[1]);
}

static void
on_poll(void)
{
	struct pollfd polled[] = { { .fd = -1, .events = POLLIN },
		                   { .fd = pipe_fds[0], .events = POLLIN } };

	give_away_other_end();
	(void)poll(polled, 2, -1);
}

static void
on_select(void)
{
	fd_set set;

	give_away_other_end();
	FD_ZERO(&set);
	FD_SET(pipe_fds[0], &set);
	(void)select(pipe_fds[0] + 1, &set, NULL, NULL, NULL);
}

static void
on_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	const int fd = epoll_create1(EPOLL_CLOEXEC);

	give_away_other_end();
	if (epoll_ctl(fd, EPOLL_CTL_ADD, pipe_fds[0], &event) == -1)
		give_up("epoll_ctl");
	(void)epoll_wait(fd, &event, 1, -1);
}

static void
on_signal(void)
{
	sigset_t set;
	int number;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)sigwait(&set, &number);
}

/* The parent of a vfork(2) is in state D until the child executes or ends. */
static void
on_vfork(void)
{
	if (vfork() == 0)
		live();
}

static void
on_itself(void)
{
	char byte;

	if (read(pipe_fds[0], &byte, 1) == -1)
		give_up("read");
}

/* A process that only a tracer with CAP_SYS_PTRACE can look at. */
static void
on_secret(void)
{
	(void)prctl(PR_SET_DUMPABLE, 0);
	on_itself();
}

/* poll(2) of a pipe whose both ends nobody else has. */
static void
on_own(void)
{
	struct pollfd polled = { .fd = pipe_fds[0], .events = POLLIN };

	(void)poll(&polled, 1, -1);
}

/* An event loop on a timer. */
static void
on_timerfd(void)
{
	const struct itimerspec time = { .it_value.tv_sec = LONG_SECONDS };
	const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	const int set = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN };

	if (timerfd_settime(timer, 0, &time, NULL) == -1 ||
	    epoll_ctl(set, EPOLL_CTL_ADD, timer, &event) == -1 ||
	    epoll_ctl(set, EPOLL_CTL_ADD, pipe_fds[0], &event) == -1)
		give_up("timerfd");
	(void)epoll_wait(set, &event, 1, -1);
}

/* As vim(1), whose timers have a thread: the set is not on the stack. */
static void
on_keys(void)
{
	static fd_set set;
	pthread_t thread;

	if (pthread_create(&thread, NULL, idle, NULL) != 0)
		give_up("pthread_create");
	FD_SET(STDIN_FILENO, &set);
	(void)select(STDIN_FILENO + 1, &set, NULL, NULL, NULL);
}

static void *
sleep_long(void *unused)
{
	(void)unused;
	(void)select(0, NULL, NULL, NULL, &(struct timeval){ .tv_sec = 1000 });
	return NULL;
}

static void *
compute(void *unused)
{
	volatile bool endless = true;

	(void)unused;
	while (endless)
		;
	return NULL;
}

/* One of two threads computes. */
static void
on_busy(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, compute, NULL) != 0)
		give_up("pthread_create");
	(void)sleep_long(NULL);
}

/* Several threads; the main thread sleeps. */
static void
on_sleep(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, idle, NULL) != 0)
		give_up("pthread_create");
	(void)sleep_long(NULL);
}

/* The main thread has exited, and another thread is left. */
static void
on_leaderless(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, idle, NULL) != 0)
		give_up("pthread_create");
	pthread_exit(NULL);
}

static void
on_child(void)
{
	const pid_t child = fork();

	if (child == 0)
		live();
	(void)waitpid(child, NULL, 0);
}

static const struct {
	const char *name;
	void (*block)(void);
} kinds[] = {
	{ "futex", on_futex },     { "threads", on_threads },
	{ "record", on_record },   { "poll", on_poll },
	{ "select", on_select },   { "epoll", on_epoll },
	{ "signal", on_signal },   { "vfork", on_vfork },
	{ "itself", on_itself },   { "secret", on_secret },
	{ "sleep", on_sleep },     { "leaderless", on_leaderless },
	{ "child", on_child },     { "own", on_own },
	{ "timerfd", on_timerfd }, { "keys", on_keys },
	{ "busy", on_busy },
};

int
main(int argc, char *argv[])
{
	bound_life();
	if (argc != 2)
		return 99;
	if (pipe(pipe_fds) == -1)
		give_up("pipe");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].name) == 0) {
			say_ready(getpid());
			kinds[i].block();
			live();
		}
	}
	return 99;
}
