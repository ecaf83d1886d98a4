/* An entry of the registry, written as text and read from it. */
#include "registry/entry.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/duration.h"
#include "base/text.h"

#define FIRST_WORD "wdrun "
#define FIRST_LINE FIRST_WORD "1\n"
#define LAST_LINE  "end\n"
#define CUT_LINE   "cut\n"
#define ARGUMENT   "arg "

#define ESCAPE_MAX 4 /* bytes: "\xNN" */

/* The bytes that have to be free behind a byte of an argument, and before a
 * whole argument, so that the end of the entry fits. */
#define ROOM_FOR_END      sizeof("\n" CUT_LINE LAST_LINE)
#define ROOM_FOR_ARGUMENT sizeof(ARGUMENT "\n" CUT_LINE LAST_LINE)

#define NAME_LENGTH_MAX 255

/* Appends the lines of KEY to LINE: a line for each value in FIELD. */
typedef void write_value(struct strbuf *line, const char *key,
                         const void *field);

/* Reads the value TEXT, which may be changed, into FIELD. Returns 0, or -1
 * where TEXT is no value of the key. */
typedef int read_value(char *text, void *field);

/* Whether BYTE stands in a value only as "\xNN". */
static bool
is_control(int byte)
{
	return byte < ' ' || byte == '\x7f';
}

static size_t
room_in(const struct strbuf *line)
{
	return line->size - line->length;
}

/* --- text ----------------------------------------------------------------- */

static void
add_byte(struct strbuf *line, unsigned char byte)
{
	if (byte == '\\')
		strbuf_addf(line, "\\\\");
	else if (is_control(byte))
		strbuf_addf(line, "\\x%02x", byte);
	else
		strbuf_addf(line, "%c", byte);
}

/* Returns the byte that two hexadecimal DIGITS stand for, or -1. */
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

/* Undoes add_byte() in place. Returns 0, or -1 if TEXT is not of add_byte(). */
static int
unescape(char *text)
{
	char *end = text;

	for (const char *at = text; *at != '\0'; at++) {
		int byte = (unsigned char)*at;

		if (is_control(byte))
			return -1;
		if (byte == '\\' && at[1] == '\\') {
			at++;
		} else if (byte == '\\') {
			byte = at[1] == 'x' ? hex_byte(at + 2) : -1;
			if (byte <= 0) /* a string has no null byte */
				return -1;
			at += 3;
		}
		*end++ = (char)byte;
	}
	*end = '\0';
	return 0;
}

static void
add_text(struct strbuf *line, const char *key, const char *text)
{
	strbuf_addf(line, "%s ", key);
	for (; *text != '\0'; text++)
		add_byte(line, (unsigned char)*text);
	strbuf_addf(line, "\n");
}

static void
write_text(struct strbuf *line, const char *key, const void *field)
{
	const char *const text = *(const char *const *)field;

	if (text != NULL)
		add_text(line, key, text);
}

static int
read_text(char *text, void *field)
{
	*(const char **)field = text;
	return unescape(text);
}

/* --- numbers -------------------------------------------------------------- */

/* Takes a number up to MAX from *TEXT, with the blank that may follow the
 * number. Returns 0 or -1. */
static int
take_number(char **text, uint64_t max, uint64_t *number)
{
	const char *const end = text_read_number(*text, DECIMAL, number);

	if (end == NULL || *number > max || (*end != ' ' && *end != '\0'))
		return -1;
	*text += end - *text + (*end == ' ');
	return 0;
}

static void
write_number(struct strbuf *line, const char *key, const void *field)
{
	strbuf_addf(line, "%s %" PRIu64 "\n", key, *(const uint64_t *)field);
}

static int
read_number(char *text, void *field)
{
	return strchr(text, ' ') == NULL ? take_number(&text, UINT64_MAX, field)
	                                 : -1;
}

static void
write_time(struct strbuf *line, const char *key, const void *field)
{
	const int64_t ns = *(const int64_t *)field;

	if (ns == NEVER)
		strbuf_addf(line, "%s never\n", key);
	else
		strbuf_addf(line, "%s %" PRId64 "\n", key, ns);
}

static int
read_time(char *text, void *field)
{
	uint64_t number = 0;

	if (strcmp(text, "never") == 0)
		number = NEVER;
	else if (read_number(text, &number) == -1 || number > INT64_MAX)
		return -1;
	*(int64_t *)field = (int64_t)number;
	return 0;
}

/* --- other values --------------------------------------------------------- */

static void
write_process(struct strbuf *line, const char *key, const void *field)
{
	const struct procid *const process = field;

	strbuf_addf(line, "%s %d %" PRIu64 "\n", key, process->pid,
	            process->start);
}

static int
read_process(char *text, void *field)
{
	struct procid *const process = field;
	uint64_t pid;

	if (take_number(&text, INT_MAX, &pid) == -1)
		return -1;
	process->pid = (pid_t)pid;
	return read_number(text, &process->start);
}

static void
write_session(struct strbuf *line, const char *key, const void *field)
{
	strbuf_addf(line, "%s %s\n", key,
	            *(const bool *)field ? "own" : "caller");
}

static int
read_session(char *text, void *field)
{
	*(bool *)field = strcmp(text, "own") == 0;
	return *(bool *)field || strcmp(text, "caller") == 0 ? 0 : -1;
}

static void
write_locks(struct strbuf *line, const char *key, const void *field)
{
	const struct entry_locks *const locks = field;

	for (size_t i = 0; i < locks->count; i++)
		add_text(line, key, locks->paths[i]);
}

static int
read_lock(char *text, void *field)
{
	struct entry_locks *const locks = field;

	if (locks->count == ENTRY_FILES_MAX || *text != '/')
		return -1;
	return read_text(text, &locks->paths[locks->count++]);
}

static void
write_cleanups(struct strbuf *line, const char *key, const void *field)
{
	const struct entry_cleanups *const cleanups = field;

	for (size_t i = 0; i < cleanups->count; i++) {
		const struct cleanup *const file = &cleanups->files[i];

		strbuf_addf(line, "%s %" PRId64, key, file->before);
		add_text(line, "", file->path);
	}
}

static int
read_cleanup(char *text, void *field)
{
	struct entry_cleanups *const cleanups = field;
	struct cleanup file = { .claim_fd = -1 };
	uint64_t before;

	if (cleanups->count == ENTRY_FILES_MAX ||
	    take_number(&text, INT64_MAX, &before) == -1 || *text != '/')
		return -1;
	file.before = (int64_t)before;
	file.path = text;
	cleanups->files[cleanups->count++] = file;
	return unescape(text);
}

/* Moves the argument TEXT up to the arguments before it. The move overwrites
 * lines that were read, into which ENTRY does not point: see read_line(). */
static int
read_argument(char *text, void *field)
{
	struct entry_command *const command = field;

	if (unescape(text) == -1)
		return -1;
	if (command->count++ == 0)
		command->text = text;

	const size_t size = strlen(text) + 1;

	memmove(command->text + command->size, text, size);
	command->size += size;
	return size > ENTRY_ARGUMENT_MAX + 1 ||
	               command->size > ENTRY_COMMAND_MAX
	           ? -1
	           : 0;
}

static int
read_cut(char *text, void *field)
{
	(void)text;
	*(bool *)field = true;
	return 0;
}

/* --- the keys ------------------------------------------------------------- */

enum {
	NEEDED = 1,
	REPEATED = 2,
};

struct key {
	const char *word;
	size_t offset;      /* of the field in struct entry */
	write_value *write; /* NULL: add_command() writes it */
	read_value *read;
	unsigned flags;
};

#define AT(field) offsetof(struct entry, field)

/* In the order in which they are written. */
static const struct key keys[] = {
	{ "id", AT(id), write_text, read_text, NEEDED },
	{ "name", AT(name), write_text, read_text, 0 },
	{ "boot", AT(boot), write_text, read_text, NEEDED },
	{ "machine", AT(machine), write_text, read_text, 0 },
	{ "pidns", AT(pid_namespace), write_number, read_number, NEEDED },
	{ "timens", AT(time_namespace), write_number, read_number, 0 },
	{ "front", AT(front), write_process, read_process, NEEDED },
	{ "supervisor", AT(supervisor), write_process, read_process, NEEDED },
	{ "target", AT(target), write_process, read_process, NEEDED },
	{ "session", AT(has_session), write_session, read_session, NEEDED },
	{ "started", AT(started), write_time, read_time, NEEDED },
	{ "epoch", AT(started_at), write_time, read_time, NEEDED },
	{ "timeout", AT(timeout), write_time, read_time, NEEDED },
	{ "kill-after", AT(kill_after), write_time, read_time, NEEDED },
	{ "directory", AT(directory), write_text, read_text, 0 },
	{ "lock", AT(locks), write_locks, read_lock, REPEATED },
	{ "cleanup", AT(cleanups), write_cleanups, read_cleanup, REPEATED },
	{ "arg", AT(command), NULL, read_argument, NEEDED | REPEATED },
	{ "cut", AT(command.is_cut), NULL, read_cut, 0 },
};

#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

/* --- writing -------------------------------------------------------------- */

/* Appends at most LENGTH bytes of ARGUMENT, leaving room for the end of the
 * entry. Returns how many bytes were appended. */
static size_t
add_argument(struct strbuf *line, const char *argument, size_t length)
{
	size_t done = 0;

	strbuf_addf(line, ARGUMENT);
	while (done < length && argument[done] != '\0' &&
	       room_in(line) >= ESCAPE_MAX + ROOM_FOR_END)
		add_byte(line, (unsigned char)argument[done++]);
	strbuf_addf(line, "\n");
	return done;
}

/* Appends COMMAND as far as the limits and LINE allow, leaving room for the end
 * of the entry. Returns whether all of COMMAND was appended. */
static bool
add_command(struct strbuf *line, char *const command[])
{
	size_t left = ENTRY_COMMAND_MAX;
	bool is_whole = true;

	for (size_t i = 0; command[i] != NULL; i++) {
		if (left == 0 || room_in(line) < ROOM_FOR_ARGUMENT)
			return false;

		const size_t most =
		    left > ENTRY_ARGUMENT_MAX ? ENTRY_ARGUMENT_MAX : left - 1;
		const size_t kept = add_argument(line, command[i], most);

		is_whole &= command[i][kept] == '\0';
		left -= kept + 1;
	}
	return is_whole;
}

int
entry_format(struct strbuf *line, const struct entry *entry,
             char *const command[])
{
	strbuf_addf(line, FIRST_LINE);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (keys[i].write != NULL)
			keys[i].write(line, keys[i].word,
			              (const char *)entry + keys[i].offset);
	}
	if (room_in(line) < ROOM_FOR_ARGUMENT) {
		errno = EMSGSIZE;
		return -1;
	}
	if (!add_command(line, command) || entry->command.is_cut)
		strbuf_addf(line, CUT_LINE);
	strbuf_addf(line, LAST_LINE);
	return 0;
}

/* --- reading -------------------------------------------------------------- */

/* Reads one line into ENTRY. SEEN has a bit for each key that was read. Returns
 * 0 or -1. */
static int
read_line(char *line, struct entry *entry, unsigned *seen)
{
	char *value = strchr(line, ' ');

	if (value != NULL)
		*value++ = '\0';
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct key *const key = &keys[i];
		const unsigned bit = 1U << i;

		if (strcmp(line, key->word) != 0)
			continue;
		if ((value == NULL) != (key->read == read_cut) ||
		    ((*seen & bit) != 0 && (key->flags & REPEATED) == 0) ||
		    /* Else read_argument() would overwrite VALUE. */
		    (entry->command.count > 0 && key->write != NULL))
			return -1;
		*seen |= bit;
		return key->read(value, (char *)entry + key->offset);
	}
	return 0;
}

/* Whether all needed keys were SEEN, with values that a run can have. */
static bool
is_complete(const struct entry *entry, unsigned seen)
{
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if ((keys[i].flags & NEEDED) != 0 && (seen & 1U << i) == 0)
			return false;
	}
	if (entry->name != NULL &&
	    (*entry->name == '\0' || strlen(entry->name) > NAME_LENGTH_MAX))
		return false;
	return *entry->id != '\0' &&
	       entry->id[runid_length(entry->id)] == '\0' &&
	       *entry->boot != '\0' && entry->supervisor.pid > 0 &&
	       entry->target.pid > 0;
}

/* Reads the lines behind the first into ENTRY. Returns 0 or -1. */
static int
read_lines(char *text, struct entry *entry)
{
	unsigned seen = 0;

	for (;;) {
		char *const end = text + strcspn(text, "\n");

		if (*end == '\0')
			return -1;
		*end = '\0';
		if (strcmp(text, "end") == 0)
			return end[1] == '\0' && is_complete(entry, seen) ? 0
			                                                  : -1;
		if (read_line(text, entry, &seen) == -1)
			return -1;
		text = end + 1;
	}
}

/* Whether TEXT begins with the first line of a version of the format. */
static bool
has_version(const char *text)
{
	static const size_t length = sizeof(FIRST_WORD) - 1;

	if (strncmp(text, FIRST_WORD, length) != 0)
		return false;

	const size_t digits = strspn(text + length, "0123456789");

	return digits > 0 && text[length + digits] == '\n';
}

int
entry_parse(char *text, size_t length, struct entry *entry)
{
	const size_t start = sizeof(FIRST_LINE) - 1;

	*entry = (struct entry){ .id = NULL };
	text[length] = '\0';
	if (strncmp(text, FIRST_LINE, start) != 0) {
		errno = has_version(text) ? ENOTSUP : EINVAL;
		return -1;
	}
	/* A null byte would hide the rest of TEXT. */
	if (length > ENTRY_TEXT_MAX || strlen(text) != length ||
	    read_lines(text + start, entry) == -1) {
		errno = EINVAL;
		return -1;
	}
	return 0;
}
