#!/usr/bin/env bats
#
# Promise 6: you cannot tell that it is there. programs/state.c prints what a
# command can see of its surroundings; tests/differential compares far more of
# them, at random.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

# same_state BUT OPTION [LAUNCHER]...: started by LAUNCHER, the command sees the
# same below wdrun with OPTION as without wdrun, except for lines that begin with
# BUT, and WDRUN_ID.
same_state() {
	local but=$1 option=$2 launcher=(env --default-signal "${@:3}")
	"${launcher[@]}" "$PROGRAMS/state" without 3>&-
	"${launcher[@]}" "$WDRUN" "$option" "$PROGRAMS/state" with 3>&-

	[ "$(grep -c '^environment: WDRUN_ID=.' with)" -eq 1 ]
	sed -i "/^environment: WDRUN_ID=/d; /^$but/d" without with
	[ "$(wc -l <without)" -gt 20 ]
	diff without with
}

# bats test_tags=smoke
@test "descriptors, signals, mask, limits, directory, niceness, ids, environment are the caller's" {
	local unusual=("--block-signal=USR1,34,CHLD,TERM" "--ignore-signal=PIPE,35,CHLD,TSTP" nice -n 3)
	umask 027
	ulimit -n 800
	ulimit -c 0
	echo text >file
	exec 5<file 6>>log 7<>both 300<file
	# The one difference: the command leads a process group.
	same_state 'session: leader' -- "${unusual[@]}"
	same_state 'session: leader' -- sh -c 'exec "$@" <&- >&- 2>&-' sh
	same_state nothing --foreground
	exec 5<&- 6>&- 7>&- 300<&-
}

# their_descriptors PID: prints number and target of each, in one line.
their_descriptors() {
	find "/proc/$1/fd" -type l -printf '%f %l\n'
}

# So the end of a file, SIGPIPE and a lock are as without wdrun.
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
		[ "/proc/$watcher/cwd" -ef / ]
		their_descriptors "$watcher" >held
		[ -s held ]
		while read -r fd target_file; do
			case $fd:$target_file in
			[01]:/dev/null | 2:"$PWD/err" | *:/proc | [3-9]:anon_inode:* | \
				[1-9][0-9]:anon_inode:*) ;;
			[3-9]:pipe:* | [1-9][0-9]:pipe:*)
				no grep -qF "$target_file" those
				;;
			*) echo "$watcher holds $fd $target_file" && return 1 ;;
			esac
		done <held
	done
	kill -TERM "$front"
	finish
}

@test "a pipeline is as without it: SIGPIPE, what is left to read, a process substitution" {
	complete bash -c '"$WDRUN" yes | head -n 1; echo "${PIPESTATUS[0]}"
		printf "one\ntwo\n" | { "$WDRUN" sh -c "read x; echo \"first \$x\""; cat; }
		"$WDRUN" cat <(echo from below)'
	[ "$output" = $'y\n141\nfirst one\ntwo\nfrom below' ]
	[ -z "$stderr" ]
}
