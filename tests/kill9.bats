#!/usr/bin/env bats
#
# Promise 4: kill -9 does not help a leak. nothing_survives.bats shows what dies
# with the run; these tests show that it does so at any moment of the run, and
# what is reported.
#
# shellcheck disable=SC2016,SC2154,SC2030,SC2031

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
	wait_until is_zombie "$target"

	kill -KILL "$front"
	finish

	wait_until nobody_is_left
}

@test "a front that is killed during a stop ends the stop" {
	start "$WDRUN" -k never -v "$PROGRAMS/escape" fork setsid stubborn
	await_ready
	await_watchers
	kill -TERM "$front"
	wait_until is_dead "$target"
	is_alive "$ready"

	kill -KILL "$front"
	finish

	wait_until nobody_is_left
}

@test "a supervisor that is killed during a stop does not end it too early" {
	start "$WDRUN" -k never "$PROGRAMS/escape" fork setsid stubborn
	await_ready
	await_watchers
	kill -TERM "$front"
	wait_until is_dead "$target"
	is_alive "$ready"

	kill -KILL "$supervisor"
	finish

	[ "$status" -eq 143 ]
	is_dead "$ready"
	nobody_is_left
}

@test "the loss of the supervisor is reported" {
	start "$WDRUN" "$PROGRAMS/escape" fork setsid
	await_ready
	await_watchers

	kill -KILL "$supervisor"
	finish

	[ "$status" -eq 137 ]
	[[ $stderr == "wdrun: "*supervisor* ]]
	only_messages
}

has_helper() {
	[ "$(children_of "$supervisor" | wc -l)" -ge 2 ]
}

@test "a helper whose watcher dies before it can take note of that dies as well" {
	local limit tracer
	need strace
	for limit in 2 10 50; do # until strace is there within the limit
		start "$WDRUN" -t "$limit" sleep 1000
		await_watchers
		# strace delays the helper's prctl(PR_SET_PDEATHSIG).
		strace -f -qq -o /dev/null -e trace=prctl \
			-e inject=prctl:delay_enter=1s -p "$supervisor" 3>&- &
		tracer=$!
		wait_until has_helper_or_is_dead
		! is_alive "$supervisor" || break
		finish
		wait "$tracer" || true
	done
	has_helper
	kill -KILL "$front" "$supervisor"
	finish

	wait_until nobody_is_left
	wait "$tracer" || true
}

has_helper_or_is_dead() {
	has_helper || is_dead "$supervisor"
}

# daemon_of_a_job PLACE FILE: a shell starts a job, then becomes the front of
# `wdrun PLACE` by exec. The job starts a daemon, waits for FILE and exits. The
# command of the run has started a daemon too. Sets stranger (the daemon of the
# job) and escapee (that of the run), and prints `job PID`.
daemon_of_a_job() {
	rm -f go stranger
	start bash -c '(
			until [ -e go ]; do sleep 0.05; done
			"$PROGRAMS/escape" -x 0 fork setsid >stranger
			until [ -e "$2" ]; do sleep 0.05; done
		) >/dev/null 2>&1 &
		echo "job $!"
		exec "$WDRUN" "$1" "$PROGRAMS/escape" fork setsid stubborn' \
		- "$@"
	await_ready
	escapee=$ready
	touch go
	await_ready stranger
	stranger=$ready
	wait_until is_child "$stranger" "$started"
}

is_child() {
	look_at "$1"
	[ "$process_parent" = "$2" ]
}

is_gone() {
	[ ! -e "/proc/$1" ]
}

# Kills the supervisor, which is the parent of the escapee.
kill_supervisor() {
	look_at "$escapee"
	((process_parent > 1))
	kill -KILL "$process_parent"
	finish
}

@test "the daemon of an older job is not counted as part of the tree" {
	local place
	for place in --setsid --foreground; do
		rm -f leave
		daemon_of_a_job "$place" leave

		kill_supervisor

		is_dead "$escapee"
		is_alive "$stranger"
		kill -KILL "$stranger"
		touch leave
		wait_until nobody_is_left
	done
}

@test "the daemon of an older job that has ended is not counted as part of the tree" {
	local place
	for place in --setsid --foreground; do
		daemon_of_a_job "$place" /
		wait_until is_gone "$(sed -n 's/^job //p' out)"

		kill_supervisor

		is_dead "$escapee"
		is_alive "$stranger"
		kill -KILL "$stranger"
		wait_until nobody_is_left
	done
}

# The main thread has exited: it shows no environment.
@test "a process of the run without its main thread is not taken for an older job's" {
	start bash -c 'sleep 1000 & echo $! >older
		exec "$WDRUN" bash -c "echo \$PPID >supervisor
			setsid \"\$PROGRAMS/threads\" leaderless; true"'
	await_ready

	kill -KILL "$(<supervisor)"
	finish

	is_dead "$ready"
	is_alive "$(<older)"
	kill -KILL "$(<older)"
	wait_until nobody_is_left
}

@test "without a /proc, a child of the caller's from before the run is not killed" {
	need_mounts
	export ASAN_OPTIONS=detect_leaks=0 # which needs /proc as well
	start unshare --mount bash -c 'mount -t tmpfs none /proc
		sleep 1000 & echo $! >older
		exec "$WDRUN" bash -c "echo ready \$\$
			kill -KILL \$PPID; sleep 1000"'
	finish

	await_ready
	is_dead "$ready"
	is_alive "$(<older)"
	kill -KILL "$(<older)"
	wait_until nobody_is_left
}

@test "pkill -9 wdrun and killall -9 wdrun leave nothing either" {
	local by
	need_root
	need pkill killall
	need_unshare --pid --fork --mount-proc
	mkdir bin
	cp "$WDRUN" bin/wdrun
	for by in pkill killall; do
		rm -f said # The file of the round before says ready already.
		# In a PID namespace of its own, since other tests run wdrun
		# too.
		complete unshare --pid --fork --mount-proc bash -c '
			[ $$ -eq 1 ] && [ "$(find /proc/[0-9]* -maxdepth 0 |
				wc -l)" -lt 9 ] || exit 99
			bin/wdrun "$PROGRAMS/escape" fork setsid stubborn >said &
			until grep -q ready said; do sleep 0.05; done
			"$1" -9 wdrun
			wait $!
			echo "status $?"
			while pgrep -x "escape|wdrun|wd-supervisor" >/dev/null; do
				sleep 0.05
			done' - "$by"
		[ "$output" = "status 137" ]
	done
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

		wait_until nobody_is_left
	done
}

@test "a caller that is killed takes the run along with --die-with-parent" {
	start bash -c '"$WDRUN" --die-with-parent -k 300ms \
		"$PROGRAMS/escape" fork setsid stubborn; :'
	await_ready

	kill -KILL "$started"
	finish

	wait_until nobody_is_left
}

@test "a caller that dies does not end the run without --die-with-parent" {
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
command = [os.environ["WDRUN"], "--die-with-parent",
           os.environ["PROGRAMS"] + "/sigcount"]
run = []
thread = threading.Thread(target=lambda: run.append(subprocess.Popen(command)))
thread.start()
thread.join()
print("status", run[0].wait(), flush=True)
'
	await_ready
	wait_until has_front # its parent, a thread, is about to exit

	kill -USR1 "$front"
	wait_until grep -qx 'got 10' out
	is_alive "$ready"
	kill -TERM "$front"
	finish

	[[ $output == *"status 7" ]]
}

has_front() {
	front=$(children_of "$started")
	[[ $front =~ ^[0-9]+$ ]]
}

@test "a supervisor killed before it sent the target's PID: the caller's process group gets no signal" {
	need strace
	# In a process group of its own, which kill(0) would hit. The first
	# write(2) of the supervisor is the one that sends the PID of the
	# target.
	start setsid sh -c 'sleep 1000 & echo "ready $!"
		strace -f --seccomp-bpf -qq -o /dev/null -e trace=write \
			-e inject=write:signal=KILL:when=1 \
			"$PROGRAMS/launch" --pending USR2 "$WDRUN" sleep 1000
		echo "over $?"'
	await_ready
	wait_until grep -q '^over' out

	[ "$(grep '^over' out)" = 'over 125' ]
	is_alive "$ready"
	end_leftovers
	wait "$started" || true
}

@test "a front that is killed while it and the supervisor are stopped leaves nothing" {
	start "$WDRUN" "$PROGRAMS/escape" fork setsid stubborn
	await_ready
	await_watchers
	# The front is stopped first, since it would continue the supervisor.
	kill -STOP "$front"
	wait_until is_stopped "$front"
	kill -STOP "$supervisor"
	wait_until is_stopped "$supervisor"

	kill -KILL "$front"
	finish

	wait_until nobody_is_left
}
