/* Why COMMAND could not be executed: the target, which can still look at the
 * file, notes what it sees, and the front prints it. */
#include "run/exec_failure.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/message.h"
#include "run/run.h"
#include "watchdog.h"

#define LINE_SIZE 256 /* as much as the kernel reads: BINPRM_BUF_SIZE */
#define SYNTAX    " \t\n;&|<>()$`"

/* Notes the interpreter that the first LINE of a script names behind "#!". A
 * CR, which an editor may not show, becomes "\r". */
static void
note_interpreter(const char *line, struct exec_failure *failure)
{
	failure->is_found = true;
	if (strncmp(line, "#!", strlen("#!")) != 0)
		return;
	line += strlen("#!");
	line += strspn(line, " \t");

	const size_t length = strcspn(line, " \t\r\n");

	(void)snprintf(failure->interpreter, sizeof(failure->interpreter),
	               "%.*s%s", (int)length, line,
	               line[length] == '\r' ? "\\r" : "");
}

void
exec_failure_look(const char *command, struct exec_failure *failure)
{
	const char *path = strchr(command, '/') == NULL ? getenv("PATH") : "";

	while (path != NULL) {
		const size_t length = strcspn(path, ":");
		char file[PATH_MAX];
		char line[LINE_SIZE] = "";

		(void)snprintf(file, sizeof(file), "%.*s%s%s", (int)length,
		               path, length == 0 ? "" : "/", command);

		const int fd =
		    open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

		/* read(2) refuses a directory of that name. */
		if (fd != -1 && read(fd, line, sizeof(line) - 1) > 0) {
			note_interpreter(line, failure);
			return;
		}
		path = path[length] == '\0' ? NULL : path + length + 1;
	}
}

void
exec_failure_tell(const struct options *options,
                  const struct exec_failure *failure)
{
	const char *const command = options->command[0];
	const bool has_syntax = command[strcspn(command, SYNTAX)] != '\0';
	const bool has_slash = strchr(command, '/') != NULL;
	const bool has_equals = strchr(command, '=') != NULL;
	/* COMMAND was perhaps not meant as the name of a file. */
	const bool may_be_else = failure->why == ENOENT && *command != '\0' &&
	                         (!has_slash || has_syntax || has_equals);
	const char *why = strerror(failure->why);
	const char *word = "";
	const char *end = "";
	int64_t ns;

	if (options->is_timeout) {
		message("failed to run command '%s': %s", command, why);
		return;
	}
	if (failure->is_found) {
		why = "the interpreter is missing: ";
		word = *failure->interpreter == '\0'
		           ? "the dynamic loader (ld.so)"
		           : failure->interpreter;
		end =
		    strchr(word, '\\') == NULL ? "" : " (CR LF ends the line)";
	} else if (may_be_else && *command <= '9' &&
	           duration_parse(command, &ns) == 0) {
		why = "no such program; did you mean -t ";
		word = command;
		end = "?";
	} else if (may_be_else && has_equals && !has_syntax) {
		why = "no such program; to set a variable: env ";
		word = command;
	} else if (may_be_else) {
		why = "no such program; shell syntax and built-ins need "
		      "sh -c '...'";
	}
	message("cannot run '%s': %s%s%s", command, why, word, end);
}
