/*
 * soak [-n RUNS] [-p AT_ONCE] [-s SEED]: many runs of $WDRUN at once, and
 * SIGKILL at random moments.
 *
 * First the storms, each alone: a crowd of 1,000, chains of processes that run
 * away, and their like; each is stopped by a timeout or SIGTERM, or its front,
 * its supervisor or both get SIGKILL. Then 50 runs want one lock. Then RUNS
 * runs, AT_ONCE side by side: bare, with output carried, with a terminal, or
 * with a lock, cleanup and an entry in a registry for all. SIGKILL, SIGTERM and
 * the command's exit come at moments that SEED makes.
 *
 * After each of these nothing may be left: no process, lock, file or entry;
 * where both watchers were killed, after --reap. Each status has to be true.
 * All processes of a run become children of this process sooner or later:
 * others on this machine are not looked at. Prints what it finds, and exits
 * with 1 if there was a finding.
 */
#include <dirent.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "trial.h"

#define RUNS_DEFAULT    1000
#define AT_ONCE_DEFAULT 100
#define AT_ONCE_MAX     2000
#define RIVALS          50                  /* for one lock */
#define LONG            (120 * MILLISECOND) /* moments of the kill, in most runs */
#define SHORT           (6 * MILLISECOND) /* and in those killed at the start */
#define SOON            (30 * MILLISECOND) /* when a run ends, or gets SIGTERM */
#define PAUSE_US        1000
#define FINDINGS_TOLD   50
#define CHILDREN_MAX    4096

enum victim { VICTIM_NONE, VICTIM_FRONT, VICTIM_SUPERVISOR, VICTIM_BOTH };

#define BOUNDS "--kill-after=20ms --idle-after-exit=10ms --quiet "

/* The runs. %1$d is the number of the run, %2$d and %3$d when and how it ends.
 */
static const char *const kinds[] = {
	BOUNDS "@act sleep=%2$d exit=%3$d",
	BOUNDS "--idle-timeout=60 --tee=T%1$d @act say=x sleep=%2$d exit=%3$d",
	BOUNDS "--pty @act say=x session sleep=%2$d exit=%3$d",
	BOUNDS
	"--name=soak --registry=R --lock=L%1$d --cleanup=C%1$d "
	"--cleanup=D%1$d @act lock=C%1$d dir=D%1$d session daemon sleep=%2$d exit=%3$d",
};
#define KINDS      (sizeof(kinds) / sizeof(kinds[0]))
#define REGISTERED (KINDS - 1)
#define FOR_EVER   (1000 * SECOND)

struct run {
	char words[256];
	enum victim victim;
	int64_t moment; /* of the kill, or NEVER */
	int64_t term;   /* of SIGTERM, or NEVER */
	int status;     /* that it has to have, as of wait(2) */
	pid_t front;    /* 0 when it has ended, */
	int ended_by;   /* with this status */
};

#define NEVER INT64_MAX

static struct run runs[AT_ONCE_MAX];
static int findings;
static int killed;

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

/* The same numbers for the same seed, of srandom(3). */
static int
random_below(int64_t limit)
{
	return (int)(random() % limit);
}

/* --- processes ----------------------------------------------------------- */

static pid_t
start(const char *words)
{
	const pid_t pid = fork();

	if (pid == -1)
		give_up("fork");
	if (pid == 0)
		execute(words, -1);
	return pid;
}

/* Returns the child of FRONT that leads a session of its own, or 0. */
static pid_t
supervisor_of(pid_t front)
{
	pid_t pids[8];
	const int count = children_of(front, pids, 8);

	for (int i = 0; i < count; i++) {
		if (stat_of(pids[i]).session == pids[i])
			return pids[i];
	}
	return 0;
}

/*
 * The front was not waited for, so that its PID is its own. A supervisor that
 * is held by a pidfd, and is the front's child, is the right process. Returns
 * false where there is none yet.
 */
static bool
kill_victim(const struct run *run)
{
	const enum victim victim = run->victim;
	const pid_t pid =
	    victim == VICTIM_FRONT ? 0 : supervisor_of(run->front);
	const int fd = pid == 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);

	if (victim != VICTIM_FRONT && fd == -1)
		return false;
	if (victim == VICTIM_BOTH)
		(void)kill(run->front, SIGSTOP);
	if (fd != -1 && stat_of(pid).parent == run->front)
		(void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
	if (fd != -1)
		(void)close(fd);
	if (victim != VICTIM_SUPERVISOR)
		(void)kill(run->front, SIGKILL);
	/* As long as it is not quite dead, --reap takes its run for alive. */
	for (const int64_t deadline = now() + BOUND; now() < deadline;) {
		if (pid == 0 || strchr("ZX", stat_of(pid).state) != NULL)
			break;
		(void)usleep(PAUSE_US);
	}
	return true;
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

/* Waits until the first COUNT fronts have ended, and kills what is due. */
static void
await_fronts(int count)
{
	const int64_t deadline = now() + BOUND;
	int left = count;

	while (left > 0 && now() < deadline) {
		left = 0;
		(void)reap_dead(count);
		for (int i = 0; i < count; i++) {
			struct run *const run = &runs[i];

			if (run->front == 0)
				continue;
			left++;
			if (run->term <= now()) {
				run->term = NEVER;
				(void)kill(run->front, SIGTERM);
			}
			if (run->moment <= now() && kill_victim(run)) {
				run->moment = NEVER;
				killed++;
			}
		}
		(void)usleep(PAUSE_US);
	}
	if (left > 0)
		find("%d runs do not end", left);
}

/* All processes have to end by themselves. Kills those that do not. */
static void
await_all(const char *what)
{
	const int64_t deadline = now() + BOUND;
	static pid_t pids[CHILDREN_MAX];
	int left;

	while (reap_dead(AT_ONCE_MAX)) {
		(void)usleep(PAUSE_US);
		if (now() < deadline)
			continue;
		left = children_of(getpid(), pids, CHILDREN_MAX);
		if (left > 0)
			find("%s: %d processes are left, one is %d %s", what,
			     left, (int)pids[0], stat_of(pids[0]).name);
		while (left > 0)
			(void)kill(pids[--left], SIGKILL);
		(void)close(open("stop-chain", O_CREAT | O_WRONLY, 0666));
	}
	(void)unlink("stop-chain");
}

static void
call_reap(void)
{
	const int status = have_reaped("--reap --quiet --registry=R");

	if (status != 0)
		find("--reap ends with wait status %#x", status);
}

/* --- what is left -------------------------------------------------------- */

static void
check_status(const struct run *run)
{
	const int status = run->ended_by;

	/* Whose supervisor leads the session of its terminal, gets SIGHUP then.
	 */
	const bool is_hung_up = strstr(run->words, "--pty") != NULL &&
	                        status == W_EXITCODE(0, SIGHUP);

	/* Not each command gets the processor to die of SIGTERM in time. */
	const bool is_late = run->status == W_EXITCODE(0, SIGTERM);

	if (status == run->status || (is_late && status == KILLED) ||
	    (run->victim == VICTIM_SUPERVISOR && is_hung_up) ||
	    (run->victim != VICTIM_NONE && status == KILLED) ||
	    (run->victim == VICTIM_SUPERVISOR && status == STATUS_FAILED))
		return;
	find("wait status %#x, not %#x, victim %d: %s", status, run->status,
	     (int)run->victim, run->words);
}

/*
 * The lock file of a killed front may be left, and nobody holds it. A copy of
 * the output is not wdrun's to remove.
 */
static void
check_file(const char *name)
{
	const int number = atoi(name + 1);
	const enum victim victim =
	    number < AT_ONCE_MAX ? runs[number].victim : VICTIM_NONE;
	const bool may_be_left =
	    *name == 'T' || strcmp(name, "out") == 0 ||
	    strcmp(name, "err") == 0 ||
	    (*name == 'L' && (victim == VICTIM_BOTH || victim == VICTIM_FRONT));

	if (!may_be_left)
		find("'%s' is left, victim %d", name, (int)victim);
	else if (*name == 'L' && !lock_is_free(name))
		find("'%s' is held", name);
}

static void
check_files(const char *path)
{
	DIR *directory = opendir(path);
	const struct dirent *file;

	while (directory != NULL && (file = readdir(directory)) != NULL) {
		const char *name = file->d_name;

		if (name[0] == '.' || strcmp(name, "R") == 0)
			continue;
		check_file(name);
		(void)unlinkat(dirfd(directory), name, 0);
		(void)unlinkat(dirfd(directory), name, AT_REMOVEDIR);
	}
	if (directory != NULL)
		(void)closedir(directory);
}

static void
check_all(int count, const char *what)
{
	for (int i = 0; i < count; i++)
		check_status(&runs[i]);
	await_all(what);
	check_files(".");
	check_files("R");
}

/* --- the storms ---------------------------------------------------------- */

static void
have_storm(const char *program, const char *options, enum victim victim,
           int status)
{
	struct run *const run = &runs[0];
	const int64_t deadline = now() + BOUND;
	char text[TEXT_MAX] = "";

	*run = (struct run){ .victim = victim,
		             .status = status,
		             .moment = NEVER,
		             .term = NEVER };
	(void)snprintf(run->words, sizeof(run->words),
	               "--quiet --name=storm --registry=R --kill-after=100ms %s"
	               "@%s",
	               options, program);
	run->front = start(run->words);
	while (strstr(text, "ready ") == NULL && run->front != 0 &&
	       now() < deadline) {
		(void)reap_dead(1);
		(void)read_start("out", text);
		(void)usleep(PAUSE_US);
	}
	if (victim != VICTIM_NONE)
		run->moment = 0;
	else if (WIFSIGNALED(status))
		run->term = 0;
	await_fronts(1);
	if (victim == VICTIM_BOTH)
		call_reap();
	check_all(1, program);
}

static int
have_storms(void)
{
	static const char *const programs[] = { "crowd 1000", "storm 1000",
		                                "chain", "hydra 10 1000" };
	const int term = W_EXITCODE(0, SIGTERM);

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		have_storm(programs[i], "--timeout=1 ", VICTIM_NONE,
		           W_EXITCODE(124, 0));
		have_storm(programs[i], "", VICTIM_FRONT, KILLED);
		have_storm(programs[i], "", VICTIM_SUPERVISOR, KILLED);
	}
	have_storm("crowd 1000", "", VICTIM_NONE, term);
	have_storm("crowd 1000", "", VICTIM_BOTH, KILLED);
	have_storm("storm 1000", "", VICTIM_BOTH, KILLED);
	return 15;
}

/* Whoever has the lock makes a directory, and removes it: two cannot. */
static void
fight_for_lock(void)
{
	for (int i = 0; i < RIVALS; i++) {
		runs[i] = (struct run){ .moment = NEVER, .term = NEVER };
		strcpy(runs[i].words,
		       "--quiet --lock=L --lock-wait=60 --cleanup=D "
		       "@act dir=D sleep=1 exit=0");
		runs[i].front = start(runs[i].words);
	}
	await_fronts(RIVALS);
	check_all(RIVALS, "one lock");
}

/* --- the runs ------------------------------------------------------------ */

static struct run
make_run(int number)
{
	static const int64_t ranges[] = { SHORT, LONG, LONG };
	struct run run = { .moment = NEVER, .term = NEVER };
	const int ending = random_below(4);
	const int64_t end = random_below(SOON);
	const int64_t moment = now() + random_below(ranges[random_below(3)]);
	const int code = random_below(100);
	int kind = random_below(KINDS);
	int64_t sleep = end;

	if (random_below(3) == 0)
		run.victim = (enum victim)(1 + random_below(3));
	/* Without an entry no process could find what both watchers left. */
	if (run.victim == VICTIM_BOTH)
		kind = REGISTERED;
	run.status = W_EXITCODE(code, 0);
	if (run.victim != VICTIM_NONE)
		run.moment = moment;
	if (ending == 0) {
		run.status = W_EXITCODE(0, SIGTERM);
		run.term = now() + end;
		sleep = FOR_EVER;
	} else if (ending == 1 && run.victim != VICTIM_NONE) {
		sleep = FOR_EVER;
	}
	(void)snprintf(run.words, sizeof(run.words), kinds[kind], number,
	               (int)(sleep / MILLISECOND), code);
	return run;
}

static void
have_wave(int count)
{
	for (int i = 0; i < count; i++) {
		runs[i] = make_run(i);
		runs[i].front = start(runs[i].words);
	}
	await_fronts(count);
	call_reap();
	check_all(count, "wave");
}

int
main(int argc, char *argv[])
{
	int total = RUNS_DEFAULT;
	int at_once = AT_ONCE_DEFAULT;
	unsigned seed = 1;
	int option;

	while ((option = getopt(argc, argv, "n:p:s:")) != -1) {
		if (option == 'n')
			total = atoi(optarg);
		else if (option == 'p')
			at_once = atoi(optarg);
		else if (option == 's')
			seed = (unsigned)atoi(optarg);
		else
			return 99;
	}
	if (at_once < 1 || at_once >= AT_ONCE_MAX || total < 1 ||
	    getenv("WDRUN") == NULL || getenv("PROGRAMS") == NULL)
		return 99;
	/* Descriptors that the caller has left open are no leak of wdrun's. */
	(void)close_range(STDERR_FILENO + 1, ~0U, 0);
	setlinebuf(stdout);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) == -1)
		give_up("prctl");

	const int storms = have_storms();

	srandom(seed);
	fight_for_lock();
	for (int done = 0; done < total; done += at_once)
		have_wave(total - done < at_once ? total - done : at_once);
	printf("soak: seed %u: %d storms, %d for one lock, %d runs, %d "
	       "killed: %d findings\n",
	       seed, storms, RIVALS, total, killed, findings);
	return findings == 0 ? 0 : 1;
}
