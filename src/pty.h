#ifndef WDRUN_PTY_H
#define WDRUN_PTY_H

#include <stdbool.h>

/*
 * Opens a pseudo-terminal, close-on-exec, nobody's controlling terminal. The
 * master does not block. Returns 0, or -1 with errno of posix_openpt(3).
 */
int pty_open(int *master_fd, int *slave_fd);

/*
 * Sets up the terminal on SLAVE_FD like that on MODEL_FD, or -1 for the
 * defaults, and if not IS_COOKED with its output left as it is: no "\r\n" where
 * the program wrote "\n". Returns 0, or -1 with errno of ioctl(2).
 */
int pty_imitate(int slave_fd, int model_fd, bool is_cooked);

/*
 * Gives the terminal on SLAVE_FD the window size of that on FD; 24 by 80 if FD
 * is -1. Returns whether it was another one.
 */
bool pty_follow_size(int slave_fd, int fd);

#endif
