/*
 * What a program can see of how it was started, one fact a line, the same in
 * each run, so that the facts with and without wdrun can be compared. Its PID
 * and its parent's are left out, and the session is described by how it relates
 * to the process.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

extern char **environ;

/* Opens FILE for the facts, above the FDS descriptors that the caller may have
 * given. */
static inline FILE *
open_facts(const char *file, int fds)
{
	const int fd =
	    open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	const int above = fcntl(fd, F_DUPFD_CLOEXEC, fds);

	(void)close(fd);
	if (above == -1)
		exit(97);
	return fdopen(above, "w");
}

static inline void
show_descriptors(FILE *out, int fds)
{
	for (int fd = 0; fd < fds; fd++) {
		struct stat st;

		if (fstat(fd, &st) == -1)
			continue;
		fprintf(out,
		        "fd %d: mode %o inode %llx:%llu flags %o fd-flags %d "
		        "offset %lld owner %d\n",
		        fd, st.st_mode, (unsigned long long)st.st_dev,
		        (unsigned long long)st.st_ino, fcntl(fd, F_GETFL),
		        fcntl(fd, F_GETFD), (long long)lseek(fd, 0, SEEK_CUR),
		        fcntl(fd, F_GETOWN) != 0);
	}
}

/* The lines of FILE that begin with one of PREFIXES. */
static inline void
show_lines(FILE *out, const char *file, const char *const prefixes[])
{
	FILE *const stream = fopen(file, "re");
	char line[1024];

	while (stream != NULL && fgets(line, sizeof(line), stream) != NULL) {
		for (int i = 0; prefixes[i] != NULL; i++) {
			if (strncmp(line, prefixes[i], strlen(prefixes[i])) ==
			    0)
				fprintf(out, "%s: %s", file, line);
		}
	}
	if (stream != NULL)
		(void)fclose(stream);
}

static inline void
show_process(FILE *out)
{
	const int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	char *const directory = getcwd(NULL, 0);
	struct sched_param sched;
	struct itimerval timer;
	struct termios modes;
	int subreaper = 0;

	fprintf(out, "directory: %s\n",
	        directory == NULL ? strerror(errno) : directory);
	free(directory);
	(void)sched_getparam(0, &sched);
	(void)getitimer(ITIMER_REAL, &timer);
	(void)prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
	fprintf(out, "nice: %d\n", getpriority(PRIO_PROCESS, 0));
	fprintf(out, "io priority: %ld\n", syscall(SYS_ioprio_get, 1, 0));
	fprintf(out, "scheduler: %d %d\n", sched_getscheduler(0),
	        sched.sched_priority);
	fprintf(out, "timer slack: %d\n", prctl(PR_GET_TIMERSLACK));
	fprintf(out, "alarm: %d\n", timer.it_value.tv_sec != 0);
	fprintf(out, "subreaper: %d\n", subreaper);
	fprintf(out, "dumpable: %d\n", prctl(PR_GET_DUMPABLE));
	fprintf(out, "keep capabilities: %d\n", prctl(PR_GET_KEEPCAPS));
	fprintf(out, "session: leader of group %d\n", getpgrp() == getpid());
	fprintf(out, "session: leader of session %d\n", getsid(0) == getpid());
	fprintf(out, "terminal: %d\n", terminal != -1);
	if (terminal != -1)
		(void)close(terminal);
	if (tcgetattr(STDIN_FILENO, &modes) == 0)
		fprintf(out, "modes: %x %x %x %x foreground %d\n",
		        modes.c_iflag, modes.c_oflag, modes.c_cflag,
		        modes.c_lflag, tcgetpgrp(STDIN_FILENO) == getpgrp());
	fprintf(out, "children: %d\n",
	        waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD);
}

static inline void
show_facts(FILE *out, int fds)
{
	/* The other lines, of memory and scheduling, and SigQ, which counts the
	 * signals queued for the user, are not the caller's. */
	static const char *const of_status[] = {
		"SigP", "SigB", "SigI",          "SigC",  "Shd",      "Cap",
		"Uid",  "Gid",  "Group",         "NoNew", "Seccomp:", "Umask",
		"Name", "Thre", "Cpus_allowed:", NULL,
	};
	static const char *const all[] = { "", NULL };

	show_descriptors(out, fds);
	show_lines(out, "/proc/self/status", of_status);
	show_lines(out, "/proc/self/limits", all);
	show_lines(out, "/proc/self/oom_score_adj", all);
	show_process(out);
	for (char **variable = environ; *variable != NULL; variable++)
		fprintf(out, "environment: %s\n", *variable);
}
