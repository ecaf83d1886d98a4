/* The memory of another process. */
#include "peek.h"

#include <sys/auxv.h>
#include <sys/uio.h>

ssize_t
peek(pid_t pid, uint64_t address, void *data, size_t size)
{
	const size_t page = getauxval(AT_PAGESZ);
	const size_t to_page_end = page - (size_t)(address % page);
	const size_t first = size < to_page_end ? size : to_page_end;
	const struct iovec local = { .iov_base = data, .iov_len = size };
	/* What is asked for as one piece comes as a whole or not at all:
	 * process_vm_readv(2). The next page may not be there. */
	/* Addresses of another process, which nobody follows here. */
	const struct iovec remote[] = {
		/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
		{ (void *)(uintptr_t)address, first },
		/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
		{ (void *)(uintptr_t)(address + first), size - first },
	};

	return process_vm_readv(pid, &local, 1, remote, first < size ? 2 : 1,
	                        0);
}
