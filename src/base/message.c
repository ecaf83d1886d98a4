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

static struct message_facts of_one_process;
struct message_facts *message_facts = &of_one_process;
char message_last[LINE_SIZE];

void
message_release(void)
{
	message_facts->is_held = false;
	(void)fds_write(STDERR_FILENO, message_facts->text,
	                message_facts->length, PATIENCE_MS);
}

void
message_lines(struct strbuf *lines)
{
	struct message_facts *const facts = message_facts;
	struct strbuf text = { .grows = true };
	struct winsize size;
	const bool at_terminal = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;

	/* As zsh's PROMPT_SP: a line of blanks and "\r". From column 1 the
	 * blanks stay on the line; from any other, they wrap to the next. */
	if (at_terminal)
		strbuf_addf(&text, "%*s\r", size.ws_col, "");
	else if (atomic_exchange(&facts->in_line, false))
		strbuf_addf(&text, "\n");
	for (size_t at = 0; at < lines->length;) {
		char *const line = lines->text + at;

		at += strlen(line) + 1;
		utf8_make_printable(line);
		/* In raw mode, "\n" alone only moves the cursor down. */
		strbuf_addf(&text, "%s: %s%s", program_invocation_short_name,
		            line, at_terminal ? "\r\n" : "\n");
	}
	if (at_terminal && facts->is_held) {
		struct strbuf held = { .text = facts->text,
			               .size = sizeof(facts->text),
			               .length = facts->length };

		strbuf_addf(&held, "%s", text.text); /* or what has room */
		facts->length = (unsigned)held.length;
	} else {
		(void)fds_write(STDERR_FILENO, text.text, text.length,
		                PATIENCE_MS);
	}
	free(text.text);
}

void
message(const char *format, ...)
{
	const int saved = errno;
	struct strbuf line = { .text = message_last,
		               .size = sizeof(message_last) };
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
