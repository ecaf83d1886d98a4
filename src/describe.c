/* What a descriptor of another process is, in words. */
#include "describe.h"

#include <sys/stat.h>

#include <string.h>

#include "descriptor.h"
#include "fileinfo.h"

#define ENDS_MAX 4 /* of a pipe, that are named */

static bool
starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* " from 4711, 4712", the processes of the tree that have the other end of the
 * pipe FILE; or that none has, where all of them could be looked at. */
static void
add_other_end(struct line *line, const struct process_list *tree,
              const struct descriptor *file)
{
	struct descriptor other = *file;
	bool has_seen_all = true;
	int found = 0;

	if (tree == NULL || file->reads == file->writes)
		return;
	other.reads = file->writes;
	other.writes = file->reads;
	for (size_t i = 0; i < tree->count && found <= ENDS_MAX; i++) {
		const pid_t pid = tree->entries[i].pid;
		char unused[2];
		struct line fds = { .text = unused, .size = sizeof(unused) };
		const int holders = descriptor_add_holders(&fds, pid, &other);

		if (holders == -1)
			has_seen_all = false;
		if (holders <= 0)
			continue;
		if (found == ENDS_MAX)
			line_add(line, " and others");
		else
			line_add(line, "%s %d",
			         found > 0     ? ","
			         : file->reads ? " from"
			                       : " to",
			         pid);
		found++;
	}
	if (found == 0 && has_seen_all)
		line_add(line, " that nobody in the tree %s",
		         file->reads ? "writes" : "reads");
}

bool
describe_descriptor(struct line *line, const struct suspended *process, int fd,
                    bool in_pipe)
{
	struct descriptor file;
	struct fileinfo info;
	const char *const name = file.name;

	line_add(line, "fd %d", fd);
	if (descriptor_read(process->pid, fd, &file) == -1)
		return false;
	if (starts_with(name, "pipe:[")) {
		line_add(line, " (pipe");
		add_other_end(line, process->tree, &file);
		line_add(line, ")");
		return true;
	}
	/* Another thread may have put this in the place of what is used. */
	if (name[0] == '/' && process->threads > 1)
		return false;

	const bool is_fifo = name[0] == '/' && in_pipe &&
	                     descriptor_look(process->pid, fd, &info) == 0 &&
	                     S_ISFIFO(info.mode);

	if (starts_with(name, "socket:["))
		line_add(line, " (socket)");
	else if (starts_with(name, "/dev/pts/") ||
	         starts_with(name, "/dev/tty") ||
	         strcmp(name, "/dev/console") == 0)
		line_add(line, " (terminal %s)", name);
	else
		line_add(line, is_fifo ? " (FIFO %s)" : " (%s)", name);
	return is_fifo;
}
