#pragma once

/* Gives a fuzz target the inputs of its corpus, and rows of a table. */

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/target.h"

/* Where the target aborts, NAME was printed last. */
static void
replay(const char *name, const void *input, size_t size)
{
	(void)printf("replaying: %s\n", name);
	(void)fflush(stdout);
	(void)LLVMFuzzerTestOneInput(input, size);
}

/* Every file of FOLDER, below the directory of the sources by default. */
static void
replay_corpus(const char *folder)
{
	static char input[65536];
	DIR *const stream = opendir(folder);
	int count = 0;

	for (const struct dirent *file;
	     stream != NULL && (file = readdir(stream)) != NULL;) {
		char path[4096];

		(void)snprintf(path, sizeof(path), "%s/%s", folder,
		               file->d_name);

		FILE *const from = fopen(path, "r");

		if (file->d_name[0] == '.' || from == NULL)
			continue;
		replay(path, input, fread(input, 1, sizeof(input), from));
		(void)fclose(from);
		count++;
	}
	if (stream == NULL || closedir(stream) == -1 || count < 5) {
		(void)printf("%s: no corpus there\n", folder);
		exit(1);
	}
}
