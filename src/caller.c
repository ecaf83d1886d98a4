/* Who started wdrun, and what they left to it. */
#include "caller.h"

#include <sys/wait.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../watchdog.h"
#include "message.h"
#include "pidfd.h"

static int
refuse(const char *what, int why)
{
	message("%s: %s", what, strerror(why));
	return -1;
}

int
caller_watch(struct run *run)
{
	if (!run->options.die_with_parent)
		return 0;
	run->caller = getppid();
	if (run->caller == 0)
		return refuse("--die-with-parent: the caller is in another PID "
		              "namespace",
		              ESRCH);
	run->caller_fd = pidfd_open(run->caller);
	if (run->caller_fd == -1)
		return refuse("--die-with-parent: cannot watch the caller",
		              errno);
	/* It may have died before it was watched; then we have another one. */
	if (getppid() != run->caller)
		return refuse("--die-with-parent: the caller is gone", ESRCH);
	return 0;
}

int
caller_note_strangers(struct run *run)
{
	siginfo_t info;

	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0)
		return proctree_note_strangers(&run->tree) == -1
		           ? refuse("cannot note the children there are", errno)
		           : 0;
	return errno == ECHILD ? 0 : refuse("cannot wait for children", errno);
}
