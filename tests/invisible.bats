#!/usr/bin/env bats
#
# Promise 6: you cannot tell that it is there. programs/state.c prints what a
# command can see of its surroundings; tests/differential compares far more of
# them, at random.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

# facts FILE BUT: sets facts to the lines of FILE, without those that begin with
# BUT and those of WDRUN_ID, which ids counts.
facts() {
	local line
	facts='' ids=0
	while IFS= read -r line; do
		case $line in
		"$2"*) ;;
		'environment: WDRUN_ID='?*) ((++ids)) ;;
		*) facts+=$line$'\n' ;;
		esac
	done <"$1"
}

# same_state BUT [LAUNCHER]... -- WDRUN...: started by LAUNCHER, the command
# sees the same below WDRUN as without, except for lines that begin with BUT.
same_state() {
	local but=$1 launcher=("$PROGRAMS/launch" --defaults)
	shift
	while [ "$1" != -- ]; do
		launcher+=("$1")
		shift
	done
	shift
	"${launcher[@]}" "$PROGRAMS/state" without 3>&-
	"${launcher[@]}" "$@" "$PROGRAMS/state" with 3>&-

	facts without "$but"
	local bare=$facts
	facts with "$but"
	[ "$ids" -eq 1 ]
	[ "${#bare}" -gt 1000 ]
	[ "$facts" = "$bare" ] || diff without with
}

# bats test_tags=smoke
@test "descriptors, signals, mask, limits, directory, niceness, ids, environment are those of the caller" {
	local row
	umask 027
	ulimit -n 800
	ulimit -c 0
	echo text >file
	exec 5<file 6>>log 7<>both 300<file
	while IFS= read -ru 9 row; do
		echo "--- $row"
		# shellcheck disable=SC2086 # these are words
		same_state 'session: leader' $row -- "$WDRUN" --
	done 9<<-'EOF'

		--block USR1 --block 34 --block 64 --block CHLD --block TERM
		--ignore PIPE --ignore HUP --ignore 35 --ignore CHLD --ignore TSTP --ignore INT
		--close 1
		--close 0 --close 1 --close 2
		nice -n 3
	EOF
	# The one difference: the command leads a process group, in a session of
	# the supervisor's.
	grep -q '^session: leader of session no, leader of group yes' with
	grep -qx 'umask: 027' with
	[ "$(grep -cE '^descriptor (5|6|7|300): ' with)" -eq 4 ]

	same_state nothing -- "$WDRUN" --foreground --
	exec 5<&- 6>&- 7>&- 300<&-
}

# their_descriptors PID: prints number and target of each, in one line.
their_descriptors() {
	find "/proc/$1/fd" -type l -printf '%f %l\n' | sort -n
}

# bats test_tags=slow
@test "neither watcher holds a descriptor of the caller's but stderr, or its directory" {
	local watcher fd target_file
	mkfifo pipe
	echo text >file
	exec 5<>pipe 6<file 7>>log 500>>log
	start "$WDRUN" sh -c 'echo "ready $$"; exec sleep 1000'
	exec 5>&- 6<&- 7>&- 500>&-
	await_ready
	await_watchers

	their_descriptors "$target" >those
	grep -q '^500 ' those
	their_descriptors "$$" >>those
	for watcher in "$front" "$supervisor"; do
		[ "$(readlink "/proc/$watcher/cwd")" = / ]
		their_descriptors "$watcher" >held
		[ -s held ]
		while read -r fd target_file; do
			case $fd:$target_file in
			[01]:/dev/null | 2:"$PWD/err" | *:/proc | [3-9]:anon_inode:* | \
				[1-9][0-9]:anon_inode:*) ;;
			[3-9]:pipe:* | [1-9][0-9]:pipe:*)
				no grep -qF "$target_file" those
				;;
			# Where --report will be written: wdrun's own.
			*:"${BATS_TEST_TMPDIR%/*}") [ -n "${WDRUN_REPORTS-}" ] ;;
			*) echo "$watcher holds $fd $target_file" && return 1 ;;
			esac
		done <held
	done
	kill -TERM "$front"
	finish
}

@test "what the command closes is closed: a reader's end of file, a producer's SIGPIPE, a lock" {
	need flock
	mkfifo in out-of-it
	yes >in 3>&- &
	local producer=$!
	cat <out-of-it >copy 3>&- &
	local reader=$!
	exec 8>lock
	flock 8
	start "$WDRUN" sh -c 'read line; echo "$line" >&7; exec <&- 7>&- 8>&-
		echo "ready $$"; exec sleep 1000' <in 7>out-of-it
	exec 8>&-
	await_ready

	wait_until is_dead "$producer"
	wait_until is_dead "$reader"
	wait_until flock -n lock true

	[ "$(<copy)" = y ]
	is_alive "$started"
	kill -TERM "$started"
	finish
}

@test "a pipeline is as without it: bytes, SIGPIPE, what is left to read, a process substitution" {
	head -c 3000000 /dev/urandom >data
	complete bash -o pipefail -c '"$WDRUN" cat data | "$WDRUN" -t 60 cat |
		"$WDRUN" cat >copy'
	[ "$status" -eq 0 ]
	cmp data copy

	complete bash -c '"$WDRUN" yes | head -n 1; echo "${PIPESTATUS[0]}"'
	[ "$output" = $'y\n141' ]
	[ -z "$stderr" ]

	complete bash -c 'printf "one\ntwo\n" |
		{ "$WDRUN" sh -c "read x; echo \"first \$x\""; cat; }'
	[ "$output" = $'first one\ntwo' ]

	complete bash -c '"$WDRUN" sh -c "cat \"\$1\" - </dev/null" - \
		<(echo from below)'
	[ "$status" -eq 0 ]
	[ "$output" = "from below" ]
}

# bats test_tags=slow
@test "a caller that ignores or blocks SIGCHLD, or has closed 0 to 2, gets the true status" {
	complete "$PROGRAMS/launch" --ignore CHLD "$WDRUN" sh -c 'exit 42'
	[ "$status" -eq 42 ]

	complete "$PROGRAMS/launch" --block CHLD "$WDRUN" sh -c 'exit 42'
	[ "$status" -eq 42 ]

	complete_late "$PROGRAMS/launch" --ignore CHLD "$WDRUN" -t LIMIT -k 200ms \
		"$PROGRAMS/escape" fork setsid stubborn
	[ "$status" -eq 124 ]
	is_dead "$ready"

	complete_late "$PROGRAMS/launch" --close 0 --close 1 --close 2 \
		"$WDRUN" -t LIMIT -k 200ms sh -c 'exec "$PROGRAMS/escape" \
		fork setsid stubborn >>out'
	[ "$status" -eq 124 ]
	is_dead "$ready"
	[ "$(wc -l <out)" -eq 1 ] # no message went into that file
}

@test "the directory may be gone, a relative command is found in it, and a run in which nothing goes wrong says nothing" {
	mkdir gone
	complete sh -c 'cd gone && rmdir ../gone && exec "$WDRUN" echo here'
	[ "$status" -eq 0 ]
	[ "$output" = here ]

	printf '#!/bin/sh\npwd\n' >script
	chmod +x script
	complete "$WDRUN" ./script
	[ "$output" = "$PWD" ]

	complete "$WDRUN" -t 60 -k 5 sh -c 'echo out; echo err >&2'

	[ "$output" = out ]
	[ "$stderr" = err ]
}

# bats test_tags=tree
@test "wdrun under wdrun works at each level: status and cleaning up" {
	complete_late "$WDRUN" -t 90 "$WDRUN" -t 90 "$WDRUN" -t LIMIT -k 200ms \
		"$PROGRAMS/escape" fork setsid stubborn

	[ "$status" -eq 124 ]
	is_dead "$ready"
	nobody_is_left
}
