#pragma once

#include <sys/stat.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct strbuf;

/* --- PID files ------------------------------------------------------------ */

/* A file that holds a PID, "4711\n". A shell script takes such a lock by "echo
 * $$ >FILE", and looks for its owner by "kill -0 $(cat FILE)". */
struct pidfile {
	int directory_fd;
	const char *name;   /* in that directory */
	int fd;             /* or -1 */
	struct stat status; /* of FD, when it was last opened or read */
};

/* Whether a file of STATUS, in DIRECTORY_FD, is no trap of another user: this
 * user or root owns it, or only they, or their group, can make files there. */
bool pidfile_is_trusted(int directory_fd, const struct stat *status);

/* Returns the PID in FILE; 0 if it is blank; or -1: EINVAL if it is neither. */
pid_t pidfile_read(struct pidfile *file);

/* Overwrites the content of FILE, which was read, by PID. Returns 0 or -1. */
int pidfile_write(const struct pidfile *file, pid_t pid);

/* --- --lock --------------------------------------------------------------- */

/* A file with an flock(2), which processes of a fork share, and with the PID of
 * its holder. We unlink it before we unlock it: so whoever gets the lock must
 * check that the name still refers to that file. */
struct lock {
	const char *path; /* of path_resolve() */
	struct pidfile file;
	pid_t holder;     /* if held: the living process that the file names; 0:
	                   * the file names none, but some process locks it */
	pid_t last_owner; /* if taken over: the dead process; else 0 */
};

struct lock_wait {
	int64_t deadline; /* of duration_now(), or NEVER */
	int parent_fd;    /* a pidfd; -1: it is not watched */
	uint64_t mask;    /* of the signals that stay blocked: signals.h */
};

/* Opens the directory of PATH, of path_resolve(). Returns 0, or -1. */
int lock_open(struct lock *lock, const char *path);

/* Takes all of the COUNT locks, or none. All signals have to be blocked. Waits
 * with no lock held, so that two runs cannot wait for each other. Returns 0; or
 * -1, *REFUSED and errno: EWOULDBLOCK if it is held at the deadline, ECANCELED
 * if the parent is dead, else for lock_error(). */
int lock_take_all(struct lock *locks, size_t count,
                  const struct lock_wait *wait, struct lock **refused);

/* Unlinks LOCK, which is taken, if its name still means this file, and the file
 * is blank or has a PID of OWNERS. Releases it in any case. Returns 0 or -1. */
int lock_release(struct lock *lock, const pid_t owners[2]);

/* Appends who has LOCK, which another process holds: "PID 4711 (sleep 10)". */
void lock_add_holder(const struct lock *lock, struct strbuf *line);

/* Like strerror(3), for WHY, an errno of a function in this header. */
const char *lock_error(int why);

/* --- --cleanup ------------------------------------------------------------ */

/* A lock that COMMAND makes, a file or (by mkdir(1)) a directory. A lock that
 * is still there when all processes of the run are dead is removed. A PID in it
 * tells which run made it; else that may be any run that names it and began
 * before. So a run that begins notes what is there, and claims what is made
 * later. One that ends spares what was there, or an older run claims. */
struct cleanup {
	const char *path;
	int64_t before; /* when what was there at the beginning was made, in
	                 * nanoseconds since the epoch; 0: nothing was there */
	int claim_fd;   /* the directory, with the claim; or -1 */
};

#define CLEANUP_UNKNOWN INT64_MAX /* BEFORE, where that is not known */

/* Notes what is at PATH, of path_resolve(), and claims what is made later. */
void cleanup_begin(struct cleanup *cleanup, const char *path);

/* Drops the claim of CLEANUP, and removes what the run has left: a file with
 * the PID of a dead process, or one of OWN (two PIDs, or 0), unless a process
 * has an flock(2) on it; with IS_OVER (all processes of the run are dead) also
 * a file without a PID, or an empty directory, by the rule above. Returns 1; 0
 * if there is nothing to remove; or -1 with an errno for lock_error(). */
int cleanup_end(const struct cleanup *cleanup, const pid_t own[2],
                bool is_over);
