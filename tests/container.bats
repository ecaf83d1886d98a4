#!/usr/bin/env bats
#
# Containers and unusual machines: wdrun as PID 1, without /proc or with that of
# another PID namespace, beside processes that may not be seen, and with some
# that cannot be killed.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154

load helper
load freezer

container=(unshare --pid --fork --mount-proc)
escape=("$PROGRAMS/escape" fork setsid stubborn)

@test "as PID 1 it has the command's status, forwards signals, and reaps; no other PID 1 has to" {
	need_root
	need nsenter
	need_unshare "${container[@]:1}"
	complete "$PROGRAMS/status" "${container[@]}" "$WDRUN" sh -c 'kill -TERM $$'
	[ "$output" = "exit 143" ]
	[ ! -s err ]

	start "${container[@]}" "$WDRUN" "$PROGRAMS/sigcount"
	await_ready
	first_child "$started"
	front=$child
	kill -USR1 "$front"
	wait_until grep -qx 'got 10' out
	nsenter --target "$front" --pid sh -c 'sleep 1000 &' 3>&-
	no only_child "$front"
	kill -KILL "$(children_of "$front" | tail -n 1)"
	wait_until only_child "$front"
	kill -TERM "$front"
	finish
	[ "$status" -eq 7 ]

	# This PID 1 reaps nothing but its own child: it and bash are all there is.
	complete "${container[@]}" "$PROGRAMS/status" bash -c '
		"$WDRUN" true; "$WDRUN" -t 100ms sleep 1000
		pids=(/proc/[0-9]*); exit ${#pids[@]}'
	[ "$output" = "exit 2" ]
}

# bats test_tags=tree,slow
@test "in a PID namespace, as PID 1 and not, a timeout and SIGKILL of the supervisor end the tree" {
	local around
	need_root
	need_unshare "${container[@]:1}"
	# Without --fork wdrun stays outside, and its first child is PID 1.
	for around in "${container[*]}" 'unshare --pid'; do
		# shellcheck disable=SC2086 # these are words
		complete_late $around "$WDRUN" -t LIMIT -k 100ms "${escape[@]}"
		[ "$status" -eq 124 ]
		nobody_is_left
	done

	start "${container[@]}" "$WDRUN" "${escape[@]}"
	await_ready
	first_child "$started"
	front=$child
	find_watchers
	kill -KILL "$supervisor"
	finish
	[ "$status" -eq 137 ]
	nobody_is_left
}

has_one_survivor() {
	[ "$(children_of "$supervisor" | wc -l)" -eq 2 ] # and the target
}

@test "after the death of the command, survivors that die leave no zombies" {
	local orphans
	start "$WDRUN" --survivors=wait bash -c '
		for _ in {1..10}; do "$PROGRAMS/escape" --live & orphans+=($!); done
		echo "${orphans[*]}"; echo "ready $$"; exit 3'
	front=$started
	await_ready
	find_watchers
	read -ra orphans <out
	wait_until is_zombie "$target"

	# One SIGCHLD can stand for many deaths, also shortly after another.
	kill -KILL "${orphans[0]}"
	pause 0.02
	kill -KILL "${orphans[@]:1:8}"
	wait_until has_one_survivor
	kill -KILL "${orphans[9]}"
	finish
	[ "$status" -eq 3 ]
}

# bats test_tags=smoke,slow
@test "without /proc a command has its status; a timeout ends its group, says what is missing" {
	local unmounted='mount -t tmpfs none /proc; exec "$WDRUN" "$@"'
	need_mounts
	complete unshare --mount sh -c "$unmounted" - -t 60 sh -c 'exit 42'
	[ "$status" -eq 42 ]

	complete_late unshare --mount sh -c "$unmounted" - -t LIMIT -k 100ms \
		"$PROGRAMS/escape" stubborn
	[ "$status" -eq 124 ]
	has_message /proc
	is_dead "$ready"
	nobody_is_left
}

# In the inner namespace the supervisor becomes PID 2, and unrelated processes
# get the numbers that children of kthreadd have outside. A wdrun that took the
# outer /proc/2 for its supervisor would kill them.
# bats test_tags=slow
@test "with the /proc of another PID namespace no unrelated process gets a signal" {
	need_root
	need_unshare --pid --fork
	[ -w /proc/sys/kernel/ns_last_pid ] || skip "PIDs cannot be chosen"
	[ "$(</proc/2/comm)" = kthreadd ] || skip "no kthreadd here"
	complete_late unshare --pid --fork bash -c '
		last=/proc/sys/kernel/ns_last_pid
		echo 2 >$last
		for i in {3..10}; do
			"$PROGRAMS/escape" --live & strangers+=($!)
		done
		echo "strangers ${strangers[*]}"
		(
			echo 99 >$last
			env --default-signal bash -c "
				echo 1 >$last
				exec \"\$WDRUN\" -t LIMIT -k 100ms \
					\"\$PROGRAMS/escape\" stubborn"
			echo "status $?"
		)
		kill -0 "${strangers[@]}" && echo "all live"'

	grep -q '^strangers 3 4 5 6' out
	grep -qx 'status 124' out
	grep -qx 'all live' out
	wait_until nobody_is_left
}

# bats test_tags=slow
@test "where the kernel lists no children, the tree is found all the same" {
	local signal
	need nsenter
	need_mounts
	unshare --mount bash -c 'mount -t tmpfs none "/proc/$$/task"' 2>error || skip "$(<error)"
	for signal in TERM KILL; do
		start unshare --mount "$WDRUN" -k 100ms "${escape[@]}"
		await_ready
		front=$started
		find_watchers
		# As if CONFIG_PROC_CHILDREN were missing.
		nsenter --mount="/proc/$supervisor/ns/mnt" \
			mount -t tmpfs none "/proc/$supervisor/task"
		kill -s "$signal" "$front"
		finish
		wait_until nobody_is_left # the supervisor included
		is_dead "$ready"
	done
}

# give_to_all FILE...: copies FILEs to where another user can reach and execute
# them.
give_to_all() {
	cp "$@" .
	chmod 777 .
	chmod 755 .. ../..
}

# bats test_tags=slow
@test "where /proc hides processes, a daemon that is not dumpable and a setuid command die" {
	local as_nobody
	need_mounts
	need_other_user
	give_to_all "$WDRUN" "$PROGRAMS/escape"
	as_nobody=(unshare --mount sh -c 'mount --make-rprivate / &&
		mount -t proc -o hidepid=2 proc /proc &&
		exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"'
		- "./${WDRUN##*/}" -k 100ms)
	complete "${as_nobody[@]}" --idle-after-exit=300ms ./escape -x 3 fork setsid fork undumpable
	await_ready
	[ "$status" -eq 3 ]
	is_dead "$ready"

	chmod u+s escape
	complete_late "${as_nobody[@]}" -t LIMIT ./escape
	[ "$status" -eq 124 ]
	is_dead "$ready"
	nobody_is_left
}

# bats test_tags=slow
@test "at its user's limit of processes a fork bomb is ended, and no command executed" {
	need prlimit
	need_other_user
	give_to_all "$WDRUN" "$PROGRAMS/bomb"
	# A user whom no other test uses at the same time.
	local user=$((60000 + $$ % 5000))
	local as_user=(setpriv --reuid "$user" --regid "$user" --clear-groups "./${WDRUN##*/}")
	directly prlimit --nproc=1 "${as_user[@]}" --report=/dev/stdout true
	[ "$status" -eq 125 ]
	grep -q '"outcome":"not executed","reason":"Resource temporarily unavailable"' out
	start prlimit --nproc=40 "${as_user[@]}" -k 100ms ./bomb
	await_ready
	kill -TERM "$started"
	finish
	[ "$status" -eq 137 ] # the bomb ignores SIGTERM
	nobody_is_left
}

# bats test_tags=slow
@test "who only root may kill is named, waited for up to a bound, and given up" {
	need_other_user
	give_to_all "$WDRUN" "$PROGRAMS/escape"
	chmod u+s escape
	directly setpriv --reuid 65534 --clear-groups ./escape -x 0 root-user
	says_ready out || skip "no setuid on this file system"
	end_leftovers

	start setpriv --reuid 65534 --regid 65534 --clear-groups \
		"./${WDRUN##*/}" --report=report -k 100ms ./escape fork setsid root-user
	await_ready
	kill -TERM "$started"
	finish
	[ "$status" -eq 143 ]
	is_left "$ready"
	end_leftovers
}

# is_left PID: the message and the report name the process, which lives.
is_left() {
	has_message "$1" escape
	only_messages
	grep -q "\"left\":\[{\"pid\":$1,\"command\":\".*escape" report
	is_alive "$1"
}

# bats test_tags=slow
@test "whom not even SIGKILL ends is named, and on record until --reap" {
	export WDRUN_REGISTRY=$PWD/registry
	need_freezer
	start "$WDRUN" --report=report -k 100ms --cleanup=pid.lock "$PROGRAMS/escape" fork setsid
	await_ready
	echo "$ready" >pid.lock
	freeze "$ready"
	kill -TERM "$started"
	finish
	[ "$status" -eq 143 ]
	is_left "$ready"
	[ -e pid.lock ]
	[[ $("$WDRUN" --list) == *orphaned* ]]

	thaw "$ready"
	wait_until "$WDRUN" --reap
	[ ! -e pid.lock ]
	[ -z "$("$WDRUN" --list)" ]

	# Where the front is killed, the supervisor holds the lock.
	start "$WDRUN" --lock=run.lock "$PROGRAMS/escape" fork setsid
	await_ready
	grep -qx "$started" run.lock
	freeze "$ready"
	kill -KILL "$started"
	wait_until is_dead "$started"
	is_alive "$ready"
	run -75 "$WDRUN" --lock=run.lock true

	thaw "$ready"
	finish
	wait_until test ! -e run.lock
}
