/*
 * Any names in a directory: it is a registry if nothing but entries and hidden
 * files are there; all entries are listed, each once; and what is not an
 * unfinished entry stays.
 */
#include "registry/registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "proc/runid.h"
#include "require.h"

#define NAMES_MAX 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[] = "/tmp/wdrun-fuzz.XXXXXX";
static int directory_fd = -1;

static void
remove_directory(void)
{
	(void)rmdir(directory);
}

static void
make_directory(void)
{
	if (directory_fd != -1)
		return;
	require(mkdtemp(directory) != NULL);
	directory_fd = open(directory, O_RDONLY | O_DIRECTORY);
	require(directory_fd != -1);
	(void)atexit(remove_directory);
}

/* Whether NAME is "PID-HEX" and SUFFIX, as a simple reader sees it. */
static bool
is_id_and(const char *name, const char *suffix)
{
	const char *at = name;

	while (*at >= '0' && *at <= '9')
		at++;
	if (at == name || *at++ != '-')
		return false;

	const char *const start = at;

	while ((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'))
		at++;
	return at != start && at - name < RUNID_SIZE && strcmp(at, suffix) == 0;
}

/* Makes a file of each line of DATA. Returns how many entries these are, and in
 * *STRANGERS how many files are neither entries nor hidden. */
static size_t
make_files(const uint8_t *data, size_t size, size_t *strangers)
{
	char text[4096];
	size_t entries = 0;
	size_t count = 0;

	memcpy(text, data, size);
	text[size] = '\0';
	*strangers = 0;
	for (char *name = strtok(text, "\n"); name != NULL && count < NAMES_MAX;
	     name = strtok(NULL, "\n")) {
		if (strchr(name, '/') != NULL)
			continue;

		const int fd = openat(directory_fd, name,
		                      O_WRONLY | O_CREAT | O_EXCL, 0600);

		if (fd == -1) /* too long, or there already */
			continue;
		(void)close(fd);
		count++;
		if (is_id_and(name, ".run"))
			entries++;
		else if (*name != '.')
			++*strangers;
	}
	return entries;
}

/* Removes all files. Returns how many of them are not hidden. */
static size_t
remove_files(void)
{
	DIR *const stream = opendir(directory);
	const struct dirent *file;
	size_t count = 0;

	require(stream != NULL);
	while ((file = readdir(stream)) != NULL) {
		if (strcmp(file->d_name, ".") == 0 ||
		    strcmp(file->d_name, "..") == 0)
			continue;
		count += file->d_name[0] != '.';
		require(unlinkat(directory_fd, file->d_name, 0) == 0);
	}
	(void)closedir(stream);
	return count;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct registry_names names = { .files = NULL };
	size_t strangers;

	if (size >= 4096)
		return 0;
	make_directory();

	const size_t entries = make_files(data, size, &strangers);
	const int stderr_fd = dup(STDERR_FILENO);
	const int null_fd = open("/dev/null", O_WRONLY);

	/* The messages would fill the fuzzer's log. */
	require(dup2(null_fd, STDERR_FILENO) == STDERR_FILENO);
	const int fd = registry_open(directory, false);
	require(dup2(stderr_fd, STDERR_FILENO) == STDERR_FILENO);
	(void)close(stderr_fd);
	(void)close(null_fd);
	require((fd == -1) == (strangers > 0));
	if (fd != -1)
		(void)close(fd);

	require(registry_list(directory_fd, &names) == 0);
	require(names.count == entries);
	for (size_t i = 0; i < names.count; i++) {
		require(is_id_and(names.files[i], ".run"));
		require(i == 0 ||
		        strcmp(names.files[i - 1], names.files[i]) != 0);
	}
	array_free(names.files, names.capacity * sizeof(names.files[0]));
	registry_tidy(directory_fd);
	require(remove_files() == entries + strangers);
	return 0;
}
