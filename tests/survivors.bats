#!/usr/bin/env bats
#
# After the exit: what happens to processes that survive the command. The
# command's status stands, whatever happens to them.

load helper
load bounds

# stops_survivors STATUS OPTION...: a survivor that does nothing is stopped.
stops_survivors() {
	gives "$1" directly --report=report --idle-after-exit=200ms \
		--max-after-exit=never -k 100ms "${@:2}"
	reported '"reason_code":"survivors-idle"'
	nobody_is_left
}

# bats test_tags=tree
@test "a survivor that does nothing is stopped at --idle-after-exit, and the status stands" {
	stops_survivors 5 escape -x 5 fork setsid stubborn closed
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

# bats test_tags=slow
@test "output, a file, CPU time of survivors put off --idle-after-exit, up to --max-after-exit" {
	beside output late moves LIMIT -i 1000 'echo tick'
	beside file late moves LIMIT 'echo tick >file'
	# It computes for longer than the limit, without a system call.
	beside computes gives 3 late directly --idle-after-exit=LIMIT --max-after-exit=never \
		bash -c '(end=$((${EPOCHREALTIME//[!0-9]/} + $0 * 1500000))
			until ((${EPOCHREALTIME//[!0-9]/} > end)); do :; done
			echo "ready $BASHPID") & exit 3' LIMIT
	together
	gives 3 directly -s URG -k 100ms --max-after-exit=500ms --idle-after-exit=never \
		--report=report ticker 50 0 3
	reported '"reason_code":"survivors-busy"'
	has_message ticker
	nobody_is_left
}

# bats test_tags=slow
@test "--survivors=wait waits for survivors, whatever they do, until --timeout" {
	gives 4 directly --survivors=wait --idle-after-exit=50ms --max-after-exit=100ms \
		-i 1000 --idle-unless-busy -k 50ms sh -c '(sleep 0.6; echo late) & exit 4'
	[ "$output$stderr" = late ]
	gives 4 late directly --survivors=wait -t LIMIT --report=report bash -c '
		(await_state $$ Z; exec escape) & exit 4'
	has_message escape
	reported '"reason_code":"timeout"'
	nobody_is_left
}

# bats test_tags=tree
@test "--survivors=leave lets survivors live; a timeout ends the whole tree all the same" {
	gives 4 directly --survivors=leave --idle-after-exit=never --max-after-exit=never \
		escape -x 4 fork setsid
	[ -z "$stderr" ]
	[ "ready $(leftovers)" = "$output" ]
	end_leftovers
	gives 124 late directly --survivors=leave -t LIMIT -k 100ms escape fork setsid stubborn
	nobody_is_left
}

@test "a signal while survivors linger reaches their group, a terminating one ends them" {
	underway --survivors=wait sh -c 'sigcount & exit 3'
	wait_until is_zombie "$target"
	kill -USR1 "$front"
	wait_until has_lines 1 'got 10'
	ended_by TERM 3
	nobody_is_left
}
