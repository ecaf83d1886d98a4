/* read(2) and write(2) until all is done. */
#include "base/rw.h"

#include <errno.h>
#include <unistd.h>

ssize_t
rw_read(int fd, void *data, size_t size)
{
	size_t done = 0;
	ssize_t length = 1;

	while (done < size && length != 0) {
		length = read(fd, (char *)data + done, size - done);
		if (length > 0)
			done += (size_t)length;
		else if (length == -1 && errno != EINTR)
			return -1;
	}
	return (ssize_t)done;
}

size_t
rw_write(int fd, const void *data, size_t size)
{
	size_t done = 0;

	while (done < size) {
		const ssize_t length =
		    write(fd, (const char *)data + done, size - done);

		if (length > 0)
			done += (size_t)length;
		else if (length == -1 && errno != EINTR)
			break;
	}
	return done;
}
