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
	late in_mounts '"$WDRUN" -t LIMIT -k 300ms --heartbeat=100ms bash -c "
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
	late in_mounts '"$WDRUN" -t LIMIT -k 300ms --heartbeat=100ms bash -c "
		sleep 1
		\"\$PROGRAMS/escape\" fork setsid stubborn &
		umount -l /proc
		sleep 1000"'

	[ "$status" -eq 124 ]
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

# slow_down MICROSECONDS[:when=N..M]: from now on strace delays each openat(2) of
# the supervisor, or the Nth to Mth, and its reading of the tree takes long. Sets
# tracer.
slow_down() {
	local opening=$1
	# A build that reads all of /proc opens hundreds of files.
	grep -q 'task/%d/children' "$WDRUN" || opening=500
	trace_supervisor -o trace -e trace=openat,kill \
		-e inject=openat:delay_enter="$opening"
}

# strace makes each signal of the supervisor slow, as on a machine that leaves it
# little of a processor: the tree then forks faster than it is killed.
@test "what forks two successors when its parent dies does not outgrow the kill" {
	need strace
	export ASAN_OPTIONS=detect_leaks=0 # which does not work under strace
	start "$WDRUN" -k 100ms "$PROGRAMS/hydra" 3 4000
	await_ready
	await_watchers
	trace_supervisor -o trace -e trace=kill,pidfd_send_signal \
		-e inject=kill,pidfd_send_signal:delay_enter=2000

	kill -TERM "$started"
	finish

	[[ $output == "ready "* && $output != *outgrown* ]]
	[[ $stderr != *"could not kill"* ]]
	wait "$tracer" || true
}

# The target dies, and leaves its child to the supervisor, which strace has
# given time to read the list of its own children, and not that of the target's.
@test "whom the target leaves behind while the stop begins gets the first signal too" {
	need strace
	export delay ASAN_OPTIONS=detect_leaks=0 # which does not work under strace
	for delay in 0.05 0.07 0.09 0.11 0.13 0.15; do
		start "$WDRUN" -k 30s bash -c 'trap "sleep $delay; exit" TERM
			setsid "$PROGRAMS/sigcount" &
			while :; do sleep 0.01; done'
		await_ready
		await_watchers
		slow_down 50000

		kill -TERM "$started"
		finish

		[[ $output == *"got 15" ]]
		wait "$tracer" || true
	done
}

# chain_gets_the_signal LINKS LAST [DELAY]: a chain of LINKS sessions, each the
# parent of the next, and below them LAST, gets the first signal as a whole. Each
# process of the chain dies, and leaves the next to the supervisor, before the
# supervisor has read its children: strace slows the reading down.
chain_gets_the_signal() {
	need strace
	export ASAN_OPTIONS=detect_leaks=0 # which does not work under strace
	export links=$1 last=$2 link='
		((links-- > 0)) || exec bash -c "$last"
		setsid bash -c "$link"
		true'
	start "$WDRUN" -k never bash -c "$link"
	await_ready
	await_watchers
	slow_down "${3-5000}"

	kill -TERM "$started"
	finish

	[[ $output == *"got 15" ]]
	wait "$tracer" || true
}

@test "a chain of sessions, each the parent of the next, gets the first signal as a whole" {
	chain_gets_the_signal 8 'exec "$PROGRAMS/sigcount"'
}

# The shell runs its trap, and dies, only when its child is dead.
@test "a chain of sessions gets the first signal also below a shell that waits in a trap" {
	chain_gets_the_signal 12 'trap : TERM; setsid "$PROGRAMS/sigcount"; true'
}

@test "a chain of sessions gets the first signal also where each reading takes long" {
	chain_gets_the_signal 12 'trap : TERM; setsid "$PROGRAMS/sigcount"; true' 100000:when=1..40
}

@test "SIGKILL does not wait until the first signal has reached a tree that takes long to read" {
	local trace opened
	need strace
	export ASAN_OPTIONS=detect_leaks=0 # which does not work under strace
	start "$WDRUN" -k 300ms bash -c 'trap "" TERM
		for i in {1..60}; do setsid sleep 1000 & done
		echo "ready $$"; wait'
	await_ready
	await_watchers
	slow_down 20000

	kill -TERM "$started"
	finish
	wait "$tracer" || true

	# One reading opens 60 files; a build that reads all of /proc ends it.
	trace=$(<trace)
	trace=${trace#*SIGTERM} trace=${trace%%SIGKILL*}
	opened=$(grep -c openat <<<"$trace")
	[ "$opened" -gt 0 ]
	grep -q 'task/%d/children' "$WDRUN" || return 0
	[ "$opened" -lt 50 ]
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
