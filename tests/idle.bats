#!/usr/bin/env bats
#
# --idle-timeout: a command that is silent for too long is stopped. (For a job
# that the terminal has stopped, see pty.bats.)
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load relays

# In these tests limit is the bound on silence, and moment a fifth of it. The
# commands wait with read -t, since to start a process takes long on a slow
# machine.
setup() {
	common_setup
	mkfifo never
	export moment
}

goes_silent() {
	complete "$WDRUN" --idle-timeout="$limit" \
		sh -c 'echo one; echo two; sleep 1000'
	[ "$output" = $'one\ntwo' ] &&
		[[ $(tail -n 1 err) == "wdrun: "*" sleep 1000 "*": sleeping" ]]
}

@test "a command that goes silent is stopped with status 124, and a message says so" {
	with_more_time goes_silent

	[ "$status" -eq 124 ]
	[[ $stderr == "wdrun: no output for "*"s, stopping "*" with SIGTERM:"$'\n'* ]]
	only_messages
	nobody_is_left
}

@test "a command without any output is stopped" {
	complete "$WDRUN" -i 200ms sleep 1000

	[ "$status" -eq 124 ]
	[ -z "$output" ]
}

dots_are_no_silence() {
	complete "$WDRUN" -i "$limit" bash -c '
		for i in {1..6}; do printf . >&2; read -rt "$moment" <>never; done
		for i in {1..6}; do printf .; read -rt "$moment" <>never; done
		exit 5'
	[ "$status" -eq 5 ] && [ "$output$stderr" = ............ ]
}

@test "a dot now and then ends the silence, on stdout or on stderr" {
	with_more_time dots_are_no_silence
}

dots_on_the_terminal_are_no_silence() {
	complete "$WDRUN" --pty -i "$limit" bash -c '
		for i in {1..10}; do
			printf . >/dev/tty; read -rt "$moment" <>never
		done; exit 5'
	[ "$status" -eq 5 ] && [ "$output" = .......... ]
}

@test "a dot that goes to the command's own terminal ends the silence" {
	with_more_time dots_on_the_terminal_are_no_silence
}

is_stopped_after_the_last_line() {
	complete "$WDRUN" -i "$limit" bash -c '
		for i in {1..8}; do echo "$i"; read -rt "$moment" <>never; done
		exec sleep 1000'
	[ "$status" -eq 124 ] && [ "$(tail -n 1 out)" = 8 ]
}

@test "the silence counts from the last output, and not from the start" {
	with_more_time is_stopped_after_the_last_line
}

dots_of_a_daemon_are_no_silence() {
	complete "$WDRUN" -i "$limit" bash -c '
		(setsid bash -c "
			for i in {1..10}; do
				echo .; read -rt \$moment <>never
			done; echo >told" &)
		read -r _ <told'
	[ "$status" -eq 0 ] && [ -z "$stderr" ]
}

@test "output of any process of the tree counts" {
	mkfifo told
	with_more_time dots_of_a_daemon_are_no_silence
}

@test "no bound on silence: 0, never, and no option" {
	local bound
	for bound in --idle-timeout=0 --idle-timeout=never --until=nothing; do
		goes_on "$bound"
	done
}

@test "a bound that is longer than time is none, and with 0 nothing is looked at" {
	complete "$WDRUN" -i 106752d echo hello
	[ "$status" -eq 0 ]
	[ "$output" = hello ]

	complete "$WDRUN" -i 0 readlink /proc/self/fd/1
	[ "$output" = "$PWD/out" ]
}

# Waits for longer than the bound.
let_time_pass() {
	pause "$limit"
	pause "$limit"
}

waits_for_its_reader() {
	rm -f go
	start "$PROGRAMS/sip" -w go "$WDRUN" -i "$limit" sh -c '
		"$PROGRAMS/pattern" write 1 3000000; exit 5'
	let_time_pass
	touch go
	finish
	[ "$status" -eq 5 ] && [ -z "$stderr" ]
}

@test "a reader that does not read is not the command's silence" {
	with_more_time waits_for_its_reader

	[ "$("$PROGRAMS/pattern" check 1 3000000 <out)" = same ]
}

goes_silent_with_its_reader_late() {
	rm -f go
	start "$PROGRAMS/sip" -w go "$WDRUN" -i "$limit" --tee=copy sh -c '
		"$PROGRAMS/pattern" write 1 20000; sleep 1000'
	let_time_pass
	! [ -s err ]
	was_stopped=$?
	touch go
	finish
	[ "$was_stopped" -eq 0 ] && [ "$status" -eq 124 ] &&
		[ "$("$PROGRAMS/pattern" check 1 20000 <out)" = same ]
}

@test "when the reader goes on, the silence counts from then" {
	with_more_time goes_silent_with_its_reader_late

	[[ $stderr == *"no output for "* ]]
}

is_heard_when_wdrun_goes_on() {
	local pids
	rm -f go
	start "$WDRUN" -i "$limit" bash -c '
		until [ -e go ]; do echo .; read -rt "$moment" <>never; done; exit 4'
	# Or the run has ended already.
	wait_until test -s out -o -s err
	mapfile -t pids < <(echo "$started"; relays_of "$started")

	kill -STOP "${pids[@]}"
	let_time_pass
	kill -CONT "${pids[@]}"
	touch go
	finish

	[ "$status" -eq 4 ] && [ -z "$stderr" ]
}

@test "wdrun's own processes being stopped is not the command's silence" {
	with_more_time is_heard_when_wdrun_goes_on
}

is_stopped_though_its_group_is_stopped() {
	start setsid "$WDRUN" -i "$limit" sh -c 'echo "ready $$"; exec sleep 1000'
	await_ready
	kill -STOP -- "-$started"
	! [ -s err ] || limit=late
	finish
	[ "$status" -eq 124 ] && is_dead "$ready" && [ "$limit" != late ]
}

@test "the bound holds where a batch scheduler has stopped wdrun's process group" {
	with_more_time is_stopped_though_its_group_is_stopped
}

is_held_up_by_its_copy() {
	complete "$WDRUN" -i "$limit" --tee=fifo bash -c '
		for i in {1..10}; do
			echo "$i"; read -rt "$moment" <>never
		done; exit 4' 7>&-
	[ "$status" -eq 4 ] && [ "$(wc -l <out)" -eq 10 ]
}

@test "a copy that holds the output up is not the command's silence" {
	mkfifo fifo
	exec 7<>fifo
	"$PROGRAMS/pattern" write 1 65536 >&7 # the pipe is full
	with_more_time is_held_up_by_its_copy
	exec 7>&-

	run ! grep -q 'no output' err
}

# Computes for twice the bound.
computes='end=$((${EPOCHREALTIME/[.,]/} + 10 * ${micro%.*}))
	until ((${EPOCHREALTIME/[.,]/} >= end)); do :; done'

computes_unless_stopped() {
	printf -v micro %.0f "${moment}e6"
	micro=$micro complete "$WDRUN" -i "$limit" --idle-unless-busy \
		bash -c "$computes; echo computed; exit 5"
	[ "$status" -eq 5 ] && [ "$output" = computed ] && [ -z "$stderr" ]
}

@test "--idle-unless-busy: a command that computes is not stopped" {
	with_more_time computes_unless_stopped
}

@test "without it the same is stopped" {
	complete "$WDRUN" -i 300ms bash -c '
		until ((SECONDS >= 200)); do :; done; echo computed'

	[ "$status" -eq 124 ]
	[ -z "$output" ]
}

writes_unless_stopped() {
	complete "$WDRUN" -i "$limit" --idle-unless-busy bash -c '
		bash -c "for i in {1..10}; do
				echo \$i; read -rt \$moment <>never
			done" >file
		exit 5'
	[ "$status" -eq 5 ] && [ -z "$stderr" ]
}

@test "--idle-unless-busy: a grandchild that writes a file is busy" {
	with_more_time writes_unless_stopped
}

computes_and_hangs() {
	printf -v micro %.0f "${moment}e6"
	micro=$micro complete "$WDRUN" -i "$limit" --idle-unless-busy \
		bash -c "$computes; : >computed; exec sleep 1000"
	[ -e computed ]
}

@test "--idle-unless-busy: a process that has computed, and then hangs, is stopped" {
	with_more_time computes_and_hangs

	[ "$status" -eq 124 ]
}

@test "what ignores the first signal gets SIGKILL after --kill-after" {
	complete_late "$WDRUN" -i LIMIT -k 200ms "$PROGRAMS/escape" fork setsid stubborn

	[ "$status" -eq 124 ]
	is_dead "$ready"
	nobody_is_left
}

has_last_words() {
	complete "$WDRUN" "$@" -i "$limit" -k never bash -c '
		trap "echo last words; exit 9" TERM
		echo first; while :; do read -rt "$moment" <>never; done'
	[[ $output == first* ]]
}

@test "what the command prints when it is stopped comes through, and -p gives its status" {
	with_more_time has_last_words
	[ "$status" -eq 124 ]
	[ "$output" = $'first\nlast words' ]

	with_more_time has_last_words -p
	[ "$status" -eq 9 ]
}

is_left_to_its_survivor() {
	complete "$WDRUN" -i "$limit" --idle-after-exit=60 --max-after-exit=60 sh -c '
		(sleep "$1"; sleep "$1"; echo late) & exit 3' - "$limit"
	[ "$status" -eq 3 ] && [ "$output" = late ] && [ -z "$stderr" ]
}

@test "the bound on silence ends with the command: survivors have their own" {
	with_more_time is_left_to_its_survivor
}

is_read_slowly_after_a_stop() {
	# The pauses make the reader take longer than --kill-after.
	complete "$PROGRAMS/sip" -c 2048 -p 100 "$WDRUN" -i "$limit" -k 300ms sh -c '
		"$PROGRAMS/pattern" write 1 16384; sleep 1000'

	[ "$status" -eq 124 ] &&
		[ "$("$PROGRAMS/pattern" check 1 16384 <out)" = same ] &&
		[ "$(grep -vc "^wdrun:   " err)" -eq 1 ]
}

@test "a stop for silence waits for a reader that is slow, and loses nothing" {
	with_more_time is_read_slowly_after_a_stop
}

@test "silence wakes nobody up before its bound" {
	local before
	start "$WDRUN" -i 60 sh -c 'echo "ready $$"; exec sleep 1000'
	await_ready
	front=$started
	wait_until all_sleep
	before=$(wake_ups)

	pause 0.5 # nothing may happen in this time, which is the subject of the test

	[ "$(wake_ups)" = "$before" ]
	[ "$(wc -l <<<"$before")" -ge 6 ] # front, supervisor and a relay
	kill -TERM "$front"
	finish
}

# How often each process of wdrun's gave up the CPU or lost it.
wake_ups() {
	local pid
	for pid in "$front" $(children_of "$front"); do
		grep -H ctxt_switches "/proc/$pid/status"
	done
}

# Succeeds when no process of wdrun's has woken up for a fifth of a second.
all_sleep() {
	local before
	before=$(wake_ups)
	sleep 0.2
	[ "$(wake_ups)" = "$before" ]
}
