#!/usr/bin/env bash
#
# Runs a command for each line of stdin, many at once, each of them bounded.
#
#     many.sh ./convert <files
#
# One command that hangs takes a place of xargs's or parallel's for good; when
# all places are taken, nothing goes on. `timeout` frees the place, but what the
# command had started stays, and thousands of such leave no process to be had.
# And who kills a script with an xargs kills the script: xargs goes on to start.
# Here that ends all.
#
# The line is the last argument. stdout is what the commands printed; stderr has
# wdrun's messages, and a line with the counts. The status is 0 if all succeeded,
# else 1. All of it can be changed by the environment:
#
#     MANY_WITH     what runs them: xargs or parallel (xargs)
#     MANY_JOBS     how many at once (4 for each processor)
#     MANY_TIMEOUT  bound on each (1m)
#     MANY_LOG      a line for each run: status, or late, and line (many.log)
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
# and wdrun ends as its command did; so this shell, which notes how, succeeds. A
# command may end with 124 as well; in the report, no text has these quotes. The
# trap is for a shell that is stopped with all the others: it takes its report
# away first.
# shellcheck disable=SC2016 # that shell expands it
run='trap : HUP INT TERM
	file=$MANY_LOG.$$ report=
	"$WDRUN" --timeout="$MANY_TIMEOUT" --no-stdin --report="$file" -- "$@"
	status=$?
	[ ! -e "$file" ] || { read -r report <"$file"; rm -f "$file"; }
	case $report in
	*"\"outcome\":\"stopped\",\"reason\":\"timeout\""*) status=late ;;
	esac
	for line; do :; done
	printf "%s %s\n" "$status" "$line" >>"$MANY_LOG"'

: >"$log"
case ${MANY_WITH:-xargs} in
xargs) with=(xargs -r -d '\n' -n 1 -P "$jobs") ;;
parallel) with=(parallel --quote --jobs "$jobs") ;;
*) echo "many: MANY_WITH is xargs or parallel" >&2 && exit 2 ;;
esac
"$WDRUN" --die-with-parent -- "${with[@]}" sh -c "$run" many "$@" || exit

awk '{ runs++ } $1 == "late" { late++ } $1 != "0" { bad++ }
	END {
		printf "many: %d runs, %d failed, %d of them timed out\n",
			runs, bad, late
		exit bad > 0
	}' "$log" >&2
