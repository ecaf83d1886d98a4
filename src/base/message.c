/* Messages on stderr, and text on stdout. */
#include "base/message.h"

#include <sys/ioctl.h>
#include <sys/stat.h>

#include <errno.h>
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

#define LINE_SIZE   4096 /* PIPE_BUF: such a write(2) is atomic, pipe(7) */
#define PATIENCE_MS 200  /* for a slow reader of stderr */

static const char *name = "wdrun";

static message_writer *writer; /* of a stderr that is a file; or NULL */

/* In one write(2) if stderr takes all at once, so that lines of several
 * processes do not mix. An error cannot be reported anywhere. */
static void
write_all(const struct strbuf *text)
{
	if (writer != NULL)
		writer(text);
	else
		(void)fds_write_in_time(STDERR_FILENO, text->text, text->length,
		                        PATIENCE_MS);
}

void
message_write_file_by(message_writer *file_writer)
{
	struct stat file;

	if (fstat(STDERR_FILENO, &file) == 0 && S_ISREG(file.st_mode))
		writer = file_writer;
}

/* Whether "\n" on stderr only moves the cursor down, as in an editor. */
static bool
is_raw_terminal(void)
{
	struct termios modes;

	return writer == NULL && tcgetattr(STDERR_FILENO, &modes) == 0 &&
	       (modes.c_oflag & OPOST) == 0;
}

#define BOLD_RED "\033[1;31m"
#define PLAIN    "\033[m"

/*
 * Moves a terminal's cursor to column 1, on the next line if text (a prompt) is
 * before the cursor. A terminal's answer to a query for the position would mix
 * with typed keys. Instead, as for PROMPT_SP of zsh: as many blanks as the
 * terminal has columns, and "\r". From column 1 the blanks stay on the line;
 * from any other column they wrap to the next line. Returns whether stderr is a
 * terminal and $TERM promises more than "\r".
 */
static bool
begin_line(struct strbuf *text)
{
	const char *const terminal = getenv("TERM");
	struct winsize size;

	if (writer != NULL || terminal == NULL ||
	    ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == -1 ||
	    strcmp(terminal, "dumb") == 0)
		return false;
	strbuf_addf(text, "%*s\r", size.ws_col, "");
	return true;
}

void
message_set_name(const char *new_name)
{
	name = new_name;
}

void
message_lines(const struct strbuf *lines, bool has_headline)
{
	const char *const end = is_raw_terminal() ? "\r\n" : "\n";
	const char *const no_color = getenv("NO_COLOR"); /* no-color.org */
	struct strbuf text = { .grows = true };
	bool is_bold = begin_line(&text) && has_headline &&
	               (no_color == NULL || *no_color == '\0');
	size_t length;

	for (size_t at = 0; at < lines->length; at += length + 1) {
		strbuf_addf(&text, "%s", is_bold ? BOLD_RED : "");

		const size_t start = text.length;

		length = strlen(lines->text + at);
		strbuf_addf(&text, "%s: %s", name, lines->text + at);
		utf8_make_printable(text.text + start, text.length - start);
		strbuf_addf(&text, "%s%s", is_bold ? PLAIN : "", end);
		is_bold = false;
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

/* Not by printf(3), whose buffer costs each process a page. */
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
		/* EAGAIN: another process has set O_NONBLOCK on the pipe. */
		if (errno != EAGAIN ||
		    (poll(&ready, 1, -1) == -1 && errno != EINTR)) {
			message("cannot write to stdout: %s", strerror(errno));
			return STATUS_FAILED;
		}
	}
	return EXIT_SUCCESS;
}
