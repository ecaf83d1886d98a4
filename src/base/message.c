/* Telling the user: a line on stderr, or text on stdout. */
#include "base/message.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/utf8.h"

#define LINE_SIZE   4096 /* PIPE_BUF: a write(2) of it is atomic */
#define PATIENCE_MS 200  /* for a reader that is slow, not stuck */

static const char *name = "wdrun";

/* A pipe or a terminal that is full blocks its writer, and O_NONBLOCK on
 * descriptor 2 would apply to every process that shares the file description.
 * open(2) through /proc makes a description of our own: proc(5). */
static ssize_t
write_reopened(const struct strbuf *line)
{
	struct pollfd ready = { .fd = STDERR_FILENO, .events = POLLOUT };

	if (poll(&ready, 1, PATIENCE_MS) <= 0)
		return -1;

	const int fd = open("/proc/self/fd/2",
	                    O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd == -1) /* no /proc, or no permission: poll(2) has to do */
		return write(STDERR_FILENO, line->text, line->length);

	const ssize_t written = write(fd, line->text, line->length);

	(void)close(fd);
	return written;
}

/* In one call, so that lines of several processes do not mix. If that fails, on
 * a full disk say, there is nobody to be told. */
static ssize_t
write_line(const struct strbuf *line)
{
	struct stat file;

	if (fstat(STDERR_FILENO, &file) == -1)
		return -1;
	if (S_ISSOCK(file.st_mode))
		return send(STDERR_FILENO, line->text, line->length,
		            MSG_DONTWAIT | MSG_NOSIGNAL);
	if (S_ISFIFO(file.st_mode) || S_ISCHR(file.st_mode))
		return write_reopened(line);
	return write(STDERR_FILENO, line->text, line->length);
}

/* Whether a newline on stderr only moves the cursor down, as in an editor. */
static bool
is_raw_terminal(void)
{
	struct termios modes;

	return tcgetattr(STDERR_FILENO, &modes) == 0 &&
	       (modes.c_oflag & OPOST) == 0;
}

void
message_set_name(const char *new_name)
{
	name = new_name;
}

void
message(const char *format, ...)
{
	const int saved = errno;
	char text[LINE_SIZE];
	struct strbuf line = { .text = text, .size = sizeof(text) - 2 };
	va_list arguments;

	strbuf_addf(&line, "%s: ", name);
	va_start(arguments, format);
	strbuf_vaddf(&line, format, arguments);
	va_end(arguments);

	utf8_make_printable(text, line.length);
	if (is_raw_terminal())
		text[line.length++] = '\r';
	text[line.length++] = '\n';
	(void)write_line(&line);
	errno = saved;
}

/* Not by printf(3), whose buffer is a page of memory in each process. */
int
message_print(const struct strbuf *line)
{
	struct pollfd ready = { .fd = STDOUT_FILENO, .events = POLLOUT };
	size_t done = 0;

	while (done < line->length) {
		done += fds_write(STDOUT_FILENO, line->text + done,
		                  line->length - done);
		if (done == line->length)
			break;
		/* EAGAIN: another process has made the pipe non-blocking. */
		if (errno != EAGAIN ||
		    (poll(&ready, 1, -1) == -1 && errno != EINTR)) {
			message("cannot write to stdout: %s", strerror(errno));
			return STATUS_FAILED;
		}
	}
	return EXIT_SUCCESS;
}
