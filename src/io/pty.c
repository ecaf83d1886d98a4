/* Pseudo-terminals. */
#include "io/pty.h"

#include <sys/ioctl.h>

#include <fcntl.h>
#include <termios.h>

#ifndef TIOCGPTPEER
#define TIOCGPTPEER 0x5441 /* _IO('T', 0x41) where _IOC_NONE is 0 */
#endif

#define ROWS_DEFAULT    24
#define COLUMNS_DEFAULT 80

int
pty_open(int *master_fd, int *slave_fd)
{
	const int locked = 0;

	/* pts(4). Not by posix_openpt(3), which links stdio in musl. */
	*master_fd =
	    open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (*master_fd == -1 || ioctl(*master_fd, TIOCSPTLCK, &locked) == -1)
		return -1;
	/* Not by ptsname(3), whose path may lead to another devpts or nowhere:
	 * ioctl_tty(2), TIOCGPTPEER, Linux 4.13. */
	*slave_fd =
	    ioctl(*master_fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	return *slave_fd == -1 ? -1 : 0;
}

int
pty_copy_modes(int slave_fd, int model_fd, bool processes_output)
{
	struct termios modes;

	/* Another wdrun in the same pipeline may have made MODEL_FD raw. */
	if ((model_fd == -1 || tcgetattr(model_fd, &modes) == -1 ||
	     (modes.c_lflag & ISIG) == 0) &&
	    tcgetattr(slave_fd, &modes) == -1)
		return -1;
	if (!processes_output)
		modes.c_oflag &= ~(tcflag_t)OPOST;
	return tcsetattr(slave_fd, TCSANOW, &modes);
}

bool
pty_copy_size(int slave_fd, int model_fd)
{
	struct winsize size = { .ws_row = ROWS_DEFAULT,
		                .ws_col = COLUMNS_DEFAULT };
	struct winsize old;

	if (model_fd != -1 && ioctl(model_fd, TIOCGWINSZ, &size) == -1)
		return false;
	if (ioctl(slave_fd, TIOCGWINSZ, &old) == -1 ||
	    (old.ws_row == size.ws_row && old.ws_col == size.ws_col &&
	     old.ws_xpixel == size.ws_xpixel &&
	     old.ws_ypixel == size.ws_ypixel))
		return false;
	return ioctl(slave_fd, TIOCSWINSZ, &size) == 0;
}
