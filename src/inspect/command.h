#pragma once

#include <stdbool.h>

#define INTERPRETER_SIZE 100

/* After execvp(3) of COMMAND has failed with ENOENT: if COMMAND itself is
 * there, stores in NAME the interpreter that then is missing. */
void command_find_interpreter(const char *command, char name[INTERPRETER_SIZE]);

/* Prints that COMMAND was not executed, because of ERROR, an errno, and a
 * missing INTERPRETER, or ""; or in the words of timeout(1). */
void command_tell_failure(const char *command, int error,
                          const char *interpreter, bool is_timeout);
