#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # single quotes: these run in a shell of their own
#
# A stop comes before everything else: what the tree does to /proc, to the
# processors or to itself puts off no signal.

load helper

# --- /proc that means other processes ----------------------------------------

# in_mounts SCRIPT: completes SCRIPT where mounts are private.
in_mounts() {
	need_root
	need unshare
	unshare --mount --pid --fork true 2>/dev/null ||
		skip "no namespaces here"
	complete unshare --mount bash -c 'mount --make-rprivate /; '"$1"
}

@test "another namespace's /proc, mounted over ours, gets no stranger killed" {
	sleep 1000 3>&- &
	stranger=$!
	export stranger
	# In that namespace, the supervisor's PID has a child with the
	# stranger's PID. A heartbeat has read the tree by then.
	in_mounts '"$WDRUN" -t 2 -k 300ms --heartbeat=100ms bash -c "
		sleep 1
		supervisor=\$PPID exec unshare --pid --fork bash -c \"
			mount -t proc proc /proc
			last=/proc/sys/kernel/ns_last_pid
			echo \\\$((supervisor - 1)) >\\\$last
			bash -c \\\"echo \\\\\\\$((stranger - 1)) >\\\$last
				sleep 1000 & echo ready \\\\\\\$\\\$ \\\\\\\$!; wait; true\\\" &
			wait\""'

	[ "$status" -eq 124 ]
	[[ $output == *"ready "*" $stranger" ]]
	is_alive "$stranger"
	kill -KILL "$stranger"
	[[ $stderr != *"could not kill"* ]]
}

@test "a command that unmounts /proc is ended as a whole, escapees too" {
	in_mounts '"$WDRUN" -t 2 -k 300ms --heartbeat=100ms bash -c "
		sleep 1
		\"\$PROGRAMS/escape\" fork setsid stubborn &
		umount -l /proc
		sleep 1000"'

	[ "$status" -eq 124 ]
	says_ready out
	[[ $stderr != *"could not kill"* ]]
}

@test "without a descriptor to open /proc with, the tree is ended as a whole" {
	need prlimit
	start "$WDRUN" -t 3 -k 300ms --heartbeat=100ms \
		"$PROGRAMS/escape" fork setsid stubborn
	await_watchers
	await_ready
	wait_until grep -q 'processes$' err
	prlimit --pid "$supervisor" --nofile=3:3
	finish

	[ "$status" -eq 124 ]
	[[ $stderr != *"could not kill"* ]]
}

# --- who gets the first signal -----------------------------------------------

@test "what a handler of the first signal starts in its group may end in order" {
	complete_late "$WDRUN" -t LIMIT -k 100 bash -c '
		trap "sleep 0.3; echo in order; exit 5" TERM
		echo "ready $$"
		while :; do sleep 0.01; done'

	[ "$status" -eq 124 ]
	[[ $output == *"in order" ]]
}

# --- a process whose files in /proc block ------------------------------------

# with_stuck_exec SCRIPT: completes SCRIPT, in which get_stuck starts a process,
# $pid, and returns when its execve(2) waits for a server that does not answer.
# The server ends 30 seconds later, or when SCRIPT ends.
with_stuck_exec() {
	[ -c /dev/fuse ] || [ ! -w /dev ] || mknod /dev/fuse c 10 229 ||
		skip "no /dev/fuse, and none can be made"
	complete_with_hung_fs '
		get_stuck() {
			mkfifo go
			exec 8<>go
			"$PROGRAMS/stuck_exec" mnt/file <&8 >stuck & pid=$!
			until grep -qs ready stuck; do sleep 0.02; done
			hang_fs
			(sleep 30; exec kill -KILL $server) 8>&- &
			echo >&8
			until grep -qs "^State:.D" /proc/$pid/status
			do sleep 0.02; done
		}
		export -f get_stuck
		'"$1"'
		kill -KILL $server'
}

is_stopped_beside_the_stuck() {
	rm -rf go stuck server mnt
	export limit
	with_stuck_exec '"$WDRUN" -t "$limit" -k 300ms bash -c "get_stuck
			echo stuck; sleep 1000; true"
		echo "status $?"
		kill -0 $server && echo in time'
	[[ $output == stuck*"status 124"*"in time" ]] &&
		[[ $stderr == *"could not kill 1 process"*"(uninterruptible)"* ]] &&
		grep -E '^wdrun:     [0-9]+ \[stuck_exec\] \[D\]$' err &&
		grep -E '^wdrun:     [0-9]+ sleep 1000 \[S [0-9]+s\]: sleeping$' err
}

@test "a process whose /proc files block delays no timeout, nor costs it the lines of others" {
	with_more_time is_stopped_beside_the_stuck
}

@test "a process whose /proc files block delays no end of the tree when a watcher is killed" {
	for victim in front supervisor; do
		export victim
		with_stuck_exec '"$WDRUN" bash -c "get_stuck
				sleep 1000 & echo \$\$ \$! \$PPID >ready; wait" &
			front=$!
			until [ -s ready ]; do sleep 0.05; done
			read -r target child supervisor <ready
			kill -KILL ${!victim}
			until ! kill -0 $child || ! kill -0 $server
			do sleep 0.05; done 2>/dev/null
			kill -0 $server && echo in time'
		[[ $output == *"in time" ]]
		rm -rf ready go stuck server mnt
	done
}

@test "a process whose /proc files block delays no lock on a file that names it, no --list, no --cancel" {
	with_stuck_exec 'export WDRUN_REGISTRY=$PWD/record
		"$WDRUN" --name=other sleep 1000 &
		"$WDRUN" --name=stuck -k 300ms bash -c "get_stuck
			echo \$pid >named; mv named pid; sleep 1000" &
		until [ -s pid ]; do sleep 0.05; done
		"$WDRUN" --lock=pid true; echo "lock $?"
		"$WDRUN" --list
		"$WDRUN" --cancel=other; echo "cancel $?"
		kill -0 $server && echo in time
		kill -TERM $!; wait $!'

	[[ $output == *"lock 75"*stuck*"cancel 0"*"in time"* ]]
}

@test "--reap says at once that it cannot read a process, and finishes the run later" {
	with_stuck_exec 'export WDRUN_REGISTRY=$PWD/record
		"$WDRUN" --name=stuck bash -c "get_stuck
			sleep 1000 & echo \$PPID >supervisor; wait" &
		until [ -s supervisor ]; do sleep 0.05; done
		kill -KILL $! $(<supervisor)
		until "$WDRUN" --list | grep -q orphaned; do sleep 0.05; done
		"$WDRUN" --reap; echo "reap $?"
		kill -0 $server && echo in time
		kill -KILL $server; wait $server
		"$WDRUN" --reap; echo "reap $?"'

	[[ $output == *"reap 1"*"in time"*"reap 0" ]]
	[[ $stderr == *"(stuck): cannot read"* ]]
	wait_until nobody_is_left
}

# --- filters -----------------------------------------------------------------

@test "where a filter forbids kill(2), the tree is ended by pidfds, and a signal is returned" {
	complete_late "$PROGRAMS/deny" kill -- "$WDRUN" -t LIMIT -k 300ms \
		"$PROGRAMS/escape" fork setsid stubborn
	[ "$status" -eq 124 ]
	[[ $stderr != *"could not kill"* ]]

	complete "$PROGRAMS/deny" kill -- "$WDRUN" python3 -c \
		'import signal; signal.raise_signal(signal.SIGUSR1)'
	[ "$status" -eq $((128 + 10)) ]
}

@test "where a filter forbids clock_gettime(2), the bounds hold" {
	complete "$PROGRAMS/deny" clock_gettime -- "$WDRUN" -t 300ms sleep 1000

	[ "$status" -eq 124 ]
}
