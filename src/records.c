/* All records of the registry, one after the other. */
#include "registry.h"

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "duration.h"
#include "procfs.h"
#include "record.h"
#include "text.h"

#define NAMES_MIN     64
#define WRITE_BOUND_S 60 /* nobody takes so long for an entry */

/* A file of the directory, by its name. */
struct name {
	uint64_t start; /* as its ID says */
	bool is_broken; /* and so has to wait */
	char file[NAME_MAX + 1];
};

struct names {
	struct name *all;
	size_t count;
	size_t room;
};

/*
 * The two rounds of a walk: the first leaves out what is broken, and notes
 * that; the second visits just these.
 */
struct walk {
	struct record_place place;
	registry_visit *visit;
	void *context;
	int directory_fd;
	bool is_second;
};

/* The moment in an ID, "4711-18a0c5d2f3b1e2c4". */
static uint64_t
start_of(const char *file)
{
	const char *const moment = strchr(file, '-');

	return moment == NULL ? 0 : strtoull(moment + 1, NULL, 16);
}

static int
add_name(struct names *names, const char *file)
{
	if (names->count == names->room) {
		const size_t room =
		    names->room == 0 ? NAMES_MIN : 2 * names->room;
		struct name *const all =
		    realloc(names->all, room * sizeof(*all));

		if (all == NULL)
			return -1;
		names->all = all;
		names->room = room;
	}

	struct name *const name = &names->all[names->count++];

	name->start = start_of(file);
	name->is_broken = false;
	(void)text_format(name->file, sizeof(name->file), "%s", file);
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

/* Reads those names of the whole directory that end with SUFFIX, before
 * anything in it is changed. */
static int
read_names(int directory_fd, const char *suffix, struct names *names)
{
	/* Another file description: the position in it is our own. */
	const int fd =
	    openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd == -1)
		return -1;

	DIR *const directory = fdopendir(fd);
	int result = 0;

	if (directory == NULL) {
		(void)close(fd);
		return -1;
	}
	while (result == 0) {
		errno = 0;

		const struct dirent *const file = readdir(directory);

		if (file == NULL && errno != 0)
			result = -1;
		if (file == NULL)
			break;
		if (ends_with(file->d_name, suffix))
			result = add_name(names, file->d_name);
	}

	const int why = errno;

	(void)closedir(directory);
	errno = why;
	return result;
}

static int
compare_names(const void *left, const void *right)
{
	const struct name *const one = left;
	const struct name *const other = right;

	if (one->start != other->start)
		return one->start < other->start ? -1 : 1;
	return strcmp(one->file, other->file);
}

static int
visit_name(const struct walk *walk, struct name *name)
{
	char text[RECORD_TEXT_SIZE];
	struct record record = {
		.file = name->file,
		.directory_fd = walk->directory_fd,
	};
	int result = record_read(&record, text, &walk->place);

	if (result != 1)
		return result;

	name->is_broken = record.state == RECORD_BROKEN;
	result = name->is_broken && !walk->is_second
	             ? 0
	             : walk->visit(&record, walk->context);

	const int why = errno;

	if (record.fd != -1)
		(void)close(record.fd);
	errno = why;
	return result;
}

int
registry_visit_all(int directory_fd, registry_visit *visit, void *context)
{
	struct names names = { .all = NULL };
	struct walk walk = {
		.place = record_look_around(),
		.visit = visit,
		.context = context,
		.directory_fd = directory_fd,
	};
	const int unknown = errno;

	/* Where it just cannot be read, and is not another's, all runs would
	 * seem to be elsewhere. */
	if (!walk.place.is_known && procfs_is_ours() != 0) {
		errno = unknown;
		return -1;
	}

	int result = read_names(directory_fd, REGISTRY_SUFFIX, &names);

	if (result == 0 && names.count > 0)
		qsort(names.all, names.count, sizeof(*names.all),
		      compare_names);
	for (size_t i = 0; result == 0 && i < names.count; i++)
		result = visit_name(&walk, &names.all[i]);
	walk.is_second = true;
	for (size_t i = 0; result == 0 && i < names.count; i++) {
		if (names.all[i].is_broken)
			result = visit_name(&walk, &names.all[i]);
	}

	const int why = errno;

	free(names.all);
	errno = why;
	return result;
}

/* --- what is unfinished --------------------------------------------------- */

/* Whether the front by whose PID FILE is called is dead. In another PID
 * namespace it may be alive: hence the minute. */
static bool
is_nobodys(int directory_fd, const char *file)
{
	char *end;
	const long front = strtol(file + 1, &end, 10);
	struct stat unfinished;

	return *end == '-' && front > 0 &&
	       fstatat(directory_fd, file, &unfinished, AT_SYMLINK_NOFOLLOW) ==
	           0 &&
	       unfinished.st_mtim.tv_sec <
	           duration_since_epoch() / SECOND - WRITE_BOUND_S &&
	       kill((pid_t)front, 0) == -1 && errno == ESRCH;
}

void
registry_tidy(int directory_fd)
{
	struct names names = { .all = NULL };

	(void)read_names(directory_fd, REGISTRY_UNFINISHED, &names);
	for (size_t i = 0; i < names.count; i++) {
		if (is_nobodys(directory_fd, names.all[i].file))
			(void)unlinkat(directory_fd, names.all[i].file, 0);
	}
	free(names.all);
}
