/*
 * probe REPORT STEP...: writes what it sees of itself to the file REPORT, a
 *line for each thing, then does each STEP:
 *
 *	out=N, err=N	writes N bytes to stdout, stderr
 *	in=N		reads up to N bytes from stdin, and reports how many
 *	seek=FD:N	sets the offset of FD
 *	flag=FD		sets O_NONBLOCK on FD
 *	child=N		has a child exit with N, and reports its status
 *	linger		leaves a child that is gone in a moment
 *	exit=N		exits with N
 *	die=N		dies by signal N
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define FDS_MAX 64

extern char **environ;

static FILE *report;

static void
show_descriptors(void)
{
	for (int fd = 0; fd < FDS_MAX; fd++) {
		struct stat st;

		if (fd == fileno(report))
			continue;
		if (fstat(fd, &st) == -1) {
			fprintf(report, "fd %d: closed\n", fd);
			continue;
		}
		fprintf(report,
		        "fd %d: mode %o inode %llx:%llu flags %o fd-flags %d "
		        "offset %lld owner %d\n",
		        fd, st.st_mode, (unsigned long long)st.st_dev,
		        (unsigned long long)st.st_ino, fcntl(fd, F_GETFL),
		        fcntl(fd, F_GETFD), (long long)lseek(fd, 0, SEEK_CUR),
		        fcntl(fd, F_GETOWN) != 0);
	}
}

static void
show_signals(void)
{
	char line[256];
	FILE *const status = fopen("/proc/self/status", "re");

	/*
	 * The other lines, of memory and scheduling, and SigQ, which counts the
	 * signals queued for the user, are not the caller's.
	 */
	while (status != NULL && fgets(line, sizeof(line), status) != NULL) {
		static const char *const wanted[] = {
			"SigP",     "SigB",  "SigI", "SigC",  "Shd",
			"Cap",      "Uid",   "Gid",  "Group", "NoNew",
			"Seccomp:", "Umask", "Name", "Thre",  "Cpus_allowed:",
		};

		for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
			if (strncmp(line, wanted[i], strlen(wanted[i])) == 0)
				fprintf(report, "status %s", line);
		}
	}
	if (status != NULL)
		(void)fclose(status);
}

static void
show_limits(void)
{
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit limit;

		if (getrlimit(i, &limit) == 0)
			fprintf(report, "limit %d: %llx %llx\n", i,
			        (unsigned long long)limit.rlim_cur,
			        (unsigned long long)limit.rlim_max);
	}
}

static void
show_place(void)
{
	const int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	FILE *const oom = fopen("/proc/self/oom_score_adj", "re");
	char score[16];
	struct sched_param sched;
	struct itimerval timer;
	struct termios modes;
	char *const directory = getcwd(NULL, 0);
	int deathsig = 0;
	int subreaper = 0;

	fprintf(report, "directory %s\n",
	        directory == NULL ? strerror(errno) : directory);
	free(directory);
	if (oom != NULL && fgets(score, sizeof(score), oom) != NULL)
		fprintf(report, "oom score %s", score);
	if (oom != NULL)
		(void)fclose(oom);
	fprintf(report, "nice %d\n", getpriority(PRIO_PROCESS, 0));
	fprintf(report, "io priority %ld\n", syscall(SYS_ioprio_get, 1, 0));
	(void)sched_getparam(0, &sched);
	fprintf(report, "scheduler %d %d\n", sched_getscheduler(0),
	        sched.sched_priority);
	fprintf(report, "timer slack %d\n", prctl(PR_GET_TIMERSLACK));
	(void)getitimer(ITIMER_REAL, &timer);
	fprintf(report, "alarm %s\n",
	        timer.it_value.tv_sec != 0 ? "set" : "none");
	(void)prctl(PR_GET_PDEATHSIG, &deathsig);
	(void)prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
	fprintf(report, "death signal %d\n", deathsig);
	fprintf(report, "subreaper %d\n", subreaper);
	fprintf(report, "dumpable %d\n", prctl(PR_GET_DUMPABLE));
	fprintf(report, "keep capabilities %d\n", prctl(PR_GET_KEEPCAPS));
	fprintf(report, "leads group %d\n", getpgrp() == getpid());
	fprintf(report, "leads session %d\n", getsid(0) == getpid());
	fprintf(report, "terminal %s\n", terminal == -1 ? "none" : "there");
	if (terminal != -1)
		(void)close(terminal);
	if (tcgetattr(STDIN_FILENO, &modes) == 0)
		fprintf(report, "modes %x %x %x %x foreground %d\n",
		        modes.c_iflag, modes.c_oflag, modes.c_cflag,
		        modes.c_lflag, tcgetpgrp(STDIN_FILENO) == getpgrp());
	fprintf(report, "children %s\n",
	        waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? "none"
	                                                            : "some");
}

static void
show_environment(void)
{
	for (char **entry = environ; *entry != NULL; entry++)
		fprintf(report, "environment %s\n", *entry);
}

static void
put(int fd, long count)
{
	while (count-- > 0) {
		const char byte = (char)('a' + count % 26);

		if (write(fd, &byte, 1) == -1) {
			fprintf(report, "write to %d: %s\n", fd,
			        strerror(errno));
			return;
		}
	}
}

static void
take(long count)
{
	char bytes[4096];
	const ssize_t length =
	    read(STDIN_FILENO, bytes,
	         (size_t)count < sizeof(bytes) ? (size_t)count : sizeof(bytes));

	fprintf(report, "read %zd %s %.*s\n", length,
	        length == -1 ? strerror(errno) : "",
	        length > 0 ? (int)length : 0, bytes);
}

static void
have_child_exit(int value)
{
	int status = 0;
	const pid_t child = fork();

	if (child == 0)
		_exit(value);
	const pid_t waited = waitpid(child, &status, 0);

	fprintf(report, "child %d %x\n", waited == child, status);
}

static void
do_step(const char *step)
{
	const char *const equals = strchr(step, '=');
	const char *const value = equals == NULL ? "" : equals + 1;
	const long number = strtol(value, NULL, 10);

	if (strncmp(step, "out=", 4) == 0) {
		put(STDOUT_FILENO, number);
	} else if (strncmp(step, "err=", 4) == 0) {
		put(STDERR_FILENO, number);
	} else if (strncmp(step, "in=", 3) == 0) {
		take(number);
	} else if (strncmp(step, "seek=", 5) == 0) {
		(void)lseek((int)number,
		            strtol(strchr(value, ':') + 1, NULL, 10), SEEK_SET);
	} else if (strncmp(step, "flag=", 5) == 0) {
		(void)fcntl((int)number, F_SETFL,
		            fcntl((int)number, F_GETFL) | O_NONBLOCK);
	} else if (strncmp(step, "child=", 6) == 0) {
		have_child_exit((int)number);
	} else if (strcmp(step, "linger") == 0) {
		if (fork() == 0) {
			(void)usleep(20000);
			_exit(0);
		}
	} else if (strncmp(step, "exit=", 5) == 0) {
		(void)fclose(report);
		_exit((int)number);
	} else if (strncmp(step, "die=", 4) == 0) {
		sigset_t one;

		(void)fclose(report);
		(void)signal((int)number, SIG_DFL);
		(void)sigemptyset(&one);
		(void)sigaddset(&one, (int)number);
		(void)sigprocmask(SIG_UNBLOCK, &one, NULL);
		(void)raise((int)number);
		_exit(99);
	}
}

int
main(int argc, char *argv[])
{
	if (argc < 2)
		return 98;
	/* Above whatever the caller has given. */
	const int fd =
	    open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	const int high = fcntl(fd, F_DUPFD_CLOEXEC, FDS_MAX);

	if (high == -1)
		return 97;
	(void)close(fd);
	report = fdopen(high, "w");
	if (report == NULL)
		return 96;

	show_descriptors();
	show_signals();
	show_limits();
	show_place();
	show_environment();
	for (int i = 0; i < argc; i++)
		fprintf(report, "argument %s\n", i == 1 ? "REPORT" : argv[i]);
	for (int i = 2; i < argc; i++)
		do_step(argv[i]);
	(void)fclose(report);
	return 0;
}
