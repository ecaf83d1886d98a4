#!/bin/sh
#
# The entry point of a container: prepares, then runs the service as PID 1.
#
#     COPY wdrun entrypoint.sh /usr/local/bin/
#     ENTRYPOINT ["entrypoint.sh"]
#     CMD ["server", "--port=8080"]
#
# PID 1 gets only signals that it handles, and all orphans become its children: a
# shell, or a server that was not written to be PID 1, ignores `docker stop` until
# it is killed in the middle of its work, and leaves zombies. As PID 1, wdrun
# forwards signals, reaps orphans, and ends when the service has ended.
#
# The status is the service's own, 128+N after its death by signal N. The
# environment can change these:
#
#     STATE_DIR  is made if it does not exist (/var/lib/service)
#     GRACE      from SIGTERM to SIGKILL, less than the engine's own 10 s (8s)
#     WDRUN      the watchdog (wdrun)
set -eu

mkdir -p "${STATE_DIR:-/var/lib/service}"

exec "${WDRUN:-wdrun}" --kill-after="${GRACE:-8s}" -- "$@"
