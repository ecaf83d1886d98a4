#!/usr/bin/env bats
#
# Signals: which processes get them, and what wdrun does. programs/sigcount.c
# prints the signals that it got, and exits with 7 after TERM.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

got() {
	grep -qx "got $1" out
}

@test "signals that end nothing are forwarded to the command" {
	local number
	start "$WDRUN" "$PROGRAMS/sigcount"
	await_ready

	# USR1 USR2 PIPE ALRM URG XCPU VTALRM PROF WINCH IO PWR, real-time
	for number in 10 12 13 14 23 24 26 27 28 29 30 34 50 64; do
		kill -"$number" "$started"
		wait_until got "$number"
	done
	kill -TERM "$started"
	finish

	[ "$status" -eq 7 ]
	[ -z "$stderr" ]
}

@test "each of several real-time signals arrives" {
	start "$WDRUN" "$PROGRAMS/sigcount"
	await_ready

	kill -34 "$started"
	kill -34 "$started"
	kill -34 "$started"
	wait_until has_lines 3 '^got 34$'
	kill -TERM "$started" # TERM would overtake real-time signals
	finish

	[ "$(grep -cx 'got 34' out)" -eq 3 ]
}

@test "a forwarded signal reaches the command's whole group" {
	start "$WDRUN" sh -c '"$PROGRAMS/sigcount" & exec "$PROGRAMS/sigcount"'
	wait_until has_lines 2 '^ready'

	kill -USR1 "$started"
	wait_until has_lines 2 '^got 10$'

	kill -TERM "$started"
	finish
	[ "$status" -eq 7 ]
}

has_lines() {
	[ "$(grep -c "$2" out)" -eq "$1" ]
}

@test "a forwarded signal goes to no other group" {
	start "$WDRUN" sh -c 'setsid "$PROGRAMS/sigcount" >escaped &
		exec "$PROGRAMS/sigcount"'
	await_ready
	await_ready escaped

	kill -USR1 "$started"
	wait_until got 10

	run ! grep -q 'got 10' escaped
	kill -TERM "$started"
	finish
}

@test "HUP, INT, QUIT and TERM end the run, with the command's death by them" {
	local name
	for name in HUP INT QUIT TERM; do
		start "$WDRUN" "$PROGRAMS/escape" fork setsid
		await_ready

		kill -s "$name" "$started"
		finish

		[ "$status" -eq $((128 + $(kill -l "$name"))) ]
		nobody_is_left
	done
}

@test "a terminating signal reaches also processes that left the command's group" {
	start "$WDRUN" -k never sh -c 'setsid "$PROGRAMS/sigcount" >escaped &
		exec "$PROGRAMS/sigcount"'
	await_ready
	await_ready escaped

	kill -TERM "$started"
	finish

	grep -qx 'got 15' escaped
}

@test "a terminating signal starts the clock of --kill-after" {
	start "$WDRUN" -k 300ms "$PROGRAMS/launch" --ignore TERM \
		sh -c 'echo "ready $$"; exec sleep 1000'
	await_ready

	kill -TERM "$started"
	finish

	[ "$status" -eq 137 ]
}

is_stopped_at_its_timeout() {
	start "$WDRUN" -t "$limit" -k "$1" "$PROGRAMS/launch" --ignore HUP \
		"$PROGRAMS/sigcount"
	await_ready
	kill -HUP "$started"
	finish
	[ "$status" -eq 7 ] && [[ $stderr == "wdrun: timed out after "* ]]
}

@test "a cancel that the command ignores does not put off --timeout, whatever --kill-after is" {
	with_more_time is_stopped_at_its_timeout never
	with_more_time is_stopped_at_its_timeout 1000
}

@test "two terminating signals are forwarded, the third kills at once" {
	start "$WDRUN" -k never "$PROGRAMS/sigcount"
	await_ready
	kill -HUP "$started"
	wait_until got 1
	kill -INT "$started"
	wait_until got 2
	is_alive "$ready"

	kill -QUIT "$started"
	finish

	[ "$status" -eq 137 ]
}

@test "three terminating signals of one sender kill also without a pause" {
	start "$WDRUN" -k never "$PROGRAMS/launch" --ignore HUP --ignore INT \
		--ignore QUIT sh -c 'echo "ready $$"; exec sleep 1000'
	await_ready

	kill -HUP "$started"
	kill -INT "$started"
	kill -QUIT "$started"
	finish

	[ "$status" -eq 137 ]
}

# got_ints COUNT: the command got SIGINT so many times.
got_ints() {
	[ "$(grep -cx 'got 2' out)" -eq "$1" ]
}

@test "three INTs of three senders count as three, without a pause too" {
	start "$WDRUN" -k never "$PROGRAMS/sigcount"
	await_ready
	env kill -INT "$started"
	wait_until got_ints 1
	env kill -INT "$started"
	wait_until got_ints 2

	env kill -INT "$started"
	finish

	[ "$status" -eq 137 ]
}

@test "TERM right behind a HUP that the command ignores reaches the command" {
	start "$WDRUN" -k never "$PROGRAMS/launch" --ignore HUP \
		"$PROGRAMS/sigcount"
	await_ready
	await_watchers
	env kill -HUP "$started"
	wait_until grep -qx wd-stopping "/proc/$supervisor/comm"

	env kill -TERM "$started"
	finish

	[ "$status" -eq 7 ]
}

@test "one TERM to the outermost of three nested wdruns is no third signal" {
	start "$WDRUN" -k 60 "$WDRUN" -k 60 "$WDRUN" -k 60 bash -c '
		trap "sleep 0.3; echo in order; exit 7" TERM; echo "ready $$"
		while :; do sleep 0.05; done'
	await_ready

	kill -TERM "$started"
	finish

	[ "$status" -eq 7 ]
	[ "$(tail -n 1 out)" = "in order" ]
}

# end_in_order COMMAND...: COMMAND executes its further arguments with a stderr
# for which each write raises a signal.
end_in_order() {
	start "$@" "$WDRUN" -v -k 60 bash -c '
		exec 2>/dev/null
		trap "sleep 0.3; mkdir in-order; exit 7" TERM; mkdir ready
		while :; do sleep 0.05; done'
	wait_until test -d ready

	kill -TERM "$started"
	finish

	[ "$status" -eq 7 ]
	[ -d in-order ]
}

@test "SIGPIPE of a message that has no reader reaches neither the command nor wdrun" {
	mkfifo pipe
	end_in_order bash -c 'exec 7<>pipe 2>pipe 7<&-; exec "$@"' -
}

@test "SIGXFSZ of a message to a full file reaches neither the command nor wdrun" {
	end_in_order bash -c 'ulimit -f 0; exec 2>full "$@"' -
}

@test "TERM to the supervisor has the effect of TERM to the front" {
	start "$WDRUN" -k 300ms "$PROGRAMS/escape" fork setsid stubborn
	await_ready
	await_watchers

	kill -TERM "$supervisor"
	finish

	[ "$status" -eq 143 ]
	is_dead "$ready"
}

@test "no signal but SIGKILL ends the supervisor, or changes the status" {
	local number
	start "$WDRUN" "$PROGRAMS/sigcount"
	await_ready
	await_watchers

	for number in 4 5 6 7 8 10 11 12 13 14 16 {23..31} {34..64}; do
		kill -"$number" "$supervisor"
	done
	kill -TERM "$ready"
	finish

	[ "$status" -eq 7 ]
}

@test "what was ignored when wdrun started stays ignored: nohup" {
	start "$PROGRAMS/launch" --ignore HUP "$WDRUN" "$PROGRAMS/sigcount"
	await_ready

	kill -HUP "$started"
	kill -USR1 "$started" # USR1 is handled after HUP
	wait_until got 10

	is_alive "$ready"
	run ! grep -qx 'got 1' out
	kill -TERM "$started"
	finish
	[ "$status" -eq 7 ]
}

@test "what was ignored stays ignored: INT and QUIT of a shell's background job" {
	start sh -c '"$WDRUN" "$PROGRAMS/sigcount" & echo "front $!"; wait'
	await_ready
	wait_until grep -q '^front ' out
	front=$(sed -n 's/^front //p' out)

	kill -INT "$front"
	kill -QUIT "$front"
	kill -USR1 "$front"
	wait_until got 10

	run ! grep -qxE 'got (2|3)' out
	kill -TERM "$front"
	finish
}

@test "a blocked signal that was pending at the start is pending for the command" {
	# bash, since dash unblocks all signals when it waits for a child.
	complete "$PROGRAMS/launch" --pending USR1 "$WDRUN" -t 200 bash -c '
		until grep -qE "^S[ih][gd]Pnd:.*[2367abef]..$" /proc/$$/status
		do sleep 0.05; done; echo pending'

	[ "$status" -eq 0 ]
	[ "$output" = pending ]
}

@test "a terminating signal that was blocked and pending ends the run" {
	complete "$PROGRAMS/launch" --pending TERM "$WDRUN" -k 300ms sleep 1000

	[ "$status" -gt 128 ]
}

@test "a signal in the first moments is not lost" {
	local -x WDRUN_REPORTS= # a front that dies before it begins writes no report
	for _ in {1..30}; do
		start "$WDRUN" -k 300ms sleep 1000
		# Before that, programs/launch would die by the signal.
		wait_until is_wdrun "$started"
		kill -TERM "$started"
		finish >/dev/null
		[ "$status" -eq 143 ]
	done
}

is_wdrun() {
	[ "/proc/$1/exe" -ef "$WDRUN" ]
}

# stops_and_goes_on STATUS COMMAND...: TSTP stops COMMAND, which says that it is
# ready, CONT continues it, and TERM ends the run with STATUS.
stops_and_goes_on() {
	start "$WDRUN" "${@:2}"
	await_ready

	kill -TSTP "$started"
	wait_until is_stopped "$ready"
	kill -CONT "$started"
	wait_until no is_stopped "$ready"

	kill -TERM "$started"
	finish
	[ "$status" -eq "$1" ]
}

@test "TSTP stops the command, and CONT continues it" {
	stops_and_goes_on 143 "$PROGRAMS/escape"
}

@test "a TSTP that the command handles stops nothing" {
	start "$WDRUN" "$PROGRAMS/sigcount"
	await_ready
	kill -TSTP "$started"
	wait_until grep -qx 'got 20' out

	kill -TERM "$started"
	finish
	[ "$status" -eq 7 ]
}

@test "a TSTP or STOP from a process stops no clock" {
	local signal
	for signal in TSTP STOP; do
		complete_late "$WDRUN" -t LIMIT sh -c '
			(until grep -q stopped /proc/$$/status; do sleep 0.02; done
			echo "ready $$") &
			kill -'"$signal"' $$; exec sleep 1000'
		[ "$status" -eq 124 ]

	done
	complete_late "$WDRUN" -t LIMIT sh -c '
		(trap "" TSTP
		until grep -q stopped /proc/$$/status; do sleep 0.02; done
		echo "ready $$") &
		kill -TSTP $(ps -o ppid= -p $PPID); exec sleep 1000'
	[ "$status" -eq 124 ]
}

@test "a command that stops itself where no shell would continue it stays stopped until the timeout" {
	complete_late setsid -w "$WDRUN" -f -t LIMIT -k 200ms sh -c \
		'echo "ready $$"; kill -STOP $$; echo never'

	[ "$status" -eq 124 ]
	[ "$output" = "ready $ready" ]
}
