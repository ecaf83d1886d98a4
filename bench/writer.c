/*
 * The command whose output relay.c measures.
 *
 * Usage: writer SIZE COUNT READY_FD ORDERS_FD
 *
 * Writes a byte to READY_FD when it runs. Then, for each byte that it reads
 * from ORDERS_FD, writes COUNT blocks of SIZE bytes to stdout, each with one
 * write(2). The first block after an order begins with the time, as an int64_t
 * in nanoseconds of CLOCK_MONOTONIC; the rest of it is a line.
 */
#include "common.h"

static void
write_all(const char *bytes, size_t size)
{
	while (size > 0) {
		const ssize_t written = write(STDOUT_FILENO, bytes, size);

		if (written == -1)
			fail("writer: stdout");
		bytes += written;
		size -= (size_t)written;
	}
}

int
main(int argc, char *argv[])
{
	char order;

	if (argc != 5) {
		(void)fprintf(stderr,
		              "usage: writer SIZE COUNT READY_FD ORDERS_FD\n");
		return 2;
	}

	const size_t size = (size_t)number(argv[1], 16, 1 << 20);
	const int count = number(argv[2], 1, INT32_MAX);
	const int ready_fd = number(argv[3], 3, INT32_MAX);
	const int orders_fd = number(argv[4], 3, INT32_MAX);
	char *const block = malloc(size);

	if (block == NULL)
		fail("malloc");
	memset(block, '.', size);
	block[size - 1] = '\n';

	if (write(ready_fd, "", 1) != 1)
		fail("writer: ready");
	(void)close(ready_fd);
	while (read(orders_fd, &order, 1) == 1) {
		const int64_t now = now_ns();

		memcpy(block, &now, sizeof(now));
		for (int i = 0; i < count; i++)
			write_all(block, size);
	}
	return 0;
}
