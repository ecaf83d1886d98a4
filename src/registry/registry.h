#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct entry;
struct strbuf;

/* The registry: a directory with a file "ID.run" (entry.h) for each run. */
#define REGISTRY_FILE_SIZE (NAME_MAX + 1) /* of a file's name */

/* Neither the directory nor a file in it may have these modes of sys/stat.h:
 * another user could put the PID of any process of this user into a file. */
#define REGISTRY_FORBIDDEN (S_IWGRP | S_IWOTH)

/* Whether $WDRUN_REGISTRY is set, and not empty: then a run needs no option to
 * be registered. */
bool registry_is_wanted(void);

/* Appends to LINE the path of the registry that registry_open() opens. Returns
 * 0, or -1 after a message. */
int registry_find(struct strbuf *line, const char *given);

/*
 * Opens the registry: the directory GIVEN, or where GIVEN is NULL
 * $WDRUN_REGISTRY, $XDG_STATE_HOME/wdrun or ~/.local/state/wdrun. A missing
 * directory is made if TO_MAKE (mode 0700, with its parents). The directory has
 * to belong to the effective user, be writable by no other user, and hold only
 * entries. Returns a descriptor, close-on-exec; or -1: with errno ENOENT and no
 * message where the directory is missing and not to be made; else after a
 * message, with errno 0.
 */
int registry_open(const char *given, bool to_make);

/* Puts ENTRY, with COMMAND (see entry_format), on record, whole or not at all.
 * Returns 0, or -1 with errno. */
int registry_add(int directory_fd, const struct entry *entry,
                 char *const command[]);

/* Removes the entry of the run ID; if there is none, what a registry_add() that
 * was killed may have left. Returns 0, or -1 with errno of unlink(2). */
int registry_remove(int directory_fd, const char *id);

/* Writes the name of the file of the run ID into FILE. Returns FILE. */
const char *registry_name_file(char file[REGISTRY_FILE_SIZE], const char *id);

/* The names of files in the registry. */
struct registry_names {
	char (*files)[REGISTRY_FILE_SIZE];
	size_t count;
	size_t capacity;
};

/* Reads into NAMES, which is empty, the names of all records, in the order in
 * which the runs began. Returns 0, or -1 with errno. The caller frees
 * names->files in both cases. */
int registry_list(int directory_fd, struct registry_names *names);

/* Removes unfinished entries whose writers were killed. */
void registry_tidy(int directory_fd);
