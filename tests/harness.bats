#!/usr/bin/env bats
# bats file_tags=words
#
# The harness finds and reports what a test leaves behind, and tests/run counts what the tests say.

load helper

# write_tests NAME: writes a file with a test for each line of stdin: its name and its commands.
write_tests() {
	local name commands
	echo "load \"$root/tests/helper\""
	while read -r name commands; do printf '@test "%s" {\n%s\n}\n' "$name" "$commands"; done
} >"$1.bats"

# run_tests NAME[,NAME]... [VARIABLE=VALUE]...: runs these files by a tests/run of their own.
run_tests() {
	complete env -u WDRUN_TEST -u TIMING -u TAGS -u UNITS -u WDRUN_NO_SKIP \
		TMPDIR="$PWD" "${@:2}" bash -c '
		unset "${!BATS_@}"
		export PATH=${PATH#*bats-core:}
		exec "$0" ${1//,/.bats }' "$root/tests/run" "$1,"
}

# A process is found by its environment, or by its directory. All in one run: bats
# takes ten times longer to start than a test.
@test "a test that fails, does not run, or leaves a process or a file is named and counted; the process is ended" {
	write_tests mixed <<-END
		good true
		bad false
		closed escape -x 0 fork setsid stubborn closed >'$PWD/closed'
		empty escape -x 0 fork setsid stubborn empty >'$PWD/empty'
		messy mktemp "\$TMPDIR/left.XXXXXX"
	END
	write_tests broken <<<'it if'
	gives 1 run_tests mixed,broken UNITS='/bin/true /bin/false'
	for kind in closed empty; do
		[[ $output == *'not ok '?" $kind"*"this test has left"* ]]
		read -r _ pid <"$kind"
		is_dead "$pid"
	done
	[[ $output == *"ok true"$'\n'"not ok false"* ]]
	# bats may find two failures in a file that it cannot read.
	[[ $output == *'left.'*$'\n'"3 passed, "[67]" failed, 0 skipped" ]]
}

@test "a skipped test is named and counted, and its process is ended; with WDRUN_NO_SKIP it fails" {
	write_tests quiet <<-'END'
		good true
		needy start escape stubborn; await_ready; skip "a reason"
	END
	gives 0 run_tests quiet
	[[ $output == *"ok 2 needy # skip a reason"*$'\n'"1 passed, 0 failed, 1 skipped" ]]
	grep -qE '^# +1 a reason$' out
	gives 1 run_tests quiet WDRUN_NO_SKIP=1
}
