#!/usr/bin/env bats
#
# Promise 4: kill -9 does not help a leak. What dies with the run is the subject
# of nothing_survives.bats; here: at any moment of the run, and what is said.
#
# shellcheck disable=SC2016,SC2154

load helper

@test "the supervisor is the only child of the front" {
	start "$WDRUN" "$PROGRAMS/crowd" 20
	await_ready
	await_watchers

	[ "$(children_of "$front")" = "$supervisor" ]
	[ "$(children_of "$supervisor")" = "$target" ]

	kill -TERM "$front"
	finish
}

@test "a front that is killed while survivors linger takes them along" {
	start "$WDRUN" --survivors=wait \
		"$PROGRAMS/escape" -x 0 fork setsid stubborn
	await_watchers
	await_ready
	wait_until 30 is_zombie "$target"

	kill -KILL "$front"
	finish

	wait_until 10 nobody_is_left
}

@test "a front that is killed during a stop ends the stop" {
	start "$WDRUN" -k never -v "$PROGRAMS/escape" fork setsid stubborn
	await_ready
	await_watchers
	kill -TERM "$front"
	wait_until 30 is_dead "$target"
	is_alive "$ready"

	kill -KILL "$front"
	finish

	wait_until 10 nobody_is_left
}

@test "a supervisor that is killed during a stop does not end it too early" {
	start "$WDRUN" -k never "$PROGRAMS/escape" fork setsid stubborn
	await_ready
	await_watchers
	kill -TERM "$front"
	wait_until 30 is_dead "$target"
	is_alive "$ready"

	kill -KILL "$supervisor"
	finish

	[ "$status" -eq 143 ]
	is_dead "$ready"
	nobody_is_left
}

@test "the loss of the supervisor is told" {
	start "$WDRUN" "$PROGRAMS/escape" fork setsid
	await_ready
	await_watchers

	kill -KILL "$supervisor"
	finish

	[ "$status" -eq 137 ]
	[[ $stderr == "wdrun: "*supervisor* ]]
	only_messages
}

@test "a timeout holds also when the supervisor is stopped and killed" {
	start "$WDRUN" -t 60 "$PROGRAMS/escape" fork setsid stubborn stopped
	await_ready
	await_watchers

	kill -STOP "$supervisor"
	kill -KILL "$supervisor"
	finish

	is_dead "$ready"
	nobody_is_left
}

@test "both watchers die of SIGKILL alone: no other signal leaves a tree behind" {
	local name
	for name in ABRT SEGV BUS FPE ILL SYS TRAP ALRM PIPE XFSZ; do
		start "$WDRUN" -k 300ms "$PROGRAMS/escape" fork setsid stubborn
		await_ready
		await_watchers

		kill -s "$name" "$front"
		kill -s "$name" "$supervisor" 2>/dev/null || true
		kill -TERM "$front" 2>/dev/null || true
		finish

		wait_until 10 nobody_is_left
	done
}

@test "a caller that is killed takes the run along with --die-with-parent" {
	start bash -c '"$WDRUN" --die-with-parent -k 300ms \
		"$PROGRAMS/escape" fork setsid stubborn; :'
	await_ready

	kill -KILL "$started"
	finish

	wait_until 10 nobody_is_left
}

@test "a caller that dies does not end the run without --die-with-parent" {
	start bash -c '"$WDRUN" "$PROGRAMS/sigcount"; :'
	await_ready
	front=$(children_of "$started")

	kill -KILL "$started"
	finish

	# The answer comes later than any news of the caller's death.
	kill -USR1 "$front"
	wait_until 30 grep -qx 'got 10' out
	is_alive "$ready"
	kill -TERM "$front"
	wait_until 30 nobody_is_left
}

@test "the thread that started wdrun may exit: --die-with-parent means processes" {
	need python3
	start python3 -c '
import os, subprocess, threading
command = [os.environ["WDRUN"], "--die-with-parent",
           os.environ["PROGRAMS"] + "/sigcount"]
run = []
thread = threading.Thread(target=lambda: run.append(subprocess.Popen(command)))
thread.start()
thread.join()
print("status", run[0].wait(), flush=True)
'
	await_ready
	front=$(children_of "$started")

	kill -USR1 "$front"
	wait_until 30 grep -qx 'got 10' out
	is_alive "$ready"
	kill -TERM "$front"
	finish

	[[ $output == *"status 7" ]]
}
