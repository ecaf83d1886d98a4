/* What the descriptors of another process are. */
#include "inspect/fdinfo.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "proc/procfs.h"
#include "proc/proctree.h"

#define PATH_SIZE 64
#define ENDS_MAX  4 /* processes at the other end of a pipe that are named */

/* Reads the link FILE in DIRECTORY_FD. The permissions of the link are the
 * access mode of the descriptor: tid_fd_update_inode() in the kernel. */
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

static bool
is_same(const struct fdinfo *info, const struct fdinfo *file)
{
	return strcmp(info->name, file->name) == 0 &&
	       (info->reads || !file->reads) && (info->writes || !file->writes);
}

struct search {
	int fd; /* open on the list of descriptors */
	const struct fdinfo *file;
	struct strbuf *line; /* or NULL */
	int holders;
	bool has_any;
	bool has_missed;
};

static int
visit_descriptor(const char *name, void *context)
{
	struct search *const search = context;
	struct fdinfo info;

	search->has_any = true;
	if (read_link(search->fd, name, &info) == -1) {
		/* Only a file has a name that is too long. */
		search->has_missed |= errno != ENAMETOOLONG;
	} else if (is_same(&info, search->file)) {
		if (search->line != NULL)
			strbuf_addf(search->line,
			            search->holders == 0 ? "%s" : ",%s", name);
		search->holders++;
	}
	return 0;
}

int
fdinfo_add_holders(struct strbuf *line, pid_t pid, const struct fdinfo *file)
{
	struct search search = { .file = file, .line = line };

	search.fd = procfs_open(pid, "fd", O_RDONLY);
	if (search.fd == -1)
		return -1;
	(void)names_read(search.fd, visit_descriptor, &search);
	(void)close(search.fd);
	/* The list of a zombie is empty. Where only the main thread of a
	 * process is a zombie, its other threads have descriptors. */
	return search.holders == 0 && (search.has_missed || !search.has_any)
	           ? -1
	           : search.holders;
}

/* Appends " from 4711, 4712", the processes of TREE that have the other end of
 * the pipe FILE; or that no process has, where all could be looked at. */
static void
add_other_end(struct strbuf *line, const struct process_list *tree,
              const struct fdinfo *file)
{
	struct fdinfo other = *file;
	bool has_seen_all = true;
	int found = 0;

	if (tree == NULL || file->reads == file->writes)
		return;
	other.reads = file->writes;
	other.writes = file->reads;
	for (size_t i = 0; i < tree->count && found <= ENDS_MAX; i++) {
		const pid_t pid = tree->entries[i].pid;
		const int holders = fdinfo_add_holders(NULL, pid, &other);

		if (holders == -1)
			has_seen_all = false;
		if (holders <= 0)
			continue;
		if (found == ENDS_MAX)
			strbuf_addf(line, " and other processes");
		else
			strbuf_addf(line, "%s %d",
			            found > 0     ? ","
			            : file->reads ? " from"
			                          : " to",
			            pid);
		found++;
	}
	if (found == 0 && has_seen_all)
		strbuf_addf(line, " that nobody in the tree %s",
		            file->reads ? "writes" : "reads");
}

static bool
starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static bool
is_terminal(const char *name)
{
	return starts_with(name, "/dev/pts/") ||
	       starts_with(name, "/dev/tty") ||
	       strcmp(name, "/dev/console") == 0;
}

static bool
is_fifo(const struct fdinfo_wait *wait, const char *name)
{
	struct fileinfo file;

	return wait->in_pipe && name[0] == '/' &&
	       fdinfo_stat(wait->pid, wait->fd, &file) == 0 &&
	       S_ISFIFO(file.mode);
}

bool
fdinfo_add(struct strbuf *line, const struct fdinfo_wait *wait)
{
	char path[PATH_SIZE];
	struct fdinfo info;
	const char *const name = info.name;

	strbuf_addf(line, "fd %d", wait->fd);
	(void)strbuf_format(path, sizeof(path), "/proc/%d/fd/%d", wait->pid,
	                    wait->fd);
	if (read_link(AT_FDCWD, path, &info) == -1 ||
	    (name[0] == '/' && wait->may_have_changed))
		return false;
	if (starts_with(name, "pipe:[")) {
		strbuf_addf(line, " (pipe");
		add_other_end(line, wait->tree, &info);
		strbuf_addf(line, ")");
		return true;
	}
	if (is_fifo(wait, name)) {
		strbuf_addf(line, " (FIFO %s)", name);
		return true;
	}
	if (starts_with(name, "socket:["))
		strbuf_addf(line, " (socket)");
	else
		strbuf_addf(
		    line, is_terminal(name) ? " (terminal %s)" : " (%s)", name);
	return false;
}
