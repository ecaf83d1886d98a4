/*
 * hand_over take SOCKET [flood]: makes SOCKET, waits there for a process that
 * hands over a descriptor, prints `ready PID`, and keeps the descriptor, or
 * writes to it as fast as it can.
 *
 * hand_over give SOCKET: hands over its stdout. So a process that no command
 * has started can hold that command's output.
 */
#include "bounded.h"

#include <sys/socket.h>
#include <sys/un.h>

/* A message of one byte and one descriptor. */
struct parcel {
	char byte;
	struct iovec content;
	union {
		char text[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr header;
};

static void
prepare(struct parcel *parcel)
{
	*parcel = (struct parcel){ .byte = '.' };
	parcel->content = (struct iovec){ &parcel->byte, 1 };
	parcel->header = (struct msghdr){
		.msg_iov = &parcel->content,
		.msg_iovlen = 1,
		.msg_control = parcel->control.text,
		.msg_controllen = sizeof(parcel->control.text),
	};
}

static int
take(int socket_fd)
{
	struct parcel parcel;
	int fd;

	const int peer = accept(socket_fd, NULL, NULL);

	prepare(&parcel);
	if (peer == -1 || recvmsg(peer, &parcel.header, 0) != 1 ||
	    CMSG_FIRSTHDR(&parcel.header) == NULL)
		give_up("take");
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&parcel.header)), sizeof(fd));
	/* This comes before the giving process continues. */
	say_ready(getpid());
	(void)close(peer);
	return fd;
}

static void
give(int socket_fd, int fd)
{
	struct parcel parcel;
	char end;

	prepare(&parcel);

	struct cmsghdr *const control = CMSG_FIRSTHDR(&parcel.header);

	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(control), &fd, sizeof(fd));
	if (sendmsg(socket_fd, &parcel.header, 0) != 1)
		give_up("give");
	(void)read(socket_fd, &end,
	           1); /* returns when the descriptor was taken */
}

static _Noreturn void
flood(int fd)
{
	static const char text[4096] = "flood";

	(void)signal(SIGPIPE, SIG_IGN);
	while (write(fd, text, sizeof(text)) > 0)
		continue;
	live();
}

int
main(int argc, char *argv[])
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	bound_life();
	if (argc < 3 || socket_fd == -1 ||
	    strlen(argv[2]) >= sizeof(address.sun_path))
		return 99;
	strcpy(address.sun_path, argv[2]);

	if (strcmp(argv[1], "give") == 0) {
		if (connect(socket_fd, (const struct sockaddr *)&address,
		            sizeof(address)) == -1)
			give_up("connect");
		give(socket_fd, STDOUT_FILENO);
		return 0;
	}
	if (bind(socket_fd, (const struct sockaddr *)&address,
	         sizeof(address)) == -1 ||
	    listen(socket_fd, 1) == -1)
		give_up("listen");

	const int fd = take(socket_fd);

	if (argc > 3 && strcmp(argv[3], "flood") == 0)
		flood(fd);
	live();
}
