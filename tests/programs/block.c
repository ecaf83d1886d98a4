/*
 * block KIND: prints `ready PID` and blocks for good, in the way that KIND
 * says.
 */
#include "bounded.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#define THREADS      4
#define INHERITED_FD 3

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

static void
on_socket(void)
{
	int fds[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == -1)
		give_up("socketpair");
	(void)recv(fds[0], &byte, 1, 0);
}

static void
on_accept(void)
{
	const struct sockaddr_un address = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	/* Without a path it gets an abstract name: unix(7). */
	if (bind(fd, (const void *)&address, sizeof(sa_family_t)) == -1 ||
	    listen(fd, 1) == -1)
		give_up("listen");
	(void)accept(fd, NULL, NULL);
}

/* A lock on the file `record`, which whoever calls it second waits for. */
static void
on_record(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	const int fd = open("record", O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	(void)fcntl(fd, F_SETLKW, &lock);
}

static void
on_poll(void)
{
	struct pollfd polled[] = { { .fd = -1, .events = POLLIN },
		                   { .fd = pipe_fds[0], .events = POLLIN } };

	(void)poll(polled, 2, -1);
}

static void
on_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(pipe_fds[0], &set);
	(void)select(pipe_fds[0] + 1, &set, NULL, NULL, NULL);
}

static void
on_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	const int fd = epoll_create1(EPOLL_CLOEXEC);

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

static void
on_inherited(void)
{
	char byte;

	if (read(INHERITED_FD, &byte, 1) == -1)
		give_up("read");
}

/* Nobody without the right to trace everybody can look at it. */
static void
on_secret(void)
{
	(void)prctl(PR_SET_DUMPABLE, 0);
	on_itself();
}

static const struct {
	const char *name;
	void (*block)(void);
} kinds[] = {
	{ "futex", on_futex },         { "threads", on_threads },
	{ "socket", on_socket },       { "accept", on_accept },
	{ "record", on_record },       { "poll", on_poll },
	{ "select", on_select },       { "epoll", on_epoll },
	{ "signal", on_signal },       { "vfork", on_vfork },
	{ "itself", on_itself },       { "secret", on_secret },
	{ "inherited", on_inherited },
};

int
main(int argc, char *argv[])
{
	bound_life();
	if (argc != 2)
		return 99;
	if (strcmp(argv[1], "inherited") != 0 && pipe(pipe_fds) == -1)
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
