/* Messages on stderr, and text on stdout. */
#include "base/message.h"

#include <sys/ioctl.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/status.h"
#include "base/text.h"

#define LINE_SIZE   4000 /* less than PIPE_BUF: one atomic write(2), pipe(7) */
#define PATIENCE_MS 200  /* for a slow reader of stderr */

/* Whether the line on stderr is the command's, and has no newline yet. */
static atomic_int *in_line;

void
message_share_line(atomic_int *shared)
{
	in_line = shared;
}

void
message_lines(struct strbuf *lines)
{
	struct strbuf text = { .grows = true };
	struct winsize size;
	const bool at_terminal = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;

	/* As zsh's PROMPT_SP: a line of blanks and "\r". From column 1 the
	 * blanks stay on the line; from any other one, they wrap to the next.
	 */
	if (at_terminal)
		strbuf_addf(&text, "%*s\r", size.ws_col, "");
	else if (in_line != NULL && atomic_exchange(in_line, false))
		strbuf_addf(&text, "\n");
	for (size_t at = 0; at < lines->length;) {
		char *const line = lines->text + at;

		at += strlen(line) + 1;
		utf8_make_printable(line);
		/* In raw mode, "\n" alone only moves the cursor down. */
		strbuf_addf(&text, "%s: %s%s", program_invocation_short_name,
		            line, at_terminal ? "\r\n" : "\n");
	}
	(void)fds_write(STDERR_FILENO, text.text, text.length, PATIENCE_MS);
	free(text.text);
}

void
message(const char *format, ...)
{
	const int saved = errno;
	char bytes[LINE_SIZE];
	struct strbuf line = { .text = bytes, .size = sizeof(bytes) };
	va_list arguments;

	va_start(arguments, format);
	strbuf_vaddf(&line, format, arguments);
	va_end(arguments);
	message_lines(&line);
	errno = saved;
}

int
message_print(const struct strbuf *line)
{
	if (!line->is_cut && /* if it is, errno is ENOMEM */
	    fds_write(STDOUT_FILENO, line->text, line->length, -1))
		return EXIT_SUCCESS;
	message("cannot write to stdout: %s", strerror(errno));
	return STATUS_FAILED;
}
