/*
 * How soon a wrapper stops a tree that leaves it little of the processors: from
 * the deadline to the first signal, and until no process is left.
 *
 * Usage: storm ROUNDS SHAPE COUNT SECONDS NAME=WRAPPER...
 *
 * Each round starts, under each wrapper in turn, COUNT processes of SHAPE:
 *
 *     idle   each in a session of its own, asleep
 *     group  one process group, each awake 200 times a second
 *     busy   as "group", each in a session of its own
 *     bomb   as "idle", but each forks as often as a limit of COUNT processes
 *            allows, and only SIGKILL ends it
 *
 * WRAPPER has to stop them SECONDS after its start. NAME "kernel" does not: its
 * WRAPPER is killed then, and takes a PID namespace along ("unshare --pid
 * --kill-child"), which is the fastest end that a tree can have.
 *
 * Prints a line "NAME FIRST END LEFT" for each: the medians of both times in
 * milliseconds, "-" where there is none, and in how many rounds processes were
 * left END_BOUND_S after the deadline, or AGAIN_BOUND_S in later rounds.
 *
 * No process lives longer than LIFE_S, even if this program is killed.
 */
#include "common.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>

#define ROUNDS_MAX    100
#define COUNT_MAX     4000
#define SECONDS_MAX   60
#define SECOND_NS     INT64_C(1000000000)
#define END_BOUND_S   30
#define AGAIN_BOUND_S 2
#define LIFE_S        60
#define WAKEUP_US     5000
#define TURNS         2000 /* of a loop at each wake-up: a few microseconds */
#define BOMB_USER     64999

/* What the benchmark and the tree of one wrapper share. */
struct page {
	_Atomic int64_t first_signal; /* 0: none yet */
	_Atomic int ready;            /* how many processes there were */
	_Atomic int is_over;          /* all processes are to end */
	int64_t life_end;
};

static struct page *page;

/* --- the tree ------------------------------------------------------------- */

static void
note_signal(int signal)
{
	int64_t none = 0;

	(void)atomic_compare_exchange_strong(&page->first_signal, &none,
	                                     now_ns());
	if (signal == SIGTERM)
		_exit(0);
}

static void
note_and_stay(int signal)
{
	(void)signal;
	note_signal(0);
}

static int
is_to_end(void)
{
	return page->is_over || now_ns() > page->life_end;
}

/* Busy when all are there, which would take longer else. */
static _Noreturn void
be_busy(int count)
{
	while (page->ready < count && !is_to_end())
		(void)usleep(10 * WAKEUP_US);
	while (!is_to_end()) {
		for (volatile int i = 0; i < TURNS; i++)
			;
		(void)usleep(WAKEUP_US);
	}
	_exit(0);
}

static _Noreturn void
be_idle(void)
{
	while (!is_to_end())
		(void)sleep(1);
	_exit(0);
}

/* Root has no limit: so the bomb is another user's. The first process waits:
 * setuid(2) would clear the signal that "unshare --kill-child" has set. */
static _Noreturn void
be_bomb(int count)
{
	const struct rlimit limit = { (rlim_t)count, (rlim_t)count };

	(void)signal(SIGTERM, note_and_stay);
	if (fork_or_fail() > 0)
		be_idle();

	/* EINVAL: in a user namespace, root is an ordinary user already. */
	if (setrlimit(RLIMIT_NPROC, &limit) == -1 ||
	    (getuid() == 0 && setuid(BOMB_USER) == -1 && errno != EINVAL))
		fail("bomb");
	(void)signal(SIGCHLD, SIG_IGN);
	while (!is_to_end()) {
		const pid_t pid = fork();

		if (pid == 0) {
			(void)setsid();
			atomic_fetch_add(&page->ready, 1);
		} else if (pid == -1) {
			(void)usleep(WAKEUP_US);
		}
	}
	_exit(0);
}

static _Noreturn void
be_tree(const char *shape, int count)
{
	const int is_busy =
	    strcmp(shape, "group") == 0 || strcmp(shape, "busy") == 0;

	(void)prctl(PR_SET_DUMPABLE, 1);
	(void)signal(SIGTERM, note_signal);
	if (strcmp(shape, "bomb") == 0)
		be_bomb(count);
	for (int i = 1; i < count; i++) {
		const pid_t pid = fork_or_fail();

		if (pid > 0)
			continue;
		if (strcmp(shape, "group") != 0)
			(void)setsid();
		break;
	}
	atomic_fetch_add(&page->ready, 1);
	if (is_busy)
		be_busy(count);
	be_idle();
}

/* --- the benchmark -------------------------------------------------------- */

struct result {
	struct candidate first;
	struct candidate end;
	int left;
};

static struct page *
map_page(int fd)
{
	struct page *const mapped = mmap(
	    NULL, sizeof(*mapped), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (mapped == MAP_FAILED)
		fail("mmap");
	return mapped;
}

static pid_t
start_wrapper(const struct candidate *candidate, char *const tree[], int fds[2])
{
	char *words[WORDS_MAX + WORDS_APPENDED + 1];
	size_t used = candidate->word_count;
	const pid_t pid = fork_or_fail();

	if (pid != 0)
		return pid;

	const int null_fd = open("/dev/null", O_RDWR);

	memcpy(words, candidate->words, sizeof(words));
	for (size_t i = 0; i < WORDS_APPENDED; i++)
		words[used++] = tree[i];
	words[used] = NULL;
	(void)fcntl(fds[0], F_SETFD, 0); /* the page */
	(void)fcntl(fds[1], F_SETFD, 0); /* open as long as a process lives */
	if (dup2(null_fd, STDIN_FILENO) == -1 ||
	    dup2(null_fd, STDOUT_FILENO) == -1 ||
	    dup2(null_fd, STDERR_FILENO) == -1)
		fail("/dev/null");
	execv(words[0], words);
	_exit(127);
}

static void
sleep_until(int64_t moment)
{
	const struct timespec at = { .tv_sec = moment / SECOND_NS,
		                     .tv_nsec = moment % SECOND_NS };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) ==
	       EINTR)
		;
}

/* Waits until no process has the write end of the pipe FD open. */
static int
await_end(int fd, int64_t bound)
{
	struct pollfd end = { .fd = fd };

	while (now_ns() < bound) {
		if (poll(&end, 1, 10) == 1)
			return 1;
	}
	return 0;
}

static void
run_once(struct candidate *candidate, struct result *result, char *shape,
         char *count, int64_t limit)
{
	const int page_fd = memfd_create("storm", MFD_CLOEXEC);
	char page_text[12];
	int alive[2];

	if (page_fd == -1 || ftruncate(page_fd, sizeof(struct page)) == -1 ||
	    pipe2(alive, O_CLOEXEC) == -1)
		fail("page");
	page = map_page(page_fd);
	page->life_end = now_ns() + LIFE_S * SECOND_NS;
	(void)snprintf(page_text, sizeof(page_text), "%d", page_fd);

	const int64_t deadline = now_ns() + limit;
	char self[] = "/proc/self/exe";
	char path[4096] = "";
	if (readlink(self, path, sizeof(path) - 1) == -1)
		fail(self);
	char tree_word[] = "--tree";
	char *const tree[WORDS_APPENDED] = { path, tree_word, shape, count,
		                             page_text };
	const pid_t wrapper =
	    start_wrapper(candidate, tree, (int[]){ page_fd, alive[1] });
	(void)close(alive[1]);

	sleep_until(deadline);
	const int wanted = number(count, 1, COUNT_MAX);
	if (page->ready < wanted - wanted / 10)
		(void)fprintf(stderr, "storm: %s: only %d of %d were ready\n",
		              candidate->name, page->ready, wanted);
	if (strcmp(candidate->name, "kernel") == 0)
		(void)kill(wrapper, SIGKILL);
	/* What has left processes once leaves them again. */
	const int64_t bound =
	    deadline +
	    (result->left > 0 ? AGAIN_BOUND_S : END_BOUND_S) * SECOND_NS;
	if (await_end(alive[0], bound))
		candidate_note(&result->end, now_ns() - deadline);
	else
		result->left++;
	if (page->first_signal != 0)
		candidate_note(&result->first, page->first_signal - deadline);

	page->is_over = 1;
	(void)await_end(alive[0], now_ns() + END_BOUND_S * SECOND_NS);
	(void)kill(wrapper, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
	(void)close(alive[0]);
	(void)close(page_fd);
	(void)munmap(page, sizeof(*page));
}

static void
print_time(struct candidate *candidate)
{
	if (candidate->sample_count == 0)
		(void)printf(" -");
	else
		(void)printf(" %.1f", candidate_median(candidate) / 1e6);
}

int
main(int argc, char *argv[])
{
	static struct candidate candidates[CANDIDATES_MAX];
	static struct result results[CANDIDATES_MAX];
	size_t candidate_count = 0;

	if (argc == 5 && strcmp(argv[1], "--tree") == 0) {
		page = map_page(number(argv[4], 0, 1 << 20));
		be_tree(argv[2], number(argv[3], 1, COUNT_MAX));
	}
	if (argc < 6 || argc - 5 > CANDIDATES_MAX) {
		(void)fprintf(stderr, "usage: storm ROUNDS SHAPE COUNT SECONDS "
		                      "NAME=WRAPPER...\n");
		return 2;
	}
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) == -1)
		fail("prctl");

	const int rounds = number(argv[1], 1, ROUNDS_MAX);
	const int64_t limit = number(argv[4], 1, SECONDS_MAX) * SECOND_NS;

	for (char **text = argv + 5; *text != NULL; text++)
		candidate_parse(&candidates[candidate_count++], *text);
	for (int round = 0; round < rounds; round++)
		for (size_t i = 0; i < candidate_count; i++)
			run_once(&candidates[i], &results[i], argv[2], argv[3],
			         limit);
	for (size_t i = 0; i < candidate_count; i++) {
		(void)printf("%s", candidates[i].name);
		print_time(&results[i].first);
		print_time(&results[i].end);
		(void)printf(" %d\n", results[i].left);
	}
	return 0;
}
