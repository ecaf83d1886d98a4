#!/usr/bin/env bats
#
# The harness finds and reports the processes that a test leaves behind.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

# inner_bats NAME: runs the one test in NAME.bats with another bats.
inner_bats() {
	env -u WDRUN_TEST bash -c '
		unset "${!BATS_@}"
		export PATH=${PATH#*bats-core:}
		exec bats "$1"' - "$BATS_TEST_TMPDIR/$1.bats" 3>&-
}

write_test() {
	{
		echo "load \"$root/tests/helper\""
		echo '@test "it" {'
		cat
		echo '}'
	} >"$1.bats"
}

@test "a process that a test leaves is named, is ended, and fails the test" {
	write_test leaky <<-'END'
		"$PROGRAMS/escape" -x 0 fork setsid fork root closed >out
		read -r _ escapee <out
		is_alive "$escapee"
		echo "$escapee" >"$BATS_RUN_TMPDIR/../escapee"
	END
	export TMPDIR=$PWD

	run inner_bats leaky

	[ "$status" -ne 0 ]
	[[ $output == *"not ok 1 it"* ]]
	[[ $output == *"this test has left"* ]]
	[[ $output == *"$(<escapee)"*escape* ]]
	is_dead "$(<escapee)"
}

@test "a process with an empty environment is found by its directory" {
	write_test leaky <<-'END'
		"$PROGRAMS/escape" -x 0 fork setsid stubborn empty >out
		read -r _ escapee <out
		echo "$escapee" >"$BATS_RUN_TMPDIR/../escapee"
	END
	export TMPDIR=$PWD

	run inner_bats leaky

	[ "$status" -ne 0 ]
	[[ $output == *"$(<escapee)"*escape* ]]
	is_dead "$(<escapee)"
}

@test "a chain of processes that fork for ever can be ended by the harness" {
	write_test leaky <<-'END'
		start "$PROGRAMS/chain"
		await_ready
	END
	export TMPDIR=$PWD

	run inner_bats leaky

	[ "$status" -ne 0 ]
	[[ $output != *"cannot be ended"* ]]
}

@test "a test that leaves nothing passes" {
	write_test clean <<-'END'
		start "$PROGRAMS/escape"
		await_ready
		kill -KILL "$started" "$ready"
		finish
	END
	export TMPDIR=$PWD

	run inner_bats clean

	[ "$status" -eq 0 ]
}

@test "processes of another test are not counted" {
	start "$PROGRAMS/escape"
	await_ready
	[ "$(leftovers | grep -cxE "$started|$ready")" -eq 2 ]

	WDRUN_TEST=$WDRUN_TEST.other BATS_TEST_TMPDIR=$BATS_TEST_TMPDIR.other \
		run nobody_is_left

	[ "$status" -eq 0 ]
	kill -KILL "$started" "$ready"
	finish
}

@test "the test programs end by themselves, whatever they ignore" {
	start "$PROGRAMS/escape" setsid stubborn stopped
	await_ready

	# This timer will send SIGKILL to the program itself.
	grep -q '^signal: 9/' "/proc/$ready/timers"

	kill -KILL "$started" "$ready"
	finish
}

@test "a test that is skipped after it has started something is a skip, and leaves nothing" {
	write_test needy <<-'END'
		start "$PROGRAMS/escape" stubborn
		await_ready
		skip "a reason"
	END
	export TMPDIR=$PWD

	run inner_bats needy

	[ "$status" -eq 0 ]
	[[ $output == *"ok 1 it # skip a reason"* ]]
	[[ $output != *"not ok"* ]]
}

# start_runner NAME: starts tests/run on the test written as NAME.
start_runner() {
	start env -u WDRUN_TEST -u WDRUN_STALLS -u TIMING TMPDIR="$PWD" bash -c '
		unset "${!BATS_@}"
		export PATH=${PATH#*bats-core:}
		exec "$1" "$2"' - "$root/tests/run" "$PWD/$1.bats"
}

@test "a test that fails beside the others, and passes alone, is told, and one that fails again has failed" {
	local -x AGAIN=2
	write_test once <<-'END'
		echo x >>"$BATS_RUN_TMPDIR/../../../runs"
		[ "$(wc -l <"$BATS_RUN_TMPDIR/../../../runs")" -ne 1 ]
	END
	start_runner once
	finish
	[ "$status" -eq 0 ]
	grep -qx 'not ok 1 it' out
	grep -qx '# failed beside the others, passed 2 times alone: it' out
	[ "$(tail -n 1 out)" = '1 passed, 0 failed, 0 skipped' ]
	[ "$(wc -l <runs)" -eq 3 ]

	write_test twice <<-'END'
		echo x >>"$BATS_RUN_TMPDIR/../../../runs"
		[ "$(wc -l <"$BATS_RUN_TMPDIR/../../../runs")" -eq 5 ]
	END
	start_runner twice
	finish
	[ "$status" -eq 1 ]
	grep -qx '# failed alone as well: it' out
	[ "$(tail -n 1 out)" = '0 passed, 1 failed, 0 skipped' ]
}

# Prints the PID of the process of tests/run that watches for stalls.
watcher_of() {
	local pid name
	for pid in $(children_of "$1"); do
		{ read -r name <"/proc/$pid/comm"; } 2>/dev/null || continue
		[ "$name" = run ] && echo "$pid" && return
	done
}

has_watcher() {
	watcher=$(watcher_of "$started")
	[[ $watcher =~ ^[0-9]+$ ]]
}

@test "a test that fails while the machine stands still tells of that" {
	write_test slow <<-'END'
		echo "ready $$" >"$BATS_RUN_TMPDIR/../../../going"
		wait_until test -s "$WDRUN_STALLS"
		false
	END
	start_runner slow
	await_ready going
	wait_until has_watcher

	kill -STOP "$watcher"
	pause 2.5 # the machine stands still, as far as the watcher can see
	kill -CONT "$watcher"
	finish

	[ "$status" -eq 1 ]
	grep -qE '^# the machine stood still for [0-9]+ s, until ' out
	grep -qE '^# the machine stood still [0-9]+ times, for [0-9]+ s at most$' out
	[ "$(tail -n 1 out)" = '0 passed, 1 failed, 0 skipped' ]
}
