/*
 * act WORD...: does one thing after the other, as it is told to:
 *
 *     lock=FILE  writes its PID into FILE, as a shell script's lock
 *     dir=NAME   makes the directory NAME, another kind of lock
 *     session    starts a process with a session of its own, which lives on,
 *                whatever signal it is sent
 *     child      starts a process that lives on
 *     daemon     the same, in a session of its own, and without a parent
 *     ready      prints `ready PID`
 *     size       prints the size of the terminal on stdout, as "24x80"
 *     say=TEXT   prints TEXT
 *     sleep=MS   sleeps for so many milliseconds
 *     exit=N     exits
 *     live       lives on
 *
 * It does nothing of that, and exits with 98, where it was given any descriptor
 * but the first three, and the first word is not `any`.
 */
#include "bounded.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#define DESCRIPTORS_MAX 256

static void
take_lock(const char *file)
{
	const int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd == -1 || dprintf(fd, "%d\n", (int)getpid()) < 0)
		give_up(file);
	(void)close(fd);
}

/* Starts a process that lives on. An escapee has a session of its own, and
 * ignores every signal; a daemon has the session, and no parent. */
static void
start(bool is_escapee, bool is_daemon)
{
	if (fork_bounded() != 0)
		return;
	for (int number = 1; is_escapee && number < SIGRTMIN; number++)
		(void)signal(number, SIG_IGN);
	if (is_escapee || is_daemon)
		(void)setsid();
	if (is_daemon && fork_bounded() != 0)
		_exit(0);
	live();
}

static void
say_size(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == -1)
		give_up("size");
	dprintf(STDOUT_FILENO, "%dx%d\n", size.ws_row, size.ws_col);
}

static void
act(const char *word)
{
	const char *equals = strchr(word, '=');
	const char *value = equals == NULL ? "" : equals + 1;

	if (strncmp(word, "lock=", 5) == 0)
		take_lock(value);
	else if (strncmp(word, "dir=", 4) == 0) {
		if (mkdir(value, 0777) == -1)
			give_up(value);
	} else if (strcmp(word, "session") == 0)
		start(true, false);
	else if (strcmp(word, "child") == 0)
		start(false, false);
	else if (strcmp(word, "daemon") == 0)
		start(false, true);
	else if (strcmp(word, "ready") == 0)
		say_ready(getpid());
	else if (strcmp(word, "size") == 0)
		say_size();
	else if (strncmp(word, "say=", 4) == 0)
		dprintf(STDOUT_FILENO, "%s\n", value);
	else if (strncmp(word, "sleep=", 6) == 0)
		(void)usleep((useconds_t)atoi(value) * 1000);
	else if (strncmp(word, "exit=", 5) == 0)
		exit(atoi(value));
	else if (strcmp(word, "live") == 0)
		live();
	else
		give_up(word);
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
	const int first = argc > 1 && strcmp(argv[1], "any") == 0 ? 2 : 1;

	bound_life();
	if (first == 1)
		refuse_descriptors();
	for (int i = first; i < argc; i++)
		act(argv[i]);
	return 0;
}
