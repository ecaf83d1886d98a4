#!/usr/bin/env bats
#
# Promise 5: --lock, where two processes do something at the same moment.
# strace(1) delays a call of one of them, and is stopped itself where the delay
# has to last.
#
# shellcheck disable=SC2016,SC2154,SC2030,SC2031

load helper
load relays
load freezer
load locks

setup() {
	common_setup
	export ASAN_OPTIONS=detect_leaks=0 # LeakSanitizer does not work under strace
}

# hold_flock FILE: holds FILE as flock(1) does, without a PID in it.
hold_flock() {
	hold bash -c 'exec 9>"$1"; flock 9; echo "ready $$"; exec sleep 1000' - \
		"$1"
}

# has_helper_but PID OTHER: PID has a helper that sleeps in flock(2) and is not
# OTHER. Sets helper.
has_helper_but() {
	helper=$(children_of "$1")
	[ -n "$helper" ] && [ "$helper" != "$2" ] &&
		[ "$(<"/proc/$helper/comm")" = wd-lock ] && is_waiting_in "$helper"
}

is_waiting_in() {
	look_at "$1"
	[ "$process_state" = S ]
}

# start_under STRACE-OPTION... -- COMMAND...: starts COMMAND under strace.
start_under() {
	local -
	set +T
	local options=()
	need strace
	while [ "$1" != -- ]; do
		options+=(-e "$1")
		shift
	done
	shift
	start strace -f -qq -o trace "${options[@]}" "$@"
}

says() {
	[ "$(cat "$1" 2>/dev/null)" = "$2" ]
}

# --- who looks, and who has --------------------------------------------------

@test "a run that is late to lock the file that it made does not remove the lock of another run" {
	local delay tracer
	for delay in 300000 3000000 30000000; do # until strace is stopped within the delay
		start_under trace=flock,linkat inject=linkat:error=ENOENT \
			inject=flock:delay_enter=$delay:when=2 -- \
			"$WDRUN" --lock=lock touch ran
		tracer=$started
		wait_until made_or_over "$tracer"
		kill -STOP "$tracer"
		wait_until is_stopped_or_dead "$tracer"
		[ ! -e lock ] || [ -s lock ] || break
		kill -CONT "$tracer"
		finish
		rm -f ran
	done
	[ ! -s lock ]
	hold_lock

	kill -CONT "$tracer"
	finish
	[ "$status" -eq 75 ]
	[ ! -e ran ]
	says lock "$holder"
	no flock -n lock true
	release
	[ ! -e lock ]
}

# made_or_over PID: the lock was made, or PID has ended.
made_or_over() {
	[ -e lock ] || is_dead "$1"
}

is_stopped_or_dead() {
	is_stopped "$1" || is_dead "$1"
}

@test "a script that has the lock and becomes wdrun by exec keeps it, whatever looks at it" {
	local -
	set +T
	local pids=()
	for _ in {1..3}; do
		until [ -e stop ]; do
			"$WDRUN" --lock=lock true || true
		done 2>/dev/null 3>&- &
		pids+=($!)
	done
	for _ in {1..15}; do
		bash -c 'until (set -C; echo $$ >lock) 2>/dev/null; do
				sleep 0.01
			done
			exec "$WDRUN" --lock=lock true' 2>>errors &&
			echo got it
	done >got
	touch stop
	wait "${pids[@]}"

	[ "$(wc -l <got)" -eq 15 ]
	[ ! -s errors ]
	[ ! -e lock ]
}

@test "a run that opens a held lock and cannot have it does not make the file stay" {
	hold_lock
	run -1 bash -c 'exec 9>lock; flock -n 9'
	[ -e lock ] && [ ! -s lock ]
	run -75 "$WDRUN" --lock=lock true

	release
	[ ! -e lock ]
}

# --- who waits ---------------------------------------------------------------

@test "a run that waits for one of two locks does not hold the other" {
	local first
	hold_flock b
	start "$WDRUN" --lock=a --lock=b --lock-wait=200 touch ran
	wait_until has_helper_but "$started" ''
	first=$helper
	# Takes the two locks in the other order, and has the first one now.
	flock a sh -c 'touch has-a
		until [ -e go ]; do sleep 0.02; done
		flock -w 60 b touch has-both' 3>&- &
	other=$!
	wait_until test -e has-a

	release
	wait_until has_helper_but "$started" "$first"
	touch go
	wait "$other"
	[ -e has-both ]
	finish
	[ "$status" -eq 0 ]
	[ -e ran ]
	[ ! -e a ] && [ ! -e b ]
}

@test "a run that waits for a lock and is stopped does not get it before it is continued" {
	hold_flock lock
	# A job of its own, since SIGTSTP does not stop an orphaned process
	# group.
	start bash -mc '"$WDRUN" --lock=lock --lock-wait=200 touch ran &
		echo "ready $!"
		status=148 # stopped
		while ((status > 128)); do wait $!; status=$?; done
		echo "over $status"'
	await_ready
	wait_until has_helper_but "$ready" ''
	kill -TSTP "$ready"
	wait_until is_stopped "$ready"

	release
	for _ in {1..10}; do
		flock -n lock true
		sleep 0.03
	done
	[ ! -e ran ]
	kill -CONT "$ready"
	finish
	[[ $output == *"over 0" ]]
	[ -e ran ] && [ ! -e lock ]
}

# The kernel keeps one SIGURG at a time: that of the helper, which has the lock
# now and ends, is lost.
@test "a lock that gets free while a SIGURG of another process is pending is not missed" {
	: >lock
	# Open for reading alone: inotify(7) does not tell of its end.
	hold bash -c 'exec 9<lock; flock 9; echo "ready $$"; exec sleep 1000'
	start "$WDRUN" --lock=lock --lock-wait=200 touch ran
	wait_until has_helper_but "$started" ''
	kill -STOP "$started"
	wait_until is_stopped "$started"
	kill -URG "$started"

	release
	wait_until is_zombie "$helper"
	kill -CONT "$started"
	finish

	[ "$status" -eq 0 ]
	[ -e ran ]
}

@test "a lock that changes hands just before it is waited for is not missed" {
	local delay tracer first second
	hold sh -c 'echo $$ >lock; echo "ready $$"; exec sleep 1000'
	first=$held_by
	sleep 1000 3>&- &
	second=$!
	for delay in 300000 3000000 30000000; do # until strace is stopped within the delay
		start_under trace=inotify_init1 \
			inject=inotify_init1:delay_enter=$delay:when=1 -- \
			"$WDRUN" --lock=lock --lock-wait=200 touch ran
		tracer=$started
		wait_until grep -q 'inotify_init1(' trace
		kill -STOP "$tracer"
		wait_until is_stopped "$tracer"
		grep -q ') = ' trace || break
		wdrun_of "$tracer"
		kill -CONT "$tracer"
		kill -TERM "$front"
		finish
		rm trace
	done
	mv lock moved
	echo "$second" >lock
	kill -CONT "$tracer"
	wait_until wdrun_of "$tracer"
	wait_until is_waiting "$front"

	rm lock # the lock is free, and no process has ended
	finish
	[ "$status" -eq 0 ]
	[ -e ran ]
	is_alive "$first" && is_alive "$second"
	kill -KILL "$second"
	wait "$second" || true
	release
}

@test "a run that cannot be told of signals does not wait for a lock" {
	hold_lock
	start_under trace=signalfd4 inject=signalfd4:error=EMFILE -- \
		"$WDRUN" --lock=lock --lock-wait=200 touch ran
	finish

	[ "$status" -eq 125 ]
	[ ! -e ran ]
	[[ $(told) == "wdrun: --lock: cannot wait for 'lock': "* ]]
	says lock "$holder"
	release
}

@test "a lock whose file was removed is taken without inotify(7), while that file is still locked" {
	hold_flock lock
	start "$PROGRAMS/deny" inotify_init1 -- "$WDRUN" --lock=lock \
		--lock-wait=200 touch ran
	wait_until has_helper_but "$started" ''
	rm lock
	finish

	[ "$status" -eq 0 ]
	[ -e ran ]
	release
}

@test "a zombie counts as dead also where /proc is of another namespace" {
	need_root
	need_unshare --pid --fork
	complete unshare --pid --fork sh -c '
		sh -c "sleep 0.1 & echo \$! >lock; exec sleep 1000" &
		until [ -s lock ]; do sleep 0.02; done
		"$WDRUN" --lock=lock --lock-wait=200 touch ran
		status=$?
		kill -KILL $!
		exit $status'

	[ "$status" -eq 0 ]
	[ -e ran ]
}

# A file system like FAT keeps times to two seconds.
@test "a lock has its owner where the file system rounds times" {
	hold sh -c 'echo $$ >lock; echo "ready $$"; exec sleep 1000'
	touch -d '2 seconds ago' lock
	complete "$WDRUN" --lock=lock touch ran

	[ "$status" -eq 75 ]
	says lock "$held_by"
	release
}

# --- who is killed -----------------------------------------------------------

# Whether SIGKILL is pending for PID: bit 8 of the mask, proc(5).
is_being_killed() {
	grep -q '^S[hi][dg]Pnd:.*[13579bdf]..$' "/proc/$1/status"
}

@test "a front that is killed during the kill leaves the lock to the supervisor" {
	start "$WDRUN" --lock=lock -k 100ms "$PROGRAMS/escape" fork setsid
	await_ready
	await_watchers
	freeze "$ready"
	kill -TERM "$front"
	wait_until is_being_killed "$ready"
	says lock "$front"

	kill -KILL "$front"
	wait_until says lock "$supervisor"
	is_alive "$ready"
	run -75 "$WDRUN" --lock=lock true

	thaw "$ready"
	finish
	wait_until test ! -e lock
}

# --- what is told ------------------------------------------------------------

@test "a message says why there is no process for the supervisor, also with locks" {
	need_other_user
	# A user without other processes, since exec would fail first.
	complete bash -c 'ulimit -u 1
		exec setpriv --reuid 61795 --clear-groups "$WDRUN" \
			--lock=/tmp/wdrun-$$.lock -c /tmp/wdrun-$$/no true'

	[ "$status" -eq 125 ]
	[[ $stderr == *"cannot start the supervisor: Resource temporarily unavailable" ]]
	[ ! -e "/tmp/wdrun-$started.lock" ]
}

# As after chattr(1) +i, which not every file system has.
@test "a file that cannot be removed is not reported as another user's" {
	dead_pid >lock
	start_under trace=unlink,unlinkat inject=unlink,unlinkat:error=EPERM -- \
		"$WDRUN" --lock=lock touch ran
	finish
	[ "$status" -eq 125 ]
	[ ! -e ran ]
	[ "$(told)" = "wdrun: --lock: 'lock': Operation not permitted" ]

	start_under trace=unlink,unlinkat inject=unlink,unlinkat:error=EPERM -- \
		"$WDRUN" --cleanup=lock true
	finish
	[ "$status" -eq 0 ]
	[ "$(told)" = "wdrun: --cleanup: cannot remove 'lock': Operation not permitted" ]
}

@test "a /proc of another namespace does not tell who holds the lock" {
	need_root
	need_unshare --pid --fork
	complete unshare --pid --fork sh -c 'sleep 1000 & echo $! >lock
		"$WDRUN" --lock=lock touch ran
		status=$?
		kill -KILL $!
		exit $status'

	[ "$status" -eq 75 ]
	[ ! -e ran ]
	[ "$(told)" = "wdrun: --lock: 'lock' is held by another process" ]
}
