/* The command's own locks, when no process is left to remove them. */
#include "lock/cleanup.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/fileinfo.h"
#include "base/strbuf.h"
#include "lock/lockfile.h"

/*
 * Claims are read locks on bytes of the directory that the file is in, or will
 * be in. The kernel drops them with the last process that has the directory
 * open ("Open file description locks" in fcntl(2)). A name has a range of
 * bytes, and each file that may have the name has a byte of the range: a run
 * that began when the file was there, and maybe waits for the file to go,
 * claims all but that file, and does not keep its owner from removing it.
 */
#define NAME_BITS  30 /* an off_t has 63 */
#define FILE_BITS  32
#define RANGE      ((off_t)1 << FILE_BITS)
#define WHOLE_FILE 0 /* as a length, fcntl(2) */

/* FNV-1a */
#define HASH_START UINT64_C(0xcbf29ce484222325)
#define HASH_PRIME UINT64_C(0x100000001b3)

/* Which file PATH names. Keeps errno, unless there is none. */
static struct fileid
read_fileid(const char *path)
{
	struct fileinfo file = { .size = 0 };

	(void)fileinfo_at(path, &file);
	return file.id;
}

static off_t
first_byte_of(const char *name)
{
	uint64_t hash = HASH_START;

	for (; *name != '\0'; name++)
		hash = (hash ^ (unsigned char)*name) * HASH_PRIME;
	return (off_t)(hash >> (64 - NAME_BITS)) << FILE_BITS;
}

/* From 1 to RANGE - 2, so that there are bytes on both sides of the byte. */
static off_t
byte_of(const struct fileid *file)
{
	const uint64_t number =
	    (file->inode * HASH_PRIME) ^ (uint64_t)file->birth;

	return (off_t)(number % (RANGE - 2)) + 1;
}

/* Where the file system has no such locks, each run takes itself to be alone.
 */
static int
claim(int fd, short type, off_t first, off_t length)
{
	struct flock range = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = first,
		.l_len = length,
	};

	return fcntl(fd, F_OFD_SETLK, &range);
}

/* Opens the directory that the first *LENGTH bytes of PATH are in. Makes
 * *LENGTH that of the directory, 0 for the root, and sets *NAME to the rest of
 * PATH. Returns a descriptor, or -1 with errno of open(2). */
static int
open_above(const char *path, size_t *length, const char **name)
{
	char directory[PATH_MAX];

	do
		--*length;
	while (path[*length] != '/');
	*name = &path[*length + 1];
	if (strbuf_format(directory, sizeof(directory), "%.*s/", (int)*length,
	                  path) >= sizeof(directory)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Opens the directory for the claim, and notes what is there now. Returns the
 * name to be claimed in the directory. */
static const char *
look(struct cleanup *cleanup)
{
	const char *const path = cleanup->path;
	const char *name = path;
	size_t length = strlen(path);

	/* The command may have to make the directory as well: then the claim is
	 * in the nearest directory above that is there. */
	cleanup->claim_fd = -1;
	while (cleanup->claim_fd == -1 && length > 0)
		cleanup->claim_fd = open_above(path, &length, &name);
	cleanup->before = read_fileid(path);
	return name;
}

void
cleanup_probe(const char *path)
{
	struct cleanup cleanup = { .path = path };

	(void)look(&cleanup);
	fds_close(cleanup.claim_fd);
}

void
cleanup_begin(struct cleanup *cleanup)
{
	const off_t first = first_byte_of(look(cleanup));

	/* Inode numbers are given away again: without its birth, a later file
	 * cannot be told from the file that is there. */
	if (cleanup->before.inode == 0 || cleanup->before.birth == 0) {
		(void)claim(cleanup->claim_fd, F_RDLCK, first, RANGE);
		return;
	}

	/* All but the file that is there, which is not this run's. */
	const off_t byte = byte_of(&cleanup->before);

	(void)claim(cleanup->claim_fd, F_RDLCK, first, byte);
	(void)claim(cleanup->claim_fd, F_RDLCK, first + byte + 1,
	            RANGE - byte - 1);
}

/* Whether a living run claims FILE in the directory FD, as NAME. */
static bool
is_claimed_in(int fd, const char *name, const struct fileid *file)
{
	struct flock range = {
		.l_type = F_WRLCK, /* only asked for */
		.l_whence = SEEK_SET,
		.l_start = first_byte_of(name) + byte_of(file),
		.l_len = 1,
	};

	return fcntl(fd, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

/* Returns 1 if a living run claims FILE, in whichever directory it had to, else
 * 0; or -1 with errno if this cannot be known. */
static int
is_claimed(const char *path, const struct fileid *file)
{
	size_t length = strlen(path);
	bool is_found = false;

	while (!is_found && length > 0) {
		const char *name;
		const int fd = open_above(path, &length, &name);

		if (fd == -1 && errno != ENOENT && errno != ENOTDIR)
			return -1;
		if (fd == -1)
			continue;
		is_found = is_claimed_in(fd, name, file);
		(void)close(fd);
	}
	return is_found;
}

/* Returns 0, or -1 with errno if the claim stays. */
static int
drop_claim(const struct cleanup *cleanup)
{
	if (cleanup->claim_fd == -1 ||
	    claim(cleanup->claim_fd, F_UNLCK, 0, WHOLE_FILE) == 0)
		return 0;
	/* Where there are no such locks, there is no claim. */
	return errno == EINVAL || errno == EOPNOTSUPP ? 0 : -1;
}

/* Returns 1 if the file at the path was made by this run, or by another that is
 * over, else 0; or -1 with errno if this cannot be known. */
static int
is_ours(const struct cleanup *cleanup)
{
	const struct fileid now = read_fileid(cleanup->path);

	if (now.inode == 0)
		return errno == ENOENT ? 0 : -1;
	if (fileid_is_same(&now, &cleanup->before))
		return 0;

	const int claimed = is_claimed(cleanup->path, &now);

	return claimed == -1 ? -1 : !claimed;
}

int
cleanup_end(const struct cleanup *cleanup, bool is_over)
{
	const char *const path = cleanup->path;
	struct fileinfo file;

	/* Comes first: of two runs that end at once, at least the later run
	 * finds no claim of the other. */
	const int why = drop_claim(cleanup) == -1 ? errno : 0;

	if (fileinfo_at(path, &file) == -1)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
	if (why != 0 || (!S_ISREG(file.mode) && !S_ISDIR(file.mode))) {
		errno = why != 0 ? why : S_ISLNK(file.mode) ? ELOOP : ENOTSUP;
		return -1;
	}

	const int ours = is_over ? is_ours(cleanup) : 0;

	if (ours == -1)
		return -1;
	if (S_ISREG(file.mode)) {
		const struct lockfile_rule rule = { ours == 1,
			                            cleanup->watchers };

		return lockfile_remove(path, &rule);
	}
	if (ours == 0)
		return 0;
	if (lockfile_check_owner(path, &file) == 0 && rmdir(path) == 0)
		return 1;
	return errno == ENOENT ? 0 : -1;
}

int
cleanup_compare(const void *left, const void *right)
{
	const size_t a = strlen(*(const char *const *)left);
	const size_t b = strlen(*(const char *const *)right);

	return (a < b) - (a > b);
}
