#!/usr/bin/env bats
# bats file_tags=words
#
# The harness finds and reports what a test leaves behind, and tests/run counts
# what the tests say.
#
# shellcheck disable=SC2016,SC2154

load helper

# write_test NAME: writes a file with one test, whose commands are stdin.
write_test() {
	{
		echo "load \"$root/tests/helper\""
		echo '@test "it" {'
		cat
		echo '}'
	} >"$1.bats"
}

# run_tests NAME...: runs these files by a tests/run of their own.
run_tests() {
	complete env -u WDRUN_TEST -u TIMING -u TAGS -u UNITS -u WDRUN_NO_SKIP \
		TMPDIR="$PWD" "${with[@]}" bash -c '
		unset "${!BATS_@}"
		export PATH=${PATH#*bats-core:}
		exec "$0" "$@"' "$root/tests/run" "${@/%/.bats}"
}

with=()

@test "a process that a test leaves is named, is ended, and fails the test" {
	local kind
	for kind in closed empty; do # found by the environment, or the directory
		write_test leaky <<-END
			"\$PROGRAMS/escape" -x 0 fork setsid stubborn $kind >out
			cp out "$PWD/escaped"
		END
		run_tests leaky

		[ "$status" -eq 1 ]
		[[ $output == *"not ok 1 it"*"this test has left"* ]]
		[[ $output == *$'\n'"0 passed, 1 failed, 0 skipped" ]]
		read -r _ escapee <escaped
		is_dead "$escapee"
	done
}

@test "a failure, a skip, a file that does not run and what is left in TMPDIR are told and counted" {
	write_test good <<<'true'
	write_test bad <<<'false'
	write_test needy <<-'END'
		start "$PROGRAMS/escape" stubborn
		await_ready
		skip "a reason"
	END
	write_test broken <<<'if'
	write_test messy <<<'mktemp -d "$TMPDIR/left.XXXXXX"'

	run_tests good needy
	[ "$status" -eq 0 ]
	[[ $output == *"ok 1 it # skip a reason"* ]]
	grep -qE '^# +1 a reason$' out
	[[ $output == *$'\n'"1 passed, 0 failed, 1 skipped" ]]

	with=(WDRUN_NO_SKIP=1)
	run_tests good needy
	[ "$status" -eq 1 ]
	with=()

	run_tests good bad
	[ "$status" -eq 1 ]
	[[ $output == *$'\n'"1 passed, 1 failed, 0 skipped" ]]

	run_tests good broken
	[ "$status" -eq 1 ]
	[[ $output != *", 0 failed,"* ]]

	run_tests good messy
	[ "$status" -eq 1 ]
	[[ $output == *left.* ]]

	with=(UNITS="/bin/true /bin/false")
	run_tests good
	[ "$status" -eq 1 ]
	[[ $output == *$'\n'"2 passed, 1 failed, 0 skipped" ]]
}

@test "the test programs end by themselves, whatever they ignore" {
	start "$PROGRAMS/escape" setsid stubborn stopped
	await_ready

	# This timer will send SIGKILL to the program itself.
	grep -q '^signal: 9/' "/proc/$ready/timers"

	kill -KILL "$started" "$ready"
	finish
}
