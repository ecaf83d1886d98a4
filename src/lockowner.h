#ifndef WDRUN_LOCKOWNER_H
#define WDRUN_LOCKOWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Whose a lock file is, by the PID in it: "4711\n", as shell scripts write it
 * with "echo $$ >FILE" and ask "kill -0 $(cat FILE)". */

enum lockowner {
	LOCKOWNER_ALIVE,
	LOCKOWNER_DEAD,
	LOCKOWNER_REUSED, /* what has the PID now started after the writing */
};

/*
 * Reads the LENGTH bytes of TEXT, all that is in the file. Returns the PID; 0
 * where there is nothing but blanks; or -1 with errno EINVAL where there is
 * anything else, be it a number that kill(2) would not take.
 */
pid_t lockowner_parse(const char *text, size_t length);

/*
 * What has become of the process PID that was written into a file at
 * WRITTEN_AT, nanoseconds since the epoch. A zombie is dead. Without /proc,
 * what has the PID is taken for the owner.
 */
enum lockowner lockowner_look(pid_t pid, int64_t written_at);

/* Reads the PID in the open file FD. Returns as lockowner_parse, or -1 with
 * errno of read(2). */
pid_t lockowner_read(int fd);

/* The same, and in *OWNER what became of it. */
pid_t lockowner_of(int fd, enum lockowner *owner);

/*
 * Whether the file FD, which is empty, was made or emptied less than a tenth of
 * a second ago: "echo $$ >FILE" makes it first, and then writes. The other
 * waits until that is over.
 */
bool lockowner_is_awaited(int fd);
void lockowner_await(int fd);

/* Writes PID into the open file FD, which has SIZE bytes, in one piece. Returns
 * 0, or -1 with errno of write(2). */
int lockowner_write(int fd, pid_t pid, uint64_t size);

#endif
