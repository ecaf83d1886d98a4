#pragma once

#include <assert.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* The number of failures so far, which main returns. */
static int failures;

/* Prints which row of a table is wrong, and continues with the next row. */
#define CHECK(claim, name)                                                     \
	do {                                                                   \
		if (!(claim)) {                                                \
			(void)printf("%s: not so: %s\n", name, #claim);        \
			failures++;                                            \
		}                                                              \
	} while (0)

/*
 * A fuzz target: gives the parser SIZE bytes of DATA, and aborts where it reads
 * them wrongly. A file that has one is a fuzzer, too, which -DFUZZ leaves
 * without the unit test.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Gives TARGET the files of its corpus, below the directory of the sources.
 * Where it aborts, the last name that was printed is that of the input. */
static inline void
replay(int (*target)(const uint8_t *, size_t), const char *corpus)
{
	static uint8_t input[65536];
	glob_t files = { .gl_pathc = 0 };

	CHECK(glob(corpus, 0, NULL, &files) == 0, corpus);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		FILE *const from = fopen(files.gl_pathv[i], "r");

		(void)fprintf(stderr, "replaying %s\n", files.gl_pathv[i]);
		assert(from != NULL);
		(void)target(input, fread(input, 1, sizeof(input), from));
		(void)fclose(from);
	}
	globfree(&files);
}
