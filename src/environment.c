/* What processes were given to know, by which they can be recognised. */
#include "environment.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#define PATH_SIZE  64
#define CHUNK_SIZE 16384

/* How much of a VARIABLE, up to its null byte, has been seen. */
struct match {
	const char *variable;
	size_t length;
	bool is_lost; /* not this one; the next begins behind a null byte */
};

/* Adds BYTE. Returns whether the variable is complete with it. */
static bool
match_byte(struct match *match, char byte)
{
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

bool
environment_has(pid_t pid, const char *variable)
{
	struct match match = { .variable = variable };
	char path[PATH_SIZE];
	char chunk[CHUNK_SIZE];
	bool is_there = false;
	ssize_t length;

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", pid);

	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		return false;
	while (!is_there && (length = read(fd, chunk, sizeof(chunk))) > 0) {
		for (ssize_t i = 0; i < length && !is_there; i++)
			is_there = match_byte(&match, chunk[i]);
	}
	(void)close(fd);
	return is_there;
}
