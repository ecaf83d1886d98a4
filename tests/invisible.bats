#!/usr/bin/env bats
#
# Promise 6: you cannot tell that it is there. programs/state.c prints what a
# command can see of its surroundings: the same with wdrun and without.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

# same_state [OPTION]...: with these options of programs/launch, the command
# sees the same under wdrun as without, except for its session.
same_state() {
	compare_state 'session: leader' "$WDRUN" -- "$@"
}

# compare_state BUT WDRUN... -- OPTION...: the same, except for lines that begin
# with BUT.
compare_state() {
	local but=$1 prefix=()
	shift
	while [ "$1" != -- ]; do
		prefix+=("$1")
		shift
	done
	shift

	"$PROGRAMS/launch" --defaults "$@" "$PROGRAMS/state" without 3>&-
	"$PROGRAMS/launch" --defaults "$@" "${prefix[@]}" \
		"$PROGRAMS/state" with 3>&-

	[ "$(grep -c '^environment: WDRUN_ID=.' with)" -eq 1 ]
	[ "$(wc -l <without)" -gt 30 ]
	diff <(grep -v "^$but" without) \
		<(grep -v -e "^$but" -e '^environment: WDRUN_ID=' with)
}

@test "descriptors, signals, limits, directory, ids are those of the caller" {
	same_state
	# The one difference: the command leads a process group, in a session of
	# the supervisor's.
	grep -q '^session: leader of session no, leader of group yes' with
}

@test "blocked and ignored signals stay so, real-time signals too" {
	same_state --block USR1 --block 34 --block 64 --block CHLD --block TERM \
		--ignore PIPE --ignore HUP --ignore 35 --ignore CHLD \
		--ignore TSTP --ignore INT
}

@test "every signal blocked: the command's mask is full too" {
	local all=() number
	for number in {1..64}; do
		case $number in
		9 | 19 | 32 | 33) ;; # cannot be blocked, or are the C library's
		*) all+=(--block "$number") ;;
		esac
	done
	same_state "${all[@]}"
}

@test "closed standard descriptors stay closed" {
	same_state --close 0
	same_state --close 2
	same_state --close 1
	same_state --close 0 --close 1 --close 2
}

@test "descriptors beyond stderr are inherited" {
	echo text >file
	exec 5<file 6>>log 7<>both 300<file

	same_state

	[ "$(grep -cE '^descriptor (5|6|7|300): ' with)" -eq 4 ]
	exec 5<&- 6>&- 7>&- 300<&-
}

@test "umask, nice, limits and affinity are the caller's" {
	umask 027
	ulimit -n 800
	ulimit -c 0
	compare_state 'session: leader' nice -n 3 "$WDRUN" -- &&
		return 1 # without that change the states would not differ
	renice -n 5 "$BASHPID" >/dev/null
	same_state
	grep -qx 'umask: 027' with
	grep -qx 'nice: 5' with
}

@test "with --foreground the session and the group are the caller's too" {
	compare_state 'nothing' "$WDRUN" --foreground --
}

@test "the master of a pseudo-terminal on stdin is not the terminal" {
	need python3
	complete python3 -c '
import os, subprocess, time
master, slave = os.openpty()
ready, tell = os.pipe()
owner = os.fork()
if owner == 0:
    os.setsid()
    os.open(os.ttyname(slave), os.O_RDWR) # which takes it as its terminal
    os.write(tell, b"x")
    time.sleep(100)
os.read(ready, 1)
subprocess.run([os.environ["WDRUN"], os.environ["PROGRAMS"] + "/state"],
               stdin=master)
os.kill(owner, 9)
'
	grep -q '^session: leader of session no, leader of group yes' out
}

@test "the environment has the run's ID, and no other change" {
	complete "$WDRUN" env
	sort out >with
	complete env
	sort out >without

	[[ $(comm -23 with without) =~ ^WDRUN_ID=[^[:space:]]+$ ]]
	[ -z "$(comm -13 with without)" ]
}

@test "a run in which nothing goes wrong says nothing" {
	complete "$WDRUN" -t 60 -k 5 sh -c 'echo out; echo err >&2'

	[ "$output" = out ]
	[ "$stderr" = err ]
}

# their_descriptors PID: prints number and target of each, in one line.
their_descriptors() {
	find "/proc/$1/fd" -type l -printf '%f %l\n' | sort -n
}

@test "neither watcher holds a descriptor of the caller's but stderr" {
	local watcher fd target_file
	mkfifo pipe
	echo text >file
	exec 5<>pipe 6<file 7>>log 500>>log
	start "$WDRUN" sh -c 'echo "ready $$"; exec sleep 1000'
	exec 5>&- 6<&- 7>&- 500>&-
	await_ready
	await_watchers

	their_descriptors "$target" >those
	their_descriptors "$$" >>those
	for watcher in "$front" "$supervisor"; do
		their_descriptors "$watcher" >held
		while read -r fd target_file; do
			case $fd:$target_file in
			[01]:/dev/null) ;;
			2:"$PWD/err") ;;
			2:* | [01]:*) echo "$fd $target_file" && return 1 ;;
			*:anon_inode:*) ;;
			*:pipe:*) run ! grep -qF "$target_file" those ;;
			# Where --report will be written: wdrun's own.
			*:"${BATS_TEST_TMPDIR%/*}") [ -n "${WDRUN_REPORTS-}" ] ;;
			*) echo "$watcher holds $fd $target_file" && return 1 ;;
			esac
		done <held
		[ "$(head -n 3 held | wc -l)" -eq 3 ]
		[ "$(readlink "/proc/$watcher/cwd")" = / ]
	done
	their_descriptors "$target" | grep -q '^500 '

	kill -TERM "$front"
	finish
}

@test "wdrun leaves only its target in the caller's directory" {
	mkdir busy
	mkfifo leave
	start env -C busy "$WDRUN" sh -c 'echo "ready $$"
		read -r _ <../leave; cd /
		exec sleep 1000'
	await_ready
	[ "$(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$PWD/busy")" ] # the search works
	echo >leave
	await_watchers
	wait_until is_in / "$target"

	[ -z "$(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$PWD/busy" || true)" ]

	kill -TERM "$front"
	finish
}

is_in() {
	[ "$(readlink "/proc/$2/cwd")" = "$1" ]
}

@test "a reader sees the end of file when the command closes its stdout" {
	mkfifo pipe
	cat <pipe >copy 3>&- &
	local reader=$!
	"$PROGRAMS/launch" --defaults "$WDRUN" sh -c '
		echo all; exec >&-; exec sleep 1000' >pipe 2>err 3>&- &
	started=$!

	wait_until is_dead "$reader"

	is_alive "$started"
	[ "$(<copy)" = all ]
	kill -TERM "$started"
	touch out
	finish
}

@test "a producer gets its SIGPIPE when the command closes its stdin" {
	mkfifo pipe
	yes >pipe 3>&- &
	local producer=$!
	start "$WDRUN" sh -c 'read line; echo "$line"; exec <&-
		exec sleep 1000' <pipe

	wait_until is_dead "$producer"

	is_alive "$started"
	kill -TERM "$started"
	finish
	[ "$output" = y ]
}

@test "a command that closes a lock's descriptor gives up the lock" {
	need flock
	exec 8>lock
	flock 8
	start "$WDRUN" sh -c 'exec 8>&-; echo "ready $$"; exec sleep 1000'
	exec 8>&-
	await_ready

	wait_until flock -n lock true

	kill -TERM "$started"
	finish
}

@test "a process substitution ends when the command is done with it" {
	complete bash -c '"$WDRUN" sh -c "cat \"\$1\" - </dev/null" - \
		<(echo from below)'

	[ "$status" -eq 0 ]
	[ "$output" = "from below" ]
}

@test "what the command does not read from stdin is left for the next" {
	complete bash -c 'printf "one\ntwo\n" |
		{ "$WDRUN" sh -c "read x; echo \"first \$x\""; cat; }'

	[ "$output" = $'first one\ntwo' ]
}

@test "bytes pass unchanged, in a pipeline with wdrun at each place" {
	head -c 3000000 /dev/urandom >data

	complete bash -o pipefail -c '"$WDRUN" cat data | "$WDRUN" -t 60 cat |
		"$WDRUN" cat >copy'

	[ "$status" -eq 0 ]
	cmp data copy
}

@test "a pipeline's early end reaches the command as SIGPIPE" {
	complete bash -c '"$WDRUN" yes | head -n 1; echo "${PIPESTATUS[0]}"'

	[ "$output" = $'y\n141' ]
	[ -z "$stderr" ]
}

@test "a caller that ignores or blocks SIGCHLD gets the true status" {
	complete "$PROGRAMS/launch" --ignore CHLD "$WDRUN" sh -c 'exit 42'
	[ "$status" -eq 42 ]

	complete "$PROGRAMS/launch" --block CHLD "$WDRUN" sh -c 'exit 42'
	[ "$status" -eq 42 ]

	complete_late "$PROGRAMS/launch" --ignore CHLD "$WDRUN" -t LIMIT -k 200ms \
		"$PROGRAMS/escape" fork setsid stubborn
	[ "$status" -eq 124 ]
}

is_ready_without_descriptors() {
	complete "$PROGRAMS/launch" --close 0 --close 1 --close 2 \
		"$WDRUN" -t "$limit" -k 200ms sh -c 'exec "$PROGRAMS/escape" \
		fork setsid stubborn >ready'
	[ -s ready ]
}

@test "closed standard descriptors do not stop a timeout" {
	with_more_time is_ready_without_descriptors

	[ "$status" -eq 124 ]
	is_dead "$(sed 's/ready //' ready)"
	[ "$(wc -l <ready)" -eq 1 ] # no message went into that file
}

@test "a working directory that is gone does not matter" {
	mkdir gone
	complete sh -c 'cd gone && rmdir ../gone && exec "$WDRUN" echo here'

	[ "$status" -eq 0 ]
	[ "$output" = here ]
}

@test "a relative command is found, though the watchers work in /" {
	printf '#!/bin/sh\npwd\n' >script
	chmod +x script

	complete "$WDRUN" ./script

	[ "$output" = "$PWD" ]
}

@test "while a quiet command runs neither watcher wakes up" {
	local before after
	start "$WDRUN" -t 60 sh -c 'echo "ready $$"; exec sleep 1000'
	await_ready
	await_watchers
	wait_until nobody_wakes_up

	# Nothing may happen in this time, which is the subject of the test.
	before=$(switches)
	pause 0.6
	after=$(switches)

	[ "$before" = "$after" ]
	kill -TERM "$front"
	finish
}

switches() {
	grep ctxt_switches "/proc/$front/status" "/proc/$supervisor/status"
}

nobody_wakes_up() {
	local once
	once=$(switches)
	sleep 0.1
	[ "$once" = "$(switches)" ]
}

@test "wdrun under wdrun works at each level: status and cleaning up" {
	complete_late "$WDRUN" -t 90 "$WDRUN" -t 90 "$WDRUN" -t LIMIT -k 200ms \
		"$PROGRAMS/escape" fork setsid stubborn

	[ "$status" -eq 124 ]
	is_dead "$ready"
	nobody_is_left
}
