#!/usr/bin/env bats
#
# Promise 5: --cleanup. The locks that a script makes for itself do not outlive
# the script, on any way out, and no other locks are touched.
#
# shellcheck disable=SC2016,SC2154,SC2030,SC2031

load helper
load relays

setup() {
	common_setup
	# Takes a PID lock and an mkdir lock as scripts usually do, then runs
	# its arguments. It never removes the locks.
	cat >script <<-'END'
		#!/bin/bash
		if [ -f pid.lock ] && kill -0 "$(cat pid.lock)"; then
			echo "held by $(cat pid.lock)"
			exit 11
		fi
		echo $$ >pid.lock
		mkdir dir.lock
		echo "ready $$"
		eval "$@"
	END
	chmod +x script
	both=(--cleanup=pid.lock --cleanup=dir.lock)
}

both_are_gone() {
	[ ! -e pid.lock ] && [ ! -e dir.lock ]
}

# Prints the messages, with relative names where the test gave relative names:
# wdrun makes all names absolute.
told() {
	sed "s|'$PWD/|'|g" err
}

both_are_told() {
	only_messages
	[ "$(told | grep '^wdrun: --cleanup: ' | sort)" = "$(
		echo "wdrun: --cleanup: removed 'dir.lock', which the command left behind"
		echo "wdrun: --cleanup: removed 'pid.lock', which the command left behind"
	)" ]
}

# left_is_told FILE: there is one line about FILE, and every line is wdrun's.
left_is_told() {
	only_messages
	[ "$(told | grep -c "^wdrun: --cleanup: cannot remove '$1': ")" -eq 1 ]
}

# begin NAME COMMAND...: starts COMMAND in the background, with its output in
# NAME.out and NAME.err. Sets begun to its PID.
begin() {
	local -
	set +T
	local name=$1
	shift
	: >"$name.out"
	"$PROGRAMS/launch" --defaults "$@" >"$name.out" 2>"$name.err" 3>&- &
	begun=$!
}

# end PID: waits for the process, and sets status.
end() {
	wait_until is_dead "$1"
	status=0
	wait "$1" || status=$?
}

dead_pid() {
	sh -c 'echo $$'
}

# Starts a process that is not part of any run. Sets outsider to its PID.
start_outsider() {
	sleep 1000 3>&- &
	outsider=$!
}

end_outsider() {
	kill -KILL "$outsider"
	wait "$outsider" || true
}

# --- every way out -----------------------------------------------------------

@test "the locks of a script are removed at its end, which is told, and its status stands" {
	complete "$WDRUN" "${both[@]}" ./script 'exit 0'
	[ "$status" -eq 0 ]
	both_are_gone
	both_are_told
	[ "$(wc -l <err)" -eq 2 ]

	complete "$WDRUN" "${both[@]}" ./script 'exit 3'
	[ "$status" -eq 3 ]
	both_are_gone
	both_are_told

	complete "$WDRUN" "${both[@]}" ./script 'kill -KILL $$'
	[ "$status" -eq 137 ]
	both_are_gone
	both_are_told
}

@test "without --cleanup the same script leaves its locks" {
	complete "$WDRUN" ./script 'exit 0'

	[ "$status" -eq 0 ]
	[ -f pid.lock ] && [ -d dir.lock ]
}

@test "-c is --cleanup, and --quiet removes the locks without a message" {
	complete "$WDRUN" -c pid.lock -cdir.lock ./script 'exit 0'
	[ "$status" -eq 0 ]
	both_are_gone

	complete "$WDRUN" -q "${both[@]}" ./script 'exit 3'
	[ "$status" -eq 3 ]
	both_are_gone
	[ -z "$stderr" ]
}

@test "the locks that a script removes itself are not reported" {
	complete "$WDRUN" "${both[@]}" ./script 'rm pid.lock; rmdir dir.lock'

	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
}

@test "the locks of a script that takes too long are removed" {
	complete_late "$WDRUN" -t LIMIT "${both[@]}" ./script 'sleep 1000'
	[ "$status" -eq 124 ]
	both_are_gone
	both_are_told

	complete_late "$WDRUN" -t LIMIT -k 200ms "${both[@]}" sh -c \
		'trap "" TERM; ./script "while :; do sleep 1000; done"'
	[ "$status" -eq 124 ]
	both_are_gone
	both_are_told
}

@test "a script that removes its locks when it is stopped has the time for it" {
	complete_late "$WDRUN" -t LIMIT -k never "${both[@]}" ./script \
		'trap "rm pid.lock; rmdir dir.lock; exit" TERM; echo "traps $$"
		while :; do sleep 0.05; done'
	grep -q traps out

	[ "$status" -eq 124 ]
	both_are_gone
	[[ $stderr != *--cleanup* ]]
}

@test "the locks of a script are removed when a signal ends it" {
	local signal
	for signal in INT TERM HUP; do
		start "$WDRUN" -k 100ms "${both[@]}" ./script 'sleep 1000 & wait'
		await_ready
		kill -s "$signal" "$started"
		finish
		[ "$status" -eq $((128 + $(kill -l "$signal"))) ]
		both_are_gone
		both_are_told
	done
}

@test "the locks of a script are removed when the front is killed" {
	local option
	for option in -t60 -i60 -v; do
		start "$WDRUN" "$option" "${both[@]}" ./script 'sleep 1000'
		await_ready
		kill -KILL "$started"
		finish
		[ "$status" -eq 137 ]
		wait_until both_are_gone
		wait_until nobody_is_left
	done
}

@test "the locks of a script are removed when the supervisor is killed" {
	local option
	for option in -t60 -i60 -v; do
		start "$WDRUN" "$option" "${both[@]}" ./script 'sleep 1000'
		await_ready
		kill -KILL "$(supervisor_of "$started")"
		finish
		[ "$status" -eq 137 ]
		both_are_gone
		both_are_told
	done
}

@test "the locks are there as long as one process of the tree is" {
	start "$WDRUN" -k never "${both[@]}" ./script \
		'"$PROGRAMS/escape" -x 0 fork setsid stubborn; sleep 1000'
	await_ready
	wait_until two_are_ready
	escapee=$(sed -n '2s/ready //p' out)

	kill -TERM "$started"
	wait_until is_dead "$ready"
	is_alive "$escapee"
	[ -f pid.lock ] && [ -d dir.lock ]

	kill -KILL "$escapee"
	finish
	both_are_gone
}

two_are_ready() {
	[ "$(grep -c ready out)" -eq 2 ]
}

# --- where the files are -----------------------------------------------------

@test "locks are found though the command goes elsewhere" {
	complete "$WDRUN" "${both[@]}" ./script 'cd /; exit 0'

	[ "$status" -eq 0 ]
	both_are_gone
}

@test "absolute names and names with directories work as relative ones do" {
	mkdir place
	complete "$WDRUN" -c "$PWD/pid.lock" -c ./dir.lock -c place/lock \
		-c place/../place/deep sh -c 'cd / && cd "$WDRUN_TEST" &&
			./script "echo \$\$ >place/lock; mkdir place/deep"'

	[ "$status" -eq 0 ]
	both_are_gone
	rmdir place
}

@test "a directory and a file in it are removed, in any order" {
	local command='mkdir d; echo $$ >d/pid'
	complete "$WDRUN" -c d -c d/pid sh -c "$command"
	[ "$status" -eq 0 ]
	[ ! -e d ]

	complete "$WDRUN" -c d/pid -c d sh -c "$command"
	[ "$status" -eq 0 ]
	[ ! -e d ]
}

@test "a file that is never made is no error" {
	complete "$WDRUN" -c lock -c no/such/lock -c "$PWD/file/x" sh -c \
		'exit 4'

	[ "$status" -eq 4 ]
	[ -z "$stderr" ]
}

@test "--cleanup does not change the status of what cannot be executed" {
	complete "$WDRUN" "${both[@]}" ./no-such-command
	[ "$status" -eq 127 ]
	complete "$WDRUN" "${both[@]}" /
	[ "$status" -eq 126 ]
}

@test "--cleanup of nothing, and of 17 files, is refused" {
	complete "$WDRUN" --cleanup= touch ran
	[ "$status" -eq 125 ]

	mapfile -t arguments < <(seq -f '--cleanup=c%g' 17)
	complete "$WDRUN" "${arguments[@]}" touch ran
	[ "$status" -eq 125 ]
	[ "$stderr" = "wdrun: --cleanup: 'c17' is not accepted: the option can be given 16 times at most" ]
	[ ! -e ran ]

	complete "$WDRUN" "${arguments[@]:0:16}" sh -c \
		'for i in $(seq 16); do echo $$ >c$i; done'
	[ "$status" -eq 0 ]
	[ -z "$(find . -name 'c[0-9]*')" ]
}

@test "one file may be the run's own lock and one to clean up" {
	complete "$WDRUN" --lock=lock --cleanup=lock true

	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[ ! -e lock ]
}

@test "one file may be named twice" {
	mkdir there
	complete "$WDRUN" --cleanup=there/made --cleanup="$PWD/made" \
		--cleanup=there/../there/made sh -c ': >there/made'

	[ "$status" -eq 0 ]
	[[ $stderr == "wdrun: --cleanup: removed '"*"/there/made', which the command left behind" ]]
	[ ! -e there/made ]
}

# --- what is in its way ------------------------------------------------------

@test "a file on a hung file system does not keep a signal from ending the start" {
	with_hung_fs 'hang_fs
		"$WDRUN" --lock="$PWD/run.lock" --cleanup="$PWD/mnt/other" \
			touch ran &
		until ! cmp -s /proc/$!/cmdline /proc/$$/cmdline; do
			sleep 0.02
		done
		sleep 0.2
		kill -TERM $!
		SECONDS=0
		while [ -e /proc/$!/fd/0 ]; do
			((SECONDS < 100)) || { echo hangs && break; }
			sleep 0.02
		done
		[ ! -e run.lock ] || flock -n run.lock true || echo held
		kill -KILL $server
		wait $!
		echo "status $?"'
	finish

	grep -qx 'status 143' out
	no grep -qx 'hangs\|held' out
	[ ! -e ran ]
	wait_until nobody_is_left
}

# Starts a run whose removal of files takes long, since strace delays each
# unlink. Sets helper to the process that removes the files, once it is at work.
start_slow_end() {
	need strace
	mkfifo go
	start "$WDRUN" --lock=lock "${both[@]}" ./script 'read -r _ <go; exit 3'
	await_ready
	await_watchers
	trace_supervisor -f --seccomp-bpf -o /dev/null -e trace=unlinkat \
		-e inject=unlinkat:delay_enter=1s 2>/dev/null
	echo >go
	wait_until has_helper
}

has_helper() {
	is_dead "$target" && helper=$(children_of "$supervisor") &&
		[[ $helper =~ ^[0-9]+$ ]] && [ "$helper" != "$target" ]
}

@test "what removes the files may be killed" {
	start_slow_end
	kill -KILL "$helper"
	finish
	wait "$tracer" || true

	[ "$status" -eq 3 ]
	both_are_gone
	[ ! -e lock ]
	both_are_told
}

@test "what removes the files may be stopped" {
	start_slow_end
	kill -STOP "$helper"
	finish
	wait "$tracer" || true

	[ "$status" -eq 3 ]
	both_are_gone
	[ ! -e lock ]
	both_are_told
}

# --- whose they are ----------------------------------------------------------

@test "a lock whose owner is alive outside of the run is not removed" {
	start_outsider
	echo "$outsider" >pid.lock
	cp pid.lock copy
	complete "$WDRUN" "${both[@]}" ./script 'exit 0'

	[ "$status" -eq 11 ]
	cmp pid.lock copy
	end_outsider
}

@test "a lock with the PID of a process outside of the run is not removed, whoever wrote it" {
	start_outsider
	complete "$WDRUN" -t 20 --cleanup=lock sh -c 'echo "$1" >lock' - \
		"$outsider"

	[ "$status" -eq 0 ]
	[ "$(cat lock)" = "$outsider" ]
	end_outsider
}

@test "a lock that a process outside has taken since is not removed" {
	start_outsider
	complete "$WDRUN" "${both[@]}" ./script 'rm pid.lock
		echo '"$outsider"' >pid.lock'

	[ "$status" -eq 0 ]
	[ "$(cat pid.lock)" = "$outsider" ]
	[ ! -e dir.lock ]
	end_outsider
}

@test "a lock that a process outside has flocked is not removed" {
	complete "$WDRUN" --cleanup=lock sh -c 'dead=$(sh -c "echo \$\$")
		echo "$dead" >lock'
	[ ! -e lock ]

	mkfifo go outside
	start "$WDRUN" --cleanup=lock sh -c 'sh -c "echo \$\$" >lock
		echo "ready $$"
		read -r _ <go'
	await_ready
	flock -o lock sh -c 'touch flocked; read -r _ <outside' 3>&- &
	outsider=$!
	wait_until test -e flocked
	echo >go
	finish

	[ "$status" -eq 0 ]
	[ -e lock ]
	echo >outside
	wait "$outsider"
}

@test "a process that got the PID of the script does not keep its lock" {
	start_outsider
	complete "$WDRUN" --cleanup=lock sh -c 'echo "$1" >lock
		touch -d "1 hour ago" lock' - "$outsider"

	[ "$status" -eq 0 ]
	[ ! -e lock ]
	is_alive "$outsider"
	end_outsider
}

@test "the stale PID lock of an earlier script is removed" {
	dead_pid >lock
	complete "$WDRUN" --cleanup=lock true

	[ "$status" -eq 0 ]
	[ ! -e lock ]
}

@test "a lock that names a watcher, as the parent of the script, is removed" {
	complete "$WDRUN" --cleanup=lock sh -c 'echo $PPID >lock'

	[ "$status" -eq 0 ]
	[ ! -e lock ]
}

@test "a file without a PID that the run made is removed" {
	local content
	for content in '' 'locked by Ann' 'host 4711 now'; do
		complete "$WDRUN" --cleanup=lock sh -c 'printf %s "$1" >lock' \
			- "$content"
		[ "$status" -eq 0 ]
		[ ! -e lock ]
	done
}

@test "a file without a PID that was there before is left untouched" {
	local content
	for content in '' important '0' '-5' '99999999999' '1 2'; do
		printf %s "$content" >lock
		cp lock copy
		complete "$WDRUN" --cleanup=lock touch ran
		[ "$status" -eq 0 ]
		cmp lock copy

		complete "$WDRUN" --cleanup=lock touch lock
		cmp lock copy
	done
}

@test "a directory that was there before is left" {
	mkdir lock
	complete "$WDRUN" --cleanup=lock sh -c 'mkdir lock 2>/dev/null'

	[ "$status" -eq 1 ]
	[ -d lock ]
}

@test "files that were there before are left where birth times are not known" {
	need_mounts
	mkdir place
	complete unshare --mount sh -c 'mount -t ramfs none place && cd place &&
		mkdir lock && : >file && sleep 0.1 &&
		"$WDRUN" -c lock -c file sh -c "touch lock; chmod 600 file" &&
		ls'

	[ "$status" -eq 0 ]
	[ "$output" = $'file\nlock' ]
}

@test "a directory that is not empty is left, and that is told" {
	complete "$WDRUN" --cleanup=lock sh -c 'mkdir lock; echo $$ >lock/pid'

	[ "$status" -eq 0 ]
	[ -s lock/pid ]
	left_is_told lock
}

@test "a symbolic link is left with its target, and reported" {
	local to
	dead_pid >stale
	cp stale copy
	mkdir empty
	for to in stale empty nothing 4711; do
		complete "$WDRUN" --cleanup=lock ln -s "$to" lock
		[ "$status" -eq 0 ]
		[ -L lock ]
		left_is_told lock
		rm lock
	done
	cmp stale copy
	[ -d empty ]
}

@test "a FIFO, a socket and a device are left and reported, and nothing hangs" {
	need_root
	need python3
	complete "$WDRUN" --cleanup=fifo mkfifo fifo
	[ "$status" -eq 0 ]
	[ -p fifo ]
	left_is_told fifo

	complete "$WDRUN" --cleanup=socket python3 -c \
		'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
	[ "$status" -eq 0 ]
	[ -S socket ]
	left_is_told socket

	# The test makes its own device: if wdrun were wrong, root would remove
	# the machine's.
	complete "$WDRUN" --cleanup=null mknod null c 1 3
	[ "$status" -eq 0 ]
	[ -c null ]
	left_is_told null
}

@test "a huge file that the run made hangs nothing, and changes no status" {
	complete "$WDRUN" --cleanup=lock sh -c 'truncate -s 8G lock; exit 6'

	[ "$status" -eq 6 ]
}

@test "another user's lock is not touched in a sticky directory" {
	need_root
	mkdir sticky
	chmod 1777 sticky
	: >sticky/lock
	chown 65534 sticky/lock
	complete "$WDRUN" --cleanup=sticky/lock true

	[ "$status" -eq 0 ]
	[ -e sticky/lock ]
}

# --- several runs ------------------------------------------------------------

# 20 runs at once of a script that polls for the lock. Some of the scripts that
# get the lock are killed, and some forget to remove it.
@test "20 runs at once of a script with an mkdir lock never overlap, and it is gone at the end" {
	local -
	set +T
	local i pids=()
	cat >poller <<-'END'
		#!/bin/bash
		# Runs mkdir(1) only where it can succeed, and waits without a
		# fork.
		for ((i = 0; i < 400; i++)); do
			[ ! -d dir.lock ] && mkdir dir.lock 2>/dev/null && break
			read -rt 0.01 <>never
		done
		((i < 400)) || exit 1
		echo "enter $$" >>log
		for i in {1..20}; do : >>log; done
		echo "leave $$" >>log
		[ "$1" != forgets ] || exit 0
		[ "$1" != dies ] || kill -KILL $$
		rmdir dir.lock
	END
	chmod +x poller
	mkfifo never
	: >log
	for ((i = 1; i <= 20; i++)); do
		case $i in
		7) how=forgets ;;
		14) how=dies ;;
		*) how=removes ;;
		esac
		"$WDRUN" --cleanup=dir.lock ./poller "$how" 2>>errors 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || true
	done

	awk 'NR % 2 == 1 && $1 != "enter" { exit bad = 1 }
		NR % 2 == 0 && ($1 != "leave" || $2 != pid) { exit bad = 1 }
		{ pid = $2 }
		END { exit bad || NR < 2 || NR % 2 == 1 }' log
	[ ! -e dir.lock ]
	[ ! -s errors ] || grep -q "removed '.*dir.lock'" errors
}

@test "a run does not remove the locks of an earlier run that goes on" {
	mkfifo go
	start "$WDRUN" "${both[@]}" ./script 'read -r _ <go'
	await_ready
	begin second "$WDRUN" "${both[@]}" ./script
	end "$begun"
	[ "$status" -eq 11 ]
	begin third "$WDRUN" "${both[@]}" true
	end "$begun"
	[ "$status" -eq 0 ]

	[ "$(cat pid.lock)" = "$ready" ]
	[ -d dir.lock ]
	[ ! -s third.err ]

	echo >go
	finish
	both_are_gone
	both_are_told
}

# are_claimed COUNT: so many runs have a lock on a range of bytes of this
# directory, which says that they may make a file here.
are_claimed() {
	[ "$(grep -c "OFDLCK .*:$(stat -c %i .) " /proc/locks)" -ge "$1" ]
}

@test "a run that is about to start does not make another run leave its lock" {
	local second
	need strace
	mkfifo go
	start "$WDRUN" --cleanup=dir.lock sh -c 'echo "ready $$"
		read -r _ <go; mkdir dir.lock'
	await_ready
	strace -qq -o /dev/null -e trace=fcntl -e inject=fcntl:delay_exit=300000 \
		"$WDRUN" --cleanup=dir.lock sh -c \
		'until [ -e over ]; do sleep 0.05; done' 3>&- &
	second=$!

	wait_until are_claimed 2
	echo >go
	finish
	: >over
	wait "$second"
	[ ! -e dir.lock ]
}

@test "a run that has already looked at its files does not make another run leave its lock" {
	local first
	need strace
	mkfifo go
	start "$WDRUN" --cleanup=dir.lock sh -c 'echo "ready $$"
		read -r _ <go; mkdir dir.lock'
	await_ready
	# The command exits first, then the process that looked at the files.
	: >trace
	strace -f -qq -o trace -e trace=exit_group \
		-e inject=exit_group:delay_enter=500000 \
		"$WDRUN" --cleanup=dir.lock true 3>&- &
	first=$!

	wait_until have_exited 2
	echo >go
	finish
	wait "$first"
	[ ! -e dir.lock ]
}

have_exited() {
	[ "$(grep -sc exit_group trace)" -ge "$1" ]
}

@test "a run that started before the lock was made does not remove another run's lock" {
	mkfifo over go
	begin waiter "$WDRUN" "${both[@]}" sh -c 'echo "ready $$"
		read -r _ <over'
	waiter=$begun
	await_ready waiter.out
	start "$WDRUN" "${both[@]}" ./script 'read -r _ <go'
	await_ready

	echo >over
	end "$waiter"
	[ "$status" -eq 0 ]
	[ "$(cat pid.lock)" = "$ready" ]
	[ -d dir.lock ]

	echo >go
	finish
	both_are_gone
}

# lock_outlives_a_waiting_run LOCK COMMAND [NAME]: one run waits and names the
# lock as NAME (default: LOCK). Another run makes LOCK by COMMAND. The end of
# the first run leaves the lock of the second run, which goes on.
lock_outlives_a_waiting_run() {
	local lock=$1 command=$2 name=${3-$1}
	[ -p go ] || mkfifo over go
	begin waiter "$WDRUN" --cleanup="$name" sh -c 'echo "ready $$"
		read -r _ <over'
	waiter=$begun
	await_ready waiter.out
	start "$WDRUN" --cleanup="$lock" sh -c "$command"'; echo "ready $$"
		read -r _ <go'
	await_ready

	echo >over
	end "$waiter"
	[ "$status" -eq 0 ]
	[ -e "$lock" ] || return

	echo >go
	finish
	[ ! -e "$lock" ]
}

@test "the lock of a run that goes on is left, also where its directory was made later" {
	lock_outlives_a_waiting_run place/lock 'mkdir place place/lock'
	rmdir place
	lock_outlives_a_waiting_run place/lock 'mkdir place; : >place/lock'
}

@test "the lock of a run that goes on is left, also where its name ends in a slash" {
	lock_outlives_a_waiting_run lock/ 'mkdir lock'
	lock_outlives_a_waiting_run lock// 'mkdir lock'
}

@test "the lock of a run that goes on is left, also where the other run spells its name differently" {
	local name
	for name in place//lock ./place/./lock place/lock/.; do
		lock_outlives_a_waiting_run place/lock 'mkdir place place/lock' \
			"$name"
		rmdir place
	done
}

# The directory cannot be read by its owner. Root reads it all the same, and
# another user would not reach the directory of the test, so the test drops the
# capabilities of root.
@test "the lock of a run that goes on is left, also where its directory cannot be read" {
	need_root
	mkdir -m 0300 place
	mkfifo over go
	begin waiter setpriv --bounding-set -dac_override,-dac_read_search \
		"$WDRUN" --cleanup=place/lock sh -c 'echo "ready $$"
			ls place && exit 1
			read -r _ <over'
	waiter=$begun
	await_ready waiter.out
	start "$WDRUN" --cleanup=place/lock sh -c 'mkdir place/lock
		echo "ready $$"
		read -r _ <go'
	await_ready

	echo >over
	end "$waiter"
	[ "$status" -eq 0 ]
	[ -d place/lock ]

	echo >go
	finish
	[ ! -e place/lock ]
}

@test "the lock of a run that goes on is left, also where birth times are not known" {
	# Makes the lock again and again until it has the inode number of the
	# earlier one, where the file system reuses numbers.
	cat >take <<-'END'
		#!/bin/sh
		until mkdir lock 2>/dev/null; do sleep 0.02; done
		for i in 1 2 3 4 5 6 7 8 9; do
			[ "$(stat -c %i lock)" != "$1" ] || break
			rmdir lock
			mkdir lock
		done
	END
	chmod +x take
	mkfifo over go
	begin waiter "$PROGRAMS/deny" statx -- "$WDRUN" --cleanup=lock sh -c \
		'echo "ready $$"; read -r _ <over'
	waiter=$begun
	await_ready waiter.out
	mkdir lock # as a process outside of the run
	start "$PROGRAMS/deny" statx -- "$WDRUN" --cleanup=lock sh -c \
		'echo "polls $$"; ./take "$1"; echo "ready $$"
		read -r _ <go' - "$(stat -c %i lock)"
	wait_until grep -q polls out
	rmdir lock
	await_ready

	echo >over
	end "$waiter"
	[ "$status" -eq 0 ]
	[ -d lock ]

	# Without a birth time, wdrun cannot see that this directory is not the
	# earlier one.
	echo >go
	finish
	[ "$status" -eq 0 ]
}

@test "the last of overlapping runs removes the lock that one of them left" {
	mkfifo over go
	begin waiter "$WDRUN" "${both[@]}" sh -c 'echo "ready $$"
		read -r _ <over'
	waiter=$begun
	await_ready waiter.out
	complete "$WDRUN" "${both[@]}" ./script 'exit 0'
	[ "$status" -eq 0 ]
	[ ! -e pid.lock ]

	echo >over
	end "$waiter"
	[ "$status" -eq 0 ]
	both_are_gone
}

# ends_at_once ROUNDS RUNS COMMAND: in each of ROUNDS rounds, RUNS runs of
# COMMAND end together.
ends_at_once() {
	local -
	set +T
	local i j pids
	mkfifo go
	exec 7<>go
	for ((i = 0; i < $1; i++)); do
		pids=()
		: >ready
		for ((j = 0; j < $2; j++)); do
			"$WDRUN" --cleanup=lock sh -c "$3"'
				echo ready >>ready
				read -r _ <go' 2>/dev/null 3>&- 7>&- &
			pids+=($!)
		done
		wait_until all_are_ready "$2"
		# One byte wakes one of the runs.
		printf '%*s' "$2" '' | tr ' ' '\n' >&7
		wait "${pids[@]}"
		[ ! -e lock ]
	done
	exec 7>&-
}

all_are_ready() {
	local lines
	mapfile -t lines <ready
	((${#lines[@]} == $1))
}

@test "of runs that end at the same time, one removes the lock" {
	ends_at_once 20 8 'mkdir lock 2>/dev/null'
}

@test "of runs that end at the same time, one removes the file" {
	ends_at_once 5 4 ': >lock'
}

# The end of the first run is held up (strace) between its look at the file and
# the removal. Meanwhile another process removes the file, and a second run
# makes its own.
@test "a run that finds its file gone and another run's in its place leaves that" {
	local make place looks tracer second
	need strace
	mkfifo go over
	place=${PWD//[!\/]/}
	looks=$((${#place} + 2)) # by fcntl: at each directory, and before
	for make in 'mkdir lock' 'set -C; : >lock'; do
		start "$WDRUN" --cleanup=lock sh -c "$make"'
			echo "ready $$"; read -r _ <go'
		await_ready
		await_watchers
		begin second "$WDRUN" --cleanup=lock sh -c \
			"until ($make) 2>/dev/null; do sleep 0.02; done"'
			echo "ready $$"; read -r _ <over'
		second=$begun
		: >trace
		trace_supervisor -f --seccomp-bpf -o trace -e trace=fcntl \
			-e inject=fcntl:delay_exit=2s:when="$looks+" 2>/dev/null
		echo >go
		wait_until have_looked "$looks"
		rm -r lock
		await_ready second.out
		finish
		wait "$tracer" || true

		[ "$status" -eq 0 ]
		[ -e lock ]
		echo >over
		end "$second"
		[ ! -e lock ]
	done
}

have_looked() {
	[ "$(grep -c fcntl trace)" -ge "$1" ]
}

@test "a run that polls for the lock of a script outside does not remove it" {
	mkfifo go
	begin outside ./script 'read -r _ <go; rm pid.lock; rmdir dir.lock'
	outside=$begun
	await_ready outside.out
	complete_late "$WDRUN" -t LIMIT "${both[@]}" sh -c '
		mkdir dir.lock 2>/dev/null || echo "ready $$"
		until mkdir dir.lock 2>/dev/null; do sleep 0.05; done'
	read -r _ ready <outside.out

	[ "$status" -eq 124 ]
	[ "$(cat pid.lock)" = "$ready" ]
	[ -d dir.lock ]
	echo >go
	end "$outside"
	[ "$status" -eq 0 ]
}

# --- survivors ---------------------------------------------------------------

@test "--survivors=leave: what a living survivor owns stays" {
	complete "$WDRUN" --survivors=leave -c lock -c dead -c gone sh -c '
		echo $$ >dead
		echo $$ >gone
		"$PROGRAMS/escape" -x 0 fork setsid'
	[ "$status" -eq 0 ]
	[ ! -e dead ] && [ ! -e gone ]
	end_leftovers

	complete "$WDRUN" --survivors=leave -c lock -c dead sh -c '
		echo $$ >dead
		sleep 1000 >/dev/null 2>&1 & echo $! >lock'
	[ "$status" -eq 0 ]
	[ ! -e dead ]
	is_alive "$(cat lock)"
	end_leftovers
}

@test "--survivors=leave: what a living survivor may own stays" {
	complete "$WDRUN" --survivors=leave -c lock -c file sh -c '
		mkdir lock
		: >file
		sleep 1000 >/dev/null 2>&1 &'

	[ "$status" -eq 0 ]
	[ -d lock ] && [ -e file ]
	end_leftovers
}

@test "the lock of a survivor that is killed is removed" {
	complete "$WDRUN" --idle-after-exit=200ms -c lock sh -c '
		setsid sleep 1000 & echo $! >lock'

	[ "$status" -eq 0 ]
	nobody_is_left
	[ ! -e lock ]
}

# --- the incident, to its end ------------------------------------------------

# The script of incident.bats: jq takes `echo` and its text for two more input
# files, and opens the first one, a FIFO that no process writes.
write_incident() {
	mkfifo requests
	cat >review-poll.sh <<-'END'
		if [ -f review.lock ] && kill -0 "$(cat review.lock)"; then
			echo "busy"
			exit 0
		fi
		echo $$ >review.lock
		if [ -p requests ]; then
			jq .id requests >ids.json echo "ids written"
		fi
		echo "reviewed"
		rm review.lock
	END
}

@test "the incident without wdrun: no later poll ever runs" {
	need jq
	write_incident
	begin first bash review-poll.sh
	wait_until test -s review.lock
	wait_until runs_jq "$begun"

	complete bash review-poll.sh
	[ "$output" = busy ]
	kill -KILL "$(children_of "$begun")" "$begun"
	wait "$begun" || true
}

runs_jq() {
	local pid name=''
	pid=$(children_of "$1") && { read -r name <"/proc/$pid/comm"; } 2>/dev/null
	[ "$name" = jq ]
}

# Succeeds if the script got to the jq line that hangs before $limit was over.
hangs_in_jq() {
	rm -f review.lock ids.json
	complete "$WDRUN" -t "$limit" --cleanup review.lock bash review-poll.sh
	[ -e ids.json ]
}

@test "the incident to its end: the lock is gone, and the next poll runs" {
	need jq
	write_incident
	with_more_time hangs_in_jq
	[ "$status" -eq 124 ]
	nobody_is_left
	[ ! -e review.lock ]
	only_messages

	rm requests
	complete "$WDRUN" -t 20 --cleanup review.lock bash review-poll.sh
	[ "$status" -eq 0 ]
	[ "$output" = reviewed ]
	[ ! -e review.lock ]
	[ -z "$stderr" ]
}
