#!/usr/bin/env bats
#
# --idle-timeout: a command that says nothing for too long is hung. (While a
# terminal has it stopped: pty.bats.)
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load relays

@test "a command that goes silent is stopped, with 124, and it is told" {
	start "$WDRUN" --idle-timeout=300ms sh -c 'echo one; echo two; sleep 1000'
	finish

	[ "$status" -eq 124 ]
	[ "$output" = $'one\ntwo' ]
	[[ $stderr == "wdrun: no output for 300ms, stopping "*" with SIGTERM:"$'\n'* ]]
	[[ $(tail -n 1 err) == "wdrun: "*"sleep 1000"*": sleeping" ]]
	only_messages
	nobody_is_left
}

@test "a command that says nothing at all is stopped" {
	complete "$WDRUN" -i 200ms sleep 1000

	[ "$status" -eq 124 ]
	[ -z "$output" ]
}

@test "a dot now and then is no silence, on stdout or on stderr" {
	complete "$WDRUN" -i 700ms bash -c '
		for i in {1..6}; do printf . >&2; sleep 0.15; done
		for i in {1..6}; do printf .; sleep 0.15; done; exit 5'

	[ "$status" -eq 5 ]
	[ "$output$stderr" = ............ ]
}

@test "a dot that goes to a terminal of the command's own is no silence" {
	complete "$WDRUN" --pty -i 700ms bash -c '
		for i in {1..10}; do printf . >/dev/tty; sleep 0.15; done'

	[ "$status" -eq 0 ]
	[ "$output" = .......... ]
}

@test "the silence counts from the last output, and not from the start" {
	start "$WDRUN" -i 600ms bash -c '
		for i in {1..6}; do echo "$i"; sleep 0.15; done; sleep 1000'
	finish

	[ "$status" -eq 124 ]
	[ "$(tail -n 1 out)" = 6 ]
}

@test "what the tree says counts, whoever says it" {
	complete "$WDRUN" -i 700ms bash -c '
		(setsid bash -c "for i in {1..8}; do echo .; sleep 0.15; done" &)
		sleep 1.2'

	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
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

# Longer than the bounds below.
let_time_pass() {
	"$WDRUN" -q -t 900ms sleep 1000 || true
}

@test "a reader that does not read is not the command's silence" {
	start "$PROGRAMS/sip" -w go "$WDRUN" -i 300ms sh -c '
		"$PROGRAMS/pattern" write 1 3000000; exit 5'
	let_time_pass
	[ ! -s err ]

	touch go
	finish

	[ "$status" -eq 5 ]
	[ -z "$stderr" ]
	[ "$("$PROGRAMS/pattern" check 1 3000000 <out)" = same ]
}

@test "when the reader goes on, the silence counts from then" {
	start "$PROGRAMS/sip" -w go "$WDRUN" -i 300ms --tee=copy sh -c '
		"$PROGRAMS/pattern" write 1 20000; sleep 1000'
	let_time_pass
	[ ! -s err ]

	touch go
	finish

	[ "$status" -eq 124 ]
	[[ $stderr == *"no output for 300ms"* ]]
	[ "$("$PROGRAMS/pattern" check 1 20000 <out)" = same ]
}

@test "wdrun's own processes being stopped is not the command's silence" {
	local pids
	start "$WDRUN" -i 700ms bash -c '
		until [ -e go ]; do echo .; sleep 0.1; done; exit 4'
	wait_until grep -q . out
	front=$started
	mapfile -t pids < <(echo "$front"; relays_of "$front")

	kill -STOP "${pids[@]}"
	let_time_pass
	kill -CONT "${pids[@]}"
	touch go
	finish

	[ "$status" -eq 4 ]
	[ -z "$stderr" ]
}

@test "a copy that holds the output up is not the command's silence" {
	mkfifo fifo
	exec 7<>fifo
	"$PROGRAMS/pattern" write 1 65536 >&7 # it is full
	complete "$WDRUN" -i 700ms --tee=fifo bash -c '
		for i in {1..15}; do echo "$i"; sleep 0.1; done; exit 4' 7>&-
	exec 7>&-

	[ "$status" -eq 4 ]
	[ "$(wc -l <out)" -eq 15 ]
	run ! grep -q 'no output' err
}

@test "--idle-unless-busy: a command that computes is not stopped" {
	complete "$WDRUN" -i 400ms --idle-unless-busy bash -c '
		until ((SECONDS >= 2)); do :; done; echo computed; exit 5'

	[ "$status" -eq 5 ]
	[ "$output" = computed ]
	[ -z "$stderr" ]
}

@test "without it the same is stopped" {
	complete "$WDRUN" -i 400ms bash -c '
		until ((SECONDS >= 20)); do :; done; echo computed'

	[ "$status" -eq 124 ]
	[ -z "$output" ]
}

@test "--idle-unless-busy: a grandchild that writes a file is busy" {
	complete "$WDRUN" -i 700ms --idle-unless-busy bash -c '
		bash -c "for i in {1..15}; do echo \$i; sleep 0.1; done" >file
		exit 5'

	[ "$status" -eq 5 ]
	[ -z "$stderr" ]
}

@test "--idle-unless-busy: one that has computed, and hangs then, is stopped" {
	complete "$WDRUN" -i 300ms --idle-unless-busy bash -c '
		until ((SECONDS >= 1)); do :; done; exec sleep 1000'

	[ "$status" -eq 124 ]
}

@test "what ignores the first signal gets SIGKILL after --kill-after" {
	start "$WDRUN" -i 300ms -k 300ms "$PROGRAMS/escape" fork setsid stubborn
	await_ready
	finish

	[ "$status" -eq 124 ]
	is_dead "$ready"
	nobody_is_left
}

@test "what the command says when it is stopped comes through" {
	start "$WDRUN" -i 400ms bash -c '
		trap "echo last words; exit 9" TERM
		echo first; while :; do sleep 0.05; done'
	finish

	[ "$status" -eq 124 ]
	[ "$output" = $'first\nlast words' ]
}

@test "-p gives the command's own status of a stop for silence" {
	complete "$WDRUN" -p -i 300ms bash -c '
		trap "exit 9" TERM; while :; do sleep 0.05; done'

	[ "$status" -eq 9 ]
}

@test "the bound on silence ends with the command: survivors have their own" {
	complete "$WDRUN" -i 200ms --idle-after-exit=3s sh -c '
		(sleep 0.8; echo late) & exit 3'

	[ "$status" -eq 3 ]
	[ "$output" = late ]
	[ -z "$stderr" ]
}

@test "a stop for silence waits for a reader that is slow, and loses nothing" {
	# Its pause makes the reader later than --kill-after.
	complete "$PROGRAMS/sip" -c 2048 -p 150 "$WDRUN" -i 300ms -k 300ms sh -c '
		"$PROGRAMS/pattern" write 1 16384; sleep 1000'

	[ "$status" -eq 124 ]
	[ "$("$PROGRAMS/pattern" check 1 16384 <out)" = same ]
	[ "$(grep -vc "^wdrun:   " err)" -eq 1 ]
}

@test "silence wakes nobody up before its bound" {
	local before
	start "$WDRUN" -i 60 sh -c 'echo "ready $$"; exec sleep 1000'
	await_ready
	front=$started
	wait_until all_sleep
	before=$(wake_ups)

	let_time_pass

	[ "$(wake_ups)" = "$before" ]
	[ "$(wc -l <<<"$before")" -ge 6 ] # front, supervisor, a relay
	kill -TERM "$front"
	finish
}

# How often each of wdrun's processes gave up the CPU, or lost it.
wake_ups() {
	local pid
	for pid in "$front" $(children_of "$front"); do
		grep -H ctxt_switches "/proc/$pid/status"
	done
}

# They have come to rest: nobody wakes up for a fifth of a second.
all_sleep() {
	local before
	before=$(wake_ups)
	sleep 0.2
	[ "$(wake_ups)" = "$before" ]
}
