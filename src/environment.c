/* What processes were given to know, by which they can be recognised. */
#include "environment.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "text.h"

#define PATH_SIZE  64
#define CHUNK_SIZE 16384

/* How much of a VARIABLE, up to its null byte, has been seen. */
struct match {
	const char *variable;
	size_t length;
	bool is_lost; /* not this one; the next begins behind a null byte */
};

/* What has been seen of a variable whose name is known, and its value not. */
struct value {
	const char *name; /* "NAME=" */
	size_t matched;   /* bytes of the name */
	bool is_lost;     /* another variable; as above */
	char *text;       /* of RUNID_SIZE bytes */
	size_t length;
};

/* Called for each byte of an environment. Returns whether that is enough. */
typedef bool take_byte(void *context, char byte);

/* Gives the environment of PID to TAKE. Returns whether that had enough; else
 * errno is as environment_read_id tells. */
static bool
read_environment(pid_t pid, take_byte *take, void *context)
{
	char path[PATH_SIZE];
	char chunk[CHUNK_SIZE];
	bool is_enough = false;
	bool is_empty = true;
	ssize_t length;

	(void)text_format(path, sizeof(path), "/proc/%d/environ", pid);

	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		return false;
	errno = 0;
	while (!is_enough && (length = read(fd, chunk, sizeof(chunk))) > 0) {
		is_empty = false;
		for (ssize_t i = 0; i < length && !is_enough; i++)
			is_enough = take(context, chunk[i]);
	}
	if (is_empty && errno == 0)
		errno = EAGAIN;

	const int why = errno;

	(void)close(fd);
	errno = why;
	return is_enough;
}

/* Returns whether the variable is complete with BYTE. */
static bool
match_byte(void *context, char byte)
{
	struct match *const match = context;

	match->is_lost |= byte != match->variable[match->length];
	if (byte != '\0') {
		match->length += !match->is_lost;
		return false;
	}
	if (!match->is_lost)
		return true;
	match->length = 0;
	match->is_lost = false;
	return false;
}

/*
 * Returns whether the value is complete with BYTE. One that is too long is
 * complete as well, and as none: the first part of it could be somebody's ID.
 */
static bool
value_byte(void *context, char byte)
{
	struct value *const value = context;

	if (value->is_lost) {
		value->is_lost = byte != '\0';
		return false;
	}
	if (value->name[value->matched] != '\0') {
		const bool is_next = byte == value->name[value->matched];

		value->matched = is_next ? value->matched + 1 : 0;
		value->is_lost = !is_next && byte != '\0';
		return false;
	}
	if (byte == '\0' || value->length == RUNID_SIZE - 1) {
		value->text[byte == '\0' ? value->length : 0] = '\0';
		return true;
	}
	value->text[value->length++] = byte;
	return false;
}

bool
environment_has(pid_t pid, const char *variable)
{
	struct match match = { .variable = variable };

	return read_environment(pid, match_byte, &match);
}

bool
environment_read_id(pid_t pid, char id[RUNID_SIZE])
{
	struct value value = { .name = RUNID_VARIABLE "=", .text = id };

	if (!read_environment(pid, value_byte, &value))
		id[0] = '\0'; /* also where the end of it was missing */
	return id[0] != '\0';
}
