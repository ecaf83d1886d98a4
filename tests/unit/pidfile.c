/* Lock files with a PID: what counts as a PID. */
#include "lock/lock.h"

#include <sys/mman.h>

#include <errno.h>
#include <unistd.h>

#include "check.h"

#define PID_LAST 4194304
#define SIZE     1024 /* too many bytes for a PID alone */

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
	{ "4711-11-28", -1 },
	{ "{\"pid\": null, \"port\": 80}", -1 },
	{ "{\"pid\"", -1 },
	{ "4711x", -1 },
	{ "pid 4711", -1 },
	{ "0x10", -1 },
	{ "\xc2\xa0"
	  "4711\n",
	  -1 },
};

/* Not a PID alone, but it begins with one, or JSON has it. */
static const char *const beginnings[] = {
	"4711 4712",      "4711 host",
	"4711\nhost\n",   "4711\n\nhost\n",
	"{\"pid\":4711}", "{\"host\": 1, \"pid\" : 4711, \"x\": 2}",
};

/* Checks what is read from a file of these LENGTH bytes. */
static void
check_text(const char *text, size_t length, pid_t pid, pid_t first,
           bool is_marked)
{
	struct pidfile file = { .fd = memfd_create("pidfile", 0) };

	CHECK(write(file.fd, text, length) == (ssize_t)length, text);
	CHECK(pidfile_read(&file) ==
	          (pid == -1 ? REFUSAL_NO_PID : REFUSAL_NONE),
	      text);
	CHECK(file.pid == (pid == -1 ? first : pid), text);
	CHECK(file.is_marked == is_marked || pid == 0, text);
	CHECK(pidfile_write(&file, PID_LAST) == 0, text);
	CHECK(length >= SIZE || (pidfile_read(&file) == REFUSAL_NONE &&
	                         file.pid == PID_LAST && file.is_marked),
	      text);
	(void)close(file.fd);
}

int
main(void)
{
	char large[SIZE + 1];

	for (size_t i = 0; i < COUNT(texts); i++) {
		const char *const text = texts[i].text;

		check_text(text, strlen(text), texts[i].pid, 0, false);
	}
	for (size_t i = 0; i < COUNT(beginnings); i++)
		check_text(beginnings[i], strlen(beginnings[i]), -1, 4711,
		           false);
	check_text("4711\n\n", 6, 4711, 0, true);
	check_text("4711\n\n\n", 7, 4711, 0, true);
	check_text("47\0011", 4, -1, 0, false); /* a control character */
	check_text("47\000"
	           "11",
	           5, -1, 47, false); /* a null byte */
	check_text("\0", 1, -1, 0, false);
	(void)snprintf(large, sizeof(large), "4711%*s", SIZE - 4, "");
	check_text(large, SIZE - 1, 4711, 0, false);
	check_text(large, SIZE, -1, 4711, false);
	(void)snprintf(large, sizeof(large), "%*s", SIZE, "\"pid\"");
	check_text(large, SIZE, -1, 0, false);
	return failures != 0;
}
