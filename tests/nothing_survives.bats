#!/usr/bin/env bats
#
# Promise 1: when wdrun returns, every process that the command started is dead,
# whatever it is and however the run ends. A kind of process is a command that
# prints `ready PID`; a way is a function that ends a run of that command.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154

load helper
load bounds

child=("$PROGRAMS/escape")
grandchild=("$PROGRAMS/escape" fork setsid)
daemon=("$PROGRAMS/escape" fork setsid fork root closed)
nested=(sh -c 'timeout 1000 sleep 1000 & echo "ready $!"; wait')
deaf=("$PROGRAMS/escape" stubborn)
stopped=("$PROGRAMS/escape" stopped)
stopped_deaf_daemon=("$PROGRAMS/escape" fork setsid stubborn stopped)
without_environment=("$PROGRAMS/escape" fork setsid empty)
of_thread=("$PROGRAMS/threads" fork)
of_leaderless=("$PROGRAMS/threads" leaderless)
successor=("$PROGRAMS/successor")
chain=("$PROGRAMS/chain" 200)
storm=("$PROGRAMS/storm" 400)

# wdrun itself decides to stop, as for a timeout, when the process is ready.
by_completion() {
	complete "$WDRUN" -u ready --until-grace=0 -k 100ms -- "$@"

	[ "$status" -eq 0 ]
	says_ready out
	is_dead "$ready"
	nobody_is_left
}

by_signal() { # SIGNAL COMMAND...
	start "$WDRUN" -k 100ms --idle-after-exit=0 -- "${@:2}"
	await_ready

	kill -s "$1" "$started"
	finish

	[ "$status" -ne 125 ]
	is_dead "$ready"
	nobody_is_left
}

# A front that is killed cannot wait for the end of the tree; the supervisor
# does that.
by_death() { # front|supervisor COMMAND...
	start "$WDRUN" -- "${@:2}"
	await_ready
	await_watchers

	kill -KILL "${!1}"
	finish

	[ "$status" -eq 137 ]
	[ "$1" = supervisor ] || wait_until nobody_is_left
	is_dead "$ready"
	nobody_is_left
}

# dies KIND...: the process is dead whichever way the run ends.
dies() {
	local name way
	for name; do
		local -n kind=$name
		for way in by_completion 'by_signal TERM' 'by_death front' \
			'by_death supervisor'; do
			echo "--- $name $way"
			$way "${kind[@]}"
		done
	done
}

# bats test_tags=smoke,tree
@test "a background child, the command of a nested timeout, a setsid grandchild and a daemon are dead however the run ends" {
	dies child nested grandchild daemon
}

# bats test_tags=smoke,tree
@test "a process that ignores every signal, or is stopped, or both, is dead however the run ends" {
	dies deaf stopped stopped_deaf_daemon
}

# bats test_tags=smoke,tree
@test "a process with an empty environment, and the child of a thread, also of one without its main thread, are dead however the run ends" {
	dies without_environment of_thread of_leaderless
}

# bats test_tags=smoke,tree
@test "a process that leaves a successor, and a chain of processes that fork for ever, are dead however the run ends" {
	dies successor chain
}

# bats test_tags=smoke,tree
@test "a fork storm is dead however the run ends" {
	dies storm
}

timed_out() {
	local -n kind=$1
	complete_late "$WDRUN" -t LIMIT -k 100ms -- "${kind[@]}"

	[ "$status" -eq 124 ]
	is_dead "$ready"
}

# bats test_tags=smoke,tree
@test "a timeout ends each of these kinds" {
	local name
	for name in child nested grandchild daemon deaf stopped \
		stopped_deaf_daemon without_environment of_thread of_leaderless \
		successor chain; do
		beside "$name" timed_out "$name"
	done
	together
	nobody_is_left
}

# bats test_tags=smoke,tree
@test "HUP, INT, QUIT and TERM end the tree, and no signal but SIGKILL ends wdrun before its tree" {
	local name
	for name in HUP INT QUIT TERM ABRT SEGV ALRM PIPE XFSZ; do
		by_signal "$name" "${stopped_deaf_daemon[@]}"
		[ "$status" -eq $((128 + $(kill -l "$name"))) ]
	done
}

# --- the first signal --------------------------------------------------------

# has_lines NUMBER REGEX: so many lines of out match.
has_lines() {
	[ "$(grep -cE "$2" out)" -eq "$1" ]
}

# There is no SIGKILL here: whoever the first signal does not reach keeps the
# run from its end.
# bats test_tags=smoke,tree
@test "the first signal reaches every process: groups, sessions, orphans, a nested timeout, the stopped" {
	start "$WDRUN" -k never bash -c '
		"$PROGRAMS/sigcount" &
		setsid "$PROGRAMS/sigcount" &
		setsid bash -c "setsid \"\$PROGRAMS/sigcount\" & wait" &
		(setsid "$PROGRAMS/sigcount" &)
		timeout 1000 "$PROGRAMS/sigcount" &
		bash -c "kill -STOP \$\$; exit 3" & stopped=$!
		until grep -q stopped "/proc/$stopped/status"; do sleep 0.02; done
		exec "$PROGRAMS/sigcount"'
	wait_until has_lines 6 '^ready'

	kill -TERM "$started"
	finish

	[ "$status" -eq 7 ]
	has_lines 6 '^got 15$'
	nobody_is_left
}

# Each process of the chain dies of the signal, and so leaves the next one to
# the supervisor. A shell with a trap dies only when its child is dead.
# bats test_tags=smoke,tree
@test "the first signal reaches the end of a chain of sessions that die of it one by one" {
	export links last link='((links-- > 0)) || exec bash -c "$last"
		setsid bash -c "$link"
		true'
	for last in 'exec "$PROGRAMS/sigcount"' \
		'trap : TERM; setsid "$PROGRAMS/sigcount"; true'; do
		links=12
		start "$WDRUN" -k never bash -c "$link"
		await_ready

		kill -TERM "$started"
		finish

		has_lines 1 '^got 15$'
		nobody_is_left
	done
}

# ends_in_order SCRIPT: what SCRIPT does after the first signal is not cut short.
ends_in_order() {
	start "$WDRUN" -k never bash -c "$1; while :; do sleep 0.01; done"
	await_ready
	[[ $1 != *STOP* ]] || wait_until is_stopped "$ready"

	kill -TERM "$started"
	finish

	[ "$status" -eq 5 ]
	[[ $output == *"in order" ]]
}

# bats test_tags=smoke,tree
@test "a stopped process, and what a handler of the first signal starts, may end in order" {
	ends_in_order 'trap "echo in order; exit 5" TERM
		echo "ready $$"; kill -STOP $$'
	ends_in_order 'trap "sleep 0.2 && echo in order; exit 5" TERM
		echo "ready $$"'
}

@test "a command that unmounts /proc is ended as a whole, escapees too" {
	need_mounts
	start unshare --mount bash -c 'mount --make-rprivate /
		exec "$WDRUN" -k 300ms bash -c "
			\"\$PROGRAMS/escape\" fork setsid stubborn >escaped &
			until grep -qs ready escaped; do sleep 0.02; done
			umount -l /proc && echo ready \$\$; sleep 1000"'
	await_ready

	kill -TERM "$started"
	finish

	[ "$status" -eq 143 ]
	says_ready escaped
	is_dead "$ready"
	nobody_is_left
}

# --- the incident ------------------------------------------------------------

# A script with a word too many: sed takes `echo` and its text for two more
# files, opens the first one, a FIFO that nobody writes, and never returns. The
# script says `ready` when both hang.
@test "the incident: timeout leaves a part of it behind, wdrun nothing, and says what hung" {
	local how one two
	cat >incident <<-'END_OF_SCRIPT'
		#!/bin/bash
		hangs() {
			read -r _ name state _ <"/proc/$1/stat"
			[ "$name $state" = "(sed) S" ]
		}
		rm -f requests replies
		mkfifo requests replies
		setsid sed 1q requests >ids echo "ids written" & one=$!
		sed 1q replies >texts echo "texts written" &
		until hangs "$one" && hangs "$!"; do sleep 0.02; done
		echo "$one $!" >both
		echo "ready $$"
		wait
		echo finished
	END_OF_SCRIPT
	chmod +x incident

	complete_late timeout LIMIT bash -c './incident & wait'
	[ "$status" -eq 124 ]
	read -r one two <both
	is_alive "$one"
	end_leftovers

	for how in ./incident 'bash -c "./incident & wait"'; do
		eval "complete_late \"\$WDRUN\" -t LIMIT $how"
		[ "$status" -eq 124 ]
		[ "$output" = "ready $ready" ]
		nobody_is_left
		read -r one two <both
		only_messages
		has_message "$one" requests
		has_message "$two" replies
		has_message "$ready" incident "$one" # who waits for it
	done
}
