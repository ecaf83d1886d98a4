/* The registry's directory, and the files that come and go in it. */
#include "registry.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"
#include "wholefile.h"

#define FILE_NAME_SIZE 128 /* holds an ID, and what is put around it */

#define DIRECTORY_MODE S_IRWXU
#define ENTRY_MODE     (S_IRUSR | S_IWUSR)

/* --- the directory -------------------------------------------------------- */

/* The value of VARIABLE, or NULL where that is empty as well. */
static const char *
variable(const char *name)
{
	const char *const value = getenv(name);

	return value == NULL || *value == '\0' ? NULL : value;
}

bool
registry_is_wanted(void)
{
	return variable("WDRUN_REGISTRY") != NULL;
}

/* Writes to LINE where the registry is. */
static int
find_directory(struct line *line, const char *given)
{
	const char *const state = variable("XDG_STATE_HOME");
	const char *const home = variable("HOME");

	if (given == NULL)
		given = variable("WDRUN_REGISTRY");
	if (given != NULL) {
		line_add(line, "%s", given);
	} else if (state != NULL && *state == '/') {
		/* The XDG Base Directory Specification: what is relative is
		 * to be ignored. */
		line_add(line, "%s/wdrun", state);
	} else if (home != NULL) {
		line_add(line, "%s/.local/state/wdrun", home);
	} else {
		message("no registry: --registry, $WDRUN_REGISTRY, "
		        "$XDG_STATE_HOME and $HOME are all missing");
		return -1;
	}
	if (line->length + 1 < line->size)
		return 0;
	message("registry: the path is too long");
	return -1;
}

/* Makes the directory PATH, which is changed meanwhile, and those above. */
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

/* Whether the open directory FD is this user's alone. Tells if it is not. */
static bool
is_ours_alone(int fd, const char *path)
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

static int
open_directory(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int
registry_open(const char *given, bool to_make)
{
	char path[PATH_MAX];
	struct line line = { .text = path, .size = sizeof(path) };

	if (find_directory(&line, given) == -1) {
		errno = 0;
		return -1;
	}

	int fd = open_directory(path);

	if (fd == -1 && errno == ENOENT) {
		if (!to_make)
			return -1;
		if (make_directory(path) == 0)
			fd = open_directory(path);
	}
	if (fd == -1) {
		message("registry '%s': %s", path, strerror(errno));
	} else if (!is_ours_alone(fd, path)) {
		(void)close(fd);
		fd = -1;
	}
	errno = 0;
	return fd;
}

/* --- its files ------------------------------------------------------------ */

static const char *
name_file(char file[FILE_NAME_SIZE], const char *id)
{
	(void)text_format(file, FILE_NAME_SIZE, "%s" REGISTRY_SUFFIX, id);
	return file;
}

bool
registry_is_called(const struct record *record, const char *id)
{
	char file[FILE_NAME_SIZE];

	return strcmp(record->file, name_file(file, id)) == 0;
}

/* What registry_visit_all does not take for a record. */
static void
name_unfinished(char file[FILE_NAME_SIZE], const char *id)
{
	(void)text_format(file, FILE_NAME_SIZE, ".%s" REGISTRY_UNFINISHED, id);
}

int
registry_add(int directory_fd, const struct entry *entry, char *const command[])
{
	char text[ENTRY_TEXT_MAX];
	char file[FILE_NAME_SIZE];
	char unfinished[FILE_NAME_SIZE];
	struct line line = { .text = text, .size = sizeof(text) };
	const struct wholefile whole = {
		.directory_fd = directory_fd,
		.directory = ".",
		.file = name_file(file, entry->id),
		.unfinished = unfinished,
		.mode = ENTRY_MODE,
		.is_exact =
		    true, /* or the owner might not be able to read it */
	};

	name_unfinished(unfinished, entry->id);
	if (entry_format(&line, entry, command) == -1)
		return -1;
	return wholefile_write(&whole, &line);
}

int
registry_remove(int directory_fd, const char *id)
{
	char file[FILE_NAME_SIZE];

	name_unfinished(file, id);
	(void)unlinkat(directory_fd, file, 0); /* hardly ever there */
	if (unlinkat(directory_fd, name_file(file, id), 0) == -1 &&
	    errno != ENOENT)
		return -1;
	return 0;
}
