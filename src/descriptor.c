/* What the descriptors of another process are. */
#include "descriptor.h"

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

#define PATH_SIZE 64

/* The link FILE in DIRECTORY_FD. Its permissions are those of the descriptor,
 * not of the file: tid_fd_update_inode() in the kernel. */
static int
read_link(int directory_fd, const char *file, struct descriptor *descriptor)
{
	struct stat link;
	const ssize_t length = readlinkat(directory_fd, file, descriptor->name,
	                                  sizeof(descriptor->name));

	if (length == -1 ||
	    fstatat(directory_fd, file, &link, AT_SYMLINK_NOFOLLOW) == -1)
		return -1;
	if ((size_t)length == sizeof(descriptor->name)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	descriptor->name[length] = '\0';
	descriptor->reads = (link.st_mode & S_IRUSR) != 0;
	descriptor->writes = (link.st_mode & S_IWUSR) != 0;
	return 0;
}

int
descriptor_read(pid_t pid, int fd, struct descriptor *descriptor)
{
	char path[PATH_SIZE];

	(void)text_format(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	return read_link(AT_FDCWD, path, descriptor);
}

int
descriptor_look(pid_t pid, int fd, struct fileinfo *file)
{
	char path[PATH_SIZE];

	(void)text_format(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);

	const int copy = open(path, O_PATH | O_CLOEXEC);

	if (copy == -1)
		return -1;

	const int result = fileinfo_guess(copy, file);

	(void)close(copy);
	return result;
}

static bool
is_same(const struct descriptor *descriptor, const struct descriptor *file)
{
	return strcmp(descriptor->name, file->name) == 0 &&
	       (descriptor->reads || !file->reads) &&
	       (descriptor->writes || !file->writes);
}

int
descriptor_add_holders(struct line *line, pid_t pid,
                       const struct descriptor *file)
{
	char path[PATH_SIZE];
	int holders = 0;

	(void)text_format(path, sizeof(path), "/proc/%d/fd", pid);

	DIR *const list = opendir(path);
	bool has_any = false;
	bool has_missed = false;

	if (list == NULL)
		return -1;
	for (const struct dirent *entry; (entry = readdir(list)) != NULL;) {
		struct descriptor descriptor;

		if (entry->d_name[0] == '.')
			continue;
		has_any = true;
		if (read_link(dirfd(list), entry->d_name, &descriptor) == -1)
			has_missed |= errno != ENAMETOOLONG; /* no pipe */
		else if (is_same(&descriptor, file))
			line_add(line, holders++ == 0 ? "%s" : ",%s",
			         entry->d_name);
	}
	(void)closedir(list);
	/* The list of a zombie is empty; and other threads of a process whose
	 * main thread is one may have descriptors all the same. */
	return holders == 0 && (has_missed || !has_any) ? -1 : holders;
}
