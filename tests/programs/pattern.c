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

#define WORDS      8192
#define PIECE_SIZE ((size_t)61441) /* not a multiple of any buffer's size */

/* splitmix64: the word NUMBER of the pattern. */
static uint64_t
word_of(uint64_t seed, uint64_t number)
{
	uint64_t x = seed * UINT64_C(0x632be59bd9b4e019) +
	             (number + 1) * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Writes the WORDS words from FIRST on. */
static void
make(uint64_t seed, uint64_t first, uint64_t words[WORDS])
{
	for (size_t i = 0; i < WORDS; i++)
		words[i] = word_of(seed, first + i);
}

static void
write_all(int fd, const char *text, size_t length)
{
	while (length > 0) {
		const size_t piece = length < PIECE_SIZE ? length : PIECE_SIZE;
		const ssize_t written = write(fd, text, piece);

		if (written <= 0)
			give_up("write");
		text += written;
		length -= (size_t)written;
	}
}

static void
write_pattern(int fd, uint64_t seed, uint64_t size)
{
	static uint64_t words[WORDS];

	for (uint64_t done = 0; done < size; done += sizeof(words)) {
		const uint64_t left = size - done;

		make(seed, done / sizeof(words[0]), words);
		write_all(fd, (const char *)words,
		          left < sizeof(words) ? (size_t)left : sizeof(words));
	}
}

/* Reads SIZE bytes, or fewer at the end of file. */
static size_t
read_all(char *text, size_t size)
{
	size_t length = 0;

	while (length < size) {
		const ssize_t got =
		    read(STDIN_FILENO, text + length, size - length);

		if (got == -1)
			give_up("read");
		if (got == 0)
			break;
		length += (size_t)got;
	}
	return length;
}

static int
check_pattern(uint64_t seed, uint64_t size)
{
	static uint64_t words[WORDS];
	static char seen[sizeof(words)];

	for (uint64_t done = 0;; done += sizeof(words)) {
		const uint64_t left = done < size ? size - done : 0;
		const size_t want =
		    left < sizeof(words) ? (size_t)left : sizeof(words);
		const size_t got = read_all(seen, sizeof(seen));
		const size_t both = got < want ? got : want;

		make(seed, done / sizeof(words[0]), words);
		for (size_t i = 0; i < both; i++) {
			if (seen[i] != ((const char *)words)[i]) {
				printf("another byte at %" PRIu64 "\n",
				       done + i);
				return 1;
			}
		}
		if (got != want) {
			printf("%s at %" PRIu64 "\n",
			       got < want ? "the end" : "more", done + both);
			return 1;
		}
		if (got < sizeof(seen))
			break;
	}
	printf("same\n");
	return 0;
}

int
main(int argc, char *argv[])
{
	pid_t other = 0;
	int status = 0;

	bound_life();
	if (argc != 4 && argc != 6)
		return 99;

	const uint64_t seed = strtoull(argv[2], NULL, 10);
	const uint64_t size = strtoull(argv[3], NULL, 10);

	if (strcmp(argv[1], "check") == 0)
		return check_pattern(seed, size);
	if (argc == 6 && (other = fork_bounded()) == 0) {
		write_pattern(STDERR_FILENO, strtoull(argv[4], NULL, 10),
		              strtoull(argv[5], NULL, 10));
		return 0;
	}
	write_pattern(STDOUT_FILENO, seed, size);
	if (other != 0 && waitpid(other, &status, 0) != other)
		give_up("waitpid");
	return status == 0 ? 0 : 99;
}
