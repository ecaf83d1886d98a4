#!/usr/bin/env bats
#
# Promise 5: --lock. Runs on one lock do not overlap, no run is lost, and no
# lock outlives its run. (random_kill.bats shows what is left of a run that is
# killed at any moment.)
#
# shellcheck disable=SC2016,SC2154,SC2030,SC2031

load helper
load relays
load locks

setup() {
	common_setup
	# Runs under a lock, and notes in the file log when it enters and
	# leaves.
	printf '%s\n' '#!/bin/sh' 'echo "enter $$" >>log' \
		'for i in 1 2 3 4 5 6 7 8 9; do : >>log; done' \
		'echo "leave $$" >>log' >inside
	# Takes a PID lock as scripts usually do, then runs its arguments with
	# the lock held.
	printf '%s\n' '#!/bin/bash' 'if [ -f lock ] && kill -0 "$(cat lock)"; then' \
		'echo "held by $(cat lock)"' 'exit 11' 'fi' \
		'echo $$ >lock' 'echo "ready $$"' 'eval "$@"' >script
	chmod +x inside script
}

# contend [OPTION]...: starts a run that wants the lock, and waits until the run
# waits.
contend() {
	start "$WDRUN" --lock=lock "$@" ./inside
	wait_until is_waiting "$started"
}

# The run that was started has had the lock, and no process has it now.
got_it() {
	local lines
	[ "$status" -eq 0 ]
	mapfile -t lines <log
	[ "${lines[*]}" = "enter ${lines[0]#enter } leave ${lines[0]#enter }" ]
	[ ! -e lock ]
}

# No run was inside while another one was.
alternates() {
	awk '
		NR % 2 == 1 && $1 != "enter" { exit bad = 1 }
		NR % 2 == 0 && ($1 != "leave" || $2 != pid) { exit bad = 1 }
		{ pid = $2 }
		END { exit bad || NR % 2 == 1 }' log
}

# at_once NUMBER OPTION...: starts so many runs, each without a wait for the
# ones before. Sets statuses to how many had which status, as `0:50`.
at_once() {
	local -
	set +T
	local i number=$1 pids=()
	shift
	: >log
	for ((i = 0; i < number; i++)); do
		"$WDRUN" "$@" ./inside 2>>errors 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		status=0
		wait "$i" || status=$?
		echo "$status"
	done >ended
	statuses=$(sort -n ended | uniq -c | awk '{ print $2 ":" $1 }' | xargs)
	echo "statuses $statuses"
	head -n 20 errors
}

# --- many runs ---------------------------------------------------------------

@test "50 runs at once on one lock never overlap, and none is lost" {
	at_once 50 --lock=lock --lock-wait=200

	[ "$statuses" = 0:50 ]
	alternates
	[ "$(grep -c enter log)" -eq 50 ]
	[ ! -s errors ]
	[ ! -e lock ]
}

@test "50 runs at once on a lock that a dead one has left never overlap" {
	dead_pid >lock

	at_once 50 --lock=lock --lock-wait=200

	[ "$statuses" = 0:50 ]
	alternates
	[ "$(grep -c enter log)" -eq 50 ]
	[ "$(grep -c "took '.*lock' over from PID" errors)" -eq 1 ]
	[ ! -e lock ]
}

@test "20 runs at once on an empty lock file never overlap" {
	: >lock

	at_once 20 --lock=lock --lock-wait=200

	[ "$statuses" = 0:20 ]
	alternates
}

@test "of runs at once that do not wait, each ran alone or not at all" {
	at_once 30 --lock=lock

	[[ $statuses =~ ^0:([0-9]+)(" 75:"[0-9]+)?$ ]]
	alternates
	[ "$(grep -c enter log)" -eq "${BASH_REMATCH[1]}" ]
	[ ! -e lock ]
}

@test "runs whose output is relayed do not overlap either" {
	at_once 20 --lock=lock --lock-wait=200 --idle-timeout=200

	[ "$statuses" = 0:20 ]
	alternates
}

# --- busy --------------------------------------------------------------------

@test "a held lock is reported with its holder, status 75, and nothing is run" {
	hold_lock
	complete "$WDRUN" --lock=lock touch ran

	[ "$status" -eq 75 ]
	[ ! -e ran ]
	[[ $(told) == "wdrun: --lock: 'lock' is held by PID $holder ("*")" ]]
	[ "$(cat lock)" = "$holder" ]
	release
}

@test "--lock-exit changes the status of a held lock" {
	local code
	hold_lock
	for code in 0 1 255; do
		complete "$WDRUN" --lock=lock --lock-exit="$code" touch ran
		[ "$status" -eq "$code" ]
		[ ! -e ran ]
	done
	complete "$WDRUN" -l lock -E 3 touch ran
	[ "$status" -eq 3 ]
	release
}

@test "--lock-exit takes 0 to 255 only" {
	local code
	for code in 256 -1 '' x 1x 99999999999999999999 0x10; do
		complete "$WDRUN" --lock=lock --lock-exit="$code" touch ran
		[ "$status" -eq 125 ]
		[[ $stderr == "wdrun: --lock-exit: "* ]]
		[ ! -e ran ]
		[ ! -e lock ]
	done
}

@test "--lock-exit is not the status of a run that got its lock" {
	complete "$WDRUN" --lock=lock --lock-exit=9 sh -c 'exit 5'

	[ "$status" -eq 5 ]
}

@test "--quiet finds a held lock without a message" {
	hold_lock
	complete "$WDRUN" -q --lock=lock touch ran

	[ "$status" -eq 75 ]
	[ -z "$stderr" ]
	release
}

@test "--lock-wait gets the lock when it is free" {
	hold_lock
	contend --lock-wait=200
	[ ! -e log ]

	release
	finish

	got_it
	[ -z "$stderr" ]
}

@test "--lock-wait=never waits for as long as it takes" {
	hold_lock
	contend -w never

	release
	finish

	got_it
}

@test "--lock-wait gives up after its time, with the status of a held lock" {
	hold_lock
	SECONDS=0
	complete "$WDRUN" --lock=lock --lock-wait=300ms touch ran

	[ "$status" -eq 75 ]
	((SECONDS < 100))
	[ ! -e ran ]
	[[ $(told) == "wdrun: --lock: 'lock' is held by PID $holder ("* ]]
	complete "$WDRUN" --lock=lock --lock-wait=100ms --lock-exit=4 touch ran
	[ "$status" -eq 4 ]
	release
}

@test "the time for the lock is not the command's: --timeout begins with it" {
	hold_lock
	start "$WDRUN" --lock=lock --lock-wait=60 --timeout=20s ./inside
	wait_until is_waiting "$started"

	release
	finish

	got_it
}

@test "a run that waits for a lock does not wake up" {
	hold_lock
	contend --lock-wait=200
	wait_until sleeps_on "$started" # at first it may still be setting itself up
	release
	finish
}

# sleeps_on PID: the process has not given up the CPU or lost it for a second.
sleeps_on() {
	local before
	before=$(grep ctxt "/proc/$1/status")
	pause 1
	[ "$(grep ctxt "/proc/$1/status")" = "$before" ]
}

@test "a bad --lock-wait, an empty name and a 17th lock are refused" {
	local arguments
	for arguments in --lock-wait=x --lock= -l; do
		complete "$WDRUN" "$arguments" '' touch ran
		[ "$status" -eq 125 ]
	done
	mapfile -t arguments < <(seq -f '--lock=l%g' 17)
	complete "$WDRUN" "${arguments[@]}" touch ran
	[ "$status" -eq 125 ]
	[ "$stderr" = "wdrun: --lock: 'l17' is not accepted: the option can be given 16 times at most" ]
	[ ! -e ran ]
	[ -z "$(find . -name 'l[0-9]*')" ]

	complete "$WDRUN" "${arguments[@]:0:16}" cat l16
	[ "$status" -eq 0 ]
	[ "$output" = "$started" ]
	[ -z "$(find . -name 'l[0-9]*')" ]
}

# --- the file ----------------------------------------------------------------

@test "the file holds the PID of wdrun and a newline while the command runs" {
	complete "$WDRUN" --lock=lock cp lock copy

	cmp copy - <<<"$started"
}

@test "the file is removed however the run ends" {
	local signal
	complete "$WDRUN" --lock=lock true
	[ ! -e lock ]
	complete "$WDRUN" --lock=lock sh -c 'exit 3'
	[ "$status" -eq 3 ] && [ ! -e lock ]
	complete "$WDRUN" --lock=lock ./no-such-command
	[ "$status" -eq 127 ] && [ ! -e lock ]
	complete "$WDRUN" --lock=lock /
	[ "$status" -eq 126 ] && [ ! -e lock ]
	complete "$WDRUN" --lock=lock -t 100ms sleep 1000
	[ "$status" -eq 124 ] && [ ! -e lock ]
	complete "$WDRUN" --lock=lock sh -c 'kill -KILL $$'
	[ "$status" -eq 137 ] && [ ! -e lock ]
	for signal in INT TERM HUP QUIT; do
		hold_lock
		kill -s "$signal" "$holder"
		kill -KILL "$held_by" 2>/dev/null || true
		wait_until is_dead "$holder"
		wait "$holder" || true
		[ ! -e lock ]
	done
}

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

@test "the file is made with the caller's umask" {
	complete sh -c 'umask 022; "$WDRUN" --lock=lock stat -c %a lock
		umask 077; "$WDRUN" --lock=lock stat -c %a lock'

	[ "$output" = $'644\n600' ]
}

@test "a file that has taken the place of the lock's is not removed" {
	complete "$WDRUN" --lock=lock sh -c 'rm lock; echo important >lock'
	[ "$status" -eq 0 ]
	[ "$(cat lock)" = important ]

	complete "$WDRUN" --lock=other sh -c 'rm other; mkdir other'
	[ "$status" -eq 0 ]
	[ -d other ]

	echo important >file
	complete "$WDRUN" --lock=third sh -c 'rm third; ln -s file third'
	[ "$status" -eq 0 ]
	[ -L third ]
	[ "$(cat file)" = important ]
}

@test "a lock file that is missing at the end is no error" {
	complete "$WDRUN" --lock=lock rm lock

	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
}

@test "a lock whose directory is missing at the end is no error" {
	mkdir place
	complete "$WDRUN" --lock=place/lock rm -r place

	[ "$status" -eq 0 ]
	[ ! -e place ]
}

@test "the command does not inherit the lock" {
	local option
	for option in -t60 -i60 --survivors=wait; do
		complete "$WDRUN" --lock=lock "$option" bash -c '
			[ -e lock ] || echo "no lock"
			for file in /proc/$$/fd/*; do
				[ ! "$file" -ef lock ] || echo "$file"
			done'
		[ "$status" -eq 0 ]
		[ -z "$output" ]
	done
}

@test "the command has no descriptor more than without locks" {
	complete sh -c 'ls /proc/self/fd'
	mv out before
	complete "$WDRUN" --lock=lock --cleanup=file --cleanup=no/file \
		--name=n --registry=registry ls /proc/self/fd

	[ "$status" -eq 0 ]
	cmp out before
}

@test "a background survivor of an earlier run does not hold the lock" {
	local option
	for option in -t60 -i60; do
		complete "$WDRUN" --lock=lock --survivors=leave "$option" \
			"$PROGRAMS/escape" -x 0 fork setsid
		[ "$status" -eq 0 ]
		[ ! -e lock ]
		read -r _ survivor <out
		is_alive "$survivor"

		complete "$WDRUN" --lock=lock ./inside

		got_it
		[ -z "$stderr" ]
		end_leftovers
		rm log
	done
}

# --- several -----------------------------------------------------------------

@test "of several locks all are held, and all are gone" {
	complete "$WDRUN" --lock=a --lock=b --lock=c sh -c 'cat a b c
		for lock in a b c; do ! flock -n $lock true || echo free; done'

	[ "$status" -eq 0 ]
	[ "$output" = "$(printf '%s\n' "$started" "$started" "$started")" ]
	[ ! -e a ] && [ ! -e b ] && [ ! -e c ]
}

@test "of several locks all are taken or none" {
	hold_lock
	complete "$WDRUN" --lock=a --lock=lock --lock=b touch ran

	[ "$status" -eq 75 ]
	[ ! -e ran ] && [ ! -e a ] && [ ! -e b ]
	[[ $(told) == "wdrun: --lock: 'lock' is held"* ]]
	[ "$(cat lock)" = "$holder" ]
	release
}

@test "a lock that cannot be had is 125, and the others are not left behind" {
	complete "$WDRUN" --lock=a --lock=no/such/lock touch ran

	[ "$status" -eq 125 ]
	[ ! -e ran ] && [ ! -e a ]
}

@test "runs with two locks in opposite orders do not wait for each other" {
	local -
	set +T
	local i pids=()
	for i in {1..20}; do
		"$WDRUN" -l a -l b -w 200 ./inside 2>>errors 3>&- &
		pids+=($!)
		"$WDRUN" -l b -l a -w 200 ./inside 2>>errors 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i"
	done

	alternates
	[ "$(grep -c enter log)" -eq 40 ]
	[ ! -s errors ]
	[ ! -e a ] && [ ! -e b ]
}

@test "no run holds one lock while it waits for another" {
	local i
	hold_lock
	start "$WDRUN" -w 60 --lock=a --lock=lock --lock=b ./inside
	wait_until is_waiting "$started"

	for i in {1..10}; do
		complete_beside --lock=a --lock=b true
	done

	release
	finish
	got_it
	[ ! -e a ] && [ ! -e b ]
}

# complete_beside ARGUMENT...: completes a run beside the run that was started.
# For the moment in which that run looks whether all locks are free, a lock may
# be held.
complete_beside() {
	"$WDRUN" --lock-wait=200 "$@" 3>&-
}

@test "the same lock twice, however it is spelt, is no deadlock" {
	local other
	ln -s . here
	for other in lock ./lock "$PWD/lock" ../"${PWD##*/}"/lock here/lock; do
		complete "$WDRUN" -w 100 --lock=lock --lock="$other" ./inside
		got_it
		rm log

		# A file that was there before.
		dead_pid >lock
		complete "$WDRUN" -w 100 --lock="$other" --lock=lock ./inside
		got_it
		rm log
	done
}

@test "two names of one lock file do not make a run wait for itself" {
	: >lock
	ln lock second
	complete "$WDRUN" -w 1 --lock=lock --lock=second true

	[[ $status =~ ^(0|75|125)$ ]]
}

# --- scripts that know nothing of flock --------------------------------------

@test "a script's PID lock is respected" {
	hold ./script 'exec sleep 1000'
	complete "$WDRUN" --lock=lock touch ran

	[ "$status" -eq 75 ]
	[ ! -e ran ]
	[[ $(told) == "wdrun: --lock: 'lock' is held by PID $held_by ("*sleep* ]]
	[ "$(cat lock)" = "$held_by" ]
	release
}

@test "a PID lock that a script takes as soon as it starts is respected" {
	local i
	for i in {1..10}; do
		rm -f lock
		hold sh -c 'echo $$ >lock; echo "ready $$"; exec sleep 1000'
		complete "$WDRUN" --lock=lock touch ran
		[ "$status" -eq 75 ]
		release
	done
}

@test "a script finds the lock held by a run" {
	hold_lock
	complete ./script

	[ "$status" -eq 11 ]
	[ "$output" = "held by $holder" ]
	release

	complete ./script 'rm lock'
	[ "$status" -eq 0 ]
	[ "$output" = "ready $started" ]
}

@test "a script that has the lock and becomes wdrun by exec keeps it" {
	complete bash -c 'echo $$ >lock
		exec "$WDRUN" --lock=lock cat lock'

	[ "$status" -eq 0 ]
	[ "$output" = "$started" ]
	[ ! -e lock ]
}

@test "the lock of a dead script is taken over, and a message says so" {
	dead_pid >lock
	dead=$(<lock)
	complete "$WDRUN" --lock=lock cp lock copy

	[ "$status" -eq 0 ]
	[ "$(told)" = "wdrun: --lock: took 'lock' over from PID $dead, which is dead" ]
	cmp copy - <<<"$started"
	[ ! -e lock ]
}

@test "--quiet takes a lock over without a message" {
	dead_pid >lock
	complete "$WDRUN" -q --lock=lock true

	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[ ! -e lock ]
}

@test "--lock-wait gets the lock of a script that removes it and lives on" {
	hold ./script 'until [ -e go ]; do sleep 0.02; done; rm lock
		exec sleep 1000'
	contend --lock-wait=200

	touch go
	finish

	got_it
	is_alive "$held_by"
	release
}

@test "--lock-wait gets the lock of a script that ends" {
	hold ./script 'until [ -e go ]; do sleep 0.02; done; rm lock'
	contend --lock-wait=200

	touch go
	finish

	got_it
	wait "$holder"
}

@test "--lock-wait gets the lock of a script that is killed" {
	hold ./script 'sleep 1000 & wait'
	contend --lock-wait=200

	release
	finish

	got_it
	[[ $(told) == *"took 'lock' over from PID $held_by, which is dead" ]]
	end_leftovers
}

@test "--lock-wait waits on when another script has the lock by then" {
	hold ./script 'exec sleep 1000'
	first=$held_by
	contend --lock-wait=200
	start_second

	kill -KILL "$first"
	# Now the second script has the lock. A run that had taken it would show
	# at once.
	sleep 0.3
	wait_until is_waiting "$started"
	[ ! -e log ]
	[ "$(cat lock)" = "$second" ]

	kill -KILL "$second"
	finish
	got_it
	wait "$holder" "$second" || true
}

# Another script, which has seen no lock, writes its PID. The lock is never
# empty: an empty lock is nobody's.
start_second() {
	sleep 1000 3>&- &
	second=$!
	echo "$second" 1<>lock
	truncate -s $((${#second} + 1)) lock
}

@test "wdrun and scripts take the lock from each other in turn" {
	local i
	for i in {1..5}; do
		complete "$WDRUN" --lock=lock ./inside
		got_it
		rm log
		complete ./script 'echo inside; rm lock'
		[ "$status" -eq 0 ]
		[ ! -e lock ]
		complete ./script 'echo and leaves it'
		[ "$status" -eq 0 ]
	done
}

@test "flock(1) holds the lock, and is waited for" {
	hold bash -c 'exec 9>lock; flock 9; echo "ready $$"; exec sleep 1000'
	complete "$WDRUN" --lock=lock touch ran
	[ "$status" -eq 75 ]
	[ ! -e ran ]
	[[ $(told) == "wdrun: --lock: 'lock' is held by "* ]]

	contend --lock-wait=200
	release
	finish
	got_it
}

@test "flock(1) finds the lock held, and gets it when the run is over" {
	hold_lock
	complete flock -n lock touch ran
	[ "$status" -eq 1 ]
	[ ! -e ran ]
	start flock -w 60 lock ./inside

	release
	finish
	[ "$status" -eq 0 ]
	[ "$(wc -l <log)" -eq 2 ]
}

@test "an empty file is not a held lock" {
	: >lock
	complete "$WDRUN" --lock=lock ./inside

	got_it
	[ -z "$stderr" ]
}

@test "the lock of a zombie is stale" {
	# The zombie stays, since the shell that started it has become another
	# program.
	hold bash -c '(until [ "$(<"/proc/$$/comm")" = sleep ]; do
			sleep 0.02
		done) &
		echo $! >lock; echo "ready $$"; exec sleep 1000'
	dead=$(<lock)
	wait_until is_zombie "$dead"
	complete "$WDRUN" --lock=lock ./inside

	got_it
	[[ $(told) == *"took 'lock' over from PID $dead, which is dead" ]]
	release
}

@test "a process that got the PID of a dead script does not hold its lock" {
	hold sh -c 'echo $$ >lock; echo "ready $$"; exec sleep 1000'
	touch -d '1 hour ago' lock
	complete "$WDRUN" --lock=lock ./inside

	got_it
	[ "$(told)" = "wdrun: --lock: took 'lock' over from PID $held_by, which now belongs to another process" ]
	is_alive "$held_by"
	release
}

@test "a PID with blanks around it, or without a newline, makes a lock" {
	local text
	hold sh -c 'echo "ready $$"; exec sleep 1000'
	for text in ' %s \n' '%s' '\t%s\n\n' '%s\r\n' '\n%s'; do
		# shellcheck disable=SC2059 # it is a format
		printf "$text" "$held_by" >lock
		complete "$WDRUN" --lock=lock touch ran
		[ "$status" -eq 75 ]

		# shellcheck disable=SC2059
		printf "$text" "$(dead_pid)" >lock
		complete "$WDRUN" --lock=lock ./inside
		got_it
		rm log
	done
	[ ! -e ran ]
	release
}

# --- what is no lock file ----------------------------------------------------

# refused LOCK: a run with that lock does not start, and one line says why.
refused() {
	complete "$WDRUN" --lock="$1" --lock-wait=20 touch ran

	[ "$status" -eq 125 ]
	[ ! -e ran ]
	[ "$(wc -l <err)" -eq 1 ]
	[[ $stderr == "wdrun: --lock: "* ]]
}

@test "symbolic links are refused as locks, wherever they lead" {
	echo important >file
	dead_pid >stale
	ln -s file to-file
	ln -s stale to-stale
	ln -s nothing dangling
	ln -s loop loop
	for link in to-file to-stale dangling loop; do
		refused "$link"
		[ -L "$link" ]
	done
	[ "$(cat file)" = important ]
	[ -s stale ]
	[ ! -e nothing ]
}

@test "a FIFO is refused as a lock, and nothing hangs" {
	mkfifo fifo
	refused fifo
	[ -p fifo ]
}

# The test makes its own device: if wdrun were wrong, root would remove the
# machine's.
@test "a device is refused as a lock" {
	need_root
	mknod null c 1 3
	mknod zero c 1 5
	mknod disk b 7 200
	refused null
	refused zero
	refused disk
	[ -c null ] && [ -c zero ] && [ -b disk ]
}

@test "a directory is refused as a lock" {
	mkdir directory
	refused directory
	refused directory/
	refused .
	[ -d directory ]
}

@test "a socket is refused as a lock" {
	need python3
	python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
	refused socket
	[ -S socket ]
}

@test "a file that was given by mistake is left untouched" {
	local content
	for content in 'Dear diary\n' '4711 4712\n' '4711\n4712\n' '4711x\n' \
		'PID 4711\n' '0\n' '-5\n' '+5\n' '99999999999\n' '4711.0\n' \
		'99999999999999999999999999\n' '0x12\n' '-1\n' '4711\0' '\0'; do
		# shellcheck disable=SC2059
		printf -- "$content" >precious
		cp -p precious copy
		refused precious
		cmp precious copy
		[ ! precious -nt copy ]
	done
}

@test "binary content is not a PID" {
	head -c 4096 /dev/urandom | tr -d ' \n\t0-9' >precious
	cp precious copy
	refused precious
	cmp precious copy
}

@test "a huge file is refused at once" {
	truncate -s 4T precious || truncate -s 8G precious
	size=$(stat -c %s precious)
	refused precious
	[ "$(stat -c %s precious)" -eq "$size" ]
}

@test "another user's file in a sticky directory is refused" {
	need_root
	mkdir sticky
	chmod 1777 sticky
	: >sticky/empty
	dead_pid >sticky/stale
	chown 65534 sticky/empty sticky/stale
	cp -p sticky/stale copy

	refused sticky/empty
	refused sticky/stale

	cmp sticky/stale copy
	[ "$(stat -c '%u %s' sticky/empty)" = '65534 0' ]
}

@test "a user's own file in a sticky directory can be a lock" {
	mkdir sticky
	chmod 1777 sticky
	dead_pid >sticky/lock
	complete "$WDRUN" --lock=sticky/lock true

	[ "$status" -eq 0 ]
	[ ! -e sticky/lock ]
}

@test "a directory that cannot be written is reported" {
	mkdir closed
	if ((EUID == 0)); then
		need_mounts
		complete unshare --mount sh -c '
			mount -t tmpfs -o ro none closed &&
			exec "$WDRUN" --lock=closed/lock touch ran'
	else
		chmod 555 closed
		complete "$WDRUN" --lock=closed/lock touch ran
	fi

	[ "$status" -eq 125 ]
	[ ! -e ran ]
	[[ $stderr == "wdrun: --lock: "*closed/lock* ]]
	chmod 755 closed
}

@test "where the kernel or the file system has no locks, that is reported, and no file stays" {
	local without
	: >old
	for without in flock 'flock linkat'; do
		# shellcheck disable=SC2086
		complete "$PROGRAMS/deny" $without -- "$WDRUN" --lock=new \
			--lock=old touch ran
		[ "$status" -eq 125 ]
	done
	[[ $stderr == "wdrun: --lock: '"*"not implemented" ]]
	[ ! -e ran ]
	[ ! -e new ]
	[ -e old ]
}

@test "a missing directory, and names that are too long, are reported" {
	refused no/such/lock
	[[ $(told) == *"'no/such/lock'"*"No such file"* ]]
	refused "$(printf 'x%.0s' {1..300})"
	refused "$(printf 'x/%.0s' {1..3000})lock"
	: >file
	refused file/lock
	[ -z "$(find . -name lock)" ]
}

@test "a relative lock in a working directory that was removed is reported" {
	mkdir gone
	start sh -c 'cd gone && rmdir ../gone &&
		exec "$WDRUN" --lock=lock touch "$WDRUN_TEST/ran"'
	finish

	[ "$status" -eq 125 ]
	[ ! -e ran ]
	[[ $stderr == "wdrun: --lock: "* ]]
}

@test "an absolute lock is taken though the working directory was removed" {
	mkdir gone
	complete sh -c 'cd gone && rmdir ../gone &&
		exec "$WDRUN" --lock="$WDRUN_TEST/lock" cat "$WDRUN_TEST/lock"'

	[ "$status" -eq 0 ]
	[ "$output" = "$started" ]
	[ ! -e lock ]
}

@test "runs get the lock while a script removes and makes it all the time" {
	local -
	set +T
	(
		until [ -e stop ]; do
			rm -f lock
			: >lock
			rm -f lock
			sleep 0.003
		done
	) 3>&- &
	spoiler=$!
	at_once 30 --lock=lock --lock-wait=20
	touch stop
	wait "$spoiler"

	[[ $statuses =~ ^(0:[0-9]+)?" "?(75:[0-9]+)?$ ]]
	[ "$(grep -c enter log)" -eq "$(grep -cx 0 ended)" ]
	no grep -qv "took '.*lock' over\|is held by" errors
}

# --- signals while it waits --------------------------------------------------

@test "a run that waits for a lock is ended by the signal that it gets" {
	local signal
	hold_lock
	touch out err
	before=$(find . | sort)
	for signal in TERM INT HUP QUIT; do
		start "$WDRUN" -w 60 --lock=a --lock=lock touch ran
		wait_until is_waiting "$started"
		kill -s "$signal" "$started"
		finish
		[ "$status" -eq $((128 + $(kill -l "$signal"))) ]
		[ ! -e ran ] && [ ! -e a ]
		[ "$(cat lock)" = "$holder" ]
	done
	[ "$(find . | sort)" = "$before" ]
	release
	[ ! -e lock ]
}

@test "a run that waits for a script's lock is ended by the signal that it gets" {
	hold ./script 'exec sleep 1000'
	contend --lock-wait=200
	kill -TERM "$started"
	finish

	[ "$status" -eq 143 ]
	[ ! -e log ]
	[ "$(cat lock)" = "$held_by" ]
	release
}

# contend_as_job: as contend, in a job of its own, since SIGTSTP does not stop
# an orphaned process group. Stops the run. Sets ready. The shell prints `over
# STATUS` at the end.
contend_as_job() {
	start bash -mc '"$WDRUN" --lock=lock --lock-wait=200 ./inside &
		echo "ready $!"
		status=148 # stopped
		while ((status > 128)); do wait $!; status=$?; done
		echo "over $status"'
	await_ready
	wait_until is_waiting "$ready"
	kill -TSTP "$ready"
	wait_until is_stopped "$ready"
}

@test "Ctrl-Z stops a run that waits for a lock, and fg has it go on" {
	hold_lock
	contend_as_job

	kill -CONT "$ready"
	wait_until is_waiting "$ready"
	release
	finish

	got_it
	[[ $output == *"over 0" ]]
}

@test "a lock that becomes free while the waiting run is stopped is taken later" {
	hold_lock
	contend_as_job

	release
	kill -CONT "$ready"
	finish

	got_it
	[[ $output == *"over 0" ]]
}

@test "kill -9 of a run that waits for a lock leaves nothing" {
	local holds
	hold_lock
	for holds in run script; do
		start "$WDRUN" -w 60 --lock=a --lock=lock touch ran
		wait_until is_waiting "$started"
		kill -KILL "$started"
		finish
		[ "$status" -eq 137 ]
		[ ! -e ran ] && [ ! -e a ]
		is_alive "$held_by"
		release
		wait_until nobody_is_left
		[ "$holds" = script ] || hold ./script 'exec sleep 1000'
	done
	rm lock
	complete "$WDRUN" --lock=a --lock=lock ./inside
	got_it
	[ -z "$stderr" ]
}

# --- kill -9 of those who hold it --------------------------------------------

# hold_stubbornly [OPTION]...: starts a run with a process that only the end of
# the tree ends. Sets front and supervisor.
hold_stubbornly() {
	hold "$WDRUN" --lock=lock "$@" "$PROGRAMS/escape" fork setsid stubborn
	front=$holder
	supervisor=$(supervisor_of "$front")
}

# The front is stopped first, since it would continue the supervisor.
stop_both() {
	kill -STOP "$front"
	wait_until is_stopped "$front"
	kill -STOP "$supervisor"
	wait_until is_stopped "$supervisor"
}

# gone_after PID...: kills these with SIGKILL, and the lock goes without a
# message.
gone_after() {
	kill -KILL "$@"
	wait_until no test -e lock
	wait_until nobody_is_left
	wait "$holder" || true

	complete "$WDRUN" --lock=lock ./inside
	got_it
	[ -z "$stderr" ]
	rm log
}

@test "kill -9 of the front frees the lock, and removes the file" {
	local option
	for option in -t60 -i60 -v; do
		hold_stubbornly "$option"
		gone_after "$front"
	done
}

@test "kill -9 of the supervisor frees the lock, and removes the file" {
	local option
	for option in -t60 -i60 -v; do
		hold_stubbornly "$option"
		gone_after "$supervisor"
	done
}

@test "the lock is held by both watchers, and as long as one of them lives" {
	local pid
	hold_stubbornly
	for pid in "$front" "$supervisor"; do
		has_open "$pid" lock
	done
	for pid in $(children_of "$supervisor") "$held_by"; do
		no has_open "$pid" lock
	done

	kill -STOP "$front"
	wait_until is_stopped "$front"
	kill -KILL "$supervisor"
	wait_until is_dead "$supervisor"
	complete flock -n lock true
	[ "$status" -eq 1 ]

	kill -CONT "$front"
	wait_until no test -e lock
	wait_until nobody_is_left
	wait "$holder" || true
}

has_open() {
	local file
	for file in "/proc/$1"/fd/*; do
		[ ! "$file" -ef "$2" ] || return 0
	done
	return 1
}

# A script must not take the lock of a tree that is not dead yet. The crowd
# takes time to die; as the test may look too late, it is done several times.
@test "when the front is killed, the file names the supervisor until all are dead" {
	local -
	set +T
	local pid
	for _ in {1..40}; do
		hold "$WDRUN" --lock=lock "$PROGRAMS/crowd" 400
		front=$holder
		supervisor=$(supervisor_of "$front")

		kill -KILL "$front"
		while { read -r pid <lock; } 2>/dev/null; do
			echo "$pid"
		done >seen
		wait_until nobody_is_left
		wait "$holder" || true

		no grep -qvx "$front\|$supervisor" seen
		named=$(tail -n 1 seen)
		[ "$named" != "$supervisor" ] || break
	done
	[ "$named" = "$supervisor" ]
}

@test "kill -9 of both frees the lock at once, and the next run takes it over" {
	local option
	for option in -t60 -i60 -v; do
		hold_stubbornly "$option"
		kill_both

		wait_until flock -n lock true
		is_alive "$held_by"
		complete "$WDRUN" --lock=lock ./inside
		got_it
		[ "$(told)" = "wdrun: --lock: took 'lock' over from PID $front, which is dead" ]
		rm log
		end_leftovers
		wait "$holder" || true
	done
}

# The supervisor is killed first: the death of the front orphans its process
# group, and the kernel then continues the stopped supervisor, setpgid(2).
kill_both() {
	stop_both
	kill -KILL "$supervisor" "$front"
	wait_until is_dead "$front"
	wait_until is_dead "$supervisor"
}

@test "--lock-wait gets the lock of a run both of whose watchers are killed" {
	hold_stubbornly
	contend --lock-wait=200
	kill_both
	finish

	got_it
	end_leftovers
	wait "$holder" || true
}
