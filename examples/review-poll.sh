#!/usr/bin/env bash
#
# Looks for reviews that were asked for, and does them: one round of a poll.
#
#     review-poll.sh
#
# cron calls it, and wdrun sees that each round ends, whatever the review hangs
# in, and that the lock does not outlive it:
#
#     * * * * * cd /srv/review && wdrun -t 30m -c review.lock ./review-poll.sh
#
# The lock is that of countless scripts: a file with the PID of who is at it. It
# is removed in the last line, which a script that is killed does not reach; and
# who has its PID by then is taken for it, and no later round does anything.
# Hence -c (--cleanup). `wdrun --lock=review.lock` in a script beside this one
# respects the lock, and holds it in a way that this one respects.
#
# A request is a file in the queue. It is removed when its review succeeded, so
# that the next round has another try where it did not. stdout is what the
# reviews print; stderr has a line for each. The status is 0 if none failed, or
# there was nothing to do; 1 if one failed; 2 if the lock cannot be made or
# removed; 75 if another round is at it.
#
# All of it can be changed by the environment:
#
#     REVIEW         the command, which gets the request's path (./review)
#     REVIEW_QUEUE   the directory of the requests (queue)
#     REVIEW_LOCK    the lock (review.lock)
set -uo pipefail

review=${REVIEW:-./review}
queue=${REVIEW_QUEUE:-queue}
lock=${REVIEW_LOCK:-review.lock}

if [ -f "$lock" ] && kill -0 "$(cat "$lock")" 2>/dev/null; then
	echo "review-poll: PID $(cat "$lock") is at it" >&2
	exit 75
fi
if ! echo $$ >"$lock"; then # and not on without one, beside the next round
	echo "review-poll: cannot write the lock $lock" >&2
	exit 2
fi

status=0
for request in "$queue"/*; do
	[ -f "$request" ] || continue
	if "$review" "$request"; then
		outcome='done'
		rm -f "$request" || outcome='done, but cannot be removed'
	else
		outcome="failed with status $?"
	fi
	echo "review-poll: ${request##*/}: $outcome" >&2
	[ "$outcome" = 'done' ] || status=1
done

if ! rm -f "$lock"; then
	echo "review-poll: cannot remove the lock $lock" >&2
	status=2
fi
exit "$status"
