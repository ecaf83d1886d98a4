/* The ID of a run, in the environment of all its processes. */
#include "proc/runid.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/strbuf.h"
#include "proc/helper.h"
#include "proc/procfs.h"

#define CHUNK_SIZE  16384
#define NAME        RUNID_VARIABLE "="
#define NAME_LENGTH (sizeof(NAME) - 1)

void
runid_make(char variable[RUNID_SIZE], pid_t front)
{
	(void)strbuf_format(variable, RUNID_SIZE, NAME "%d-%llx", front,
	                    (unsigned long long)duration_since_epoch());
}

const char *
runid_of(const char *variable)
{
	return variable + NAME_LENGTH;
}

size_t
runid_length(const char *text)
{
	const size_t pid = strspn(text, "0123456789");
	const size_t start = pid == 0 || text[pid] != '-'
	                         ? 0
	                         : strspn(text + pid + 1, "0123456789abcdef");
	const size_t length = pid + 1 + start;

	return start == 0 || length >= RUNID_SIZE ? 0 : length;
}

/* How far an environment has been read. */
struct reading {
	size_t length; /* of the present variable, so far */
	bool is_other; /* the present variable is not WDRUN_ID */
	char *id;
};

/* Takes the next byte. Returns whether the search ends: the value is complete,
 * or too long for an ID; then ID is empty, since the first part of the value
 * may be the ID of another run. */
static bool
take_byte(struct reading *reading, char byte)
{
	const size_t at = reading->length++;

	if (at < NAME_LENGTH) {
		reading->is_other |= byte != NAME[at];
	} else if (!reading->is_other) {
		reading->id[at - NAME_LENGTH] = byte;
		if (byte == '\0')
			return true;
		if (at - NAME_LENGTH == RUNID_SIZE - 1) {
			reading->id[0] = '\0';
			return true;
		}
	}
	if (byte == '\0')
		*reading = (struct reading){ .id = reading->id };
	return false;
}

struct id_reading {
	pid_t pid;
	int why; /* errno */
	char id[RUNID_SIZE];
};

static void
read_id(void *data)
{
	struct id_reading *const id_reading = data;
	struct reading reading = { .id = id_reading->id };
	char chunk[CHUNK_SIZE];
	bool is_found = false;
	bool is_empty = true;
	ssize_t length = 0;

	const int fd = procfs_open(id_reading->pid, "environ", O_RDONLY);

	id_reading->why = errno;
	if (fd == -1)
		return;
	while (!is_found && (length = read(fd, chunk, sizeof(chunk))) > 0) {
		is_empty = false;
		for (ssize_t i = 0; i < length && !is_found; i++)
			is_found = take_byte(&reading, chunk[i]);
	}
	if (length != -1)
		errno = is_empty ? EAGAIN : 0;
	id_reading->why = errno;
	fds_close(fd);
	if (!is_found) /* the value has no end */
		id_reading->id[0] = '\0';
}

bool
runid_read(pid_t pid, char id[RUNID_SIZE])
{
	struct id_reading reading = { .pid = pid, .why = ETIMEDOUT };

	if (procfs_may_block(pid))
		helper_do_in_time(read_id, &reading, sizeof(reading));
	else
		read_id(&reading);
	if (reading.why == ETIMEDOUT)
		reading.id[0] = '\0';
	memcpy(id, reading.id, RUNID_SIZE);
	errno = reading.why;
	return id[0] != '\0';
}
