#!/usr/bin/env bats
#
# After the exit: what happens to processes that survive the command. The
# command's status stands, whatever happens to them.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load bounds

# stops_survivors STATUS OPTION...: a survivor that does nothing is stopped.
stops_survivors() {
	local expected=$1
	shift
	gives "$expected" complete "$WDRUN" --report=report --idle-after-exit=200ms \
		--max-after-exit=never -k 100ms "$@"
	reported '"reason_code":"survivors-idle"'
	nobody_is_left
}

# bats test_tags=tree
@test "a survivor that does nothing is stopped at --idle-after-exit, and the status stands" {
	stops_survivors 5 "$PROGRAMS/escape" -x 5 fork setsid stubborn closed
	stops_survivors 139 sh -c 'sleep 1000 & kill -SEGV $$'
	stops_survivors 6 -q sh -c 'sleep 1000 & exit 6'
	[ -z "$stderr" ]
}

# moves LIMIT OPTION... WORK: the survivor writes once, at half of the limit, and
# notes the moment before: it is stopped a whole limit later. It starts no
# process, which would be progress too.
moves() {
	rm -f moment never
	mkfifo never
	half=$(part "$1" 50) complete "$WDRUN" --idle-after-exit="$1" \
		--max-after-exit=never "${@:2:$#-2}" bash -c '
		(read -rt "$half" <>never; note; eval "$0"; read -r <>never) &
		exit 3' "${!#}"
	[ "$status" -eq 3 ]
	[ -s moment ] || return 0
	has_passed "$1"
	printf '\nready 1\n' >>out # for late
}

# The survivor computes for longer than the limit, without a system call.
computes_on() {
	gives 3 complete_late "$WDRUN" --idle-after-exit=LIMIT --max-after-exit=never \
		bash -c '(end=$((${EPOCHREALTIME//[!0-9]/} + $0 * 1500000))
			until ((${EPOCHREALTIME//[!0-9]/} > end)); do :; done
			echo "ready $BASHPID") & exit 3' LIMIT
	[ -z "$stderr" ]
}

# bats test_tags=slow
@test "output, a file, CPU time of survivors put off --idle-after-exit, up to --max-after-exit" {
	beside output late moves LIMIT -i 1000 'echo tick'
	beside file late moves LIMIT 'echo tick >file'
	beside computes computes_on
	together

	gives 3 directly -s URG -k 100ms --max-after-exit=500ms --idle-after-exit=never \
		--report=report sh -c '(while sleep 0.05; do echo tick; done) & exit 3'
	reported '"reason_code":"survivors-busy"'
	has_message 'while sleep'
	nobody_is_left
}

# bats test_tags=slow
@test "--survivors=wait waits for survivors, whatever they do, until --timeout" {
	gives 4 directly --survivors=wait --idle-after-exit=50ms --max-after-exit=100ms \
		-i 1000 --idle-unless-busy -k 50ms \
		sh -c '(sleep 0.6; echo late) & exit 4'
	[ "$output" = late ]
	[ -z "$stderr" ]

	gives 4 complete_late "$WDRUN" --survivors=wait -t LIMIT --report=report bash -c '
		(await_zombie $$; exec "$PROGRAMS/escape") & exit 4'
	has_message escape
	reported '"reason_code":"timeout"'
	nobody_is_left
}

# bats test_tags=tree
@test "--survivors=leave lets survivors live; a timeout ends the whole tree all the same" {
	complete "$WDRUN" --survivors=leave --idle-after-exit=never \
		--max-after-exit=never "$PROGRAMS/escape" -x 4 fork setsid
	await_ready
	[ "$status" -eq 4 ]
	[ -z "$stderr" ]
	is_alive "$ready"
	[ "$(leftovers)" = "$ready" ]
	kill -KILL "$ready"
	wait_until nobody_is_left

	gives 124 complete_late "$WDRUN" --survivors=leave -t LIMIT -k 100ms \
		"$PROGRAMS/escape" fork setsid stubborn
	is_dead "$ready"
	nobody_is_left
}

@test "a signal while survivors linger reaches their group, a terminating one ends them" {
	start "$WDRUN" --survivors=wait sh -c '"$PROGRAMS/sigcount" & exit 3'
	await_ready
	front=$started
	find_watchers
	wait_until is_zombie "$target"
	kill -USR1 "$front"
	wait_until grep -qx 'got 10' out

	kill -TERM "$front"
	gives 3 finish
	nobody_is_left
}
