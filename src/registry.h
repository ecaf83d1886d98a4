#ifndef WDRUN_REGISTRY_H
#define WDRUN_REGISTRY_H

#include <stdbool.h>

#include "entry.h"

/* The registry: a directory with a file "ID.run" for each run on record. */
#define REGISTRY_SUFFIX ".run"

/* Behind ".ID", the file that is to become it, in a file system which knows no
 * O_TMPFILE. */
#define REGISTRY_UNFINISHED ".new"

/* Modes of sys/stat.h that neither it nor a file in it may have: others could
 * put somebody's PID there. */
#define REGISTRY_FORBIDDEN (S_IWGRP | S_IWOTH)

enum record_state {
	RECORD_RUNNING,
	RECORD_STOPPING,  /* as one of its watchers says, or is dead */
	RECORD_ORPHANED,  /* both are */
	RECORD_OLD,       /* from before the last boot */
	RECORD_ELSEWHERE, /* from another PID namespace: nothing can be said */
	RECORD_BROKEN,    /* no entry that could be read */
};

struct record {
	const char *file; /* its name in the directory */
	int directory_fd;
	int fd; /* the open file; or -1, of a broken one */
	enum record_state state;
	int why;            /* of a broken one: errno, see registry_tell */
	struct entry entry; /* if it is not broken */
};

/*
 * Opens the registry: the directory GIVEN, or where that is NULL
 * $WDRUN_REGISTRY, $XDG_STATE_HOME/wdrun or ~/.local/state/wdrun, made (mode
 * 0700, with its parents) if it is not there and TO_MAKE. It has to be this
 * user's own, and nobody else may be able to write it. Returns a descriptor,
 * close-on-exec; or -1: with errno ENOENT where there is none and it was not to
 * be made, nothing being said; else errno is 0 and what is wrong was told.
 */
int registry_open(const char *given, bool to_make);

/* Whether a run is to be registered without being told to: $WDRUN_REGISTRY. */
bool registry_is_wanted(void);

/* Puts ENTRY, with COMMAND (see entry_format), on record, whole or not at all.
 * Returns 0, or -1 with errno. */
int registry_add(int directory_fd, const struct entry *entry,
                 char *const command[]);

/* Takes the run ID off the record, and what may be left of an unfinished
 * registry_add for it. Returns 0, also where it was not there; or -1 with
 * errno of unlink(2). */
int registry_remove(int directory_fd, const char *id);

/* Whether the file of RECORD is called as that of the run ID. */
bool registry_is_called(const struct record *record, const char *id);

/* Called for one record. Returns 0 to go on, else that ends the walk. */
typedef int registry_visit(const struct record *record, void *context);

/*
 * Calls VISIT for each record there is, in the order of their start by the wall
 * clock, the broken ones last. What it is given is gone when it returns. A
 * record that is gone before its turn is left out, as is one whose run has
 * ended meanwhile. VISIT may take records away. Returns what VISIT did, or -1
 * with errno.
 */
int registry_visit_all(int directory_fd, registry_visit *visit, void *context);

/* Removes unfinished files whose writers were killed. */
void registry_tidy(int directory_fd);

/* Tells in one line what is wrong with RECORD, a broken one. */
void registry_tell(const struct record *record);

/* "running", "stopping", "orphaned"… */
const char *registry_state_name(enum record_state state);

#endif
