#!/usr/bin/env bats
#
# The incident: a script with a word too many in a jq line. For `jq .id requests
# >ids.json echo "..."` jq takes `echo` and its text for two more input files;
# it opens the first one, a FIFO that no process writes, and never returns.
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

# Succeeds when both programs are executed and blocked.
two_hang() {
	[ "$(hanging | wc -l)" -eq 2 ]
}

hanging() {
	local pid name
	for pid in $(leftovers); do
		name=''
		{ read -r name <"/proc/$pid/comm"; } 2>/dev/null
		[ "$name" != jq ] || echo "$pid"
	done
}

@test "without wdrun the incident outlives the process that ended the script" {
	start ./incident
	wait_until two_hang

	kill -TERM "$started"
	finish

	two_hang
	end_leftovers
}

leaves_a_part() {
	rm -f requests replies
	complete timeout "$limit" bash -c './incident & wait'
	left=$(hanging | wc -l)
	end_leftovers
	[ "$left" -ge 1 ]
}

@test "timeout leaves a part of the incident behind" {
	with_more_time leaves_a_part

	[ "$status" -eq 124 ]
}

# tells_of_both COMMAND...: succeeds if $limit was long enough for both to hang.
tells_of_both() {
	rm -f requests replies
	complete "$WDRUN" -t "$limit" "$@"
	[ "$(grep -cE 'jq .*: opening a FIFO that nobody opens for writing' err)" -eq 2 ]
}

# The same with all that is told. A limit that ends while bash starts a program,
# and can miss a signal, was too short.
tells_the_tree() {
	tells_of_both ./incident || return
	tree=$(sed -E 's/[0-9]+ /N /; s/children [0-9]+, [0-9]+/children N, N/; s/after [0-9.]+m?s, /after Ns, /; s/\[S [0-9]+s\]/[S Ns]/' err | sort)
	[ "$tree" = "wdrun:     N jq .id requests echo 'ids written' [S Ns]: opening a FIFO that nobody opens for writing: 'requests'
wdrun:     N jq .text replies echo 'texts written' [S Ns]: opening a FIFO that nobody opens for writing: 'replies'
wdrun:   N bash ./incident [S Ns]: waiting for its children N, N
wdrun: timed out after Ns, stopping N processes with SIGTERM:" ] || {
		echo "$tree"
		return 1
	}
}

@test "wdrun ends the incident as a whole, and says what hung and whose child it is" {
	with_more_time tells_the_tree

	[ "$status" -eq 124 ]
	nobody_is_left
	only_messages
	[ "$output" = started ]
	# The script comes first, and its child below it.
	[[ $(sed -n 2p err) == *" ./incident "* ]]
}

@test "wdrun ends the incident as timeout was used: bash -c '... & wait'" {
	with_more_time tells_of_both bash -c './incident & wait'

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
