#!/usr/bin/env bats
#
# Promise 4: kill -9 does not help a leak. nothing_survives.bats shows what dies
# with the run; these tests show that it does so in every state of the run, and
# what the caller, the locks and the record of runs get.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load bounds

# The target has exited with 3.
lingering() {
	start "$WDRUN" --survivors=wait "${options[@]}" \
		"$PROGRAMS/escape" -x 3 fork setsid stubborn
	await_ready
	front=$started
	find_watchers
	wait_until is_zombie "$target"
}

begin() { # OPTION...
	start "$WDRUN" "${options[@]}" "$@" \
		"$PROGRAMS/escape" fork setsid stubborn
	await_ready
	front=$started
	find_watchers
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

is_on_record() {
	compgen -G 'registry/*' >/dev/null
}

# bats test_tags=smoke,tree
@test "a watcher that is killed takes the tree along, in each state: told, lock free, off the record, reported" {
	local options=(--lock=lock --name=nightly --report=report) watcher state expected
	export WDRUN_REGISTRY=$PWD/registry
	while read -r watcher state expected; do
		echo "--- $watcher, $state"
		rm -f report
		"$state"
		[ -e lock ]
		is_on_record
		kill -KILL "${!watcher}"
		kill -CONT "$front" 2>/dev/null || true
		finish

		[ "$status" -eq "$expected" ]
		wait_until nobody_is_left
		[ -s err ]
		only_messages
		[ ! -e lock ]
		no is_on_record
		reported '"name":"nightly"'
		[ "$state" != stopped ] ||
			reported "\"reason_code\":\"$watcher-killed\""
	done <<-'END_OF_STATES'
		front lingering 137
		front stopping 137
		front stopped 137
		supervisor lingering 3
		supervisor stopping 143
		supervisor stopped 137
	END_OF_STATES
	reported '"status":137,'
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

# bats test_tags=slow
@test "SIGKILL of a watcher ends the tree wherever the command runs, and whoever carries its output" {
	local watcher options
	while read -r watcher options; do
		echo "--- $watcher, $options"
		# shellcheck disable=SC2086 # these are several words
		start "$WDRUN" $options bash -c '
			setsid "$PROGRAMS/sigcount" >/dev/null &
			echo "ready $$"; wait'
		await_ready
		await_run
		kill -KILL "${!watcher}"
		finish
		# A terminal that loses its leader hangs up: SIGHUP.
		[ "$status" -eq 137 ] || [ "$options $status" = '--pty 129' ]
		wait_until nobody_is_left
	done <<-'END_OF_ROWS'
		supervisor --foreground
		front --setsid
		supervisor --pty
		front --pty
		front -i 1000 --tee=copy
	END_OF_ROWS
}

# In a PID namespace of its own where that can be had, since --reap looks at all
# processes of the machine.
@test "when both are killed at once the lock is free, and --reap ends what is left and takes it off the record" {
	local space=() shell
	! unshare --pid --fork --mount-proc true 2>/dev/null ||
		space=(unshare --pid --fork --mount-proc)
	export WDRUN_REGISTRY=$PWD/registry
	start "${space[@]}" bash -c '
		"$WDRUN" --lock=lock "$PROGRAMS/escape" fork setsid stubborn &
		wait
		[[ $("$WDRUN" --list) == *orphaned* ]] && echo orphaned
		env -u WDRUN_REGISTRY "$WDRUN" --lock=lock echo free
		"$WDRUN" --reap && echo reaped'
	await_ready
	shell=$started
	((${#space[@]} == 0)) || shell=$(children_of "$started")
	read -r front _ <"/proc/$shell/task/$shell/children" || true
	read -r supervisor _ <"/proc/$front/task/$front/children" || true

	# Stopped first, so that none of them has the time to help.
	kill -STOP "$front"
	wait_until is_stopped "$front"
	kill -STOP "$supervisor"
	wait_until is_stopped "$supervisor"
	kill -KILL "$supervisor" "$front"
	finish

	[ "${output#ready *$'\n'}" = $'orphaned\nfree\nreaped' ]
	has_message escape stubborn
	no is_on_record
	[ ! -e lock ]
	nobody_is_left
}

@test "pkill -9 wdrun and killall -9 wdrun leave nothing either" {
	need_root
	need pkill killall
	need_unshare --pid --fork --mount-proc
	mkdir bin
	cp "$WDRUN" bin/wdrun
	export -f pause
	# In a namespace, since other tests run wdrun too. At the end its shell
	# is alone there.
	complete unshare --pid --fork --mount-proc bash -c '
		[ $$ -eq 1 ] || exit
		for by in pkill killall; do
			bin/wdrun "$PROGRAMS/escape" fork setsid stubborn >said &
			until [ -s said ]; do pause 0.05; done
			"$by" -9 wdrun
			wait $!
			echo "status $?"
			until pids=(/proc/[0-9]*); ((${#pids[@]} == 1)); do
				pause 0.05
			done
			: >said
		done'
	[ "$output" = $'status 137\nstatus 137' ]
}

# --- the caller --------------------------------------------------------------

@test "children that a program had before it executed wdrun are not of the run: SIGKILL of a watcher spares them" {
	local watcher options expected older
	while read -r watcher options expected; do
		start bash -c 'sleep 1000 & echo $! >pid
			exec "$WDRUN" "$0" "$PROGRAMS/sigcount"' "$options"
		await_ready
		await_run
		read -r older <pid
		kill -KILL "${!watcher}"
		finish
		[ "$status" -eq "$expected" ]
		wait_until is_dead "$ready"
		is_alive "$older"
		kill -KILL "$older"
		wait_until nobody_is_left
	done <<<$'front --setsid 137\nsupervisor --foreground 125'
}

has_answered() {
	take out
	[[ $taken == *'got 10'* ]]
}

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
	wait_until has_answered
	is_alive "$ready"
	kill -TERM "$front"
	wait_until nobody_is_left
}

says_joined() {
	take out
	[[ $taken == *joined* ]]
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
	wait_until says_joined
	front=$(children_of "$started")

	kill -USR1 "$front"
	wait_until has_answered
	is_alive "$ready"
	kill -TERM "$front"
	finish

	[ "$status" -eq 7 ]
}
