/* One record of the registry, and what became of its run. */
#include "record.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "procfs.h"
#include "reaping.h"
#include "supervisor.h"

#define COMM_SIZE 32

struct record_place
record_look_around(void)
{
	struct record_place place = {
		.time_namespace = identity_time_namespace(),
	};

	(void)uname(&place.host);
	/* One that is not there has another errno: an older kernel's. */
	place.is_known = (place.time_namespace != 0 || errno == ENOENT) &&
	                 identity_boot(place.boot) == 0 &&
	                 identity_namespace(&place.pid_namespace) == 0 &&
	                 procfs_is_ours() == 1;
	return place;
}

bool
record_can_look(const char *option)
{
	const struct record_place place = record_look_around();
	const int why = errno;

	if (place.is_known)
		return true;
	if (procfs_is_ours() == 0)
		message("--%s: without a /proc of this PID namespace nothing "
		        "can be verified",
		        option);
	else
		message("--%s: nothing can be verified: cannot read '%s': %s",
		        option,
		        place.boot[0] == '\0'
		            ? "/proc/sys/kernel/random/boot_id"
		            : "/proc/self",
		        strerror(why));
	return false;
}

/* --- the state of a run --------------------------------------------------- */

/*
 * Whether it is dead: 1 or 0, or -1 with errno where that cannot be seen: a
 * table of files that is full must not make an orphan of a run. Nor is it what
 * identity_look knows: whom /proc hides makes one here, and --reap comes to
 * tell that it cannot see him.
 */
static int
look_whether_dead(const struct identity *identity)
{
	struct procfs_stat stat;

	if (procfs_read_stat(identity->pid, &stat) == -1)
		return errno == ENOENT || errno == ESRCH ? 1 : -1;
	return stat.start != identity->start || procfs_is_dead(&stat);
}

static bool
is_stopping(pid_t supervisor)
{
	char name[COMM_SIZE];

	return procfs_read(supervisor, "comm", name, sizeof(name)) > 0 &&
	       strcmp(name, SUPERVISOR_STOPPING "\n") == 0;
}

int
record_has_name(const struct record *record)
{
	struct stat opened;
	struct stat named;

	if (fstatat(record->directory_fd, record->file, &named,
	            AT_SYMLINK_NOFOLLOW) == -1)
		return errno == ENOENT ? 0 : -1;
	if (fstat(record->fd, &opened) == -1)
		return -1;
	return named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

/*
 * Whether a run of another boot is not from before the last one, but from
 * another machine, whose registry is on a network file system, or from a
 * container, which may have a boot ID of its own. The first PID namespace has
 * the same number on all machines.
 */
static bool
is_from_elsewhere(const struct record *record, const struct record_place *place)
{
	const struct entry *const entry = &record->entry;
	struct stat file;

	if (entry->host != NULL &&
	    strcmp(entry->host, place->host.nodename) != 0)
		return true;
	return entry->pid_namespace != place->pid_namespace &&
	       fstat(record->fd, &file) == 0 && !reaping_is_old(&file);
}

/* Returns 0, or -1 with errno where it cannot be told of a run which may be an
 * orphan. */
static int
find_state(const struct record *record, const struct record_place *place,
           enum record_state *state)
{
	const struct entry *const entry = &record->entry;

	*state = RECORD_ELSEWHERE;
	if (!place->is_known)
		return 0;
	if (strcmp(entry->boot, place->boot) != 0) {
		if (!is_from_elsewhere(record, place))
			*state = RECORD_OLD;
		return 0;
	}
	if (entry->pid_namespace != place->pid_namespace ||
	    (entry->time_namespace != 0 &&
	     entry->time_namespace != place->time_namespace))
		return 0;

	/* A front in another PID namespace cannot be seen to be dead. */
	const int front =
	    entry->front.pid == 0 ? 0 : look_whether_dead(&entry->front);
	const int why = errno;
	const int supervisor = look_whether_dead(&entry->supervisor);

	if (front != 0 && supervisor != 0 && front + supervisor < 2) {
		errno = supervisor == -1 ? errno : why;
		return -1;
	}
	if (front == 1 && supervisor == 1)
		*state = RECORD_ORPHANED;
	else if (front == 1 || supervisor == 1 ||
	         is_stopping(entry->supervisor.pid))
		*state = RECORD_STOPPING;
	else
		*state = RECORD_RUNNING;
	return 0;
}

/* --- reading -------------------------------------------------------------- */

/* Why FILE can hold no entry that is to be believed; 0 if it can. */
static int
find_fault(const struct stat *file)
{
	if (S_ISLNK(file->st_mode))
		return ELOOP;
	if (S_ISDIR(file->st_mode))
		return EISDIR;
	if (!S_ISREG(file->st_mode))
		return ENXIO;
	if (file->st_uid != geteuid() ||
	    (file->st_mode & REGISTRY_FORBIDDEN) != 0)
		return EPERM;
	return file->st_size > ENTRY_TEXT_MAX ? EFBIG : 0;
}

/* Opens the file of RECORD. Returns 0, or -1 with errno. */
static int
open_file(struct record *record)
{
	struct stat file;

	/* Looked at first: to open a device, or a FIFO, may do something. */
	if (fstatat(record->directory_fd, record->file, &file,
	            AT_SYMLINK_NOFOLLOW) == -1)
		return -1;
	errno = find_fault(&file);
	if (errno != 0)
		return -1;
	record->fd =
	    openat(record->directory_fd, record->file,
	           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (record->fd == -1 || fstat(record->fd, &file) == -1)
		return -1;
	errno = find_fault(&file);
	return errno == 0 ? 0 : -1;
}

/* Reads the SIZE bytes at TEXT, or fewer. Returns how many, or -1. */
static ssize_t
read_all(int fd, char *text, size_t size)
{
	size_t done = 0;

	while (done < size) {
		const ssize_t length = read(fd, text + done, size - done);

		if (length == 0)
			break;
		if (length == -1 && errno != EINTR)
			return -1;
		if (length > 0)
			done += (size_t)length;
	}
	return (ssize_t)done;
}

/* Reads the entry of RECORD into TEXT. Returns 0, or -1 with errno. */
static int
read_entry(struct record *record, char text[RECORD_TEXT_SIZE])
{
	if (open_file(record) == -1)
		return -1;

	const ssize_t length = read_all(record->fd, text, RECORD_TEXT_SIZE - 1);

	if (length == -1)
		return -1;
	if (length > ENTRY_TEXT_MAX) {
		errno = EFBIG; /* it has grown */
		return -1;
	}
	if (entry_parse(text, (size_t)length, &record->entry) == -1)
		return -1;
	if (!registry_is_called(record, record->entry.id)) {
		errno = EINVAL;
		return -1;
	}
	return 0;
}

/* Whether WHY is no fault of the file's. */
static bool
is_trouble_of_ours(int why)
{
	return why == EMFILE || why == ENFILE || why == ENOMEM;
}

static int
leave(struct record *record, int result, int why)
{
	if (record->fd != -1)
		(void)close(record->fd);
	record->fd = -1;
	errno = why;
	return result;
}

int
record_read(struct record *record, char text[RECORD_TEXT_SIZE],
            const struct record_place *place)
{
	record->fd = -1;
	record->why = read_entry(record, text) == -1 ? errno : 0;
	if (record->why == ENOENT)
		return leave(record, 0, 0);
	if (is_trouble_of_ours(record->why))
		return leave(record, -1, record->why);

	record->state = RECORD_BROKEN;
	if (record->why == 0 && find_state(record, place, &record->state) == -1)
		return leave(record, -1, errno);
	/* A run takes its entry away before its watchers end: looked at now
	 * that they are dead, it is there only if they could not. */
	if (record->state == RECORD_ORPHANED) {
		const int result = record_has_name(record);

		if (result != 1)
			return leave(record, result, errno);
	}
	return 1;
}

/* --- telling -------------------------------------------------------------- */

const char *
registry_state_name(enum record_state state)
{
	static const char *const names[] = {
		[RECORD_RUNNING] = "running",
		[RECORD_STOPPING] = "stopping",
		[RECORD_ORPHANED] = "orphaned",
		[RECORD_OLD] = "old",
		[RECORD_ELSEWHERE] = "elsewhere",
		[RECORD_BROKEN] = "broken",
	};

	return names[state];
}

static const char *
explain(int why)
{
	switch (why) {
	case EINVAL:
		return "not an entry, or not a whole one";
	case ENOTSUP:
		return "written by another version of wdrun";
	case ELOOP:
		return "a symbolic link";
	case EISDIR:
		return "a directory";
	case ENXIO:
		return "not a regular file";
	case EPERM:
		return "not this user's own, or others can write it";
	case EFBIG:
		return "too large for an entry";
	default:
		return strerror(why);
	}
}

void
registry_tell(const struct record *record)
{
	message("registry: '%s' cannot be used: %s", record->file,
	        explain(record->why));
}
