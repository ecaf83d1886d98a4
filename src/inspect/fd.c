/* What the descriptors of a process are, and who has their other ends. */
#include <sys/socket.h>
#include <sys/stat.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "inspect/look.h"
#include "inspect/scene.h"

#define PATH_SIZE     32
#define TEXT_SIZE     2048 /* of a row of a table, or of an fdinfo file */
#define COMMAND_WIDTH 72
#define OUTPUT_READER " to the reader of wdrun's output"
#define SOCKET        "socket:["
#define ANONYMOUS     "anon_inode:"
#define FILE_ID       "mnt_id:" /* begins the lines of fdinfo on the file */
#define UNIX_LISTEN   0x10000   /* the flag __SO_ACCEPTCON, linux/net.h */

/* LINE of a table from field NUMBER on, counted from 0. */
static const char *
field(const char *line, int number)
{
	while (number-- > 0) {
		line += strspn(line, " ");
		line += strcspn(line, " ");
	}
	return line + strspn(line, " ");
}

static unsigned long
number_at(const char *line, int number)
{
	return strtoul(field(line, number), NULL, 10);
}

static bool
starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* The link's mode is the descriptor's: tid_fd_update_inode() in the kernel. */
static struct descriptor
read_descriptor(pid_t pid, int fd)
{
	struct descriptor end = { .pid = pid };
	struct stat status;

	(void)snprintf(end.path, sizeof(end.path), "%d/fd/%d", pid, fd);
	if (readlink(end.path, end.link, sizeof(end.link) - 1) != -1 &&
	    lstat(end.path, &status) != -1)
		end.mode = status.st_mode;
	return end;
}

/* The descriptors that one of the functions below reads: 128 KiB. */
static struct procfs_list fds;

/* A process in execve(2) is left out: to read its links may hang. */
static void
read_ends(struct scene *scene)
{
	if (scene->end_count > 0)
		return;
	for (size_t i = 0; i < scene->look->count; i++) {
		const pid_t pid = scene->look->sights[i].pid;
		struct procstat stat;

		fds.count = 0;
		if (procstat_read_status(pid, &stat) == 0 && !stat.is_in_exec &&
		    duration_now() < scene->until)
			procfs_list_of(pid, "fd", &fds);
		for (size_t j = 0; j < fds.count; j++) {
			const struct descriptor end =
			    read_descriptor(pid, fds.numbers[j]);

			if (end.mode != 0 && scene->end_count < ENDS_MAX)
				scene->ends[scene->end_count++] = end;
		}
	}
}

/* Says " from 4711, 4712": WORD, and the processes that have LINK open with
 * MODE. Returns which one it is, or 0 if there is none, or -1 of several. */
static pid_t
say_ends(struct scene *scene, const char *link, mode_t mode, const char *word)
{
	pid_t last = 0;
	int count = 0;

	read_ends(scene);
	for (size_t i = 0; i < scene->end_count; i++) {
		const struct descriptor *const end = &scene->ends[i];

		if (end->pid == last || strcmp(end->link, link) != 0 ||
		    strlen(link) == sizeof(end->link) - 1 || /* cut off */
		    (end->mode & mode) != mode)
			continue;
		last = end->pid;
		say(scene, "%s %d", count++ == 0 ? word : ",", last);
	}
	return count > 1 ? -1 : last;
}

/* What the process END, of say_ends(), means for that which waits for it; OWN
 * if it is the same. A parent may have no orders for a worker. */
static enum source
source_of(const struct scene *scene, pid_t end, enum source own)
{
	return end == scene->sight->pid      ? own
	       : end == scene->sight->parent ? SOURCE_IDLE
	                                     : SOURCE_OTHERS;
}

static bool
is_output(const struct scene *scene, const struct descriptor *end)
{
	return (end->mode & S_IWUSR) != 0 &&
	       (strcmp(end->link, scene->look->streams[1]) == 0 ||
	        strcmp(end->link, scene->look->streams[2]) == 0);
}

void
fd_say_output(struct scene *scene)
{
	const char *word = ", holding the output open, fd ";

	if (scene->line.length == 0)
		word += strlen(", ");
	read_ends(scene);
	for (size_t i = 0; i < scene->end_count; i++) {
		const struct descriptor *const end = &scene->ends[i];

		if (end->pid != scene->sight->pid || !is_output(scene, end))
			continue;
		say(scene, "%s%s", word, strrchr(end->path, '/') + 1);
		word = ",";
	}
}

/* Whether two fields are the same address, "0100007F:0050", also where one of
 * them, of IPv4, is written as of IPv6: by the part that both have. */
static bool
is_same_address(const char *row, int number, const char *peer, int peer_number)
{
	const char *const a = field(row, number);
	const char *const b = field(peer, peer_number);
	const size_t ends[] = { strcspn(a, " "), strcspn(b, " ") };
	const size_t size = ends[0] < ends[1] ? ends[0] : ends[1];

	return memcmp(a + ends[0] - size, b + ends[1] - size, size) == 0;
}

/* The tables of sockets, in PID/net/. Only TCP has states. */
static const struct table {
	const char *name, *words;
	int inode; /* the field */
} tables[] = {
	{ "unix", "Unix socket", 6 }, { "tcp", "TCP", 9 },
	{ "tcp6", "TCP", 9 },         { "udp", "UDP", 9 },
	{ "udp6", "UDP", 9 },         { NULL, "socket", 0 },
};

/* Copies the row of the socket INODE; or, if PEER is a row, of the other end of
 * its connection; in the thread's network namespace. Returns the table; or
 * the last, which has no name, and ROW is "". */
static const struct table *
find_socket(const struct scene *scene, unsigned long inode, const char *peer,
            char row[TEXT_SIZE])
{
	const struct table *at = tables;

	for (; at->name != NULL; at++) {
		char path[PATH_SIZE];
		bool is_found = false;

		(void)snprintf(path, sizeof(path), "%d/net/%s",
		               scene->thread.id, at->name);

		FILE *const file = fopen(path, "re");

		while (!is_found && file != NULL &&
		       duration_now() < scene->until &&
		       fgets(row, TEXT_SIZE, file) != NULL)
			is_found = peer == NULL
			               ? number_at(row, at->inode) == inode
			               : is_same_address(row, 1, peer, 2) &&
			                     is_same_address(row, 2, peer, 1);
		if (file != NULL)
			(void)fclose(file);
		row[is_found ? strcspn(row, "\n") : 0] = '\0';
		if (is_found)
			break;
	}
	return at;
}

static const char *const tcp_states[TCP_LISTEN] = {
	[TCP_ESTABLISHED] = ", established",
	[TCP_SYN_SENT] = ", no answer yet",
	[TCP_CLOSE_WAIT] = ", closed by the other side",
};

/* Says WORD and "127.0.0.1:80" for TEXT, "0100007F:0050 …", unless the port is
 * 0. The kernel prints each 32 bits of an address as a number. */
static void
say_address(struct scene *scene, const char *word, const char *text)
{
	uint32_t bits[4] = { 0 };
	const unsigned long port = strtoul(procfs_value(text, ":"), NULL, 16);
	char name[INET6_ADDRSTRLEN] = "";
	/* The numbers fit. NOLINTNEXTLINE(cert-err34-c) */
	const bool is_ip6 = sscanf(text, "%8x%8x%8x%8x", &bits[0], &bits[1],
	                           &bits[2], &bits[3]) == 4;

	(void)inet_ntop(is_ip6 ? AF_INET6 : AF_INET, bits, name, sizeof(name));
	if (port != 0)
		say(scene, is_ip6 ? "%s[%s]:%lu" : "%s%s:%lu", word, name,
		    port);
}

/* Returns the other end of the Unix socket INODE of our network, or 0. Only
 * sock_diag(7) tells it, whose structs musl does not declare. */
static unsigned long
peer_of(unsigned long inode)
{
	const struct question { /* struct nlmsghdr and struct unix_diag_req */
		uint32_t length;
		uint16_t type, flags;
		uint32_t numbers[2];
		uint8_t family, protocol;
		uint16_t padding;
		uint32_t states, inode, show, cookie[2];
	} question = {
		.length = sizeof(question),
		.type = 20, /* SOCK_DIAG_BY_FAMILY */
		.flags = 1, /* NLM_F_REQUEST */
		.family = AF_UNIX,
		.inode = (uint32_t)inode,
		.show = 4, /* UDIAG_SHOW_PEER */
		.cookie = { UINT32_MAX, UINT32_MAX },
	};
	struct answer {
		uint32_t header[8]; /* struct nlmsghdr and unix_diag_msg */
		uint16_t length, attribute; /* the first */
		uint32_t value;
	} answer = { .attribute = 0 };
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
	                      4 /* NETLINK_SOCK_DIAG */);

	if (fd != -1 && send(fd, &question, sizeof(question), 0) != -1)
		(void)recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);
	fds_close(fd);
	return answer.attribute == 2 /* UNIX_DIAG_PEER */ ? answer.value : 0;
}

/* Says " (TCP 127.0.0.1:41000 -> 127.0.0.1:5432, established)", by the row " 0:
 * 0100007F:A028 0100007F:1538 01 …"; or " (Unix socket to /run/x with 4711)",
 * by rows "000: 00000002 00000000 00010000 0001 01 4711 /run/x", where '@'
 * begins an abstract path: proc(5). An end without a path has that of the other
 * end. */
static enum source
say_socket(struct scene *scene, const struct descriptor *end)
{
	const unsigned long inode =
	    strtoul(end->link + strlen(SOCKET), NULL, 10);
	char row[TEXT_SIZE];
	char peer_row[TEXT_SIZE];
	char link[LOOK_LINK_SIZE];
	const struct table *const table = find_socket(scene, inode, NULL, row);
	const bool is_unix = table == tables;
	const size_t state = strtoul(field(row, 3), NULL, 16);
	const bool listens = state == (is_unix ? UNIX_LISTEN : TCP_LISTEN);
	const char *word = listens ? " listening on " : " ";
	unsigned long peer = 0;
	pid_t other = 0;

	say(scene, " (%s", table->words);
	if (is_unix) {
		peer = peer_of(inode);
		if (field(row, 7)[0] == '\0' && peer != 0) {
			(void)find_socket(scene, peer, NULL, row);
			word = " to ";
		}
		if (field(row, 7)[0] != '\0')
			say(scene, "%s%s", word, field(row, 7));
	} else if (table->name != NULL) {
		say_address(scene, word, field(row, 1));
		say_address(scene, " -> ", field(row, 2));
		if (table->words[0] == 'T' && state < TCP_LISTEN &&
		    tcp_states[state] != NULL)
			say(scene, "%s", tcp_states[state]);
		if (state == TCP_ESTABLISHED &&
		    find_socket(scene, 0, row, peer_row)->name != NULL)
			peer = number_at(peer_row, 9);
	}
	(void)snprintf(link, sizeof(link), SOCKET "%lu]", peer);
	if (peer != 0)
		other = say_ends(scene, link, 0, " with");
	if (other == 0 && scene->thread.wait != WAIT_READ &&
	    is_output(scene, end))
		say(scene, OUTPUT_READER);
	say(scene, ")");
	if (listens) /* an idle server tells little */
		return SOURCE_IDLE;
	/* Whoever reads UDP without a peer serves; musl's resolver polls it. */
	if (state == TCP_CLOSE && scene->thread.wait == WAIT_READ)
		return SOURCE_EVENTS;
	return source_of(scene, other, is_unix ? SOURCE_OWN : SOURCE_OTHERS);
}

/* Says " (pipe from 4711)"; or of a FIFO, " (FIFO /run/x from 4711)". */
static enum source
say_pipe(struct scene *scene, const struct descriptor *end)
{
	const bool reads = (end->mode & S_IRUSR) != 0;
	const bool writes = (end->mode & S_IWUSR) != 0;
	pid_t other = -1;

	say(scene, end->link[0] == '/' ? " (FIFO %s" : " (pipe", end->link);
	if (reads != writes)
		other = say_ends(scene, end->link, reads ? S_IWUSR : S_IRUSR,
		                 reads ? " from" : " to");
	if (other == 0 && is_output(scene, end))
		say(scene, OUTPUT_READER);
	say(scene, ")");
	return source_of(scene, other, SOURCE_PIPE);
}

pid_t
fd_pid(const struct scene *scene, int fd)
{
	char info[TEXT_SIZE];

	(void)procfs_read(info, sizeof(info), "%d/fdinfo/%d", scene->thread.id,
	                  fd);
	return (pid_t)procfs_number(info, "Pid:\t");
}

/* What links begin with; the last that fits counts. */
static const struct {
	const char *link;
	enum source source;
} sources[] = {
	{ ANONYMOUS "[eventfd", SOURCE_OWN },
	{ ANONYMOUS "[timerfd", SOURCE_OWN },
	{ ANONYMOUS "[io_uring", SOURCE_OWN },
	{ ANONYMOUS "[signalfd", SOURCE_EVENTS },
	{ ANONYMOUS "inotify", SOURCE_EVENTS },
	{ "/dev/pts/", SOURCE_IDLE },
	{ "/dev/tty", SOURCE_IDLE },
	{ "/dev/pts/ptmx", SOURCE_OTHERS }, /* a master: for a program */
};

enum source
fd_say(struct scene *scene, int fd)
{
	const struct descriptor end = read_descriptor(scene->thread.id, fd);
	const char *const link = end.link;
	enum source source = SOURCE_OTHERS;

	say(scene, "fd %d", fd);
	if (link[0] == '\0')
		return SOURCE_OTHERS;
	if (strcmp(link, scene->look->streams[0]) == 0 &&
	    scene->thread.wait != WAIT_WRITE) {
		say(scene, " (standard input, from the caller (--no-stdin "
		           "gives none))");
		return SOURCE_IDLE;
	}
	if (starts_with(link, SOCKET))
		return say_socket(scene, &end);
	if (starts_with(link, "pipe:[") ||
	    S_ISFIFO(fds_look_at(AT_FDCWD, end.path).mode))
		return say_pipe(scene, &end);
	for (size_t i = 0; i < COUNT(sources); i++) {
		if (starts_with(link, sources[i].link))
			source = sources[i].source;
	}
	if (starts_with(link, ANONYMOUS)) { /* "[pidfd]", or "inotify" */
		const char *name = link + strlen(ANONYMOUS);
		const pid_t pid = fd_pid(scene, fd);

		name += strspn(name, "[");
		say(scene, " (%.*s", (int)strcspn(name, "]"), name);
		if (pid > 0)
			say(scene, " %d", pid);
		say(scene, ")");
	} else {
		say(scene, source == SOURCE_IDLE ? " (terminal %s)" : " (%s)",
		    link);
	}
	return source;
}

/* Whether a descriptor of PID has LOCK, a row of /proc/locks; or, if LOCK is a
 * file, a lock on the whole of that; one for reading keeps a writer out, too.
 * If another user's descriptors may not be read, PID holds the lock that it
 * has taken, as its row says. */
static bool
holds_lock(const struct scene *scene, pid_t pid, const char *lock)
{
	procfs_list_of(pid, "fdinfo", &fds);
	for (size_t i = 0; i < fds.count && duration_now() < scene->until;
	     i++) {
		char info[TEXT_SIZE];

		(void)procfs_read(info, sizeof(info), "%d/fdinfo/%d", pid,
		                  fds.numbers[i]);
		if (strstr(info, lock) != NULL &&
		    (!starts_with(lock, FILE_ID) ||
		     strstr(info, " 0 EOF") != NULL))
			return true;
	}
	return fds.count == 0 && (pid_t)number_at(lock, 3) == pid;
}

/* Returns who has the lock of SCENE, or 0. */
static pid_t
find_holder(const struct scene *scene)
{
	static struct procfs_list all;
	struct procstat stat;

	/* First who took it: others may have inherited it, as from flock(1). */
	procfs_list_names(procfs_fd(), ".", &all);
	for (size_t i = 0; i <= all.count && duration_now() < scene->until;
	     i++) {
		const pid_t pid = i == 0 ? (pid_t)number_at(scene->lock, 3)
		                         : all.numbers[i - 1];

		if (pid > 0 && pid != scene->sight->pid &&
		    procstat_read_status(pid, &stat) == 0 && !stat.is_dead &&
		    holds_lock(scene, pid, scene->lock))
			return pid;
	}
	return 0;
}

/* Says who has the lock that the thread waits for, by its LOCK: in /proc/locks,
 * "1: -> FLOCK ADVISORY WRITE 4712 fe:00:21 0 EOF" waits for the last row
 * without an arrow, which is in fdinfo, too, without its number: proc(5). But
 * of several rows, some are of other threads; and none is there for an open
 * file description lock, nor, in another PID namespace, for a lock whose taker
 * is dead: locks_show(), fs/locks.c. Then LOCK is the file, by its fdinfo
 * (since Linux 5.14); but none if the descriptor has a lock: a process that
 * shares it would be taken for the holder. */
void
fd_say_holder(struct scene *scene)
{
	const pid_t self = scene->sight->pid;
	FILE *const locks = fopen("locks", "re");
	char row[TEXT_SIZE];
	char last[TEXT_SIZE] = ""; /* without an arrow */
	char lock[sizeof(scene->lock)] = "";
	int rows = 0;

	while (locks != NULL && fgets(row, sizeof(row), locks) != NULL) {
		if (field(row, 1)[0] != '-') {
			memcpy(last, row, sizeof(row));
		} else if ((pid_t)number_at(row, 5) == self) {
			rows++;
			(void)snprintf(lock, sizeof(lock), "%s",
			               field(last, 1));
		}
	}
	if (locks != NULL)
		(void)fclose(locks);
	if (rows != 1) {
		(void)procfs_read(row, sizeof(row), "%d/fdinfo/%d",
		                  scene->thread.id, (int)scene->thread.args[0]);

		const char *const file = strstr(row, FILE_ID);

		if (file == NULL || strstr(file, "ino:") == NULL ||
		    strstr(file, "lock:") != NULL)
			return;
		(void)snprintf(lock, sizeof(lock), "%s", file);
	}
	if (strcmp(lock, scene->lock) != 0) {
		memcpy(scene->lock, lock, sizeof(lock));
		scene->holder = find_holder(scene);
	}
	if (scene->holder > 0) {
		say(scene, ", held by %d ", scene->holder);
		cmdline_add(&scene->line, scene->holder, COMMAND_WIDTH);
	}
}
