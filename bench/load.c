/*
 * What bench/run runs below the wrappers that it measures:
 *
 * - load: nothing.
 * - load time COMMAND [ARG]...: runs COMMAND, and prints how long it took, in
 *   ns: a small process starts others at once.
 * - load write SIZE COUNT: COUNT writes of SIZE bytes to stdout.
 * - load SHAPE COUNT PAGE LEASH: a tree of COUNT processes. SHAPE is sessions
 *   (each process in a session of its own), busy (one process group, each
 *   process awake 200 times a second), busy-sessions (both), or bomb (busy, and
 *   each process replaces a child that has died; only SIGKILL ends it).
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
static bool is_bomb;

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
	for (size_t i = 99; i < sizeof(block); i += 100) /* lines */
		block[i] = '\n';
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

/* Notes the first signal that a process of the tree gets. */
static void
note_signal(int signal)
{
	int64_t none = 0;

	(void)signal;
	(void)atomic_compare_exchange_strong(&page->first_signal, &none,
	                                     now_ns());
	if (!is_bomb)
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

/* Makes COUNT - 1 children; in a bomb, each of them has half of the rest below
 * it. Returns in each process. */
static void
grow(int count, bool has_sessions)
{
	while (count > 1) {
		const int below = is_bomb ? count / 2 : 1;
		const pid_t pid = fork();

		if (pid == -1)
			_exit(1);
		if (pid == 0 && has_sessions)
			(void)setsid();
		if (pid == 0)
			count = below;
		else
			count -= below;
		if (pid == 0 && !is_bomb)
			break;
	}
	atomic_fetch_add(&page->ready, 1);
}

static _Noreturn void
be_tree(bool is_busy, bool has_sessions, int count)
{
	(void)signal(SIGTERM, note_signal);
	grow(count, has_sessions);
	while (is_busy && page->ready < count)
		stay(10 * WAKE_MS); /* or it would take long to get there */
	for (;;) {
		stay(is_busy ? WAKE_MS : -1);
		for (volatile int i = 0; i < TURNS; i++)
			;
		while (is_bomb && waitpid(-1, NULL, WNOHANG) > 0) {
			if (fork() == 0)
				break;
		}
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
	is_bomb = strcmp(argv[1], "bomb") == 0;
	be_tree(strcmp(argv[1], "sessions") != 0,
	        strstr(argv[1], "sessions") != NULL, atoi(argv[2]));
}
