#ifndef WDRUN_ENTRYKEYS_H
#define WDRUN_ENTRYKEYS_H

#include <stdbool.h>
#include <stddef.h>

/* What an entry consists of: for entry.c, which writes it, and entryreader.c,
 * and nobody else. */

#define ENTRY_FIRST_LINE "wdrun 1\n" /* the version of the format */
#define ENTRY_LAST_LINE  "end\n"     /* or it is not whole */

/* In a value, these and the backslash are escaped. */
#define ENTRY_FIRST_VISIBLE 0x20
#define ENTRY_DELETE        0x7f

enum entry_kind {
	KIND_TEXT,
	KIND_NUMBER,
	KIND_TIME,
	KIND_DURATION, /* a time, or "never" */
	KIND_IDENTITY,
	KIND_SESSION,
	KIND_LOCK,
	KIND_CLEANUP,
	KIND_ARGUMENT,
	KIND_CUT,
};

struct entry_key {
	const char *word;
	size_t offset; /* in struct entry */
	enum entry_kind kind;
	bool is_needed;
};

#define ENTRY_KEY_COUNT 19

/* In the order in which they are written. */
extern const struct entry_key entry_keys[ENTRY_KEY_COUNT];

#endif
