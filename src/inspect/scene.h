#pragma once

/* What the rooms of this folder share. All of it runs in the helper of a look,
 * in the directory /proc; each call may hang, and is killed then. */

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

#define ENDS_MAX  4096
#define FDS_MAX   64
#define ARGS      6
#define LINK_SIZE 32 /* holds "socket:[4294967295]" */

struct look;
struct tree;
struct sight;

/* What a thread waits for, the less telling first: of several threads, the one
 * with the last of these waits is described. What idle threads do comes up to
 * WAIT_SLEEP; then waits for something of the process itself; then waits for
 * something outside. */
enum wait {
	WAIT_DEAD, /* nothing */
	WAIT_OTHER,
	WAIT_SIGNAL,
	WAIT_FUTEX,
	WAIT_SLEEP,
	WAIT_ACCEPT,
	WAIT_RING, /* io_uring */
	WAIT_EPOLL,
	WAIT_SELECT,
	WAIT_POLL,
	WAIT_CHILD,
	WAIT_MOVE, /* data from one descriptor to another */
	WAIT_READ,
	WAIT_SYNC,
	WAIT_WRITE,
	WAIT_CONNECT,
	WAIT_OPEN,
	WAIT_LOCK, /* on a file */
	WAIT_STOPPED,
	WAIT_DISK, /* a thread in state D, whatever it waits for */
	WAIT_CPU,
	WAIT_COUNT,
};

/* A thread and its system call. */
struct thread {
	pid_t pid; /* of its process */
	pid_t id;
	char state;        /* proc(5) */
	char call[256];    /* /proc/PID/task/ID/syscall; "": not readable */
	char function[64]; /* of the kernel, from wchan; "": not known */
	int alike;         /* threads in the same wait, this one included */

	/* What thread_parse() finds. */
	enum wait wait;
	long number; /* of the call; -1: in none, or not known */
	uint64_t args[ARGS];
	int fd;         /* that the call uses; OPEN: its flags, -1: not known */
	int other;      /* MOVE: where to. CHILD: a PID, 0: any, -1: some */
	uint64_t path;  /* OPEN: its address */
	bool has_limit; /* there is a time limit */
	int64_t limit;  /* in nanoseconds; NEVER: not known, or none */
};

/* One of the descriptors of the tree. */
struct end {
	pid_t pid;
	int fd;
	mode_t mode; /* S_IRUSR: open for reading; S_IWUSR: for writing */
	char link[LINK_SIZE];
};

/* What a thread polls. */
struct fdset {
	size_t count;
	bool has_more; /* FDS does not have all */
	int fds[FDS_MAX];
};

struct scene {
	struct look *look;
	const struct tree *tree;

	/* Of the process that is being described. */
	struct sight *sight;
	struct thread thread; /* the one that is described */
	long threads;
	struct strbuf line; /* the words so far */
	int64_t timer;      /* until the first timer that it polls; NEVER */

	/* The pipes, sockets and terminals of the tree, each process's
	 * together; read when the first is asked for. */
	bool has_ends;
	bool has_missed; /* some are not known */
	size_t end_count;
	struct end ends[ENDS_MAX];
};

/* look.c: reads the start of a file in /proc as a string. Returns its length,
 * or -1 with TEXT "". */
__attribute__((format(printf, 3, 4))) ssize_t
scene_read(char *text, size_t size, const char *format, ...);

/* LINE of a table from field NUMBER on, counted from 0. */
const char *scene_field(const char *line, int number);

/* The numbers that are names in the directory PID/NAME, one with each call, and
 * then -1. *DIRECTORY is NULL before the first, and after the last. */
int scene_next(DIR **directory, pid_t pid, const char *name);

__attribute__((format(printf, 2, 3))) void say(struct scene *scene,
                                               const char *format, ...);

/* call.c: CALL or else FUNCTION of THREAD; its memory, of which a part may be
 * read; and what it polls. */
void thread_parse(struct thread *thread);
size_t thread_read_memory(const struct thread *thread, uint64_t address,
                          void *data, size_t size);
void thread_fds(const struct thread *thread, struct fdset *set);

/* blocked.c: finds WAIT, CODE and ENDS of the process. */
void blocked_describe(struct scene *scene);

/* fd.c: says "fd 0 (pipe from 4711)", and returns whether something outside of
 * the process makes the descriptor ready; says that the process holds the
 * command's output open; finds who holds the lock that it waits for, or 0. */
bool fd_say(struct scene *scene, int fd);
void fd_say_output(struct scene *scene);
pid_t fd_lock_holder(struct scene *scene);
void scene_add_end(struct scene *scene, pid_t pid);

/* socket.c: says " (TCP 127.0.0.1:80 …" of the socket INODE, which is at PATH.
 * Returns the inode of the other end of a Unix socket, or 0. */
unsigned long long socket_say(struct scene *scene, const char *path,
                              unsigned long long inode);
