/* Removes locks that COMMAND has made and not removed. */
#include "lock/cleanup.h"

#include <sys/stat.h>
#include <sys/statfs.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/fileinfo.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "lock/lockfile.h"
#include "proc/helper.h"
#include "proc/procfs.h"

/*
 * A claim is a read lock on bytes of the directory that the file is in, or will
 * be in. The kernel drops the claim with the last process that has the
 * directory open (fcntl(2), "Open file description locks"). A name has a range
 * of bytes, and each file of that name a byte in the range. A run that began
 * while the file existed claims all bytes but that file's, and so does not keep
 * the file's owner from removing the file.
 */
#define NAME_BITS  30 /* with FILE_BITS: an off_t has 63 */
#define FILE_BITS  32
#define RANGE      ((off_t)1 << FILE_BITS)
#define WHOLE_FILE 0 /* as a length: fcntl(2) */

#define NAME_SIZE 32

/* PROC_PID_INIT_INO and the magic numbers of local file systems, as the kernel
 * has them: include/linux/proc_ns.h, include/uapi/linux/magic.h. */
#define FIRST_NAMESPACE 0xeffffffcU
#define EXT             0xef53U
#define XFS             0x58465342U
#define BTRFS           0x9123683eU
#define TMPFS           0x01021994U
#define OVERLAY         0x794c7630U

/* FNV-1a */
#define HASH_START UINT64_C(0xcbf29ce484222325)
#define HASH_PRIME UINT64_C(0x100000001b3)

/* Returns the identity of the file AT, all 0 if there is none. */
static struct fileid
read_fileid(const struct pathat *at)
{
	struct fileinfo file = { .size = 0 };

	(void)pathat_info(at, &file);
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

/* From 1 to RANGE - 2: a claim of length 0 would go to the end: fcntl(2). */
static off_t
byte_of(const struct fileid *file)
{
	const uint64_t number =
	    (file->inode * HASH_PRIME) ^ (uint64_t)file->birth;

	return (off_t)(number % (RANGE - 2)) + 1;
}

/* Where a file system has no such locks, each run acts as if alone. */
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

/* Opens the directory LEVELS above that of AT. Sets *NAME to the file's path
 * from there, which is the name to claim, or to NULL above the root. Returns a
 * descriptor, or -1 with errno of open(2). */
static int
open_above(const struct pathat *at, int levels, const char **name)
{
	char text[PATH_MAX];
	struct strbuf way = { .text = text, .size = sizeof(text) };

	strbuf_addf(&way, ".");
	for (*name = at->name; levels > 0; levels--) {
		if (*name == at->path + 1) {
			*name = NULL;
			return -1;
		}
		do
			--*name;
		while ((*name)[-1] != '/');
		strbuf_addf(&way, "/..");
	}
	return openat(at->directory_fd, text,
	              O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int
cleanup_open(struct cleanup *cleanup, const char *path)
{
	struct pathat *const at = &cleanup->at;

	if (pathat_open(at, path, PATHAT_MAY_MISS) == -1)
		return -1;
	/* Of the directories that exist, the claim is in the nearest that can
	 * be read: the command may have to make the file's own directory. */
	cleanup->claim = at->name;
	for (int i = 0; cleanup->claim_fd == -1 && cleanup->claim != NULL; i++)
		cleanup->claim_fd = open_above(at, i, &cleanup->claim);
	cleanup->before = read_fileid(at);
	return 0;
}

void
cleanup_begin(struct cleanup *cleanup)
{
	if (cleanup->claim == NULL)
		return;

	const off_t first = first_byte_of(cleanup->claim);

	cleanup->before = read_fileid(&cleanup->at);
	/* Inode numbers are reused: without a birth time, a later file cannot
	 * be told from the file that exists now. */
	if (cleanup->before.inode == 0 || cleanup->before.birth == 0) {
		(void)claim(cleanup->claim_fd, F_RDLCK, first, RANGE);
		return;
	}

	/* All bytes but that of the existing file, which is not this run's. */
	const off_t byte = byte_of(&cleanup->before);

	(void)claim(cleanup->claim_fd, F_RDLCK, first, byte);
	(void)claim(cleanup->claim_fd, F_RDLCK, first + byte + 1,
	            RANGE - byte - 1);
}

/* A lock that may be a claim, and the process to look at. */
struct search {
	uint64_t byte;
	uid_t users[2]; /* users, besides this user, whose runs can have made
	                 * the file */
	pid_t pid;
};

/* Ends the visit, with errno 0, if descriptor FD of the process holds the lock:
 * "lock: 1: OFDLCK ADVISORY READ -1 fd:00:131 4096 8191" in proc(5). */
static int
find_lock(pid_t fd, void *context)
{
	const struct search *const search = context;
	char text[PROCFS_DESCRIPTOR_SIZE];
	const char *at = text;
	uint64_t first;
	uint64_t last;

	if (procfs_read_descriptor(search->pid, fd, text) == -1)
		return errno == ENOENT ? 0 : -1;
	while ((at = text_find(at, strlen(at), " -1 ", 4)) != NULL) {
		at += strcspn(at, ":");
		at += strcspn(at, " ");

		const char *const end =
		    text_read_number(at + (*at == ' '), DECIMAL, &first);

		if (end == NULL || *end != ' ')
			break;
		(void)text_read_number(end + 1, DECIMAL, &last);
		errno = 0;
		if (first <= search->byte && search->byte <= last)
			return -1;
	}
	return 0;
}

/* Ends the visit if PID is a watcher that holds, or may hold, the lock. */
static int
find_claimant(pid_t pid, void *context)
{
	struct search *const search = context;
	char name[NAME_SIZE];
	struct procfs_status status;

	search->pid = pid;
	if (procfs_read(pid, "comm", name, sizeof(name)) != -1 &&
	    strncmp(name, WATCHER_NAME, sizeof(WATCHER_NAME) - 1) != 0)
		return 0;
	if (procfs_read_status(pid, &status) == 0 &&
	    ((status.user != geteuid() && status.user != search->users[0] &&
	      status.user != search->users[1]) ||
	     procfs_visit_descriptors(pid, find_lock, search) == 0))
		return 0;
	return errno == ENOENT || errno == ESRCH ? 0 : -1;
}

/* Whether /proc shows every process that can have a lock on the directory FD:
 * the PID namespace is the initial one, and the file system is local. */
static bool
sees_all(int fd)
{
	struct stat namespace;
	struct statfs system;

	if (stat("/proc/self/ns/pid", &namespace) == -1 ||
	    namespace.st_ino != FIRST_NAMESPACE || fstatfs(fd, &system) == -1)
		return false;
	switch ((uint32_t)system.f_type) {
	case EXT:
	case XFS:
	case BTRFS:
	case TMPFS:
	case OVERLAY:
		return true;
	default:
		return false;
	}
}

/*
 * Whether a living run claims FILE, as NAME, in the directory FD. Any process
 * that can read the directory can lock it, and F_OFD_GETLK does not tell which
 * process did. But only runs of FILE's owner, of this user and of root can have
 * made FILE. If FD is -1, because this user cannot read the directory, only
 * runs of this user with more capabilities can claim FILE.
 */
static bool
is_claimed_in(int fd, const char *name, const struct fileinfo *file)
{
	struct flock range = {
		.l_type = F_WRLCK, /* for the test only */
		.l_whence = SEEK_SET,
		.l_start = first_byte_of(name) + byte_of(&file->id),
		.l_len = 1,
	};
	struct search search = {
		.byte = (uint64_t)range.l_start,
		.users = { geteuid(), geteuid() },
	};

	if (fd != -1) {
		if (fcntl(fd, F_OFD_GETLK, &range) == -1 ||
		    range.l_type == F_UNLCK)
			return false;
		if (!sees_all(fd))
			return true;
		search.users[0] = 0;
		search.users[1] = file->owner;
	}
	return procfs_visit_all(find_claimant, &search) == -1;
}

/* Returns 1 if a living run claims FILE, in its directory or in a directory
 * above; 0 if none does; or -1 with errno if this cannot be known. */
static int
is_claimed(const struct pathat *at, const struct fileinfo *file)
{
	bool is_found = false;

	for (int i = 0; !is_found; i++) {
		const char *name;
		const int fd = open_above(at, i, &name);

		if (name == NULL)
			return 0;
		if (fd == -1 && errno != EACCES)
			return -1;
		is_found = is_claimed_in(fd, name, file);
		fds_close(fd);
	}
	return 1;
}

/* Does the work of cleanup_end() for the file AT. */
static int
remove_at(const struct cleanup *cleanup, const struct pathat *at, bool is_over)
{
	struct fileinfo file;

	if (pathat_info(at, &file) == -1)
		return -1;

	/* Whether FILE may be of this run, or of another run that is over. */
	const bool is_new =
	    is_over && !fileid_is_same(&file.id, &cleanup->before);
	const int claimed = is_new ? is_claimed(at, &file) : 0;
	const struct lockfile_rule rule = {
		.without_pid = is_new && claimed == 0,
		.own = cleanup->watchers,
		.file = &file,
	};

	if (claimed == -1)
		return -1;

	const int result = lockfile_remove(at, &rule);

	if (result != -1 || errno != ENODATA)
		return result;
	errno = EBUSY;
	return -claimed;
}

/* Opens in AT the present directory of CLEANUP's file: from the directory that
 * is open; or, if that was removed, by the path, without symbolic links.
 * Returns 0, or -1 with errno. */
static int
find(const struct cleanup *cleanup, struct pathat *at)
{
	struct stat held;

	if (fstat(cleanup->at.directory_fd, &held) == -1)
		return -1;
	return held.st_nlink > 0
	           ? pathat_enter(&cleanup->at, at)
	           : pathat_open(at, cleanup->at.path, PATHAT_NO_LINKS);
}

void
cleanup_close(struct cleanup *cleanup)
{
	fds_close(cleanup->claim_fd);
	cleanup->claim_fd = -1;
	pathat_close(&cleanup->at);
}

int
cleanup_end(const struct cleanup *cleanup, bool is_over)
{
	struct pathat at = { .directory_fd = -1 };

	/* First: of two runs that end at once, the later run must find no claim
	 * of the other run. */
	(void)claim(cleanup->claim_fd, F_UNLCK, 0, WHOLE_FILE);

	int result = find(cleanup, &at);

	if (result == 0)
		result = remove_at(cleanup, &at, is_over);
	if (result == -1 && (errno == ENOENT || errno == ENOTDIR))
		result = 0;
	pathat_close(&at);
	return result;
}

int
cleanup_compare(const void *left, const void *right)
{
	const size_t a = strlen(*(const char *const *)left);
	const size_t b = strlen(*(const char *const *)right);

	return (a < b) - (a > b);
}
