/*
 * hung_fs DIRECTORY: mounts a file system there that has one file, `file`, and
 * prints `ready PID`. After SIGUSR1 it prints `hung` and answers no request,
 * like a network file system whose server is gone. The file system ends with
 * the process, and each waiting process then gets an error.
 *
 * It speaks the protocol of FUSE itself, so that no package is needed.
 */
#include "bounded.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define HANG_SECONDS 300 /* more than PATIENCE in helper.bash */
#define FILE_SIZE    4096
#define FILE_NODE    2
#define REQUEST_SIZE                                                           \
	200000 /* the kernel requires a buffer for a whole write               \
	        */

static int fuse_fd;
static volatile sig_atomic_t is_to_hang;

static void
note(int number)
{
	(void)number;
	is_to_hang = 1;
}

static void
answer(const struct fuse_in_header *request, int error, const void *data,
       size_t size)
{
	char text[FILE_SIZE + sizeof(struct fuse_out_header)];
	const struct fuse_out_header header = {
		.len = (unsigned)(sizeof(header) + size),
		.error = error,
		.unique = request->unique,
	};

	memcpy(text, &header, sizeof(header));
	if (size > 0)
		memcpy(text + sizeof(header), data, size);
	/* ENOENT: the request was interrupted meanwhile. */
	if (write(fuse_fd, text, header.len) == -1 && errno != ENOENT)
		give_up("answer");
}

static struct fuse_attr
attributes(uint64_t node)
{
	const int is_file = node == FILE_NODE;

	return (struct fuse_attr){
		.ino = node,
		.mode = is_file ? S_IFREG | 0666 : S_IFDIR | 0755,
		.nlink = 1,
		.size = is_file ? FILE_SIZE : 0,
		.blksize = FILE_SIZE,
	};
}

static void
serve(const struct fuse_in_header *request)
{
	const char *const name = (const char *)(request + 1);
	const struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION,
		.minor = 31, /* the first version with these structs */
		.max_write = FILE_SIZE,
	};
	const struct fuse_attr_out attr = {
		.attr = attributes(request->nodeid),
	};
	const struct fuse_entry_out entry = {
		.nodeid = FILE_NODE,
		.attr = attributes(FILE_NODE),
	};
	const struct fuse_open_out opened = { .fh = 1 };
	static const char zeros[FILE_SIZE];

	switch (request->opcode) {
	case FUSE_INIT:
		answer(request, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		if (strcmp(name, "file") == 0)
			answer(request, 0, &entry, sizeof(entry));
		else
			answer(request, -ENOENT, NULL, 0);
		break;
	case FUSE_GETATTR:
		answer(request, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer(request, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		answer(request, 0, zeros, FILE_SIZE);
		break;
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		answer(request, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
		break; /* requests without an answer */
	default:
		answer(request, -ENOSYS, NULL, 0);
	}
}

static void
mount_at(const char *directory)
{
	char options[80];

	fuse_fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fuse_fd == -1)
		give_up("/dev/fuse");
	(void)snprintf(options, sizeof(options),
	               "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
	               fuse_fd);
	if (mount("hung_fs", directory, "fuse", MS_NOSUID | MS_NODEV,
	          options) == -1)
		give_up("mount");
}

int
main(int argc, char *argv[])
{
	static union {
		char text[REQUEST_SIZE];
		struct fuse_in_header header;
	} request;
	const struct sigaction action = { .sa_handler = note };

	/* Each process that is stuck in the file system's files, and each look
	 * at such a process, lasts as long. */
	bound_life_to(HANG_SECONDS);
	if (argc != 2)
		return 99;
	(void)sigaction(SIGUSR1, &action, NULL);
	mount_at(argv[1]);

	say_ready(getpid());
	while (!is_to_hang) {
		if (read(fuse_fd, &request, sizeof(request)) > 0)
			serve(&request.header);
		else if (errno != EINTR && errno != ENOENT)
			give_up("request");
	}
	(void)dprintf(STDOUT_FILENO, "hung\n");
	live();
}
