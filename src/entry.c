/* An entry of the registry, written as text. */
#include "entry.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "duration.h"
#include "entrykeys.h"

#define ESCAPE_SIZE 5 /* "\x1f" and its end */

static const char cut_line[] = "cut\n";
static const char argument_start[] = "arg ";

/* What has to fit behind an argument, its newline and the end of the string
 * included; and what has to be left for one to begin. */
#define TAIL_ROOM     (1 + sizeof(cut_line) + sizeof(ENTRY_LAST_LINE))
#define ARGUMENT_ROOM (sizeof(argument_start) + TAIL_ROOM)

/* Writes how BYTE is written into TEXT. Returns its length. */
static size_t
escape(unsigned char byte, char text[ESCAPE_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	if (byte == '\\') {
		memcpy(text, "\\\\", 3);
		return 2;
	}
	if (byte < ENTRY_FIRST_VISIBLE || byte == ENTRY_DELETE) {
		memcpy(text, "\\x", 2);
		text[2] = digits[byte / 16];
		text[3] = digits[byte % 16];
		text[4] = '\0';
		return 4;
	}
	text[0] = (char)byte;
	text[1] = '\0';
	return 1;
}

static void
add_text(struct line *line, const char *word, const char *text)
{
	char escaped[ESCAPE_SIZE];

	line_add(line, "%s ", word);
	for (; *text != '\0'; text++) {
		(void)escape((unsigned char)*text, escaped);
		line_add(line, "%s", escaped);
	}
	line_add(line, "\n");
}

static void
add_cleanup(struct line *line, const char *word,
            const struct entry_cleanup *cleanup)
{
	line_add(line, "%s %" PRIu64 " %" PRIu64 " %" PRId64, word,
	         cleanup->before.device, cleanup->before.inode,
	         cleanup->before.birth);
	add_text(line, "", cleanup->path);
}

static void
add_duration(struct line *line, const char *word, int64_t ns)
{
	if (ns == NEVER)
		line_add(line, "%s never\n", word);
	else
		line_add(line, "%s %" PRId64 "\n", word, ns);
}

static void
add_lists(struct line *line, const struct entry_key *key,
          const struct entry *entry)
{
	for (size_t i = 0; key->kind == KIND_LOCK && i < entry->lock_count; i++)
		add_text(line, key->word, entry->locks[i]);
	for (size_t i = 0;
	     key->kind == KIND_CLEANUP && i < entry->cleanup_count; i++)
		add_cleanup(line, key->word, &entry->cleanups[i]);
}

static void
add_identity(struct line *line, const char *word,
             const struct identity *identity)
{
	line_add(line, "%s %d %" PRIu64 "\n", word, identity->pid,
	         identity->start);
}

/* What there is of KEY but the command, which needs to know what is left. */
static void
add_key(struct line *line, const struct entry_key *key,
        const struct entry *entry)
{
	const void *const field = (const char *)entry + key->offset;
	const char *text;

	switch (key->kind) {
	case KIND_TEXT:
		text = *(const char *const *)field;
		if (text != NULL)
			add_text(line, key->word, text);
		break;
	case KIND_NUMBER:
		line_add(line, "%s %" PRIu64 "\n", key->word,
		         *(const uint64_t *)field);
		break;
	case KIND_TIME:
		line_add(line, "%s %" PRId64 "\n", key->word,
		         *(const int64_t *)field);
		break;
	case KIND_DURATION:
		add_duration(line, key->word, *(const int64_t *)field);
		break;
	case KIND_IDENTITY:
		add_identity(line, key->word, field);
		break;
	case KIND_SESSION:
		line_add(line, "%s %s\n", key->word,
		         entry->has_session ? "own" : "caller");
		break;
	case KIND_LOCK:
	case KIND_CLEANUP:
		add_lists(line, key, entry);
		break;
	case KIND_ARGUMENT:
	case KIND_CUT:
		break;
	}
}

static size_t
smaller(size_t one, size_t other)
{
	return one < other ? one : other;
}

/* Appends at most LENGTH bytes of ARGUMENT, as many as leave SPARE bytes of
 * LINE. Returns how many. */
static size_t
add_part(struct line *line, const char *argument, size_t length, size_t spare)
{
	size_t done = 0;

	for (; done < length && argument[done] != '\0'; done++) {
		char escaped[ESCAPE_SIZE];
		const size_t room = line->size - line->length;

		if (escape((unsigned char)argument[done], escaped) + spare >=
		    room)
			break;
		line_add(line, "%s", escaped);
	}
	return done;
}

/*
 * Appends what can be kept of COMMAND. Returns whether that is all of it. Room
 * for what has to be told behind it is left in any case: where the rest fits,
 * an entry is cut in its command only.
 */
static bool
add_command(struct line *line, char *const command[])
{
	size_t left = ENTRY_COMMAND_MAX;
	bool is_whole = true;

	for (size_t i = 0; command[i] != NULL; i++) {
		if (left == 0 || line->size - line->length < ARGUMENT_ROOM)
			return false;
		line_add(line, "%s", argument_start);

		const size_t kept =
		    add_part(line, command[i],
		             smaller(left - 1, ENTRY_ARGUMENT_MAX), TAIL_ROOM);

		line_add(line, "\n");
		is_whole &= command[i][kept] == '\0';
		left -= kept + 1;
	}
	return is_whole;
}

int
entry_format(struct line *line, const struct entry *entry,
             char *const command[])
{
	line_add(line, ENTRY_FIRST_LINE);
	for (size_t i = 0; i < ENTRY_KEY_COUNT; i++)
		add_key(line, &entry_keys[i], entry);
	if (line->size - line->length < ARGUMENT_ROOM) {
		errno = EMSGSIZE;
		return -1;
	}
	if (!add_command(line, command) || entry->is_cut)
		line_add(line, "%s", cut_line);
	line_add(line, ENTRY_LAST_LINE);
	return 0;
}
