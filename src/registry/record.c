/* The records of the registry: entries, and the states of their runs. */
#include "registry/record.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fds.h"
#include "base/fileinfo.h"
#include "base/message.h"
#include "proc/helper.h"
#include "proc/procfs.h"
#include "proc/procstat.h"

#define COMM_SIZE 32

/* --- the state of a run --------------------------------------------------- */

/* Whether errno WHY is a lack of memory or descriptors, for which no other file
 * could be read either. */
static bool
is_shortage(int why)
{
	return why == EMFILE || why == ENFILE || why == ENOMEM;
}

/* Returns 1 if PROCID is dead, 0 if it is not, or -1 with errno for a shortage,
 * which must not make a run look orphaned. Unlike in procid_state_of(), a
 * process that /proc hides ("hidepid", proc(5)) counts as dead: so --reap comes
 * to its run, and prints that the process cannot be seen. */
static int
check_dead(const struct procid *procid)
{
	struct procstat stat;

	if (procstat_read(procid->pid, &stat) == -1)
		return is_shortage(errno) ? -1 : 1;
	return stat.start != procid->start || procstat_is_dead(&stat);
}

/* Whether the name of the watcher PID begins with NAME. */
static bool
has_name(pid_t pid, const char *name)
{
	char comm[COMM_SIZE];

	return procfs_read(pid, "comm", comm, sizeof(comm)) > 0 &&
	       strncmp(comm, name, strlen(name)) == 0;
}

/* Whether RECORD, of another boot ID, is from an earlier boot of this machine:
 * not from another machine with the registry on a network file system, nor from
 * a container with a boot ID of its own. The text of the entry could lie, so
 * the file has to be as old. */
static bool
is_before_boot(const struct record *record, const struct host *host)
{
	const char *const machine = record->entry.machine;
	struct fileinfo file;

	return machine != NULL && strcmp(machine, host->machine_id) == 0 &&
	       fileinfo_of(record->fd, &file) == 0 &&
	       host_is_before_boot(&file);
}

/* Sets the STATE of a run of this boot and these namespaces. Returns 0, or -1
 * with errno. */
static int
find_local_state(const struct entry *entry, enum record_state *state)
{
	/* A front in another PID namespace cannot be seen. Its supervisor ends
	 * when the front is dead. */
	const int front = entry->front.pid == 0 ? 0 : check_dead(&entry->front);
	const int supervisor =
	    front == -1 ? -1 : check_dead(&entry->supervisor);

	if (supervisor == -1)
		return -1;
	if (front == 1 && supervisor == 1)
		*state = RECORD_ORPHANED;
	else if (entry->supervisor.pid == entry->front.pid &&
	         has_name(entry->front.pid, WATCHER_NAME))
		*state = RECORD_WAITING;
	else if (front == 1 || supervisor == 1 ||
	         has_name(entry->supervisor.pid, SUPERVISOR_STOPPING))
		*state = RECORD_STOPPING;
	else if (has_name(entry->supervisor.pid, SUPERVISOR_NAME))
		*state = RECORD_RUNNING;
	return 0;
}

int
record_has_name(const struct record *record)
{
	struct fileinfo opened;
	struct fileinfo named;

	if (fileinfo_at(record->directory_fd, record->file, &named) == -1)
		return errno == ENOENT ? 0 : -1;
	if (fileinfo_of(record->fd, &opened) == -1)
		return -1;
	return fileid_is_same(&named.id, &opened.id);
}

bool
record_is_of(const struct record *record, const char *id)
{
	char file[REGISTRY_FILE_SIZE];

	return strcmp(record->file, registry_name_file(file, id)) == 0;
}

/* Sets the state of the walk's record. Returns as record_walk_next. */
static int
find_state(struct record_walk *walk)
{
	struct record *const record = &walk->record;
	const struct entry *const entry = &record->entry;
	const struct host *const host = &walk->host;

	record->state = RECORD_ELSEWHERE;
	if (!walk->can_verify)
		return 1;
	if (strcmp(entry->boot, host->boot_id) != 0) {
		if (is_before_boot(record, host))
			record->state = RECORD_OLD;
		return 1;
	}
	if (entry->pid_namespace != host->pid_namespace ||
	    (entry->time_namespace != 0 &&
	     entry->time_namespace != host->time_namespace))
		return 1;
	if (find_local_state(entry, &record->state) == -1)
		return -1;
	/* A run removes its entry before its watchers exit. An entry that is
	 * still there, with both watchers dead, is that of an orphaned run. */
	return record->state == RECORD_ORPHANED ? record_has_name(record) : 1;
}

/* --- reading -------------------------------------------------------------- */

/* Why FILE is not to be trusted with an entry, or NULL. */
static const char *
find_problem(const struct fileinfo *file)
{
	if (S_ISLNK(file->mode))
		return "a symbolic link";
	if (S_ISDIR(file->mode))
		return "a directory";
	if (!S_ISREG(file->mode))
		return "not a regular file";
	if (file->owner != geteuid() || (file->mode & REGISTRY_FORBIDDEN) != 0)
		return "not this user's own, or others can write it";
	return file->size > ENTRY_TEXT_MAX ? "too large for an entry" : NULL;
}

/* Opens the file of RECORD, and reads its attributes into FILE. Returns 0; or
 * -1 with record->problem set, or else errno. */
static int
open_file(struct record *record, struct fileinfo *file)
{
	/* Comes first, as open(2) of a device or a FIFO has effects. */
	if (fileinfo_at(record->directory_fd, record->file, file) == -1)
		return -1;
	record->problem = find_problem(file);
	if (record->problem != NULL)
		return -1;
	record->fd =
	    openat(record->directory_fd, record->file,
	           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (record->fd == -1 || fileinfo_of(record->fd, file) == -1)
		return -1;
	record->problem = find_problem(file);
	return record->problem == NULL ? 0 : -1;
}

/* Reads the entry of the walk's record. Returns 0; or -1 with its problem set,
 * or else errno. */
static int
read_entry(struct record_walk *walk)
{
	struct record *const record = &walk->record;
	struct fileinfo file;

	if (open_file(record, &file) == -1)
		return -1;

	const ssize_t length =
	    fds_read(record->fd, walk->text, sizeof(walk->text) - 1);

	if (length == -1)
		return -1;
	errno = 0;
	if (entry_parse(walk->text, (size_t)length, &record->entry) == 0 &&
	    record_is_of(record, record->entry.id)) {
		record->entry.written_at = file.changed;
		return 0;
	}
	record->problem = errno == ENOTSUP
	                      ? "written by another version of wdrun"
	                      : "not a complete entry";
	return -1;
}

static void
close_record(struct record *record)
{
	fds_close(record->fd);
	record->fd = -1;
}

/* Reads FILE. Returns as record_walk_next. */
static int
read_record(struct record_walk *walk, const char *file)
{
	struct record *const record = &walk->record;

	close_record(record);
	record->file = file;
	record->state = RECORD_BROKEN;
	record->problem = NULL;
	if (read_entry(walk) == 0)
		return find_state(walk);
	record->why = errno;
	close_record(record);
	errno = record->why;
	if (record->problem != NULL)
		return 1;
	if (errno == ENOENT)
		return 0;
	return is_shortage(errno) ? -1 : 1;
}

int
record_walk_begin(struct record_walk *walk, int directory_fd)
{
	const int is_ours = procfs_is_ours();

	walk->names = (struct registry_names){ .files = NULL };
	walk->next = 0;
	walk->record.directory_fd = directory_fd;
	walk->record.fd = -1;
	walk->can_verify = is_ours == 1;
	walk->unread = is_ours == -1 ? "/proc/self/status" : NULL;
	if (is_ours == 1)
		walk->unread = host_read(&walk->host);
	if (walk->unread != NULL)
		return -1;
	return registry_list(directory_fd, &walk->names);
}

int
record_walk_next(struct record_walk *walk)
{
	int result = 0;

	while (result == 0 && walk->next < walk->names.count)
		result = read_record(walk, walk->names.files[walk->next++]);
	return result;
}

int
record_walk_find(struct record_walk *walk, const char *id)
{
	return read_record(walk, registry_name_file(walk->file, id));
}

void
record_walk_end(struct record_walk *walk)
{
	close_record(&walk->record);
	array_free(walk->names.files,
	           walk->names.capacity * sizeof(walk->names.files[0]));
}

/* --- messages ------------------------------------------------------------- */

void
record_walk_report(const struct record_walk *walk)
{
	if (walk->unread != NULL)
		message("no process can be verified: cannot read '%s': %s",
		        walk->unread, strerror(errno));
	else if (!walk->can_verify)
		message("no process can be verified: no /proc of this PID "
		        "namespace is mounted");
	else
		message("cannot read the registry: %s", strerror(errno));
}

const char *
record_state_name(enum record_state state)
{
	static const char *const names[] = {
		[RECORD_WAITING] = "waiting",
		[RECORD_RUNNING] = "running",
		[RECORD_STOPPING] = "stopping",
		[RECORD_ORPHANED] = "orphaned",
		[RECORD_ELSEWHERE] = "elsewhere",
	};

	return names[state];
}

void
record_report(const struct record *record)
{
	message("registry: '%s' cannot be used: %s", record->file,
	        record->problem != NULL ? record->problem
	                                : strerror(record->why));
}
