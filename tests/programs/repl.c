/*
 * repl: behaves at a terminal as an interpreter does: reads lines and answers,
 * survives Ctrl-C, counts it, and ends at the end of file.
 */
#include "bounded.h"

#include <errno.h>

static volatile sig_atomic_t interrupts;

static void
count(int number)
{
	(void)number;
	interrupts++;
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
		} else if (errno == EINTR) {
			(void)dprintf(STDOUT_FILENO, "interrupted %d\n",
			              (int)interrupts);
		} else {
			give_up("read");
		}
	}
	(void)dprintf(STDOUT_FILENO, "bye\n");
	return 0;
}
