#!/usr/bin/env bash
#
# Runs a command for each line of stdin, many at once, each of them bounded.
#
#     many.sh ./convert <files
#
# One command that hangs takes a place of xargs's or parallel's for good; when
# all places are taken, nothing goes on. `timeout` frees the place, but what the
# command had started stays, and thousands of such leave no process to be had.
#
# The line is the last argument. stdout is what the commands printed; stderr has
# wdrun's messages, and a line with the counts. The status is 0 if all succeeded,
# else 1. All of it can be changed by the environment:
#
#     MANY_WITH     what runs them: xargs or parallel (xargs)
#     MANY_JOBS     how many at once (4 for each processor)
#     MANY_TIMEOUT  bound on each (1m)
#     MANY_LOG      a line for each run: status, line (many.log)
#     WDRUN         the watchdog (wdrun)
set -uo pipefail

if (($# == 0)); then
	echo "usage: ${0##*/} COMMAND [ARG]... <LINES" >&2
	exit 2
fi

jobs=${MANY_JOBS:-$((4 * $(nproc)))}
log=${MANY_LOG:-many.log}
export MANY_TIMEOUT=${MANY_TIMEOUT:-1m} MANY_LOG=$log WDRUN=${WDRUN:-wdrun}

# xargs gives up altogether when a command dies by a signal or ends with 255,
# and wdrun ends as its command did; so this shell, which notes how, succeeds.
# shellcheck disable=SC2016 # that shell expands it
run='"$WDRUN" --timeout="$MANY_TIMEOUT" --no-stdin -- "$@"
	status=$?
	for line; do :; done
	printf "%s %s\n" "$status" "$line" >>"$MANY_LOG"'

: >"$log"
case ${MANY_WITH:-xargs} in
xargs) xargs -r -d '\n' -n 1 -P "$jobs" sh -c "$run" many "$@" ;;
parallel) parallel --quote --jobs "$jobs" sh -c "$run" many "$@" ;;
*) echo "many: MANY_WITH is xargs or parallel" >&2 && exit 2 ;;
esac || exit

awk '{ runs++ } $1 == 124 { late++ } $1 != 0 { bad++ }
	END {
		printf "many: %d runs, %d failed, %d of them timed out\n",
			runs, bad, late
		exit bad > 0
	}' "$log" >&2
