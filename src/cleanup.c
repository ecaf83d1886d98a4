/* The command's own locks, when nobody is left to remove them. */
#include "cleanup.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "fileinfo.h"
#include "lockfile.h"

/* FNV-1a */
#define HASH_START UINT64_C(0xcbf29ce484222325)
#define HASH_PRIME UINT64_C(0x100000001b3)

#define OFF_MAX   INT64_MAX
#define NAME_BITS 30 /* which name; an off_t has 63 bits */
#define FILE_BITS 32 /* which file of that name */

static struct snapshot
take_snapshot(const char *path)
{
	struct fileinfo file;

	if (fileinfo_at(path, &file) == -1)
		return (struct snapshot){ .inode = 0 };
	return (struct snapshot){ file.device, file.inode, file.birth };
}

static uint64_t
add_to_hash(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *const bytes = data;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * HASH_PRIME;
	return hash;
}

static off_t
cut_to(uint64_t hash, int bits)
{
	return (off_t)((hash ^ hash >> bits) & ((UINT64_C(1) << bits) - 1));
}

/*
 * Claims are read locks on bytes of the directory, which nobody else knows, and
 * which are gone with the last process that has it open, however that ends:
 * "Open file description locks" in fcntl(2). Each name has bytes of its own,
 * and among them each file a byte.
 */
static off_t
first_byte_of(const char *name)
{
	return cut_to(add_to_hash(HASH_START, name, strlen(name)), NAME_BITS)
	       << FILE_BITS;
}

static off_t
byte_of(const struct snapshot *file)
{
	const uint64_t number =
	    add_to_hash(HASH_START, &file->inode, sizeof(file->inode));

	return cut_to(add_to_hash(number, &file->birth, sizeof(file->birth)),
	              FILE_BITS);
}

/* Claims LENGTH bytes from FIRST on, or with F_UNLCK no more. */
static int
claim(int fd, short type, off_t first, off_t length)
{
	struct flock range = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = first,
		.l_len = length,
	};

	/* To no byte, 0, would be to all of them. Where there are no such
	 * locks, each run believes that it is alone. */
	return length > 0 ? fcntl(fd, F_OFD_SETLK, &range) : 0;
}

/*
 * Opens the first LENGTH bytes of PATH, a directory or nothing, and sets *NAME
 * to what comes behind. Returns a descriptor, or -1 with errno.
 */
static int
open_above(const char *path, size_t length, const char **name)
{
	char directory[PATH_MAX];

	*name = path + length + 1;
	if (length >= sizeof(directory)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(directory, path, length);
	directory[length] = '\0';
	return open(length == 0 ? "/" : directory,
	            O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The LENGTH of what is above the first LENGTH bytes of PATH, less the slash;
 * or none. */
static bool
go_up(const char *path, size_t *length)
{
	while (*length > 0) {
		if (path[--*length] == '/')
			return true;
	}
	return false;
}

/* Looks at what is there, and opens the directory. Returns the name in it. */
static const char *
look(struct cleanup *cleanup)
{
	const char *const path = cleanup->path;
	const char *name = path;
	size_t length = strlen(path);

	/* The command may have to make the directory as well: then it is the
	 * next one above. */
	cleanup->claim_fd = -1;
	while (cleanup->claim_fd == -1 && go_up(path, &length))
		cleanup->claim_fd = open_above(path, length, &name);
	cleanup->before = take_snapshot(path);
	return name;
}

void
cleanup_probe(const char *path)
{
	struct cleanup cleanup = { .path = path };

	(void)look(&cleanup);
	if (cleanup.claim_fd != -1)
		(void)close(cleanup.claim_fd);
}

void
cleanup_begin(struct cleanup *cleanup)
{
	const off_t all = (off_t)1 << FILE_BITS;
	const off_t first = first_byte_of(look(cleanup));

	/* Without its birth, another file may be taken for this one. */
	if (cleanup->before.inode == 0 || cleanup->before.birth == 0) {
		(void)claim(cleanup->claim_fd, F_RDLCK, first, all);
		return;
	}
	/* All but this one, which is not ours. */
	const off_t byte = byte_of(&cleanup->before);

	(void)claim(cleanup->claim_fd, F_RDLCK, first, byte);
	(void)claim(cleanup->claim_fd, F_RDLCK, first + byte + 1,
	            all - byte - 1);
}

/* Whether somebody who lives has claimed, in the directory FD, that he may make
 * FILE, which has NAME there. */
static bool
is_claimed_in(int fd, const char *name, const struct snapshot *file)
{
	struct flock range = {
		.l_type = F_WRLCK, /* only asked for */
		.l_whence = SEEK_SET,
		.l_start = first_byte_of(name) + byte_of(file),
		.l_len = 1,
	};

	return fcntl(fd, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

/* The same, wherever he had to claim it. Returns 1 or 0; or -1 with errno,
 * where it could not be looked whether there is a claim. */
static int
is_claimed(const char *path, const struct snapshot *file)
{
	size_t length = strlen(path);
	bool is_found = false;

	while (!is_found && go_up(path, &length)) {
		const char *name;
		const int fd = open_above(path, length, &name);

		if (fd == -1 && errno != ENOENT && errno != ENOTDIR)
			return -1;
		if (fd == -1)
			continue;
		is_found = is_claimed_in(fd, name, file);
		(void)close(fd);
	}
	return is_found;
}

/* Ends what cleanup_begin has claimed. Returns 0, or -1 with errno. */
static int
drop_claim(const struct cleanup *cleanup)
{
	if (cleanup->claim_fd != -1 &&
	    claim(cleanup->claim_fd, F_UNLCK, 0, OFF_MAX) == -1 &&
	    errno != EINVAL && errno != EOPNOTSUPP)
		return -1;
	/* Where there are no such locks, there is none. */
	return 0;
}

/* Whether what is at the path was made by this run, or by one that is over.
 * Returns as is_claimed. */
static int
is_ours(const struct cleanup *cleanup)
{
	const struct snapshot now = take_snapshot(cleanup->path);

	if (now.inode == 0)
		return errno == ENOENT ? 0 : -1;
	if (now.inode == cleanup->before.inode &&
	    now.device == cleanup->before.device &&
	    now.birth == cleanup->before.birth)
		return 0;

	const int claimed = is_claimed(cleanup->path, &now);

	return claimed == -1 ? -1 : !claimed;
}

int
cleanup_end(const struct cleanup *cleanup, bool is_over)
{
	const char *const path = cleanup->path;
	struct fileinfo file;

	/* Before we look: of two that end at once, one at least then finds that
	 * nobody has claimed what is there. */
	const int why = drop_claim(cleanup) == -1 ? errno : 0;

	if (fileinfo_at(path, &file) == -1)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
	if (why != 0) {
		errno = why;
		return -1;
	}

	if (!S_ISREG(file.mode) && !S_ISDIR(file.mode)) {
		errno = S_ISLNK(file.mode) ? ELOOP : ENOTSUP;
		return -1;
	}

	const int ours = is_over ? is_ours(cleanup) : 0;

	if (ours == -1)
		return -1;

	if (S_ISREG(file.mode)) {
		const struct lockfile_rule rule = { ours == 1,
			                            { cleanup->watchers[0],
			                              cleanup->watchers[1] } };

		return lockfile_remove(path, &rule);
	}
	if (ours == 0)
		return 0;
	if (lockfile_check_owner(path, &file) == 0 && rmdir(path) == 0)
		return 1;
	return errno == ENOENT ? 0 : -1;
}

int
cleanup_remove(const char *path, const struct snapshot *before)
{
	const struct cleanup cleanup = { path, *before, -1, { 0, 0 } };

	return cleanup_end(&cleanup, true);
}
