#!/usr/bin/env bats
#
# Promise 5: --lock. Runs on one lock do not overlap, scripts that know nothing
# of flock(2) are respected, and what is no lock file is not touched.
# (lock_waits.bats has the runs that wait, and kill -9; `make soak` has many
# runs that fight for a lock, and are killed at random.)
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load locks

# --- runs at once ------------------------------------------------------------

# all_got_it NUMBER: the runs got the lock, so many, one after the other.
all_got_it() {
	end_runs
	[ "${ended[0]-}" -eq "$1" ]
	alternate "$1"
	is_none lock a b
	rm log
}

@test "runs at once on one lock, or on two in opposite orders, never overlap, and none is lost, whatever is at its place before, also where a script removes and makes it again and again; without a wait each ran alone or not at all" {
	local lines
	write_inside
	dead_pid >lock
	cp lock dead
	begin_runs 6 --lock=lock --lock-wait=1000
	all_got_it 6
	has_line_count 1 err # by the run that took it over
	has_message "$(<dead)"

	: >lock
	: >err
	begin_runs 4 --lock=lock --lock-wait=1000 --idle-timeout=1000
	all_got_it 4

	for _ in 1 2; do
		begin_runs 1 -l a -l b -w 1000
		begin_runs 1 -l b -l a -w 1000
	done
	all_got_it 4
	[ ! -s err ]

	begin_runs 5 --lock=lock
	end_runs
	[ "$((${ended[0]-0} + ${ended[75]-0}))" -eq 5 ]
	[ "${ended[0]-0}" -ge 1 ]
	alternate "${ended[0]}"
	[ ! -e lock ]

	# They may overlap: their lock is removed while it is held.
	: >log
	begin_runs 5 --lock=lock --lock-wait=1000
	for _ in {1..10}; do
		rm -f lock
		: >lock
	done
	end_runs

	[ "${ended[0]-}" -eq 5 ]
	mapfile -t lines <log
	[ "${#lines[@]}" -eq 10 ]
}

# --- busy --------------------------------------------------------------------

# is_busy STATUS OPTION...: a run with these options, too, does not get the lock.
is_busy() {
	ends "$1" --lock=lock "${@:2}" touch ran
	[ ! -e ran ]
}

sleeps_as_flock() {
	local name
	look_at "$1"
	[ "$process_state" = S ] || return
	read -r name <"/proc/$1/comm"
	[ "$name" = flock ]
}

# bats test_tags=smoke
@test "a held lock is told with its holder, status 75 or that of --lock-exit, and nothing is run; flock(1) finds it held, too, and waits for it" {
	hold_lock
	is_busy 75
	has_line_count 1 err
	has_message --lock "$holder"
	is_busy 0 --lock-exit=0
	is_busy 255 -E 255 --quiet
	[ ! -s err ]
	is_busy 4 -w 100ms -E 4
	has_message --lock "$holder"
	# Of several locks all are taken or none.
	ends 75 --lock=a --lock=lock --lock=b touch ran
	has_message --lock "$holder"
	is_none ran a b
	is_in lock "$holder"

	no flock -n lock touch ran
	no bash -c 'exec 9>lock; exec flock -n 9' # a shell empties the file
	[ ! -s lock ]
	is_busy 75
	start flock lock touch ran
	wait_until sleeps_as_flock "$started"
	[ ! -e ran ]
	release
	finish
	[ "$status" -eq 0 ]
	[ -e ran ]

	# It is the caller's, and so wdrun's own.
	complete bash -c 'exec 9>lock; flock 9; exec "$WDRUN" --lock=lock true'
	[ "$status" -eq 75 ]
	has_message --lock inherited
}

# bats test_tags=slow
@test "bad values of --lock-exit and --lock-wait, empty names and a 17th file are refused" {
	local code command=true files i option
	for code in 256 -1 '' 1x 99999999999999999999 0x10; do
		ends 125 --lock=f1 --lock-exit="$code" touch f2
		has_message --lock-exit
	done
	ends 125 --lock=f1 --lock-wait=x touch f2
	has_message --lock-wait x
	for option in --lock --cleanup; do
		ends 125 "$option=" touch f2
		files=()
		for i in {1..17}; do files+=("$option=f$i"); done
		ends 125 "${files[@]}" touch f2
		has_message "$option" 16
		is_none 'f*'

		ends 0 "${files[@]:0:16}" sh -c "$command"
		is_none 'f*'
		command='echo $$ >f16'
	done
}

# --- the file ----------------------------------------------------------------

@test "the file holds the PID of wdrun and a newline, and only its owner may write it, whatever the umask; the command has no descriptor of it" {
	local mask before option pid
	for mask in 0 022 077; do
		umask "$mask"
		complete "$WDRUN" --lock=lock cp -p lock "copy$mask"
		read -r pid <"copy$mask" # it has a newline
		[ "$pid" = "$started" ]
	done
	complete stat -c %a copy0 copy022 copy077
	[ "$output" = $'644\n644\n600' ]

	complete sh -c 'cd /proc/self/fd; echo *'
	before=$output
	for option in -t1000 -i1000 --survivors=wait; do
		complete "$WDRUN" --lock=lock --lock=second --cleanup=file \
			--cleanup=no/file "$option" sh -c 'cd /proc/self/fd; echo *'
		[ "$output" = "$before" ]
	done
}

# removed_with STATUS COMMAND...: a run that has the lock ends with STATUS, and
# its lock is gone.
removed_with() {
	ends "$1" --lock=lock "${@:2}"
	[ ! -e lock ]
}

@test "the file is removed however the run ends, with the status of the run" {
	local signal
	ulimit -c 0
	removed_with 3 --lock-exit=9 sh -c 'exit 3'
	removed_with 127 ./no-such-command
	removed_with 126 /
	removed_with 124 -t 100ms sleep 1000
	removed_with 137 sh -c 'kill -KILL $$'
	for signal in INT TERM HUP QUIT; do
		start "$WDRUN" --lock=lock "${sleeper[@]}"
		await_ready
		kill -s "$signal" "$started"
		finish
		[ "$status" -eq $((128 + $(kill -l "$signal"))) ]
		[ ! -e lock ]
	done
}

# bats test_tags=tree,slow
@test "the lock is held as long as one process of the tree lives, and not by a survivor of an earlier run" {
	hold "$WDRUN" --lock=lock --survivors=wait \
		"$PROGRAMS/escape" -x 0 fork setsid
	find_supervisor
	wait_until has_no_target

	no flock -n lock true
	is_busy 75
	is_in lock "$holder"
	kill -KILL "$held_by"
	wait_until is_dead "$holder"
	wait "$holder"
	[ ! -e lock ]

	ends 0 --lock=lock --survivors=leave -i1000 \
		"$PROGRAMS/escape" -x 0 fork setsid
	[ ! -e lock ]
	says_ready out
	is_alive "$ready"
	is_taken
	end_leftovers
}

# Only the escaped process is left below the supervisor.
has_no_target() {
	local child children
	find_children "$supervisor"
	for child in "${children[@]}"; do
		[ "$child" = "$held_by" ] || is_dead "$child" || return
	done
}

@test "what has taken the place of the lock is not removed, and a lock that is missing at the end is no error" {
	local dead
	echo important >file
	mkdir victim 1 2 3 4 5 6
	dead_pid >victim/lock
	dead=$(<victim/lock)
	ends 0 --lock={1,2,3,4,5,6}/lock sh -c 'rm [12356]/lock
		cp file 1/lock; mkdir 2/lock; ln -s ../file 3/lock
		mv 4 moved; ln -s victim 4; exec rmdir 5'
	[ ! -s err ]
	is_in 1/lock important
	[ -d 2/lock ]
	[ -L 3/lock ]
	is_in file important
	[ -L 4 ]
	is_in victim/lock "$dead"
	is_none 5 6/lock
}

@test "of several locks all are taken or none, all are gone at the end, and one lock under several names is no deadlock" {
	local lock names
	hold_lock --lock=a --lock=b
	for lock in a lock b; do
		is_in "$lock" "$holder"
		ends 75 --lock="$lock" true
	done
	release
	is_none a b lock
	ends 125 --lock=a --lock=no/such/lock touch ran
	is_none a ran

	ln -s . here
	names=(--lock={./lock,"$PWD/lock",lock,../"${PWD##*/}"/lock,here/lock,lock})
	is_taken -w 1000 "${names[@]}"
	dead_pid >lock
	ends 0 -w 1000 "${names[@]}" true
	has_line_count 1 err
	[ ! -e lock ]
}

# --- scripts that know nothing of flock --------------------------------------

# is_taken [OPTION]...: a run gets the lock without a message.
is_taken() {
	ends 0 --lock=lock "$@" echo inside
	is_in out inside
	[ ! -e lock ]
	[ ! -s err ]
}

# is_taken_over PID: a run gets the lock of PID, and says so.
is_taken_over() {
	ends 0 --lock=lock true
	[ ! -e lock ]
	has_line_count 1 err
	has_message --lock "$1"
}

has_become_sleep() {
	local name
	read -r name <"/proc/$1/comm"
	[ "$name" = sleep ]
}

@test "a script's PID lock is respected as long as it lives, with blanks around the PID, where times are rounded, and when it becomes wdrun by exec; then it is taken over, which is told" {
	local dead text
	hold_by_script
	is_busy 75
	has_message --lock "$held_by"
	touch -d '10 seconds ago' lock # as where a file server's clock is late
	is_busy 75
	is_in lock "$held_by"
	for text in '%s' '\t%s\r\n' '\n%s '; do
		# shellcheck disable=SC2059 # it is a format
		printf "$text" "$held_by" >lock
		is_busy 75
	done

	# A process that got the PID later.
	touch -d '1 hour ago' lock
	is_taken_over "$held_by"
	is_alive "$held_by"
	release
	dead=$held_by
	echo "$dead" >lock
	is_taken_over "$dead"
	printf '\t%s\r\n' "$dead" >lock
	is_taken --quiet
	: >lock # an empty file is nobody's
	is_taken

	# The zombie stays, since the shell that started it has become another
	# program.
	mkfifo go
	hold sh -c '{ read -r _; } <go & echo $! >lock
		echo "ready $$"; exec sleep 1000'
	wait_until has_become_sleep "$held_by"
	dead=$(<lock)
	is_busy 75
	echo >go
	wait_until is_zombie "$dead"
	is_taken_over "$dead"
	release

	mkdir -m 1777 sticky
	echo "$dead" >sticky/lock
	ends 0 --lock=sticky/lock true
	[ ! -e sticky/lock ]

	complete sh -c 'echo $$ >lock; exec "$WDRUN" --lock=lock cat lock'
	[ "$status" -eq 0 ]
	[ "$output" = "$started" ]
	[ ! -e lock ]
	[ ! -s err ]

	# PID 1 is the first process of every container, and nobody's own.
	((EUID == 0)) || return 0
	echo 1 >lock
	complete unshare --pid --fork "$WDRUN" --lock=lock true
	[ "$status" -eq 0 ]
	[ ! -e lock ]
	has_message --lock 1
}

# --- what is no lock file ----------------------------------------------------

# refused LOCK...: a run with that lock does not start, one line says why, and
# nothing has changed when all have been tried.
refused() {
	local before lock
	: >out
	: >err
	before=$(all_files)
	for lock; do
		ends 125 --lock="$lock" --lock-wait=20 touch ran
		has_line_count 1 err
		has_message --lock
	done
	[ "$(all_files)" = "$before" ]
}

all_files() {
	find . ! -name out ! -name err \( -type d -printf '%p %U\n' \
		-o -printf '%p %M %U %i %s %C@ %l\n' \) | sort
}

# bats test_tags=slow
@test "symbolic links, FIFOs and directories are refused as locks, as is what was given by mistake, and what is not there; nothing hangs, and nothing is changed" {
	local content i=0 long=xxxxxxxxxx
	echo important >file
	dead_pid >stale
	ln -s file to-file
	ln -s stale to-stale
	ln -s loop loop
	mkfifo fifo
	mkdir directory
	for content in 'Dear diary\n' '4711 4712\n' '4711x\n' '0\n' '-5\n' \
		'99999999999\n' '4711.0\n' '0x12\n' '4711\0'; do
		((i += 1))
		# shellcheck disable=SC2059
		printf -- "$content" >"precious$i"
	done
	printf '\377\376\1\200%.0s' {1..1000} >binary
	truncate -s 4T huge || truncate -s 8G huge
	for i in {1..5}; do long+=$long; done # 320
	refused to-file to-stale loop fifo directory directory/ . precious* \
		binary huge file/lock /proc/lock /sys/lock "$long" \
		"${long//x/xxxxxxxxxxxxxxx/}lock" \
		no/such/lock
	has_message no/such/lock
}

@test "where the working directory was removed, an absolute lock is taken and a relative one told" {
	local gone='mkdir gone; cd gone; rmdir ../gone; exec "$WDRUN" --lock='
	complete sh -c "$gone"'lock touch "$WDRUN_TEST/ran"'
	[ "$status" -eq 125 ]
	[ ! -e ran ]
	has_message --lock

	complete sh -c "$gone"'"$WDRUN_TEST/lock" cat "$WDRUN_TEST/lock"'
	[ "$status" -eq 0 ]
	[ "$output" = "$started" ]
	[ ! -e lock ]
}

# --- other users -------------------------------------------------------------

# The test makes its own devices: if wdrun were wrong, root would remove the
# machine's.
# bats test_tags=slow
@test "devices, sockets, and another user's file where others may write are refused as locks, and left untouched" {
	local place
	need_root
	need python3
	mknod null c 1 3
	mknod disk b 7 200
	python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
	mkdir -m 1777 sticky
	mkdir -m 777 open
	mkdir -m 1770 group
	mkdir -m 755 theirs
	dead_pid >sticky/stale
	for place in sticky open group theirs; do echo "$$" >"$place/held"; done
	: >group/empty
	mkfifo theirs/fifo
	cp sticky/stale open
	chown 65534 theirs ./*/*
	refused null disk socket sticky/stale open/stale group/empty \
		theirs/fifo ./*/held
}

@test "a lock of root's holds for another user, and a group may share its locks" {
	need_mounts
	need_other_user
	mkdir -m 770 group
	dead_pid >group/lock
	chown 65534 group/lock
	ends 0 --lock=group/lock true
	[ -s err ]
	[ ! -e group/lock ]

	# The directory of a test is open to its user alone.
	complete unshare --mount sh -c 'mount -t tmpfs -o mode=755 none /mnt &&
		cd /mnt && cp "$WDRUN" wdrun && mkdir -m 1777 sticky &&
		echo "$1" >sticky/lock && exec setpriv --reuid=65534 \
			--regid=65534 --clear-groups ./wdrun --lock=sticky/lock true
		' - "$$"
	[ "$status" -eq 75 ]
	has_message --lock "$$"
}

# bats test_tags=slow
@test "no file is reached through another user's link; through one of ours or root's it is" {
	local option
	need_root
	mkdir -m 1777 sticky
	mkdir target
	ln -s ../target sticky/link
	ln -s ../target/x sticky/last
	ln -s sticky/last first
	chown -h 65534 sticky/*
	for option in --lock --cleanup --report --tee --registry; do
		ends 125 "$option=sticky/link/x" touch ran
		has_message sticky/link
	done
	# The link is what is to be written, or leads there in two steps.
	ends 125 --tee=sticky/last touch ran
	ends 125 --tee=first touch ran
	is_none ran 'target/*'

	chown -h 0 sticky/*
	ends 0 --lock=sticky/link/lock --cleanup=sticky/link/file \
		--report=sticky/link/report --tee=sticky/link/tee true
	ends 0 --tee=first echo text
	is_in target/x text
}
