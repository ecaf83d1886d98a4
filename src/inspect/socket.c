/* What a socket of another process is connected to. */
#include <sys/socket.h>
#include <sys/xattr.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "inspect/look.h"
#include "inspect/scene.h"

#define ROW_SIZE 512

/* Finds the row of the socket INODE in TABLE, of the network namespace of the
 * process. The inode is field 6 of net/unix, and field 9 of the others. */
static bool
find_row(struct scene *scene, const char *table, unsigned long long inode,
         char row[ROW_SIZE])
{
	const int fd = scene_open("%d/net/%s", scene->sight->pid, table);
	FILE *const file = fd == -1 ? NULL : fdopen(fd, "r");
	const int field = strcmp(table, "unix") == 0 ? 6 : 9;
	bool is_found = false;

	while (!is_found && file != NULL && fgets(row, ROW_SIZE, file) != NULL)
		is_found = strtoull(scene_field(row, field), NULL, 10) == inode;
	if (file != NULL)
		(void)fclose(file);
	row[is_found ? strcspn(row, "\n") : 0] = '\0';
	return is_found;
}

/* --- Internet sockets ----------------------------------------------------- */

#define TCP_LISTENS 10

/* By the numbers of include/net/tcp_states.h in the kernel. */
static const char *const tcp_states[TCP_LISTENS] = {
	[1] = ", established",
	[2] = ", no answer yet",
	[8] = ", closed by the other side",
};

static unsigned long
port_of(const char *address)
{
	return strtoul(address + strcspn(address, ":") + 1, NULL, 16);
}

/* Says "127.0.0.1:80" for TEXT, "0100007F:0050 …": the kernel prints each 32
 * bits of the address as a number in the byte order of this machine. */
static void
say_address(struct scene *scene, const char *text)
{
	const size_t digits = strcspn(text, ":");
	uint32_t words[4] = { 0 };
	char name[INET6_ADDRSTRLEN] = "";

	for (size_t i = 0; i < 4 && i < digits / 8; i++) {
		char word[9] = "";

		(void)memcpy(word, text + 8 * i, 8);
		words[i] = (uint32_t)strtoul(word, NULL, 16);
	}
	(void)inet_ntop(digits > 8 ? AF_INET6 : AF_INET, words, name,
	                sizeof(name));
	say(scene, digits > 8 ? "[%s]:%lu" : "%s:%lu", name, port_of(text));
}

/* Says " 127.0.0.1:41000 -> 127.0.0.1:5432, established" for ROW, " 0:
 * 0100007F:A028 0100007F:1538 01 …". */
static void
say_internet(struct scene *scene, const char *row, bool is_tcp)
{
	const char *const remote = scene_field(row, 2);
	const size_t state = strtoul(scene_field(row, 3), NULL, 16);

	say(scene, is_tcp && state == TCP_LISTENS ? " listening on " : " ");
	say_address(scene, scene_field(row, 1));
	if (port_of(remote) == 0)
		return;
	say(scene, " -> ");
	say_address(scene, remote);
	if (is_tcp && state < TCP_LISTENS && tcp_states[state] != NULL)
		say(scene, "%s", tcp_states[state]);
}

/* --- Unix sockets --------------------------------------------------------- */

#define UNIX_LISTENS 0x10000 /* __SO_ACCEPTCON in include/linux/net.h */

#define NETLINK_DIAG_PROTOCOL 4  /* NETLINK_SOCK_DIAG */
#define DIAG_BY_FAMILY        20 /* SOCK_DIAG_BY_FAMILY */
#define DIAG_PEER             2  /* UNIX_DIAG_PEER */
#define SHOW_PEER             4  /* UDIAG_SHOW_PEER */

/* struct nlmsghdr and struct unix_diag_req, and the start of the answer, which
 * musl does not declare. Only sock_diag(7) tells the other end of another
 * process's Unix socket. */
struct question {
	uint32_t length;
	uint16_t type;
	uint16_t flags;
	uint32_t numbers[2];
	uint16_t family;
	uint16_t padding;
	uint32_t states;
	uint32_t inode;
	uint32_t show;
	uint32_t cookie[2];
};

struct answer {
	uint32_t header[8]; /* struct nlmsghdr and struct unix_diag_msg */
	uint16_t length;    /* of the first attribute */
	uint16_t attribute;
	uint32_t value;
	char rest[256];
};

/* Returns the inode of the other end of the Unix socket INODE of this process's
 * network namespace, or 0. */
static unsigned long long
peer_of(unsigned long long inode)
{
	const struct question question = {
		.length = sizeof(question),
		.type = DIAG_BY_FAMILY,
		.flags = 1, /* NLM_F_REQUEST */
		.family = AF_UNIX,
		.states = UINT32_MAX,
		.inode = (uint32_t)inode,
		.show = SHOW_PEER,
		.cookie = { UINT32_MAX, UINT32_MAX },
	};
	struct answer answer = { .attribute = 0 };
	const int fd =
	    socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_DIAG_PROTOCOL);

	if (fd != -1 && send(fd, &question, sizeof(question), 0) != -1)
		(void)recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);
	fds_close(fd);
	return answer.attribute == DIAG_PEER ? answer.value : 0;
}

/* Says the path of the Unix socket INODE, or else that of its other end: ROW of
 * net/unix is "0000000000000000: 00000002 00000000 00010000 0001 01 4711
 * /run/x", and '@' begins an abstract path (proc(5)). Returns the inode of the
 * other end, or 0. */
static unsigned long long
say_unix(struct scene *scene, unsigned long long inode)
{
	const unsigned long long peer = peer_of(inode);
	char row[ROW_SIZE];

	(void)find_row(scene, "unix", inode, row);

	const unsigned long flags = strtoul(scene_field(row, 3), NULL, 16);

	if (*scene_field(row, 7) != '\0')
		say(scene,
		    (flags & UNIX_LISTENS) != 0 ? " listening on %s" : " %s",
		    scene_field(row, 7));
	else if (peer != 0 && find_row(scene, "unix", peer, row) &&
	         *scene_field(row, 7) != '\0')
		say(scene, " to %s", scene_field(row, 7));
	return peer;
}

/* --- all of them ---------------------------------------------------------- */

unsigned long long
socket_say(struct scene *scene, const char *path, unsigned long long inode)
{
	char name[64] = "";
	char table[] = "tcp6";
	char row[ROW_SIZE];

	/* The protocol's name in the kernel: sockfs_xattr_get(). */
	(void)getxattr(path, "system.sockprotoname", name, sizeof(name) - 1);

	const bool is_tcp = strncmp(name, "TCP", 3) == 0;

	if (strncmp(name, "UNIX", 4) == 0) {
		say(scene, " (Unix socket");
		return say_unix(scene, inode);
	}
	if (!is_tcp && strncmp(name, "UDP", 3) != 0) {
		say(scene, " (%s%ssocket", name, name[0] == '\0' ? "" : " ");
		return 0;
	}
	say(scene, " (%.3s", name);
	(void)snprintf(table, sizeof(table), "%s%s", is_tcp ? "tcp" : "udp",
	               strstr(name, "v6") == NULL ? "" : "6");
	if (find_row(scene, table, inode, row))
		say_internet(scene, row, is_tcp);
	return 0;
}
