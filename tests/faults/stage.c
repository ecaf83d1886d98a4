/* What exists before a run: a terminal, a holder of the lock, another run. */
#include "stage.h"

#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <poll.h>
#include <termios.h>

#include "../programs/bounded.h"
#include "../programs/processes.h"
#include "../programs/trial.h"
#include "gated.h"
#include "scenario.h"

#define BOUND    (60000 * MILLISECOND)
#define PAUSE_US 500
#define HOLD_US                                                                \
	20000 /* how long it keeps the lock after it was told to release it */
#define ARGUMENTS_MAX 16
#define SURVIVORS     2 /* of programs/litter.c */

/* The terminal of this process. */
static int master_fd;
static int slave_fd;
static struct termios modes;

/* --- the terminal -------------------------------------------------------- */

static void
open_terminal(void)
{
	const struct winsize size = { .ws_row = STAGE_ROWS,
		                      .ws_col = STAGE_COLUMNS };

	master_fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (master_fd == -1 || grantpt(master_fd) == -1 ||
	    unlockpt(master_fd) == -1)
		give_up("pty");
	slave_fd = open(ptsname(master_fd), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave_fd == -1 || ioctl(slave_fd, TIOCSCTTY, 0) == -1 ||
	    ioctl(slave_fd, TIOCSWINSZ, &size) == -1 ||
	    tcgetattr(slave_fd, &modes) == -1)
		give_up("pty");
}

void
stage_prepare(void)
{
	sigset_t sigchld;

	(void)sigemptyset(&sigchld);
	(void)sigaddset(&sigchld, SIGCHLD);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1) == -1 ||
	    sigprocmask(SIG_BLOCK, &sigchld, NULL) == -1 || setsid() == -1)
		give_up("prepare");
	open_terminal();
}

bool
stage_terminal_is_restored(void)
{
	struct termios found;

	if (tcgetattr(slave_fd, &found) == -1)
		give_up("tcgetattr");

	const bool is_restored = found.c_iflag == modes.c_iflag &&
	                         found.c_oflag == modes.c_oflag &&
	                         found.c_lflag == modes.c_lflag;

	if (tcsetattr(slave_fd, TCSANOW, &modes) == -1)
		give_up("tcsetattr");
	return is_restored;
}

static void
keep_what_was_printed(void)
{
	const int fd =
	    open("out", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	char text[TEXT_MAX];
	ssize_t length;

	while ((length = read(master_fd, text, sizeof(text))) > 0)
		(void)!write(fd, text, (size_t)length);
	(void)close(fd);
}

/* --- who holds the lock -------------------------------------------------- */

static _Noreturn void
hold(bool is_named, int told_fd, int release_fd)
{
	const int fd = open("L", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	struct pollfd release = { .fd = release_fd, .events = POLLIN };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	bound_life();
	if (fd == -1 || flock(fd, LOCK_EX) == -1 ||
	    (is_named && dprintf(fd, "%d\n", (int)getpid()) < 0) ||
	    write(told_fd, "", 1) != 1)
		give_up("L");
	(void)poll(&release, 1, -1);
	(void)usleep(HOLD_US);
	_exit(0);
}

static void
start_holder(struct stage *stage)
{
	int told[2];
	int release[2];
	char byte;

	if (pipe2(told, O_CLOEXEC) == -1 || pipe2(release, O_CLOEXEC) == -1)
		give_up("pipe");
	stage->holder = fork();
	if (stage->holder == -1)
		give_up("fork");
	if (stage->holder == 0) {
		(void)close(release[1]);
		hold(stage->kind == STAGE_HELD, told[1], release[0]);
	}
	(void)close(told[1]);
	(void)close(release[0]);
	if (read(told[0], &byte, 1) != 1)
		give_up("holder");
	(void)close(told[0]);
	stage->release_fd = release[1];
}

void
stage_let_go(struct stage *stage)
{
	if (stage->kind != STAGE_FREED || stage->release_fd == -1)
		return;
	(void)close(stage->release_fd);
	stage->release_fd = -1;
}

bool
stage_is_held(const struct stage *stage)
{
	char text[TEXT_MAX];

	last_line("L", text);
	if (stage->kind == STAGE_HELD)
		return atoi(text) == stage->holder && !lock_is_free("L");
	return *text == '\0' && !lock_is_free("L");
}

/* --- another run --------------------------------------------------------- */

/* Sleeps for a moment, and fails after DEADLINE. */
static void
pause_until(int64_t deadline)
{
	if (now() > deadline)
		give_up("stage");
	(void)usleep(PAUSE_US);
}

/* Returns the PID of the command, once the command is ready. */
static pid_t
await_ready(int64_t deadline)
{
	char text[TEXT_MAX];
	int target;

	for (;;) {
		last_line("staged-out", text);
		if (sscanf(text, "ready %d", &target) == 1)
			return target;
		pause_until(deadline);
	}
}

static void
stop(pid_t pid, int64_t deadline)
{
	(void)kill(pid, SIGSTOP);
	while (state_of(pid) != 'T')
		pause_until(deadline);
}

/*
 * Kills both so that neither sees the other's death. The front is stopped
 * first, since it continues a stopped supervisor, and killed last, since its
 * death continues the supervisor too.
 */
static void
kill_watchers(pid_t front, pid_t target, int64_t deadline)
{
	pid_t pids[CHILDREN_MAX];
	pid_t supervisor;
	bool has_nameless;

	while ((supervisor = supervisor_of(front, &has_nameless)) == 0)
		pause_until(deadline);
	stop(front, deadline);
	stop(supervisor, deadline);
	(void)kill(supervisor, SIGKILL);
	(void)kill(front, SIGKILL);
	for (;;) {
		while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
			continue;
		if (state_of(front) == 'X' && state_of(supervisor) == 'X' &&
		    state_of(target) == 'X' &&
		    children_of(getpid(), pids) == SURVIVORS)
			return;
		pause_until(deadline);
	}
}

static void
start_run(struct stage *stage)
{
	const int64_t deadline = now() + BOUND;
	const char *words[ARGUMENTS_MAX] = { getenv("WDRUN") };
	char *argv[ARGUMENTS_MAX];
	char litter[TEXT_MAX];
	size_t count = 1;
	int gate;

	(void)snprintf(litter, sizeof(litter), "%s/litter", getenv("PROGRAMS"));
	for (const char *const *one = scenario_staged_arguments; *one != NULL;
	     one++)
		words[count++] = *one;
	words[count++] = litter;
	words[count++] = "C";
	words[count++] = "D";
	memcpy(argv, words, sizeof(argv));
	stage->front = gated_start(&(struct program){ .path = argv[0],
	                                              .argv = argv,
	                                              .terminal_fd = -1,
	                                              .output = "staged-out",
	                                              .errors = "staged-err" },
	                           &gate);
	(void)close(gate);

	const pid_t target = await_ready(deadline);

	if (stage->kind == STAGE_ORPHANS)
		kill_watchers(stage->front, target, deadline);
}

/* --- all of it ----------------------------------------------------------- */

struct stage
stage_set(enum stage_kind kind)
{
	struct stage stage = { .kind = kind,
		               .release_fd = -1,
		               .terminal_fd = -1 };

	switch (kind) {
	case STAGE_EMPTY:
		break;
	case STAGE_TERMINAL:
		stage.terminal_fd = slave_fd;
		break;
	case STAGE_FREED:
	case STAGE_KEPT:
	case STAGE_HELD:
		start_holder(&stage);
		break;
	case STAGE_RUN:
	case STAGE_ORPHANS:
		start_run(&stage);
		break;
	}
	return stage;
}

void
stage_end(struct stage *stage)
{
	if (stage->kind == STAGE_TERMINAL)
		keep_what_was_printed();
	if (stage->holder == 0)
		return;
	if (stage->kind != STAGE_FREED)
		(void)kill(stage->holder, SIGKILL);
	if (stage->release_fd != -1)
		(void)close(stage->release_fd);
	stage->release_fd = -1;
}
