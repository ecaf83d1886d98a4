#!/usr/bin/env bats
#
# Promise 5: --lock. Runs on one lock do not overlap, scripts that know nothing
# of flock(2) are respected, and what is no lock file is not touched. (`make soak`
# has many runs that fight for a lock, and are killed at random.)

load helper
load locks

@test "simultaneous runs with two locks in opposite orders never overlap, and each of them runs" {
	dead_pid >a
	cp a dead
	inside='mkdir inside || exit; i=0
		while [ $((i += 1)) -lt 2000 ]; do :; done; exec rmdir inside'
	for _ in {1..4}; do
		"$WDRUN" -w 1000 -l a -l b sh -c "$inside" 2>>err 3>&- &
		pids+=($!)
		"$WDRUN" -w 1000 -l b -l a sh -c "$inside" 2>>err 3>&- &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid"; done
	is_none a b
	has_line_count 1 err # by the run that took it over
	has_message "$(<dead)"
}

# is_busy STATUS OPTION...: a run with these options, too, does not get the lock.
is_busy() {
	ends "$1" --lock=lock "${@:2}" touch ran
	[ ! -e ran ]
}

# bats test_tags=smoke
@test "if one of several locks is held, a message names its holder, nothing is run, and no lock is taken" {
	hold_lock --lock=other
	is_busy 75
	has_line_count 1 err
	has_message --lock "$holder"
	is_busy 255 -E 255 --quiet
	[ ! -s err ]
	is_busy 0 -w 100ms -E 0
	ends 75 --lock=a --lock=other --lock=z touch ran
	has_message --lock "$holder"
	is_none ran a z
	has_text lock "$holder"
	has_text other "$holder"

	no bash -c 'exec 9>lock; exec flock -n 9' # a shell empties the file
	is_busy 75
	release
	is_none lock other

	gives 75 complete sh -c 'flock 9; exec "$WDRUN" --lock=lock true 3>&-' 9>lock
	has_message --lock inherited
}

@test "the lock file holds wdrun's PID, and is removed however the run ends; the command does not inherit it" {
	for arguments in 0 022 077; do
		umask "$arguments"
		complete "$WDRUN" --lock=lock cp -p lock "copy$arguments"
		# As a script's, and a newline more, which a script does not see.
		cmp "copy$arguments" - <<<"$started"$'\n'
	done
	[ "$(stat -c %a copy*)" = $'1644\n1644\n1600' ]
	complete sh -c 'cd /proc/self/fd; echo *'
	cp out before
	: >lock # one is there, the second is made
	complete "$WDRUN" --lock=lock --lock=second --cleanup=file --cleanup=no/file -i1000 \
		sh -c 'cd /proc/self/fd; echo *'
	cmp out before
	is_blank lock
	while read -r result arguments; do
		eval "ends $result --lock=lock $arguments"
		is_none lock second
	done <<-'END'
		3 --lock-exit=9 sh -c 'date >>lock; exit 3'
		127 ./no-such-command
		124 -t 100ms sleep 1000
		143 sh -c 'kill -TERM "$(cat lock)"; exec sleep 1000'
	END
}

# is_taken [OPTION]...: a run gets the lock without a message.
is_taken() {
	ends 0 --lock=lock "$@" echo inside
	has_text out inside
	[ ! -e lock ]
	[ ! -s err ]
}

# bats test_tags=tree,slow
@test "the lock is held as long as the tree lives, but not by a survivor that an earlier run has left" {
	hold "$WDRUN" --lock=lock --survivors=wait escape -x 0 fork setsid
	front=$holder
	find_watchers
	wait_until lingers
	no flock -n lock true
	is_busy 75
	has_text lock "$holder"
	release
	[ ! -e lock ]
	ends 0 --lock=lock --survivors=leave -i1000 escape -x 0 fork setsid
	[ ! -e lock ]
	says_ready out
	is_alive "$ready"
	is_taken
	end_leftovers
}

@test "a file that has replaced the lock is not removed; it is no error if the lock is gone" {
	mkdir victim 1 2 3
	dead_pid | tee victim/lock >dead
	ends 0 --lock={1,2,3}/lock sh -c 'rm 1/lock 3/lock; cp dead 1/lock; mv 2 moved
		ln -s victim 2; exec rmdir 3'
	[ ! -s err ]
	cmp 1/lock dead
	[ -L 2 ]
	ends 0 --lock=lock sh -c 'cat dead >lock'
	cmp lock dead
	cmp victim/lock dead
}

@test "16 locks are taken, or none; one lock under several names does not wait for itself" {
	ends 125 --lock=a --lock=no/such/lock touch ran
	is_none a ran
	ends 0 --lock={a..p} --cleanup={A..P} sh -c 'ls [a-p]; echo $$ >P'
	has_line_count 16 out
	is_none '[a-pA-P]'
	ln -s . here
	is_taken -w 1000 --lock={./lock,"$PWD/lock",lock,../"${PWD##*/}"/lock,here/lock,lock}
}

@test "the PID lock of a living script is held, that of a dead one is taken over; \"exec wdrun\" keeps the script's" {
	hold_by_script
	is_busy 75
	has_message --lock "$held_by"
	has_text lock "$held_by"
	touch -d "@$((EPOCHSECONDS - 4))" lock # by a clock that is behind
	is_busy 75
	touch -d "@$((EPOCHSECONDS - 3600))" lock # as of a process that had the PID before
	ends 0 --lock=lock true
	has_line_count 1 err
	has_message --lock "$held_by"
	is_alive "$held_by"
	release
	echo "$held_by" >lock
	is_taken --quiet

	complete sh -c 'echo $$ >lock; exec "$WDRUN" --lock=lock cat lock'
	[ "$output$stderr" = "$started" ]
	[ ! -e lock ]
	# PID 1 is the first process of every container, and nobody's own.
	((EUID == 0)) || return 0
	echo 1 >lock
	gives 0 complete unshare --pid --fork "$WDRUN" --lock=lock true
	[ ! -e lock ]
	has_message --lock 1
}

# bats test_tags=smoke
@test "the lock of a dead run is free, even if a process has its PID now; a script's lock with that PID is held" {
	for option in --lock --cleanup; do
		printf '%d\n\n' "$$" >lock
		ends 0 "$option=lock" true
		has_message "$option"
		is_none lock
		printf '%d\n\n\n' "$$" >lock # the file was there before, and blank
		ends 0 "$option=lock" true
		is_blank lock
	done
	printf '%d\n' "$$" >lock
	is_busy 75
	ends 0 --cleanup=lock true
	has_text lock "$$"

	printf '%d\n\n' 1 >lock
	exec 9<lock
	flock 9
	is_busy 75
	ends 0 --cleanup=lock true
	[ -e lock ]
}

# bats test_tags=slow
@test "of two containers on one volume, only one gets the lock; when it is killed, the lock is free" {
	container=(unshare --pid --fork --mount-proc --kill-child)
	need_unshare "${container[@]:1}"
	hold "${container[@]}" "$WDRUN" --lock=lock act any ready live
	gives 75 complete "${container[@]}" "$WDRUN" --lock=lock touch ran
	is_busy 75
	has_message 'is held by PID 1 of a run that is not seen here'
	kill -KILL "$holder"
	await_holder
	wait_until nobody_is_left
	[ -s lock ]
	ends 0 --lock=lock true
	[ ! -e lock ]
}

@test "a lock file that was there and empty stays, for a flock(1) that waits" {
	: >lock
	touch -d '1 hour ago' lock
	hold_lock
	has_text lock "$holder"
	start bash -c 'exec 9<>lock; flock 9; [ lock -ef /dev/fd/9 ]'
	wait_until grep -q -- "-> FLOCK .*:$(stat -c %i lock) " /proc/locks # it waits: proc_locks(5)
	release
	gives 0 finish
	is_blank lock
	: >lock
	chmod +t lock # a run has made it
	touch -d '1 hour ago' lock
	is_taken
}

# The test makes its own devices: if wdrun were wrong, root would remove the machine's.
# bats test_tags=slow
@test "a file that is no lock, or another user's in a directory where others may write, is refused and kept" {
	locks=(all/linked to-file to-stale fifo directory directory/ . file binary
		huge file/lock /proc/lock no/such/lock)
	echo important >file
	dead_pid >stale
	ln -s file to-file
	ln -s stale to-stale
	mkfifo fifo
	mkdir directory
	printf '4711\0' >binary
	truncate -s 4T huge || truncate -s 8G huge
	if ((EUID == 0)); then
		mknod null c 1 3
		mkdir -m 1777 sticky
		mkdir -m 777 open
		mkdir -m 1770 group
		mkdir -m 755 theirs
		tee {sticky,open,group,theirs}/held <<<"$$"
		cp stale sticky
		: >group/empty
		chown 65534 theirs ./*/*
		locks+=(null sticky/stale group/empty ./*/held)
	fi
	mkdir -m 1777 all
	ln stale all/linked # another user may have made it
	all=(find . ! -name out ! -name err \( -type d -printf '%p %U\n'
		-o -printf '%p %M %U %i %s %C@ %l\n' \))
	before=$("${all[@]}" | sort)
	for lock in "${locks[@]}"; do
		ends 125 --lock="$lock" --lock-wait=20 touch ran
		has_line_count 1 err
		has_message --lock
	done
	[ "$("${all[@]}" | sort)" = "$before" ]

	# A file that cannot be written, as on a full disk, or locked.
	gives 125 complete bash -c 'ulimit -f 0; exec "$WDRUN" -l lock touch ran'
	is_none lock
	need_strace
	gives 125 directly strace -qq -o trace -e inject=flock:error=ENOLCK \
		"$WDRUN" -l lock touch ran
	is_none ran lock
	strace -qq -o trace -e inject=openat2:error=ENOSYS "$WDRUN" -l lock true # as in gVisor
}

# bats test_tags=slow
@test "with any umask, other runs of this user see the lock and the record" {
	need_other_user
	give_to_all
	as=("${as_nobody[@]}" ./wdrun --registry=runs)
	umask 777
	start "${as[@]}" --lock=lock sh -c 'umask; exec act any ready live'
	await_ready
	umask 022
	[ "$(head -n 1 out)" = 0777 ]
	gives 75 directly "${as[@]}" --lock=lock true
	listed=$("${as[@]}" --list)
	[[ $listed == *running* ]]
	kill "$ready"
	await "$started"
}

# bats test_tags=slow
@test "the files of --lock, --cleanup, --report and --tee are reached through symbolic links" {
	mkdir target
	ln -s target link
	ln -s link/x last
	ln -s last first
	ends 0 --lock=link/lock --cleanup=link/file --report=link/report \
		--tee=first sh -c 'ls target; echo $$ >target/file'
	has_text out $'lock\nx'
	has_text target/x $'lock\nx'
	is_none target/lock target/file
	[ -s target/report ]
}

# --- runs that wait, and kill -9 ---------------------------------------------

@test "a run that waits sleeps, holds no lock, and gets its locks when a run, flock(1) or a script frees them" {
	for holds in hold_lock hold_by_flock hold_by_script; do
		"$holds"
		contend --lock=a --lock=b
		[ "$holds" != hold_lock ] || wait_until sleep_on 0.6 "$started"

		# For the moment in which that run looks whether all locks are
		# free, a lock may be held.
		"$WDRUN" -w 1000 --lock=a --lock=b true
		[ ! -s out ]
		release
		[ "$holds" = hold_by_flock ] || got_it
		[ "$holds" != hold_by_flock ] || got_it blank
		is_none a b
		[ "$holds" = hold_by_script ] || [ ! -s err ]
	done
	has_message --lock "$held_by" # the script's was taken over

	mkfifo go # the script removes it
	hold sh -c 'echo $$ >lock; echo "ready $$"; read -r _ <go; exec rm lock'
	contend
	echo >go
	got_it
	await_holder
}

# waits_longer LIMIT: a run waits for longer than its --timeout, which then ends it.
waits_longer() {
	hold_lock
	start "$WDRUN" --lock=lock --lock-wait=1000 --timeout="$1" escape
	wait_until is_waiting "$started"
	pause "$1.1"
	release
	gives 124 finish
}

# bats test_tags=slow
@test "the time of --timeout begins when the command starts, not while the run waits for a lock" {
	late waits_longer LIMIT
}

# bats test_tags=slow
@test "a run that waits sees that a lock changed, even if the file system does not report it" {
	hold_by_script
	contend
	# A store into a mapping of the file: inotify(7).
	python3 -c 'import mmap
with open("lock", "r+b") as file: mmap.mmap(file.fileno(), 0)[:1] = b"x"'
	gives 125 finish
	release
}

@test "a signal ends a run that waits for a lock, even if the caller blocks it, and nothing is left" {
	ulimit -c 0
	for holds in hold_lock hold_by_script; do
		"$holds"
		: >out
		: >err
		before=(*)
		for row in TERM QUIT USR1 KILL 'TERM --block-signal=TERM'; do
			read -ra words <<<"$row"
			start env "${words[@]:1}" "$WDRUN" -w 1000 -l a -l lock true
			wait_until is_waiting "$started"
			ended_by "${words[0]}" $((128 + $(kill -l "${words[0]}")))
			[ "$(echo *)" = "${before[*]}" ]
		done
		has_text lock "$holder"
		release
	done
	wait_until nobody_is_left
	ends 0 --lock=a --lock=lock true
}

# bats test_tags=slow
@test "Ctrl-Z stops a run that waits for a lock, others can get the lock meanwhile, and fg continues the run" {
	hold_lock
	# In a process group that is not orphaned: else SIGTSTP would stop nothing.
	start "${as_job[@]}" "$WDRUN" --lock=lock --lock-wait=1000 echo inside
	wait_until first_child "$started"
	job=$child
	for _ in 1 2; do
		kill -CONT "$job"
		wait_until is_waiting "$job"
		kill -TSTP "$job"
		wait_until is_stopped "$job"
	done
	release
	"$WDRUN" --quiet --lock=lock --lock-wait=1000 true
	[ ! -s out ]
	is_stopped "$job"
	kill -CONT "$job"
	got_it
}

# bats test_tags=tree
@test "after kill -9 of the supervisor the front still holds the lock; after kill -9 of both it is free" {
	for last in CONT KILL; do
		hold "$WDRUN" --lock=lock escape fork setsid stubborn
		front=$holder
		find_watchers
		contend
		kill_supervisor
		no flock -n lock true
		ends 75 --lock=lock true
		has_text lock "$front"
		kill -s "$last" "$front"
		got_it
		await_holder
		[ "$last" = KILL ] || is_dead "$held_by"
	done
	is_alive "$held_by"
	has_message --lock "$front" # it was taken over
	end_leftovers
}
