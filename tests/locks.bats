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

begun=()
inside='mkdir inside || exit; i=0
	while [ $((i += 1)) -lt 2000 ]; do :; done; exec rmdir inside'

# begin_runs NUMBER OPTION...: starts so many runs, each without a wait for the
# ones before, whose command fails while another one is inside.
begin_runs() {
	local i
	for ((i = 0; i < $1; i++)); do
		"$WDRUN" "${@:2}" sh -c "$inside" 2>>err 3>&- &
		begun+=($!)
	done
}

# Waits for these runs. Sets ran to how many got the lock; the others had 75.
end_runs() {
	local pid
	ran=0
	for pid in "${begun[@]}"; do
		status=0
		wait "$pid" || status=$?
		[[ $status == @(0|75) ]]
		((status == 75)) || ((ran += 1))
	done
	begun=()
}

@test "runs at once on one lock, or on two in opposite orders, never overlap, and none is lost, also where a script removes and makes it again and again; without a wait each ran alone or not at all" {
	dead_pid >lock
	cp lock dead
	begin_runs 6 --lock=lock --lock-wait=1000
	end_runs
	[ "$ran" -eq 6 ]
	has_line_count 1 err # by the run that took it over
	has_message "$(<dead)"

	: >err
	for _ in 1 2; do
		begin_runs 1 -l a -l b -w 1000
		begin_runs 1 -l b -l a -w 1000
	done
	end_runs
	[ "$ran" -eq 4 ]
	[ ! -s err ]

	begin_runs 5 --lock=lock
	end_runs
	((ran >= 1))
	is_none lock a b

	# They may overlap: their lock is removed while it is held.
	inside=true
	begin_runs 5 --lock=lock --lock-wait=1000
	for _ in {1..10}; do
		rm -f lock
		: >lock
	done
	end_runs
	[ "$ran" -eq 5 ]
}

# --- busy --------------------------------------------------------------------

# is_busy STATUS OPTION...: a run with these options, too, does not get the lock.
is_busy() {
	ends "$1" --lock=lock "${@:2}" touch ran
	[ ! -e ran ]
}

# bats test_tags=smoke
@test "a held lock is told with its holder, status 75 or that of --lock-exit, nothing is run, and of several locks none is taken; flock(1) finds it held, too" {
	hold_lock --lock=other
	is_busy 75
	has_line_count 1 err
	has_message --lock "$holder"
	is_busy 0 --lock-exit=0
	is_busy 255 -E 255 --quiet
	[ ! -s err ]
	is_busy 4 -w 100ms -E 4
	has_message --lock "$holder"
	ends 75 --lock=a --lock=other --lock=z touch ran
	has_message --lock "$holder"
	is_none ran a z
	is_in lock "$holder"
	is_in other "$holder"

	no flock -n lock true
	no bash -c 'exec 9>lock; exec flock -n 9' # a shell empties the file
	[ ! -s lock ]
	is_busy 75
	release
	is_none lock other

	# It is the caller's, and so wdrun's own.
	complete bash -c 'exec 9>lock; flock 9; exec "$WDRUN" --lock=lock true'
	[ "$status" -eq 75 ]
	has_message --lock lock
}

# --- the file ----------------------------------------------------------------

@test "the file holds the PID of wdrun and a newline, and only its owner may write it, whatever the umask; the command has no descriptor of it" {
	local mask before pid
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
	: >lock # one is there, the second is made
	complete "$WDRUN" --lock=lock --lock=second --cleanup=file \
		--cleanup=no/file -i1000 sh -c 'cd /proc/self/fd; echo *'
	[ "$output" = "$before" ]
}

# removed_with STATUS COMMAND...: a run that has the lock ends with STATUS, and
# its lock is gone.
removed_with() {
	ends "$1" --lock=lock "${@:2}"
	[ ! -e lock ]
}

@test "the file is removed however the run ends, with the status of the run" {
	removed_with 3 --lock-exit=9 sh -c 'exit 3'
	removed_with 127 ./no-such-command
	removed_with 126 /
	removed_with 124 -t 100ms sleep 1000
	removed_with 137 sh -c 'kill -KILL $$'
	removed_with 143 sh -c 'kill -TERM "$(cat lock)"; exec sleep 1000'
}

# bats test_tags=tree,slow
@test "the lock is held as long as one process of the tree lives, and not by a survivor of an earlier run" {
	hold "$WDRUN" --lock=lock --survivors=wait \
		"$PROGRAMS/escape" -x 0 fork setsid
	# shellcheck disable=SC2034 # for find_watchers
	front=$holder
	find_watchers
	wait_until is_zombie "$target"
	no flock -n lock true
	is_busy 75
	is_in lock "$holder"
	release
	[ ! -e lock ]

	ends 0 --lock=lock --survivors=leave -i1000 \
		"$PROGRAMS/escape" -x 0 fork setsid
	[ ! -e lock ]
	says_ready out
	is_alive "$ready"
	is_taken
	end_leftovers
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

@test "16 locks are taken, or none where one of them cannot be; one lock under several names is no deadlock" {
	local names
	ends 125 --lock=a --lock=no/such/lock touch ran
	is_none a ran
	ends 0 --lock={a..p} --cleanup={A..P} sh -c 'ls [a-p]; echo $$ >P'
	has_line_count 16 out
	is_none '[a-pA-P]'

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

@test "a script's PID lock is respected as long as it lives, with blanks around the PID, where times are rounded, and when it becomes wdrun by exec; then it is taken over, which is told" {
	local dead text
	hold_by_script
	is_busy 75
	has_message --lock "$held_by"
	touch -d '10 seconds ago' lock # as where a file server's clock is late
	is_busy 75
	is_in lock "$held_by"
	for text in '\t%s\r\n' '\n%s '; do
		# shellcheck disable=SC2059 # it is a format
		printf "$text" "$held_by" >lock
		is_busy 75
	done

	# A process that got the PID later.
	touch -d '1 hour ago' lock
	is_taken_over "$held_by"
	is_alive "$held_by"
	release
	echo "$held_by" >lock
	is_taken_over "$held_by"
	printf '\t%s\r\n' "$held_by" >lock
	is_taken --quiet
	: >lock # an empty file is nobody's
	is_taken

	# Who was its parent, and is another program now, does not reap a zombie.
	hold sh -c '"$PROGRAMS/escape" --live & echo $! >lock
		echo "ready $$"; exec sleep 1000'
	wait_until grep -q sleep "/proc/$held_by/comm"
	dead=$(<lock)
	kill -KILL "$dead"
	wait_until is_zombie "$dead"
	is_taken_over "$dead"
	release

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
	local content i=0
	echo important >file
	dead_pid >stale
	ln -s file to-file
	ln -s stale to-stale
	ln -s loop loop
	mkfifo fifo
	mkdir directory
	for content in 'Dear diary\n' '4711 4712\n' '0\n' '-5\n' '4711\0'; do
		((i += 1))
		# shellcheck disable=SC2059
		printf -- "$content" >"precious$i"
	done
	printf '\377\376\1\200%.0s' {1..1000} >binary
	truncate -s 4T huge || truncate -s 8G huge
	refused to-file to-stale loop fifo directory directory/ . precious* \
		binary huge file/lock /proc/lock no/such/lock
	has_message no/such/lock
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
	mkdir -m 1777 sticky
	dead_pid | tee group/lock >sticky/lock
	chown 65534 group/lock
	ends 0 --lock=group/lock --lock=sticky/lock true
	has_line_count 2 err
	is_none '*/lock'

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
@test "each file is reached through symbolic links" {
	mkdir target
	ln -s target link
	ln -s link/x last
	ln -s last first
	ends 0 --lock=link/lock --cleanup=link/file --report=link/report \
		--tee=first sh -c 'ls target; echo $$ >target/file'
	is_in out $'lock\nx'
	is_in target/x $'lock\nx'
	is_none target/lock target/file
	[ -s target/report ]
}
