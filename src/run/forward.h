#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct run;

#define TERMINAL (-1) /* as the sender of a signal: the front's terminal */

/* What one wake-up of the supervisor brought. */
struct event {
	int64_t now;
	int signal;        /* taken from the signalfd, or 0 */
	int code;          /* its si_code */
	pid_t sender;      /* of the signal; of SIGCHLD, the child */
	bool is_forwarded; /* by the front; SENDER sent it to the front */
};

/* Does what the signal of EVENT asks for: counts a terminating signal, stops or
 * continues the tree with its terminal, or signals the target. */
void forward_signal(struct run *run, const struct event *event);
