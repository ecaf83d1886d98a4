/* Why a command cannot be executed. */
#include "inspect/command.h"

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

#define LINE_SIZE 256 /* as much as the kernel reads: BINPRM_BUF_SIZE */
#define SYNTAX    " \t\n;&|<>()$`="

/* Notes the interpreter that LINE names behind "#!", and a hidden CR. */
static void
note_interpreter(const char *line, char text[INTERPRETER_SIZE])
{
	const char *name = "the dynamic loader (ld.so)";
	size_t length = strlen(name);

	if (strncmp(line, "#!", strlen("#!")) == 0) {
		name = line + strlen("#!");
		name += strspn(name, " \t");
		length = strcspn(name, " \t\r\n");
	}
	(void)snprintf(text, INTERPRETER_SIZE, "%.*s%s", (int)length, name,
	               name[length] == '\r' ? "\\r (CR LF ends the line)" : "");
}

void
command_find_interpreter(const char *command, char name[INTERPRETER_SIZE])
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
			note_interpreter(line, name);
			return;
		}
		path = path[length] == '\0' ? NULL : path + length + 1;
	}
}

void
command_tell_failure(const char *command, int error, const char *interpreter,
                     bool is_timeout)
{
	const bool has_syntax = command[strcspn(command, SYNTAX)] != '\0';
	/* COMMAND was perhaps not meant as the name of a file. */
	const bool may_be_else = error == ENOENT && *command != '\0' &&
	                         (has_syntax || strchr(command, '/') == NULL);
	const char *const why = strerror(error);
	int64_t ns;

	if (is_timeout)
		message("failed to run command '%s': %s", command, why);
	else if (*interpreter != '\0')
		message("cannot run '%s': the interpreter is missing: %s",
		        command, interpreter);
	else if (may_be_else && *command <= '9' &&
	         duration_parse(command, &ns) == 0)
		message("cannot run '%s': no such program; did you mean -t %s?",
		        command, command);
	else
		message("cannot run '%s': %s", command,
		        may_be_else ? "no such program; shell syntax and "
		                      "built-ins need sh -c '...'"
		                    : why);
}
