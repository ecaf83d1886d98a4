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
