#!/bin/sh
#
# The entry point of a container: prepares, then runs the service as PID 1.
#
#     COPY wdrun entrypoint.sh /usr/local/bin/
#     ENTRYPOINT ["entrypoint.sh"]
#     CMD ["server", "--port=8080"]
#
# The kernel gives PID 1 no signal that it does not handle, and all orphans: a
# shell, or a server that was not written for it, sleeps through `docker stop`
# until it is killed, with its work half done, and gathers zombies. As PID 1,
# wdrun passes signals on, buries orphans, and ends when the service has.
#
# The status is the service's own, 128+N after its death by signal N. To be
# changed by the environment:
#
#     STATE_DIR  is made, if it is not there (/var/lib/service)
#     GRACE      from SIGTERM to SIGKILL, less than the engine's own 10 s (8s)
#     WDRUN      the watchdog (wdrun)
set -eu

mkdir -p "${STATE_DIR:-/var/lib/service}"

exec "${WDRUN:-wdrun}" --kill-after="${GRACE:-8s}" -- "$@"
