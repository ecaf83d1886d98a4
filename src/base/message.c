/* Messages on stderr, and text on stdout. */
#include "base/message.h"

#include <sys/ioctl.h>

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/status.h"
#include "base/text.h"

#define LINE_SIZE   4096 /* PIPE_BUF: such a write(2) is atomic, pipe(7) */
#define PATIENCE_MS 200  /* for a slow reader of stderr */

static const char *name = "wdrun";

/* Whether stderr is a terminal, and of which SIZE. */
static bool
is_terminal(struct winsize *size)
{
	return ioctl(STDERR_FILENO, TIOCGWINSZ, size) == 0;
}

/* Ends a line. At a terminal in raw mode, as in an editor, "\n" alone only
 * moves the cursor down. */
static void
end_line(struct strbuf *text, bool at_terminal)
{
	strbuf_addf(text, at_terminal ? "\r\n" : "\n");
}

/* An error cannot be reported anywhere. */
static void
print(const struct strbuf *text)
{
	(void)fds_write_in_time(STDERR_FILENO, text->text, text->length,
	                        PATIENCE_MS);
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
	char bytes[LINE_SIZE];
	/* Less than there is, so that a line that is cut has its end. */
	struct strbuf line = { .text = bytes,
		               .size = sizeof(bytes) - strlen("\r\n") };
	struct winsize size;
	va_list arguments;

	strbuf_addf(&line, "%s: ", name);
	va_start(arguments, format);
	strbuf_vaddf(&line, format, arguments);
	va_end(arguments);
	utf8_make_printable(bytes, line.length);
	line.size = sizeof(bytes);
	end_line(&line, is_terminal(&size));
	print(&line);
	errno = saved;
}

/*
 * Text (a prompt, say) may be before the cursor. A terminal's answer to a query
 * for the position would mix with typed keys. Instead, as for PROMPT_SP of zsh:
 * as many blanks as the terminal has columns, and "\r". From column 1 the
 * blanks stay on the line; from any other column they wrap to the next line.
 */
static void
go_to_column_1(struct strbuf *text, const struct winsize *size)
{
	const char *const type = getenv("TERM");

	if (type != NULL && strcmp(type, "dumb") != 0)
		strbuf_addf(text, "%*s\r", size->ws_col, "");
}

void
message_lines(const struct strbuf *lines)
{
	struct strbuf text = { .grows = true };
	struct winsize size;
	const bool at_terminal = is_terminal(&size);

	if (at_terminal)
		go_to_column_1(&text, &size);
	for (size_t at = 0; at < lines->length;) {
		const char *const line = lines->text + at;
		const size_t start = text.length;

		strbuf_addf(&text, "%s: %s", name, line);
		utf8_make_printable(text.text + start, text.length - start);
		end_line(&text, at_terminal);
		at += strlen(line) + 1;
	}
	print(&text);
	strbuf_free(&text);
}

int
message_print(const struct strbuf *line)
{
	/* Waits for a reader without a bound, also where another process has
	 * set O_NONBLOCK on the pipe. */
	if (!line->is_cut &&
	    fds_write_in_time(STDOUT_FILENO, line->text, line->length, -1) ==
	        line->length)
		return EXIT_SUCCESS;
	message("cannot write to stdout: %s",
	        strerror(line->is_cut ? ENOMEM : errno));
	return STATUS_FAILED;
}
