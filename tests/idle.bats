#!/usr/bin/env bats
#
# --idle-timeout: a command that is silent for too long is stopped.

load helper
load bounds

@test "a command that is silent for too long is stopped with 124, or with -p its status" {
	gives 124 complete_late "$WDRUN" -i LIMIT --report=report escape
	[ "$output" = "ready $ready" ]
	only_messages
	has_message "${limit}s"
	has_message "$ready" escape
	reported '"reason_code":"idle"'

	gives 9 complete_late "$WDRUN" -p --idle-timeout=LIMIT -k never bash -c '
		trap "echo last words; exit 9" TERM
		echo "ready $$"; while :; do pause 0.05; done'
	[ "$output" = "ready $ready"$'\nlast words' ]
}

# bats test_tags=slow
@test "silence begins after the last output, even a dot, on either stream, of any process" {
	beside dot late ends_after LIMIT 124 -i LIMIT bash -c '
		echo heard; sleep "$half"; note; printf .; exec sleep 1000'
	beside terminal late ends_after LIMIT 124 -i LIMIT --pty bash -c '
		sleep "$half"; note; echo heard >/dev/tty; exec sleep 1000'
	beside daemon late ends_after LIMIT 124 -i LIMIT bash -c '
		(setsid bash -c "sleep \$half; note; echo heard >&2" &)
		exec sleep 1000'
	together
}

# waits_for_the_reader LIMIT: the reader takes nothing for longer than the limit. The
# command has written all that it writes, more than fits in.
waits_for_the_reader() {
	rm -f go
	seq 9999 | head -c 20000 >sent # text: bash reads what comes behind
	start sip -w go "$WDRUN" -i "$1" bash -c '
		cat sent; echo; echo "ready $$"
		exec sleep 1000'
	pause "$1.3"
	note
	touch go
	finish
	says_ready out || return 0 # it was stopped before it had written that
	[ "$status" -eq 124 ]
	has_passed "$1"
	cmp -n 20000 out sent
}

# bats test_tags=slow
@test "time in which the reader takes no output does not count as silence" {
	late waits_for_the_reader LIMIT
}

@test "with -i 0 and -i never, silence has no limit" {
	goes_on --idle-timeout=never --until=nothing
	# With 0 nothing is looked at.
	wdrun_directly -i 0 readlink /proc/self/fd/1
	[ "$output" = "$PWD/out" ]
}

# Works for two and a half times the limit: the first look at what the tree has
# done also finds that it was started, the third one only work.
works_on() {
	gives 5 complete_late "$WDRUN" -i LIMIT --idle-unless-busy bash -c '
		work=$0 end=$((${EPOCHREALTIME//[!0-9]/} + $1 * 2500000))
		until ((${EPOCHREALTIME//[!0-9]/} > end)); do eval "$work"; done
		echo "ready $$"; exit 5' "$1" LIMIT
	[ -z "$stderr" ]
}

# bats test_tags=slow
@test "--idle-unless-busy: a command that computes, or writes 1 KiB a second, goes on" {
	beside computes works_on 'for i in {1..20000}; do :; done'
	beside writes works_on 'pause 0.1; printf %0900d 0 >>file'
	together

	gives 124 wdrun_directly -i 300ms escape busy
	gives 0 wdrun_directly -i 500ms --idle-unless-busy unreaped
	[ "$(stat -fc %T .)" = tmpfs ] || gives 5 wdrun_directly -i 500ms --idle-unless-busy act any pages=file exit=5
}

# As an agent whose server does not answer; and "until curl ...; do sleep 2; done". A new
# process takes up to 20 ms of a busy machine, which is 2 % of a second.
# bats test_tags=slow
@test "--idle-unless-busy: a command that only wakes up now and then, or waits in a loop, is stopped" {
	mkfifo never
	for command in 'until read -rt 0.05 <>never; do :; done' 'while sleep 2; do :; done' \
		'until ((SECONDS > 1)); do :; done; exec sleep 1000' 'exec act any tick'; do
		gives 124 wdrun_directly -t 60 -i 300ms --idle-unless-busy bash -c "$command"
		has_message 'no output for 300ms'
	done
	# Beside busy sessions, such a one waits for the processor at each tick.
	underway taskset -c 0 bash -c 'for i in {1..4}; do setsid escape busy & done
		echo "ready $$"; wait'
	gives 124 wdrun_directly -t 20 -i 300ms --idle-unless-busy taskset -c 0 bash -c '
		until read -rt 0.01 <>never; do :; done'
	has_message 'no output for 300ms'
	ended_by TERM 143
}

# bats test_tags=slow
@test "neither watcher wakes up before a time limit is over, even with all time limits given" {
	underway -t 1000 -i 1000 -u nothing --heartbeat=1000 --tee=copy escape
	wait_until sleep_on 1.1 "$front" "$supervisor"
	ended_by TERM 143
}
