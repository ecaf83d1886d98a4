#pragma once

/*
 * Replaces what a parser of the command line does to the world: messages are
 * noted, and what a parser must not do ends the program. The linker gives these
 * functions to each caller of the functions that they replace (ld(1), --wrap);
 * calls of the fuzzer itself are passed on.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "require.h"

#define STAGE_TEXT_SIZE 8192

struct stage_text {
	char bytes[STAGE_TEXT_SIZE];
	size_t length;
	int writes;
};

static struct {
	bool is_open;
	struct stage_text said;    /* on stderr */
	struct stage_text printed; /* on stdout */
	int resets; /* how many signals were set to their default */
	int signal; /* the last of these signals */
} stage;

static void
stage_open(void)
{
	stage.said.length = 0;
	stage.said.writes = 0;
	stage.printed.length = 0;
	stage.printed.writes = 0;
	stage.resets = 0;
	stage.is_open = true;
}

static void
stage_close(void)
{
	stage.is_open = false;
}

static void
note(struct stage_text *text, const void *bytes, size_t size)
{
	require(size <= sizeof(text->bytes) - text->length);
	memcpy(text->bytes + text->length, bytes, size);
	text->length += size;
	text->writes++;
}

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);

ssize_t
__wrap_write(int fd, const void *bytes, size_t size)
{
	if (!stage.is_open)
		return __real_write(fd, bytes, size);
	require(fd == STDOUT_FILENO || fd == STDERR_FILENO);
	note(fd == STDERR_FILENO ? &stage.said : &stage.printed, bytes, size);
	return (ssize_t)size;
}

int __real_fstat(int fd, struct stat *file);
int __wrap_fstat(int fd, struct stat *file);

/* stderr counts as a file, which can be written to at once. */
int
__wrap_fstat(int fd, struct stat *file)
{
	const int result = __real_fstat(fd, file);

	if (stage.is_open && result == 0)
		file->st_mode = S_IFREG;
	return result;
}

void __real_signal_reset(int signal);
void __wrap_signal_reset(int signal);

void
__wrap_signal_reset(int signal)
{
	if (!stage.is_open) {
		__real_signal_reset(signal);
		return;
	}
	stage.resets++;
	stage.signal = signal;
}

#define FORBIDDEN(type, name, parameters, ...)                                 \
	type __real_##name parameters;                                         \
	type __wrap_##name parameters;                                         \
	type __wrap_##name parameters                                          \
	{                                                                      \
		require(!stage.is_open);                                       \
		return __real_##name(__VA_ARGS__);                             \
	}

FORBIDDEN(int, open, (const char *path, int flags, mode_t mode), path, flags,
          mode)
FORBIDDEN(int, openat,
          (int directory, const char *path, int flags, mode_t mode), directory,
          path, flags, mode)
FORBIDDEN(int, mkdir, (const char *path, mode_t mode), path, mode)
FORBIDDEN(int, unlink, (const char *path), path)
FORBIDDEN(int, unlinkat, (int directory, const char *path, int flags),
          directory, path, flags)
FORBIDDEN(int, flock, (int fd, int operation), fd, operation)
FORBIDDEN(int, kill, (pid_t pid, int signal), pid, signal)
FORBIDDEN(pid_t, _Fork, (void))
FORBIDDEN(int, execv, (const char *path, char *const arguments[]), path,
          arguments)
FORBIDDEN(int, execvp, (const char *path, char *const arguments[]), path,
          arguments)
