/* An entry of the registry, read from text that anybody may have written. */
#include "entry.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "duration.h"
#include "entrykeys.h"

#define NAME_LENGTH_MAX 255
#define ID_CHARACTERS   "0123456789abcdef-"

/* How far the reader is. */
struct reading {
	struct entry *entry;
	unsigned seen;     /* a bit for each of the keys */
	char *command;     /* the arguments so far, one behind the other, */
	char *command_end; /* and the byte behind their last */
};

/* The byte that the two DIGITS stand for; -1 where they are none. */
static int
hex_byte(const char *digits)
{
	static const char all[] = "0123456789abcdef";
	int byte = 0;

	for (int i = 0; i < 2; i++) {
		const char *const digit = strchr(all, digits[i]);

		if (digits[i] == '\0' || digit == NULL)
			return -1;
		byte = byte * 16 + (int)(digit - all);
	}
	return byte;
}

/* Undoes escape, in place. Returns 0, or -1 where TEXT is none of its work. */
static int
unescape(char *text)
{
	char *end = text;

	for (const char *at = text; *at != '\0'; at++) {
		int byte = (unsigned char)*at;

		if (byte < ENTRY_FIRST_VISIBLE || byte == ENTRY_DELETE)
			return -1;
		if (byte == '\\' && at[1] == '\\') {
			at++;
		} else if (byte == '\\') {
			byte = at[1] == 'x' ? hex_byte(at + 2) : -1;
			if (byte <= 0) /* no text has a NUL byte */
				return -1;
			at += 3;
		}
		*end++ = (char)byte;
	}
	*end = '\0';
	return 0;
}

/* Takes a number up to MAX, and a blank behind it, from *TEXT. */
static int
take_number(char **text, uint64_t max, uint64_t *number)
{
	char *at = *text;

	*number = 0;
	if (!isdigit((unsigned char)*at))
		return -1;
	for (; isdigit((unsigned char)*at); at++) {
		if (__builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, *at - '0', number))
			return -1;
	}
	*text = at + (*at == ' ');
	return *number > max || (*at != ' ' && *at != '\0') ? -1 : 0;
}

/* The same, for a number that is all there is. */
static int
read_number(char *text, uint64_t max, uint64_t *number)
{
	return strchr(text, ' ') == NULL ? take_number(&text, max, number) : -1;
}

static int
read_time(char *text, int64_t *ns)
{
	uint64_t number;

	if (read_number(text, INT64_MAX, &number) == -1)
		return -1;
	*ns = (int64_t)number;
	return 0;
}

static int
read_identity(char *text, struct identity *identity)
{
	uint64_t pid;

	if (take_number(&text, INT_MAX, &pid) == -1)
		return -1;
	identity->pid = (pid_t)pid;
	return read_number(text, UINT64_MAX, &identity->start);
}

static int
read_session(const char *text, bool *has_session)
{
	*has_session = strcmp(text, "own") == 0;
	return *has_session || strcmp(text, "caller") == 0 ? 0 : -1;
}

static int
read_lock(char *text, struct entry *entry)
{
	if (entry->lock_count == ENTRY_FILES_MAX || *text == '\0' ||
	    unescape(text) == -1)
		return -1;
	entry->locks[entry->lock_count++] = text;
	return 0;
}

static int
read_cleanup(char *text, struct entry *entry)
{
	uint64_t device;
	uint64_t inode;
	uint64_t birth;

	if (entry->cleanup_count == ENTRY_FILES_MAX ||
	    take_number(&text, UINT64_MAX, &device) == -1 ||
	    take_number(&text, UINT64_MAX, &inode) == -1 ||
	    take_number(&text, INT64_MAX, &birth) == -1 || *text == '\0' ||
	    unescape(text) == -1)
		return -1;
	entry->cleanups[entry->cleanup_count++] = (struct entry_cleanup){
		.path = text,
		.before = { device, inode, (int64_t)birth },
	};
	return 0;
}

/* Moves the argument TEXT up to those before it. What is overwritten was read
 * long ago: nothing that an entry points to may stand between arguments. */
static int
read_argument(char *text, struct reading *reading)
{
	if (unescape(text) == -1)
		return -1;
	if (reading->command == NULL) {
		reading->command = text;
		reading->command_end = text;
	}

	const size_t size = strlen(text) + 1;

	memmove(reading->command_end, text, size);
	reading->command_end += size;
	reading->entry->argument_count++;
	return size - 1 > ENTRY_ARGUMENT_MAX ||
	               reading->command_end - reading->command >
	                   ENTRY_COMMAND_MAX
	           ? -1
	           : 0;
}

/* Reads VALUE as what KEY is. */
static int
read_value(struct reading *reading, const struct entry_key *key, char *value)
{
	void *const field = (char *)reading->entry + key->offset;

	switch (key->kind) {
	case KIND_TEXT:
		*(const char **)field = value;
		return unescape(value);
	case KIND_NUMBER:
		return read_number(value, UINT64_MAX, field);
	case KIND_DURATION:
		if (strcmp(value, "never") == 0) {
			*(int64_t *)field = NEVER;
			return 0;
		}
		return read_time(value, field);
	case KIND_TIME:
		return read_time(value, field);
	case KIND_IDENTITY:
		return read_identity(value, field);
	case KIND_SESSION:
		return read_session(value, field);
	case KIND_LOCK:
		return read_lock(value, reading->entry);
	case KIND_CLEANUP:
		return read_cleanup(value, reading->entry);
	case KIND_ARGUMENT:
		return read_argument(value, reading);
	case KIND_CUT:
		reading->entry->is_cut = true;
		return 0;
	}
	return -1;
}

/* Whether a key of this KIND, whose BIT was seen or not, may stand here. */
static bool
is_in_place(const struct reading *reading, unsigned bit, enum entry_kind kind)
{
	const bool is_repeatable =
	    kind == KIND_LOCK || kind == KIND_CLEANUP || kind == KIND_ARGUMENT;

	if (reading->command != NULL && kind < KIND_ARGUMENT)
		return false;
	return is_repeatable || (reading->seen & bit) == 0;
}

/* Reads one line. A key that is not known is one of a later version, which
 * would have changed the first line if it mattered. */
static int
read_line(struct reading *reading, char *line)
{
	char *value = line + strcspn(line, " ");
	const bool has_value = *value != '\0';

	if (has_value)
		*value++ = '\0';
	for (size_t i = 0; i < ENTRY_KEY_COUNT; i++) {
		const unsigned bit = 1U << i;

		if (strcmp(line, entry_keys[i].word) != 0)
			continue;
		if (has_value == (entry_keys[i].kind == KIND_CUT) ||
		    !is_in_place(reading, bit, entry_keys[i].kind))
			return -1;
		reading->seen |= bit;
		return read_value(reading, &entry_keys[i], value);
	}
	return 0;
}

/* Whether all that is needed was read, and is what it can be. */
static bool
is_complete(const struct reading *reading)
{
	const struct entry *const entry = reading->entry;

	for (size_t i = 0; i < ENTRY_KEY_COUNT; i++) {
		if (entry_keys[i].is_needed && (reading->seen & 1U << i) == 0)
			return false;
	}
	if (entry->name != NULL &&
	    (*entry->name == '\0' || strlen(entry->name) > NAME_LENGTH_MAX))
		return false;
	return *entry->id != '\0' && strlen(entry->id) < RUNID_SIZE &&
	       entry->id[strspn(entry->id, ID_CHARACTERS)] == '\0' &&
	       *entry->boot != '\0' && entry->supervisor.pid > 0 &&
	       entry->target.pid > 0;
}

/* Reads the lines from TEXT on. */
static int
read_lines(struct reading *reading, char *text)
{
	for (;;) {
		char *const end = text + strcspn(text, "\n");

		if (*end == '\0')
			return -1;
		*end = '\0';
		if (strcmp(text, "end") == 0)
			return end[1] == '\0' && is_complete(reading) ? 0 : -1;
		if (read_line(reading, text) == -1)
			return -1;
		text = end + 1;
	}
}

/* Whether TEXT begins with the first line of another version than ours. */
static bool
is_of_another_version(const char *text)
{
	static const char word[] = "wdrun ";
	const size_t length = sizeof(word) - 1;

	if (strncmp(text, word, length) != 0)
		return false;

	const size_t digits = strspn(text + length, "0123456789");

	return digits > 0 && text[length + digits] == '\n';
}

int
entry_parse(char *text, size_t length, struct entry *entry)
{
	const size_t start = sizeof(ENTRY_FIRST_LINE) - 1;
	struct reading reading = { .entry = entry };

	*entry = (struct entry){ .timeout = NEVER };
	text[length] = '\0';
	if (strncmp(text, ENTRY_FIRST_LINE, start) != 0) {
		errno = is_of_another_version(text) ? ENOTSUP : EINVAL;
		return -1;
	}
	/* A NUL byte would hide what is behind it. */
	if (length > ENTRY_TEXT_MAX || strlen(text) != length ||
	    read_lines(&reading, text + start) == -1) {
		errno = EINVAL;
		return -1;
	}
	entry->command = reading.command;
	return 0;
}
