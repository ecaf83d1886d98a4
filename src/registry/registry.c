/* The registry's directory, and the files that come and go in it. */
#include "registry/registry.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/atomicfile.h"
#include "base/duration.h"
#include "base/fds.h"
#include "base/message.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "proc/procfs.h"
#include "registry/entry.h"
#include "registry/host.h"

#define RECORD_SUFFIX     ".run"
#define UNFINISHED_SUFFIX ".new"
#define UNFINISHED_AGE    (60 * SECOND) /* no entry takes so long to write */

#define DIRECTORY_MODE S_IRWXU
#define ENTRY_MODE     (S_IRUSR | S_IWUSR)

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

/* Appends the path of the registry to LINE. Returns 0, or -1 after a message.
 */
static int
find_directory(struct strbuf *line, const char *given)
{
	const char *const state = read_variable("XDG_STATE_HOME");
	const char *const home = read_variable("HOME");

	if (given == NULL)
		given = read_variable("WDRUN_REGISTRY");
	if (given != NULL) {
		strbuf_addf(line, "%s", given);
	} else if (state != NULL && *state == '/') {
		/* XDG Base Directory Specification: a relative path is to be
		 * ignored. */
		strbuf_addf(line, "%s/wdrun", state);
	} else if (home != NULL) {
		strbuf_addf(line, "%s/.local/state/wdrun", home);
	} else {
		message("no registry: --registry, $WDRUN_REGISTRY, "
		        "$XDG_STATE_HOME and $HOME are all missing");
		return -1;
	}
	if (!line->is_cut)
		return 0;
	message("registry: the path is too long");
	return -1;
}

/* Makes the directory PATH, which is changed meanwhile, and its parents.
 * Returns 0, or -1 with errno. */
static int
make_directory(char *path)
{
	const mode_t callers_mask = umask(0);
	char *at = path;
	int why = 0;

	while (*at != '\0' && why == 0) {
		at++;
		at += strcspn(at, "/");

		const char here = *at;

		*at = '\0';
		if (mkdir(path, DIRECTORY_MODE) == -1 && errno != EEXIST)
			why = errno;
		*at = here;
	}
	(void)umask(callers_mask);
	errno = why;
	return why == 0 ? 0 : -1;
}

/* Whether the open directory FD belongs to this user, and no other can write
 * it. If not, says what is wrong. */
static bool
is_private(int fd, const char *path)
{
	struct stat directory;

	if (fstat(fd, &directory) == -1) {
		message("registry '%s': %s", path, strerror(errno));
		return false;
	}
	if (directory.st_uid != geteuid()) {
		message("registry '%s' belongs to user %u, not to %u", path,
		        directory.st_uid, geteuid());
		return false;
	}
	if ((directory.st_mode & REGISTRY_FORBIDDEN) != 0) {
		message("registry '%s' can be written by others (chmod go-w)",
		        path);
		return false;
	}
	return true;
}

int
registry_open(const char *given, bool to_make)
{
	char path[PATH_MAX];
	struct strbuf line = { .text = path, .size = sizeof(path) };

	if (find_directory(&line, given) == -1) {
		errno = 0;
		return -1;
	}

	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	int fd = open(path, flags);

	if (fd == -1 && errno == ENOENT) {
		if (!to_make)
			return -1;
		if (make_directory(path) == 0)
			fd = open(path, flags);
	}
	if (fd == -1) {
		message("registry '%s': %s", path, strerror(errno));
	} else if (!is_private(fd, path)) {
		(void)close(fd);
		fd = -1;
	}
	errno = 0;
	return fd;
}

/* --- one file ------------------------------------------------------------- */

const char *
registry_name_file(char file[REGISTRY_FILE_SIZE], const char *id)
{
	(void)strbuf_format(file, REGISTRY_FILE_SIZE, "%s" RECORD_SUFFIX, id);
	return file;
}

/* The name of an entry that is being written, which registry_list() does not
 * take for a record's. It says where the front in ID has its PID. */
static const char *
name_unfinished(char file[REGISTRY_FILE_SIZE], const char *id,
                const char *boot_id, uint64_t pid_namespace)
{
	(void)strbuf_format(file, REGISTRY_FILE_SIZE,
	                    ".%s.%s.%" PRIu64 UNFINISHED_SUFFIX, id, boot_id,
	                    pid_namespace);
	return file;
}

int
registry_add(int directory_fd, const struct entry *entry, char *const command[])
{
	char text[ENTRY_TEXT_MAX];
	char file[REGISTRY_FILE_SIZE];
	char unfinished[REGISTRY_FILE_SIZE];
	struct strbuf line = { .text = text, .size = sizeof(text) };
	const struct atomicfile whole = {
		.directory_fd = directory_fd,
		.file = registry_name_file(file, entry->id),
		.unfinished = name_unfinished(
		    unfinished, entry->id, entry->boot, entry->pid_namespace),
		.mode = ENTRY_MODE,
		/* Under "umask 777" the owner could not read it. */
		.is_exact = true,
	};

	if (entry_format(&line, entry, command) == -1)
		return -1;
	return atomicfile_write(&whole, &line);
}

int
registry_remove(int directory_fd, const char *id)
{
	char file[REGISTRY_FILE_SIZE];
	struct host host;

	if (unlinkat(directory_fd, registry_name_file(file, id), 0) == 0)
		return 0;
	if (errno != ENOENT)
		return -1;
	if (host_read(&host) == NULL)
		(void)unlinkat(
		    directory_fd,
		    name_unfinished(file, id, host.boot_id, host.pid_namespace),
		    0);
	return 0;
}

/* --- all files ------------------------------------------------------------ */

/* Returns 0, or -1 with errno. */
static int
add_name(struct registry_names *names, const char *file)
{
	void *const files =
	    array_grow(names->files, names->count, &names->capacity,
	               sizeof(names->files[0]));

	if (files == NULL)
		return -1;
	names->files = files;
	(void)strbuf_format(names->files[names->count++], REGISTRY_FILE_SIZE,
	                    "%s", file);
	return 0;
}

static bool
ends_with(const char *file, const char *suffix)
{
	const size_t length = strlen(file);
	const size_t suffix_length = strlen(suffix);

	return length > suffix_length &&
	       strcmp(file + length - suffix_length, suffix) == 0;
}

struct reading {
	const char *suffix;
	struct registry_names *names;
};

static int
visit_name(const char *name, void *context)
{
	const struct reading *const reading = context;

	return ends_with(name, reading->suffix) ? add_name(reading->names, name)
	                                        : 0;
}

/* Reads into NAMES the names in the directory that end with SUFFIX. Returns 0,
 * or -1 with errno. */
static int
read_names(int directory_fd, const char *suffix, struct registry_names *names)
{
	struct reading reading = { suffix, names };
	/* A file description of its own: the position in it is not shared with
	 * other processes. */
	const int fd =
	    openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd == -1)
		return -1;

	const int result = names_read(fd, visit_name, &reading);

	fds_close(fd);
	return result;
}

/* The start of a run, as its ID in the name FILE tells it:
 * "4711-18a0c5d2f3b1e2c4.run". */
static uint64_t
start_of(const char *file)
{
	const char *const start = strchr(file, '-');

	return start == NULL ? 0 : strtoull(start + 1, NULL, 16);
}

static int
by_start(const void *left, const void *right)
{
	const uint64_t a = start_of(left);
	const uint64_t b = start_of(right);

	return a != b ? (a > b) - (a < b) : strcmp(left, right);
}

int
registry_list(int directory_fd, struct registry_names *names)
{
	const int result = read_names(directory_fd, RECORD_SUFFIX, names);

	if (names->count > 1)
		qsort(names->files, names->count, sizeof(names->files[0]),
		      by_start);
	return result;
}

static bool
is_dead(pid_t pid)
{
	struct procfs_stat stat;

	if (procfs_read_stat(pid, &stat) == 0)
		return procfs_is_dead(&stat);
	return kill(pid, 0) == -1 && errno == ESRCH;
}

/*
 * Whether the front whose PID begins FILE, the name of an unfinished entry, is
 * dead, and the writer of FILE with it. If FILE does not end with the SUFFIX of
 * this place, its front may be alive although no process here has the PID; but
 * its writer needs less than UNFINISHED_AGE.
 */
static bool
is_abandoned(int directory_fd, const char *file, const char *suffix)
{
	char *end;
	const long front = strtol(file + 1, &end, 10);
	struct stat unfinished;

	return *end == '-' && front > 0 &&
	       fstatat(directory_fd, file, &unfinished, AT_SYMLINK_NOFOLLOW) ==
	           0 &&
	       (ends_with(file, suffix) ||
	        unfinished.st_mtim.tv_sec <
	            (duration_since_epoch() - UNFINISHED_AGE) / SECOND) &&
	       is_dead((pid_t)front);
}

void
registry_tidy(int directory_fd)
{
	struct registry_names names = { .files = NULL };
	char file[REGISTRY_FILE_SIZE];
	struct host host;

	(void)read_names(directory_fd, UNFINISHED_SUFFIX, &names);
	if (names.count == 0)
		return;
	(void)host_read(&host);

	/* Behind an ID. */
	const char *const suffix =
	    name_unfinished(file, "", host.boot_id, host.pid_namespace) + 1;

	for (size_t i = 0; i < names.count; i++) {
		if (is_abandoned(directory_fd, names.files[i], suffix))
			(void)unlinkat(directory_fd, names.files[i], 0);
	}
	array_free(names.files, names.capacity * sizeof(names.files[0]));
}
