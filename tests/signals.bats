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

# has_lines COUNT PATTERN: out has so many of these lines.
has_lines() {
	[ "$(grep -c "$2" out)" -eq "$1" ]
}

# begin [LAUNCHER]... -- OPTION...: starts sigcount with these options.
begin() {
	local launcher=()
	while [ "$1" != -- ]; do
		launcher+=("$1")
		shift
	done
	shift
	start "${launcher[@]}" "$WDRUN" "$@" "$PROGRAMS/sigcount"
	await_ready
}

# ends_with STATUS: TERM to the front ends the run so.
ends_with() {
	kill -TERM "$started"
	finish
	[ "$status" -eq "$1" ]
}

# bats test_tags=smoke
@test "signals that end nothing are forwarded to the command, and each real-time one arrives" {
	local number
	begin --
	# USR1 USR2 PIPE ALRM URG XCPU VTALRM PROF WINCH IO PWR, real-time
	for number in 10 12 13 14 23 24 26 27 28 29 30 50 64; do
		kill -"$number" "$started"
		wait_until got "$number"
	done
	kill -34 "$started"
	kill -34 "$started"
	kill -34 "$started"
	wait_until has_lines 3 '^got 34$' # TERM would overtake them

	ends_with 7
	[ -z "$stderr" ]
	has_lines 3 '^got 34$'
}

# bats test_tags=smoke
@test "a forwarded signal reaches the command's whole group and no other, a terminating one all" {
	start "$WDRUN" -k never sh -c '"$PROGRAMS/sigcount" &
		setsid "$PROGRAMS/sigcount" >escaped & exec "$PROGRAMS/sigcount"'
	wait_until has_lines 2 '^ready'
	await_ready escaped

	kill -USR1 "$started"
	wait_until has_lines 2 '^got 10$'
	no grep -q 'got 10' escaped

	ends_with 7
	has_lines 2 '^got 15$'
	grep -qx 'got 15' escaped
}

# bats test_tags=smoke,tree
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

@test "a terminating signal starts the clock of --kill-after" {
	start "$WDRUN" -k 200ms "$PROGRAMS/launch" --ignore TERM \
		sh -c 'echo "ready $$"; exec sleep 1000'
	await_ready

	ends_with 137
}

@test "a cancel that the command ignores does not put off --timeout, whatever --kill-after is" {
	local limit
	for limit in never 1000; do
		# The command has sent the signal before it is ready.
		complete_late sh -c 'front=$$ exec "$WDRUN" "$@"' sh -t LIMIT -k $limit \
			bash -c 'trap "" HUP; kill -HUP "$front"; exec "$PROGRAMS/sigcount"'
		[ "$status" -eq 7 ]
		has_message TERM
	done
}

# bats test_tags=smoke
@test "two terminating signals are forwarded, the third kills at once" {
	begin -- -k never
	kill -HUP "$started"
	wait_until got 1
	kill -INT "$started"
	wait_until got 2
	is_alive "$ready"
	kill -QUIT "$started"
	finish
	[ "$status" -eq 137 ]

	# The same one of three senders, too.
	begin -- -k never
	env kill -INT "$started"
	wait_until has_lines 1 '^got 2$'
	env kill -INT "$started"
	wait_until has_lines 2 '^got 2$'
	env kill -INT "$started"
	finish
	[ "$status" -eq 137 ]

	# And without a pause.
	start "$WDRUN" -k never "$PROGRAMS/launch" --ignore HUP --ignore INT \
		--ignore QUIT sh -c 'echo "ready $$"; exec sleep 1000'
	await_ready
	kill -HUP "$started"
	kill -INT "$started"
	kill -QUIT "$started"
	finish
	[ "$status" -eq 137 ]
}

@test "TERM right behind a HUP that the command ignores reaches the command" {
	start "$WDRUN" -k never "$PROGRAMS/launch" --ignore HUP \
		"$PROGRAMS/sigcount"
	await_ready

	env kill -HUP "$started"

	ends_with 7
}

@test "one TERM to the outermost of three nested wdruns is no third signal" {
	start "$WDRUN" -k 60 "$WDRUN" -k 60 "$WDRUN" -k 60 bash -c '
		trap "sleep 0.3; echo in order; exit 7" TERM; echo "ready $$"
		while :; do sleep 0.05; done'
	await_ready

	ends_with 7
	[ "$(tail -n 1 out)" = "in order" ]
}

# bats test_tags=smoke
@test "what was ignored when wdrun started stays ignored: nohup, a shell's background job" {
	begin "$PROGRAMS/launch" --ignore HUP --
	kill -HUP "$started"
	kill -USR1 "$started" # USR1 is handled after HUP
	wait_until got 10
	is_alive "$ready"
	no got 1
	ends_with 7

	start sh -c '"$WDRUN" "$PROGRAMS/sigcount" & echo "front $!"; wait'
	await_ready
	wait_until grep -q '^front ' out
	front=$(sed -n 's/^front //p' out)
	kill -INT "$front"
	kill -QUIT "$front"
	kill -USR1 "$front"
	wait_until got 10
	no got 2
	no got 3
	kill -TERM "$front"
	finish
}

@test "what was blocked and pending at the start is pending for the command, or ends the run" {
	# bash, since dash unblocks all signals when it waits for a child.
	complete "$PROGRAMS/launch" --pending USR1 "$WDRUN" -t 200 bash -c '
		until grep -qE "^S[ih][gd]Pnd:.*[2367abef]..$" /proc/$$/status
		do sleep 0.05; done; echo pending'
	[ "$status" -eq 0 ]
	[ "$output" = pending ]

	complete "$PROGRAMS/launch" --pending TERM "$WDRUN" -k 300ms sleep 1000
	[ "$status" -gt 128 ]
}

@test "a signal in the first moments is not lost" {
	local -x WDRUN_REPORTS= # a front that dies before it begins writes no report
	for _ in {1..20}; do
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

# start_job COMMAND...: starts wdrun with COMMAND as a job that SIGTSTP stops,
# whoever started the tests. Sets front.
start_job() {
	start "$PROGRAMS/launch" --group "$WDRUN" "$@"
	await_ready
	wait_until grep -qs . "/proc/$started/task/$started/children"
	front=$(children_of "$started")
}

# bats test_tags=smoke
@test "TSTP stops the command and wdrun, and CONT continues them" {
	start_job "$PROGRAMS/escape"

	kill -TSTP "$front"
	wait_until is_stopped "$ready"
	wait_until is_stopped "$front"
	kill -CONT "$front"
	wait_until no is_stopped "$ready"

	kill -TERM "$front"
	finish
	[ "$status" -eq 143 ]
}

@test "a TSTP that the command handles stops nothing" {
	start_job "$PROGRAMS/sigcount"
	kill -TSTP "$front"
	wait_until got 20
	is_alive "$ready"

	kill -TERM "$front"
	finish
	[ "$status" -eq 7 ]
}

@test "a TSTP or STOP that a process sends stops no clock" {
	local by
	# To the command, and as a shell's suspend builtin might to the front.
	for by in 'kill -TSTP $$' 'kill -STOP $$' 'kill -TSTP "$front"'; do
		complete_late "$PROGRAMS/launch" --group sh -c \
			'front=$$ exec "$WDRUN" "$@"' sh -t LIMIT sh -c '
			(trap "" TSTP
			until grep -q stopped /proc/$$/status; do sleep 0.02; done
			echo "ready $$") &
			'"$by"'; exec sleep 1000'
		[ "$status" -eq 124 ]
	done
}

@test "a command that stops itself where no shell would continue it stays stopped until the timeout" {
	complete_late setsid -w "$WDRUN" -f -t LIMIT -k 200ms sh -c \
		'echo "ready $$"; kill -STOP $$; echo never'

	[ "$status" -eq 124 ]
	[ "$output" = "ready $ready" ]
}
