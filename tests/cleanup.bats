#!/usr/bin/env bats
#
# Promise 5: --cleanup. The locks that a script makes for itself do not outlive
# the script, on any way out, and no other locks are touched.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load locks

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
	mkfifo go over
	both=(--cleanup=pid.lock --cleanup=dir.lock)
}

both_are_there() {
	[ -f pid.lock ]
	[ -d dir.lock ]
}

both_are_gone() {
	[ ! -e pid.lock ] && [ ! -e dir.lock ]
}

# The same, and that they were removed is told.
both_are_removed() {
	both_are_gone
	only_messages
	has_message --cleanup pid.lock
	has_message --cleanup dir.lock
}

# cleans_up COMMAND [ARG]...: a run with --cleanup=lock ends by itself, and the
# lock is gone.
cleans_up() {
	complete "$WDRUN" --cleanup=lock "$@"

	[ "$status" -eq 0 ]
	[ ! -e lock ]
}

# leaves COMMAND [ARG]...: it ends by itself, and the lock is still there.
leaves() {
	complete "$WDRUN" --cleanup=lock "$@"

	[ "$status" -eq 0 ]
	[ -e lock ] || [ -L lock ]
}

# leaves_and_tells COMMAND [ARG]...: the same, and one line says so.
leaves_and_tells() {
	leaves "$@"
	[ "$(wc -l <err)" -eq 1 ]
	has_message --cleanup lock
}

# ends_well: the run that holds is over, with status 0.
ends_well() {
	wait_until is_dead "$holder"
	wait "$holder"
}

# --- every way out -----------------------------------------------------------

# bats test_tags=smoke
@test "the locks of a script are removed at its end, which is told, and its status stands" {
	ends 0 "${both[@]}" ./script 'exit 0'
	both_are_removed
	[ "$(wc -l <err)" -eq 2 ]

	ends 3 -c pid.lock -cdir.lock ./script 'exit 3'
	both_are_removed

	ends 137 "${both[@]}" ./script 'kill -KILL $$'
	both_are_removed

	ends 3 -q "${both[@]}" ./script 'exit 3'
	both_are_gone
	[ ! -s err ]
}

@test "locks that the script removes itself, or never makes, are not told, and without --cleanup they stay" {
	ends 0 "${both[@]}" ./script 'rm pid.lock; rmdir dir.lock'
	[ ! -s err ]

	ends 4 "${both[@]}" -c no/such/lock sh -c 'exit 4'
	[ ! -s err ]
	ends 127 "${both[@]}" ./no-such-command
	ends 126 "${both[@]}" /

	ends 0 ./script 'exit 0'
	both_are_there
}

# bats test_tags=smoke
@test "the locks of a script that takes too long are removed, and the next one is not kept out" {
	complete_late "$WDRUN" -t LIMIT "${both[@]}" ./script 'sleep 1000'
	[ "$status" -eq 124 ]
	both_are_removed

	complete_late "$WDRUN" -t LIMIT -k 200ms "${both[@]}" sh -c \
		'trap "" TERM; ./script "while :; do sleep 1000; done"'
	[ "$status" -eq 124 ]
	both_are_removed

	complete ./script 'exit 3'
	[ "$status" -eq 3 ]
}

@test "a script that removes its locks when it is stopped has the time for it" {
	start "$WDRUN" -k never "${both[@]}" ./script \
		'trap "sleep 0.1; rm pid.lock; rmdir dir.lock; exit 5" TERM
		echo traps; while :; do sleep 0.02; done'
	wait_until grep -qx traps out
	kill -TERM "$started"
	finish

	[ "$status" -eq 5 ]
	both_are_gone
	no has_message --cleanup
}

@test "the locks of a script are removed when a signal ends the run" {
	local signal
	for signal in INT TERM HUP; do
		start "$WDRUN" -k 100ms "${both[@]}" ./script 'sleep 1000 & wait'
		await_ready
		kill -s "$signal" "$started"
		finish
		[ "$status" -eq $((128 + $(kill -l "$signal"))) ]
		both_are_removed
	done
}

# bats test_tags=smoke,tree
@test "the locks of a script are removed when the front or the supervisor is killed" {
	local option
	for option in -t1000 -i1000 -v; do
		hold "$WDRUN" "$option" "${both[@]}" ./script 'sleep 1000'
		kill -KILL "$holder"
		wait_until both_are_gone
		wait_until nobody_is_left
		wait "$holder" || true

		hold "$WDRUN" "$option" "${both[@]}" ./script 'sleep 1000'
		kill -KILL "$(supervisor_above "$held_by" "$holder")"
		wait_until is_dead "$holder"
		both_are_gone
		wait "$holder" || true
	done
}

@test "the locks are there as long as one process of the tree is" {
	start "$WDRUN" -k never "${both[@]}" ./script \
		'"$PROGRAMS/escape" -x 0 fork setsid stubborn >escapee
		sleep 1000'
	await_ready escapee
	escapee=$ready
	await_ready

	kill -TERM "$started"
	wait_until is_dead "$ready"
	is_alive "$escapee"
	both_are_there

	kill -KILL "$escapee"
	finish
	both_are_removed
}

# --- which files -------------------------------------------------------------

@test "files are found wherever the command goes, under any name, in any order, and however often named" {
	local order
	mkdir place
	ends 0 -c "$PWD/pid.lock" -c ./dir.lock -c place/../place/lock \
		-c place/deep -c place -c place/deep/../lock \
		sh -c './script "echo \$\$ >place/lock; mkdir place/deep; cd /"'
	both_are_removed
	rmdir place # it was there before, and is empty now

	for order in '-c d -c d/pid' '-c d/pid -c d -c ./d'; do
		# shellcheck disable=SC2086
		ends 0 $order sh -c 'mkdir d; echo $$ >d/pid; cd /'
		[ "$(wc -l <err)" -eq 2 ]
		[ ! -e d ]
	done

	# The run's own lock, too.
	cleans_up --lock=lock true
	[ ! -s err ]
}

# --- whose they are ----------------------------------------------------------

# bats test_tags=smoke
@test "a lock with the PID of a living process outside of the run is left, whoever wrote it, and when" {
	hold "$PROGRAMS/sigcount" # a process outside of all runs
	echo "$held_by" >lock
	leaves true
	rm lock
	leaves sh -c 'echo "$1" >lock' - "$held_by"
	rm lock
	leaves sh -c 'echo $$ >lock; rm lock; echo "$1" >lock' - "$held_by"
	[ "$(cat lock)" = "$held_by" ]
	release
}

@test "a lock that a process outside of the run has flocked is left" {
	start "$WDRUN" --cleanup=lock sh -c 'echo "ready $$"; read -r _ <go'
	await_ready
	hold_by_flock
	dead_pid >lock
	echo >go
	finish
	[ "$status" -eq 0 ]
	[ -e lock ]
	release
}

# bats test_tags=smoke
@test "a lock with a dead PID, one that now belongs to another process, or a watcher's is removed" {
	dead_pid >lock
	cleans_up true
	cleans_up sh -c 'echo $PPID >lock'

	hold "$PROGRAMS/sigcount" # a process outside of all runs
	cleans_up sh -c 'echo "$1" >lock; touch -d "1 hour ago" lock' - \
		"$held_by"
	is_alive "$held_by"
	release
}

@test "a file without a PID is removed if the run made it, and untouched if it was there before" {
	local content
	for content in '' 'locked by Ann' 'host 4711 now'; do
		cleans_up sh -c 'printf %s "$1" >lock' - "$content"
	done
	ends 6 --cleanup=huge sh -c 'truncate -s 8G huge; exit 6'
	rm -f huge

	for content in '' important '0' '-5' '99999999999' '1 2'; do
		printf %s "$content" >lock
		cp lock copy
		leaves touch ran
		leaves touch lock
		cmp lock copy
	done
	[ ! -s err ]
}

@test "a directory is removed if the run made it and it is empty, else left" {
	cleans_up mkdir lock
	leaves_and_tells sh -c 'mkdir lock; echo $$ >lock/pid'
	[ -s lock/pid ]
	rm lock/pid
	leaves sh -c '! mkdir lock 2>/dev/null'
	[ -d lock ]
	[ ! -s err ]
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

@test "symbolic links and FIFOs are left, their targets too, and that is told" {
	local to
	dead_pid >stale
	cp stale copy
	mkdir empty
	for to in stale empty nothing 4711; do
		leaves_and_tells ln -s "$to" lock
		[ -L lock ]
		rm lock
	done
	leaves_and_tells mkfifo lock
	[ -p lock ]
	cmp stale copy
	[ -d empty ]
}

# The test makes its own device: if wdrun were wrong, root would remove the
# machine's.
@test "sockets, devices, and another user's file in a sticky directory are left" {
	need_root
	need python3
	leaves_and_tells python3 -c \
		'import socket; socket.socket(socket.AF_UNIX).bind("lock")'
	[ -S lock ]
	rm lock
	leaves_and_tells mknod lock c 1 3
	[ -c lock ]

	mkdir -m 1777 sticky
	dead_pid >sticky/lock
	chown 65534 sticky/lock
	ends 0 --cleanup=sticky/lock true
	[ -e sticky/lock ]
}

# with_command COMMAND: it changes the directory A/app of the lock.
with_command() {
	mkdir -p A/app
	ends 0 --cleanup=A/app/lock sh -c "$1"
}

@test "no link that has come into the path since the start is followed, but a new directory is looked into" {
	local command
	mkdir victim
	dead_pid >victim/lock
	cp victim/lock copy
	for command in 'rmdir A/app; ln -s ../victim A/app' \
		'echo $$ >A/app/lock; mv A/app A/moved; ln -s ../victim A/app'; do
		with_command "$command"
		[ -L A/app ]
		cmp victim/lock copy
		rm -r A
	done

	mkdir A
	ends 0 --cleanup=A/app/lock ln -s ../victim A/app
	has_message --cleanup A/app/lock
	cmp victim/lock copy
	rm -r A

	with_command 'rmdir A/app; mkdir A/app; : >A/app/lock'
	[ ! -e A/app/lock ]
}

# --- several runs ------------------------------------------------------------

# The fourth script that gets the lock is killed. As long as others may have made
# the lock, it stays: they give up, and the last of them removes it.
@test "runs at once of a script with an mkdir lock never overlap, and it is gone at the end" {
	cat >inside <<-'END'
		#!/bin/bash
		until mkdir dir.lock 2>/dev/null; do
			[ ! -e give-up ] || exit 1
			read -rt 0.02 <>go
		done
		echo "enter $$" >>log
		read -rt 0.02 <>go
		echo "leave $$" >>log
		(($(wc -l <log) < 8)) || { : >give-up; kill -KILL $$; }
		rmdir dir.lock
	END
	chmod +x inside
	begin_runs 8 -t 1000 --cleanup=dir.lock
	end_runs

	[[ $statuses == *' 137:'* ]]
	[ ! -e dir.lock ]
	alternate $((8 - $(grep -cx 1 ended)))
}

# bats test_tags=smoke
@test "a run leaves the locks of another run that goes on, whichever began first" {
	# A run that is there before the locks are made.
	hold "$WDRUN" "${both[@]}" sh -c 'echo "ready $$"; read -r _ <over'
	start "$WDRUN" "${both[@]}" ./script 'read -r _ <go'
	await_ready
	echo >over
	ends_well
	both_are_there

	# Runs that begin later.
	run -11 "$WDRUN" "${both[@]}" ./script
	run -0 "$WDRUN" "${both[@]}" true
	[ -z "$output" ]
	both_are_there

	echo >go
	finish
	[ "$status" -eq 0 ]
	both_are_removed
}

@test "the last of overlapping runs removes the lock that one of them left" {
	hold "$WDRUN" "${both[@]}" sh -c 'echo "ready $$"; read -r _ <over'
	ends 0 "${both[@]}" ./script 'exit 0'
	[ ! -e pid.lock ]

	echo >over
	ends_well
	both_are_gone
}

@test "a run that polls for the lock of a script outside does not remove it" {
	hold ./script 'read -r _ <go; rm pid.lock; rmdir dir.lock'
	complete_late "$WDRUN" -t LIMIT "${both[@]}" sh -c '
		mkdir dir.lock 2>/dev/null || echo "ready $$"
		until mkdir dir.lock 2>/dev/null; do sleep 0.05; done'

	[ "$status" -eq 124 ]
	[ "$(cat pid.lock)" = "$held_by" ]
	[ -d dir.lock ]
	echo >go
	ends_well
}

# --- survivors ---------------------------------------------------------------

@test "--survivors=leave: what a living survivor owns or may own stays, and what nobody owns goes" {
	complete "$WDRUN" --survivors=leave -c lock -c dead sh -c 'echo $$ >dead
		sleep 1000 >/dev/null 2>&1 & echo $! >lock'
	[ "$status" -eq 0 ]
	[ ! -e dead ]
	is_alive "$(cat lock)"
	end_leftovers

	complete "$WDRUN" --survivors=leave -c dir.lock -c file sh -c '
		mkdir dir.lock; : >file; sleep 1000 >/dev/null 2>&1 &'
	[ "$status" -eq 0 ]
	[ -d dir.lock ]
	[ -e file ]
	end_leftovers

	# One that is killed owns nothing.
	rm lock
	cleans_up --idle-after-exit=200ms sh -c 'setsid sleep 1000 & echo $! >lock'
}
