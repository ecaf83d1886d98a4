/* Lock files with a PID: what counts as a PID. */
#include "lock/lock.h"

#include <sys/mman.h>

#include <errno.h>
#include <unistd.h>

#include "check.h"

#define PID_LAST 4194304

static const struct {
	const char *text;
	pid_t pid;
} texts[] = {
	{ "4711\n", 4711 },
	{ "4711", 4711 },
	{ " 4711 \n\n", 4711 },
	{ "\t0004711\r\n", 4711 },
	{ "1\n", 1 },
	{ "\r\f\v\t 1 \t\n", 1 },
	{ "4194304", PID_LAST },
	{ "4194305", -1 }, /* perhaps a time */
	{ "4294971307", -1 },
	{ "18446744073709551617\n", -1 },
	{ "99999999999999999999999999999999", -1 },
	{ "", 0 },
	{ "\n", 0 },
	{ " \t\n", 0 },
	{ "0\n", -1 },
	{ "000", -1 },
	{ "-1", -1 },
	{ "4711 4712", -1 },
	{ "4711 host", -1 },
	{ "4711x", -1 },
	{ "pid 4711", -1 },
	{ "0x10", -1 },
	{ "\xc2\xa0"
	  "4711\n",
	  -1 },
	{ "4711\n                                                           ",
	  -1 }, /* 64 bytes */
};

/* What is read from a file of these LENGTH bytes. */
static pid_t
read_text(const char *text, size_t length)
{
	struct pidfile file = { .fd = memfd_create("pidfile", 0) };

	CHECK(write(file.fd, text, length) == (ssize_t)length, text);
	errno = 0;

	const pid_t pid = pidfile_read(&file);

	CHECK(pid != -1 || errno == EINVAL, text);
	CHECK(pidfile_write(&file, PID_LAST) == 0, text);
	CHECK(length >= 64 || pidfile_read(&file) == PID_LAST, text);
	(void)close(file.fd);
	return pid;
}

int
main(void)
{
	for (size_t i = 0; i < COUNT(texts); i++) {
		const char *const text = texts[i].text;

		CHECK(read_text(text, strlen(text)) == texts[i].pid, text);
	}
	CHECK(read_text("47\0011", 5) == -1, "a control character");
	CHECK(read_text("47\00011", 5) == -1, "a null byte");
	CHECK(read_text("\0", 1) == -1, "nothing else");
	return failures != 0;
}
