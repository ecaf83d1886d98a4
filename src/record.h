#ifndef WDRUN_RECORD_H
#define WDRUN_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>

#include "registry.h"

/* For the text of an entry, and what shows that it is too large. */
#define RECORD_TEXT_SIZE (ENTRY_TEXT_MAX + 2)

/* Where this process looks from. */
struct record_place {
	char boot[BOOT_ID_SIZE];
	struct utsname host;
	uint64_t pid_namespace;
	uint64_t time_namespace;
	bool is_known; /* and /proc tells of the processes there */
};

struct record_place record_look_around(void);

/* Whether there is what it takes to know the processes on record from others.
 * Tells in the name of OPTION if there is not. */
bool record_can_look(const char *option);

/* Whether the open file of RECORD is what its name in the directory stands for.
 * Returns 1, 0, or -1 with errno where that cannot be told. */
int record_has_name(const struct record *record);

/*
 * Reads the file record->file in record->directory_fd, and how its run fares
 * as seen from PLACE, into RECORD and TEXT, to which it points. Returns 1, and
 * the caller closes record->fd if that is not -1; 0 where there is no such
 * record (any more); or -1 with errno, where that cannot be told for want of
 * memory or descriptors.
 */
int record_read(struct record *record, char text[RECORD_TEXT_SIZE],
                const struct record_place *place);

#endif
