#!/usr/bin/env bats
#
# Promise 5: runs that wait for a lock, and what becomes of a lock where
# watchers are killed with SIGKILL.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load locks

# --- who waits ---------------------------------------------------------------

# sleeps_on PID: the process has not given up the CPU or lost it for a while.
sleeps_on() {
	local after before
	mapfile -t before <"/proc/$1/status"
	pause 0.6
	mapfile -t after <"/proc/$1/status"
	[[ ${before[-2]} == voluntary_ctxt* ]] || return
	[ "${before[*]: -2}" = "${after[*]: -2}" ]
}

@test "a waiting run gets the lock when its holder is over, a run, a script, or flock(1), and till then sleeps and holds no other lock" {
	local holds
	for holds in hold_lock hold_by_flock; do
		"$holds"
		contend --lock=a --lock=b
		# At first it may still be setting itself up.
		[ "$holds" != hold_lock ] || wait_until sleeps_on "$started"

		# For the moment in which that run looks whether all locks are
		# free, a lock may be held.
		"$WDRUN" -w 1000 --lock=a --lock=b true
		[ ! -s out ]

		release
		finish
		got_it
		is_none a b
		[ ! -s err ]
	done

	hold_by_script
	contend -w never
	release
	finish
	got_it
	has_message --lock "$held_by" # it was taken over
}

# The test is one of the scripts.
# bats test_tags=slow
@test "a waiting run gets the lock of a script that removes it, whether it lives on or ends, but not when another script has it by then" {
	mkfifo go
	hold sh -c 'echo $$ >lock; echo "ready $$"; read -r _ <go; exec rm lock'
	contend
	echo >go
	finish
	got_it
	await_holder

	hold_by_script
	contend
	# The lock is never empty: an empty lock is nobody's.
	printf '%-12s\n' "$BASHPID" 1<>lock
	# A run that had taken the lock by then would show at once.
	release
	pause 0.3
	wait_until is_waiting "$started"
	[ ! -s out ]
	[[ $(<lock) == "$BASHPID "* ]]
	rm lock
	finish
	got_it
}

# waits_longer LIMIT: a run with this --timeout waits for its lock for longer,
# and then has all of the time for its command.
waits_longer() {
	hold_lock
	start "$WDRUN" --lock=lock --lock-wait=1000 --timeout="$1" "${sleeper[@]}"
	wait_until is_waiting "$started"
	pause "$1.1"
	release
	finish
	[ "$status" -eq 124 ]
}

# bats test_tags=slow
@test "the time for the lock is not the command's: --timeout begins with the command" {
	late waits_longer LIMIT
	[ ! -e lock ]
}

# --- signals while it waits --------------------------------------------------

# ended_by SIGNAL...: a run that waits ends by each of them, and leaves nothing.
ended_by() {
	local -x WDRUN_REPORTS= # SIGUSR1 ends a run that only waits, without a report
	local before signal
	: >out
	: >err
	before=(*)
	for signal; do
		start "$WDRUN" -w 1000 --lock=a --lock=lock touch ran
		wait_until is_waiting "$started"
		kill -s "$signal" "$started"
		finish
		[ "$status" -eq $((128 + $(kill -l "$signal"))) ]
		[ "$(echo *)" = "${before[*]}" ]
	done
	is_alive "$held_by"
}

@test "a run that waits for a lock is ended by the signal that it gets, SIGKILL too, and leaves nothing" {
	ulimit -c 0
	hold_lock
	ended_by TERM QUIT USR1 KILL
	is_in lock "$holder"
	release

	hold_by_script
	ended_by INT HUP KILL
	is_in lock "$held_by"
	release
	wait_until nobody_is_left
	ends 0 --lock=a --lock=lock true
}

# contend_as_job: as contend, in a process group that is not orphaned: else
# SIGTSTP would stop nothing. Stops the run. Sets job.
contend_as_job() {
	start "$PROGRAMS/launch" --group "$WDRUN" --lock=lock --lock-wait=1000 \
		echo inside
	wait_until has_job
	wait_until is_waiting "$job"
	kill -TSTP "$job"
	wait_until is_stopped "$job"
}

has_job() {
	local children
	find_children "$started"
	job=${children[0]-}
	[ -n "$job" ]
}

# bats test_tags=slow
@test "Ctrl-Z stops a run that waits for a lock, fg has it go on, and meanwhile others get a free lock" {
	local holds
	for holds in hold_lock hold_by_script; do
		"$holds"
		contend_as_job
		kill -CONT "$job"
		wait_until is_waiting "$job"

		kill -TSTP "$job"
		wait_until is_stopped "$job"
		release
		"$WDRUN" --quiet --lock=lock --lock-wait=1000 true
		[ ! -s out ]
		is_stopped "$job"

		kill -CONT "$job"
		finish
		got_it
	done
}

# --- kill -9 of those who hold it --------------------------------------------

# hold_stubbornly [OPTION]...: starts a run with a process that only the end of
# the tree ends. Sets front and supervisor.
hold_stubbornly() {
	hold "$WDRUN" --lock=lock "$@" "$PROGRAMS/escape" fork setsid stubborn
	front=$holder
	find_supervisor
}

# The lock goes with the tree.
gone_with_tree() {
	wait_until no test -e lock
	wait_until nobody_is_left
	wait "$holder" || true
}

# bats test_tags=tree
@test "kill -9 of the front or of the supervisor: the lock is the other's until all are dead, then it is free, and the file gone" {
	hold_stubbornly -t1000
	kill -KILL "$front"
	gone_with_tree

	hold_stubbornly -i1000
	# A front that is stopped ends nothing yet.
	kill -STOP "$front"
	wait_until is_stopped "$front"
	kill -KILL "$supervisor"
	wait_until is_dead "$supervisor"
	no flock -n lock true
	ends 75 --lock=lock true
	is_in lock "$front"
	kill -CONT "$front"
	gone_with_tree

	hold_stubbornly -v
	kill -KILL "$supervisor"
	gone_with_tree
	ends 0 --lock=lock true
	[ ! -s err ]
}

# The front is stopped first, since it would continue the supervisor. The
# supervisor is killed first: the death of the front orphans its process group,
# and the kernel then continues the stopped supervisor, setpgid(2).
kill_both() {
	kill -STOP "$front"
	wait_until is_stopped "$front"
	kill -STOP "$supervisor"
	wait_until is_stopped "$supervisor"
	kill -KILL "$supervisor" "$front"
	wait_until is_dead "$front"
	wait_until is_dead "$supervisor"
}

@test "kill -9 of both frees the lock, and the next run, or one that waits, takes it over" {
	hold_stubbornly -i1000
	kill_both
	ends 0 --lock=lock --lock-wait=1000 true
	[ ! -e lock ]
	has_message --lock "$front"
	is_alive "$held_by"
	end_leftovers
	wait "$holder" || true

	hold_stubbornly -v
	contend
	kill_both
	finish
	got_it
	end_leftovers
	wait "$holder" || true
}
