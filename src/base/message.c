/* Telling the user: a line on stderr, or text on stdout. */
#include "base/message.h"

#include <sys/ioctl.h>
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
write_reopened(const char *text, size_t length)
{
	struct pollfd ready = { .fd = STDERR_FILENO, .events = POLLOUT };

	if (poll(&ready, 1, PATIENCE_MS) <= 0)
		return -1;

	const int fd = open("/proc/self/fd/2",
	                    O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd == -1) /* no /proc, or no permission: poll(2) has to do */
		return write(STDERR_FILENO, text, length);

	const ssize_t written = write(fd, text, length);

	(void)close(fd);
	return written;
}

static ssize_t
write_some(const char *text, size_t length)
{
	struct stat file;

	if (fstat(STDERR_FILENO, &file) == -1)
		return -1;
	if (S_ISSOCK(file.st_mode))
		return send(STDERR_FILENO, text, length,
		            MSG_DONTWAIT | MSG_NOSIGNAL);
	if (S_ISFIFO(file.st_mode) || S_ISCHR(file.st_mode))
		return write_reopened(text, length);
	return write(STDERR_FILENO, text, length);
}

/* In one call, so that lines of several processes do not mix; in more only
 * where stderr does not take all at once. If a call fails, on a full disk say,
 * there is nobody to be told. */
static void
write_all(const struct strbuf *text)
{
	ssize_t written;

	for (size_t at = 0; at < text->length; at += (size_t)written) {
		written = write_some(text->text + at, text->length - at);
		if (written <= 0)
			break;
	}
}

/* Whether a newline on stderr only moves the cursor down, as in an editor. */
static bool
is_raw_terminal(void)
{
	struct termios modes;

	return tcgetattr(STDERR_FILENO, &modes) == 0 &&
	       (modes.c_oflag & OPOST) == 0;
}

/*
 * Moves the cursor of a terminal to the start of a line: of the next one, where
 * text stands before it, say a prompt. Where the cursor is cannot be asked, as
 * the answer would come between the keys that are typed. But as many blanks as
 * the terminal has columns end in the next line, unless the cursor stands at
 * the start of a line: then a carriage return takes it back there.
 */
static void
begin_line(struct strbuf *text)
{
	const char *const terminal = getenv("TERM");
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && terminal != NULL &&
	    strcmp(terminal, "dumb") != 0)
		strbuf_addf(text, "%*s\r", size.ws_col, "");
}

void
message_set_name(const char *new_name)
{
	name = new_name;
}

void
message_lines(const struct strbuf *lines)
{
	const char *const end = is_raw_terminal() ? "\r\n" : "\n";
	struct strbuf text = { .grows = true };
	size_t length;

	begin_line(&text);
	for (size_t at = 0; at < lines->length; at += length + 1) {
		const size_t start = text.length;

		length = strlen(lines->text + at);
		strbuf_addf(&text, "%s: %s", name, lines->text + at);
		utf8_make_printable(text.text + start, text.length - start);
		strbuf_addf(&text, "%s", end);
	}
	write_all(&text);
	strbuf_free(&text);
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
	write_all(&line);
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
