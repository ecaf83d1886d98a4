/* Files in /proc that are a table: fields with blanks between them. */
#include "inspect/proctable.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/strbuf.h"

#define CHUNK_SIZE 8192

const char *
proctable_field(const char *line, int number)
{
	const char *at = line + strspn(line, " ");

	for (int i = 0; i < number; i++) {
		at += strcspn(at, " ");
		at += strspn(at, " ");
	}
	return at;
}

static bool
has_value(const char *line, int number, const char *value)
{
	const char *const field = proctable_field(line, number);
	const size_t length = strlen(value);

	return strncmp(field, value, length) == 0 &&
	       (field[length] == ' ' || field[length] == '\0');
}

bool
proctable_find(const char *path, int number, const char *value,
               char line[PROCTABLE_LINE_SIZE])
{
	char chunk[CHUNK_SIZE];
	char *at = chunk;
	size_t length = 0; /* from AT on */
	bool is_found = false;
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	while (!is_found && fd != -1) {
		char *const end = memchr(at, '\n', length);

		if (end != NULL) {
			*end = '\0';
			is_found = has_value(at, number, value);
			if (is_found)
				(void)strbuf_format(line, PROCTABLE_LINE_SIZE,
				                    "%s", at);
			length -= (size_t)(end + 1 - at);
			at = end + 1;
			continue;
		}
		(void)memmove(chunk, at, length);
		at = chunk;

		const ssize_t got =
		    read(fd, chunk + length, sizeof(chunk) - length);

		if (got <= 0)
			break;
		length += (size_t)got;
	}
	fds_close(fd);
	return is_found;
}
