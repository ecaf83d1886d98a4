/* An entry that --reap can do nothing about. */
#include "frontless.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX 4096

static bool
is_frontless(const char *name)
{
	char path[512];
	char text[TEXT_MAX] = "";

	(void)snprintf(path, sizeof(path), "R/%s", name);

	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		return false;

	const ssize_t length = read(fd, text, sizeof(text) - 1);

	(void)close(fd);
	return length > 0 && strstr(text, "\nfront 0 ") != NULL;
}

bool
frontless_is_there(void)
{
	DIR *directory = opendir("R");
	const struct dirent *file;
	bool is_found = false;

	while (directory != NULL && (file = readdir(directory)) != NULL)
		is_found = is_found || is_frontless(file->d_name);
	if (directory != NULL)
		(void)closedir(directory);
	return is_found;
}
