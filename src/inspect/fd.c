/* What the descriptors of a process are, and who has their other ends. */
#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inspect/look.h"
#include "inspect/scene.h"

#define PATH_SIZE 32
#define NAME_SIZE 256
#define INFO_SIZE 2048
#define LINE_SIZE 256

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
note_end(struct scene *scene, pid_t pid, int fd)
{
	char path[PATH_SIZE];
	char link[NAME_SIZE] = "";
	struct end end = { .pid = pid };

	end.mode = read_link(path, pid, fd, link);
	if (end.mode == 0 || scene->end_count == ENDS_MAX) {
		scene->has_missed = true;
	} else if (starts_with(link, PIPE) || starts_with(link, SOCKET)) {
		(void)snprintf(end.link, LINK_SIZE, "%.31s", link);
		scene->ends[scene->end_count++] = end;
	}
}

/* The links of a process in state D may hang: it may be in execve(2), and free
 * memory of a file system that does not answer. A leader that has exited has no
 * descriptors, but its threads may have. */
static void
read_ends(struct scene *scene)
{
	scene->has_ends = true;
	scene->has_missed = scene->is_partial;
	for (size_t i = 0; i < scene->look->count; i++) {
		const struct sight *const sight = &scene->look->sights[i];
		bool has_any = false;
		DIR *directory = NULL;
		int fd;

		while (sight->state != 'D' &&
		       (fd = scene_next(&directory, sight->pid, "fd")) != -1) {
			has_any = true;
			note_end(scene, sight->pid, fd);
		}
		scene->has_missed |= !has_any;
	}
}

/* Says " from 4711, 4712": WORD, and the processes that have LINK open with
 * MODE; or " from itself". Returns how many processes, or -1 for itself. */
static int
say_ends(struct scene *scene, const char *link, mode_t mode, const char *word)
{
	pid_t last = 0;
	int count = 0;

	if (!scene->has_ends)
		read_ends(scene);
	for (size_t i = 0; i < scene->end_count; i++) {
		const struct end *const end = &scene->ends[i];

		if (end->pid == last || strcmp(end->link, link) != 0 ||
		    (end->mode & mode) != mode)
			continue;
		last = end->pid;
		say(scene, "%s", count == 0 ? word : "");
		say_pid(scene, count++, last);
	}
	return count == 1 && last == scene->sight->pid ? -1 : count;
}

static bool
is_output(const struct scene *scene, const char *link)
{
	bool is_one = false;

	for (int i = 0; i < LOOK_OUTPUTS; i++)
		is_one |= strcmp(link, scene->look->outputs[i]) == 0;
	return is_one;
}

/* Says ", holding the output open, fd 1,2" of a process that keeps the reader
 * of the command's output waiting. */
void
fd_say_output(struct scene *scene)
{
	const pid_t pid = scene->sight->pid;
	DIR *directory = NULL;
	int count = 0;
	int fd;

	while ((fd = scene_next(&directory, pid, "fd")) != -1) {
		char path[PATH_SIZE];
		char link[NAME_SIZE];
		const mode_t mode = read_link(path, pid, fd, link);

		if ((mode & S_IWUSR) == 0 || !is_output(scene, link))
			continue;
		if (count == 0)
			say(scene, "%sholding the output open, fd ",
			    scene->line.length == 0 ? "" : ", ");
		say(scene, count++ == 0 ? "%d" : ",%d", fd);
	}
}

/* --- one descriptor ------------------------------------------------------- */

static bool
say_pipe(struct scene *scene, const char *link, mode_t mode)
{
	const bool reads = (mode & S_IRUSR) != 0;
	const bool writes = (mode & S_IWUSR) != 0;
	int count = 1;

	say(scene, " (pipe");
	if (reads != writes)
		count = say_ends(scene, link, reads ? S_IWUSR : S_IRUSR,
		                 reads ? " from" : " to");
	if (count == 0 && !reads && is_output(scene, link))
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

	(void)snprintf(other, sizeof(other), SOCKET "%llu]", peer);

	const int count = peer == 0 ? 0 : say_ends(scene, other, 0, " with");

	say(scene, ")");
	return count != -1;
}

/* Says what NAME is, "[timerfd]" or "inotify". What a process makes ready
 * itself, or a timer, is plumbing of an event loop. */
static bool
say_anonymous(struct scene *scene, const char *name)
{
	const char *const word = name + strspn(name, "[");

	say(scene, " (%.*s)", (int)strcspn(word, "]"), word);
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
		return say_anonymous(scene, link + strlen(ANONYMOUS));
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

		(void)scene_read(scene_open("%d/fdinfo/%d", pid, fd), info,
		                 sizeof(info));

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
	const struct look *const look = scene->look;
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
	for (size_t i = 0; i <= look->count && rows == 1; i++) {
		const pid_t pid = i == 0 ? holder : look->sights[i - 1].pid;

		if (pid > 0 && holds_lock(pid, file))
			return pid;
	}
	return 0;
}
