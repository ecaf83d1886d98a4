#!/usr/bin/env bats
#
# Promise 1: when wdrun returns, every process that the command started is dead,
# whatever it is and however the run ends. A test for each kind of process and
# each way to end. A kind is a command that prints `ready PID`.
#
# shellcheck disable=SC2154

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

# by_signal SIGNAL COMMAND...
by_signal() {
	start "$WDRUN" -k 300ms -- "${@:2}"
	await_ready

	kill -s "$1" "$started"
	finish

	[ "$status" -ne 125 ]
	is_dead "$ready"
	nobody_is_left
}

# The one who is killed cannot wait for the end of the tree; the other does it.
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

@test "a timeout ends a background child" {
	by_timeout "${child[@]}"
}

@test "TERM ends a background child" {
	by_signal TERM "${child[@]}"
}

@test "INT ends a background child" {
	by_signal INT "${child[@]}"
}

@test "HUP ends a background child" {
	by_signal HUP "${child[@]}"
}

@test "SIGKILL of the front ends a background child" {
	by_death_of_front "${child[@]}"
}

@test "SIGKILL of the supervisor ends a background child" {
	by_death_of_supervisor "${child[@]}"
}

@test "a timeout ends a setsid grandchild" {
	by_timeout "${grandchild[@]}"
}

@test "TERM ends a setsid grandchild" {
	by_signal TERM "${grandchild[@]}"
}

@test "INT ends a setsid grandchild" {
	by_signal INT "${grandchild[@]}"
}

@test "HUP ends a setsid grandchild" {
	by_signal HUP "${grandchild[@]}"
}

@test "SIGKILL of the front ends a setsid grandchild" {
	by_death_of_front "${grandchild[@]}"
}

@test "SIGKILL of the supervisor ends a setsid grandchild" {
	by_death_of_supervisor "${grandchild[@]}"
}

@test "a timeout ends a daemon" {
	by_timeout "${daemon[@]}"
}

@test "TERM ends a daemon" {
	by_signal TERM "${daemon[@]}"
}

@test "INT ends a daemon" {
	by_signal INT "${daemon[@]}"
}

@test "HUP ends a daemon" {
	by_signal HUP "${daemon[@]}"
}

@test "SIGKILL of the front ends a daemon" {
	by_death_of_front "${daemon[@]}"
}

@test "SIGKILL of the supervisor ends a daemon" {
	by_death_of_supervisor "${daemon[@]}"
}

@test "a timeout ends the command of a nested timeout" {
	by_timeout "${nested[@]}"
}

@test "TERM ends the command of a nested timeout" {
	by_signal TERM "${nested[@]}"
}

@test "INT ends the command of a nested timeout" {
	by_signal INT "${nested[@]}"
}

@test "HUP ends the command of a nested timeout" {
	by_signal HUP "${nested[@]}"
}

@test "SIGKILL of the front ends the command of a nested timeout" {
	by_death_of_front "${nested[@]}"
}

@test "SIGKILL of the supervisor ends the command of a nested timeout" {
	by_death_of_supervisor "${nested[@]}"
}

@test "a timeout ends a process that ignores every signal" {
	by_timeout "${deaf[@]}"
}

@test "TERM ends a process that ignores every signal" {
	by_signal TERM "${deaf[@]}"
}

@test "INT ends a process that ignores every signal" {
	by_signal INT "${deaf[@]}"
}

@test "HUP ends a process that ignores every signal" {
	by_signal HUP "${deaf[@]}"
}

@test "SIGKILL of the front ends a process that ignores every signal" {
	by_death_of_front "${deaf[@]}"
}

@test "SIGKILL of the supervisor ends a process that ignores every signal" {
	by_death_of_supervisor "${deaf[@]}"
}

@test "a timeout ends a stopped process" {
	by_timeout "${stopped[@]}"
}

@test "TERM ends a stopped process" {
	by_signal TERM "${stopped[@]}"
}

@test "INT ends a stopped process" {
	by_signal INT "${stopped[@]}"
}

@test "HUP ends a stopped process" {
	by_signal HUP "${stopped[@]}"
}

@test "SIGKILL of the front ends a stopped process" {
	by_death_of_front "${stopped[@]}"
}

@test "SIGKILL of the supervisor ends a stopped process" {
	by_death_of_supervisor "${stopped[@]}"
}

@test "a timeout ends a stopped daemon that ignores every signal" {
	by_timeout "${stopped_deaf_daemon[@]}"
}

@test "TERM ends a stopped daemon that ignores every signal" {
	by_signal TERM "${stopped_deaf_daemon[@]}"
}

@test "INT ends a stopped daemon that ignores every signal" {
	by_signal INT "${stopped_deaf_daemon[@]}"
}

@test "HUP ends a stopped daemon that ignores every signal" {
	by_signal HUP "${stopped_deaf_daemon[@]}"
}

@test "SIGKILL of the front ends a stopped daemon that ignores every signal" {
	by_death_of_front "${stopped_deaf_daemon[@]}"
}

@test "SIGKILL of the supervisor ends a stopped daemon that ignores every signal" {
	by_death_of_supervisor "${stopped_deaf_daemon[@]}"
}

@test "a timeout ends a process with an empty environment" {
	by_timeout "${without_environment[@]}"
}

@test "TERM ends a process with an empty environment" {
	by_signal TERM "${without_environment[@]}"
}

@test "INT ends a process with an empty environment" {
	by_signal INT "${without_environment[@]}"
}

@test "HUP ends a process with an empty environment" {
	by_signal HUP "${without_environment[@]}"
}

@test "SIGKILL of the front ends a process with an empty environment" {
	by_death_of_front "${without_environment[@]}"
}

@test "SIGKILL of the supervisor ends a process with an empty environment" {
	by_death_of_supervisor "${without_environment[@]}"
}

@test "a timeout ends a child of a thread" {
	by_timeout "${of_thread[@]}"
}

@test "TERM ends a child of a thread" {
	by_signal TERM "${of_thread[@]}"
}

@test "INT ends a child of a thread" {
	by_signal INT "${of_thread[@]}"
}

@test "HUP ends a child of a thread" {
	by_signal HUP "${of_thread[@]}"
}

@test "SIGKILL of the front ends a child of a thread" {
	by_death_of_front "${of_thread[@]}"
}

@test "SIGKILL of the supervisor ends a child of a thread" {
	by_death_of_supervisor "${of_thread[@]}"
}

@test "a timeout ends a child of a process without its main thread" {
	by_timeout "${of_leaderless[@]}"
}

@test "TERM ends a child of a process without its main thread" {
	by_signal TERM "${of_leaderless[@]}"
}

@test "INT ends a child of a process without its main thread" {
	by_signal INT "${of_leaderless[@]}"
}

@test "HUP ends a child of a process without its main thread" {
	by_signal HUP "${of_leaderless[@]}"
}

@test "SIGKILL of the front ends a child of a process without its main thread" {
	by_death_of_front "${of_leaderless[@]}"
}

@test "SIGKILL of the supervisor ends a child of a process without its main thread" {
	by_death_of_supervisor "${of_leaderless[@]}"
}

@test "a timeout ends a process that leaves a successor" {
	by_timeout "${successor[@]}"
}

@test "TERM ends a process that leaves a successor" {
	by_signal TERM "${successor[@]}"
}

@test "INT ends a process that leaves a successor" {
	by_signal INT "${successor[@]}"
}

@test "HUP ends a process that leaves a successor" {
	by_signal HUP "${successor[@]}"
}

@test "SIGKILL of the front ends a process that leaves a successor" {
	by_death_of_front "${successor[@]}"
}

@test "SIGKILL of the supervisor ends a process that leaves a successor" {
	by_death_of_supervisor "${successor[@]}"
}

@test "a timeout ends a chain of processes that fork for ever" {
	by_timeout "${chain[@]}"
}

@test "TERM ends a chain of processes that fork for ever" {
	by_signal TERM "${chain[@]}"
}

@test "INT ends a chain of processes that fork for ever" {
	by_signal INT "${chain[@]}"
}

@test "HUP ends a chain of processes that fork for ever" {
	by_signal HUP "${chain[@]}"
}

@test "SIGKILL of the front ends a chain of processes that fork for ever" {
	by_death_of_front "${chain[@]}"
}

@test "SIGKILL of the supervisor ends a chain of processes that fork for ever" {
	by_death_of_supervisor "${chain[@]}"
}

@test "a timeout ends a fork storm" {
	by_timeout "${storm[@]}"
}

@test "TERM ends a fork storm" {
	by_signal TERM "${storm[@]}"
}

@test "INT ends a fork storm" {
	by_signal INT "${storm[@]}"
}

@test "HUP ends a fork storm" {
	by_signal HUP "${storm[@]}"
}

@test "SIGKILL of the front ends a fork storm" {
	by_death_of_front "${storm[@]}"
}

@test "SIGKILL of the supervisor ends a fork storm" {
	by_death_of_supervisor "${storm[@]}"
}

@test "a timeout ends a crowd of 1,000 processes" {
	by_timeout "${crowd[@]}"
}

@test "TERM ends a crowd of 1,000 processes" {
	by_signal TERM "${crowd[@]}"
}

@test "INT ends a crowd of 1,000 processes" {
	by_signal INT "${crowd[@]}"
}

@test "HUP ends a crowd of 1,000 processes" {
	by_signal HUP "${crowd[@]}"
}

@test "SIGKILL of the front ends a crowd of 1,000 processes" {
	by_death_of_front "${crowd[@]}"
}

@test "SIGKILL of the supervisor ends a crowd of 1,000 processes" {
	by_death_of_supervisor "${crowd[@]}"
}
