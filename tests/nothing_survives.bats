#!/usr/bin/env bats
#
# Promise 1: when wdrun returns, every process that the command started is dead,
# whatever it is and however the run ends. Each test has one kind of process,
# and runs that end in each of the ways. A kind is a command that prints `ready
# PID`.
#
# shellcheck disable=SC2016,SC2154

load helper

child=("$PROGRAMS/escape")
grandchild=("$PROGRAMS/escape" fork setsid)
daemon=("$PROGRAMS/escape" fork setsid fork root closed)
deaf=("$PROGRAMS/escape" stubborn)
stopped=("$PROGRAMS/escape" stopped)
stopped_deaf_daemon=("$PROGRAMS/escape" fork setsid stubborn stopped)
without_environment=("$PROGRAMS/escape" fork setsid empty)
of_thread=("$PROGRAMS/threads" fork)
of_leaderless=("$PROGRAMS/threads" leaderless)
successor=("$PROGRAMS/successor")
chain=("$PROGRAMS/chain" 200)
storm=("$PROGRAMS/storm" 400)
crowd=("$PROGRAMS/crowd" 1000)

nested=(sh -c 'timeout 1000 sleep 1000 & echo "ready $!"; wait')

by_timeout() {
	complete_late "$WDRUN" -t LIMIT -k 300ms -- "$@"

	[ "$status" -eq 124 ]
	is_dead "$ready"
	nobody_is_left
}

# by_signal SIGNAL COMMAND...: the run is ended by SIGNAL to the front.
by_signal() {
	start "$WDRUN" -k 300ms -- "${@:2}"
	await_ready

	kill -s "$1" "$started"
	finish

	[ "$status" -ne 125 ]
	is_dead "$ready"
	nobody_is_left
}

# A front that is killed cannot wait for the end of the tree; the supervisor
# does that.
by_death_of_front() {
	start "$WDRUN" -- "$@"
	await_ready

	kill -KILL "$started"
	finish

	[ "$status" -eq 137 ]
	wait_until nobody_is_left
	is_dead "$ready"
}

by_death_of_supervisor() {
	start "$WDRUN" -- "$@"
	await_ready
	await_watchers

	kill -KILL "$supervisor"
	finish

	[ "$status" -eq 137 ]
	is_dead "$ready"
	nobody_is_left
}

# dies KIND...: the process is dead however the run ends.
dies() {
	local name
	echo "--- by a timeout"
	by_timeout "$@"
	for name in TERM INT HUP; do
		echo "--- by $name"
		by_signal "$name" "$@"
	done
	echo "--- by SIGKILL of the front"
	by_death_of_front "$@"
	echo "--- by SIGKILL of the supervisor"
	by_death_of_supervisor "$@"
}

@test "a background child is dead however the run ends: timeout, signals, kill -9 of a watchdog" {
	dies "${child[@]}"
}

@test "a setsid grandchild is dead however the run ends: timeout, signals, kill -9 of a watchdog" {
	dies "${grandchild[@]}"
}

@test "a daemon is dead however the run ends: timeout, signals, kill -9 of a watchdog" {
	dies "${daemon[@]}"
}

@test "the command of a nested timeout is dead however the run ends: timeout, signals, kill -9 of a watchdog" {
	dies "${nested[@]}"
}

@test "a process that ignores every signal is dead however the run ends: timeout, signals, kill -9 of a watchdog" {
	dies "${deaf[@]}"
}

@test "a stopped process is dead however the run ends: timeout, signals, kill -9 of a watchdog" {
	dies "${stopped[@]}"
}

@test "a stopped daemon that ignores every signal is dead however the run ends: timeout, signals, kill -9 of a watchdog" {
	dies "${stopped_deaf_daemon[@]}"
}

@test "a process with an empty environment is dead however the run ends: timeout, signals, kill -9 of a watchdog" {
	dies "${without_environment[@]}"
}

@test "a child of a thread is dead however the run ends: timeout, signals, kill -9 of a watchdog" {
	dies "${of_thread[@]}"
}

@test "a child of a process without its main thread is dead however the run ends: timeout, signals, kill -9 of a watchdog" {
	dies "${of_leaderless[@]}"
}

@test "a process that leaves a successor is dead however the run ends: timeout, signals, kill -9 of a watchdog" {
	dies "${successor[@]}"
}

@test "a chain of processes that fork for ever is dead however the run ends: timeout, signals, kill -9 of a watchdog" {
	dies "${chain[@]}"
}

@test "a fork storm is dead however the run ends: timeout, signals, kill -9 of a watchdog" {
	dies "${storm[@]}"
}

@test "what is forked while the tree is being read gets the first signal too" {
	complete "$WDRUN" -t 1 -k 2m bash -c '"$PROGRAMS/crowd" 300 >ready &
		for ((i = 0; i < 2000; i++)); do setsid sleep 1000 & done; wait'

	[ "$status" -eq 124 ]
	[[ $stderr != *"still alive"* ]]
}

@test "a crowd of 1,000 processes is dead however the run ends: timeout, signals, kill -9 of a watchdog" {
	dies "${crowd[@]}"
}
