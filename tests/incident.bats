#!/usr/bin/env bats
#
# The incident: a script whose jq lines say too much. `jq .id requests
# >ids.json echo "..."` makes of `echo` and its text two more input files, and
# jq opens the first, a FIFO that nobody writes, and never returns.
#
# shellcheck disable=SC2016,SC2154

load helper

setup() {
	common_setup
	cat >incident <<-'END'
		#!/bin/bash
		mkfifo requests replies
		setsid jq .id requests >ids.json echo "ids written" &
		jq .text replies >texts.json echo "texts written" &
		echo started
		wait
		echo finished
	END
	chmod +x incident
	need jq
}

# Both are executed, and blocked.
two_hang() {
	[ "$(hanging | wc -l)" -eq 2 ]
}

hanging() {
	local pid
	for pid in $(leftovers); do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" != jq ] || echo "$pid"
	done
}

@test "without wdrun the incident outlives the one who ended the script" {
	start ./incident
	wait_until two_hang

	kill -TERM "$started"
	finish

	two_hang
	end_leftovers
}

@test "timeout leaves a part of the incident behind" {
	start timeout 1 bash -c './incident & wait'

	finish

	[ "$status" -eq 124 ]
	[ "$(hanging | wc -l)" -ge 1 ]
	end_leftovers
}

@test "wdrun ends the incident, whole, and says what hung" {
	complete "$WDRUN" -t 2 ./incident

	[ "$status" -eq 124 ]
	nobody_is_left
	[ "$(grep -oE '[0-9]+ jq ' err | sort -u | wc -l)" -eq 2 ]
	[[ $stderr == *./incident* ]]
	only_messages
	[ "$output" = started ]
}

@test "it says that jq waits for a FIFO nobody writes, and whose child it is" {
	complete "$WDRUN" -t 2 ./incident

	tree=$(sed -E 's/[0-9]+ /N /; s/[0-9]+s, /Ns, /; s/\[S [0-9]+s\]/[S Ns]/' err | sort)
	[ "$tree" = "wdrun:     N jq .id requests echo ids written [S Ns]: opening a FIFO that nobody writes: 'requests'
wdrun:     N jq .text replies echo texts written [S Ns]: opening a FIFO that nobody writes: 'replies'
wdrun:   N /bin/bash ./incident [S Ns]: waiting for a child
wdrun: timed out after Ns, stopping N processes with SIGTERM:" ] || {
		echo "$tree"
		return 1
	}
	# The script first, and what it started below it.
	[[ $(sed -n 2p err) == *" ./incident "* ]]
}

@test "wdrun ends the incident as timeout was used: bash -c '... & wait'" {
	complete "$WDRUN" -t 2 bash -c './incident & wait'

	[ "$status" -eq 124 ]
	nobody_is_left
	[ "$(grep -oE '[0-9]+ jq ' err | sort -u | wc -l)" -eq 2 ]
}

@test "wdrun ends the incident when its caller is told to stop" {
	start "$WDRUN" ./incident
	wait_until two_hang

	kill -TERM "$started"
	finish

	[ "$status" -eq 143 ]
	nobody_is_left
}
