#!/usr/bin/env bats
#
# Promise 4: kill -9 does not help a leak. nothing_survives.bats shows what dies
# with the run; these tests show that it does so in every state of the run, and
# what the caller, the locks and the record of runs get.

load helper
load bounds

on_record=(--lock=lock --name=nightly --report=report)

# The target has exited with 3.
lingering() {
	underway "${on_record[@]}" --survivors=wait escape -x 3 fork setsid stubborn
	wait_until lingers
}

# The target has ended by the first signal, and the stop goes on.
stopping() {
	underway "${on_record[@]}" -k never escape fork setsid stubborn
	kill -TERM "$front"
	wait_until is_dead "$target"
	is_alive "$ready"
}

# The front is stopped first, since it would continue the supervisor.
stopped() {
	underway "${on_record[@]}" escape fork setsid stubborn
	kill -STOP "$front" "$supervisor"
	wait_until is_stopped "$front"
	wait_until is_stopped "$supervisor"
}

# bats test_tags=smoke,tree
@test "after SIGKILL of a watcher the tree is dead, the lock free, the run off the record, and the report written" {
	export WDRUN_REGISTRY=$PWD/registry
	while read -r watcher state expected outcome reason told; do
		echo "--- $watcher, $state"
		rm -f report
		"$state"
		[ -e lock ]
		[ -n "$(ls registry)" ]
		kill -KILL "${!watcher}"
		kill -CONT "$front" 2>/dev/null || true
		gives "$expected" finish
		wait_until nobody_is_left
		[ -s err ]
		only_messages
		[ ! -e lock ]
		[ -z "$(ls registry)" ]
		reported '"name":"nightly"'
		reported "\"outcome\":\"$outcome\""
		reported "\"reason_code\":\"$reason\",\"status\":$told,"
		no reported '"killed":0'
	done <<-'END_OF_STATES'
		front lingering 137 exited front-killed 3
		front stopped 137 stopped front-killed 137
		supervisor lingering 3 exited supervisor-killed 3
		supervisor stopping 143 stopped cancelled 143
		supervisor stopped 137 stopped supervisor-killed 137
	END_OF_STATES
}

@test "SIGKILL of the front spares the children that a program had before it executed wdrun" {
	start bash -c 'sleep 1000 & echo $! >pid
		exec "$WDRUN" sigcount'
	await_ready
	ended_by KILL 137
	wait_until is_dead "$ready"
	is_alive "$(<pid)"
	kill -KILL "$(<pid)"
	wait_until nobody_is_left
}

# The command has started a stubborn daemon and a process, unproven, that has neither session
# nor environment of the run. Ends the supervisor, which is not the front's first child.
command=(bash -c 'escape fork setsid stubborn >daemon &
	escape fork setsid empty >unproven & exec sigcount')
kill_its_supervisor() {
	await_ready daemon
	daemon=$ready
	await_ready unproven
	unproven=$ready
	await_ready
	look_at "$ready"
	kill -KILL "$process_parent"
}

# bats test_tags=tree
@test "if wdrun had children before, after SIGKILL of the supervisor the front kills only what is proven to be of the run" {
	start bash -c '{ until [ -e go ]; do sleep .05; done
			setsid sleep 1000 & echo "$!" >other; } >gone &
		exec "$WDRUN" --lock=lock --report=report "$@" > >(cat; echo >ended)' - "${command[@]}"
	front=$started
	await_ready
	: >go
	wait_until [ -s other ]
	other=$(<other)
	is_adopted() { look_at "$other" && [ "$process_parent" = "$front" ]; }
	wait_until is_adopted
	kill_its_supervisor
	gives 137 finish
	is_dead "$ready"
	is_dead "$daemon"
	for pid in "$unproven" "$other"; do
		is_alive "$pid"
		grep -q "\<$pid\>" err
		reported "{\"pid\":$pid,"
	done
	has_line_count 4 err # with no other child of the front
	[ -e lock ]
	kill -KILL "$unproven" "$other" # which may hold the pipe open
	wait_until [ -e ended ]
	wait_until nobody_is_left
}

@test "if wdrun had children before, after SIGKILL of the supervisor the front also kills a command of another user" {
	need_other_user
	start bash -c 'exec "$WDRUN" "$@" > >(cat)' - "${as_nobody[@]}" sh -c 'echo "ready $$"; exec sleep 1000'
	await_ready
	look_at "$ready"
	kill -KILL "$process_parent"
	began=$SECONDS
	gives 137 finish
	((SECONDS - began < 20)) # of 30 for a process that nothing ends
}

@test "after SIGKILL of the supervisor the tree dies, even if wdrun had a dead child before" {
	start python3 -c 'import os, sys
child = os.fork() or os._exit(0)
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
os.execvp(sys.argv[1], sys.argv[1:])' "$WDRUN" "${command[@]}"
	kill_its_supervisor
	gives 137 finish
	wait_until nobody_is_left
}

@test "if wdrun had children before, after SIGKILL of the supervisor the front keeps only what --keep names" {
	start bash -c '(sleep 1000 >&0 2>&0 & echo "$!" >older
		exec "$WDRUN" --keep=kept bash -c "daemon kept; daemon other; echo ready \$\$; exec sleep 1000"); exit "$?"' </dev/null
	await_ready
	look_at "$ready"
	kill -KILL "$process_parent"
	gives 137 finish
	is_dead "$ready"
	one_is_kept
	kill -KILL "$(<older)"
}

# The run of $front answers after it could have noticed a death. Ends it.
goes_on_without_caller() {
	kill -USR1 "$front"
	wait_until grep -q 'got 10' out
	is_alive "$ready"
	kill -TERM "$front"
	wait_until is_dead "$front"
}

@test "with --die-with-parent, the death of the caller ends the run; the end of one of its threads does not" {
	start_run bash -c '"$WDRUN" --die-with-parent -k 300ms escape fork setsid stubborn; :'
	ended_by KILL 137
	wait_until nobody_is_left
	start_run bash -c '"$WDRUN" sigcount; :'
	ended_by KILL 137
	goes_on_without_caller

	start_run python3 -c 'import os, subprocess, sys, threading
thread = threading.Thread(target=subprocess.Popen, args=(sys.argv[1:],))
thread.start()
thread.join()
print("joined", flush=True)
os.wait()' "$WDRUN" --die-with-parent sigcount
	wait_until grep -q joined out
	goes_on_without_caller
	finish
}

@test "with --die-with-parent, the death of the caller while wdrun starts ends the run" {
	need_strace
	gives 143 wdrun_directly strace -qq -o trace -e inject=pidfd_open:error=ESRCH:when=1 \
		"$WDRUN" --die-with-parent sleep 1000
	has_message 'the caller is dead'
}
