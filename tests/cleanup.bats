#!/usr/bin/env bats
#
# Promise 5: --cleanup. The locks that a script makes for itself do not outlive
# the script, on any way out, and no other locks are touched. (`make faults` kills
# a watcher at each of its calls, and looks for what is left.)

load helper
load locks

both=(--cleanup=pid.lock --cleanup=dir.lock)

# The beginning of a script that takes a PID lock and an mkdir lock, and never removes them.
script='echo $$ >pid.lock; mkdir dir.lock; '

both_are_there() {
	[ "$(echo ./*.lock)" = './dir.lock ./pid.lock' ]
}

# The locks are gone, which is told.
both_are_removed() {
	is_none '*.lock'
	only_messages
	has_message --cleanup pid.lock
	has_message --cleanup dir.lock
}

# cleans_up COMMAND [ARG]...: a run with --cleanup=lock ends, and the lock is gone.
cleans_up() {
	ends 0 --cleanup=lock "$@"
	[ ! -e lock ]
}

# leaves COMMAND [ARG]...: it ends by itself, and the lock is still there.
leaves() {
	ends 0 --cleanup=lock "$@"
	[ -e lock ]
}

# bats test_tags=smoke
@test "--cleanup removes the locks that a script leaves, however the script ends, and keeps its status" {
	ends 0 sh -c "$script"
	both_are_there
	rm -r ./*.lock

	ends 137 -c pid.lock -cdir.lock sh -c "$script"'kill -KILL $$'
	both_are_removed
	has_line_count 2 err
	ends 0 -u ready --until-grace=0 -k 100ms "${both[@]}" \
		act any lock=pid.lock dir=dir.lock session daemon ready live
	both_are_removed
	ends 143 -l run "${both[@]}" sh -c "$script"'kill "$(cat run)"; exec sleep 1000'
	both_are_removed
	ends 3 -q "${both[@]}" sh -c "$script"'exit 3'
	is_none '*.lock'
	[ ! -s err ]
	# As long as the tree is there.
	underway "${both[@]}" --survivors=wait sh -c "$script"'exec escape -x 0 fork setsid'
	wait_until is_dead "$(<pid.lock)"
	both_are_there
	kill -KILL "$ready"
	finish
	both_are_removed

	# The script removes them itself, or never makes them.
	ends 0 "${both[@]}" -c no/such/lock sh -c "$script"'rmdir dir.lock; exec rm pid.lock'
	[ ! -s err ]
}

@test "--cleanup removes a file under any of its names, in any order, and however often it is named" {
	mkdir place # it is there before
	ends 0 -c "$PWD/pid.lock" -c ./dir.lock -c place/../place/lock -c place \
		-c d -c d/pid -c e/pid -c e -c ./e sh -c "$script"'mkdir d e
		for lock in place/lock d/pid e/pid; do echo $$ >$lock; done; cd /'
	both_are_removed
	is_none d e 'place/*'
	has_line_count 7 err
	[ -d place ]
}

@test "the lock of a living process stays, that of a dead one goes; a file without a PID goes if the run made it" {
	hold sigcount # a process outside of all runs
	echo "$held_by" >lock
	leaves true
	rm lock
	leaves sh -c 'echo $$ >lock; echo "$1" >lock' - "$held_by"
	has_text lock "$held_by"
	# Another process has got the PID later.
	cleans_up bash -c 'echo "$1" >lock; exec touch -d "@$((EPOCHSECONDS - 3600))" lock' - "$held_by"
	is_alive "$held_by"
	release

	hold_by_flock
	dead_pid >lock
	leaves true
	release
	cleans_up true # the PID tells whose it is, whenever it was made
	cleans_up sh -c 'echo $PPID >lock' # a watcher's
	ends 0 --cleanup=made{1..3} sh -c ':>made1; printf "locked by Ann" >made2
		exec truncate -s 8G made3'
	is_none 'made*'

	: >before1
	echo important >before2
	mkdir place
	ends 0 --cleanup={before{1,2},place} touch before{1,2} place
	has_text before1 ''
	has_text before2 important
	[ -d place ]
	[ ! -s err ]

	# What was there before is not known, as on a file system without birth times.
	ends 0 --cleanup=new/lock sh -c 'mkdir new; : >new/lock'
	[ -e new/lock ]
	has_message --cleanup new/lock

	cleans_up mkdir lock
	leaves sh -c 'mkdir lock; echo $$ >lock/pid'
	has_line_count 1 err
	has_message --cleanup lock
	[ -s lock/pid ]
}

@test "a file stays if it begins with the PID of a living process, or has it as JSON; with a dead PID it goes" {
	for text in '%d host' '%d\nhost' '{"pid": %d, "host": "here"}' '{"pid":%d}' '{"pid":"%d"}'; do
		# shellcheck disable=SC2059 # it is a format
		printf "$text\n" "$$" >living
		leaves cp living lock
		cmp lock living
		# shellcheck disable=SC2059 # it is a format
		printf "$text\n" "$(dead_pid)" >dead
		rm lock
		cleans_up cp dead lock
	done
	cleans_up sh -c 'echo "$1-11-28 12:00" >lock' - "$$" # a date
	cleans_up sh -c 'echo "{\"pid\": null, \"port\": $1}" >lock' - "$$"
}

@test "a file that another process has locked with fcntl(2) stays" {
	underway --cleanup=lock sh -c ': >lock; echo ready $$; until [ -e locked ]; do sleep 0.1; done'
	hold hold_lockf lock
	: >locked
	gives 0 finish
	[ -e lock ]
	has_message --cleanup lock
	release
}

# bats test_tags=slow
@test "if a file system gives no time of birth, a file from before the run stays, and one that the run made goes" {
	need_mounts
	mkdir mounted
	complete unshare --mount bash -c '
		mount -t ramfs none mounted && cd mounted && [ "$(stat -c %w .)" = - ] || exit 77
		mkdir old; : >file; : >new
		"$WDRUN" -c old -c file -c new sh -c "touch old file; rm new; : >new"
		ls; mkfifo ../go
		"$WDRUN" -c lock sh -c "mkdir lock; echo >../go" &
		read -r _ <../go
		"$WDRUN" -c lock sh -c "echo >started; sleep 0.2" &
		wait; ls'
	[ "$status" -ne 77 ] || skip "there is no ramfs, or it has times of birth"
	[ "$output" = $'file\nold\nfile\nold\nstarted' ]
	has_line_count 2 err
	has_message --cleanup lock

	# The first write to a file of an image makes a copy, with a new time of birth.
	complete unshare --mount bash -c 'mount -t tmpfs none mounted && cd mounted && mkdir i u w m &&
		echo >i/old && mount -t overlay -o lowerdir=i,upperdir=u,workdir=w none m && cd m || exit 77
		"$WDRUN" -c old -c new sh -c "echo more | tee -a old >new"; ls'
	[ "$output$status" = old0 ] || [ "$status" -eq 77 ]
}

@test "links, the files that they lead to, FIFOs, devices and another user's file stay" {
	left=(to-stale to-empty to-nothing fifo C/app/lock)
	mkdir -p empty victim A/app C D/app
	mkdir -m 1777 sticky
	dead_pid | tee stale victim/lock >dead
	before=()
	if ((EUID == 0)); then
		tee sticky/lock sticky/before <stale
		chown 65534 sticky/*
		mv sticky/lock theirs
		left+=(device sticky/lock)
		before=(-c sticky/before -c old-link)
	fi
	ln -s stale old-link
	# The device is the test's own: if wdrun were wrong, root would remove the machine's.
	ends 0 "${left[@]/#/--cleanup=}" "${before[@]}" -c A/app/lock -c D/app/lock bash -c '
		for to in stale empty nothing; do ln -s $to to-$to; done
		mkfifo fifo; ((EUID != 0)) || { mknod device c 1 3; mv theirs sticky/lock; }
		rmdir A/app D/app; mkdir D/app; : >D/app/lock
		for place in A C; do ln -s ../victim $place/app; done'
	for name in "${left[@]}"; do
		[ -e "$name" ] || [ -L "$name" ]
		has_message --cleanup "$name"
	done
	no grep -e /before -e old-link err # what was there before is not told
	cmp stale dead
	cmp victim/lock dead
	[ -d empty ]
	[ -L A/app ]
	[ ! -e D/app/lock ]
}

@test "a run does not remove the locks of another run that is still alive, whichever began first" {
	mkfifo go over
	hold "$WDRUN" "${both[@]}" sh -c 'echo "ready $$"; read -r _ <over'
	underway "${both[@]}" sh -c "$script"'echo "ready $$"; read -r _ <go'
	echo >over
	await_holder
	both_are_there

	# A run that begins later.
	"$WDRUN" "${both[@]}" true 2>second
	[ ! -s second ]
	both_are_there
	echo >go
	finish
	both_are_removed
}

# bats test_tags=slow
@test "--survivors=leave: a file that a living survivor owns or may own stays; one with a dead PID goes" {
	ends 0 --survivors=leave -c lock -c dead -c dir.lock -c file sh -c '
		echo $$ >dead; mkdir dir.lock; : >file
		sleep 1000 >/dev/null 2>&1 & echo $! >lock'
	[ ! -e dead ]
	is_alive "$(<lock)"
	[ -d dir.lock ]
	[ -e file ]
	end_leftovers
}
