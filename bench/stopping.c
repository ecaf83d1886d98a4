/*
 * What a wrapper does to a tree when it is asked to stop: how long until the
 * wrapper returns, and how much of the tree is left then.
 *
 * Usage: stopping TREE ROUNDS SHAPE COUNT OTHERS NAME=WRAPPER...
 *
 * Each round starts, under each wrapper in turn, a tree of COUNT idle
 * processes, sends SIGTERM to the wrapper, and waits for it. TREE is the path
 * of the program that makes the tree, which describes SHAPE. OTHERS more idle
 * processes, which belong to no tree, exist meanwhile.
 *
 * Prints a line "NAME MILLISECONDS LEFT LEAKED" for each: the median time, the
 * most processes that were alive when the wrapper returned, and half a second
 * after that.
 *
 * No process is left behind, even if this program is killed: each idle process
 * ends with the leash, a pipe whose write end only this program holds.
 */
#include "common.h"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#define COUNT_MAX      16000 /* as many PIDs as a pipe holds */
#define ROUNDS_MAX     1000
#define NUMBER_SIZE    12
#define READY_BOUND_MS 30000
#define RETURN_BOUND_S 10
#define LEAK_DELAY_MS  500

struct remains {
	int left;
	int leaked;
};

struct tree {
	char *program;
	char shape[NUMBER_SIZE];
	int count;
	pid_t pids[COUNT_MAX];
	pid_t wrapper;
	int leash_fd; /* the write end */
};

/* Becomes the wrapper, with nothing but /dev/null on 0, 1 and 2. */
static _Noreturn void
become_wrapper(char *const words[])
{
	const int null_fd = open("/dev/null", O_RDWR);

	if (null_fd == -1 || dup2(null_fd, STDIN_FILENO) == -1 ||
	    dup2(null_fd, STDOUT_FILENO) == -1 ||
	    dup2(null_fd, STDERR_FILENO) == -1)
		fail("/dev/null");
	if (null_fd > STDERR_FILENO)
		(void)close(null_fd);
	execv(words[0], words);
	_exit(127);
}

/* Reads COUNT PIDs, one from each process, with a bound on the silence. */
static void
read_pids(int fd, pid_t *pids, int count)
{
	char *const start = (char *)pids;
	const size_t size = (size_t)count * sizeof(*pids);
	size_t have = 0;

	while (have < size) {
		struct pollfd source = { .fd = fd, .events = POLLIN };

		ssize_t got = -1;
		if (poll(&source, 1, READY_BOUND_MS) == 1)
			got = read(fd, start + have, size - have);
		if (got <= 0) {
			(void)fprintf(stderr, "stopping: no tree came up\n");
			exit(1);
		}
		have += (size_t)got;
	}
}

static void
start_tree(struct tree *tree, const struct candidate *candidate)
{
	char count_text[NUMBER_SIZE];
	char pids_text[NUMBER_SIZE];
	char leash_text[NUMBER_SIZE];
	char *words[WORDS_MAX + WORDS_APPENDED + 1];
	int pids_fds[2];
	int leash_fds[2];
	size_t used = candidate->word_count;

	if (pipe2(pids_fds, O_CLOEXEC) == -1 ||
	    pipe2(leash_fds, O_CLOEXEC) == -1)
		fail("pipe2");
	memcpy(words, candidate->words, sizeof(words));
	(void)snprintf(count_text, sizeof(count_text), "%d", tree->count);
	(void)snprintf(pids_text, sizeof(pids_text), "%d", pids_fds[1]);
	(void)snprintf(leash_text, sizeof(leash_text), "%d", leash_fds[0]);
	words[used++] = tree->program;
	words[used++] = tree->shape;
	words[used++] = count_text;
	words[used++] = pids_text;
	words[used] = leash_text;

	tree->wrapper = fork_or_fail();
	if (tree->wrapper == 0) {
		(void)fcntl(pids_fds[1], F_SETFD, 0);
		(void)fcntl(leash_fds[0], F_SETFD, 0);
		become_wrapper(words);
	}
	(void)close(pids_fds[1]);
	(void)close(leash_fds[0]);
	read_pids(pids_fds[0], tree->pids, tree->count);
	(void)close(pids_fds[0]);
	tree->leash_fd = leash_fds[1];
}

/* Interrupts waitpid(2), and does nothing else. */
static void
on_alarm(int signal)
{
	(void)signal;
}

/* Returns the time until the wrapper returned. */
static int64_t
stop_tree(const struct tree *tree)
{
	const int64_t start = now_ns();

	(void)alarm(RETURN_BOUND_S);
	if (kill(tree->wrapper, SIGTERM) == -1)
		fail("kill");
	if (waitpid(tree->wrapper, NULL, 0) == -1) {
		(void)fprintf(stderr, "stopping: does not return\n");
		(void)kill(tree->wrapper, SIGKILL);
		(void)waitpid(tree->wrapper, NULL, 0);
	}
	(void)alarm(0);
	return now_ns() - start;
}

/* A zombie counts as dead. */
static int
is_alive(pid_t pid)
{
	char path[32];
	char line[256];

	if (kill(pid, 0) == -1)
		return 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return 0;
	const ssize_t got = read(fd, line, sizeof(line) - 1);
	(void)close(fd);
	if (got <= 0)
		return 0;

	line[got] = '\0';
	const char *const name_end = strrchr(line, ')');
	return name_end != NULL && strncmp(name_end, ") Z", 3) != 0 &&
	       strncmp(name_end, ") X", 3) != 0;
}

static int
count_alive(const struct tree *tree)
{
	int alive = 0;

	for (int i = 0; i < tree->count; i++)
		alive += is_alive(tree->pids[i]);
	return alive;
}

static int
max(int a, int b)
{
	return a > b ? a : b;
}

static void
run_once(struct tree *tree, struct candidate *candidate,
         struct remains *remains)
{
	const struct timespec delay = { .tv_nsec = LEAK_DELAY_MS * 1000000L };

	start_tree(tree, candidate);
	candidate_note(candidate, stop_tree(tree));

	const int left = count_alive(tree);
	remains->left = max(remains->left, left);
	if (left > 0) {
		(void)nanosleep(&delay, NULL);
		remains->leaked = max(remains->leaked, count_alive(tree));
	}

	/* This process is the subreaper: without a child, no orphan is left. */
	(void)close(tree->leash_fd);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

/* Runs in a process of its own, whose only children are the trees. */
static _Noreturn void
run_rounds(char *argv[])
{
	static struct tree tree;
	static struct candidate candidates[CANDIDATES_MAX];
	static struct remains remains[CANDIDATES_MAX];
	const struct sigaction alarm_action = { .sa_handler = on_alarm };
	const int rounds = number(argv[2], 1, ROUNDS_MAX);
	size_t count = 0;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1) == -1 ||
	    sigaction(SIGALRM, &alarm_action, NULL) == -1)
		fail("prctl");

	tree.program = argv[1];
	tree.count = number(argv[4], 1, COUNT_MAX);
	(void)snprintf(tree.shape, sizeof(tree.shape), "%s", argv[3]);
	for (char **text = argv + 6; *text != NULL; text++)
		candidate_parse(&candidates[count++], *text);

	for (int round = 0; round < rounds; round++)
		for (size_t i = 0; i < count; i++)
			run_once(&tree, &candidates[i], &remains[i]);

	for (size_t i = 0; i < count; i++)
		(void)printf("%s %.2f %d %d\n", candidates[i].name,
		             candidate_median(&candidates[i]) / 1e6,
		             remains[i].left, remains[i].leaked);
	exit(0);
}

int
main(int argc, char *argv[])
{
	static struct tree others = { .shape = "group" };
	static struct candidate bare; /* no wrapper */
	int status = 0;

	if (argc < 7 || argc - 6 > CANDIDATES_MAX) {
		(void)fprintf(stderr, "usage: stopping TREE ROUNDS SHAPE COUNT "
		                      "OTHERS NAME=WRAPPER...\n");
		return 2;
	}

	others.count = number(argv[5], 0, COUNT_MAX);
	others.program = argv[1];
	if (others.count > 0)
		start_tree(&others, &bare);

	const pid_t bench = fork_or_fail();
	if (bench == 0)
		run_rounds(argv);
	if (waitpid(bench, &status, 0) != bench)
		fail("waitpid");

	if (others.count > 0)
		(void)close(others.leash_fd);
	while (wait(NULL) > 0)
		;
	return status == 0 ? 0 : 1;
}
