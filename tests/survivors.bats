#!/usr/bin/env bats
#
# After the exit: what happens to processes that survive the command. The
# command's status stands, whatever happens to them.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

@test "\$(wdrun ...) returns though a background job holds the output" {
	# Only --idle-after-exit can end this run.
	complete bash -c 'x=$("$WDRUN" --max-after-exit=never \
		sh -c "sleep 1000 & echo hi"); echo "$? $x"'

	[ "$output" = "0 hi" ]
	nobody_is_left
}

@test "without wdrun the same hangs" {
	start bash -c 'x=$(sh -c "sleep 1000 & echo hi; echo over >over")
		echo "$? $x"'
	wait_until test -s over

	# No time has to pass: the reader sleeps, and the writer will for long.
	wait_until grep -q pipe_read "/proc/$started/wchan"
	is_alive "$started"

	end_leftovers
	finish
}

@test "stopped survivors are named, in one line" {
	complete "$WDRUN" --idle-after-exit=300ms sh -c 'sleep 1000 & echo $!'

	[ "$status" -eq 0 ]
	only_messages
	[ "$(wc -l <err)" -eq 1 ]
	[[ $stderr == *"$output"*sleep* ]]
}

names_the_holder() {
	complete sh -c '"$WDRUN" --idle-after-exit="$1" sh -c "
		sleep 1000 >/dev/null & first=\$!
		sleep 1001 2>&1 &
		until grep -q sleep /proc/\$first/comm &&
			grep -q sleep /proc/\$!/comm; do :; done; echo \$!" | cat' \
		- "$limit"
	[[ $stderr == *"held open by $output sleep"*"fd 1,2" ]]
}

@test "the survivors that held the output are named" {
	with_more_time names_the_holder
}

@test "--quiet stops survivors without a message" {
	complete "$WDRUN" -q --idle-after-exit=200ms sh -c 'sleep 1000 & exit 6'

	[ "$status" -eq 6 ]
	[ -z "$stderr" ]
	nobody_is_left
}

@test "survivors that end by themselves are waited for, and nothing is said" {
	complete "$WDRUN" --idle-after-exit=60 --max-after-exit=60 \
		sh -c '(sleep 0.3; echo late) & exit 3'

	[ "$status" -eq 3 ]
	[ "$output" = late ]
	[ -z "$stderr" ]
}

# The survivor writes for three times the bound in all, and pauses for a fifth
# of it.
writes_to_the_end() {
	local milliseconds
	printf -v milliseconds %.0f "${moment}e3"
	complete "$WDRUN" --idle-after-exit="$limit" --max-after-exit=never \
		"$PROGRAMS/ticker" "$milliseconds" 15 3
	[ "$status" -eq 3 ] && [ "$(grep -c '^tick' out)" -eq 15 ] &&
		[ "$(tail -n 1 out)" = "done" ] && [ -z "$stderr" ]
}

@test "a survivor that writes for longer than --idle-after-exit loses nothing" {
	with_more_time writes_to_the_end
}

@test "a survivor that writes for ever is stopped at --max-after-exit" {
	complete "$WDRUN" --max-after-exit=1s "$PROGRAMS/ticker" 100 0 3

	[ "$status" -eq 3 ]
	[[ $stderr == *ticker* ]]
	nobody_is_left
}

# The survivor computes for twice the bound, in bursts, which use CPU time too,
# and leave the machine to other tests.
computes_to_the_end() {
	local micro
	printf -v micro %.0f "${moment}e7"
	complete "$WDRUN" --idle-after-exit="$limit" --max-after-exit=never bash -c '
		{ end=$((${EPOCHREALTIME/[.,]/} + $1))
		until ((${EPOCHREALTIME/[.,]/} >= end)); do
			for i in {1..3000}; do :; done; read -rt 0.05 -u 9
		done 9<> <(:); echo computed; } &' - "$micro"
	[ "$output" = computed ] && [ -z "$stderr" ]
}

@test "a survivor that computes is making progress" {
	with_more_time computes_to_the_end
}

@test "a survivor that does nothing is stopped at --idle-after-exit" {
	complete "$WDRUN" --idle-after-exit=300ms --max-after-exit=never \
		"$PROGRAMS/escape" -x 5 fork setsid

	[ "$status" -eq 5 ]
	nobody_is_left
}

@test "a survivor that ignores SIGTERM gets SIGKILL" {
	complete "$WDRUN" --idle-after-exit=200ms -k 300ms \
		"$PROGRAMS/escape" -x 5 fork setsid stubborn closed

	[ "$status" -eq 5 ]
	nobody_is_left
}

@test "a daemon does not survive the command that started it" {
	complete "$WDRUN" --idle-after-exit=200ms \
		"$PROGRAMS/escape" -x 0 fork setsid fork root closed

	[ "$status" -eq 0 ]
	nobody_is_left
}

@test "--survivors=wait waits for survivors that do nothing" {
	complete "$WDRUN" --survivors=wait --idle-after-exit=100ms \
		--max-after-exit=200ms sh -c '(sleep 0.9; echo late) & exit 4'

	[ "$status" -eq 4 ]
	[ "$output" = late ]
	[ -z "$stderr" ]
}

@test "--survivors=wait waits though --idle-unless-busy looks at what they do" {
	complete "$WDRUN" --survivors=wait -i 1h --idle-unless-busy \
		--idle-after-exit=100ms --kill-after=100ms \
		sh -c '(sleep 2; echo late >late) & echo early'

	[ "$status" -eq 0 ]
	[ "$(cat late)" = late ]
	[ -z "$stderr" ]
}

@test "--survivors=wait is bounded by --timeout" {
	complete_late "$WDRUN" --survivors=wait -t LIMIT sh -c '
		(until grep -q zombie /proc/$$/status; do sleep 0.02; done
		echo "ready $$"; exec sleep 1000) & exit 4'

	[ "$status" -eq 4 ]
	[[ $stderr == "wdrun: "*sleep* ]]
	nobody_is_left
}

@test "--survivors=leave lets survivors live, and returns at once" {
	complete "$WDRUN" --survivors=leave --idle-after-exit=never \
		--max-after-exit=never "$PROGRAMS/escape" -x 4 fork setsid
	await_ready

	[ "$status" -eq 4 ]
	[ -z "$stderr" ]
	is_alive "$ready"
	[ "$(leftovers)" = "$ready" ]
	kill -KILL "$ready"
	wait_until nobody_is_left
}

@test "--survivors=leave is about the exit: a timeout ends the whole tree" {
	complete_late "$WDRUN" --survivors=leave -t LIMIT -k 300ms \
		"$PROGRAMS/escape" fork setsid stubborn

	[ "$status" -eq 124 ]
	is_dead "$ready"
	nobody_is_left
}

@test "after the command's death by a signal survivors are stopped as well" {
	start "$WDRUN" --idle-after-exit=200ms "$PROGRAMS/escape" fork setsid
	await_watchers
	await_ready

	kill -SEGV "$target"
	finish

	[ "$status" -eq 139 ]
	is_dead "$ready"
}

@test "a signal that is forwarded while survivors linger reaches their group" {
	start "$WDRUN" --survivors=wait sh -c '"$PROGRAMS/sigcount" & exit 3'
	await_ready
	await_watchers
	wait_until is_zombie "$target"

	kill -USR1 "$front"
	wait_until grep -qx 'got 10' out

	kill -TERM "$front"
	finish
	[ "$status" -eq 3 ]
}
