#pragma once

#include <stdbool.h>

/* Opens both ends of a pseudo-terminal, close-on-exec, the master non-blocking.
 * It does not become a controlling terminal. Returns 0, or -1 with errno of
 * open(2) or ioctl(2); then the master may be open. */
int pty_open(int *master_fd, int *slave_fd);

/* Gives the terminal on SLAVE_FD the modes of that on MODEL_FD, or the kernel's
 * defaults if MODEL_FD is -1 or the terminal is raw. Unless PROCESSES_OUTPUT,
 * "\n" in the output does not become "\r\n". Returns 0, or -1 with errno of
 * tcsetattr(3). */
int pty_copy_modes(int slave_fd, int model_fd, bool processes_output);

/* Gives the terminal on SLAVE_FD the window size of that on MODEL_FD (-1: 24
 * rows, 80 columns). Returns whether the size has changed. */
bool pty_copy_size(int slave_fd, int model_fd);
