#ifndef WDRUN_SNAPSHOT_H
#define WDRUN_SNAPSHOT_H

#include <stdint.h>

/*
 * Which file a path named at some moment. All 0: none. With the moment of its
 * birth, where the file system knows that, since the number of an inode may be
 * given away again at once.
 */
struct snapshot {
	uint64_t device;
	uint64_t inode;
	int64_t birth; /* nanoseconds since the epoch */
};

#endif
