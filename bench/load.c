/*
 * What bench/run runs below the wrappers that it measures:
 *
 *     load                           nothing
 *     load time COMMAND [ARG]...     runs COMMAND, prints how long it took, in
 * ns: a small process starts others at once load write SIZE COUNT COUNT writes
 * of SIZE bytes to stdout load SHAPE COUNT PAGE LEASH    a tree of COUNT
 * processes, whose SHAPE is sessions                   each process in a
 * session of its own busy                       one process group, each process
 * awake 200 times a second
 *
 * PAGE is the descriptor of a `struct page`. No process of a tree outlives
 * LEASH, the read end of a pipe whose write end bench/run has: it then exits
 * with BY_ITSELF.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WAKE_MS   5
#define TURNS     2000 /* of a loop at each wake-up: a few microseconds */
#define BY_ITSELF 7

/* bench/run reads it as it is here. */
struct page {
	_Atomic int64_t first_signal; /* CLOCK_MONOTONIC, in ns; 0: none yet */
	_Atomic int ready;            /* how many processes there were */
};

static struct page *page;
static int leash_fd;

static int64_t
now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int
time_command(char *const command[])
{
	const int64_t begin = now_ns();
	const pid_t pid = vfork();
	int status;

	if (pid == 0) {
		(void)execv(command[0], command);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return 1;
	return printf("%jd\n", (intmax_t)(now_ns() - begin)) < 0;
}

static int
write_blocks(size_t size, int count)
{
	static char block[1 << 20];

	memset(block, '.', sizeof(block));
	for (int i = 0; i < count; i++) {
		for (size_t done = 0; done < size;) {
			const ssize_t length =
			    write(STDOUT_FILENO, block, size - done);

			if (length == -1)
				return 1;
			done += (size_t)length;
		}
	}
	return 0;
}

/* Notes the first signal that a process of the tree gets, and ends this one. */
static void
end_by(int signal)
{
	int64_t none = 0;

	(void)signal;
	(void)atomic_compare_exchange_strong(&page->first_signal, &none,
	                                     now_ns());
	_exit(0);
}

/* Waits for the end of the leash; -1: without a bound. */
static void
stay(int ms)
{
	struct pollfd leash = { .fd = leash_fd };

	if (poll(&leash, 1, ms) == 1)
		_exit(BY_ITSELF);
}

static _Noreturn void
be_tree(bool is_busy, int count)
{
	(void)signal(SIGTERM, end_by);
	for (int i = 1; i < count; i++) {
		const pid_t pid = fork();

		if (pid == -1)
			_exit(1);
		if (pid == 0 && !is_busy)
			(void)setsid();
		if (pid == 0)
			break;
	}
	atomic_fetch_add(&page->ready, 1);
	while (is_busy && page->ready < count)
		stay(10 * WAKE_MS); /* or it would take long to get there */
	for (;;) {
		stay(is_busy ? WAKE_MS : -1);
		for (volatile int i = 0; i < TURNS; i++)
			;
	}
}

int
main(int argc, char *argv[])
{
	if (argc > 2 && strcmp(argv[1], "time") == 0)
		return time_command(argv + 2);
	if (argc == 4)
		return write_blocks((size_t)atoi(argv[2]), atoi(argv[3]));
	if (argc != 5)
		return 0;
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED,
	            atoi(argv[3]), 0);
	leash_fd = atoi(argv[4]);
	if (page == MAP_FAILED)
		return 1;
	be_tree(strcmp(argv[1], "busy") == 0, atoi(argv[2]));
}
