/*
 * Programs that fork, each under its own name. They print `ready PID` and live
 * on.
 *
 * crowd NUMBER: NUMBER idle children, the last of which is ready.
 *
 * chain [PAUSE_US]: a chain of processes, each of which makes a session of its
 * own, forks the next and exits: no process is where it was seen. The chain
 * ends after LIFE_SECONDS, or when the working directory has a file stop-chain,
 * which the harness makes for a chain that wdrun did not end.
 *
 * storm NUMBER: a fork storm. Each process makes a session of its own and forks
 * children that do the same, until there have been NUMBER processes. It is
 * ready when a tenth of them exist, in the middle of the storm.
 *
 * hydra HEADS MAX: HEADS chains of processes, each process in a session of its
 * own. When the parent of a process dies, the process forks two successors, as
 * long as MAX processes were not exceeded: then hydra says `outgrown`. Who
 * kills processes as it finds them gets more of them; who stops all of them
 * first, does not.
 *
 * bomb: a fork bomb at its limit. Each process ignores signals, makes a session
 * of its own and forks as fast as it can. All of them end BOMB_SECONDS after
 * the start. It is ready when RLIMIT_NPROC is reached, and does not start
 * without this limit, or as root, for whom it does not hold.
 *
 * successor: on SIGTERM it forks a successor with a session of its own, which
 * does the same, and exits with 0. Only SIGKILL, or the bounded life, ends the
 * last one.
 *
 * threads fork [PROGRAM]: a child forked by a thread that is not the main
 * thread. Such a child is listed in /proc/PID/task/TID/children of its thread
 * only. threads leaderless: the same, and then the main thread exits; the
 * process looks like a zombie.
 */
#include "bounded.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define HYDRA_LENGTH   4 /* of a chain */
#define BOMB_SECONDS   20
#define BOMB_PROCESSES 1000

static char **words;     /* of the command line */
static int most;         /* processes that are to be forked */
static atomic_int *born; /* how many were, shared by all */

static void
be_crowd(void)
{
	pid_t last = -1;

	for (int i = atoi(words[1]); i > 0; i--) {
		last = fork_bounded();
		if (last == 0)
			live();
	}
	say_ready(last);
}

static _Noreturn void
run_on(useconds_t pause_us)
{
	const time_t end = time(NULL) + LIFE_SECONDS;

	while (time(NULL) < end && access("stop-chain", F_OK) == -1) {
		const pid_t next = fork();

		if (next > 0)
			_exit(0);
		if (next == 0)
			(void)setsid();
		if (pause_us > 0 || next == -1)
			(void)usleep(next == -1 ? 1000 : pause_us);
	}
	_exit(0);
}

static void
be_chain(void)
{
	const pid_t first = fork();

	if (first == -1)
		give_up("fork");
	if (first == 0)
		run_on(words[1] == NULL ? 0 : (useconds_t)atoi(words[1]));
	say_ready(first);
}

static void
be_storm(void)
{
	most = atoi(words[1]);
	born = share(sizeof(*born));

	const pid_t first = fork_bounded();

	while (first == 0 && atomic_fetch_add(born, 1) < most) {
		if (fork_bounded() == 0)
			(void)setsid();
		(void)usleep(500);
	}
	if (first == 0)
		live();
	while (atomic_load(born) < most / 10)
		(void)usleep(100);
	say_ready(first);
}

/* Blocks the signal. Returns what sigwaitinfo(2) takes. */
static sigset_t
blocked(int number)
{
	sigset_t one;

	(void)sigemptyset(&one);
	(void)sigaddset(&one, number);
	(void)sigprocmask(SIG_BLOCK, &one, NULL);
	return one;
}

static void
grow(int length)
{
	const pid_t parent = getpid();
	const int before = atomic_fetch_add(born, 1);

	if (before == most)
		dprintf(STDOUT_FILENO, "outgrown\n");
	if (before >= most || fork_bounded() != 0)
		return;
	(void)setsid();
	if (length > 1)
		grow(length - 1);

	const sigset_t told = blocked(SIGUSR1);

	if (prctl(PR_SET_PDEATHSIG, SIGUSR1) == -1)
		give_up("prctl");
	while (getppid() == parent && sigwaitinfo(&told, NULL) == -1)
		; /* EINTR: the process was stopped and continued */
	grow(1);
	grow(1);
	live();
}

static void
be_hydra(void)
{
	const int heads = atoi(words[1]);

	most = atoi(words[2]);
	born = share(sizeof(*born));
	(void)signal(SIGTERM, SIG_IGN);
	for (int i = 0; i < heads; i++)
		grow(HYDRA_LENGTH);
	while (atomic_load(born) < heads * HYDRA_LENGTH)
		(void)usleep(1000);
	say_ready(getpid());
}

static void
be_bomb(void)
{
	const time_t end = time(NULL) + BOMB_SECONDS;
	const pid_t first = getpid();
	int is_ready = 0;
	struct rlimit limit;

	(void)getrlimit(RLIMIT_NPROC, &limit);
	if (getuid() == 0 || geteuid() == 0 || limit.rlim_max > BOMB_PROCESSES)
		give_up("no limit");
	for (int i = 1; i <= SIGRTMAX; i++) {
		if (i != SIGCHLD)
			(void)signal(i, SIG_IGN);
	}
	while (time(NULL) < end) {
		const pid_t pid = fork();

		if (pid == 0)
			(void)setsid();
		if (pid == -1 && getpid() == first && !is_ready) {
			is_ready = 1;
			say_ready(first);
		}
	}
	exit(0);
}

static void
be_successor(void)
{
	const sigset_t term = blocked(SIGTERM);

	say_ready(getpid());
	for (;;) {
		if (sigwaitinfo(&term, NULL) == -1)
			continue;
		if (fork_bounded() != 0)
			_exit(0);
		(void)setsid();
	}
}

static void *
fork_and_live(void *leaderless)
{
	const pid_t child = fork_bounded();

	if (child == 0 && words[2] != NULL)
		(void)execv(words[2], words + 2);
	if (child == 0)
		live();
	if (leaderless != NULL)
		await_state(getpid(), 'Z');
	say_ready(child);
	live();
}

static void
be_threads(void)
{
	pthread_t thread;
	void *const leaderless = strchr(words[1], 'l');

	if (pthread_create(&thread, NULL, fork_and_live, leaderless) != 0)
		give_up("pthread_create");
	if (leaderless != NULL)
		pthread_exit(NULL);
}

static const struct {
	const char *name;
	void (*be)(void);
	int words; /* that it needs */
} programs[] = {
	{ "crowd", be_crowd, 1 },     { "chain", be_chain, 0 },
	{ "storm", be_storm, 1 },     { "hydra", be_hydra, 2 },
	{ "bomb", be_bomb, 0 },       { "successor", be_successor, 0 },
	{ "threads", be_threads, 1 },
};

int
main(int argc, char *argv[])
{
	words = argv;
	bound_life();
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (strcmp(program_invocation_short_name, programs[i].name) ==
		        0 &&
		    argc > programs[i].words) {
			programs[i].be();
			live();
		}
	}
	return 99;
}
