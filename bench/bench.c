/*
 * Measures wrappers of commands, for bench/run: how long a start takes, how
 * fast output comes through, and how soon a tree is stopped.
 *
 *     bench start ROUNDS PROGRAM NAME=WRAPPER...
 *     bench carry ROUNDS OUTPUT SIZE COUNT NAME=WRAPPER...
 *     bench stop ROUNDS SHAPE COUNT OTHERS SECONDS NAME=WRAPPER...
 *
 * WRAPPER is the words before a command, or nothing. Each round takes each
 * wrapper once, from a random one on, so that other load of the machine meets
 * all of them alike. Prints a line for each wrapper: NAME, and medians.
 *
 * start: from before the spawn of PROGRAM to after the wait. In microseconds.
 *
 * carry: COUNT writes of SIZE bytes to OUTPUT, a file, or "|", which is a pipe
 * that this program reads. From the spawn to the last byte and the wait. In
 * MB/s.
 *
 * stop: a tree of COUNT processes, beside OTHERS that belong to no tree. SHAPE:
 *
 *     sessions  each process in a session of its own
 *     busy      one process group, each process awake 200 times a second
 *
 * WRAPPER has to stop the tree SECONDS after its start; 0: when SIGTERM comes,
 * which this program sends when all processes are there. NAME "kernel" cannot:
 * it gets SIGKILL then, and takes a PID namespace along ("unshare --pid
 * --kill-child"): no tree can end faster. Three numbers: milliseconds until the
 * first signal, and until the last death ("-": not in 10 s), and how many
 * processes are alive half a second after the wrapper's end.
 *
 * No process outlives this program: each ends with the leash, a pipe whose
 * write end this program has.
 */
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
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

#define CANDIDATES_MAX 16
#define ROUNDS_MAX     10000
#define WORDS_MAX      40
#define ARGUMENTS_MAX  8 /* that are appended to a wrapper */
#define NUMBER_SIZE    12

#define MS     INT64_C(1000000) /* in nanoseconds */
#define SECOND (1000 * MS)

#define WAKE_MS   5
#define TURNS     2000 /* of a loop at each wake-up: a few microseconds */
#define BY_ITSELF 7    /* exit status of a process that the leash has ended */

#define READY_BOUND (30 * SECOND)
#define END_BOUND   (10 * SECOND)
#define LEAK_BOUND  (2 * SECOND) /* for what has once left processes */
#define LEAK_DELAY  (500 * MS)

enum { TIMES = 2 };

struct candidate {
	const char *name;
	char *words[WORDS_MAX + ARGUMENTS_MAX + 1];
	size_t word_count;
	int64_t times[TIMES][ROUNDS_MAX]; /* in nanoseconds */
	size_t counts[TIMES];
	int left;
};

static struct candidate candidates[CANDIDATES_MAX];
static size_t candidate_count;

static _Noreturn void
fail(const char *what)
{
	perror(what);
	exit(1);
}

static int64_t
now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

static void
sleep_until(int64_t moment)
{
	const struct timespec at = { moment / SECOND, moment % SECOND };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) ==
	       EINTR)
		;
}

static void
note(struct candidate *one, int which, int64_t time)
{
	one->times[which][one->counts[which]++] = time;
}

static int
compare(const void *left, const void *right)
{
	const int64_t a = *(const int64_t *)left;
	const int64_t b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

/* Returns 0 where nothing was noted. */
static int64_t
median(struct candidate *one, int which)
{
	qsort(one->times[which], one->counts[which], sizeof(int64_t), compare);
	return one->times[which][one->counts[which] / 2];
}

/* Splits "NAME=WORD WORD..." in place. */
static void
add_candidate(char *text)
{
	struct candidate *const one = &candidates[candidate_count++];

	one->name = strsep(&text, "=");
	for (char *word = strtok(text, " "); word != NULL;
	     word = strtok(NULL, " "))
		one->words[one->word_count++] = word;
}

/* Starts ARGUMENTS under the wrapper ONE, with OUT_FD as stdout. Descriptors
 * that are not close-on-exec come along. */
static pid_t
start(struct candidate *one, char *const arguments[], int out_fd)
{
	static int null_fd = -1;
	char *words[WORDS_MAX + ARGUMENTS_MAX + 1];
	size_t used = one->word_count;
	pid_t pid;

	if (null_fd == -1)
		null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	memcpy(words, one->words, sizeof(words));
	for (; *arguments != NULL; arguments++)
		words[used++] = *arguments;
	words[used] = NULL;

	pid = vfork();
	if (pid == -1)
		fail("vfork");
	if (pid == 0) {
		(void)dup2(null_fd, STDIN_FILENO);
		(void)dup2(out_fd == -1 ? null_fd : out_fd, STDOUT_FILENO);
		(void)dup2(null_fd, STDERR_FILENO);
		(void)execv(words[0], words);
		_exit(127);
	}
	return pid;
}

static void
wait_for(const struct candidate *one, pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) == pid && status == 0)
		return;
	(void)fprintf(stderr, "bench: %s: wait status %#x\n", one->name,
	              (unsigned)status);
	exit(1);
}

/* --- start ---------------------------------------------------------------- */

static void
time_start(struct candidate *one, char *argv[])
{
	const int64_t begin = now_ns();

	wait_for(one, start(one, (char *[]){ argv[0], NULL }, -1));
	note(one, 0, now_ns() - begin);
}

/* --- carry ---------------------------------------------------------------- */

static _Noreturn void
write_blocks(size_t size, int count)
{
	static char block[1 << 20];

	memset(block, '.', sizeof(block));
	for (int i = 0; i < count; i++) {
		for (size_t done = 0; done < size;) {
			const ssize_t length =
			    write(STDOUT_FILENO, block, size - done);

			if (length == -1)
				fail("write");
			done += (size_t)length;
		}
	}
	exit(0);
}

static void
time_carry(struct candidate *one, char *self, char *argv[])
{
	static char buffer[1 << 20];
	char word[] = "--write";
	const int64_t want = (int64_t)atoi(argv[1]) * atoi(argv[2]);
	int fds[2] = { -1, -1 };
	int64_t have = 0;
	ssize_t length;

	if (*argv[0] == '|' && pipe2(fds, O_CLOEXEC) == -1)
		fail("pipe");
	if (*argv[0] != '|')
		fds[1] = open(argv[0], O_WRONLY | O_TRUNC | O_CLOEXEC);

	const int64_t begin = now_ns();
	const pid_t pid = start(
	    one, (char *[]){ self, word, argv[1], argv[2], NULL }, fds[1]);

	if (fds[0] == -1) {
		wait_for(one, pid);
		have = lseek(fds[1], 0, SEEK_END);
		(void)close(fds[1]);
	} else {
		(void)close(fds[1]);
		while ((length = read(fds[0], buffer, sizeof(buffer))) > 0)
			have += length;
		(void)close(fds[0]);
		wait_for(one, pid);
	}
	note(one, 0, now_ns() - begin);
	if (have != want) {
		(void)fprintf(stderr, "bench: %s: %jd bytes of %jd\n",
		              one->name, (intmax_t)have, (intmax_t)want);
		exit(1);
	}
}

/* --- stop: the tree ------------------------------------------------------- */

/* What this program and a tree share. */
struct page {
	_Atomic int64_t first_signal; /* 0: none yet */
	_Atomic int ready;            /* how many processes there were */
};

static struct page *page;
static int leash_fd;

static struct page *
map_page(int fd)
{
	struct page *const mapped = mmap(
	    NULL, sizeof(*mapped), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (mapped == MAP_FAILED)
		fail("mmap");
	return mapped;
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
be_tree(const char *shape, int count)
{
	const bool is_busy = strcmp(shape, "busy") == 0;

	(void)signal(SIGTERM, end_by);
	for (int i = 1; i < count; i++) {
		const pid_t pid = fork();

		if (pid == -1)
			fail("fork");
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

/* --- stop: the measurement ------------------------------------------------ */

struct tree {
	pid_t wrapper;
	int leash; /* the write end */
	int alive; /* at its end when the last process is */
};

static struct tree
start_tree(struct candidate *one, char *self, char *shape, char *count)
{
	static char texts[2][NUMBER_SIZE];
	char word[] = "--tree";
	const int page_fd = memfd_create("page", 0);
	int leash[2];
	int alive[2];
	struct tree tree;

	if (page_fd == -1 || ftruncate(page_fd, sizeof(*page)) == -1 ||
	    pipe2(leash, O_CLOEXEC) == -1 || pipe2(alive, O_CLOEXEC) == -1)
		fail("pipe");
	(void)fcntl(leash[0], F_SETFD, 0);
	(void)fcntl(alive[1], F_SETFD, 0);
	page = map_page(page_fd);
	(void)snprintf(texts[0], NUMBER_SIZE, "%d", page_fd);
	(void)snprintf(texts[1], NUMBER_SIZE, "%d", leash[0]);
	tree.wrapper = start(
	    one,
	    (char *[]){ self, word, shape, count, texts[0], texts[1], NULL },
	    -1);
	(void)close(page_fd);
	(void)close(leash[0]);
	(void)close(alive[1]);
	tree.leash = leash[1];
	tree.alive = alive[0];
	return tree;
}

static void
await_tree(const struct candidate *one, int count, int64_t bound)
{
	while (page->ready < count && now_ns() < bound)
		sleep_until(now_ns() + MS);
	if (page->ready < count - count / 10)
		(void)fprintf(stderr, "bench: %s: %d of %d processes\n",
		              one->name, page->ready, count);
}

/* Ends what is left of TREE. Returns how many processes that were. */
static int
end_tree(const struct tree *tree)
{
	int left = 0;
	int status;

	(void)close(tree->leash);
	(void)close(tree->alive);
	/* This process is a subreaper: without a child, nobody is left. */
	while (wait(&status) > 0)
		left += WIFEXITED(status) && WEXITSTATUS(status) == BY_ITSELF;
	(void)munmap(page, sizeof(*page));
	return left;
}

static void
time_stop(struct candidate *one, char *self, char *argv[])
{
	const int count = atoi(argv[1]);
	const int64_t limit = atoi(argv[3]) * SECOND;
	int64_t stop = now_ns() + limit;
	const struct tree tree = start_tree(one, self, argv[0], argv[1]);
	struct pollfd end = { .fd = tree.alive };

	await_tree(one, count, limit > 0 ? stop : stop + READY_BOUND);
	if (limit > 0)
		sleep_until(stop);
	else
		stop = now_ns();
	const bool is_kernel = strcmp(one->name, "kernel") == 0;

	if (is_kernel)
		(void)kill(tree.wrapper, SIGKILL);
	else if (limit == 0)
		(void)kill(tree.wrapper, SIGTERM);

	const int64_t bound = one->left > 0 ? LEAK_BOUND : END_BOUND;
	siginfo_t info;

	while (poll(&end, 1, 10) == 0 && now_ns() < stop + bound) {
		/* Behind a wrapper that is gone, nobody ends the rest. */
		info.si_pid = 0;
		if (!is_kernel &&
		    waitid(P_PID, (id_t)tree.wrapper, &info,
		           WEXITED | WNOHANG | WNOWAIT) == 0 &&
		    info.si_pid != 0) {
			(void)poll(&end, 1, (int)(LEAK_DELAY / MS));
			break;
		}
	}
	if (end.revents != 0)
		note(one, 1, now_ns() - stop);
	if (page->first_signal != 0)
		note(one, 0, page->first_signal - stop);
	if (end.revents == 0)
		(void)kill(tree.wrapper, SIGKILL);

	const int left = end_tree(&tree);

	if (end.revents == 0 && one->left < (left > 0 ? left : 1))
		one->left = left > 0 ? left : 1;
}

/* Idle processes of nobody, which end with this one. */
static void
start_others(int count)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) == -1)
		fail("pipe");
	for (int i = 0; i < count; i++) {
		if (fork() != 0)
			continue;
		leash_fd = fds[0];
		(void)close(fds[1]);
		for (;;)
			stay(-1);
	}
	(void)close(fds[0]);
}

/* --- main ----------------------------------------------------------------- */

/* Below the others, which are to be no children of the process that waits for
 * all that it has. */
static void
be_subreaper(int others)
{
	int status;

	start_others(others);

	const pid_t pid = fork();

	if (pid == -1)
		fail("fork");
	if (pid > 0) {
		if (waitpid(pid, &status, 0) != pid || status != 0)
			exit(1);
		exit(0);
	}
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) == -1)
		fail("prctl");
}

static void
print_ms(struct candidate *one, int which)
{
	if (one->counts[which] == 0)
		(void)printf(" -");
	else
		(void)printf(" %.1f", (double)median(one, which) / MS);
}

static void
print_result(struct candidate *one, const char *what, char *argv[])
{
	const double ns = (double)median(one, 0);

	(void)printf("%s", one->name);
	if (strcmp(what, "start") == 0) {
		(void)printf(" %.1f\n", ns / 1000);
	} else if (strcmp(what, "carry") == 0) {
		(void)printf(" %.1f\n",
		             (double)atoi(argv[1]) * atoi(argv[2]) / ns * 1000);
	} else {
		print_ms(one, 0);
		print_ms(one, 1);
		(void)printf(" %d\n", one->left);
	}
}

int
main(int argc, char *argv[])
{
	static const struct {
		const char *word;
		int arguments;
	} measures[] = { { "start", 1 }, { "carry", 3 }, { "stop", 4 } };
	static char self[4096];
	size_t which = 0;

	if (argc == 4 && strcmp(argv[1], "--write") == 0)
		write_blocks((size_t)atoi(argv[2]), atoi(argv[3]));
	if (argc == 6 && strcmp(argv[1], "--tree") == 0) {
		page = map_page(atoi(argv[4]));
		leash_fd = atoi(argv[5]);
		be_tree(argv[2], atoi(argv[3]));
	}
	while (which < 3 && (argc < 2 || strcmp(argv[1], measures[which].word)))
		which++;
	if (which == 3 || argc < 4 + measures[which].arguments ||
	    argc > 3 + measures[which].arguments + CANDIDATES_MAX) {
		(void)fprintf(stderr, "usage: see bench/bench.c\n");
		return 2;
	}
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) == -1)
		fail("/proc/self/exe");

	const int rounds = atoi(argv[2]);
	char **const arguments = argv + 3;

	for (char **text = arguments + measures[which].arguments; *text != NULL;
	     text++)
		add_candidate(*text);
	if (which == 2)
		be_subreaper(atoi(arguments[2]));
	size_t turn = 0;

	for (size_t i = 0; i < (size_t)rounds * candidate_count; i++) {
		if (i % candidate_count == 0)
			turn = (size_t)random();

		struct candidate *const one =
		    &candidates[turn++ % candidate_count];

		if (which == 0)
			time_start(one, arguments);
		else if (which == 1)
			time_carry(one, self, arguments);
		else
			time_stop(one, self, arguments);
	}
	for (size_t i = 0; i < candidate_count; i++)
		print_result(&candidates[i], argv[1], arguments);
	return 0;
}
