/* The registry's directory, and the files that come and go in it. */
#include "registry/registry.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/fds.h"
#include "base/fileinfo.h"
#include "base/message.h"
#include "base/names.h"
#include "base/pathat.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "proc/pidfd.h"
#include "proc/runid.h"
#include "registry/entry.h"
#include "registry/host.h"

#define RECORD_SUFFIX     ".run"
#define UNFINISHED_SUFFIX ".new"
#define UNFINISHED_AGE    (60 * SECOND) /* no entry takes so long to write */

#define ENTRY_MODE (S_IRUSR | S_IWUSR)

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

/* For root: whether DIRECTORY, from the environment, which sudo(8) may keep, is
 * another user's, or would be made in another user's. */
static bool
is_anothers(const char *directory)
{
	char path[PATH_MAX];
	struct stat file = { .st_uid = 0 };
	char *end;

	if (geteuid() != 0 || directory == NULL)
		return false;
	(void)strbuf_format(path, sizeof(path), "%s", directory);
	while (stat(path, &file) == -1 && errno == ENOENT &&
	       (end = strrchr(path, '/')) != NULL)
		*end = '\0';
	return file.st_uid != 0;
}

int
registry_find(struct strbuf *line, const char *given)
{
	const char *state = read_variable("XDG_STATE_HOME");
	const char *const home = read_variable("HOME");

	/* XDG Base Directory Specification: a relative path is ignored. */
	if (state != NULL && *state != '/')
		state = NULL;
	if (given == NULL)
		given = read_variable("WDRUN_REGISTRY");
	if (given != NULL) {
		strbuf_addf(line, "%s", given);
	} else if (state == NULL && home == NULL) {
		message("no registry: --registry, $WDRUN_REGISTRY, "
		        "$XDG_STATE_HOME and $HOME are all missing");
		return -1;
	} else if (state == NULL && *home != '/') {
		message("no registry: $HOME '%s' is not an absolute path: use "
		        "--registry",
		        home);
		return -1;
	} else if (is_anothers(state) || is_anothers(home)) {
		message("no registry: '%s' belongs to another user, not to "
		        "root: use --registry",
		        is_anothers(state) ? state : home);
		return -1;
	} else if (state != NULL) {
		strbuf_addf(line, "%s/wdrun", state);
	} else {
		strbuf_addf(line, "%s/.local/state/wdrun", home);
	}
	return 0;
}

/* Whether NAME is an entry's. */
static bool
is_entry(const char *name)
{
	const size_t length = runid_length(name);

	return length > 0 && strcmp(name + length, RECORD_SUFFIX) == 0;
}

/* Whether NAME is an unfinished entry's: see name_unfinished(). */
static bool
is_unfinished(const char *name)
{
	const size_t length = *name == '.' ? runid_length(name + 1) : 0;
	const char *const place = name + 1 + length;

	return length > 0 && strcmp(place + strspn(place, "0123456789abcdef-."),
	                            &UNFINISHED_SUFFIX[1]) == 0;
}

/* Ends the visit, with NAME in CONTEXT, if NAME is neither an entry's nor
 * hidden: network file systems have hidden files of their own. */
static int
find_stranger(const char *name, void *context)
{
	if (*name == '.' || is_entry(name))
		return 0;
	(void)strbuf_format(context, REGISTRY_FILE_SIZE, "%s", name);
	errno = 0;
	return -1;
}

/* Whether the open directory FD is a registry: it belongs to this user, no
 * other user can write it, and only entries are in it. If not, prints why. */
static bool
is_registry(int fd, const char *path)
{
	char stranger[REGISTRY_FILE_SIZE] = "";
	struct stat directory;

	if (fstat(fd, &directory) == -1)
		message("registry '%s': %s", path, strerror(errno));
	else if (directory.st_uid != geteuid())
		message("registry '%s' belongs to user %u, not to %u", path,
		        directory.st_uid, geteuid());
	else if ((directory.st_mode & REGISTRY_FORBIDDEN) != 0)
		message("registry '%s' can be written by others (chmod go-w)",
		        path);
	else if (names_read(fd, find_stranger, stranger) == -1 &&
	         *stranger != '\0')
		message("registry '%s' holds '%s', which is not an entry: use "
		        "an empty directory",
		        path, stranger);
	else
		return true;
	return false;
}

/* Opens the directory PATH; makes it if TO_MAKE. Returns a descriptor, or -1
 * with errno of pathat_open. */
static int
open_directory(const char *path, bool to_make)
{
	const mode_t callers_mask = umask(0);
	struct pathat at;
	int fd =
	    pathat_open(&at, path, to_make ? PATHAT_MAKE : PATHAT_MUST_EXIST);

	(void)umask(callers_mask);
	if (fd != -1)
		fd = openat(at.directory_fd, ".",
		            O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pathat_close(&at);
	return fd;
}

int
registry_open(const char *given, bool to_make)
{
	char path[PATH_MAX];
	struct strbuf line = { .text = path, .size = sizeof(path) };
	int fd = -1;

	if (registry_find(&line, given) == -1) {
		errno = 0;
		return -1;
	}

	const size_t length = line.length;

	/* With this name, pathat_open() opens PATH, and not its parent. */
	strbuf_addf(&line, "/.");
	errno = ENAMETOOLONG;
	if (!line.is_cut)
		fd = open_directory(path, to_make);
	path[length] = '\0';
	if (fd == -1 && errno == ENOENT && !to_make)
		return -1;
	if (fd == -1) {
		message("registry '%s': %s", path, pathat_error(errno));
	} else if (!is_registry(fd, path)) {
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

/* The name of an unfinished entry, which registry_list() leaves out. The PID in
 * ID is the front's only in this boot and PID namespace. */
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
	const struct replacement whole = {
		.directory_fd = directory_fd,
		.file = registry_name_file(file, entry->id),
		.unfinished = name_unfinished(
		    unfinished, entry->id, entry->boot, entry->pid_namespace),
		.mode = ENTRY_MODE,
		/* Under "umask 777" the owner could not read the entry. */
		.is_exact = true,
	};

	if (entry_format(&line, entry, command) == -1)
		return -1;
	return fds_replace(&whole, line.text, line.length);
}

int
registry_remove(int directory_fd, const char *id)
{
	char file[REGISTRY_FILE_SIZE];
	struct host host;

	/* A run that has waited for a lock may have both. */
	if (host_read(&host) == NULL)
		(void)unlinkat(
		    directory_fd,
		    name_unfinished(file, id, host.boot_id, host.pid_namespace),
		    0);
	return unlinkat(directory_fd, registry_name_file(file, id), 0) == 0 ||
	               errno == ENOENT
	           ? 0
	           : -1;
}

/* --- all files ------------------------------------------------------------ */

/* Calls VISIT for each name in the directory. VISIT may remove the file.
 * Returns 0, or -1 with errno. */
static int
visit_files(int directory_fd, names_visit *visit, void *context)
{
	/* An open file description of its own: other processes may share the
	 * file offset of DIRECTORY_FD. */
	const int fd =
	    openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd == -1)
		return -1;

	const int result = names_read(fd, visit, context);

	fds_close(fd);
	return result;
}

/* Adds FILE to the names in CONTEXT, if FILE is an entry's. */
static int
add_record(const char *file, void *context)
{
	struct registry_names *const names = context;

	if (!is_entry(file))
		return 0;

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

/* The start of a run, from the ID in FILE: "4711-18a0c5d2f3b1e2c4.run". */
static uint64_t
start_of(const char *file)
{
	const char *const start = strchr(file, '-');

	return start == NULL ? 0 : text_number(start + 1, HEXADECIMAL);
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
	const int result = visit_files(directory_fd, add_record, names);

	if (names->count > 1)
		array_sort(names->files, names->count, sizeof(names->files[0]),
		           by_start);
	return result;
}

/* Removes FILE, if it is an unfinished entry and its front, whose PID is in the
 * name, is dead. With another boot or PID namespace in the name, the PID means
 * another process: then FILE has to be older than UNFINISHED_AGE too. */
static int
remove_abandoned(const char *file, void *context)
{
	const int directory_fd = *(const int *)context;
	char name[REGISTRY_FILE_SIZE];
	struct host host;
	struct fileinfo status;
	const pid_t front = (pid_t)text_number(file + 1, DECIMAL);

	if (!is_unfinished(file) || front <= 0 ||
	    fileinfo_at(directory_fd, file, &status) == -1 ||
	    !S_ISREG(status.mode) || status.owner != geteuid() ||
	    !pid_is_dead(front))
		return 0;
	(void)host_read(&host);

	/* What follows the ID in the names of this boot and PID namespace. */
	const char *const suffix =
	    name_unfinished(name, "", host.boot_id, host.pid_namespace) + 1;

	if (strcmp(file + 1 + runid_length(file + 1), suffix) == 0 ||
	    status.modified < duration_since_epoch() - UNFINISHED_AGE)
		(void)unlinkat(directory_fd, file, 0);
	return 0;
}

void
registry_tidy(int directory_fd)
{
	(void)visit_files(directory_fd, remove_abandoned, &directory_fd);
}
