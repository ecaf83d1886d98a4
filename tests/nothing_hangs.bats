#!/usr/bin/env bats
#
# Promise 2: nothing hangs. Every wait has a bound, and a message says so when a
# bound was needed. (For silence see idle.bats, for a complete output until.bats,
# for what comes after the command's exit survivors.bats, for a supervisor that
# hangs deadlines.bats.)
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154

load helper
load bounds

deaf_daemon=("$PROGRAMS/escape" fork setsid stubborn)

# --- --timeout ---------------------------------------------------------------

@test "--timeout ends a command with 124, not one that ends in time; 0 and never are no bounds" {
	gives 124 directly -t0.1 sleep 1000

	gives 3 directly -t 60 -k 60 sh -c 'echo done; exit 3'
	[ "$output" = "done" ]
	[ -z "$stderr" ]

	goes_on --timeout=0 --idle-timeout=0
	goes_on --timeout=never --kill-after=never
}

@test "a stop is told, with each process; with --verbose each decision, with --quiet nothing" {
	gives 124 complete_late "$WDRUN" -v -t LIMIT -k 321ms --report=report \
		"${deaf_daemon[@]}"
	is_dead "$ready"
	only_messages
	# Each of them is shown as a process of the tree.
	has_message "$ready" escape stubborn
	[[ $stderr == *'escape fork'*'escape fork'* ]]
	has_message SIGTERM
	has_message 321ms
	[[ ${stderr##*$'\n'} == *124* ]]
	reported '"stopped":2,'
	no reported '"killed":0'
	nobody_is_left

	gives 124 directly -q -t 100ms -k 0 "$PROGRAMS/escape" stubborn
	[ -z "$stderr" ]

	gives 125 directly -q -t x true
	has_message x

	directly -v sh -c 'exit 3'
	[[ ${stderr##*$'\n'} == *3* ]]
	directly true
	[ -z "$stderr" ]
}

# --- the stop ----------------------------------------------------------------

@test "the stop begins with the signal of --signal" {
	gives 124 complete_late "$WDRUN" -t LIMIT -k never -s USR1 bash -c '
		trap "echo got USR1; exit 3" USR1; trap "echo got TERM; exit 3" TERM
		echo "ready $$"; while :; do pause 0.05; done'
	[ "${output#*$'\n'}" = 'got USR1' ]
}

# bats test_tags=slow
@test "a timeout ends the tree while the group of wdrun is stopped, as by a batch scheduler" {
	complete_stopped() {
		start setsid "$WDRUN" -t "$1" -k 100ms "${deaf_daemon[@]}"
		wait_until is_ready_or_over
		says_ready out || { finish && return; }
		kill -STOP -- "-$started"
		wait_until is_dead "$ready"
		kill -CONT -- "-$started"
		finish
	}
	late complete_stopped LIMIT

	[ "$status" -eq 124 ]
	nobody_is_left
}

# --- what could hold up the stop ---------------------------------------------

# bats test_tags=slow
@test "a reader of stderr that takes nothing holds up no heartbeat, no stop and no end" {
	mkfifo full
	exec 7<>full
	# The pipe is full, and nobody reads.
	head -c 65536 /dev/zero >&7
	complete sh -c '"$WDRUN" --heartbeat=50ms -t 300ms -k 100ms -v \
			"$PROGRAMS/escape" fork setsid stubborn 2>&7 7>&-
		echo "status $?"'
	exec 7>&-

	[ "${output##*$'\n'}" = 'status 124' ]
	nobody_is_left
}

# wdrun is root without the right to signal other users.
# bats test_tags=slow
@test "a process of another user, which SIGKILL does not end, is named, and given up" {
	need_other_user
	local powerless=(setpriv --bounding-set=-kill --inh-caps=-kill)
	"${powerless[@]}" true || skip "cannot drop a capability"
	gives 124 complete_late "${powerless[@]}" "$WDRUN" -t LIMIT -k 100ms \
		--report=report bash -c '
		setsid setpriv --reuid=65534 --clear-groups sleep 1000 &
		until read -r name <"/proc/$!/comm" && [ "$name" = sleep ]; do
			pause 0.02
		done
		echo "ready $!"; wait'

	is_alive "$ready"
	only_messages
	[[ ${stderr##*$'\n'} == *"$ready"*sleep* ]]
	reported "\"left\":[{\"pid\":$ready,"
	kill -KILL "$ready"
	wait_until nobody_is_left
}

# The front may not return until the write does. What it leaves alone dies.
# bats test_tags=slow
@test "output in a file system that hangs: the tree dies and the lock is free, in time" {
	local server
	stop_in_hung_fs() {
		rm -f server
		with_hung_fs '"$WDRUN" -t '"$1"' -k 100ms -i 1000 \
			--lock="$PWD/lock" 5>&1 2>/dev/null >>mnt/file bash -c "
				hang_fs
				echo lost
				exec \"\$PROGRAMS/escape\" fork setsid stubborn >&5"
			echo "status $?"'
		server=$ready
		wait_until test -e lock
		wait_until no test -e lock
		! says_ready out || wait_until is_dead "$ready"
		kill -KILL "$server"
		finish
	}
	late stop_in_hung_fs LIMIT
	[[ $output == *'status 124' ]]
	nobody_is_left
}
