/* Messages on stderr, and text on stdout. */
#include "base/message.h"

#include <sys/ioctl.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/status.h"
#include "base/text.h"

#define LINE_SIZE   4000 /* less than PIPE_BUF: one atomic write(2), pipe(7) */
#define PATIENCE_MS 200  /* for a slow reader of stderr */

static struct message_facts of_one_process;
struct message_facts *message_facts = &of_one_process;
char message_last[LINE_SIZE];

static void
write_to_stderr(char *text, size_t length)
{
	const int fd = fds_open_sink(STDERR_FILENO);

	/* -1: all descriptors are in use. */
	(void)fds_write(fd == -1 ? STDERR_FILENO : fd, text, length,
	                PATIENCE_MS);
	fds_close(fd);
}

void
message_release(void)
{
	struct message_facts *const facts = message_facts;

	facts->is_held = false;
	if (facts->length > 0) /* stderr may be in a file system that hangs */
		write_to_stderr(facts->text,
		                strnlen(facts->text, sizeof(facts->text)));
}

void
message_lines(struct strbuf *lines)
{
	struct message_facts *const facts = message_facts;
	struct strbuf text = { .grows = true };
	struct winsize size;
	const bool at_terminal = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
	/* In raw mode, "\n" only moves the cursor down; in others, Jupyter
	 * takes "\r\r\n" for an erased line. What is held may meet both. */
	const bool ends_with_return =
	    at_terminal && (facts->is_held || !fds_adds_returns(STDERR_FILENO));

	/* As zsh's PROMPT_SP: a line of blanks and "\r". From column 1 the
	 * blanks stay on the line; from any other, they wrap to the next. */
	if (at_terminal)
		strbuf_addf(&text, "%*s\r", size.ws_col == 0 ? 80 : size.ws_col,
		            "");
	else if (atomic_exchange(&facts->in_line, false))
		strbuf_addf(&text, "\n");
	for (size_t at = 0; at < lines->length;) {
		char *const line = lines->text + at;

		at += strlen(line) + 1;
		utf8_make_printable(line);
		strbuf_addf(&text, "%s: %s%s", program_invocation_short_name,
		            line, ends_with_return ? "\r\n" : "\n");
	}
	if (at_terminal && facts->is_held) {
		/* The other watcher may add a message at the same time. */
		size_t at = atomic_fetch_add(&facts->length, text.length);

		for (size_t i = 0; i < text.length && at < sizeof(facts->text);)
			facts->text[at++] = text.text[i++];
	} else {
		write_to_stderr(text.text, text.length);
	}
	free(text.text);
}

void
message(const char *format, ...)
{
	const int saved = errno;
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(message_last, sizeof(message_last), format, arguments);
	va_end(arguments);
	message_lines(&(struct strbuf){ .text = message_last,
	                                .length = strlen(message_last) });
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
