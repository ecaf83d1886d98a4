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

/* Appends WORD as '...', or as $'...' if WORD has a quote or a control
 * character. */
static void
add_quoted(struct strbuf *line, const char *word)
{
	bool has_escapes = false;

	for (const char *at = word; *at != '\0'; at++)
		has_escapes |= is_control(*at) || *at == '\'';
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

/* Appends the start and the end of TEXT, of LENGTH bytes: the program, and the
 * last argument. */
static void
add_ends(struct strbuf *line, const char *text, size_t length, size_t width)
{
	const size_t half = (width - 3) / 2;
	const char *end = text + length - half;

	while ((*end & 0xc0) == 0x80) /* not from within a character */
		end++;
	strbuf_addf(line, "%.*s...%s", (int)utf8_fit(text, half), text, end);
}

static void
add_words(struct strbuf *line, const char *text, const char *end)
{
	const char *word = text;

	if (text[0] == '/' && is_plain(text))
		word = strrchr(text, '/') + 1;
	/* A program that sets a title writes a single word, "sshd: root@pts/0",
	 * which needs no quotes. A word that fills the buffer is no title. */
	const bool is_title =
	    text + strlen(text) + 1 >= end && end - text < TEXT_SIZE - 1;

	do {
		if (word > text && word[-1] == '\0')
			strbuf_addf(line, " ");
		if (is_title || is_plain(word))
			strbuf_addf(line, "%s", word);
		else
			add_quoted(line, word);
	} while ((word += strlen(word) + 1) < end);
}

void
cmdline_add(struct strbuf *line, pid_t pid, int width)
{
	char text[TEXT_SIZE];
	char words[TEXT_SIZE];
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
	add_words(&all, text, text + length);
	if (is_cut || all.is_cut)
		strbuf_addf(line, "%.*s...",
		            (int)utf8_fit(words, (size_t)width - 3), words);
	else if (all.length <= (size_t)width)
		strbuf_addf(line, "%s", words);
	else
		add_ends(line, words, all.length, (size_t)width);
}
