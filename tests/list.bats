#!/usr/bin/env bats
#
# `wdrun --list` shows which runs there are, and what is left of runs, to people
# and to programs.
#
# Runs in a PID namespace of its own: other tests' processes are not its subject.

load helper
load orphans

list() {
	gives 0 complete "$WDRUN" --list "$@"
	mapfile -t lines <out
}

# bats test_tags=smoke
@test "--list shows the runs, the oldest first, with name, ID, state, age, time left and command" {
	begin nightly -t 1h -- sigcount 9
	for age in 4 8 1 6 3 9 2 7 5; do # as no directory has them
		forge name="run$age" started="170000000000000000$age"
	done
	cp -r "$WDRUN_REGISTRY" before
	"$WDRUN" --list <&- >&- # not into an entry
	diff -r "$WDRUN_REGISTRY" before
	list
	end "$front"
	[ ! -s err ]
	[ "${lines[*]%% *}" = "NAME $(echo run{1..9}) nightly" ]
	[[ ${lines[0]} =~ ^NAME\ +ID\ +STATE\ +AGE\ +LEFT\ +COMMAND$ ]]
	[[ ${lines[1]} =~ ^run1\ +[0-9]+\ +orphaned\ +[0-9]+d.*\ sleep$ ]]
	[[ ${lines[10]} =~ ^nightly\ +$front\ +running\ +[0-9]+s\ +5.m..s\ +sigcount\ 9$ ]]
}

# bats test_tags=slow
@test "a run is on record from its start to its end, also while it waits for a lock" {
	complete "$WDRUN" --name=itself -- "$WDRUN" --list
	[[ $output =~ itself\ +$started\ +running\  ]]
	[ -z "$(ids)" ]

	wait_for_lock -t 1m
	list
	[[ $output =~ second\ +$front\ +waiting\ +[0-9]+s\ +5.m..s\  ]]
	end "$holder"
	wait_until is_listed second running
	gives 75 complete "$WDRUN" --name=third --lock=lock --lock-wait=200ms -- touch ran
	[ "$(ids | wc -l)" -eq 1 ]
	end "$front"
	[ -z "$(ids)" ]
}

@test "where no run is on record, --list says so on stderr, and --json is an empty array" {
	for place in "$WDRUN_REGISTRY" nowhere; do
		list --registry="$place"
		[ -z "$output" ]
		has_message "$place"
		list --json --registry="$place"
		[ "$output$stderr" = '[]' ]
		gives 0 complete "$WDRUN" --reap --registry="$place"
		[ -z "$output" ]
	done
	[ ! -e nowhere ]
	list -q
	[ -z "$output$stderr" ]
}

# bats test_tags=slow
@test "an entry that cannot be read for lack of a resource fails --list, --cancel and --reap" {
	need strace
	strace -qq -f -e trace=none true || skip "strace may not trace"
	forge
	for mode in --list --cancel=forged --reap; do
		gives 125 complete strace -qq -o trace -P "$id.run" \
			-e inject=openat:error=ENFILE "$WDRUN" "$mode"
		[ -z "$output" ]
		has_message "$id.run"
	done
	[ -n "$(ids)" ]
}

# bats test_tags=slow
@test "at a terminal the list is cut to its width; where it cannot be written, it fails" {
	begin nightly -- sigcount 9 {1..200}
	for width in 40 120; do
		complete env -u WDRUN_REGISTRY "$WDRUN" --pty --no-stdin -- sh -c '
			stty cols "$1" </dev/tty; exec "$WDRUN" --list --registry="$2"' \
			- "$width" "$WDRUN_REGISTRY"
		[[ $output == *$'\n'nightly* ]]
		[ "$(wc -L <out)" -eq "$width" ]
	done
	for option in --list --json; do
		gives 125 directly sh -c '"$WDRUN" --list "$1" >/dev/full' - "$option"
		has_message stdout
	done
	end "$front"
}

# bats test_tags=smoke
@test "no name can control the terminal; --json is JSON, whatever bytes there are, and complete" {
	nasty=$'"quoted" \\ back\nnew\tline\e \xff\xc3 é 🐢 \xc2\x9b'
	begin "$nasty" -t 1h -- sigcount 9 '' "$nasty" last
	"$WDRUN" --list >list
	"$WDRUN" --list --json >json
	end "$front"
	has_line_count 2 list
	LC_ALL=C no grep -q $'[\x01-\x1f\x7f\x9b]' list
	grep -qF '"quoted" \ back?new?line? ?? é 🐢 ?? ' list
	need jq
	jq -e --arg id "$id" --argjson pid "$front" '
		length == 1 and (.[0] |
		.id == $id and .state == "running" and .pid == $pid and
		.age >= 0 and .left > 3000 and .left <= 3600 and
		.name == "\"quoted\" \\ back\nnew\tline\u001b \ufffd\ufffd é 🐢 \ufffd\ufffd" and
		.command == ["sigcount", "9", "", .name, "last"])' json

	start "$WDRUN" --registry="$WDRUN_REGISTRY" -- sigcount 9 {100000..104999}
	await_ready
	"$WDRUN" --list --json >json
	"$WDRUN" --list >list
	end "$started"
	jq -e '.[0] | .name == null and .left == null and
		.command[2:] == [range(100000; 105000) | tostring]' json
	grep -q ' 9 100000 100001 ' list
	[ "$(wc -c <list)" -lt 10000 ]
}
