#pragma once

struct run;
struct outcome;

/* In a supervisor whose front is dead: has a helper write the supervisor's PID
 * into the locks, where the front's stands. */
void teardown_hand_over(struct run *run);

/* Notes for the front, which may have to do the teardown, how RUN has left the
 * tree. Comes before the outcome is sent through the status pipe. */
void teardown_note_tree(const struct run *run);

/* Puts in order what RUN has besides processes: removes the command's own lock
 * files, the registry entry, and the locks. Does nothing if that was done
 * before, by this watcher or the other. Takes ten seconds at most. */
void teardown(struct run *run);

/* Writes the report, with OUTCOME as that of wdrun. Takes five seconds at most.
 */
void teardown_report(struct run *run, struct outcome outcome);
