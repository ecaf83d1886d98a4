/*
 * The names in a directory. Not by readdir(3), for which malloc(3) would be
 * linked: see array.h.
 */
#include "base/names.h"

#include <sys/syscall.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_SIZE 4096

/* As the kernel writes it: getdents64(2). */
struct entry {
	uint64_t inode; /* cppcheck-suppress unusedStructMember ; its place */
	int64_t next;   /* the position of the entry behind this one */
	uint16_t size;
	uint8_t type; /* cppcheck-suppress unusedStructMember ; likewise */
	char name[];  /* with a null byte */
};

struct visit {
	names_visit *call;
	void *context;
};

/* Calls VISIT for the entries in CHUNK, until its result is not 0. *HERE is the
 * position of the first entry, and then that of the last one visited. */
static int
visit_chunk(const char *chunk, long length, off_t *here,
            const struct visit *visit)
{
	const struct entry *entry;
	int result = 0;

	for (long at = 0; at < length; at += entry->size) {
		/* The kernel aligns each entry, and CHUNK is aligned. */
		entry = (const void *)&chunk[at];
		if (strcmp(entry->name, ".") != 0 &&
		    strcmp(entry->name, "..") != 0)
			result = visit->call(entry->name, visit->context);
		if (result != 0)
			return result;
		*here = entry->next;
	}
	return 0;
}

int
names_read(int fd, names_visit *call, void *context)
{
	const struct visit visit = { call, context };
	_Alignas(struct entry) char chunk[CHUNK_SIZE];
	off_t here = lseek(fd, 0, SEEK_CUR);
	long length;

	while ((length = syscall(SYS_getdents64, fd, chunk, sizeof(chunk))) >
	       0) {
		const int result = visit_chunk(chunk, length, &here, &visit);

		if (result == -1)
			return -1;
		if (result == NAMES_AGAIN)
			(void)lseek(fd, here, SEEK_SET);
	}
	return (int)length;
}
