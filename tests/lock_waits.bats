#!/usr/bin/env bats
#
# Promise 5: runs that wait for a lock, and what becomes of a lock where
# watchers are killed with SIGKILL.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load locks

# sleeps_on: the run that waits has not given up the CPU or lost it for a while.
sleeps_on() {
	local before
	before=$(grep ctxt "/proc/$started/status")
	pause 0.6
	[ "$(grep ctxt "/proc/$started/status")" = "$before" ]
}

@test "a waiting run sleeps, holds no lock, and gets its own after a run, flock(1) or a script" {
	local holds
	for holds in hold_lock hold_by_flock hold_by_script; do
		"$holds"
		contend --lock=a --lock=b
		# At first it may still be setting itself up.
		[ "$holds" != hold_lock ] || wait_until sleeps_on

		# For the moment in which that run looks whether all locks are
		# free, a lock may be held.
		"$WDRUN" -w 1000 --lock=a --lock=b true
		[ ! -s out ]

		release
		finish
		got_it
		is_none a b
		[ "$holds" = hold_by_script ] || [ ! -s err ]
	done
	has_message --lock "$held_by" # the script's was taken over

	mkfifo go # the script removes it
	hold sh -c 'echo $$ >lock; echo "ready $$"; read -r _ <go; exec rm lock'
	contend
	echo >go
	finish
	got_it
	await_holder
}

# waits_longer LIMIT: a run waits for longer than its --timeout, which then ends it.
waits_longer() {
	hold_lock
	start "$WDRUN" --lock=lock --lock-wait=1000 --timeout="$1" "$PROGRAMS/escape"
	wait_until is_waiting "$started"
	pause "$1.1"
	release
	finish
	[ "$status" -eq 124 ]
}

# bats test_tags=slow
@test "the time for the lock is not the command's: --timeout begins with the command" {
	late waits_longer LIMIT
}

@test "a run that waits is ended by a signal, also one that the caller blocks, and leaves nothing" {
	local before holds row words
	ulimit -c 0
	for holds in hold_lock hold_by_script; do
		"$holds"
		: >out
		: >err
		before=(*)
		for row in TERM QUIT USR1 KILL 'TERM --block-signal=TERM'; do
			read -ra words <<<"$row"
			start env "${words[@]:1}" "$WDRUN" -w 1000 -l a -l lock true
			wait_until is_waiting "$started"
			kill -s "${words[0]}" "$started"
			wait_until is_dead "$started"
			finish
			[ "$status" -eq $((128 + $(kill -l "${words[0]}"))) ]
			[ "$(echo *)" = "${before[*]}" ]
		done
		is_in lock "$holder"
		release
	done
	wait_until nobody_is_left
	ends 0 --lock=a --lock=lock true
}

has_job() {
	first_child "$started" && job=$child
}

# bats test_tags=slow
@test "Ctrl-Z stops a run that waits for a lock, fg has it go on, meanwhile others get the lock" {
	hold_lock
	# In a process group that is not orphaned: else SIGTSTP would stop nothing.
	start "${as_job[@]}" "$WDRUN" --lock=lock --lock-wait=1000 echo inside
	wait_until has_job
	for _ in 1 2; do
		kill -CONT "$job"
		wait_until is_waiting "$job"
		kill -TSTP "$job"
		wait_until is_stopped "$job"
	done
	release
	"$WDRUN" --quiet --lock=lock --lock-wait=1000 true
	[ ! -s out ]
	is_stopped "$job"

	kill -CONT "$job"
	finish
	got_it
}

# bats test_tags=tree
@test "kill -9 of the supervisor leaves the front the lock; kill -9 of both frees it" {
	local last
	for last in CONT KILL; do
		hold "$WDRUN" --lock=lock "$PROGRAMS/escape" fork setsid stubborn
		front=$holder
		find_watchers
		contend
		# A front that is stopped ends nothing yet.
		kill -STOP "$front"
		wait_until is_stopped "$front"
		kill -KILL "$supervisor"
		wait_until is_dead "$supervisor"
		no flock -n lock true
		ends 75 --lock=lock true
		is_in lock "$front"

		kill -s "$last" "$front"
		finish
		got_it
		await_holder
		[ "$last" = KILL ] || is_dead "$held_by"
	done
	is_alive "$held_by"
	has_message --lock "$front" # it was taken over
	end_leftovers
}
