/* Pseudo-terminals. */
#include "pty.h"

#include <sys/ioctl.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#ifndef TIOCGPTPEER
#define TIOCGPTPEER 0x5441 /* the same but on alpha, mips, parisc, sparc */
#endif

#define ROWS_DEFAULT    24
#define COLUMNS_DEFAULT 80

/* By the master itself: the path may lead to another devpts, or nowhere
 * (ioctl_tty(2), TIOCGPTPEER, Linux 4.13). */
static int
open_slave(int master_fd)
{
	return ioctl(master_fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

int
pty_open(int *master_fd, int *slave_fd)
{
	const int master =
	    posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

	if (master == -1)
		return -1;
	if (grantpt(master) == 0 && unlockpt(master) == 0) {
		const int slave = open_slave(master);

		if (slave != -1) {
			*master_fd = master;
			*slave_fd = slave;
			return 0;
		}
	}

	const int why = errno;

	(void)close(master);
	errno = why;
	return -1;
}

int
pty_imitate(int slave_fd, int model_fd, bool is_cooked)
{
	struct termios modes;

	if ((model_fd == -1 || tcgetattr(model_fd, &modes) == -1) &&
	    tcgetattr(slave_fd, &modes) == -1)
		return -1;
	if (!is_cooked)
		modes.c_oflag &= ~(tcflag_t)OPOST;
	return tcsetattr(slave_fd, TCSANOW, &modes);
}

bool
pty_follow_size(int slave_fd, int fd)
{
	struct winsize size = { .ws_row = ROWS_DEFAULT,
		                .ws_col = COLUMNS_DEFAULT };
	struct winsize old;

	if (fd != -1 && ioctl(fd, TIOCGWINSZ, &size) == -1)
		return false;
	if (ioctl(slave_fd, TIOCGWINSZ, &old) == -1 ||
	    (old.ws_row == size.ws_row && old.ws_col == size.ws_col &&
	     old.ws_xpixel == size.ws_xpixel &&
	     old.ws_ypixel == size.ws_ypixel))
		return false;
	return ioctl(slave_fd, TIOCSWINSZ, &size) == 0;
}
