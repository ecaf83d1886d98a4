/*
 * act WORD...: does one thing after the other, as it is told to:
 *
 *	any        may have descriptors beside the first three; otherwise act
 *	           does nothing, and exits with 98 (first)
 *	lock=FILE  writes its PID into FILE, as a shell script's lock
 *	dir=NAME   makes the directory NAME, another kind of lock
 *	session    starts a process that takes the steps `stubborn setsid`
 *	daemon     the same with `setsid fork`
 *	ready      prints `ready PID`
 *	say=TEXT   prints TEXT
 *	pages=FILE writes 100 pages of FILE in 3 seconds, as one call would
 *	           that copies a file
 *	sleep=MS   sleeps for so many milliseconds
 *	exit=N     exits
 *	live       lives on
 *	tick       lives on, and uses 4 ms of a processor in every 250 ms
 *
 * escape [-x CODE] STEP...: starts one process that takes the STEPs away from
 * its parent, prints `ready PID` when it has taken them all, and lives on, or
 * exits with CODE.
 *
 *	fork       the parent exits: an orphan
 *	setsid     a session of its own
 *	root       works in /
 *	closed     has no open descriptor
 *	stubborn   ignores every signal that can be ignored
 *	undumpable is as /proc shows a setuid program or ssh-agent
 *	root-user  has become root altogether (from a copy that is setuid root)
 *	stopped    has stopped itself (last)
 *	busy       computes all the time (last)
 *	empty      has executed itself with an empty environment (last)
 *
 * A daemon is `fork setsid fork root closed`.
 */
#include "bounded.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

#define DESCRIPTORS_MAX 1024

static int report_fd; /* the write end of the escapee; it closes when the steps
                         are done */

static bool
is(const char *word, const char *name)
{
	return strcmp(word, name) == 0;
}

static void
take_step(const char *step)
{
	int result = 0;

	if (is(step, "fork") && fork_bounded() != 0)
		_exit(0);
	if (is(step, "setsid"))
		result = setsid();
	else if (is(step, "root"))
		result = chdir("/");
	else if (is(step, "undumpable"))
		result = prctl(PR_SET_DUMPABLE, 0);
	else if (is(step, "root-user"))
		result = setresuid(0, 0, 0);
	else if (strstr("fork closed stubborn stopped busy empty", step) ==
	         NULL)
		result = -1;
	for (int i = 1; is(step, "stubborn") && i <= SIGRTMAX; i++)
		(void)signal(i, SIG_IGN); /* SIGKILL and the like stay */
	for (int fd = 0; is(step, "closed") && fd < DESCRIPTORS_MAX; fd++) {
		if (fd != report_fd)
			(void)close(fd);
	}
	if (result == -1)
		give_up(step);
}

static _Noreturn void
be_escapee(const char *const steps[])
{
	char *const arguments[] = { "escape", "--live", NULL };
	const char *last = "";

	for (; *steps != NULL; steps++)
		take_step(last = *steps);

	const pid_t self = getpid();

	if (write(report_fd, &self, sizeof(self)) != sizeof(self))
		_exit(99);
	if (is(last, "empty")) {
		(void)execve("/proc/self/exe", arguments, arguments + 2);
		_exit(99);
	}
	(void)close(report_fd);
	if (is(last, "stopped"))
		(void)raise(SIGSTOP);
	while (is(last, "busy"))
		;
	live();
}

/* Starts a process that takes the STEPS and lives on. Returns its PID when it
 * has taken them, the last one included. */
static pid_t
start(const char *const steps[])
{
	int fds[2];
	pid_t escapee[2];

	if (pipe2(fds, O_CLOEXEC) == -1)
		give_up("pipe");
	report_fd = fds[1];
	if (fork_bounded() == 0) {
		(void)close(fds[0]);
		be_escapee(steps);
	}
	(void)close(fds[1]);
	/* It says one, and then closes the pipe. */
	if (read(fds[0], escapee, sizeof(escapee)) != sizeof(pid_t) ||
	    read(fds[0], escapee + 1, 1) != 0)
		give_up("the escapee says too little, or too much");
	(void)close(fds[0]);
	while (*steps != NULL && steps[1] != NULL)
		steps++;
	if (*steps != NULL && is(*steps, "stopped"))
		await_state(escapee[0], 'T');
	return escapee[0];
}

static void
take_lock(const char *file)
{
	const int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd == -1 || dprintf(fd, "%d\n", (int)getpid()) < 0)
		give_up(file);
	(void)close(fd);
}

static _Noreturn void
tick(void)
{
	for (;; (void)usleep(246000)) {
		const clock_t end = clock() + CLOCKS_PER_SEC / 250;

		while (clock() < end)
			;
	}
}

static void
write_pages(const char *file)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const int fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0666);
	char *const pages =
	    mmap(NULL, 100 * page, PROT_WRITE, MAP_SHARED, fd, 0);

	if (ftruncate(fd, (off_t)(100 * page)) == -1 || pages == MAP_FAILED)
		give_up(file);
	for (size_t i = 0; i < 100; i++) {
		pages[i * page] = 1;
		(void)usleep(30000);
	}
	(void)close(fd);
}

static void
act(char *word)
{
	static const char *const session[] = { "stubborn", "setsid", NULL };
	static const char *const daemon[] = { "setsid", "fork", NULL };
	char *value = word;
	const char *const name = strsep(&value, "=");
	int result = 0;

	if (is(name, "lock"))
		take_lock(value);
	else if (is(name, "dir"))
		result = mkdir(value, 0777);
	else if (is(name, "session"))
		(void)start(session);
	else if (is(name, "daemon"))
		(void)start(daemon);
	else if (is(name, "ready"))
		say_ready(getpid());
	else if (is(name, "say"))
		dprintf(STDOUT_FILENO, "%s\n", value);
	else if (is(name, "pages"))
		write_pages(value);
	else if (is(name, "sleep"))
		(void)usleep((useconds_t)atoi(value) * 1000);
	else if (is(name, "exit"))
		exit(atoi(value));
	else if (is(name, "live"))
		live();
	else if (is(name, "tick"))
		tick();
	else
		result = -1;
	if (result == -1)
		give_up(name);
}

static void
refuse_descriptors(void)
{
	for (int fd = STDERR_FILENO + 1; fd < DESCRIPTORS_MAX; fd++) {
		if (fcntl(fd, F_GETFD) == -1)
			continue;
		dprintf(STDERR_FILENO, "act: %d is open\n", fd);
		exit(98);
	}
}

int
main(int argc, char *argv[])
{
	const bool has_code = argc > 2 && is(argv[1], "-x");

	bound_life();
	if (argc > 1 && is(argv[1], "--live"))
		live();
	if (is(program_invocation_short_name, "escape")) {
		say_ready(start((const char **)argv + (has_code ? 3 : 1)));
		if (has_code)
			return atoi(argv[2]);
		live();
	}
	const int first = argc > 1 && is(argv[1], "any") ? 2 : 1;

	if (first == 1)
		refuse_descriptors();
	for (int i = first; i < argc; i++)
		act(argv[i]);
	return 0;
}
