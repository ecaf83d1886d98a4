/* One line on stderr, whatever stderr is. */
#include "message.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

#define LINE_SIZE     4096 /* PIPE_BUF: a write(2) of it is atomic */
#define PATIENCE_MS   200  /* for a reader that is slow, not stuck */
#define FIRST_VISIBLE 0x20
#define DELETE        0x7f

/* UTF-8, RFC 3629 */
#define LEAD_KINDS        4
#define CONTINUATION      0x80
#define CONTINUATION_MASK 0xc0
#define C1_LEAD           0xc2
#define C1_END            0xa0

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
	const int length =
	    /* Both callers have started it; the analyzer does not see that. */
	    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
	    vsnprintf(line->text + line->length, room, format, arguments);

	if (length < 0)
		return;
	line->length += (size_t)length < room ? (size_t)length : room - 1;
}

/*
 * How many bytes from TEXT on are one character that only prints: 0 for a
 * control character, be it of ASCII, of C1 (U+0080 to U+009F, which terminals
 * obey as well) or a byte that is no UTF-8.
 */
static size_t
printable_length(const unsigned char *text, size_t size)
{
	static const unsigned char masks[] = { 0x80, 0xe0, 0xf0, 0xf8 };
	static const unsigned char leads[] = { 0x00, 0xc0, 0xe0, 0xf0 };
	size_t length = 1;

	while (length <= LEAD_KINDS &&
	       (text[0] & masks[length - 1]) != leads[length - 1])
		length++;
	if (length > LEAD_KINDS || length > size)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & CONTINUATION_MASK) != CONTINUATION)
			return 0;
	}
	if (length == 1)
		return text[0] >= FIRST_VISIBLE && text[0] != DELETE;
	return text[0] == C1_LEAD && text[1] < C1_END ? 0 : length;
}

/* A file name or an argument must not drive the reader's terminal. */
static void
make_printable(char *text, size_t size)
{
	for (size_t at = 0; at < size;) {
		const size_t length = printable_length(
		    (const unsigned char *)text + at, size - at);

		if (length == 0)
			text[at++] = '?';
		at += length;
	}
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
message(const char *format, ...)
{
	const int saved = errno;
	char text[LINE_SIZE];
	struct line line = { .text = text, .size = sizeof(text) - 2 };
	va_list arguments;

	line_add(&line, "wdrun: ");
	va_start(arguments, format);
	append(&line, format, arguments);
	va_end(arguments);

	make_printable(text, line.length);
	if (is_raw_terminal())
		text[line.length++] = '\r';
	text[line.length++] = '\n';
	write_line(&line);
	errno = saved;
}
