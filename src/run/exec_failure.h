#pragma once

struct options;
struct exec_failure;

/* In the target, after execve(2) failed with ENOENT: looks whether COMMAND is
 * there all the same. If so, sets is_found of FAILURE, and the interpreter,
 * which is missing, from COMMAND's first line. Async-signal-safe. */
void exec_failure_look(const char *command, struct exec_failure *failure);

/* Prints why COMMAND could not be executed, and what may have been meant. */
void exec_failure_tell(const struct options *options,
                       const struct exec_failure *failure);
