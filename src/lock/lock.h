#pragma once

#include <sys/stat.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct strbuf;

/* Why a file is not locked, removed or replaced. */
enum refusal {
	REFUSAL_NONE,
	REFUSAL_ERRNO,    /* a call failed: see errno */
	REFUSAL_NO_PID,   /* the content is something else */
	REFUSAL_NO_FILE,  /* a symbolic link, or not a regular file */
	REFUSAL_ANOTHERS, /* it may be a trap of another user */
	REFUSAL_HELD,
	REFUSAL_CHANGING, /* others change it, or may be writing a PID */
	REFUSAL_PARENT_DIED,
	REFUSAL_READER_GONE,
	REFUSAL_CLAIMED, /* --cleanup: perhaps another run's */
	REFUSAL_UNKNOWN, /* --cleanup: perhaps older than the run */
	REFUSAL_UNTOLD,  /* --cleanup: it is not this run's, or gone */
};

/* Returns WHY in words, if it is one to tell; REFUSAL_ERRNO as strerror(3). */
const char *refusal_words(enum refusal why);

/* --- PID files ------------------------------------------------------------ */

/* A file that holds a PID, "4711\n". A shell script takes such a lock by "echo
 * $$ >FILE", and looks for its owner by "kill -0 $(cat FILE)". wdrun marks its
 * own PID by a second newline: that counts only while the file is locked by
 * flock(2), whoever has the PID when the run is dead. A third one says that the
 * file was there before, and blank. */
struct pidfile {
	int directory_fd;
	const char *name;   /* in that directory */
	int fd;             /* or -1 */
	struct stat status; /* of FD, when it was last opened or read */
	pid_t pid;          /* that was read; or 0 */
	bool is_marked;
	bool was_blank; /* by the mark: a file for flock(1), made by no run */
};

/* Returns REFUSAL_ANOTHERS if a file of STATUS, in DIRECTORY_FD, may be another
 * user's trap: where others than root or the group can make files, this user or
 * root has to own it, and it may have no second name. REFUSAL_NO_FILE if it is
 * not a regular file. */
enum refusal pidfile_check(int directory_fd, const struct stat *status);

/* Reads FILE: a PID, or blanks. Any other text is REFUSAL_NO_PID: then PID is
 * the number with which it begins, or that of a JSON key "pid", or 0. */
enum refusal pidfile_read(struct pidfile *file);

/* Overwrites FILE, which was read, by PID and mark, which tells WAS_BLANK.
 * Returns 0 or -1. */
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
	int reader_fd;    /* written to; -1: its reader is not watched */
	uint64_t mask;    /* of the signals that stay blocked: signals.h */
};

/* Opens the directory of PATH, of path_resolve(). Returns 0, or -1. */
int lock_open(struct lock *lock, const char *path);

/* Takes all of the COUNT locks, or none. All signals have to be blocked. Waits
 * with no lock held, so that two runs cannot wait for each other. Returns
 * REFUSAL_NONE, or why *REFUSED was not taken: REFUSAL_HELD at the deadline. */
enum refusal lock_take_all(struct lock *locks, size_t count,
                           const struct lock_wait *wait, struct lock **refused);

/* Releases LOCK. First unlinks its file, if that is blank or has a PID of
 * OWNERS, and the name still means it; or empties it, if WAS_BLANK is set or
 * unlinkat(2) fails. Returns 0 or -1. */
int lock_release(const struct lock *lock, const pid_t owners[2]);

/* Appends who has LOCK, which another process holds: "PID 4711 (sleep 10)". */
void lock_add_holder(const struct lock *lock, struct strbuf *line);

/* --- --cleanup ------------------------------------------------------------ */

/* A lock that COMMAND makes, a file or (by mkdir(1)) a directory. A PID in it
 * tells which run made it. Without a PID, any run that names it, and is older,
 * may have made it. So a run notes at its beginning what is there, and claims
 * what comes later. When all its processes are dead, it removes what is left
 * there, but neither what was there, nor what an older run claims. */
struct cleanup {
	const char *path;
	int64_t before; /* what was there at the beginning: when it was made, in
	                 * ns since the epoch; where there are no times of birth
	                 * its inode number, below 0; 0: nothing was there */
	int claim_fd;   /* the directory, with the claim; or -1 */
};

#define CLEANUP_UNKNOWN INT64_MAX /* BEFORE, where that is not known */

/* Notes what is at PATH, of path_resolve(), and claims what is made later. */
void cleanup_begin(struct cleanup *cleanup, const char *path);

/* Drops the claim, and removes what the run has left: a file with the PID of a
 * dead process, or one of OWN (two PIDs, or 0), unless a process has a lock on
 * it; if IS_OVER (all processes of the run are dead) also what has no PID, by
 * the rule above. Returns REFUSAL_NONE if it has. */
enum refusal cleanup_end(const struct cleanup *cleanup, const pid_t own[2],
                         bool is_over);
