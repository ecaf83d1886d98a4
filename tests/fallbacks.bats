#!/usr/bin/env bats
#
# On an older kernel: the main promises once more, where the newer system calls
# fail with ENOSYS (programs/deny.c), and where /proc/PID/task/TID/children is
# not compiled in.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2086,SC2154

load helper

# on_kernel WITHOUT ARGUMENT...: starts wdrun ARGUMENT... on a kernel that does
# not have the calls WITHOUT.
on_kernel() {
	local without
	read -ra without <<<"$1"
	start "$PROGRAMS/deny" "${without[@]}" -- "$WDRUN" "${@:2}"
}

# The same with LIMIT in an ARGUMENT, as for complete_late.
late_on_kernel() {
	local without
	read -ra without <<<"$1"
	complete_late "$PROGRAMS/deny" "${without[@]}" -- "$WDRUN" "${@:2}"
}

kernels=(close_range pidfd_open pidfd_send_signal
	'pidfd_open pidfd_send_signal'
	'close_range pidfd_open pidfd_send_signal')

@test "the older kernel of these tests lacks the newer calls" {
	need python3
	complete "$PROGRAMS/deny" pidfd_open -- python3 -c 'if True:
		import os
		try:
			os.pidfd_open(os.getpid())
		except OSError as error:
			print(error.errno)'

	[ "$output" = 38 ]
}

@test "on an older kernel a timeout ends escapees" {
	local without
	for without in "${kernels[@]}"; do
		late_on_kernel "$without" -t LIMIT -k 200ms \
			"$PROGRAMS/escape" fork setsid stubborn stopped
		[ "$status" -eq 124 ]
		is_dead "$ready"
		nobody_is_left
	done
}

@test "on an older kernel a timeout ends a storm, and a chain" {
	late_on_kernel "${kernels[-1]}" -t LIMIT -k 200ms "$PROGRAMS/storm" 400
	[ "$status" -eq 124 ]
	nobody_is_left

	late_on_kernel "${kernels[-1]}" -t LIMIT -k 200ms "$PROGRAMS/chain" 200
	[ "$status" -eq 124 ]
	nobody_is_left
}

@test "on an older kernel SIGKILL of the front ends escapees" {
	local without
	for without in "${kernels[@]}"; do
		on_kernel "$without" "$PROGRAMS/escape" fork setsid stubborn
		await_ready
		kill -KILL "$started"
		finish
		wait_until is_dead "$ready"
		wait_until nobody_is_left # the supervisor included
	done
}

@test "on an older kernel SIGKILL of the supervisor ends escapees" {
	local without
	for without in "${kernels[@]}"; do
		on_kernel "$without" "$PROGRAMS/escape" fork setsid stubborn
		await_ready
		await_watchers
		kill -KILL "$supervisor"
		finish
		[ "$status" -eq 137 ]
		is_dead "$ready"
	done
}

@test "on an older kernel statuses are true" {
	local without
	for without in "${kernels[@]}"; do
		on_kernel "$without" sh -c 'exit 42'
		finish
		[ "$status" -eq 42 ]
		on_kernel "$without" "$PROGRAMS/die" SEGV
		finish
		[ "$status" -eq 139 ]
		on_kernel "$without" no-such-command
		finish
		[ "$status" -eq 127 ]
		[[ $stderr == "wdrun: "*no-such-command* ]]
	done
}

@test "on an older kernel survivors are waited for, stopped, or left" {
	on_kernel "${kernels[-1]}" "$PROGRAMS/ticker" 100 5 3
	finish
	[ "$status" -eq 3 ]
	[ "$(tail -n 1 out)" = "done" ]

	on_kernel "${kernels[-1]}" --idle-after-exit=200ms \
		"$PROGRAMS/escape" -x 3 fork setsid
	finish
	[ "$status" -eq 3 ]
	nobody_is_left
}

@test "on an older kernel the watchers hold no descriptor of the caller's" {
	local watcher
	exec 5>>log 300>>log
	on_kernel close_range sh -c 'echo "ready $$"; exec sleep 1000'
	exec 5>&- 300>&-
	await_ready
	await_watchers

	for watcher in "$front" "$supervisor"; do
		[ -z "$(find "/proc/$watcher/fd" -lname "$PWD/log")" ]
	done
	[ -n "$(find "/proc/$target/fd" -lname "$PWD/log")" ]

	kill -TERM "$front"
	finish
}

@test "on an older kernel --die-with-parent holds, or nothing is run" {
	local without
	for without in close_range pidfd_send_signal; do
		start "$PROGRAMS/deny" "$without" -- bash -c '"$WDRUN" \
			-k 200ms --die-with-parent \
			"$PROGRAMS/escape" fork setsid; :'
		await_ready
		kill -KILL "$started"
		finish
		wait_until is_dead "$ready"
		wait_until nobody_is_left # the supervisor included
	done

	on_kernel pidfd_open --die-with-parent touch ran
	finish
	[ "$status" -eq 125 ]
	[[ $stderr == "wdrun: --die-with-parent"* ]]
	[ ! -e ran ]
}

# hide_children_of PID: hides /proc/PID/task in the mount namespace of PID, as
# if CONFIG_PROC_CHILDREN were missing.
hide_children_of() {
	nsenter --mount="/proc/$1/ns/mnt" mount -t tmpfs none "/proc/$1/task"
}

# Skips the test where nothing can be mounted on a directory of /proc: in a
# container whose /proc hides another one, say.
need_hidden_children() {
	need nsenter
	need_mounts
	unshare --mount bash -c 'mount -t tmpfs none "/proc/$$/task"' 2>error ||
		skip "$(<error)"
}

@test "where the kernel lists no children, the tree is found all the same" {
	need_hidden_children
	start unshare --mount "$WDRUN" -k 300ms \
		"$PROGRAMS/escape" fork setsid stubborn
	await_ready
	await_watchers

	hide_children_of "$supervisor"
	kill -TERM "$front"
	finish

	[ "$status" -eq 143 ]
	is_dead "$ready"
	nobody_is_left
}

@test "where the kernel lists no children, SIGKILL of the front ends the tree" {
	need_hidden_children
	start unshare --mount "$WDRUN" \
		"$PROGRAMS/escape" fork setsid stubborn
	await_ready
	await_watchers

	hide_children_of "$supervisor"
	kill -KILL "$front"
	finish

	wait_until nobody_is_left
}

# Starts a script that holds held.lock, on the newer kernel. A line in the FIFO
# gate has it remove the lock, a line in the FIFO over has it end. Sets holder.
hold_until_told() {
	rm -f held
	bash -c 'echo $$ >held.lock; touch held
		read -r _ <gate; rm held.lock; read -r _ <over' 3>&- &
	holder=$!
	wait_until test -e held
}

# is_waited_for WITHOUT LOCK COMMAND...: while wdrun waits for LOCK, which is
# held, COMMAND releases it.
is_waited_for() {
	local without waiter
	read -ra without <<<"$1"
	status=0
	"$PROGRAMS/deny" "${without[@]}" -- "$WDRUN" -q --lock="$2" true ||
		status=$?
	[ "$status" -eq 75 ]
	"$PROGRAMS/deny" "${without[@]}" -- "$WDRUN" --lock="$2" -w 90 true \
		3>&- &
	waiter=$!
	pause 0.2
	is_alive "$waiter"
	"${@:3}"
	wait "$waiter"
}

# Writes a line for the process that reads the FIFO gate.
open_gate() {
	echo >gate
}

@test "on an older kernel locks exclude, are waited for, and go" {
	local without
	mkfifo gate over
	for without in 'statx linkat' inotify_init1 \
		'pidfd_open close_range'; do
		on_kernel "$without" --lock=run.lock sh -c 'cat run.lock; read -r _ <gate'
		wait_until test -s out
		[ "$(cat run.lock)" = "$(cat out)" ]
		run ! flock -n run.lock true
		is_waited_for "$without" run.lock open_gate
		finish
		[ ! -e run.lock ]

		hold_until_told
		is_waited_for "$without" held.lock open_gate
		[ ! -e held.lock ]
		echo >over
		wait "$holder"
	done
}

@test "on an older kernel the command's own locks are removed" {
	local without
	for without in statx 'statx linkat inotify_init1 pidfd_open'; do
		late_on_kernel "$without" -t LIMIT --cleanup=pid.lock \
			--cleanup=dir.lock sh -c 'echo $$ >pid.lock
				mkdir dir.lock; echo "ready $$"; sleep 1000'
		[ "$status" -eq 124 ]
		[ ! -e pid.lock ]
		[ ! -e dir.lock ]
	done
}
