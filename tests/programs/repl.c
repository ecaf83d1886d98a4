/*
 * repl: behaves at a terminal as an interpreter does: reads lines and answers,
 * survives Ctrl-C, counts it, and ends at the end of file.
 */
#include "bounded.h"

#include <errno.h>

/* Says so itself: a signal may come before read(2) is called. */
static void
count(int number)
{
	static char line[] = "interrupted 0\n";

	(void)number;
	line[strlen(line) - 2]++;
	(void)write(STDOUT_FILENO, line, strlen(line));
}

int
main(void)
{
	const struct sigaction action = { .sa_handler = count };
	char line[256];

	bound_life();
	(void)sigaction(SIGINT, &action, NULL);

	say_ready(getpid());
	for (;;) {
		const ssize_t length =
		    read(STDIN_FILENO, line, sizeof(line) - 1);

		if (length == 0)
			break;
		if (length > 0) {
			line[length] = '\0';
			(void)dprintf(STDOUT_FILENO, "you said %s", line);
		} else if (errno != EINTR) {
			give_up("read");
		}
	}
	(void)dprintf(STDOUT_FILENO, "bye\n");
	return 0;
}
