#pragma once

struct run;
struct outcome;

/* Notes for the front, which may have to do the teardown, what RUN has left of
 * the tree. Comes before the outcome is sent through the status pipe. */
void teardown_note_tree(const struct run *run);

/* Removes the command's own lock files, the registry entry, and the locks of
 * RUN. Does nothing if this or the other watcher has done that before. May hang
 * where a file system does. */
void teardown(struct run *run);

/* Writes the report, with wdrun's OUTCOME. Takes five seconds at most. */
void teardown_report(struct run *run, struct outcome outcome);
