/*
 * pattern write SEED BYTES [SEED BYTES]: writes BYTES bytes that follow from
 * SEED to stdout, and with a second pair to stderr, both at the same time.
 *
 * pattern check SEED BYTES: reads stdin to its end, and prints `same` if it is
 * exactly these bytes; else prints where they differ, and exits with 1.
 */
#include "bounded.h"

#include <inttypes.h>
#include <sys/wait.h>

#define PIECE_SIZE ((size_t)61441) /* not a multiple of any buffer's size */

static uint64_t words[8192];
static char *const bytes = (char *)words;

/* The next bytes of the pattern, a full buffer: by splitmix64. */
static void
make_bytes(uint64_t *state)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

		x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
		words[i] = x ^ (x >> 31);
	}
}

static size_t
least(size_t one, size_t other)
{
	return one < other ? one : other;
}

static void
write_pattern(int fd, const char *seed, const char *size)
{
	uint64_t state = strtoull(seed, NULL, 10);
	size_t left = strtoull(size, NULL, 10);

	while (left > 0) {
		const size_t length = least(left, sizeof(words));

		make_bytes(&state);
		for (size_t done = 0; done < length;) {
			const ssize_t written = write(
			    fd, bytes + done, least(length - done, PIECE_SIZE));

			if (written <= 0)
				give_up("write");
			done += (size_t)written;
		}
		left -= length;
	}
}

static int
check_pattern(const char *seed, const char *size)
{
	static char seen[sizeof(words)];
	uint64_t state = strtoull(seed, NULL, 10);
	const size_t end = strtoull(size, NULL, 10);
	size_t done = 0;
	size_t got;

	do {
		got = fread(seen, 1, sizeof(seen), stdin);
		make_bytes(&state);
		for (size_t i = 0; i < least(got, end - done); i++) {
			if (seen[i] != bytes[i]) {
				printf("another byte at %zu\n", done + i);
				return 1;
			}
		}
		if (got > end - done) {
			printf("more at %zu\n", end);
			return 1;
		}
		done += got;
	} while (got == sizeof(seen));
	printf(done == end ? "same\n" : "the end at %zu\n", done);
	return done != end;
}

int
main(int argc, char *argv[])
{
	pid_t other = 0;
	int status = 0;

	bound_life();
	if (argc != 4 && argc != 6)
		return 99;
	if (strcmp(argv[1], "check") == 0)
		return check_pattern(argv[2], argv[3]);
	if (argc == 6 && (other = fork_bounded()) == 0) {
		write_pattern(STDERR_FILENO, argv[4], argv[5]);
		return 0;
	}
	write_pattern(STDOUT_FILENO, argv[2], argv[3]);
	if (other != 0 && waitpid(other, &status, 0) != other)
		give_up("waitpid");
	return status == 0 ? 0 : 99;
}
