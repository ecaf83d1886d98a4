/* Processes by their pidfds: whether they are dead, and signals to them. */
#include "proc/pidfd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "base/fds.h"

bool
pid_is_dead(pid_t pid)
{
	struct pollfd death = { .fd = pidfd_open(pid), .events = POLLIN };

	if (death.fd == -1)
		return kill(pid, 0) == -1 && errno == ESRCH;

	const bool is_ready = poll(&death, 1, 0) == 1;

	(void)close(death.fd);
	return is_ready;
}

int
pid_kill(pid_t pid, int signal)
{
	int result = kill(pid, signal);
	const int why = errno;

	if (result == 0 || why == ESRCH)
		return result;

	const int fd = pidfd_open(pid);

	if (fd != -1)
		result = pidfd_send_signal(fd, signal);
	fds_close(fd);
	if (result == -1)
		errno = why;
	return result;
}
