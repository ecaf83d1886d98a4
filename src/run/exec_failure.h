#pragma once

struct options;
struct statuspipe;

/* Looks, in the target, where execve(2) has said ENOENT, whether COMMAND is
 * there all the same: then the file is_found, and what its first line names as
 * the interpreter is missing. Async-signal-safe. */
void exec_failure_look(const char *command, struct statuspipe *entry);

/* Says why COMMAND could not be executed, and what may have been meant. */
void exec_failure_tell(const struct options *options,
                       const struct statuspipe *status);
