#pragma once

#include <stdbool.h>

/* Opens both ends of a pseudo-terminal, close-on-exec, the master non-blocking;
 * not as a controlling terminal. Returns 0; or -1 with errno of open(2) or
 * ioctl(2), and the master may be open. */
int pty_open(int *master_fd, int *slave_fd);

/* Copies the modes of the terminal MODEL_FD to SLAVE_FD; keeps the kernel's
 * defaults if MODEL_FD is -1 or raw. Unless PROCESSES_OUTPUT, "\n" does not
 * become "\r\n" (no OPOST). Returns 0, or -1 with errno of tcsetattr(3). */
int pty_copy_modes(int slave_fd, int model_fd, bool processes_output);

/* Copies the window size of the terminal MODEL_FD (-1: 24 rows, 80 columns) to
 * SLAVE_FD. Returns whether the size has changed. */
bool pty_copy_size(int slave_fd, int model_fd);
