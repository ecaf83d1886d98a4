/* Handing a copy on, as long as somebody takes it. */
#include "copy.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "duration.h"
#include "message.h"

#define PATIENCE    SECOND
#define PATIENCE_MS 1000

void
copy_end(const char *name, _Atomic bool *is_over, const char *why)
{
	if (!atomic_exchange(is_over, true))
		message("--tee: cannot write to '%s': %s; the copy ends here",
		        name, why);
}

/* Waits for room in a pipe that is full. Returns whether to go on trying. */
static bool
is_moving(const struct copy *copy)
{
	struct pollfd room = { .fd = copy->fd, .events = POLLOUT };

	return poll(&room, 1, PATIENCE_MS) != 0 ||
	       duration_now_fast() - *copy->moved_at < PATIENCE;
}

void
copy_write(struct copy *copy, const char *text, size_t length,
           const volatile sig_atomic_t *gives_up)
{
	while (length > 0 && !*copy->is_over && !*gives_up) {
		const ssize_t written = write(copy->fd, text, length);
		const int why = errno;

		if (written > 0) {
			text += written;
			length -= (size_t)written;
		} else if (why == EAGAIN && !is_moving(copy)) {
			copy_end(copy->name, copy->is_over, "it takes nothing");
		} else if (why != EAGAIN && why != EINTR) {
			copy_end(copy->name, copy->is_over, strerror(why));
		}
	}
}
