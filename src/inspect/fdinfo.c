/* What the descriptors of another process are. */
#include "inspect/fdinfo.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/fds.h"
#include "base/names.h"
#include "base/text.h"
#include "inspect/socketinfo.h"
#include "proc/procfs.h"
#include "proc/proctree.h"

#define PATH_SIZE 64
#define INFO_SIZE 512

#define PIPE      "pipe:["
#define SOCKET    "socket:["
#define ANONYMOUS "anon_inode:"

/* Reads the link FILE in DIRECTORY_FD. The link's permissions are the access
 * mode of the descriptor: tid_fd_update_inode() in the kernel. */
static int
read_link(int directory_fd, const char *file, struct fdinfo *info)
{
	struct stat link;
	const ssize_t length =
	    readlinkat(directory_fd, file, info->name, sizeof(info->name));

	if (length == -1 ||
	    fstatat(directory_fd, file, &link, AT_SYMLINK_NOFOLLOW) == -1)
		return -1;
	if ((size_t)length == sizeof(info->name)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	info->name[length] = '\0';
	info->reads = (link.st_mode & S_IRUSR) != 0;
	info->writes = (link.st_mode & S_IWUSR) != 0;
	return 0;
}

int
fdinfo_stat(pid_t pid, int fd, struct fileinfo *file)
{
	char name[PATH_SIZE];

	(void)strbuf_format(name, sizeof(name), "fd/%d", fd);

	const int copy = procfs_open(pid, name, O_PATH);

	if (copy == -1)
		return -1;

	const int result = fileinfo_guess(copy, file);

	(void)close(copy);
	return result;
}

struct reading {
	struct fdtable *table;
	pid_t pid;
	int fd; /* open on /proc/PID/fd */
	bool has_any;
};

static int
note_descriptor(const char *name, void *context)
{
	struct reading *const reading = context;
	struct fdtable *const table = reading->table;
	struct fdinfo info;

	reading->has_any = true;
	if (read_link(reading->fd, name, &info) == -1) {
		/* Only the path of a file can be too long. */
		table->has_missed |= errno != ENAMETOOLONG;
		return 0;
	}
	if (strlen(info.name) >= FDTABLE_NAME_SIZE)
		return 0;

	struct fdtable_entry *const entries =
	    array_grow(table->entries, table->count, &table->capacity,
	               sizeof(table->entries[0]));

	if (entries == NULL)
		return -1;
	table->entries = entries;

	struct fdtable_entry *const entry = &entries[table->count++];

	*entry = (struct fdtable_entry){
		.pid = reading->pid,
		.fd = (int)text_number(name, DECIMAL),
		.reads = info.reads,
		.writes = info.writes,
	};
	(void)memcpy(entry->name, info.name, strlen(info.name) + 1);
	return 0;
}

static void
read_table(struct fdtable *table)
{
	const size_t count = table->list == NULL ? 0 : table->list->count;

	table->is_read = true;
	table->has_missed = table->list == NULL;
	for (size_t i = 0; i < count; i++) {
		struct reading reading = {
			.table = table,
			.pid = table->list->entries[i].pid,
		};

		reading.fd = -1;
		if (!procfs_may_block(reading.pid))
			reading.fd = procfs_open(reading.pid, "fd", O_RDONLY);
		/* A zombie has no descriptors; but if only the main thread is a
		 * zombie, the other threads have descriptors. */
		if (reading.fd == -1 ||
		    names_read(reading.fd, note_descriptor, &reading) == -1 ||
		    !reading.has_any)
			table->has_missed = true;
		fds_close(reading.fd);
	}
}

const struct fdtable_entry *
fdtable_next(struct fdtable *table, const struct fdinfo *file, size_t *at)
{
	if (!table->is_read)
		read_table(table);
	while (*at < table->count) {
		const struct fdtable_entry *const entry =
		    &table->entries[(*at)++];

		if (strcmp(entry->name, file->name) == 0 &&
		    (entry->reads || !file->reads) &&
		    (entry->writes || !file->writes))
			return entry;
	}
	return NULL;
}

/* --- one descriptor ------------------------------------------------------- */

static bool
starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* Appends words[0] and the processes that have FILE, the other end: " from
 * 4711, 4712"; or words[1], if no process has FILE and all descriptors could be
 * read. Returns whether only the process of WAIT has FILE. */
static bool
add_ends(struct strbuf *line, struct fdinfo_wait *wait,
         const struct fdinfo *file, const char *const words[2])
{
	struct fdinfo_ends *const ends = &wait->ends;
	const struct fdtable_entry *entry;
	pid_t last = 0;
	int found = 0;

	for (size_t at = 0;
	     (entry = fdtable_next(wait->table, file, &at)) != NULL;) {
		if (entry->pid == last)
			continue;
		last = entry->pid;
		if (found < FDINFO_ENDS_MAX)
			strbuf_addf(line, "%s %d", found > 0 ? "," : words[0],
			            last);
		else if (found == FDINFO_ENDS_MAX)
			strbuf_addf(line, " and other processes");
		if (found < FDINFO_ENDS_MAX && last != wait->pid)
			ends->pids[ends->count++] = last;
		found++;
	}
	if (found == 0 && !wait->table->has_missed)
		strbuf_addf(line, "%s", words[1]);
	if (found > FDINFO_ENDS_MAX || wait->table->has_missed)
		ends->count = 0;
	else if (ends->count == 0 && found > 0)
		ends->pids[ends->count++] = wait->pid;
	return ends->count == 1 && ends->pids[0] == wait->pid;
}

static enum fdinfo_kind
add_pipe(struct strbuf *line, struct fdinfo_wait *wait,
         const struct fdinfo *info)
{
	static const char *const words[][2] = {
		{ " to", " that nobody in the tree reads" },
		{ " from", " that nobody in the tree writes" },
	};
	struct fdinfo other = *info;
	bool is_own = false;

	other.reads = info->writes;
	other.writes = info->reads;
	strbuf_addf(line, " (pipe");
	if (info->reads != info->writes)
		is_own = add_ends(line, wait, &other, words[info->reads]);
	strbuf_addf(line, ")");
	return is_own && wait->is_polled ? FDINFO_INTERNAL : FDINFO_PIPE;
}

static enum fdinfo_kind
add_socket(struct strbuf *line, struct fdinfo_wait *wait,
           const struct fdinfo *info)
{
	static const char *const words[] = { " with", "" };
	struct fdinfo other = { .reads = false };
	bool is_own = false;
	const uint64_t peer =
	    socketinfo_add(line, wait->pid, wait->fd,
	                   text_number(info->name + strlen(SOCKET), DECIMAL));

	(void)strbuf_format(other.name, sizeof(other.name), SOCKET "%llu]",
	                    (unsigned long long)peer);
	if (peer != 0)
		is_own = add_ends(line, wait, &other, words);
	strbuf_addf(line, ")");
	return is_own ? FDINFO_INTERNAL : FDINFO_OTHER;
}

/* Returns the number behind KEY in the fdinfo file of WAIT, or 0; *SECOND gets
 * the number that follows after a comma. */
static int64_t
read_number(const struct fdinfo_wait *wait, const char *key, int64_t *second)
{
	char path[PATH_SIZE];
	char text[INFO_SIZE];
	const char *value = NULL;
	uint64_t first = 0;

	(void)strbuf_format(path, sizeof(path), "fdinfo/%d", wait->fd);
	if (procfs_read(wait->pid, path, text, sizeof(text)) > 0)
		value = procfs_find(text, key);
	if (value != NULL)
		value = text_read_number(value, DECIMAL, &first);
	if (value != NULL && *value == ',')
		*second = (int64_t)text_number(value + strlen(", "), DECIMAL);
	return (int64_t)first;
}

/* Appends NAME, the text behind "anon_inode:", without its brackets. */
static enum fdinfo_kind
add_anonymous(struct strbuf *line, struct fdinfo_wait *wait, const char *name)
{
	const char *const word = name + strspn(name, "[");
	int64_t rest = 0;
	const int64_t pid =
	    starts_with(word, "pidfd") ? read_number(wait, "Pid:\t", &rest) : 0;

	if (pid > 0)
		strbuf_addf(line, " (process %d)", (int)pid);
	else
		strbuf_addf(line, " (%.*s)", (int)strcspn(word, "]"), word);
	if (starts_with(word, "timerfd")) {
		const int64_t seconds = read_number(wait, "it_value: (", &rest);

		if (seconds > 0 || rest > 0)
			wait->timer = seconds * SECOND + rest;
		return FDINFO_INTERNAL;
	}
	return starts_with(word, "eventfd") || starts_with(word, "io_uring")
	           ? FDINFO_INTERNAL
	           : FDINFO_OTHER;
}

static bool
is_terminal(const char *name)
{
	return starts_with(name, "/dev/pts/") ||
	       starts_with(name, "/dev/tty") ||
	       strcmp(name, "/dev/console") == 0;
}

static enum fdinfo_kind
add_file(struct strbuf *line, const struct fdinfo_wait *wait, const char *name)
{
	struct fileinfo file = { .mode = 0 };

	if ((wait->in_pipe || wait->is_polled) && name[0] == '/')
		(void)fdinfo_stat(wait->pid, wait->fd, &file);
	if (S_ISFIFO(file.mode)) {
		strbuf_addf(line, " (FIFO %s)", name);
		return FDINFO_PIPE;
	}
	strbuf_addf(line, is_terminal(name) ? " (terminal %s)" : " (%s)", name);
	return S_ISREG(file.mode) || strcmp(name, "/dev/null") == 0
	           ? FDINFO_INTERNAL
	           : FDINFO_OTHER;
}

enum fdinfo_kind
fdinfo_add(struct strbuf *line, struct fdinfo_wait *wait)
{
	char path[PATH_SIZE];
	struct fdinfo info;
	const char *const name = info.name;

	wait->ends.count = 0;
	wait->timer = NEVER;
	strbuf_addf(line, "fd %d", wait->fd);
	(void)strbuf_format(path, sizeof(path), "/proc/%d/fd/%d", wait->pid,
	                    wait->fd);
	if (read_link(AT_FDCWD, path, &info) == -1 ||
	    (name[0] == '/' && wait->may_have_changed))
		return FDINFO_OTHER;
	if (starts_with(name, PIPE))
		return add_pipe(line, wait, &info);
	if (starts_with(name, SOCKET))
		return add_socket(line, wait, &info);
	if (starts_with(name, ANONYMOUS))
		return add_anonymous(line, wait, name + strlen(ANONYMOUS));
	return add_file(line, wait, name);
}
