/* The registry's directory, and the entries that come and go in it. */
#include "registry/registry.h"

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/message.h"
#include "base/path.h"
#include "base/text.h"
#include "proc/helper.h"
#include "proc/procfs.h"

#define SUFFIX    ".run"
#define FILE_SIZE (RUNID_SIZE + sizeof(SUFFIX))
#define LINE_SIZE 64 /* of the IDs of boot and machine, and of a process */

#define ENTRY_MODE 0600
#define OPEN_FLAGS (O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* --- the directory -------------------------------------------------------- */

/* The value of VARIABLE, or NULL where it is unset or empty. */
static const char *
read_variable(const char *variable)
{
	const char *const value = getenv(variable);

	return value == NULL || *value == '\0' ? NULL : value;
}

bool
registry_is_wanted(void)
{
	return read_variable("WDRUN_REGISTRY") != NULL;
}

/* Whether this process is root's, and DIRECTORY, from an environment that
 * sudo(8) may have kept, another user's. */
static bool
is_anothers(const char *directory)
{
	struct stat file;

	return geteuid() == 0 && stat(directory, &file) == 0 &&
	       file.st_uid != 0;
}

int
registry_find(struct strbuf *line, const char *given)
{
	const char *const state = read_variable("XDG_STATE_HOME");
	const char *const home = read_variable("HOME");
	/* XDG Base Directory Specification: a relative path is ignored. */
	const bool has_state = state != NULL && *state == '/';
	const char *const base = has_state ? state : home;

	if (given == NULL)
		given = read_variable("WDRUN_REGISTRY");
	if (given != NULL) {
		strbuf_addf(line, "%s", given);
	} else if (base == NULL || *base != '/') {
		message("no registry: neither --registry nor $WDRUN_REGISTRY "
		        "names one, and $HOME is no absolute path");
		return -1;
	} else if (is_anothers(base)) {
		message("no registry: '%s' belongs to another user, not to "
		        "root: use --registry",
		        base);
		return -1;
	} else {
		strbuf_addf(line,
		            has_state ? "%s/wdrun" : "%s/.local/state/wdrun",
		            base);
	}
	return 0;
}

/* Opens the directory PATH; makes it if TO_MAKE, but not behind a symbolic link
 * that leads nowhere. Returns a descriptor, or -1 with errno of path_open(). */
static int
open_directory(const char *path, bool to_make)
{
	char last[PATH_MAX];
	char text[PATH_MAX];
	struct strbuf line = { .text = text, .size = sizeof(text) };
	struct stat link;
	const bool is_there = lstat(path, &link) == 0;
	const mode_t callers_mask = umask(0);

	/* The name in the directory that path_open() opens is the dot. */
	strbuf_addf(&line, "%s/.", path);
	errno = ENAMETOOLONG;

	const int above =
	    line.is_cut
	        ? -1
	        : path_open(text, to_make && !is_there ? PATH_MAKE : 0, last);
	const int fd = above == -1 ? -1
	                           : openat(above, ".",
	                                    O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)umask(callers_mask);
	fds_close(above);
	return fd;
}

int
registry_open(const char *given, bool to_make)
{
	char path[PATH_MAX];
	struct strbuf line = { .text = path, .size = sizeof(path) };
	struct stat directory;
	int fd;

	if (registry_find(&line, given) == -1) {
		errno = 0;
		return -1;
	}
	fd = open_directory(path, to_make);
	if (fd == -1 && errno == ENOENT && !to_make)
		return -1;
	if (fd == -1 || fstat(fd, &directory) == -1)
		message("registry '%s': %s", path, path_error(errno));
	else if (directory.st_uid != geteuid())
		message("registry '%s' belongs to user %u, not to %u", path,
		        directory.st_uid, geteuid());
	else if ((directory.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		message("registry '%s' can be written by others (chmod go-w)",
		        path);
	else
		return fd;
	fds_close(fd);
	errno = 0;
	return -1;
}

/* --- where the PIDs mean something ---------------------------------------- */

/* Reads the first line of the file PATH; "-" if that fails. */
static void
read_line(const char *path, char line[LINE_SIZE])
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t length = fd == -1 ? -1 : read(fd, line, LINE_SIZE - 1);

	fds_close(fd);
	line[length > 0 ? length : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (*line == '\0')
		(void)snprintf(line, LINE_SIZE, "-");
}

int
registry_read_host(char host[REGISTRY_HOST_SIZE], bool is_quiet)
{
	char machine[LINE_SIZE];
	char boot[LINE_SIZE];
	struct stat namespace;

	*host = '\0';
	/* stat(2) follows the link to the namespace: namespaces(7). */
	if (procfs_is_ours() != 1 ||
	    stat("/proc/self/ns/pid", &namespace) == -1) {
		if (!is_quiet)
			message("no process can be told: no /proc of this PID "
			        "namespace is mounted");
		return -1;
	}
	read_line("/etc/machine-id", machine);
	read_line("/proc/sys/kernel/random/boot_id", boot);
	(void)snprintf(host, REGISTRY_HOST_SIZE, "%s %s %" PRIu64, machine,
	               boot, (uint64_t) namespace.st_ino);
	return 0;
}

/* --- one entry ------------------------------------------------------------ */

static const char *
name_file(char file[FILE_SIZE], const char *id)
{
	(void)snprintf(file, FILE_SIZE, "%s" SUFFIX, id);
	return file;
}

/* COMMAND, one of F_OFD_GETLK, F_OFD_SETLK and F_OFD_SETLKW, for the lock on
 * the entry FD. Returns 0, or -1 with errno; in *TYPE F_UNLCK if F_OFD_GETLK
 * finds no lock. */
static int
do_lock(int fd, int command, short *type)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	const int result = fcntl(fd, command, &whole);

	*type = whole.l_type;
	return result;
}

int
registry_add(int directory_fd, const char *id, const struct strbuf *text)
{
	char file[FILE_SIZE];
	struct stat status = { .st_nlink = 0 };
	short type;
	int fd = -1;

	(void)name_file(file, id);
	/* Another wdrun may find the file before its lock, take it for what a
	 * killed front has left, and remove it. */
	while (status.st_nlink == 0) {
		const mode_t callers_mask = umask(0);

		fds_close(fd);
		fd = openat(directory_fd, file,
		            OPEN_FLAGS | O_CREAT | O_EXCL | O_APPEND,
		            ENTRY_MODE);
		(void)umask(callers_mask);
		if (fd == -1)
			return -1;
		if (do_lock(fd, F_OFD_SETLKW, &type) == -1 ||
		    fstat(fd, &status) == -1)
			break;
	}
	if (status.st_nlink > 0 &&
	    fds_write(fd, text->text, text->length, -1) == text->length)
		return fd;

	const int why = errno;

	(void)unlinkat(directory_fd, file, 0);
	(void)close(fd);
	errno = why;
	return -1;
}

int
registry_remove(int directory_fd, const char *id)
{
	char file[FILE_SIZE];

	return unlinkat(directory_fd, name_file(file, id), 0) == 0 ||
	               errno == ENOENT
	           ? 0
	           : -1;
}

/* --- all entries ---------------------------------------------------------- */

/* The start of a run, from the ID in FILE: "4711-18a0c5d2f3b1e2c4.run". */
static uint64_t
start_of(const char *file)
{
	return runid_length(file) == 0
	           ? 0
	           : strtoull(strchr(file, '-') + 1, NULL, 16);
}

static int
by_start(const struct dirent **left, const struct dirent **right)
{
	const uint64_t a = start_of((*left)->d_name);
	const uint64_t b = start_of((*right)->d_name);

	return a != b ? (a > b) - (a < b)
	              : strcmp((*left)->d_name, (*right)->d_name);
}

/* Network file systems have hidden files of their own. */
static int
is_visible(const struct dirent *file)
{
	return file->d_name[0] != '.';
}

int
registry_begin(struct registry_walk *walk, int directory_fd)
{
	char path[LINE_SIZE];

	walk->directory_fd = directory_fd;
	walk->fd = -1;
	(void)registry_read_host(walk->host, true);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", directory_fd);
	walk->count = scandir(path, &walk->files, is_visible, by_start);
	if (walk->count == -1)
		message("cannot read the registry: %s", strerror(errno));
	return walk->count == -1 ? -1 : 0;
}

static void
close_entry(struct registry_walk *walk)
{
	free(walk->text);
	walk->text = NULL;
	fds_close(walk->fd);
	walk->fd = -1;
}

void
registry_end(struct registry_walk *walk)
{
	close_entry(walk);
	for (int i = 0; i < walk->count; i++)
		free(walk->files[i]);
	free(walk->files);
}

bool
registry_is_held(const struct registry_walk *walk)
{
	short type;

	return do_lock(walk->fd, F_OFD_GETLK, &type) == 0 && type != F_UNLCK;
}

bool
registry_is_gone(const struct registry_walk *walk)
{
	struct stat status;

	return fstat(walk->fd, &status) == 0 && status.st_nlink == 0;
}

bool
registry_take(const struct registry_walk *walk)
{
	struct stat status;
	short type;

	return do_lock(walk->fd, F_OFD_SETLK, &type) == 0 &&
	       fstat(walk->fd, &status) == 0 && status.st_nlink > 0 &&
	       (size_t)status.st_size == walk->size;
}

/* Whether PID is a supervisor that is ending no run yet. */
static bool
is_at_work(pid_t pid)
{
	char path[LINE_SIZE];
	char line[LINE_SIZE];
	char start[LINE_SIZE];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	read_line(path, line);

	const int length =
	    snprintf(start, sizeof(start), "%d (" SUPERVISOR_NAME ") ", pid);

	return strncmp(line, start, (size_t)length) == 0 && line[length] != 'Z';
}

/* Whether the run was of this machine, which has been started anew since. */
static bool
is_before_boot(const struct registry_walk *walk)
{
	const char *const machine = walk->entry.host;
	const size_t to_boot = strcspn(machine, " ") + 1;
	const char *const boot = machine + to_boot;

	return *machine != '-' && strncmp(machine, walk->host, to_boot) == 0 &&
	       strncmp(boot, walk->host + to_boot, strcspn(boot, " ")) != 0;
}

/* The state of the run whose entry was read, and IS_HELD since. */
static enum run_state
find_state(const struct registry_walk *walk, bool is_held)
{
	const struct entry *const entry = &walk->entry;

	if (strcmp(entry->host, walk->host) != 0)
		return !is_held && is_before_boot(walk) ? RUN_ORPHANED
		                                        : RUN_ELSEWHERE;
	if (!is_held)
		return RUN_ORPHANED;
	if (entry->target == 0)
		return RUN_WAITING;
	return is_at_work(entry->supervisor.pid) ? RUN_RUNNING : RUN_STOPPING;
}

/* Opens and reads walk->file. Returns whether it is an entry's, of this user,
 * which nobody else can have written. */
static bool
read_file(struct registry_walk *walk)
{
	const size_t length = runid_length(walk->file);
	struct stat file;

	if (length == 0 || strcmp(walk->file + length, SUFFIX) != 0)
		return false;
	(void)snprintf(walk->id, sizeof(walk->id), "%.*s", (int)length,
	               walk->file);
	walk->fd = openat(walk->directory_fd, walk->file, OPEN_FLAGS);
	if (walk->fd == -1 || fstat(walk->fd, &file) == -1 ||
	    !S_ISREG(file.st_mode) || file.st_uid != geteuid() ||
	    (file.st_mode & (S_IWGRP | S_IWOTH)) != 0 ||
	    (size_t)file.st_size > ENTRY_SIZE_MAX)
		return false;
	if (walk->skips_held && registry_is_held(walk))
		return true;
	/* The target may append meanwhile: not more than was there. */
	walk->text = malloc((size_t)file.st_size + 1);
	if (walk->text == NULL)
		return false;

	const ssize_t size = read(walk->fd, walk->text, (size_t)file.st_size);

	walk->size = size > 0 ? (size_t)size : 0;
	walk->text[walk->size] = '\0';
	return size != -1 && strlen(walk->text) == walk->size;
}

/* Looks at walk->file. Returns whether there is something to tell. */
static bool
look(struct registry_walk *walk)
{
	errno = 0;
	walk->state = RUN_UNKNOWN;
	if (!read_file(walk))
		return errno != ENOENT;
	/* Tested after the entry was read: a run that has ended since is seen
	 * to be gone, and one that has begun since as unfinished. */
	const bool is_held = registry_is_held(walk);

	if (walk->text == NULL || registry_is_gone(walk))
		return false;
	if (entry_parse(walk->text, &walk->entry) == 0)
		walk->state = find_state(walk, is_held);
	else if (errno == ENODATA && !is_held)
		walk->state = RUN_UNFINISHED;
	else
		return errno != ENODATA;
	return true;
}

bool
registry_next(struct registry_walk *walk)
{
	bool is_found = false;

	while (!is_found && walk->next < walk->count) {
		close_entry(walk);
		walk->file = walk->files[walk->next++]->d_name;
		is_found = look(walk);
	}
	return is_found;
}

const char *
registry_state_name(enum run_state state)
{
	static const char *const names[] = {
		[RUN_WAITING] = "waiting",     [RUN_RUNNING] = "running",
		[RUN_STOPPING] = "stopping",   [RUN_ORPHANED] = "orphaned",
		[RUN_ELSEWHERE] = "elsewhere",
	};

	return names[state];
}
