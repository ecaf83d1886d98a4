#!/usr/bin/env bats
#
# Promise 4: kill -9 does not help a leak. nothing_survives.bats shows what dies
# with the run; these tests show that it does so in every state of the run, and
# what the caller, the locks and the record of runs get.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load bounds

# begin OPTION...: starts a run of a deaf daemon, whose PID is in ready.
begin() {
	start "$WDRUN" "$@" "$PROGRAMS/escape" fork setsid stubborn
	await_ready
	await_watchers
}

# The target has exited with 3.
lingering() {
	start "$WDRUN" --survivors=wait \
		"$PROGRAMS/escape" -x 3 fork setsid stubborn
	await_watchers
	await_ready
	wait_until is_zombie "$target"
}

# The target has ended by the first signal, and the stop goes on.
stopping() {
	begin -k never
	kill -TERM "$front"
	wait_until is_dead "$target"
	is_alive "$ready"
}

# The front is stopped first, since it would continue the supervisor.
stopped() {
	begin -t 1000
	kill -STOP "$front"
	wait_until is_stopped "$front"
	kill -STOP "$supervisor"
	wait_until is_stopped "$supervisor"
}

# bats test_tags=smoke,tree
@test "a front that is killed takes the tree along: while survivors linger, during a stop, stopped itself" {
	local state
	for state in lingering stopping stopped; do
		"$state"
		kill -KILL "$front"
		finish
		[ "$status" -eq 137 ]
		wait_until nobody_is_left
	done
}

# bats test_tags=smoke,tree
@test "a supervisor that is killed takes the tree along, and the status is the command's" {
	local state expected
	while read -r state expected; do
		"$state"
		kill -KILL "$supervisor"
		kill -CONT "$front"
		finish
		[ "$status" -eq "$expected" ]
		is_dead "$ready"
		nobody_is_left
	done <<-'END_OF_STATES'
		lingering 3
		stopping 143
		stopped 137
	END_OF_STATES
}

# Sets front, supervisor and target of a run whose target is ready, whatever
# other children the front has.
await_run() {
	front=$started target=$ready
	look_at "$target"
	supervisor=$process_parent
	look_at "$supervisor"
	[ "$process_parent" -eq "$front" ]
}

# bats test_tags=smoke
@test "SIGKILL of front or supervisor ends the tree wherever the command runs, and whoever carries its output" {
	local options name
	for options in --foreground --setsid --pty '-i 1000 --tee=copy'; do
		for name in front supervisor; do
			echo "--- $name, $options"
			# shellcheck disable=SC2086 # these are several words
			start "$WDRUN" $options bash -c '
				setsid "$PROGRAMS/sigcount" >/dev/null &
				echo "ready $$"; wait'
			await_ready
			await_run
			kill -KILL "${!name}"
			finish
			# A terminal that loses its leader hangs up: SIGHUP.
			[ "$status" -eq 137 ] || [ "$options $status" = '--pty 129' ]
			wait_until nobody_is_left
		done
	done
}

@test "the loss of a watcher is told, by messages of wdrun alone" {
	local name
	for name in supervisor front; do
		begin
		kill -KILL "${!name}"
		finish
		[ "$status" -eq 137 ]
		wait_until nobody_is_left
		[ -s err ]
		only_messages
	done
}

# bats test_tags=smoke
@test "after SIGKILL of front or supervisor the lock is free, the run off the record, the report complete" {
	local name
	export WDRUN_REGISTRY=$PWD/registry
	for name in front supervisor; do
		rm -f report
		begin --lock=lock --name=nightly --report=report
		[ -e lock ]
		[ -n "$(ls registry)" ]

		kill -KILL "${!name}"
		finish
		[ "$status" -eq 137 ]
		wait_until nobody_is_left
		[ ! -e lock ]
		[ -z "$(ls registry)" ]
		reported "\"reason_code\":\"$name-killed\""
		reported '"name":"nightly"'
		reported '"status":137,'
		complete "$WDRUN" --lock=lock true
		[ "$status" -eq 0 ]
	done
}

# In a PID namespace of its own where that can be had, since --reap looks at all
# processes of the machine.
# bats test_tags=smoke
@test "when both are killed at once the lock is free, and --reap ends what is left and takes it off the record" {
	local space=() shell
	! unshare --pid --fork --mount-proc true 2>/dev/null ||
		space=(unshare --pid --fork --mount-proc)
	export WDRUN_REGISTRY=$PWD/registry
	start "${space[@]}" bash -c '
		"$WDRUN" --lock=lock "$PROGRAMS/escape" fork setsid stubborn &
		wait
		"$WDRUN" --list | grep -q orphaned && echo orphaned
		env -u WDRUN_REGISTRY "$WDRUN" --lock=lock echo free
		"$WDRUN" --reap && echo reaped'
	await_ready
	shell=$started
	((${#space[@]} == 0)) || shell=$(children_of "$started")
	front=$(children_of "$shell")
	supervisor=$(children_of "$front")

	# Stopped first, so that none of them has the time to help.
	kill -STOP "$front"
	wait_until is_stopped "$front"
	kill -STOP "$supervisor"
	wait_until is_stopped "$supervisor"
	kill -KILL "$supervisor" "$front"
	finish

	[ "${output#ready *$'\n'}" = $'orphaned\nfree\nreaped' ]
	has_message escape stubborn
	[ -z "$(ls registry)" ]
	[ ! -e lock ]
	nobody_is_left
}

@test "pkill -9 wdrun and killall -9 wdrun leave nothing either" {
	local by
	need_root
	need pkill killall
	need_unshare --pid --fork --mount-proc
	mkdir bin
	cp "$WDRUN" bin/wdrun
	for by in pkill killall; do
		# In a namespace, since other tests run wdrun too. At the end
		# its shell is alone there.
		complete unshare --pid --fork --mount-proc bash -c '
			[ $$ -eq 1 ] || exit
			bin/wdrun "$PROGRAMS/escape" fork setsid stubborn >said &
			until grep -q ready said; do sleep 0.05; done
			"$1" -9 wdrun
			wait $!
			echo "status $?"
			until pids=(/proc/[0-9]*); ((${#pids[@]} == 1)); do
				sleep 0.05
			done' - "$by"
		[ "$output" = "status 137" ]
	done
}

# --- the caller --------------------------------------------------------------

@test "children that a program had before it executed wdrun are not of the run: SIGKILL of a watcher spares them" {
	local options name older
	for options in --setsid --foreground; do
		for name in front supervisor; do
			start bash -c 'sleep 1000 & echo $! >older
				exec "$WDRUN" "$0" "$PROGRAMS/sigcount"' "$options"
			await_ready
			await_run
			older=$(<older)
			kill -KILL "${!name}"
			finish
			[ "$status" -eq 137 ]
			wait_until is_dead "$ready"
			is_alive "$older"
			kill -KILL "$older"
			wait_until nobody_is_left
		done
	done
}

# bats test_tags=smoke
@test "a caller that is killed takes the run along with --die-with-parent, and not without" {
	start bash -c '"$WDRUN" --die-with-parent -k 300ms \
		"$PROGRAMS/escape" fork setsid stubborn; :'
	await_ready
	kill -KILL "$started"
	finish
	wait_until nobody_is_left

	start bash -c '"$WDRUN" "$PROGRAMS/sigcount"; :'
	await_ready
	front=$(children_of "$started")
	kill -KILL "$started"
	finish
	# This answer comes after the front could have noticed the death of its
	# caller.
	kill -USR1 "$front"
	wait_until grep -qx 'got 10' out
	is_alive "$ready"
	kill -TERM "$front"
	wait_until nobody_is_left
}

@test "the thread that started wdrun may exit: --die-with-parent means processes" {
	need python3
	start python3 -c '
import os, subprocess, threading
run = []
thread = threading.Thread(target=lambda: run.append(subprocess.Popen(
	[os.environ["WDRUN"], "--die-with-parent",
	 os.environ["PROGRAMS"] + "/sigcount"])))
thread.start()
thread.join()
print("joined", flush=True)
exit(run[0].wait())'
	await_ready
	wait_until grep -qx joined out
	front=$(children_of "$started")

	kill -USR1 "$front"
	wait_until grep -qx 'got 10' out
	is_alive "$ready"
	kill -TERM "$front"
	finish

	[ "$status" -eq 7 ]
}
