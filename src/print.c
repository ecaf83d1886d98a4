/*
 * What goes to stdout, where that is wdrun's own. Not by printf(3): its buffer
 * would be another page of memory in each run. What is printed has to arrive:
 * --help > /dev/full is a failure.
 */
#include "print.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../watchdog.h"

/* A pipe that somebody else has set O_NONBLOCK on may be full. */
static bool
can_try_again(int why)
{
	struct pollfd ready = { .fd = STDOUT_FILENO, .events = POLLOUT };

	if (why == EAGAIN)
		return poll(&ready, 1, -1) != -1;
	return why == EINTR;
}

int
print_line(const struct line *line)
{
	size_t done = 0;

	while (done < line->length) {
		const ssize_t written = write(STDOUT_FILENO, line->text + done,
		                              line->length - done);

		if (written == -1 && !can_try_again(errno)) {
			message("cannot write to stdout: %s", strerror(errno));
			return STATUS_FAILED;
		}
		if (written > 0)
			done += (size_t)written;
	}
	return EXIT_SUCCESS;
}
