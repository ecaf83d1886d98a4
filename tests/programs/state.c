/*
 * state: prints what a program can see of how it was started, one fact a line,
 * the same in each run, so that the output with and without wdrun can be
 * compared. It leaves out its PID and its parent's, and describes the session
 * by how it relates to the process.
 *
 * state FILE: prints to FILE, for a process without stdout.
 */
#include "bounded.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define HIGHEST_FD                                                             \
	511 /* the highest that is looked at; that of FILE is above */

extern char **environ;

static FILE *out;

static void
print_descriptors(void)
{
	char target[PATH_MAX];

	for (int fd = 0; fd <= HIGHEST_FD; fd++) {
		char path[32];

		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);

		const ssize_t length =
		    readlink(path, target, sizeof(target) - 1);

		if (length == -1)
			continue;
		target[length] = '\0';
		fprintf(out, "descriptor %d: %s, flags %o, %s\n", fd, target,
		        (unsigned)fcntl(fd, F_GETFL),
		        fcntl(fd, F_GETFD) ? "closed on exec" : "inherited");
	}
}

/* Prints the lines of FILE that begin with one of PREFIXES, or all lines. */
static void
print_lines(const char *file, const char *const prefixes[])
{
	FILE *stream = fopen(file, "re");
	char line[1024];

	if (stream == NULL) {
		fprintf(out, "%s: %s\n", file, strerror(errno));
		return;
	}
	while (fgets(line, sizeof(line), stream) != NULL) {
		int wanted = prefixes == NULL;

		for (int i = 0; !wanted && prefixes[i] != NULL; i++)
			wanted = strncmp(line, prefixes[i],
			                 strlen(prefixes[i])) == 0;
		if (wanted)
			fprintf(out, "%s: %s", file, line);
	}
	(void)fclose(stream);
}

static void
print_session(void)
{
	const pid_t self = getpid();
	const int tty = open("/dev/tty", O_RDONLY | O_CLOEXEC);

	fprintf(out, "session: leader of session %s, leader of group %s\n",
	        getsid(0) == self ? "yes" : "no",
	        getpgrp() == self ? "yes" : "no");
	fprintf(out, "session: terminal %s\n", tty == -1 ? "no" : "yes");
	if (tty != -1)
		(void)close(tty);
}

static void
print_process(void)
{
	char directory[PATH_MAX];
	cpu_set_t cpus;
	int subreaper = -1;
	const mode_t mask = umask(0);

	if (getcwd(directory, sizeof(directory)) == NULL)
		give_up("getcwd");
	(void)prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
	(void)sched_getaffinity(0, sizeof(cpus), &cpus);
	fprintf(out, "directory: %s\numask: %03o\nnice: %d\n", directory,
	        (unsigned)mask, getpriority(PRIO_PROCESS, 0));
	fprintf(
	    out,
	    "timer slack: %d\ndumpable: %d\nsubreaper: %d\nprocessors: %d\n",
	    prctl(PR_GET_TIMERSLACK), prctl(PR_GET_DUMPABLE), subreaper,
	    CPU_COUNT(&cpus));
	fprintf(out, "ids: %d %d %d %d, policy %d\n", (int)getuid(),
	        (int)geteuid(), (int)getgid(), (int)getegid(),
	        sched_getscheduler(0));
}

static FILE *
open_above(const char *file)
{
	const int fd =
	    open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	const int above = fcntl(fd, F_DUPFD_CLOEXEC, HIGHEST_FD + 1);

	if (above == -1)
		give_up(file);
	(void)close(fd);
	return fdopen(above, "w");
}

int
main(int argc, char *argv[])
{
	static const char *const status[] = {
		"SigPnd", "ShdPnd", "SigBlk",   "SigIgn", "SigCgt", "CapEff",
		"CapBnd", "NoNew",  "Seccomp:", "Groups", NULL,
	};

	out = argc == 2 ? open_above(argv[1]) : stdout;
	print_descriptors();
	print_lines("/proc/self/status", status);
	print_session();
	print_process();
	print_lines("/proc/self/limits", NULL);
	print_lines("/proc/self/oom_score_adj", NULL);
	for (char **variable = environ; *variable != NULL; variable++)
		fprintf(out, "environment: %s\n", *variable);
	return 0;
}
