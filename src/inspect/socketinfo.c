/* What a socket of another process is connected to. */
#include "inspect/socketinfo.h"

#include <sys/socket.h>
#include <sys/xattr.h>

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "inspect/proctable.h"

#define PATH_SIZE   64
#define NAME_SIZE   128 /* of a Unix socket's path */
#define ANSWER_SIZE 512
#define DIGITS      8 /* of 32 bits in hexadecimal */
#define GROUPS      8 /* of an IPv6 address */

/* --- Internet sockets ----------------------------------------------------- */

#define TCP_LISTENS 10

/* By the numbers of include/net/tcp_states.h in the kernel. */
static const char *const tcp_states[] = {
	[1] = "established",  [2] = "no answer yet",
	[3] = "SYN received", [4] = "FIN wait 1",
	[5] = "FIN wait 2",   [6] = "time wait",
	[7] = "closed",       [8] = "closed by the other side",
	[9] = "last ACK",     [11] = "closing",
};

/* Appends the address in 16 BYTES, "::1", in the form of RFC 5952. */
static void
add_ipv6(struct strbuf *line, const unsigned char *bytes)
{
	unsigned groups[GROUPS];
	size_t longest = 1;
	size_t skipped = GROUPS; /* where the longest run of 0 begins */

	for (size_t i = 0; i < GROUPS; i++)
		groups[i] = (unsigned)bytes[2 * i] << 8 | bytes[2 * i + 1];
	for (size_t i = 0; i < GROUPS; i++) {
		size_t end = i;

		while (end < GROUPS && groups[end] == 0)
			end++;
		if (end - i > longest) {
			longest = end - i;
			skipped = i;
		}
	}
	for (size_t i = 0; i < GROUPS; i++) {
		if (i == skipped) {
			strbuf_addf(line, "::");
			i += longest - 1;
		} else {
			strbuf_addf(line,
			            i == 0 || i == skipped + longest ? "%x"
			                                             : ":%x",
			            groups[i]);
		}
	}
}

static unsigned long
port_of(const char *address)
{
	const char *const port = address + strcspn(address, ":");

	return *port == ':' ? text_number(port + 1, HEXADECIMAL) : 0;
}

/* Appends "127.0.0.1:80" for TEXT, "0100007F:0050": the kernel prints each 32
 * bits of the address as a number in the byte order of this machine. */
static void
add_address(struct strbuf *line, const char *text)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	static const unsigned char any[16];
	const size_t digits = strcspn(text, ":");
	uint32_t words[4] = { 0 };
	const unsigned char *bytes = (const unsigned char *)words;
	bool is_ipv6 = digits == sizeof(words) * 2;

	for (size_t i = 0; i < digits / DIGITS && i < 4; i++) {
		char word[DIGITS + 1] = "";

		(void)memcpy(word, text + i * DIGITS, DIGITS);
		words[i] = (uint32_t)text_number(word, HEXADECIMAL);
	}
	if (is_ipv6 && memcmp(bytes, mapped, sizeof(mapped)) == 0) {
		bytes += sizeof(mapped);
		is_ipv6 = false;
	}
	if (memcmp(bytes, any, is_ipv6 ? 16 : 4) == 0) {
		strbuf_addf(line, "*");
	} else if (is_ipv6) {
		strbuf_addf(line, "[");
		add_ipv6(line, bytes);
		strbuf_addf(line, "]");
	} else {
		strbuf_addf(line, "%u.%u.%u.%u", bytes[0], bytes[1], bytes[2],
		            bytes[3]);
	}
	strbuf_addf(line, ":%lu", port_of(text));
}

/* Appends " 127.0.0.1:41000 -> 127.0.0.1:5432, established" for ROW, of a table
 * whose rows begin "0: 0100007F:A028 0100007F:1538 01". */
static void
add_internet(struct strbuf *line, const char *row, bool is_tcp)
{
	const char *const remote = proctable_field(row, 2);
	const size_t state = text_number(proctable_field(row, 3), HEXADECIMAL);

	strbuf_addf(line,
	            is_tcp && state == TCP_LISTENS ? " listening on " : " ");
	add_address(line, proctable_field(row, 1));
	if (port_of(remote) == 0)
		return;
	strbuf_addf(line, " -> ");
	add_address(line, remote);
	if (is_tcp && state < sizeof(tcp_states) / sizeof(tcp_states[0]) &&
	    tcp_states[state] != NULL)
		strbuf_addf(line, ", %s", tcp_states[state]);
}

/* --- Unix sockets --------------------------------------------------------- */

#define UNIX_LISTENS     0x10000 /* __SO_ACCEPTCON in include/linux/net.h */
#define UNIX_INODE_FIELD 6

#define NETLINK_DIAG_PROTOCOL 4  /* NETLINK_SOCK_DIAG */
#define DIAG_BY_FAMILY        20 /* SOCK_DIAG_BY_FAMILY */
#define DIAG_NAME             0  /* UNIX_DIAG_NAME */
#define DIAG_PEER             2  /* UNIX_DIAG_PEER */
#define SHOW_NAME_AND_PEER    5  /* UDIAG_SHOW_NAME | UDIAG_SHOW_PEER */
#define ANSWER_START          32 /* struct nlmsghdr and struct unix_diag_msg */
#define ATTRIBUTE_START       4  /* struct rtattr */

/* struct nlmsghdr and struct unix_diag_req, which musl does not declare. Only
 * sock_diag(7) tells the other end of a process's Unix socket. */
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

/* Asks for the Unix socket INODE of this process's network namespace. Sets
 * *PEER to the inode of the other end, or 0, and NAME to the path of INODE, or
 * "". '@' begins an abstract path, as in /proc/net/unix: proc(5). */
static void
ask(uint64_t inode, uint64_t *peer, char name[NAME_SIZE])
{
	const struct question question = {
		.length = sizeof(question),
		.type = DIAG_BY_FAMILY,
		.flags = 1, /* NLM_F_REQUEST */
		.family = AF_UNIX,
		.states = UINT32_MAX,
		.inode = (uint32_t)inode,
		.show = SHOW_NAME_AND_PEER,
		.cookie = { UINT32_MAX, UINT32_MAX },
	};
	char answer[ANSWER_SIZE];
	const int fd =
	    socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_DIAG_PROTOCOL);
	ssize_t length = -1;

	*peer = 0;
	name[0] = '\0';
	if (fd != -1 && send(fd, &question, sizeof(question), 0) != -1)
		length = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
	fds_close(fd);
	for (ssize_t at = ANSWER_START; at + ATTRIBUTE_START <= length;) {
		uint16_t attribute[2]; /* length and type */
		uint32_t number;
		const char *const value = answer + at + ATTRIBUTE_START;

		(void)memcpy(attribute, answer + at, sizeof(attribute));

		const int size = attribute[0] - ATTRIBUTE_START;

		if (size <= 0 || attribute[0] > length - at)
			return;
		if (attribute[1] == DIAG_NAME)
			(void)strbuf_format(name, NAME_SIZE, "%s%.*s",
			                    &"@"[value[0] != '\0'],
			                    size - (value[0] == '\0'),
			                    value + (value[0] == '\0'));
		if (attribute[1] == DIAG_PEER && size == sizeof(number)) {
			(void)memcpy(&number, value, sizeof(number));
			*peer = number;
		}
		at += (attribute[0] + 3) & ~3;
	}
}

/* Appends " listening on /run/server" for ROW of net/unix, which begins
 * "0000000000000000: 00000002 00000000 00010000 0001 01 4711". */
static uint64_t
add_unix(struct strbuf *line, const char *row, uint64_t inode)
{
	const bool listens =
	    (text_number(proctable_field(row, 3), HEXADECIMAL) &
	     UNIX_LISTENS) != 0;
	const char *const path = proctable_field(row, 7);
	char name[NAME_SIZE];
	uint64_t unused;
	uint64_t peer;

	ask(inode, &peer, name);
	if (path[0] != '\0')
		strbuf_addf(line, listens ? " listening on %s" : " %s", path);
	else if (peer != 0)
		ask(peer, &unused, name);
	if (path[0] == '\0' && name[0] != '\0')
		strbuf_addf(line, " to %s", name);
	return peer;
}

/* --- all of them ---------------------------------------------------------- */

/* A protocol's name in the kernel, its name in messages, its table in
 * /proc/PID/net, and the field of that table with the inode of a socket. */
static const struct {
	const char *name;
	const char *words;
	const char *table;
	int inode_field;
} protocols[] = {
	{ "TCPv6", "TCP", "tcp6", 9 },
	{ "TCP", "TCP", "tcp", 9 },
	{ "UDPv6", "UDP", "udp6", 9 },
	{ "UDP", "UDP", "udp", 9 },
	{ "UNIX", "Unix socket", "unix", UNIX_INODE_FIELD },
	{ "NETLINK", "netlink socket", "netlink", 9 },
};

uint64_t
socketinfo_add(struct strbuf *line, pid_t pid, int fd, uint64_t inode)
{
	char path[PATH_SIZE];
	char name[NAME_SIZE] = "";
	char number[NAME_SIZE];
	char row[PROCTABLE_LINE_SIZE];
	size_t i = 0;

	(void)strbuf_format(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	/* The protocol's name in the kernel: sockfs_xattr_get(). */
	(void)getxattr(path, "system.sockprotoname", name, sizeof(name) - 1);
	while (i < sizeof(protocols) / sizeof(protocols[0]) &&
	       strncmp(name, protocols[i].name, strlen(protocols[i].name)) != 0)
		i++;
	if (i == sizeof(protocols) / sizeof(protocols[0])) {
		strbuf_addf(line, " (%s%ssocket", name,
		            name[0] == '\0' ? "" : " ");
		return 0;
	}
	strbuf_addf(line, " (%s", protocols[i].words);
	(void)strbuf_format(path, sizeof(path), "/proc/%d/net/%s", pid,
	                    protocols[i].table);
	(void)strbuf_format(number, sizeof(number), "%llu",
	                    (unsigned long long)inode);
	if (!proctable_find(path, protocols[i].inode_field, number, row))
		return 0;
	if (protocols[i].inode_field == UNIX_INODE_FIELD)
		return add_unix(line, row, inode);
	if (protocols[i].words[0] == 'n')
		strbuf_addf(
		    line, " of protocol %u",
		    (unsigned)text_number(proctable_field(row, 1), DECIMAL));
	else
		add_internet(line, row, protocols[i].words[0] == 'T');
	return 0;
}
