/* One line on stderr, whatever stderr is. */
#include "message.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <termios.h>
#include <unistd.h>

#include "text.h"
#include "utf8.h"

#define LINE_SIZE   4096 /* PIPE_BUF: a write(2) of it is atomic */
#define PATIENCE_MS 200  /* for a reader that is slow, not stuck */

static const char *name = "wdrun";

static ssize_t
send_line(const struct line *line)
{
	return send(STDERR_FILENO, line->text, line->length,
	            MSG_DONTWAIT | MSG_NOSIGNAL);
}

/*
 * A pipe or a terminal that is full blocks its writer, and O_NONBLOCK on
 * descriptor 2 would be seen by everyone who shares the file description. A
 * description of our own does it: open(2) through /proc, proc(5).
 */
static ssize_t
write_reopened(const struct line *line)
{
	struct pollfd ready = { .fd = STDERR_FILENO, .events = POLLOUT };

	if (poll(&ready, 1, PATIENCE_MS) <= 0)
		return -1;

	const int fd = open("/proc/self/fd/2",
	                    O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd == -1) /* no /proc, or no permission: poll's word has to do */
		return write(STDERR_FILENO, line->text, line->length);

	const ssize_t written = write(fd, line->text, line->length);

	(void)close(fd);
	return written;
}

static void
write_line(const struct line *line)
{
	struct stat file;

	if (fstat(STDERR_FILENO, &file) == -1)
		return;
	if (S_ISSOCK(file.st_mode))
		(void)send_line(line);
	else if (S_ISFIFO(file.st_mode) || S_ISCHR(file.st_mode))
		(void)write_reopened(line);
	else if (write(STDERR_FILENO, line->text, line->length) == -1)
		return; /* a full disk: nobody else can be told either */
}

__attribute__((format(printf, 2, 0))) static void
append(struct line *line, const char *format, va_list arguments)
{
	const size_t room = line->size - line->length;
	const size_t length =
	    /* Both callers have started it; the analyzer does not see that. */
	    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
	    text_vformat(line->text + line->length, room, format, arguments);

	line->length += length < room ? length : room - 1;
}

void
line_add(struct line *line, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	append(line, format, arguments);
	va_end(arguments);
}

/* Whether a newline on stderr would only go down, as for an editor. */
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
	struct line line = { .text = text, .size = sizeof(text) - 2 };
	va_list arguments;

	line_add(&line, "%s: ", name);
	va_start(arguments, format);
	append(&line, format, arguments);
	va_end(arguments);

	utf8_make_printable(text, line.length);
	if (is_raw_terminal())
		text[line.length++] = '\r';
	text[line.length++] = '\n';
	write_line(&line);
	errno = saved;
}
