/*
 * probe REPORT STEP...: writes what it sees of itself to the file REPORT, a
 * line for each fact, then does each STEP:
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
#include "../programs/facts.h"

#include <signal.h>

#define FDS 64 /* that the caller may have given */

static FILE *report;

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
	int deathsig = 0;

	if (argc < 2)
		return 98;
	report = open_facts(argv[1], FDS);
	show_facts(report, FDS);
	(void)prctl(PR_GET_PDEATHSIG, &deathsig);
	fprintf(report, "death signal: %d\n", deathsig);
	for (int i = 0; i < argc; i++)
		fprintf(report, "argument %s\n", i == 1 ? "REPORT" : argv[i]);
	for (int i = 2; i < argc; i++)
		do_step(argv[i]);
	(void)fclose(report);
	return 0;
}
