/*
 * random_kill [-s SEED] [-j WORKERS] [-m FACTOR] RUNS front|supervisor|both:
 * runs $WDRUN RUNS times, each time with a lock, cleanup files, a registry
 * entry, and a command that litters ($PROGRAMS/litter). At a random moment the
 * front, the supervisor, or both get SIGKILL. Then nothing of the run may be
 * left: no process, no held lock, no file, no entry (where both were killed,
 * after `wdrun --reap`). Whatever is left is a finding, printed in one line.
 * Exits with 1 if there was a finding. Each worker has a directory in the
 * working directory. On a slow machine, FACTOR stretches the moments.
 */
#include "bounded.h"
#include "processes.h"
#include "trial.h"

#include <dirent.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define BOUND (100000 * MILLISECOND) /* generous, as for all tests */
#define LONG_RUN_US                                                            \
	90000 /* moments of the kill, in runs that are watched to their end */
#define SHORT_RUN_US    6000  /* and in runs whose start is the subject */
#define SOON_US         30000 /* when a run ends by itself, or gets SIGTERM */
#define DEFAULT_WORKERS 6

enum victim { VICTIM_FRONT, VICTIM_SUPERVISOR, VICTIM_BOTH };

/* How a run ends where the kill comes too late. */
enum ending { ENDING_NONE, ENDING_EXIT, ENDING_TERM };

static const char *const ending_names[] = { "for ever", "exit", "TERM" };

struct trial {
	enum victim victim;
	enum ending ending;
	int64_t moment; /* of the kill, in nanoseconds after the fork */
	int64_t end;    /* of the exit or the SIGTERM */
	uint64_t seed;
	int number;
	int findings;
	pid_t front;
	char log[32]; /* the messages of the run */
};

/* The sums of all workers, in shared memory. */
struct tally {
	int runs;
	int early; /* there was no supervisor yet */
	int late;  /* the front had ended */
	int findings;
};

static struct tally *tally;

/* --- telling ------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void
find(struct trial *trial, const char *format, ...)
{
	char what[TEXT_MAX];
	char said[TEXT_MAX];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	last_line(trial->log, said);
	trial->findings++;
	(void)__atomic_add_fetch(&tally->findings, 1, __ATOMIC_RELAXED);
	dprintf(STDOUT_FILENO,
	        "seed %llu run %d (%s, %lld us), killed after %lld us: %s; "
	        "said last: %s\n",
	        (unsigned long long)trial->seed, trial->number,
	        ending_names[trial->ending],
	        (long long)(trial->end / MICROSECOND),
	        (long long)(trial->moment / MICROSECOND), what, said);
}

/* --- processes ----------------------------------------------------------- */

static pid_t
find_supervisor(pid_t front, bool is_to_come)
{
	const int64_t deadline = now() + BOUND / 10;
	bool has_nameless = false;
	pid_t pid = supervisor_of(front, &has_nameless);

	while (pid == 0 && (is_to_come || has_nameless) && !is_dead(front) &&
	       now() < deadline)
		pid = supervisor_of(front, &has_nameless);
	return pid;
}

static void
await_stop(pid_t pid)
{
	const int64_t deadline = now() + BOUND;

	while (state_of(pid) != 'T' && !is_dead(pid) && now() < deadline)
		(void)usleep(100);
}

/*
 * A process that got SIGKILL lives for another moment, and releases its locks
 * before it is dead.
 */
static void
await_death(pid_t pid)
{
	const int64_t deadline = now() + BOUND;

	while (!is_dead(pid) && now() < deadline)
		(void)usleep(100);
}

/* --- a trial ------------------------------------------------------------- */

/*
 * The front is not reaped before it is killed. A supervisor that is held by a
 * pidfd and is still the front's child is the supervisor that was found.
 */
static void
kill_supervisor(const struct trial *trial, bool is_to_come)
{
	bool has_nameless;
	const pid_t pid = find_supervisor(trial->front, is_to_come);
	const int fd = pid == 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);

	if (pid == 0 && !is_dead(trial->front))
		(void)__atomic_add_fetch(&tally->early, 1, __ATOMIC_RELAXED);
	if (fd == -1)
		return;
	if (supervisor_of(trial->front, &has_nameless) == pid) {
		if (trial->victim == VICTIM_BOTH) {
			(void)syscall(SYS_pidfd_send_signal, fd, SIGSTOP, NULL,
			              0);
			await_stop(pid);
		}
		(void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		await_death(pid);
	}
	(void)close(fd);
}

static void
kill_victim(const struct trial *trial)
{
	if (is_dead(trial->front))
		(void)__atomic_add_fetch(&tally->late, 1, __ATOMIC_RELAXED);

	switch (trial->victim) {
	case VICTIM_FRONT:
		(void)kill(trial->front, SIGKILL);
		return;
	case VICTIM_SUPERVISOR:
		kill_supervisor(trial, true);
		return;
	case VICTIM_BOTH:
		/*
		 * The front is stopped first, since it would continue the
		 * supervisor. Neither of them sees the other's death, as both
		 * are stopped.
		 */
		(void)kill(trial->front, SIGSTOP);
		await_stop(trial->front);
		kill_supervisor(trial, false);
		(void)kill(trial->front, SIGKILL);
		await_death(trial->front);
		return;
	}
}

/* Directs the output of this process to LOG, and returns the path of wdrun. */
static const char *
prepare_to_execute(const char *log)
{
	const int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);

	if (fd == -1 || dup2(fd, STDOUT_FILENO) == -1 ||
	    dup2(fd, STDERR_FILENO) == -1 || close(fd) == -1)
		give_up(log);
	return getenv("WDRUN");
}

static _Noreturn void
become_run(const struct trial *trial)
{
	char program[TEXT_MAX];
	char lifetime[16];
	const char *wdrun = prepare_to_execute(trial->log);

	(void)snprintf(program, sizeof(program), "%s/litter",
	               getenv("PROGRAMS"));
	(void)snprintf(lifetime, sizeof(lifetime), "%d",
	               (int)(trial->end / MILLISECOND));
	(void)execl(wdrun, wdrun, "--lock=L", "--cleanup=C", "--cleanup=D",
	            "--name=r", "--registry=R", "--idle-timeout=60",
	            "--kill-after=20ms", "--idle-after-exit=10ms", program, "C",
	            "D", trial->ending == ENDING_EXIT ? lifetime : NULL, NULL);
	give_up(wdrun);
}

static pid_t
start_run(const struct trial *trial)
{
	const pid_t pid = fork();

	if (pid == -1)
		give_up("fork");
	if (pid == 0)
		become_run(trial);
	return pid;
}

/* --- afterwards ---------------------------------------------------------- */

static void
check_lock(struct trial *trial)
{
	const int64_t deadline = now() + BOUND;

	while (!lock_is_free("L")) {
		if (now() > deadline) {
			find(trial, "the lock is still held");
			return;
		}
		(void)usleep(1000);
	}
}

/*
 * Reaps the dead children. Returns false where there is no child left. Sets
 * *STATUS if PID, or for PID 0 any child, was among them.
 */
static bool
reap(pid_t pid, int *status)
{
	for (;;) {
		int its;
		const pid_t dead = waitpid(-1, &its, WNOHANG);

		if (dead <= 0)
			return dead == 0;
		if (dead == pid || pid == 0)
			*status = its;
	}
}

/*
 * This process is a subreaper, so all processes of the run become its children
 * sooner or later: without children, no process of the run is left.
 */
static void
check_processes(struct trial *trial, int *status)
{
	const int64_t deadline = now() + BOUND;
	pid_t pids[CHILDREN_MAX];
	char name[32] = "";

	while (reap(trial->front, status)) {
		if (now() < deadline) {
			(void)usleep(1000);
			continue;
		}

		const int count = children_of(getpid(), pids);

		if (count > 0)
			name_of(pids[0], name);
		find(trial, "%d processes are left, one is %d %s", count,
		     count > 0 ? (int)pids[0] : 0, name);
		while (reap(0, status)) {
			const int left = children_of(getpid(), pids);

			for (int i = 0; i < left; i++)
				(void)kill(pids[i], SIGKILL);
			(void)usleep(1000);
		}
		return;
	}
}

static void
check_directory(struct trial *trial, const char *path, const char *allowed)
{
	DIR *directory = opendir(path);
	const struct dirent *file;

	if (directory == NULL) {
		if (errno != ENOENT)
			find(trial, "%s: %s", path, strerror(errno));
		return;
	}
	while ((file = readdir(directory)) != NULL) {
		const char *name = file->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		    (name[1] == '\0' && strchr(allowed, name[0]) != NULL))
			continue;
		find(trial, "'%s/%s' is left", path, name);
		/* The next trial must not find this file again. */
		(void)unlinkat(dirfd(directory), name, 0);
		(void)unlinkat(dirfd(directory), name, AT_REMOVEDIR);
	}
	(void)closedir(directory);
}

static void
call_reaper(struct trial *trial)
{
	const int64_t deadline = now() + 2 * BOUND;
	const pid_t pid = fork();
	int status = -1;

	if (pid == -1)
		give_up("fork");
	if (pid == 0) {
		const char *wdrun = prepare_to_execute(trial->log);

		(void)execl(wdrun, wdrun, "--reap", "--registry=R", NULL);
		give_up(wdrun);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (now() > deadline) {
			find(trial, "--reap does not end");
			(void)kill(pid, SIGKILL);
			(void)waitpid(pid, &status, 0);
			return;
		}
		(void)usleep(1000);
	}
	if (status != 0)
		find(trial, "the wait status of --reap is %#x", status);
}

static void
attempt(struct trial *trial)
{
	int status = -1;
	const int64_t start = now();

	trial->front = start_run(trial);
	if (trial->ending == ENDING_TERM && trial->end < trial->moment) {
		sleep_until(start + trial->end);
		(void)kill(trial->front, SIGTERM);
	}
	sleep_until(start + trial->moment);
	kill_victim(trial);
	(void)__atomic_add_fetch(&tally->runs, 1, __ATOMIC_RELAXED);

	check_lock(trial);
	if (trial->victim == VICTIM_BOTH)
		call_reaper(trial);
	check_processes(trial, &status);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 75)
		find(trial, "the lock was held when it started");
	check_lock(trial);
	check_directory(trial, ".", "LR");
	check_directory(trial, "R", "");
}

struct plan {
	int runs;
	int workers;
	int factor;
	uint64_t seed;
	enum victim victim;
};

static struct trial
make_trial(const struct plan *plan, int number)
{
	uint64_t state =
	    plan->seed + (uint64_t)number * UINT64_C(0x2545f4914f6cdd1d);
	const enum ending ending = (enum ending)(random_number(&state) % 4 % 3);
	const bool is_short = random_number(&state) % 3 == 0;
	const uint64_t range = is_short ? SHORT_RUN_US : LONG_RUN_US;

	return (struct trial){
		.victim = plan->victim,
		.ending = ending,
		.moment = (int64_t)(random_number(&state) % range) *
		          plan->factor * MICROSECOND,
		.end = (int64_t)(random_number(&state) % SOON_US) *
		       plan->factor * MICROSECOND,
		.seed = plan->seed,
		.number = number,
	};
}

/* --- all of them --------------------------------------------------------- */

static _Noreturn void
work(const struct plan *plan, int worker)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "worker-%d", worker);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) == -1 || mkdir(name, 0777) == -1 ||
	    chdir(name) == -1)
		give_up(name);
	for (int i = worker; i < plan->runs; i += plan->workers) {
		struct trial trial = make_trial(plan, i);

		(void)snprintf(trial.log, sizeof(trial.log), "../said-%d",
		               worker);
		attempt(&trial);
	}
	_exit(0);
}

static struct plan
read_arguments(int argc, char *argv[])
{
	static const char *const names[] = { "front", "supervisor", "both" };
	struct plan plan = {
		.workers = DEFAULT_WORKERS,
		.factor = 1,
		.seed = (uint64_t)now() / MICROSECOND % 1000000000,
	};
	int option;

	while ((option = getopt(argc, argv, "s:j:m:")) != -1) {
		if (option == 's')
			plan.seed = strtoull(optarg, NULL, 10);
		else if (option == 'j')
			plan.workers = atoi(optarg);
		else if (option == 'm')
			plan.factor = atoi(optarg);
	}
	if (argc - optind != 2 || plan.workers < 1 || plan.factor < 1 ||
	    getenv("WDRUN") == NULL || getenv("PROGRAMS") == NULL)
		exit(99);
	plan.runs = atoi(argv[optind]);
	for (plan.victim = VICTIM_FRONT; plan.victim <= VICTIM_BOTH;
	     plan.victim++) {
		if (strcmp(argv[optind + 1], names[plan.victim]) == 0)
			return plan;
	}
	exit(99);
}

int
main(int argc, char *argv[])
{
	const struct plan plan = read_arguments(argc, argv);
	bool is_fine = true;
	int status;

	tally = share(sizeof(*tally));
	for (int i = 0; i < plan.workers; i++) {
		const pid_t pid = fork();

		if (pid == -1)
			give_up("fork");
		if (pid == 0)
			work(&plan, i);
	}
	while (wait(&status) != -1)
		is_fine = is_fine && status == 0;

	dprintf(STDOUT_FILENO,
	        "seed %llu: %d runs, %d killed before there was a supervisor, "
	        "%d when all was over: %d findings\n",
	        (unsigned long long)plan.seed, tally->runs, tally->early,
	        tally->late, tally->findings);
	return is_fine && tally->findings == 0 && tally->runs == plan.runs ? 0
	                                                                   : 1;
}
