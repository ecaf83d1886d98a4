/* What the descriptors of a process are, and who has their other ends. */
#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "inspect/look.h"
#include "inspect/scene.h"
#include "proc/procfs.h"
#include "proc/tree.h"

#define PATH_SIZE    32
#define NAME_SIZE    256
#define INFO_SIZE    2048
#define LINE_SIZE    256
#define SEARCHED_MAX 128 /* processes whose descriptors are read */

#define PIPE      "pipe:["
#define SOCKET    "socket:["
#define ANONYMOUS "anon_inode:"
#define TERMINAL  "/dev/pts/"

static bool
starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* --- the descriptors of the tree ------------------------------------------ */

/* Reads the link PATH, whose permissions are the access mode of the descriptor:
 * tid_fd_update_inode() in the kernel. Returns that mode, or 0. A link that is
 * too long becomes "". */
static mode_t
read_link(char path[PATH_SIZE], pid_t pid, int fd, char link[NAME_SIZE])
{
	struct stat status;

	(void)snprintf(path, PATH_SIZE, "%d/fd/%d", pid, fd);

	const ssize_t length = readlink(path, link, NAME_SIZE);

	if (length == -1 || lstat(path, &status) == -1)
		return 0;
	link[length < NAME_SIZE ? length : 0] = '\0';
	return status.st_mode;
}

static void
note_ends(struct scene *scene, pid_t pid)
{
	DIR *directory = NULL;
	bool has_any = false;
	int fd;

	while ((fd = scene_next(&directory, pid, "fd")) != -1) {
		char path[PATH_SIZE];
		char link[NAME_SIZE] = "";
		const mode_t mode = read_link(path, pid, fd, link);
		const bool is_full = scene->end_count == ENDS_MAX;

		has_any = true;
		scene->has_missed |= mode == 0 || is_full;
		if (is_full ||
		    (!starts_with(link, PIPE) && !starts_with(link, SOCKET) &&
		     !starts_with(link, TERMINAL)))
			continue;

		struct end *const end = &scene->ends[scene->end_count++];

		*end = (struct end){ .pid = pid, .fd = fd, .mode = mode };
		(void)snprintf(end->link, sizeof(end->link), "%.31s", link);
	}
	/* A leader that has exited has no descriptors, but its threads may
	 * have. */
	scene->has_missed |= !has_any;
}

/* The links of a process in state D may hang: it may be in execve(2), and free
 * memory of a file system that does not answer. */
static void
read_ends(struct scene *scene)
{
	const struct process_list *const list = &scene->tree->list;
	const bool is_small = list->count <= SEARCHED_MAX;

	scene->has_ends = true;
	scene->has_missed = scene->tree->is_partial || !is_small;
	for (size_t i = 0; i < list->count && is_small; i++) {
		if (procfs_may_block(list->entries[i].pid))
			scene->has_missed = true;
		else
			note_ends(scene, list->entries[i].pid);
	}
}

/* Returns the next descriptor behind END (NULL: the first) that is LINK and has
 * the access that MODE asks for; or NULL. */
static const struct end *
next_end(struct scene *scene, const struct end *end, const char *link,
         mode_t mode)
{
	if (!scene->has_ends)
		read_ends(scene);
	for (end = end == NULL ? scene->ends : end + 1;
	     end < scene->ends + scene->end_count; end++) {
		if (strcmp(end->link, link) == 0 && (end->mode & mode) == mode)
			return end;
	}
	return NULL;
}

void
scene_add_end(struct scene *scene, pid_t pid)
{
	struct sight *const sight = scene->sight;

	for (int i = 0; i < sight->end_count; i++) {
		if (sight->ends[i] == pid)
			return;
	}
	if (sight->end_count < LOOK_ENDS && pid != sight->pid)
		sight->ends[sight->end_count++] = pid;
}

/* Says " from 4711, 4712": WORD, and the processes that have LINK open with
 * MODE; or " from itself". Returns how many processes, or -1 for itself. */
static int
say_ends(struct scene *scene, const char *link, mode_t mode, const char *word)
{
	const struct end *end = NULL;
	pid_t last = 0;
	int count = 0;

	while ((end = next_end(scene, end, link, mode)) != NULL) {
		if (end->pid == last)
			continue;
		last = end->pid;
		if (count++ == LOOK_ENDS)
			say(scene, " and other processes");
		if (count > LOOK_ENDS)
			continue;
		say(scene, "%s", count == 1 ? word : ",");
		if (last == scene->sight->pid) {
			say(scene, " itself");
			continue;
		}
		say(scene, " %d", last);
		scene_add_end(scene, last);
	}
	return count == 1 && last == scene->sight->pid ? -1 : count;
}

/* Says ", holding the output open, fd 1,2" of a process that keeps the reader
 * of the command's output waiting. */
void
fd_say_output(struct scene *scene)
{
	const struct look *const look = scene->look;
	int count = 0;

	for (int i = 0; i < LOOK_OUTPUTS && look->tells_holders; i++) {
		const struct end *end = NULL;

		while (look->outputs[i][0] != '\0' &&
		       (end = next_end(scene, end, look->outputs[i],
		                       S_IWUSR)) != NULL) {
			if (end->pid != scene->sight->pid)
				continue;
			if (count++ == 0)
				say(scene, "%sholding the output open, fd ",
				    scene->line.length == 0 ? "" : ", ");
			say(scene, count == 1 ? "%d" : ",%d", end->fd);
		}
	}
}

/* --- one descriptor ------------------------------------------------------- */

static bool
say_pipe(struct scene *scene, const char *link, mode_t mode)
{
	const bool reads = (mode & S_IRUSR) != 0;
	const bool writes = (mode & S_IWUSR) != 0;
	bool is_output = false;
	int count = 1;

	say(scene, " (pipe");
	if (reads != writes)
		count = say_ends(scene, link, reads ? S_IWUSR : S_IRUSR,
		                 reads ? " from" : " to");
	for (int i = 0; i < LOOK_OUTPUTS; i++)
		is_output |= strcmp(link, scene->look->outputs[i]) == 0;
	if (count == 0 && !reads && is_output)
		say(scene, " to the reader of wdrun's output");
	else if (count == 0 && !scene->has_missed)
		say(scene, " that nobody in the tree %s",
		    reads ? "writes" : "reads");
	say(scene, ")");
	return count != -1;
}

static bool
say_socket(struct scene *scene, const char *path, const char *link)
{
	const unsigned long long peer =
	    socket_say(scene, path, strtoull(link + strlen(SOCKET), NULL, 10));
	char other[LINK_SIZE];
	int count = 0;

	(void)snprintf(other, sizeof(other), SOCKET "%llu]", peer);
	if (peer != 0)
		count = say_ends(scene, other, 0, " with");
	say(scene, ")");
	return count != -1;
}

/* Says what NAME is, "[timerfd]" or "inotify". What a process makes ready
 * itself, or a timer, is plumbing of an event loop. */
static bool
say_anonymous(struct scene *scene, int fd, const char *name)
{
	const char *const word = name + strspn(name, "[");
	char info[INFO_SIZE];
	char *at;

	(void)scene_read(info, sizeof(info), "%d/fdinfo/%d", scene->sight->pid,
	                 fd);

	const char *const pid = strstr(info, "\nPid:\t");
	const char *const left = strstr(info, "\nit_value: (");

	if (starts_with(word, "pidfd") && pid != NULL)
		say(scene, " (process %ld)", strtol(pid + 6, NULL, 10));
	else
		say(scene, " (%.*s)", (int)strcspn(word, "]"), word);
	if (left != NULL) { /* "it_value: (299, 999000000)" */
		const int64_t seconds = strtoll(left + 12, &at, 10);
		const int64_t time =
		    seconds * SECOND + strtoll(at + strspn(at, ", "), NULL, 10);

		if (time > 0 && time < scene->timer)
			scene->timer = time;
	}
	return !starts_with(word, "eventfd") && !starts_with(word, "timerfd") &&
	       !starts_with(word, "io_uring");
}

/* Asks the file system of a file only if the process polls the descriptor, or
 * waits in the kernel for a pipe, and so not for that file system. A regular
 * file is always ready: poll(2). */
static bool
say_file(struct scene *scene, const char *path, const char *name)
{
	const enum wait wait = scene->thread.wait;
	struct stat file = { .st_mode = 0 };

	if (wait == WAIT_POLL || wait == WAIT_SELECT || wait == WAIT_EPOLL ||
	    strstr(scene->thread.function, "pipe_") != NULL)
		(void)stat(path, &file);
	if (S_ISFIFO(file.st_mode))
		say(scene, " (FIFO %s)", name);
	else if (starts_with(name, TERMINAL) || starts_with(name, "/dev/tty") ||
	         strcmp(name, "/dev/console") == 0)
		say(scene, " (terminal %s)", name);
	else
		say(scene, " (%s)", name);
	return !S_ISREG(file.st_mode) && strcmp(name, "/dev/null") != 0;
}

bool
fd_say(struct scene *scene, int fd)
{
	char path[PATH_SIZE];
	char link[NAME_SIZE] = "";
	const mode_t mode = read_link(path, scene->sight->pid, fd, link);

	say(scene, "fd %d", fd);
	if (link[0] == '\0')
		return true;
	if (starts_with(link, PIPE))
		return say_pipe(scene, link, mode);
	if (starts_with(link, SOCKET))
		return say_socket(scene, path, link);
	if (starts_with(link, ANONYMOUS))
		return say_anonymous(scene, fd, link + strlen(ANONYMOUS));
	return say_file(scene, path, link);
}

/* --- locks ---------------------------------------------------------------- */

/* Whether a descriptor of PID has a lock on FILE (" fe:00:21 "): fdinfo has a
 * row "lock:\t1: FLOCK  ADVISORY  WRITE 4711 fe:00:21 0 EOF" for it. */
static bool
holds_lock(pid_t pid, const char *file)
{
	DIR *directory = NULL;
	bool is_found = false;
	int fd;

	while ((fd = scene_next(&directory, pid, "fdinfo")) != -1) {
		char info[INFO_SIZE];

		(void)scene_read(info, sizeof(info), "%d/fdinfo/%d", pid, fd);

		const char *const row = strstr(info, "\nlock:");

		is_found |= row != NULL && strstr(row, file) != NULL;
	}
	return is_found;
}

/*
 * In /proc/locks, "1: -> FLOCK ADVISORY WRITE 4712 fe:00:21 0 EOF" is a process
 * that waits for the lock "1: FLOCK ADVISORY WRITE 4711 fe:00:21 0 EOF" further
 * up: proc(5). If several threads of a process wait, it is not known which of
 * them waits for which lock. Processes inherit a lock of flock(2), and the one
 * that took it may be gone: so the holder is looked for in the tree, too.
 */
pid_t
fd_lock_holder(struct scene *scene)
{
	const struct process_list *const list = &scene->tree->list;
	FILE *const locks = fopen("locks", "re");
	char line[LINE_SIZE];
	char file[64] = "";
	pid_t owner = 0; /* of the last row without an arrow */
	pid_t holder = 0;
	int rows = 0;

	while (locks != NULL && fgets(line, sizeof(line), locks) != NULL) {
		if (scene_field(line, 1)[0] != '-') {
			owner = (pid_t)strtol(scene_field(line, 4), NULL, 10);
		} else if (strtol(scene_field(line, 5), NULL, 10) ==
		           scene->sight->pid) {
			const char *const name = scene_field(line, 6);

			rows++;
			holder = owner;
			(void)snprintf(file, sizeof(file), " %.*s ",
			               (int)strcspn(name, " "), name);
		}
	}
	if (locks != NULL)
		(void)fclose(locks);
	if (rows != 1)
		return 0;
	if (holder > 0 && holds_lock(holder, file))
		return holder;
	for (size_t i = 0; i < list->count; i++) {
		if (holds_lock(list->entries[i].pid, file))
			return list->entries[i].pid;
	}
	return 0;
}
