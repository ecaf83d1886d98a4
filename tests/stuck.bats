#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # single quotes: these run in a shell of their own
#
# Runs alone: a process that cannot be read may hold up what another test runs
# (ps(1), say), and one with a real-time priority takes a processor for itself.
#
# A process whose files in /proc block, as execve(2) waits for a dead server,
# holds nothing up.

load helper

# with_stuck_exec SCRIPT: completes SCRIPT, in which `get_stuck [WRAPPER...]`
# starts a process, $pid, below WRAPPER, and returns when its execve(2) waits for
# a server that does not answer.
# The server ends 30 seconds later, or when SCRIPT ends.
with_stuck_exec() {
	[ -c /dev/fuse ] || [ ! -w /dev ] || mknod /dev/fuse c 10 229 ||
		skip "no /dev/fuse, and none can be made"
	complete_with_hung_fs '
		get_stuck() {
			mkfifo go
			exec 8<>go
			"$@" "$PROGRAMS/stuck_exec" mnt/file <&8 >stuck & pid=$!
			until grep -qs ready stuck; do sleep 0.02; done
			hang_fs
			(trap "kill \$!" TERM; sleep 30 & wait $! &&
				exec kill -KILL $server) 8>&- & clock=$!
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

# reap_beside_the_stuck BEFORE SCRIPT [AFTER]: does BEFORE, starts a run that has a
# child and then does SCRIPT, does AFTER, and completes `wdrun --reap` for the
# run, and again when the server is dead.
reap_beside_the_stuck() {
	with_stuck_exec 'export WDRUN_REGISTRY=$PWD/record
		'"$1"'
		"$WDRUN" --name=stuck bash -c "sleep 1000 & child=\$!
			('"$2"'; echo \$PPID \$child >pids; mv pids orphan; wait) &
			wait" &
		front=$!
		until [ -s orphan ]; do sleep 0.05; done
		read -r supervisor child <orphan
		'"${3-}"'
		kill -STOP $front $supervisor # as orphan() does, in the same order
		for each in $front $supervisor; do
			until grep -q "^State:.T" /proc/$each/status; do sleep 0.05; done
		done
		kill -KILL $supervisor $front
		until "$WDRUN" --list | grep -q orphaned; do sleep 0.05; done
		"$WDRUN" --reap; echo "reap $?"
		grep -s "^State" /proc/$child/status | grep -v Z || echo ended
		kill -0 $server && echo in time
		kill -KILL $server; wait $server
		"$WDRUN" --reap; echo "reap $?"
		[ ! -v clock ] || kill -TERM $clock
		[ ! -v pid ] || kill -KILL $pid'
	[[ $output == *"reap "?$'\n'"ended"$'\n'"in time"*"reap 0" ]]
	[[ $stderr == *"(stuck): killed "*" sleep 1000"* ]]
	wait_until nobody_is_left
}

# The same where the stuck process keeps the run on record.
stays_because_of_the_stuck() {
	reap_beside_the_stuck "$@"
	[[ $output == *"reap 1"*"reap 0" ]]
	[[ $stderr == *"(stuck): killed "*" sleep 1000"*"; the run stays on record because of "*" [stuck_exec] (cannot be looked at"* ]]
}

@test "--reap ends a run beside a process whose /proc files block, in a session older than the run" {
	reap_beside_the_stuck get_stuck :
	[[ $output == *"reap 0"*"reap 0" ]]
}

# unshare(1) starts a process in the session of its caller, which has no ID in
# the new namespace.
@test "--reap ends a run beside a process whose /proc files block, in a session of another PID namespace" {
	need_unshare --pid --fork --mount-proc
	# shellcheck disable=SC2034 # with_hung_fs reads it
	in_namespace=(unshare --pid --fork --mount-proc)
	reap_beside_the_stuck get_stuck :
	[[ $output == *"reap 0"*"reap 0" ]]
}

@test "--reap ends a run beside a process whose /proc files block, with a younger parent outside the run" {
	reap_beside_the_stuck : : 'setsid bash -c "get_stuck setsid
			echo \$pid \$clock >pair; mv pair young; wait" &
		until [ -s young ]; do sleep 0.05; done
		read -r pid clock <young'
	[[ $output == *"reap 0"*"reap 0" ]]
}

@test "--reap ends a run beside a process whose /proc files block, which may belong to the run" {
	stays_because_of_the_stuck "get_stuck setsid" :
}

@test "--reap ends a process of the run whose /proc files block, which its session proves" {
	stays_because_of_the_stuck : get_stuck
}

@test "--reap ends a process of the run whose /proc files block, which only its parent proves" {
	stays_because_of_the_stuck : "get_stuck setsid env -i"
}

# A process for each processor, and one more. With a lower priority, the
# supervisor would get none before the processes end by themselves.
@test "processes with a real-time priority do not hold up the stop" {
	need chrt
	chrt --fifo 1 true 2>/dev/null || skip "cannot have a real-time priority"
	[ "$(nproc)" -le 16 ] || skip "too many processors"
	complete "$WDRUN" -t 1 -k 300ms bash -c '
		for each in $(seq 0 "$(nproc)"); do
			chrt --fifo 1 bash -c "trap : TERM
				until ((SECONDS > 30)); do :; done; echo outlived" &
		done
		wait'

	[ "$status" -eq 124 ]
	[[ $output != *outlived* ]]
}
