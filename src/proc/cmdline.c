/* The command line of a process, for people to read. */
#include "proc/cmdline.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"
#include "proc/procfs.h"

#define NAME_SIZE   64
#define TEXT_SIZE   4096
#define FIRST_PLAIN 0x20
#define DELETE      0x7f

/* Appends PID's name, from a file that never blocks. */
static void
add_name(struct strbuf *line, pid_t pid)
{
	char name[NAME_SIZE];

	if (procfs_read(pid, "comm", name, sizeof(name)) <= 0) {
		strbuf_addf(line, "?");
		return;
	}
	name[strcspn(name, "\n")] = '\0';
	strbuf_addf(line, "[%s]", name);
}

static bool
is_control(char byte)
{
	return (unsigned char)byte < FIRST_PLAIN || byte == DELETE;
}

/* Whether a shell takes WORD as it stands, without quotes. */
static bool
is_plain(const char *word)
{
	const char *at = word;

	while (isalnum((unsigned char)*at) || (*at & 0x80) != 0 ||
	       (*at != '\0' && strchr("%+,-./:=@_^", *at) != NULL))
		at++;
	return *at == '\0' && at != word;
}

/* Appends WORD as '…', or as $'…' if WORD has a quote or a control
 * character. */
static void
add_quoted(struct strbuf *line, const char *word)
{
	bool has_escapes = strchr(word, '\'') != NULL;

	for (const char *at = word; *at != '\0'; at++)
		has_escapes |= is_control(*at);
	strbuf_addf(line, has_escapes ? "$'" : "'");
	for (const char *at = word; *at != '\0'; at++) {
		if (*at == '\n')
			strbuf_addf(line, "\\n");
		else if (*at == '\t')
			strbuf_addf(line, "\\t");
		else if (is_control(*at))
			strbuf_addf(line, "\\x%02x", (unsigned)*at);
		else if (has_escapes && (*at == '\'' || *at == '\\'))
			strbuf_addf(line, "\\%c", *at);
		else
			strbuf_addf(line, "%c", *at);
	}
	strbuf_addf(line, "'");
}

/* Appends WORD, "/srv/app/node_modules/.bin/vite"; IN_SHORT "/srv/.../vite". */
static void
add_word(struct strbuf *line, const char *word, bool in_short)
{
	const char *const name = strrchr(word, '/');
	const char *first = strchr(word, '/');

	if (first != NULL && first != name)
		first = strchr(first + 1, '/');
	if (!is_plain(word))
		add_quoted(line, word);
	else if (in_short && first != name)
		strbuf_addf(line, "%.*s/...%s", (int)(first - word), word,
		            name);
	else
		strbuf_addf(line, "%s", word);
}

static void
add_words(struct strbuf *line, const char *text, const char *end, bool in_short)
{
	const char *word = text;

	if (text[0] == '/' && is_plain(text))
		word = strrchr(text, '/') + 1;

	/* A program that sets a title writes a single word, "sshd: root@pts/0",
	 * which needs no quotes. A word that fills the buffer is no title. */
	if (text + strlen(text) + 1 >= end && end - text < TEXT_SIZE - 1)
		strbuf_addf(line, "%s", word);
	else
		add_word(line, word, false);
	while ((word += strlen(word) + 1) < end) {
		strbuf_addf(line, " ");
		add_word(line, word, in_short);
	}
}

void
cmdline_add(struct strbuf *line, pid_t pid, int width)
{
	char text[TEXT_SIZE];
	char words[TEXT_SIZE];
	const size_t room = (size_t)width;
	struct strbuf all = { .text = words, .size = sizeof(words) };
	ssize_t length = 0;

	if (width > 0)
		length = procfs_read(pid, "cmdline", text, sizeof(text));
	/* A text that fills the buffer may go on. */
	const bool is_cut = length == sizeof(text) - 1;

	while (length > 0 && text[length - 1] == '\0')
		length--;
	if (length <= 0) {
		add_name(line, pid);
		return;
	}
	add_words(&all, text, text + length, false);
	if (all.length > room || is_cut) {
		all.length = 0;
		add_words(&all, text, text + length, true);
	}
	if (all.length > room || is_cut)
		strbuf_addf(line, "%.*s...", (int)utf8_fit(words, room - 3),
		            words);
	else
		strbuf_addf(line, "%s", words);
}
