/*
 * soak [-n RUNS] [-p AT_ONCE] [-s SEED]: runs $WDRUN RUNS times, AT_ONCE side
 * by side: without options, with a relay, or with a lock, cleanup and an entry
 * in a registry for all. In some runs the front, the supervisor or both get
 * SIGKILL at a random moment. A wave ends when none of its processes is left;
 * then the status of each run has to be true, and no file may be left. At the
 * end neither this process nor the machine may have more descriptors open, or
 * less memory, than before. Prints what it finds, and exits with 1 if there was
 * a finding.
 */
#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../programs/bounded.h"
#include "../programs/processes.h"
#include "../programs/trial.h"
#include "amounts.h"
#include "soakrun.h"

#define RUNS_DEFAULT  10000
#define WAVE_DEFAULT  500
#define WAVE_MAX      2000
#define BOUND         (60000 * MILLISECOND) /* for a wave */
#define BOUND_AFTER   (15000 * MILLISECOND) /* when all fronts have ended */
#define FINDINGS_TOLD 50
#define PAUSE_US      2000
#define STATUS_FAILED 125

static struct one_run runs[WAVE_MAX];
static int findings;
static int killed;
static uint64_t seed;

__attribute__((format(printf, 1, 2))) static void
find(const char *format, ...)
{
	va_list arguments;

	if (++findings > FINDINGS_TOLD)
		return;
	printf("found: ");
	va_start(arguments, format);
	(void)vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
}

/* --- a run --------------------------------------------------------------- */

static void
start(struct one_run *run, int number)
{
	run->front = fork();
	if (run->front == -1)
		give_up("fork");
	if (run->front == 0)
		soak_execute(run, number);
	run->moment += now();
	if (run->victim != VICTIM_NONE)
		killed++;
}

/*
 * The front was not reaped, so that its PID is its own. A supervisor that is
 * held by a pidfd, and is the front's child, is the right process.
 */
static void
kill_supervisor(pid_t front)
{
	bool has_nameless;
	const pid_t pid = supervisor_of(front, &has_nameless);
	const int fd = pid == 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd == -1)
		return;
	if (supervisor_of(front, &has_nameless) == pid)
		(void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
	(void)close(fd);
}

static void
kill_victim(struct one_run *run)
{
	const enum victim victim = run->victim;

	run->moment = INT64_MAX;
	if (victim == VICTIM_BOTH)
		(void)kill(run->front, SIGSTOP);
	if (victim == VICTIM_BOTH || victim == VICTIM_SUPERVISOR)
		kill_supervisor(run->front);
	if (victim == VICTIM_BOTH || victim == VICTIM_FRONT)
		(void)kill(run->front, SIGKILL);
}

/* --- a wave -------------------------------------------------------------- */

static void
kill_due(int count)
{
	const int64_t moment = now();

	for (int i = 0; i < count; i++) {
		struct one_run *run = &runs[i];

		if (run->victim != VICTIM_NONE && run->front != 0 &&
		    run->moment <= moment)
			kill_victim(run);
	}
}

/* Reaps the dead children. Returns false where this process has no child. */
static bool
reap_dead(int count)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (int i = 0; i < count; i++) {
			if (runs[i].front != pid)
				continue;
			runs[i].front = 0;
			runs[i].ended_by = status;
		}
	}
	return pid == 0;
}

static bool
fronts_are_left(int count)
{
	while (count > 0 && runs[count - 1].front == 0)
		count--;
	return count > 0;
}

static void
call_reaper(int count)
{
	const int64_t deadline = now() + BOUND;
	const char *wdrun = getenv("WDRUN");

	/* This takes the place of a run in reap_dead(). */
	runs[count] = (struct one_run){ .front = fork(), .ended_by = -1 };
	if (runs[count].front == -1)
		give_up("fork");
	if (runs[count].front == 0) {
		(void)execl(wdrun, wdrun, "--reap", "--quiet", "--registry=R",
		            NULL);
		give_up(wdrun);
	}
	while (runs[count].front != 0 && now() < deadline) {
		(void)reap_dead(count + 1);
		(void)usleep(PAUSE_US);
	}
	if (runs[count].ended_by != 0)
		find("--reap ended with wait status %#x", runs[count].ended_by);
}

/* Kills the processes that are left, which are findings. */
static void
end_left(int count)
{
	pid_t pids[CHILDREN_MAX];

	do {
		const int left = children_of(getpid(), pids);

		for (int i = 0; i < left; i++) {
			char name[32];

			name_of(pids[i], name);
			find("process %d %s is left", (int)pids[i], name);
			(void)kill(pids[i], SIGKILL);
		}
		(void)usleep(PAUSE_US);
	} while (reap_dead(count));
}

static void
check_status(const struct one_run *run, int number)
{
	const int status = run->ended_by;
	const bool is_own =
	    WIFEXITED(status) && WEXITSTATUS(status) == run->status;
	const bool is_killed = status == SIGKILL;
	const bool has_failed = status == STATUS_FAILED << 8;

	if (is_own || (run->victim != VICTIM_NONE && is_killed) ||
	    (run->victim == VICTIM_SUPERVISOR && has_failed))
		return;
	find("run %d (%d, killed %d): wait status %#x, not %d", number,
	     (int)run->kind, (int)run->victim, status, run->status);
}

/* A lock file that is left is not held: its holder is dead. */
static void
check_file(const char *name, enum victim victim)
{
	const bool is_lock =
	    name[0] == 'L' && (victim == VICTIM_BOTH || victim == VICTIM_FRONT);

	if (!is_lock)
		find("'%s' is left, victim %d", name, (int)victim);
	else if (!lock_is_free(name))
		find("'%s' is held", name);
}

static void
check_files(const char *path, int count)
{
	DIR *directory = opendir(path);
	const struct dirent *file;

	while (directory != NULL && (file = readdir(directory)) != NULL) {
		const char *name = file->d_name;
		const int number = atoi(name + 1);

		if (name[0] == '.' || strcmp(name, "R") == 0)
			continue;
		check_file(name,
		           number < count ? runs[number].victim : VICTIM_NONE);
		(void)unlinkat(dirfd(directory), name, 0);
		(void)unlinkat(dirfd(directory), name, AT_REMOVEDIR);
	}
	if (directory != NULL)
		(void)closedir(directory);
}

static void
do_wave(int count, uint64_t *state)
{
	int64_t deadline = now() + BOUND;
	bool has_children;

	for (int i = 0; i < count; i++) {
		runs[i] = soak_make(state);
		start(&runs[i], i);
		kill_due(i + 1);
		(void)reap_dead(i + 1);
	}
	while (fronts_are_left(count) && now() < deadline) {
		kill_due(count);
		(void)reap_dead(count);
		(void)usleep(PAUSE_US);
	}
	if (fronts_are_left(count))
		find("the wave does not end");
	call_reaper(count);
	deadline = now() + BOUND_AFTER;
	while ((has_children = reap_dead(count)) && now() < deadline)
		(void)usleep(PAUSE_US);
	if (has_children)
		end_left(count);
	for (int i = 0; i < count; i++)
		check_status(&runs[i], i);
	check_files(".", count);
	check_files("R", 0);
}

int
main(int argc, char *argv[])
{
	int total = RUNS_DEFAULT;
	int at_once = WAVE_DEFAULT;
	struct amounts before;
	struct amounts after;
	int option;

	seed = (uint64_t)now() / MICROSECOND % 1000000000;
	while ((option = getopt(argc, argv, "n:p:s:")) != -1) {
		if (option == 'n')
			total = atoi(optarg);
		else if (option == 'p')
			at_once = atoi(optarg);
		else if (option == 's')
			seed = strtoull(optarg, NULL, 10);
		else
			return 99;
	}
	if (at_once < 1 || at_once >= WAVE_MAX || getenv("WDRUN") == NULL ||
	    getenv("PROGRAMS") == NULL)
		return 99;
	setlinebuf(stdout);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) == -1)
		give_up("prctl");

	uint64_t state = seed;

	/* What this process itself needs once does not count. */
	do_wave(1, &state);
	before = amounts_measure();
	for (int done = 0; done < total; done += at_once)
		do_wave(total - done < at_once ? total - done : at_once,
		        &state);
	after = amounts_remeasure(&before);
	if (!amounts_are_no_more(&before, &after))
		find("more is in use than before");
	amounts_print(&before, &after);
	printf("soak: seed %llu: %d runs, %d at a time, %d killed: "
	       "%d findings\n",
	       (unsigned long long)seed, total, at_once, killed, findings);
	return findings == 0 ? 0 : 1;
}
