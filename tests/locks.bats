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

setup() {
	common_setup
	write_programs
}

# --- runs at once ------------------------------------------------------------

# get_it MESSAGES OPTION...: 8 runs at once get the lock, one after the other,
# and print so many messages.
get_it() {
	rm -f log errors
	begin_runs 8 --lock=lock --lock-wait=1000 "${@:2}"
	end_runs

	[ "$statuses" = 0:8 ]
	alternate 8
	[ "$(wc -l <errors)" -eq "$1" ]
	[ ! -e lock ]
}

# bats test_tags=smoke
@test "runs at once on one lock never overlap, and none is lost, whatever is at its place before" {
	get_it 0
	: >lock
	get_it 0 --idle-timeout=1000
	dead_pid | tee lock dead
	get_it 1 # by the run that took it over
	grep -q "^wdrun: .*$(<dead)" errors
}

@test "of runs at once that do not wait, each ran alone or not at all" {
	begin_runs 8 --lock=lock
	end_runs
	[[ $statuses =~ ^0:([1-8])(" 75:"[1-7])?$ ]]
	alternate "${BASH_REMATCH[1]}"
	[ ! -e lock ]
}

@test "runs with two locks in opposite orders do not wait for each other" {
	for _ in {1..4}; do
		begin_runs 1 -l a -l b -w 1000
		begin_runs 1 -l b -l a -w 1000
	done
	end_runs

	[ "$statuses" = 0:8 ]
	alternate 8
	[ ! -s errors ]
	[ -z "$(find . -name '[ab]')" ]
}

# They may overlap: their lock is removed while it is held.
@test "no run is lost where a script removes and makes the lock again and again" {
	for _ in {1..30}; do
		rm -f lock
		: >lock
		sleep 0.003
	done 3>&- &
	local spoiler=$!
	begin_runs 8 --lock=lock --lock-wait=1000
	end_runs
	wait "$spoiler"

	[ "$statuses" = 0:8 ]
	[ "$(grep -c enter log)" -eq 8 ]
}

# --- busy --------------------------------------------------------------------

# is_busy STATUS OPTION...: a run with these options, too, does not get the lock.
is_busy() {
	complete "$WDRUN" --lock=lock "${@:2}" touch ran

	[ "$status" -eq "$1" ]
	[ ! -e ran ]
}

# bats test_tags=smoke
@test "a held lock is told with its holder, status 75 or that of --lock-exit, and nothing is run" {
	hold_lock
	is_busy 75
	[ "$(wc -l <err)" -eq 1 ]
	has_message --lock "$holder"
	is_busy 0 --lock-exit=0
	is_busy 1 --lock-exit=1
	is_busy 255 -E 255
	is_busy 75 --quiet
	[ ! -s err ]
	is_busy 75 --lock-wait=300ms
	has_message --lock "$holder"
	is_busy 4 -w 100ms -E 4

	[ "$(cat lock)" = "$holder" ]
	release
	[ ! -e lock ]
}

@test "bad values of --lock-exit and --lock-wait, empty names and a 17th file are refused" {
	local code files option
	for code in 256 -1 '' x 1x 99999999999999999999 0x10; do
		ends 125 --lock=f1 --lock-exit="$code" touch f2
		has_message --lock-exit
	done
	ends 125 --lock=f1 --lock-wait=x touch f2
	has_message --lock-wait x
	for option in --lock --cleanup; do
		ends 125 "$option=" touch f2
		mapfile -t files < <(seq -f "$option=f%g" 17)
		ends 125 "${files[@]}" touch f2
		has_message "$option" 16
		[ -z "$(find . -name 'f*')" ]

		ends 0 "${files[@]:0:16}" sh -c \
			'[ -e f16 ] || echo $$ >f16'
		[ -z "$(find . -name 'f*')" ]
	done
}

# --- the file ----------------------------------------------------------------

@test "the file holds the PID of wdrun and a newline, and only its owner may write it, whatever the umask" {
	complete "$WDRUN" --lock=lock cp lock copy
	cmp copy - <<<"$started"

	complete sh -c 'for mask in 0 022 077; do
		umask $mask; "$WDRUN" --lock=lock stat -c %a lock
	done'
	[ "$output" = $'644\n644\n600' ]
}

# removed_with STATUS COMMAND...: a run that has the lock ends with STATUS, and
# its lock is gone.
removed_with() {
	complete "$WDRUN" --lock=lock "${@:2}"

	[ "$status" -eq "$1" ]
	[ ! -e lock ]
}

# bats test_tags=smoke
@test "the file is removed however the run ends, with the status of the run" {
	local signal
	ulimit -c 0
	removed_with 0 true
	removed_with 3 --lock-exit=9 sh -c 'exit 3'
	removed_with 127 ./no-such-command
	removed_with 126 /
	removed_with 124 -t 100ms sleep 1000
	removed_with 137 sh -c 'kill -KILL $$'
	for signal in INT TERM HUP QUIT; do
		start "$WDRUN" --lock=lock sh -c 'echo "ready $$"; exec sleep 1000'
		await_ready
		[ -e lock ]
		kill -s "$signal" "$started"
		finish
		[ "$status" -eq $((128 + $(kill -l "$signal"))) ]
		[ ! -e lock ]
	done
}

# bats test_tags=smoke,tree
@test "the lock is held as long as one process of the tree lives" {
	start "$WDRUN" --lock=lock --survivors=wait \
		"$PROGRAMS/escape" -x 0 fork setsid
	await_ready
	await_watchers
	wait_until is_zombie "$target"

	no flock -n lock true
	[ "$(cat lock)" = "$started" ]

	kill -KILL "$ready"
	finish
	[ "$status" -eq 0 ]
	[ ! -e lock ]
}

@test "a survivor of an earlier run does not hold the lock" {
	local option
	for option in -t1000 -i1000; do
		ends 0 --lock=lock --survivors=leave "$option" \
			"$PROGRAMS/escape" -x 0 fork setsid
		[ ! -e lock ]
		says_ready out
		is_alive "$ready"

		is_taken
		end_leftovers
	done
}

@test "the command has no descriptor more than without locks" {
	local option
	complete sh -c 'ls /proc/self/fd'
	mv out before
	for option in -t1000 -i1000 --survivors=wait; do
		ends 0 --lock=lock --lock=second --cleanup=file \
			--cleanup=no/file "$option" ls /proc/self/fd
		cmp out before
	done
}

@test "what has taken the place of the lock is not removed, and a lock that is missing at the end is no error" {
	local command
	local look='find place victim -printf "%p %y %i %l\n" | sort'
	echo important >file
	mkdir victim
	dead_pid >victim/lock
	for command in 'rm place/lock; cp file place/lock' \
		'rm place/lock; mkdir place/lock' \
		'rm place/lock; ln -s ../file place/lock' \
		'mv place moved; ln -s victim place' 'rm -r place' \
		'rm place/lock'; do
		rm -rf place
		mkdir place
		ends 0 --lock=place/lock sh -c "$command; $look"
		[ "$output" = "$(eval "$look" 2>/dev/null)" ]
	done
	[ ! -s err ]
}

# --- several -----------------------------------------------------------------

# bats test_tags=smoke
@test "of several locks all are taken or none, and all are gone at the end" {
	complete "$WDRUN" --lock=a --lock=b --lock=c sh -c 'cat a b c
		for lock in a b c; do ! flock -n $lock true || echo free; done'
	[ "$status" -eq 0 ]
	[ "$output" = "$(printf '%s\n' "$started" "$started" "$started")" ]
	[ -z "$(find . -name '[abc]')" ]

	hold_lock
	ends 75 --lock=a --lock=lock --lock=b touch ran
	has_message --lock "$holder"
	[ "$(cat lock)" = "$holder" ]
	release

	ends 125 --lock=a --lock=no/such/lock touch ran
	[ -z "$(find . -name '[abc]' -o -name ran)" ]
}

@test "the same lock twice, however it is spelt, is no deadlock" {
	local other
	ln -s . here
	for other in lock ./lock "$PWD/lock" ../"${PWD##*/}"/lock here/lock; do
		complete "$WDRUN" -w 1000 --lock=lock --lock="$other" ./inside
		got_it
		[ ! -s err ]

		dead_pid >lock
		complete "$WDRUN" -w 1000 --lock="$other" --lock=lock ./inside
		got_it
		[ "$(wc -l <err)" -eq 1 ]
	done
}

# --- scripts that know nothing of flock --------------------------------------

# bats test_tags=smoke
@test "a script's PID lock is respected, also as soon as it starts, and where the file system rounds times" {
	hold_by_script
	is_busy 75
	has_message --lock "$held_by"
	# As FAT, which keeps times to two seconds.
	touch -d '2 seconds ago' lock
	is_busy 75
	[ "$(cat lock)" = "$held_by" ]
	release

	for _ in {1..3}; do
		rm -f lock
		hold sh -c 'echo $$ >lock; echo "ready $$"; exec sleep 1000'
		is_busy 75
		release
	done
}

@test "wdrun and scripts take the lock from each other in turn, and a script that becomes wdrun by exec keeps it" {
	hold_lock
	complete ./script
	[ "$status" -eq 11 ]
	[ "$output" = "held by $holder" ]
	release

	complete ./script 'rm lock'
	[ "$output" = "ready $started" ]
	is_taken
	complete ./script 'exit 0' # and leaves it
	[ "$output" = "ready $started" ]
	is_taken -q

	complete sh -c 'echo $$ >lock
		exec "$WDRUN" --lock=lock cat lock'

	[ "$status" -eq 0 ]
	[ "$output" = "$started" ]
	[ ! -e lock ]
}

# is_taken: a run gets the lock without a message.
is_taken() {
	complete "$WDRUN" --lock=lock "$@" ./inside
	got_it
	[ ! -s err ]
}

# is_taken_over PID: a run gets the lock of PID, and says so.
is_taken_over() {
	complete "$WDRUN" --lock=lock ./inside
	got_it
	[ "$(wc -l <err)" -eq 1 ]
	has_message --lock "$1"
}

# bats test_tags=smoke
@test "the lock of a dead script, of a zombie, or of a process that got the PID later is taken over, which is told" {
	local dead
	dead=$(dead_pid)
	echo "$dead" >lock
	is_taken_over "$dead"

	# The zombie stays, since the shell that started it has become another
	# program.
	hold bash -c '(until [ "$(<"/proc/$$/comm")" = sleep ]; do
			sleep 0.02
		done) &
		echo $! >lock; echo "ready $$"; exec sleep 1000'
	dead=$(<lock)
	wait_until is_zombie "$dead"
	is_taken_over "$dead"
	release

	hold_by_script
	touch -d '1 hour ago' lock
	is_taken_over "$held_by"
	is_alive "$held_by"
	release

	dead_pid >lock
	is_taken --quiet
	: >lock # an empty file is nobody's
	is_taken

	mkdir -m 1777 sticky
	dead_pid >sticky/lock
	ends 0 --lock=sticky/lock true
	[ ! -e sticky/lock ]
}

@test "a PID with blanks around it, or without a newline, makes a lock" {
	local text
	hold sh -c 'echo "ready $$"; exec sleep 1000'
	for text in ' %s \n' '%s' '\t%s\n\n' '%s\r\n' '\n%s'; do
		# shellcheck disable=SC2059 # it is a format
		printf "$text" "$held_by" >lock
		is_busy 75

		# shellcheck disable=SC2059
		printf "$text" "$(dead_pid)" >lock
		is_taken -q
	done
	release
}

@test "flock(1) finds the lock held, and does not make its file stay" {
	hold_lock
	complete flock -n lock touch ran
	[ "$status" -eq 1 ]
	# A shell empties the file.
	run -1 bash -c 'exec 9>lock; flock -n 9'
	[ ! -s lock ]
	is_busy 75
	release
	[ ! -e lock ]

	hold_lock
	start flock lock ./inside
	wait_until sleeps_as_flock "$started"
	release
	finish
	[ "$status" -eq 0 ]
	alternate 1
}

sleeps_as_flock() {
	look_at "$1"
	[ "$process_state" = S ] && [ "$(<"/proc/$1/comm")" = flock ]
}

# --- what is no lock file ----------------------------------------------------

# refused LOCK: a run with that lock does not start, one line says why, and
# nothing has changed.
refused() {
	local before
	: >out
	: >err
	before=$(all_files)
	complete "$WDRUN" --lock="$1" --lock-wait=20 touch ran

	[ "$status" -eq 125 ]
	[ "$(wc -l <err)" -eq 1 ]
	has_message --lock
	[ "$(all_files)" = "$before" ]
}

all_files() {
	find . ! -name out ! -name err \( -type d -printf '%p %U\n' \
		-o -printf '%p %M %U %i %s %C@ %l\n' \) | sort
}

# bats test_tags=smoke
@test "symbolic links, FIFOs and directories are refused as locks, and nothing hangs" {
	local kind
	echo important >file
	dead_pid >stale
	ln -s file to-file
	ln -s stale to-stale
	ln -s nothing dangling
	ln -s loop loop
	mkfifo fifo
	mkdir directory
	for kind in to-file to-stale dangling loop fifo directory directory/ .; do
		refused "$kind"
	done
}

# The test makes its own devices: if wdrun were wrong, root would remove the
# machine's.
@test "devices and sockets are refused as locks" {
	local kind
	need_root
	need python3
	mknod null c 1 3
	mknod zero c 1 5
	mknod disk b 7 200
	python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
	for kind in null zero disk socket; do
		refused "$kind"
	done
}

@test "a file that was given by mistake is refused and left untouched" {
	local content
	for content in 'Dear diary\n' '4711 4712\n' '4711\n4712\n' '4711x\n' \
		'PID 4711\n' '0\n' '-5\n' '+5\n' '99999999999\n' '4711.0\n' \
		'99999999999999999999999999\n' '0x12\n' '-1\n' '4711\0' '\0'; do
		# shellcheck disable=SC2059
		printf -- "$content" >precious
		refused precious
	done
	head -c 4096 /dev/urandom | tr -d ' \n\t0-9' >binary
	refused binary
	truncate -s 4T huge || truncate -s 8G huge
	refused huge
}

@test "a directory that is missing or cannot be written, and a name that is too long, are told" {
	: >file
	refused no/such/lock
	has_message no/such/lock
	refused file/lock
	refused /proc/lock
	refused /sys/lock
	refused "$(printf 'x%.0s' {1..300})"
	refused "$(printf 'x/%.0s' {1..3000})lock"
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

@test "another user's file where others may write is refused as a lock, and left untouched" {
	local file place
	need_root
	mkdir -m 1777 sticky
	mkdir -m 777 open
	mkdir -m 1770 group
	mkdir -m 755 theirs
	chown 65534 theirs
	for place in sticky open group theirs; do
		echo "$$" >"$place/held"
		dead_pid >"$place/stale"
		: >"$place/empty"
		mkfifo "$place/fifo"
		chown 65534 "$place"/*
		for file in held stale empty fifo; do
			refused "$place/$file"
		done
	done
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
	complete unshare --mount bash -c 'mount -t tmpfs -o mode=755 none /mnt &&
		cd /mnt && cp "$WDRUN" wdrun && mkdir -m 1777 sticky &&
		echo "$1" >sticky/lock &&
		setpriv --reuid=65534 --regid=65534 --clear-groups \
			./wdrun --lock=sticky/lock true' - "$$"
	[ "$status" -eq 75 ]
	has_message --lock "$$"
}

@test "no file is reached through another user's link; through one of ours or root's it is" {
	local option
	need_root
	mkdir -m 1777 sticky
	mkdir target
	ln -s ../target sticky/link
	chown -h 65534 sticky/link
	for option in --lock --cleanup --report --tee --registry; do
		ends 125 "$option=sticky/link/x" touch ran
		has_message sticky/link
		[ ! -e ran ]
		[ -z "$(ls target)" ]
	done
	chown -h 0 sticky/link
	for option in --lock --cleanup --report --tee; do
		ends 0 "$option=sticky/link/x" true
		rm -f target/x
	done

	# The link is what is to be written, or leads there in two steps.
	ln -s ../target/x sticky/last
	chown -h 65534 sticky/last
	ln -s sticky/last first
	ends 125 --tee=sticky/last touch ran
	ends 125 --tee=first touch ran
	[ ! -e ran ]
	[ -z "$(ls target)" ]
	chown -h 0 sticky/last
	complete "$WDRUN" --tee=first echo text
	[ "$(<target/x)" = text ]
}
