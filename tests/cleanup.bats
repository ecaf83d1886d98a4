#!/usr/bin/env bats
#
# Promise 5: --cleanup. The locks that a script makes for itself do not outlive
# the script, on any way out, and no other locks are touched.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load locks

both=(--cleanup=pid.lock --cleanup=dir.lock)

# A program that does the same, and lives on beside a daemon and a session.
litter=("$PROGRAMS/act" any lock=pid.lock dir=dir.lock session daemon ready live)

# The beginning of a script that takes a PID lock and an mkdir lock, and never
# removes them.
script='echo $$ >pid.lock; mkdir dir.lock; '

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
	ends 0 --cleanup=lock "$@"
	[ ! -e lock ]
}

# leaves COMMAND [ARG]...: it ends by itself, and the lock is still there.
leaves() {
	ends 0 --cleanup=lock "$@"
	[ -e lock ]
}

# --- every way out -----------------------------------------------------------

# bats test_tags=smoke
@test "the locks that a script leaves are removed when it ends, is stopped, or a signal ends it, which is told, its status stands, and without --cleanup they stay" {
	ends 0 "${both[@]}" sh -c "$script"
	both_are_removed
	has_line_count 2 err

	ends 137 -c pid.lock -cdir.lock sh -c "$script"'kill -KILL $$'
	both_are_removed

	ends 0 -u ready --until-grace=0 -k 100ms "${both[@]}" \
		"${litter[@]}"
	both_are_removed

	ends 143 -l run "${both[@]}" sh -c "$script"'kill "$(cat run)"; exec sleep 1000'
	both_are_removed

	ends 3 -q "${both[@]}" sh -c "$script"'exit 3'
	both_are_gone
	[ ! -s err ]

	# The script removes them itself, or never makes them.
	ends 0 "${both[@]}" sh -c "$script"'rmdir dir.lock; exec rm pid.lock'
	[ ! -s err ]
	ends 4 "${both[@]}" -c no/such/lock sh -c 'exit 4'
	[ ! -s err ]
	ends 127 "${both[@]}" ./no-such-command
	ends 126 "${both[@]}" /

	ends 0 sh -c "$script"
	both_are_there
}

# bats test_tags=smoke,tree
@test "the locks of a script are there as long as one process of the tree is, and removed when the front or the supervisor is killed" {
	local watcher
	for watcher in front supervisor ready; do
		start "$WDRUN" "${both[@]}" --survivors=wait sh -c \
			"$script"'exec "$PROGRAMS/escape" -x 0 fork setsid stubborn'
		await_ready
		# shellcheck disable=SC2034 # for find_watchers
		front=$started
		find_watchers
		wait_until is_dead "$(<pid.lock)"
		both_are_there
		kill -KILL "${!watcher}"
		finish
		wait_until nobody_is_left
		both_are_removed
	done
}

# --- which files -------------------------------------------------------------

@test "files are found wherever the command goes, under any name, in any order, and however often named" {
	mkdir place
	ends 0 -c "$PWD/pid.lock" -c ./dir.lock -c place/../place/lock \
		-c place/deep -c place -c place/deep/../lock \
		-c d -c d/pid -c e/pid -c e -c ./e sh -c "$script"'
		mkdir place/deep d e
		for lock in place/lock d/pid e/pid; do echo $$ >$lock; done
		cd /'
	both_are_removed
	is_none d e 'place/*'
	has_line_count 8 err
	[ -d place ] # it was there before, and is empty now

	# The run's own lock, too.
	cleans_up --lock=lock true
	[ ! -s err ]
}

# --- whose they are ----------------------------------------------------------

# bats test_tags=slow
@test "a lock with the PID of a living process outside of the run, or with its flock, is left, whoever wrote it, and when" {
	hold "$PROGRAMS/sigcount" # a process outside of all runs
	echo "$held_by" >lock
	leaves true
	rm lock
	leaves sh -c 'echo $$ >lock; echo "$1" >lock' - "$held_by"
	is_in lock "$held_by"

	# Another process has got the PID later.
	cleans_up sh -c 'echo "$1" >lock; exec touch -d "1 hour ago" lock' - \
		"$held_by"
	is_alive "$held_by"
	release

	hold_by_flock
	dead_pid >lock
	leaves true
	release
}

@test "a lock with a dead PID, a file without one, or an empty directory is removed if it is the run's, and untouched if it was there before" {
	local contents=('' important '1 2') i
	dead_pid >lock # this tells whose it is
	cleans_up true
	cleans_up sh -c 'echo $PPID >lock' # a watcher's
	ends 0 --cleanup=made{1..4} sh -c ':>made1; printf "locked by Ann" >made2
		printf "host 4711 now" >made3; exec truncate -s 8G made4'
	is_none 'made*'

	for i in 0 1 2; do printf %s "${contents[i]}" >"before$i"; done
	mkdir place
	ends 0 --cleanup={before{0..2},place} touch before{0..2} place
	for i in 0 1 2; do is_in "before$i" "${contents[i]}"; done
	[ -d place ]
	[ ! -s err ]

	cleans_up mkdir lock
	leaves sh -c 'mkdir lock; echo $$ >lock/pid'
	has_line_count 1 err
	has_message --cleanup lock
	[ -s lock/pid ]
}

# bats test_tags=slow
@test "files that were there before are left where birth times are not known" {
	need_mounts
	mkdir place
	complete unshare --mount sh -c 'mount -t ramfs none place && cd place &&
		mkdir lock && : >file && sleep 0.1 &&
		"$WDRUN" -c lock -c file sh -c "touch lock; exec chmod 600 file" &&
		echo *'

	[ "$output" = 'file lock' ]
}

@test "symbolic links, their targets, FIFOs, sockets, devices, and another user's file in a sticky directory are left, and that is told" {
	local dead name left=(to-stale to-empty to-nothing fifo)
	dead_pid >stale
	dead=$(<stale)
	mkdir empty
	mkdir -m 1777 sticky
	if ((EUID == 0)); then
		cp stale sticky/lock
		chown 65534 sticky/lock
		left+=(device sticky/lock)
	fi
	! command -v python3 >/dev/null || left+=(socket)
	# The device is the test's own: if wdrun were wrong, root would remove the
	# machine's.
	ends 0 "${left[@]/#/--cleanup=}" bash -c '
		for to in stale empty nothing; do ln -s $to to-$to; done
		mkfifo fifo; ((EUID != 0)) || mknod device c 1 3
		python3 -c "import socket
socket.socket(socket.AF_UNIX).bind(\"socket\")" 2>/dev/null || true'
	for name in "${left[@]}"; do
		[ -e "$name" ] || [ -L "$name" ]
		has_message --cleanup "$name"
	done
	has_line_count "${#left[@]}" err
	is_in stale "$dead"
	[ -d empty ]
}

@test "no link that has come into the path since the start is followed, but a new directory is looked into" {
	local dead
	mkdir -p victim A/app B/app C D/app
	dead_pid >victim/lock
	dead=$(<victim/lock)
	ends 0 -c A/app/lock -c B/app/lock -c C/app/lock -c D/app/lock sh -c '
		rmdir A/app D/app; mkdir D/app; : >D/app/lock
		echo $$ >B/app/lock; mv B/app B/moved
		for place in A B C; do ln -s ../victim $place/app; done'
	is_in victim/lock "$dead"
	[ -L A/app ]
	[ -L B/app ]
	has_message --cleanup C/app/lock
	[ ! -e D/app/lock ]
}

# --- several runs ------------------------------------------------------------

@test "a run leaves the locks of another run that goes on, whichever began first, and the last of overlapping runs removes them" {
	mkfifo go over
	# A run that is there before the locks are made.
	hold "$WDRUN" "${both[@]}" sh -c 'echo "ready $$"; read -r _ <over'
	ends 0 "${both[@]}" sh -c "$script"
	[ ! -e pid.lock ]
	echo >over
	await_holder
	both_are_gone

	hold "$WDRUN" "${both[@]}" sh -c 'echo "ready $$"; read -r _ <over'
	start "$WDRUN" "${both[@]}" sh -c "$script"'echo "ready $$"; read -r _ <go'
	await_ready
	echo >over
	await_holder
	both_are_there

	# A run that begins later.
	"$WDRUN" "${both[@]}" true 2>second
	[ ! -s second ]
	both_are_there

	echo >go
	finish
	[ "$status" -eq 0 ]
	both_are_removed
}

# --- survivors ---------------------------------------------------------------

# bats test_tags=slow
@test "--survivors=leave: what a living survivor owns or may own stays, and what nobody owns goes" {
	ends 0 --survivors=leave -c lock -c dead -c dir.lock -c file sh -c '
		echo $$ >dead; mkdir dir.lock; : >file
		sleep 1000 >/dev/null 2>&1 & echo $! >lock'
	[ ! -e dead ]
	is_alive "$(<lock)"
	[ -d dir.lock ]
	[ -e file ]
	end_leftovers
}
