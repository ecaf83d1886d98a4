/* The directory of the registry, the entries in it, and their text. */
#include "registry/registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/message.h"

#define VERSION   "wdrun 4" /* the first line of an entry */
#define SUFFIX    ".run"
#define FILE_SIZE (RUNID_SIZE + sizeof(SUFFIX))
#define WORD_SIZE 64 /* of a boot's or machine's ID */
#define FILE_LINE "file %" PRId64 " %" PRIu64 " %s%c"

/* --- the text of an entry ------------------------------------------------- */

/* Numbers are not checked: only this user can have written them. */
static void
read_line(char *line, struct entry *entry)
{
	char *value = line;

	(void)strsep(&value, " ");
	if (value == NULL)
		return;

	const char *const path = strchr(value, '/');
	struct procid *const process =
	    *line == 'f' ? &entry->front : &entry->supervisor;

	if (strcmp(line, "host") == 0)
		entry->host = value;
	else if (strcmp(line, "name") == 0)
		entry->name = value;
	else if (strcmp(line, "keep") == 0)
		entry->keep = value;
	else if (strcmp(line, "file") == 0 && path != NULL &&
	         entry->file_count < ENTRY_FILES_MAX) {
		struct cleanup *const file = &entry->files[entry->file_count++];

		*file = (struct cleanup){ .path = path, .claim_fd = -1 };
		/* NOLINTNEXTLINE(cert-err34-c) */
		(void)sscanf(value, "%" SCNd64 " %" SCNu64, &file->before,
		             &file->inode);
	} else if (strcmp(line, "arg") == 0 && entry->command == NULL)
		entry->command = value;
	else if (strcmp(line, "front") == 0 || strcmp(line, "supervisor") == 0)
		/* A supervisor's has no --kill-after.
		 * NOLINTNEXTLINE(cert-err34-c) */
		(void)sscanf(value, "%d %" SCNu64 " %" SCNd64 " %" SCNd64,
		             &process->pid, &process->start, &entry->until,
		             &entry->kill_after);
}

bool
entry_parse(char *text, size_t size, struct entry *entry)
{
	const char *const end = text + size;
	char *next;

	*entry = (struct entry){ .name = NULL };
	if (strcmp(text, VERSION) != 0)
		return false;
	/* The writer's death, or a full disk, may cut off the last line. */
	for (char *line = text; (next = line + strlen(line) + 1) <= end;
	     line = next)
		read_line(line, entry);
	return entry->front.pid > 0 && entry->host != NULL &&
	       entry->command != NULL;
}

const char *
entry_next_word(const char *word)
{
	static const char key[] = "arg"; /* a null byte is behind it now */

	word += strlen(word) + 1;
	return strcmp(word, key) == 0 ? word + sizeof(key) : NULL;
}

/* Returns GIVEN, a --registry, or $WDRUN_REGISTRY, or NULL without the two. */
static const char *
named(const char *given)
{
	const char *const value = getenv("WDRUN_REGISTRY");

	return given == NULL && value != NULL && *value != '\0' ? value : given;
}

/* Whether the last directory of PATH that exists, or that of all, is root's. */
static bool
is_roots(const char *path)
{
	struct stat directory = { .st_uid = 0 };
	char text[PATH_MAX];
	char *end;

	(void)snprintf(text, sizeof(text), "%s", path);
	while (stat(text, &directory) == -1 &&
	       (end = strrchr(text, '/')) != NULL)
		*end = '\0';
	return directory.st_uid == 0;
}

/* Writes the registry's name into PATH. Returns 0; or -1 as open_registry(). */
static int
find(const char *given, char path[PATH_MAX])
{
	const char *base = getenv("XDG_STATE_HOME");
	const char *end = "/wdrun";

	given = named(given);
	/* XDG Base Directory Specification: a relative path is ignored. */
	if (base == NULL || *base != '/') {
		base = getenv("HOME");
		end = "/.local/state/wdrun";
	}
	if (given != NULL) {
		base = given;
		end = "";
	} else if (base == NULL || *base != '/' ||
	           /* In a home that sudo(8) has kept, root makes nothing. */
	           (geteuid() == 0 && !is_roots(base))) {
		message("no registry: $XDG_STATE_HOME or $HOME has to be an "
		        "absolute path and, for root, root's: use --registry");
		errno = 0;
		return -1;
	}
	(void)snprintf(path, PATH_MAX, "%s%s", base, end);
	return 0;
}

/* Opens the registry of GIVEN, a --registry or NULL, and stores its name in
 * PATH. Makes it if TO_MAKE. Nobody else may write there, who could name any
 * process and file. Returns a descriptor; or -1 with errno: ENOENT where it is
 * missing, or 0 after a message. */
static int
open_registry(const char *given, bool to_make, char path[PATH_MAX])
{
	char slashed[PATH_MAX + 2]; /* so that nothing is cut off */
	struct stat directory;

	if (find(given, path) == -1)
		return -1;
	(void)snprintf(slashed, sizeof(slashed), "%s/", path);
	for (char *at = slashed; to_make && (at = strchr(at + 1, '/')) != NULL;
	     *at = '/') {
		*at = '\0';
		(void)mkdir(slashed, S_IRWXU); /* else open(2) fails */
	}

	const int fd = open(slashed, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* By the dot: it fails where the directory may not be searched. */
	const bool is_there = fd != -1 && fstatat(fd, ".", &directory, 0) == 0;

	if (fd == -1 && errno == ENOENT && !to_make)
		return -1;
	if (is_there && directory.st_uid == geteuid() &&
	    (directory.st_mode & (S_IWGRP | S_IWOTH)) == 0)
		return fd;
	message("registry '%s': %s", path,
	        is_there ? "it has to belong to this user, and be writable by "
	                   "no other (chmod go-w)"
	                 : strerror(errno));
	fds_close(fd);
	errno = 0;
	return -1;
}

/* --- where the PIDs mean something ---------------------------------------- */

/* Reads the first word of the file PATH; "-" if that fails. */
static void
read_word(const char *path, char word[WORD_SIZE])
{
	FILE *const file = fopen(path, "re");

	if (file == NULL || fscanf(file, "%63s", word) != 1)
		(void)snprintf(word, WORD_SIZE, "-");
	if (file != NULL)
		(void)fclose(file);
}

/* Writes into HOST what tells this machine, boot and PID namespace from others.
 * Returns 0; or -1 after a message, with errno 0, where /proc is another's. */
static int
read_host(char host[REGISTRY_HOST_SIZE])
{
	char machine[WORD_SIZE];
	char boot[WORD_SIZE];
	struct stat namespace;

	/* stat(2) follows the link to the namespace: namespaces(7). */
	if (procfs_self() != getpid() ||
	    stat("/proc/self/ns/pid", &namespace) == -1) {
		message("registry: no process can be told: no /proc of this "
		        "PID namespace is mounted");
		errno = 0;
		return -1;
	}
	read_word("/etc/machine-id", machine);
	read_word("/proc/sys/kernel/random/boot_id", boot);
	(void)snprintf(host, REGISTRY_HOST_SIZE, "%s %s %" PRIu64, machine,
	               boot, (uint64_t) namespace.st_ino);
	return 0;
}

/* --- one entry ------------------------------------------------------------ */

/* Whether the entry FD is locked after COMMAND, F_OFD_SETLK or its like. */
static bool
lock(int fd, int command)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, command, &whole) == 0 && whole.l_type != F_UNLCK;
}

/* Appends TEXT to the entry FD, and frees it. Returns 0, or -1 with errno. */
static int
append(int fd, struct strbuf *text)
{
	const bool is_written = !text->is_cut && /* else errno is ENOMEM */
	                        fds_write(fd, text->text, text->length, -1);

	free(text->text); /* keeps errno */
	return is_written ? 0 : -1;
}

/* Makes the entry FILE, locked. Returns its descriptor, or -1 with errno. */
static int
make_entry(int directory_fd, const char *file)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC;
	struct stat status = { .st_nlink = 0 };
	int fd;

	while ((fd = openat(directory_fd, file, flags, 0600)) != -1) {
		if (!lock(fd, F_OFD_SETLKW) || fstat(fd, &status) == -1) {
			(void)unlinkat(directory_fd, file, 0);
			fds_close(fd);
			return -1;
		}
		if (status.st_nlink > 0)
			break;
		/* Another wdrun found it before its lock, and removed it. */
		fds_close(fd);
	}
	return fd;
}

bool
record_is_wanted(const struct options *options)
{
	return options->name != NULL || named(options->registry) != NULL;
}

int
record_begin(struct record *record, const struct options *options,
             const char *id, int64_t now)
{
	char path[PATH_MAX];
	char file[FILE_SIZE];
	char host[REGISTRY_HOST_SIZE];
	struct strbuf text = { .grows = true };
	struct procid front;

	record->directory_fd = open_registry(options->registry, true, path);
	if (record->directory_fd == -1 || read_host(host) == -1)
		return -1;
	(void)snprintf(file, sizeof(file), "%s" SUFFIX, id);
	record->fd = make_entry(record->directory_fd, file);
	if (record->fd != -1 && procid_read(getpid(), &front) == 0) {
		strbuf_addf(&text, VERSION "%chost %s%c", '\0', host, '\0');
		if (options->name != NULL)
			strbuf_addf(&text, "name %s%c", options->name, '\0');
		if (options->keep != NULL)
			strbuf_addf(&text, "keep %s%c",
			            strchr(options->keep, '=') + 1, '\0');
		for (size_t i = 0; i < options->locks.count; i++)
			strbuf_addf(&text, FILE_LINE, CLEANUP_UNKNOWN,
			            UINT64_C(0), options->locks.paths[i], '\0');
		for (char **word = options->command; *word != NULL; word++)
			strbuf_addf(&text, "arg %s%c", *word, '\0');
		strbuf_addf(&text,
		            "front %d %" PRIu64 " %" PRId64 " %" PRId64 "%c",
		            front.pid, front.start,
		            duration_add(now, options->lock_wait),
		            options->kill_after, '\0');
		if (append(record->fd, &text) == 0)
			return 0;
	}
	message("cannot put the run on record: %s", strerror(errno));
	record_end(record, id);
	return -1;
}

int
record_start(const struct record *record, const struct cleanup cleanups[],
             size_t count, int64_t until)
{
	struct strbuf text = { .grows = true };
	struct procid supervisor;

	if (record->fd == -1)
		return 0;
	if (procid_read(getppid(), &supervisor) == -1)
		return -1;
	for (size_t i = 0; i < count; i++)
		strbuf_addf(&text, FILE_LINE, cleanups[i].before,
		            cleanups[i].inode, cleanups[i].path, '\0');
	strbuf_addf(&text, "supervisor %d %" PRIu64 " %" PRId64 "%c",
	            supervisor.pid, supervisor.start, until, '\0');
	return append(record->fd, &text);
}

void
record_end(const struct record *record, const char *id)
{
	if (record->fd != -1 && registry_remove(record->directory_fd, id) == -1)
		message("the registry: cannot remove the entry of run %s: %s",
		        id, strerror(errno));
}

int
registry_remove(int directory_fd, const char *id)
{
	char file[FILE_SIZE];

	(void)snprintf(file, sizeof(file), "%s" SUFFIX, id);
	return unlinkat(directory_fd, file, 0) == 0 || errno == ENOENT ? 0 : -1;
}

/* --- all entries ---------------------------------------------------------- */

/* By the start, in hexadecimal: "4711-18a0c5d2f3b1e2c4.run". */
static int
by_start(const struct dirent **left, const struct dirent **right)
{
	return strcmp(strchrnul((*left)->d_name, '-'),
	              strchrnul((*right)->d_name, '-'));
}

void
registry_begin(struct registry_walk *walk, const char *given)
{
	walk->fd = -1;
	walk->directory_fd = open_registry(given, false, walk->path);
	walk->is_read = walk->directory_fd == -1 && errno == ENOENT;
	if (walk->directory_fd == -1 || read_host(walk->host) == -1)
		return;
	walk->count = scandir(walk->path, &walk->files, NULL, by_start);
	walk->is_read = walk->count >= 0;
	if (!walk->is_read)
		message("registry '%s': %s", walk->path, strerror(errno));
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
	fds_close(walk->directory_fd);
}

bool
registry_is_held(const struct registry_walk *walk)
{
	return lock(walk->fd, F_OFD_GETLK);
}

bool
registry_take(const struct registry_walk *walk)
{
	struct stat status;

	return lock(walk->fd, F_OFD_SETLK) && fstat(walk->fd, &status) == 0 &&
	       status.st_nlink > 0 && (size_t)status.st_size == walk->size;
}

/* Fills in the state of the run, whose entry IS_HELD or not since it was read.
 * The supervisor's name tells whether a stop has begun. */
static void
find_state(struct registry_walk *walk, bool is_held)
{
	const struct entry *const entry = &walk->entry;
	const char *const here = walk->host;
	const size_t machine = strcspn(here, " ") + 1;
	const size_t boot = machine + strcspn(here + machine, " ") + 1;
	const bool is_before_boot = *here != '-' &&
	                            strncmp(entry->host, here, machine) == 0 &&
	                            strncmp(entry->host, here, boot) != 0;
	const pid_t supervisor = entry->supervisor.pid;
	struct procstat stat;
	char name[WORD_SIZE] = ""; /* of the supervisor, if alive */

	if (procstat_read_status(supervisor, &stat) == 0 && !stat.is_dead)
		(void)procfs_read(supervisor, "comm", name, sizeof(name));
	walk->is_elsewhere = strcmp(entry->host, here) != 0;
	walk->is_orphaned = !is_held && (!walk->is_elsewhere || is_before_boot);
	walk->state = walk->is_orphaned                            ? "orphaned"
	              : walk->is_elsewhere                         ? "elsewhere"
	              : supervisor == 0                            ? "waiting"
	              : strcmp(name, SUPERVISOR_NAME "\n") == 0    ? "running"
	              : strcmp(name, SUPERVISOR_STOPPED "\n") == 0 ? "stopped"
	                                                           : "stopping";
}

/* Reads walk->file, if that is a file of this user. Returns whether it was. */
static bool
read_entry(struct registry_walk *walk)
{
	struct stat status;
	int length = 0;

	(void)sscanf(walk->file, "%*[0-9]-%*[0-9a-f]%n", &length);
	if (length == 0 || length >= RUNID_SIZE ||
	    strcmp(walk->file + length, SUFFIX) != 0 ||
	    fstatat(walk->directory_fd, walk->file, &status,
	            AT_SYMLINK_NOFOLLOW) == -1 ||
	    !S_ISREG(status.st_mode) || status.st_uid != geteuid())
		return false;
	(void)snprintf(walk->id, sizeof(walk->id), "%.*s", length, walk->file);
	walk->started_at = strtoll(strchr(walk->id, '-') + 1, NULL, 16);
	/* The target may append meanwhile: not more than is there now. */
	walk->size = (size_t)status.st_size;
	walk->text = calloc(1, walk->size + 1);
	walk->fd = openat(walk->directory_fd, walk->file,
	                  O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (walk->text != NULL && walk->fd != -1 &&
	    read(walk->fd, walk->text, walk->size) == (ssize_t)walk->size)
		return true;
	if (errno != ENOENT) {
		walk->is_read = false;
		message("registry: cannot read '%s': %s", walk->file,
		        strerror(errno));
	}
	return false;
}

/* Reads the run of walk->file. Returns whether there is a run. */
static bool
read_run(struct registry_walk *walk)
{
	struct stat status;

	if (!read_entry(walk))
		return false;

	/* Tested after the entry was read. Before: a run that begins in between
	 * would be read whole, but seem unlocked, that is orphaned. */
	const bool is_held = registry_is_held(walk);

	if (fstat(walk->fd, &status) == -1 || status.st_nlink == 0)
		return false;
	if (entry_parse(walk->text, walk->size, &walk->entry)) {
		find_state(walk, is_held);
		return true;
	}
	/* What a front has left that was killed before it wrote. */
	if (walk->size == 0 && registry_take(walk))
		(void)registry_remove(walk->directory_fd, walk->id);
	else if (walk->tells_all && !is_held &&
	         strncmp(walk->text, VERSION, strlen("wdrun")) == 0)
		message("registry: '%s/%s' was not written to its end, or by "
		        "another version of wdrun: rm it",
		        walk->path, walk->file);
	return false;
}

bool
registry_next(struct registry_walk *walk)
{
	while (walk->next < walk->count) {
		close_entry(walk);
		walk->file = walk->files[walk->next++]->d_name;
		if (read_run(walk))
			return true;
	}
	return false;
}
