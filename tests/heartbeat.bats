#!/usr/bin/env bats
#
# --heartbeat: lines that say how far the run is, and no other effect.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

beats() {
	grep -c ' elapsed' err
}

has_beaten() {
	[ "$(beats)" -ge "$1" ]
}

@test "--heartbeat tells how far a silent run is: name, elapsed, left, processes" {
	start env XDG_STATE_HOME="$PWD" "$WDRUN" --heartbeat=200ms -t 1h \
		-n nightly sh -c 'sleep 1000 & sleep 1000'
	wait_until grep -qxE 'wdrun: nightly: [0-9]+s elapsed, 59m[0-9]+s left, 3 processes' err
	wait_until has_beaten 3
	kill -TERM "$started"
	finish

	[ "$status" -eq 143 ]
	[ -z "$output" ]
	only_messages
}

# In a line of a run with -t 59, what has passed and what is left.
adds_up() {
	local line count=0
	while read -r line; do
		[[ $line =~ sleep:\ ([0-9]+)s\ elapsed,\ ([0-9]+)s\ left, ]]
		((BASH_REMATCH[1] + BASH_REMATCH[2] == 59))
		((++count))
	done <err
	((count >= 4))
}

@test "a heartbeat rounds to the nearest second: what has passed and what is left make the whole" {
	start "$WDRUN" --heartbeat=700ms -t 59 /bin/sleep 1000
	wait_until has_beaten 4
	kill -TERM "$started"
	finish

	adds_up
}

@test "without --name the command's name is used, without --timeout no time left is shown" {
	start "$WDRUN" --heartbeat=200ms /bin/sleep 1000
	wait_until has_beaten 1
	kill -TERM "$started"
	finish
	grep -qxE 'wdrun: sleep: [0-9]+s elapsed, 1 process' err
	run ! grep -vxE 'wdrun: sleep: [0-9]+s elapsed, 1 process' err
}

is_silent_between_lines() {
	complete "$WDRUN" --heartbeat="$limit" -i 60 bash -c \
		'for _ in {1..10}; do echo line; read -rt "$1" <>never; done
		exit 0' - "$moment"
	[ "$status" -eq 0 ] && [ "$(wc -l <out)" -eq 10 ] && [ -z "$stderr" ]
}

@test "--heartbeat is silent while there is output, where wdrun reads it" {
	mkfifo never
	with_more_time is_silent_between_lines

	start "$WDRUN" --heartbeat=300ms -i 60 sh -c 'echo line; sleep 1000'
	wait_until grep -qE 'elapsed, last output [0-9]+s ago, 2 processes$' err
	wait_until has_beaten 2
	kill -TERM "$started"
	finish
}

goes_silent_with_a_heartbeat() {
	complete "$WDRUN" --heartbeat="$moment" -i "$limit" \
		sh -c 'echo line; exec sleep 1000'
	[ "$status" -eq 124 ] && has_beaten 2 && [ "$output" = line ]
}

@test "a heartbeat does not count as output: --idle-timeout comes all the same" {
	with_more_time goes_silent_with_a_heartbeat
}

@test "a run does not wake up between its heartbeats" {
	need strace
	start "$WDRUN" --heartbeat=1000 "$PROGRAMS/sigcount"
	await_ready
	await_watchers
	strace -f -qq -p "$supervisor" -o trace 3>&- &
	tracer=$!
	wait_until grep -q ppoll trace
	sleep 0.5
	[ "$(wc -l <trace)" -le 1 ]
	kill -TERM "$front"
	finish
	wait "$tracer" || true
}

@test "--quiet, a stop and the end stop the heartbeat" {
	complete "$WDRUN" -q --heartbeat=50ms sleep 0.5
	[ "$status" -eq 0 ] && [ -z "$stderr" ]

	complete_late "$WDRUN" --heartbeat=50ms -k 300ms -t LIMIT \
		"$PROGRAMS/escape" fork setsid stubborn
	[ "$status" -eq 124 ]
	# After the message of the stop there is no heartbeat.
	grep -q 'timed out' err
	[ "$(sed '1,/timed out/d' err | grep -c elapsed)" -eq 0 ]
	nobody_is_left
}

@test "a stderr that takes nothing holds up neither the run nor its end" {
	mkfifo fifo
	exec 7<>fifo
	"$PROGRAMS/pattern" write 1 65536 >&7 # the pipe is full
	complete sh -c '"$WDRUN" --heartbeat=50ms -t 400ms -k 100ms sleep 1000 2>&7
		echo "status $?"'
	exec 7>&-
	[ "$output" = 'status 124' ]
	nobody_is_left
}

@test "a heartbeat every millisecond leaves no process, and no zombie" {
	start "$WDRUN" --heartbeat=1ms sleep 1000
	await_watchers
	wait_until has_beaten 20
	[ "$(children_of "$supervisor" | wc -l)" -le 3 ]
	kill -TERM "$front"
	finish
	[ "$status" -eq 143 ]
	nobody_is_left
}

@test "of a command without output the heartbeat says so, and no name is cut within a character" {
	start env XDG_STATE_HOME="$PWD" "$WDRUN" --heartbeat=200ms -i 60 \
		-n "x$(printf '\xc3\xa9%.0s' {1..40})" sleep 1000
	wait_until has_beaten 2
	kill -TERM "$started"
	finish
	grep -qxE $'wdrun: x(\xc3\xa9){31}: [0-9]+s elapsed, no output yet, 1 process' err
	only_messages
}
