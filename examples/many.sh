#!/usr/bin/env bash
#
# Runs a command for each line of stdin, many at once, each with a limit.
#
#     many.sh ./convert <files
#
# A command that hangs takes a slot of xargs or parallel forever; when all slots
# are taken, nothing goes on. `timeout` frees the slot, but what the command had
# started stays, until the machine has no process left to start. And a kill of a
# script with an xargs kills the script only: xargs goes on. Here it ends all.
#
# The line is the last argument. stdout is what the commands printed; stderr has
# wdrun's messages, and a line with the counts. The status is 0 if all succeeded,
# else 1. The environment can change these:
#
#     MANY_WITH     what runs them: xargs or parallel (xargs)
#     MANY_JOBS     how many at once (4 for each processor)
#     MANY_TIMEOUT  limit on each (1m)
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

# xargs gives up when a command dies by a signal or ends with 255, and wdrun ends
# as its command did. So this shell, which notes the status, always succeeds. A
# command may end with 124 itself, so the report decides: in JSON, a quote within
# a text is escaped, so no text can look like this. The trap is for a shell that
# is stopped with all others: it removes its report first.
# shellcheck disable=SC2016 # that shell expands it
run='trap : HUP INT TERM
	file=$MANY_LOG.$$ report=
	"$WDRUN" --timeout="$MANY_TIMEOUT" --no-stdin --report="$file" -- "$@"
	status=$?
	[ ! -e "$file" ] || { read -r report <"$file"; rm -f "$file"; }
	case $report in
	*"\"outcome\":\"stopped\""*"\"reason_code\":\"timeout\""*) status=late ;;
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
