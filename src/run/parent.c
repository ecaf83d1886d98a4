/* The process that started wdrun. */
#include "run/parent.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "proc/pidfd.h"
#include "run/run.h"

static int
refuse(const char *what)
{
	message("%s: %s", what, strerror(errno));
	return -1;
}

int
parent_watch(struct run *run)
{
	if (!run->options.die_with_parent)
		return 0;
	run->parent.pid = getppid();
	if (run->parent.pid == 0) {
		message("--die-with-parent: the caller is in another PID "
		        "namespace");
		return -1;
	}
	run->parent.fd = pidfd_open(run->parent.pid);
	if (run->parent.fd == -1)
		return refuse("--die-with-parent: cannot watch the caller");
	/* If the parent died before pidfd_open(2), its PID may be reused. */
	if (getppid() != run->parent.pid) {
		message("--die-with-parent: the caller is already dead");
		return -1;
	}
	return 0;
}
