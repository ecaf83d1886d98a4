/*
 * What a process between a command and the reader of its output costs: how many
 * bytes get through in a second, or how much later a line arrives.
 *
 * Usage: relay WRITER ROUNDS OUTPUT SIZE COUNT NAME=WAY...
 *
 * WRITER is the path of the command, which writes COUNT blocks of SIZE bytes.
 * WAY is nothing ("NAME="), a filter ("NAME=| /bin/cat") or a wrapper
 * ("NAME=wdrun -i 60 --"), to which the command is appended. OUTPUT is where
 * the bytes go: "pipe", which this program reads; ">FILE" or ">>FILE", empty at
 * first; or "lines": a pipe into which one block is written at a time, when the
 * block before has arrived and all processes sleep again.
 *
 * Each round takes each way once, in a new random order, so that other load of
 * the machine affects all of them alike. Nothing is measured before the command
 * runs.
 *
 * Prints a line "NAME MEDIAN" for each: in MB/s, from the order to write until
 * the last byte has arrived, or for a file until all processes that have it
 * open are gone; for "lines" in microseconds, from just before the write(2)
 * until it was read.
 */
#include "common.h"

#include <sys/wait.h>

#include <fcntl.h>
#include <poll.h>

#define ROUNDS_MAX     1000
#define SIZE_MAX_BYTES (1 << 20)
#define COUNT_MAX      (1 << 28)
#define NUMBER_SIZE    12
#define BOUND_MS       30000
#define REST_NS        100000 /* between two lines: all processes fall asleep */

struct job {
	char *writer;
	const char *path; /* the file, or NULL for a pipe */
	int flags;
	int is_by_line;
	int size;
	int count;
};

/* The processes and descriptors of one round. */
struct run {
	pid_t children[2];
	size_t child_count;
	int orders_fd;
	int ready_fd;
	int in_fd; /* what this program reads, or -1 */
	int out_fd;
};

static void
make_pipe(int fds[2])
{
	if (pipe2(fds, O_CLOEXEC) == -1)
		fail("pipe2");
}

/* Starts WORDS between IN_FD and OUT_FD. */
static void
start(struct run *run, char *const words[], int in_fd, int out_fd)
{
	const pid_t pid = fork_or_fail();

	if (pid == 0) {
		if (dup2(in_fd, STDIN_FILENO) == -1 ||
		    dup2(out_fd, STDOUT_FILENO) == -1)
			fail("dup2");
		execv(words[0], words);
		fail(words[0]);
	}
	run->children[run->child_count++] = pid;
}

/* The command alone, or the command with a wrapper before it. */
static void
start_writer(struct run *run, const struct job *job, char *const words[],
             int out_fd)
{
	char texts[4][NUMBER_SIZE];
	char *all[WORDS_MAX + WORDS_APPENDED + 1] = { NULL };
	int ready_fds[2];
	int orders_fds[2];
	size_t used = 0;

	make_pipe(ready_fds);
	make_pipe(orders_fds);
	for (; words[used] != NULL; used++)
		all[used] = words[used];
	all[used++] = job->writer;
	(void)snprintf(texts[0], NUMBER_SIZE, "%d", job->size);
	(void)snprintf(texts[1], NUMBER_SIZE, "%d",
	               job->is_by_line ? 1 : job->count);
	(void)snprintf(texts[2], NUMBER_SIZE, "%d", ready_fds[1]);
	(void)snprintf(texts[3], NUMBER_SIZE, "%d", orders_fds[0]);
	for (size_t i = 0; i < 4; i++)
		all[used++] = texts[i];

	(void)fcntl(ready_fds[1], F_SETFD, 0);
	(void)fcntl(orders_fds[0], F_SETFD, 0);
	start(run, all, STDIN_FILENO, out_fd);
	(void)close(ready_fds[1]);
	(void)close(orders_fds[0]);
	run->ready_fd = ready_fds[0];
	run->orders_fd = orders_fds[1];
}

static void
open_output(struct run *run, const struct job *job)
{
	int fds[2] = { -1, -1 };

	if (job->path == NULL) {
		make_pipe(fds);
	} else {
		fds[1] = open(job->path, job->flags, 0600);
		if (fds[1] == -1)
			fail(job->path);
	}
	run->in_fd = fds[0];
	run->out_fd = fds[1];
}

static void
start_run(struct run *run, const struct job *job,
          const struct candidate *candidate)
{
	char *const *const words = candidate->words;
	char *none[] = { NULL };
	int middle[2];

	memset(run, 0, sizeof(*run));
	open_output(run, job);
	if (words[0] == NULL || strcmp(words[0], "|") != 0) {
		start_writer(run, job, words, run->out_fd);
		return;
	}
	make_pipe(middle);
	start(run, words + 1, middle[0], run->out_fd);
	start_writer(run, job, none, middle[1]);
	(void)close(middle[0]);
	(void)close(middle[1]);
}

static void
await_byte(const struct candidate *candidate, int fd)
{
	struct pollfd source = { .fd = fd, .events = POLLIN };
	char byte;

	if (poll(&source, 1, BOUND_MS) == 1 && read(fd, &byte, 1) == 1)
		return;
	(void)fprintf(stderr, "relay: %s: the command did not start\n",
	              candidate->name);
	exit(1);
}

static void
order(const struct run *run)
{
	if (write(run->orders_fd, "", 1) != 1)
		fail("relay: order");
}

static void
end_run(struct run *run, const struct candidate *candidate)
{
	for (size_t i = 0; i < run->child_count; i++) {
		int status = 0;

		if (waitpid(run->children[i], &status, 0) == -1)
			fail("waitpid");
		if (status != 0) {
			(void)fprintf(stderr, "relay: %s: wait status %d\n",
			              candidate->name, status);
			exit(1);
		}
	}
	run->child_count = 0;
}

static _Noreturn void
complain(const struct candidate *candidate, int64_t have, int64_t want)
{
	(void)fprintf(stderr, "relay: %s: %jd bytes of %jd\n", candidate->name,
	              (intmax_t)have, (intmax_t)want);
	exit(1);
}

/* Reads WANT bytes, the last of which are in BUFFER then. */
static void
read_all(const struct run *run, const struct candidate *candidate, char *buffer,
         int64_t want)
{
	for (int64_t have = 0; have < want;) {
		const ssize_t got = read(run->in_fd, buffer, SIZE_MAX_BYTES);

		if (got <= 0)
			complain(candidate, have, want);
		have += got;
	}
}

/* Returns the time in nanoseconds. */
static int64_t
time_all(struct run *run, const struct job *job,
         const struct candidate *candidate, char *buffer)
{
	const int64_t want = (int64_t)job->size * job->count;
	const int64_t begin = now_ns();

	order(run);
	(void)close(run->orders_fd);
	run->orders_fd = -1;
	if (run->in_fd != -1) {
		read_all(run, candidate, buffer, want);
		return now_ns() - begin;
	}

	end_run(run, candidate);
	const int64_t end = now_ns();
	const off_t size = lseek(run->out_fd, 0, SEEK_END);
	if (size != want)
		complain(candidate, size, want);
	return end - begin;
}

static void
time_lines(struct run *run, const struct job *job, struct candidate *candidate,
           char *buffer)
{
	const struct timespec rest = { .tv_nsec = REST_NS };

	for (int i = 0; i < job->count; i++) {
		int64_t begin;

		order(run);
		read_all(run, candidate, buffer, job->size);
		const int64_t end = now_ns();

		memcpy(&begin, buffer, sizeof(begin));
		candidate_note(candidate, end - begin);
		(void)nanosleep(&rest, NULL);
	}
}

static void
run_once(const struct job *job, struct candidate *candidate)
{
	static char buffer[SIZE_MAX_BYTES];
	struct run run;
	char byte;

	start_run(&run, job, candidate);
	if (run.in_fd != -1)
		(void)close(run.out_fd);
	await_byte(candidate, run.ready_fd);
	(void)close(run.ready_fd);

	if (job->is_by_line)
		time_lines(&run, job, candidate, buffer);
	else
		candidate_note(candidate,
		               time_all(&run, job, candidate, buffer));

	if (run.orders_fd != -1)
		(void)close(run.orders_fd);
	if (run.in_fd != -1 && read(run.in_fd, &byte, 1) != 0)
		complain(candidate, -1, 0);
	end_run(&run, candidate);
	(void)close(run.in_fd != -1 ? run.in_fd : run.out_fd);
	/* The memory of one run must not be freed in the time of the next. */
	if (job->path != NULL && truncate(job->path, 0) == -1)
		fail(job->path);
}

static void
run_rounds(const struct job *job, struct candidate *candidates, size_t count,
           int rounds)
{
	size_t order_of[CANDIDATES_MAX];

	for (int round = 0; round < rounds; round++) {
		shuffle(order_of, count);
		for (size_t i = 0; i < count; i++)
			run_once(job, &candidates[order_of[i]]);
	}
}

static void
print_result(const struct job *job, struct candidate *candidate)
{
	const double median = candidate_median(candidate);
	const double bytes = (double)job->size * job->count;

	(void)printf("%s %.1f\n", candidate->name,
	             job->is_by_line ? median / 1e3 : bytes / median * 1e3);
}

int
main(int argc, char *argv[])
{
	static struct candidate candidates[CANDIDATES_MAX];
	size_t count = 0;

	if (argc < 7 || argc - 6 > CANDIDATES_MAX) {
		(void)fprintf(stderr, "usage: relay WRITER ROUNDS OUTPUT SIZE "
		                      "COUNT NAME=WAY...\n");
		return 2;
	}

	const int rounds = number(argv[2], 1, ROUNDS_MAX);
	struct job job = {
		.writer = argv[1],
		.is_by_line = strcmp(argv[3], "lines") == 0,
		.flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		.size = number(argv[4], 16, SIZE_MAX_BYTES),
		.count = number(argv[5], 1, COUNT_MAX),
	};
	if (argv[3][0] == '>') {
		job.path = argv[3] + 1;
		if (*job.path == '>') {
			job.path++;
			job.flags |= O_APPEND;
		}
	}

	const int null_fd = open("/dev/null", O_RDONLY);
	if (null_fd == -1 || dup2(null_fd, STDIN_FILENO) == -1)
		fail("/dev/null");
	if (null_fd > STDERR_FILENO)
		(void)close(null_fd);

	for (char **text = argv + 6; *text != NULL; text++)
		candidate_parse(&candidates[count++], *text);
	run_rounds(&job, candidates, count, rounds);
	for (size_t i = 0; i < count; i++)
		print_result(&job, &candidates[i]);
	return 0;
}
