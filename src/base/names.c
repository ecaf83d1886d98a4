/* Names in a directory. Not by readdir(3), with which malloc(3) would be
 * linked: see array.h. */
#include "base/names.h"

#include <sys/syscall.h>

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_SIZE 4096

/* struct linux_dirent64 of getdents64(2) */
struct entry {
	uint64_t inode; /* cppcheck-suppress unusedStructMember ; layout */
	int64_t next;   /* position of the next entry */
	uint16_t size;
	uint8_t type; /* cppcheck-suppress unusedStructMember ; layout */
	char name[];  /* null-terminated */
};

int
names_read(int fd, names_visit *call, void *context)
{
	_Alignas(struct entry) char chunk[CHUNK_SIZE];
	off_t here = lseek(fd, 0, SEEK_CUR); /* position of ENTRY */
	const struct entry *entry;
	long length;

	while ((length = syscall(SYS_getdents64, fd, chunk, sizeof(chunk))) >
	       0) {
		int result = 0;

		for (long at = 0; at < length && result == 0;
		     at += entry->size) {
			/* CHUNK is aligned, and the kernel aligns entries. */
			entry = (const void *)&chunk[at];
			if (strcmp(entry->name, ".") != 0 &&
			    strcmp(entry->name, "..") != 0)
				result = call(entry->name, context);
			if (result == 0)
				here = entry->next;
		}
		if (result == -1)
			return -1;
		if (result == NAMES_AGAIN)
			(void)lseek(fd, here, SEEK_SET);
	}
	return (int)length;
}
