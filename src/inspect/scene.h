#pragma once

/* What the files of this folder share. All of it runs in a look, in the
 * directory /proc. No file system outside of /proc is asked: a look may not
 * hang. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "proc/procfs.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define ENDS_MAX     4096
#define ARGS         6
#define NAMED_MAX    7 /* polled descriptors that are named; Chrome polls 7 */

/* What a thread waits for, in rising order of what that tells: up to WAIT_LOOP
 * it may be idle, or wait for another thread; the rest is outside of it. The
 * greatest of a process is described. */
enum wait {
	WAIT_DEAD, /* nothing */
	WAIT_OTHER,
	WAIT_SIGNAL,
	WAIT_SLEEP,
	WAIT_FUTEX,
	WAIT_LOOP, /* only as a rank: for timers, events, its own pipes */
	WAIT_ACCEPT,
	WAIT_CHILD, /* the child is shown, too */
	WAIT_EPOLL,
	WAIT_SELECT,
	WAIT_POLL,
	WAIT_READ,
	WAIT_WRITE,
	WAIT_IO, /* input or output of another kind */
	WAIT_FS,
	WAIT_LOCK, /* on a file */
	WAIT_FIFO, /* to open it */
	WAIT_VFORK,
	WAIT_FROZEN,
	WAIT_STOPPED,
	WAIT_DISK, /* only as a rank: state D, unless WAIT tells more */
	WAIT_COUNT,
};

struct thread {
	pid_t id;
	char state; /* proc(5) */
	bool handles_sigchld;
	char call[256];    /* /proc/ID/syscall; "": not readable */
	char function[64]; /* of the kernel, from wchan; "": not known */

	/* What thread_parse() finds. */
	enum wait rank;
	enum wait wait;
	const char *words; /* of WAIT, if it has any; set to "" before */
	long number;       /* of the call; -1: in none, or not known */
	uint64_t args[ARGS];
};

struct descriptor {
	pid_t pid;
	mode_t mode;    /* S_IRUSR: for reading; S_IWUSR: for writing; 0: ? */
	char path[32];  /* PID/fd/FD, */
	char link[256]; /* which leads to "pipe:[4711]"; "": not known */
};

struct scene {
	struct look *look;
	int64_t until;   /* when the look at the process has to end */
	bool is_partial; /* LOOK does not have the whole tree */

	/* Of the process that is being described. */
	struct sight *sight;
	struct thread thread; /* the one that is described */
	size_t threads;
	struct strbuf line; /* the words so far */

	bool polls;           /* the thread polls a descriptor */
	int named[NAMED_MAX]; /* those that are named */
	int named_count;
	bool has_more; /* more could be named, or are not known */

	/* The lock that a thread waited for last, as a text, and its holder. */
	char lock[256];
	pid_t holder;

	/* The descriptors of the tree, process by process. */
	size_t end_count;
	struct descriptor ends[ENDS_MAX];
};

/* Adds words to LINE, by a format and its arguments. */
#define say(scene, ...) strbuf_addf(&(scene)->line, __VA_ARGS__)

/* blocked.c: thread_parse() fills the second part of THREAD from the first;
 * blocked_describe() writes sight->wait, of the thread that tells most. */
void thread_parse(struct thread *thread);
void blocked_describe(struct scene *scene);

/* What makes a descriptor ready, in rising order of what that tells. */
enum source {
	SOURCE_OWN,    /* the process itself, or a timer */
	SOURCE_PIPE,   /* its own pipe: told where poll(2) has that alone */
	SOURCE_EVENTS, /* signals, or changes of files */
	/* May rightly be silent: keys, the caller, new clients, a parent. */
	SOURCE_IDLE,
	SOURCE_OTHERS,
};

/* fd.c: fd_say() says "fd 0 (pipe from 4711)", of the thread's descriptor FD;
 * fd_say_holder() says who has the lock that the thread waits for;
 * fd_say_output() says ", holding the output open, fd 1,2", if the process
 * does. fd_pid() returns the process of a pidfd, or 0. */
enum source fd_say(struct scene *scene, int fd);
void fd_say_holder(struct scene *scene);
pid_t fd_pid(const struct scene *scene, int fd);
void fd_say_output(struct scene *scene);
