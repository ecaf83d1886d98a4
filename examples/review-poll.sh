#!/usr/bin/env bash
#
# One round of a poll: does the reviews that were requested.
#
#     review-poll.sh
#
# cron runs it, and wdrun makes sure that each round ends, whatever the review
# hangs in, and that its lock ends with it:
#
#     PATH=/usr/local/bin:/usr/bin:/bin
#     * * * * * cd /srv/review && wdrun -t 30m -c review.lock ./review-poll.sh
#
# The lock is a file with the PID of the script, as in many scripts. The last line
# removes it, which a killed script does not reach. Once another process has that
# PID, it counts as the owner, and no later round does anything: hence -c
# (--cleanup). This lock and that of `wdrun --lock=review.lock` respect each other.
#
# A request is a file in the queue. It is removed when its review succeeded, and
# stays for the next round where the review failed. stdout is what the reviews
# print; stderr has a line for each. The status is 0 if none failed, or there was
# nothing to do; 1 if one failed; 2 if the lock cannot be made or removed; 75 if
# another round is running.
#
# The environment can change these:
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
