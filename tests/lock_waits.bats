#!/usr/bin/env bats
#
# Promise 5: runs that wait for a lock, and what becomes of a lock where
# watchers are killed with SIGKILL.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load locks

setup() {
	common_setup
	write_programs
}

# --- who waits ---------------------------------------------------------------

# bats test_tags=smoke
@test "a waiting run gets the lock when its holder is over: a run, a script, or flock(1)" {
	hold_lock
	contend
	[ ! -e log ]
	release
	finish
	got_it
	[ ! -s err ]

	hold_by_script
	contend -w never
	release
	finish
	got_it
	has_message --lock "$held_by" # it was taken over

	hold_by_flock
	contend
	[ ! -e log ]
	release
	finish
	got_it
	[ ! -s err ]
}

@test "a waiting run gets the lock of a script that removes it, whether it lives on or ends" {
	local after
	for after in 'exec sleep 1000' 'exec true'; do
		hold ./script "until [ -e go ]; do sleep 0.02; done; rm lock; $after"
		contend
		[ ! -e log ]
		touch go
		finish
		got_it
		[ "$after" = 'exec true' ] || is_alive "$held_by"
		rm go
		kill -KILL "$held_by" || true
		wait "$holder" || true
	done
}

@test "a run waits on where another script has the lock when the first one is dead" {
	local second
	hold_by_script
	contend
	# The second script writes its PID. The lock is never empty: an empty
	# lock is nobody's.
	sleep 1000 3>&- &
	second=$!
	echo "$second" 1<>lock
	truncate -s $((${#second} + 1)) lock

	# A run that had taken the lock by then would show at once.
	release
	pause 0.3
	wait_until is_waiting "$started"
	[ ! -e log ]
	[ "$(cat lock)" = "$second" ]

	kill -KILL "$second"
	finish
	got_it
	wait "$second" || true
}

# waits_longer LIMIT: a run with this --timeout waits for its lock for longer,
# and then has all of the time for its command.
waits_longer() {
	hold_lock
	start "$WDRUN" --lock=lock --lock-wait=1000 --timeout="$1" \
		sh -c 'echo "ready $$"; exec sleep 1000'
	wait_until is_waiting "$started"
	pause "$1.1"
	release
	finish
	[ "$status" -eq 124 ]
}

@test "the time for the lock is not the command's: --timeout begins with the command" {
	late waits_longer LIMIT
	[ ! -e lock ]
}

# sleeps_on PID: the process has not given up the CPU or lost it for a while.
sleeps_on() {
	local before
	before=$(grep ctxt "/proc/$1/status")
	pause 0.6
	[ "$(grep ctxt "/proc/$1/status")" = "$before" ]
}

@test "a run that waits for a lock does not wake up" {
	hold_lock
	contend
	wait_until sleeps_on "$started" # at first it may still be setting itself up
	release
	finish
	got_it
}

@test "no run holds one lock while it waits for another" {
	local holds
	for holds in hold_lock hold_by_flock; do
		"$holds"
		start "$WDRUN" -w 1000 --lock=a --lock=lock --lock=b ./inside
		wait_until is_waiting "$started"

		# For the moment in which that run looks whether all locks are
		# free, a lock may be held.
		for _ in {1..3}; do
			"$WDRUN" -w 1000 --lock=a --lock=b true
		done
		[ ! -e log ]

		release
		finish
		got_it
		[ -z "$(find . -name '[ab]')" ]
	done
}

# --- signals while it waits --------------------------------------------------

# bats test_tags=smoke
@test "a run that waits for a lock is ended by the signal that it gets, SIGKILL too, and leaves nothing" {
	local before holds signal
	ulimit -c 0
	for holds in hold_lock hold_by_script; do
		"$holds"
		touch out err
		before=$(find . | sort)
		for signal in TERM INT HUP QUIT KILL; do
			start "$WDRUN" -w 1000 --lock=a --lock=lock touch ran
			wait_until is_waiting "$started"
			kill -s "$signal" "$started"
			finish
			[ "$status" -eq $((128 + $(kill -l "$signal"))) ]
			[ "$(find . | sort)" = "$before" ]
			is_alive "$held_by"
		done
		[ "$holds" = hold_by_script ] || [ "$(cat lock)" = "$holder" ]
		release
		wait_until nobody_is_left
	done
	[ "$(cat lock)" = "$held_by" ]

	complete "$WDRUN" --lock=a --lock=lock ./inside
	got_it
}

# contend_as_job: as contend, in a process group that is not orphaned: else
# SIGTSTP would stop nothing. Stops the run. Sets job.
contend_as_job() {
	start "$PROGRAMS/launch" --group "$WDRUN" --lock=lock --lock-wait=1000 \
		./inside
	wait_until has_job
	wait_until is_waiting "$job"
	kill -TSTP "$job"
	wait_until is_stopped "$job"
}

has_job() {
	job=$(children_of "$started") && [ -n "$job" ]
}

@test "Ctrl-Z stops a run that waits for a lock, fg has it go on, and meanwhile others get a free lock" {
	local holds
	for holds in hold_lock hold_by_script hold_by_flock; do
		"$holds"
		contend_as_job
		kill -CONT "$job"
		wait_until is_waiting "$job"

		kill -TSTP "$job"
		wait_until is_stopped "$job"
		release
		"$WDRUN" --quiet --lock=lock --lock-wait=1000 true
		[ ! -e log ]
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
	supervisor=$(supervisor_above "$held_by" "$front")
}

# gone_after PID: kills it with SIGKILL, and the lock goes with the tree.
gone_after() {
	kill -KILL "$1"
	wait_until no test -e lock
	wait_until nobody_is_left
	wait "$holder" || true

	complete "$WDRUN" --lock=lock ./inside
	got_it
	[ ! -s err ]
}

# bats test_tags=smoke,tree
@test "kill -9 of the front or of the supervisor frees the lock, and removes the file" {
	local option
	for option in -t1000 -i1000 -v; do
		hold_stubbornly "$option"
		gone_after "$front"
		hold_stubbornly "$option"
		gone_after "$supervisor"
	done
}

@test "when one watcher is killed, the lock is the other's until all are dead" {
	hold_stubbornly
	exec 7<lock
	kill -KILL "$front"
	wait_until no test -e lock
	wait_until nobody_is_left
	[ "$(cat <&7)" = "$supervisor" ]
	exec 7<&-
	wait "$holder" || true

	hold_stubbornly
	# A front that is stopped ends nothing yet.
	kill -STOP "$front"
	wait_until is_stopped "$front"
	kill -KILL "$supervisor"
	wait_until is_dead "$supervisor"
	run -1 flock -n lock true
	run -75 "$WDRUN" --lock=lock true
	[ "$(cat lock)" = "$front" ]
	kill -CONT "$front"
	wait_until no test -e lock
	wait_until nobody_is_left
	wait "$holder" || true
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

# bats test_tags=smoke
@test "kill -9 of both frees the lock, and the next run, or one that waits, takes it over" {
	local option
	for option in -t1000 -i1000 -v; do
		hold_stubbornly "$option"
		kill_both

		complete "$WDRUN" --lock=lock --lock-wait=1000 ./inside
		got_it
		has_message --lock "$front"
		is_alive "$held_by"
		end_leftovers
		wait "$holder" || true
	done

	hold_stubbornly
	contend
	kill_both
	finish
	got_it
	end_leftovers
	wait "$holder" || true
}
