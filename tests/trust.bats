#!/usr/bin/env bats
#
# What wdrun does beside other users and their files: it judges what it has
# opened, not what a name says, works at the end where it began, and touches
# only what is its own. Each test has an attack in it. The user 65534 is the
# attacker where the tests run as root.
#
# Starts first: its tests take long, one after the other.
#
# shellcheck disable=SC2016,SC2154,SC2030,SC2031

load helper
load orphans
load locks

# The directory of a test is open to this user alone: what another user has to
# reach is in $public.
setup() {
	common_setup
	public=$(mktemp -d /tmp/wdrun-trust.XXXXXX)
	chmod 755 "$public"
}

teardown() {
	rm -rf "${public:?}"
	common_teardown
}

# Runs a command as another user, who is in no group of ours.
as_other=(setpriv --reuid=65534 --regid=65534 --clear-groups)

# is_refused WHY ARGUMENT...: a run with these arguments does not begin, and one
# line says why.
is_refused() {
	complete "$WDRUN" "${@:2}" touch ran

	[ "$status" -eq 125 ]
	[ ! -e ran ]
	[ "$(wc -l <err)" -eq 1 ]
	[[ $stderr == "wdrun: "*"$1"* ]]
}

# --- locks -------------------------------------------------------------------

@test "another user's lock file, where others may write, is refused before anything else is looked at" {
	local place
	need_root
	mkdir -m 1777 sticky
	mkdir -m 777 open
	mkdir -m 1770 group
	mkdir -m 755 theirs
	for place in sticky open group theirs; do
		echo "$$" >"$place/held"
		dead_pid >"$place/stale"
		echo "no lock" >"$place/text"
		mkfifo "$place/fifo"
		chown 65534 "$place"/*
	done
	chown 65534 theirs
	for place in sticky open group theirs; do
		for file in held stale text fifo; do
			is_refused "it is another user's file, and others can write to its directory" --lock="$place/$file"
			[ "$(stat -c %u "$place/$file")" = 65534 ]
		done
	done
	[ "$(<sticky/held)" = "$$" ]
}

@test "a lock of root's holds for another user, and a group may share its locks" {
	need_root
	mkdir -m 1777 "$public/sticky"
	mkdir -m 770 "$public/group"
	cp "$WDRUN" "$public/wdrun"
	echo "$$" >"$public/sticky/lock"
	dead_pid >"$public/group/lock"
	chown 65534 "$public/group/lock"

	complete "${as_other[@]}" "$public/wdrun" --lock="$public/sticky/lock" true
	[ "$status" -eq 75 ]
	complete "$WDRUN" --lock="$public/group/lock" true
	[ "$status" -eq 0 ]
	[[ $stderr == *"took "*" over from "* ]]
}

# change_lock TEXT...: writes one TEXT after another into the file lock, until
# the file stop is there.
change_lock() {
	local -
	set +T
	while [ ! -e stop ]; do
		printf '%s' "${1-}" >lock
		(($# < 2)) || set -- "${@:2}" "$1"
	done 2>/dev/null 3>&-
}

# takes_at_most SECONDS COMMAND...
takes_at_most() {
	local begin=$SECONDS
	"${@:2}"
	((SECONDS - begin <= $1))
}

try_lock() {
	complete "$WDRUN" --quiet --lock=lock "$@" true
	[ "$status" -eq 0 ] || [ "$status" -eq 75 ]
}

cancel_wait() {
	start "$WDRUN" --quiet --lock=lock --lock-wait=never sleep 1000
	wait_until holds_here "$started"
	kill -TERM "$started"
	finish
	[ "$status" -eq 143 ]
}

# holds_here PID: PID is wdrun, and has opened the directory of the lock: from
# before that on, SIGTERM does not end it without a report.
holds_here() {
	[ "/proc/$1/exe" -ef "$WDRUN" ] &&
		[[ $(readlink "/proc/$1/fd"/*)$'\n' == *"$PWD"$'\n'* ]]
}

@test "a lock file that changes all the time is judged within the time, and a signal is heard meanwhile" {
	local changer texts
	for texts in '' '4194300 4194301 4194302'; do
		rm -f stop lock
		# shellcheck disable=SC2086
		change_lock $texts &
		changer=$!
		wait_until test -e lock

		takes_at_most 10 try_lock
		takes_at_most 10 try_lock --lock-wait=1
		takes_at_most 10 cancel_wait
		touch stop
		wait "$changer"
	done
}

@test "a lock can be written by its owner alone, whatever the umask" {
	complete bash -c 'umask 0; exec "$WDRUN" --lock=lock stat -c %a lock'
	[ "$output" = 644 ]
	complete bash -c 'umask 0; exec "$PROGRAMS/deny" linkat -- \
		"$WDRUN" --lock=lock stat -c %a lock'
	[ "$output" = 644 ]
	complete bash -c 'umask 77; exec "$WDRUN" --lock=lock stat -c %a lock'
	[ "$output" = 600 ]
}

# --- names that mean something else at the end -------------------------------

# The command moves the directory of its files away, and puts a link there.
make_victim() {
	mkdir -p A/app victim
	echo precious >victim/report
	dead_pid >victim/lock
	cp -r victim copy
	swap='mv A/app A/moved; ln -s ../victim A/app'
}

victim_is_untouched() {
	[ -L A/app ]
	diff -r victim copy
}

@test "--cleanup removes what the name meant at the start, not where a link leads at the end" {
	make_victim
	complete "$WDRUN" --cleanup=A/app/lock sh -c "echo \$\$ >A/app/lock; $swap"

	[ "$status" -eq 0 ]
	victim_is_untouched
	[ ! -e A/moved/lock ]
}

@test "--cleanup follows no link in directories that the command has made" {
	make_victim
	rmdir A/app
	complete "$WDRUN" --cleanup=A/app/lock ln -s ../victim A/app

	[ "$status" -eq 0 ]
	victim_is_untouched
	[[ $stderr == "wdrun: --cleanup: cannot remove '$PWD/A/app/lock': "* ]]
}

@test "--cleanup finds its file in a directory that was removed and made anew, but follows no link then" {
	make_victim
	complete "$WDRUN" --cleanup=A/app/lock sh -c 'rmdir A/app; mkdir A/app
		: >A/app/lock'
	[ "$status" -eq 0 ]
	[ ! -e A/app/lock ]

	complete "$WDRUN" --cleanup=A/app/lock sh -c 'rmdir A/app
		ln -s ../victim A/app'
	[ "$status" -eq 0 ]
	victim_is_untouched
	[[ $stderr == "wdrun: --cleanup: cannot remove '$PWD/A/app/lock': "* ]]
}

@test "--report is written to where the name led at the start" {
	need jq
	make_victim
	complete "$WDRUN" --report=A/app/report sh -c "$swap; exit 3"

	[ "$status" -eq 3 ]
	victim_is_untouched
	jq -e '.status == 3' A/moved/report
}

@test "--lock is removed from where the name led at the start" {
	make_victim
	rm victim/lock copy/lock
	complete "$WDRUN" --lock=A/app/lock sh -c "$swap"

	[ "$status" -eq 0 ]
	victim_is_untouched
	[ ! -e A/moved/lock ]
}

@test "a file is not reached through another user's link; through one of ours or root's it is" {
	local name option
	need_root
	mkdir -m 1777 sticky
	mkdir target
	ln -s ../target sticky/link
	chown -h 65534 sticky/link
	for option in --lock --cleanup --report --tee --registry; do
		is_refused "another user's" "$option=sticky/link/x"
		[[ $stderr == *"$option: "* || $stderr == *registry* ]]
		[ -z "$(ls target)" ]
	done
	chown -h 0 sticky/link
	for option in --lock --cleanup --report --tee; do
		complete "$WDRUN" "$option=sticky/link/x" true
		[ "$status" -eq 0 ]
		rm -f target/x
	done

	# The link is what is to be written, or leads there in two steps.
	ln -s ../target/x sticky/last
	chown -h 65534 sticky/last
	ln -s sticky/last first
	for name in sticky/last first; do
		is_refused "another user's" --tee="$name"
		[ -z "$(ls target)" ]
	done
	chown -h 0 sticky/last
	complete "$WDRUN" --tee=first echo text
	[ "$status" -eq 0 ]
	[ "$(<target/x)" = text ]
}

@test "a report is not written to another user's FIFO where others may write" {
	local directory
	need_root
	mkdir -m 1777 sticky
	mkdir -m 755 theirs
	chown 65534 theirs
	for directory in sticky theirs; do
		mkfifo "$directory/report"
		chown 65534 "$directory/report"
		is_refused "it is another user's file, and others can write to its directory" --report="$directory/report"
	done

	# It was ours at the start.
	chown 0 sticky/report
	exec 7<>sticky/report
	complete "$WDRUN" --report=sticky/report sh -c 'chown 65534 sticky/report
		exit 3'
	[ "$status" -eq 3 ]
	[[ $stderr == "wdrun: --report: "* ]]
	no read -r -t 0 <&7
	exec 7>&-
}

# --- cleanup -----------------------------------------------------------------

# hold_as_reader FILE KIND: another user locks FILE, which he can only read, by
# flock, lockf or, with ofd, as the runs do that may have made a file there.
hold_as_reader() {
	need python3
	cat >reader <<-'END'
		import fcntl, os, struct, sys, time
		os.setgroups([])
		os.setgid(65534)
		os.setuid(65534)
		fd = os.open(sys.argv[1], os.O_RDONLY)
		if sys.argv[2] == "ofd":
		    F_OFD_SETLK = 37
		    fcntl.fcntl(fd, F_OFD_SETLK,
		                struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 0, 0))
		else:
		    getattr(fcntl, sys.argv[2])(fd, fcntl.LOCK_SH)
		print("ready", os.getpid(), flush=True)
		time.sleep(1000)
	END
	hold python3 reader "$@"
}

@test "a lock of another user's that keeps --cleanup from a file is told; from a directory it does not keep it" {
	local make
	need_root
	mkdir "$public/ours"
	mkfifo go
	for make in touch mkdir; do
		start "$WDRUN" --cleanup="$public/ours/lock" bash -c '"$1" "$2"
			echo "ready $$"; read -r _ <go' - "$make" "$public/ours/lock"
		await_ready
		hold_as_reader "$public/ours/lock" flock
		echo >go
		finish
		if [ "$make" = mkdir ]; then
			[ ! -e "$public/ours/lock" ]
		else
			[ -e "$public/ours/lock" ]
			[[ $stderr == "wdrun: --cleanup: cannot remove '$public/ours/lock': "*lock* ]]
			rm "$public/ours/lock"
		fi
		release
	done
}

# Whether it can be known here whose a lock on a directory is: no process of
# the machine is hidden, and no other machine has locks there.
can_know_claimant() {
	[ "$(stat -Lc %i /proc/self/ns/pid)" -eq $((0xeffffffc)) ] &&
		case $(stat -fc %T .) in
		ext2/ext3 | xfs | btrfs | tmpfs | overlayfs) ;;
		*) false ;;
		esac
}

@test "a reader's lock on a directory above a file of ours does not count as the claim of a run" {
	local above command kind
	local file=$public/ours/private/lock
	need_root
	mkdir -p "$public/ours/private"
	chmod 700 "$public/ours/private"
	for kind in ofd lockf; do
		for above in "$public" "$public/ours"; do
			hold_as_reader "$above" "$kind"
			for command in touch mkdir; do
				complete "$WDRUN" --cleanup="$file" \
					"$command" "$file"
				[ "$status" -eq 0 ]
				if can_know_claimant; then
					[ ! -e "$file" ]
					[[ $stderr == *": removed '$file'"* ]]
				fi
				rm -rf "$file"
			done
			release
		done
	done
}

@test "where processes are hidden, each lock on a directory counts as the claim of a run" {
	local file=$public/ours/lock
	need_root
	need_unshare --pid --fork --mount-proc
	mkdir "$public/ours"
	hold_as_reader "$public/ours" ofd
	complete unshare --pid --fork --mount-proc "$WDRUN" --cleanup="$file" \
		touch "$file"
	[ "$status" -eq 0 ]
	[ -e "$file" ]
	[[ $stderr == *": cannot remove '$file': another run may "* ]]
	release
}

# The other user's run makes a lock where both may write. The end of our run,
# which was begun before, leaves that lock.
@test "the claim of a run of the user who has made the file is believed" {
	local file=$public/group/lock waiter
	need_root
	mkdir -m 770 "$public/group"
	chgrp 65534 "$public/group"
	cp "$WDRUN" "$public/wdrun"
	mkfifo over go
	"$WDRUN" --cleanup="$file" sh -c 'read -r _ <over' 3>&- &
	waiter=$!
	start "${as_other[@]}" "$public/wdrun" --cleanup="$file" bash -c ': >"$1"
		echo "ready $$"; read -r _' - "$file" <>go
	await_ready

	echo >over
	wait "$waiter"
	[ -e "$file" ]

	echo >go
	finish
	[ ! -e "$file" ]
}

@test "--cleanup removes a file without a PID below a directory that this user cannot read" {
	local command
	need_root
	mkdir -m 711 "$public/above"
	mkdir "$public/above/theirs"
	chown 65534 "$public/above/theirs"
	cp "$WDRUN" "$public/wdrun"
	for command in touch mkdir; do
		complete "${as_other[@]}" "$public/wdrun" \
			--cleanup="$public/above/theirs/lock" \
			"$command" "$public/above/theirs/lock"
		[ "$status" -eq 0 ]
		[ ! -e "$public/above/theirs/lock" ]
		[[ $stderr == *": removed "* ]]
	done
}

# --- the report --------------------------------------------------------------

@test "a report keeps the mode of the file that it replaces, and a new one follows the umask" {
	: >report
	chmod 600 report
	complete "$WDRUN" --report=report true
	[ -s report ]
	[ "$(stat -c %a report)" = 600 ]

	chmod 664 report
	complete bash -c 'umask 27; exec "$WDRUN" --report=report true'
	[ "$(stat -c %a report)" = 664 ]

	rm report
	complete bash -c 'umask 27; exec "$WDRUN" --report=report true'
	[ "$(stat -c %a report)" = 640 ]

	# Not the mode that another user has chosen.
	((EUID == 0)) || return 0
	chmod 666 report
	chown 65534 report
	complete bash -c 'umask 27; exec "$WDRUN" --report=report true'
	[ "$(stat -c '%u %a' report)" = '0 640' ]
}

@test "a report is replaced however long its name is" {
	local name
	need jq
	for length in 240 245 250 255; do
		name=$(printf 'x%.0s' $(seq "$length"))
		echo old >"$name"
		complete "$WDRUN" --report="$name" true
		[ "$status" -eq 0 ]
		jq -e '.status == 0' "$name"
	done
}

@test "what drives a terminal or turns text round is escaped in JSON, and replaced in messages" {
	local bad name
	need jq
	make_registry
	for bad in 0080 0085 009b 009f 061c 200b 200e 200f 2028 202a 202e 2060 \
		2066 2069 feff; do
		# shellcheck disable=SC2059
		printf -v name "a\\u$bad"b
		complete "$WDRUN" --report=report --name="$name" \
			"$WDRUN" --list --json
		[ "$status" -eq 0 ]
		[ "$(jq -r .name report)" = "$name" ]
		[ "$(jq -r '.[0].name' out)" = "$name" ]
		no grep -qF "${name:1:1}" report
		no grep -qF "${name:1:1}" out
		complete "$WDRUN" --lock="/nothing/$name" true
		no grep -qF "${name:1:1}" err
		grep -q 'a?*b' err
	done
}

# --- two names for one file --------------------------------------------------

# is_one_file FIRST SECOND: the files of these two options are the same, which
# is refused before anything is made or changed.
is_one_file() {
	local before after
	before=$(all_files)
	complete "$WDRUN" "$1" "$2" touch ran
	after=$(all_files)

	[ "$status" -eq 125 ]
	[[ $stderr == "wdrun: --"*"' is the file of --"*" too" ]]
	diff - <(echo "$after") <<<"$before"
}

# Lists all files here with mode, links, owner, size, change and target, but
# those that complete writes. ls(1) would set its columns by these, too.
all_files() {
	find . -mindepth 1 ! -path ./out ! -path ./err \
		-printf '%p %M %n %U %s %T@ %l\n' | sort
}

@test "two options do not share a file, whatever names lead to it" {
	local there
	mkdir d
	ln -s d link
	: >out
	: >err
	for there in no yes; do
		[ "$there" = no ] || : >d/X
		ln -sf X d/other
		is_one_file --lock=d/X --tee=d/X
		is_one_file --lock=d/X --tee="$PWD/d/../link/X"
		is_one_file --lock=link/X --tee=d/other
		is_one_file --cleanup=link/X --tee=d/X
		is_one_file --report=link/X --lock=d/X
		is_one_file --report=d/X --cleanup=link/X
		is_one_file --report=d/X --tee=link/X
		is_one_file --report=d/X --tee=d/other
	done
	ln d/X d/hard
	is_one_file --lock=d/X --tee=d/hard
}

# --- the registry ------------------------------------------------------------

@test "a directory that holds something else is no registry, and nothing in it is touched" {
	local mode name
	for name in 'x 77777-a.new' installer-1.2.run 77777-a.run.bak 12.run \
		1-g.run 1-1.RUN; do
		mkdir -m 700 place
		echo data >"place/$name"
		echo data >"place/.hidden"
		for mode in --reap --list --cancel=1; do
			complete "$WDRUN" "$mode" --registry=place
			[ "$status" -eq 125 ]
			[[ $stderr == "wdrun: registry 'place' holds '$name'"* ]]
		done
		complete sh -c 'cd place && exec "$WDRUN" --registry=. touch ../ran'
		[ "$status" -eq 125 ]
		[[ $stderr == "wdrun: registry '.' holds '$name'"* ]]
		[ ! -e ran ]
		[ "$(<"place/$name")" = data ]
		[ "$(<place/.hidden)" = data ]
		rm -r place
	done
}

@test "old files that only look like entries are left where they are" {
	make_registry
	echo "an installer" >"$WDRUN_REGISTRY/77777-a.run"
	chmod 600 "$WDRUN_REGISTRY/77777-a.run"
	echo "notes" >"$WDRUN_REGISTRY/.77777-a notes.new"
	touch -d '1 hour ago' "$WDRUN_REGISTRY/.77777-a notes.new"

	reboot
	complete "${rebooted[@]}" "$WDRUN" --reap

	[ "$(<"$WDRUN_REGISTRY/77777-a.run")" = "an installer" ]
	[ -e "$WDRUN_REGISTRY/.77777-a notes.new" ]
	[[ $stderr == "wdrun: registry: '77777-a.run' cannot be used: "* ]]
}

@test "another user's unfinished entry is not removed" {
	need_root
	make_registry
	echo >"$WDRUN_REGISTRY/.$(new_id).new"
	touch -d '1 hour ago' "$WDRUN_REGISTRY"/.*.new
	chown 65534 "$WDRUN_REGISTRY"/.*.new

	reap

	[ -n "$(ls -A "$WDRUN_REGISTRY")" ]
}

@test "a registry is not reached through another user's link" {
	need_root
	make_registry
	mkdir -m 1777 sticky
	ln -s "$WDRUN_REGISTRY" sticky/link
	chown -h 65534 sticky/link
	for mode in --list --reap --cancel=1; do
		complete "$WDRUN" "$mode" --registry=sticky/link
		[ "$status" -eq 125 ]
		[[ $stderr == "wdrun: registry 'sticky/link': another user's "* ]]
	done
	is_refused "another user's" --registry=sticky/link
}

@test "an entry that was made elsewhere has no file removed that the run did not make" {
	make_registry
	dead_pid >dead
	dead_pid >older
	: >older-empty
	mkdir older-directory
	sleep 1.2
	forge lock="$PWD/dead" cleanup="0 0 0 $PWD/older" \
		cleanup="0 0 0 $PWD/older-empty" \
		cleanup="0 0 0 $PWD/older-directory"

	reap

	[ "$status" -eq 0 ]
	[ -e dead ]
	[ -e older ]
	[ -e older-empty ]
	[ -d older-directory ]
	is_off_the_record
}

@test "an entry that names a file by a relative path is no entry" {
	local file
	make_registry
	for file in "cleanup=0 0 0 empty" "lock=stale" "lock=" \
		"cleanup=0 0 0 "; do
		echo "${dead% *}" >stale
		forge "$file"
		: >empty

		reap

		[ "$status" -eq 0 ]
		is_on_record
		[[ $stderr == "wdrun: registry: '$id.run' cannot be used: "* ]]
		[ -e stale ]
		[ -e empty ]
		rm "$WDRUN_REGISTRY"/*
	done
}

@test "an entry that claims to be from before the last boot, and is not, proves nothing" {
	make_registry
	echo "${dead% *}" >stale
	forge boot=00000000-0000-0000-0000-000000000000 lock="$PWD/stale"

	reap

	[ "$status" -eq 0 ]
	is_on_record
	[ -e stale ]
}

@test "an entry that names a session older than itself does not end that session" {
	make_registry
	session_of_a_target
	sleep 9 # longer than a target needs to write its entry
	forge "${of_session[@]}"

	reap

	[ "$status" -eq 1 ]
	is_on_record
	spares "$target" "$member"
}

@test "an entry that names other processes as its watchers does not have them signalled" {
	make_registry
	live A=B
	forge name=job front="$living $(start_of "$living")" \
		supervisor="$living $(start_of "$living")"

	complete "$WDRUN" --cancel=job

	[ "$status" -eq 125 ]
	[ "$(wc -l <err)" -eq 1 ]
	spares "$living"
}

# on_machine ID COMMAND...: runs COMMAND on a machine with this ID, after a
# boot.
on_machine() {
	printf '%s\n' "$1" >machine
	reboot
	export machine=$PWD/machine
	complete "${rebooted[@]}" unshare --mount bash -c '
		mount --bind "$machine" /etc/machine-id && exec "$@"' - "${@:2}"
}

@test "the machine's ID and the boot's decide whose an entry is, not the name of the host" {
	need_reboot
	need_mounts
	local here=0123456789abcdef0123456789abcdef
	local there=fedcba9876543210fedcba9876543210
	make_registry
	echo "${dead% *}" >stale
	forge boot=0 host="$(uname -n)" machine=$there lock="$PWD/stale"
	on_machine $here "$WDRUN" --reap
	[ "$status" -eq 0 ]
	is_on_record
	[ -e stale ]
	rm "$WDRUN_REGISTRY"/*

	# Where none is known, nothing is either.
	forge boot=0 host="$(uname -n)" machine= lock="$PWD/stale"
	on_machine '' "$WDRUN" --reap
	is_on_record
	rm "$WDRUN_REGISTRY"/*

	forge boot=0 host=another machine=$here lock="$PWD/stale"
	on_machine $here "$WDRUN" --reap
	[ "$status" -eq 0 ]
	is_off_the_record
	[ ! -e stale ]
}

@test "the default registry is not made below a relative HOME, nor as root below another user's" {
	complete env -u XDG_STATE_HOME HOME=home "$WDRUN" --name=a touch ran
	[ "$status" -eq 125 ]
	[[ $stderr == "wdrun: "*HOME*--registry* ]]
	[ ! -e home ]
	[ ! -e ran ]

	need_root
	mkdir "$public/home" "$public/state"
	chown 65534 "$public/home" "$public/state"
	complete env -u XDG_STATE_HOME HOME="$public/home" \
		"$WDRUN" --name=a touch ran
	[ "$status" -eq 125 ]
	[[ $stderr == "wdrun: "*"$public/home"*--registry* ]]
	complete env XDG_STATE_HOME="$public/state" HOME=/root \
		"$WDRUN" --name=a touch ran
	[ "$status" -eq 125 ]
	complete env -u XDG_STATE_HOME HOME="$public/home/a/b" \
		"$WDRUN" --name=a touch ran
	[ "$status" -eq 125 ]
	[[ $stderr == "wdrun: "*"$public/home/a/b"*--registry* ]]
	[ -z "$(ls -A "$public/home")" ]
	[ -z "$(ls -A "$public/state")" ]
	[ ! -e ran ]

	mkdir -m 700 "$public/own"
	complete env HOME="$public/home" "$WDRUN" --registry="$public/own" true
	[ "$status" -eq 0 ]
}

# --- what cannot be killed ---------------------------------------------------

# A tracer that keeps the end of the process PID to itself.
trace_end_of() {
	hold python3 -c 'import ctypes, os, sys, time
seize = 0x4206
if ctypes.CDLL(None).ptrace(seize, int(sys.argv[1]), 0, 0) == 0:
    print("ready", os.getpid(), flush=True)
time.sleep(1000)' "$1"
}

# Starts a command whose survivor is dead, and held by a tracer. The command ends
# with a line in the FIFO go.
with_traced_survivor() {
	need python3
	mkfifo go
	start "$WDRUN" --survivors=wait bash -c '"$PROGRAMS/sigcount" & read -r <go'
	await_ready
	survivor=$ready
	await_watchers
	trace_end_of "$survivor"
	kill -KILL "$survivor"
}

# The run ended with STATUS, and told at last that PID is traced.
is_told_as_traced() {
	[ "$status" -eq "$1" ]
	is_zombie "$2"
	[[ $stderr =~ "wdrun: all processes are dead, but zombie $2 ["[a-z]*"] is held by its tracer "[0-9]*" [python3"[^$'\n']*"]"$ ]]
	release
}

@test "a dead target that another process traces, so that it cannot be reaped, is told as that" {
	need python3
	start "$WDRUN" -k 100ms "$PROGRAMS/sigcount"
	await_ready
	await_watchers
	trace_end_of "$target"
	kill -TERM "$started"
	finish

	is_told_as_traced 125 "$target"
}

@test "a dead target that another process traces ends a run that says nothing, too" {
	need python3
	start "$WDRUN" -q -k never "$PROGRAMS/sigcount"
	await_ready
	await_watchers
	trace_end_of "$target"
	kill -KILL "$target"
	wait_until is_zombie "$target"
	kill -TERM "$started"
	finish

	[ "$status" -eq 125 ]
	release
}

@test "a dead survivor that another process traces is told as that, and is not stopped" {
	with_traced_survivor
	echo >go
	wait_until is_zombie "$target"
	kill -TERM "$started"
	finish

	is_told_as_traced 0 "$survivor"
	[[ $stderr != *$'\n'* ]]
}

@test "the status of a dead target is not lost where a signal comes first, and a tracer holds the rest" {
	with_traced_survivor
	kill -STOP "$started" "$supervisor"
	wait_until is_stopped "$supervisor"
	echo >go
	wait_until is_zombie "$target"
	kill -TERM "$supervisor" # which takes SIGTERM before SIGCHLD
	kill -CONT "$supervisor" "$started"
	finish

	is_told_as_traced 0 "$survivor"
}
