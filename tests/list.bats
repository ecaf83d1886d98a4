#!/usr/bin/env bats
#
# `wdrun --list` shows which runs there are, and what is left of runs, to people
# and to programs.
#
# Runs in a PID namespace of its own: other tests' processes are not its subject.
#
# shellcheck disable=SC2016,SC2154,SC2030,SC2031

load helper
load orphans

setup() {
	common_setup
	make_registry
}

list() {
	complete "$WDRUN" --list "$@"
	mapfile -t lines <out
}

# bats test_tags=smoke
@test "--list shows the runs, the oldest first, with name, ID, state, age, time left and command" {
	local first
	begin nightly -t 1h -- "$PROGRAMS/sigcount"
	first=$front
	begin daily -- "$PROGRAMS/sigcount" 9
	list
	end "$first" "$front"
	[ "$status" -eq 0 ]
	[ ! -s err ]
	[ "${#lines[@]}" -eq 3 ]
	[[ ${lines[0]} =~ ^NAME\ +ID\ +STATE\ +AGE\ +LEFT\ +COMMAND$ ]]
	[[ ${lines[1]} =~ ^nightly\ +$first\ +running\ +[0-9]+s\ +5.m..s\ +"$PROGRAMS/sigcount"$ ]]
	[[ ${lines[2]} =~ ^daily\ +$front\ +running\ +[0-9]+s\ +-\ +"$PROGRAMS/sigcount 9"$ ]]
}

# bats test_tags=slow
@test "a run is on record from before its command is executed until it is over: waiting for a lock, with the time that it waits, running, or stopping" {
	complete "$WDRUN" --name=itself -- "$WDRUN" --list
	[[ $output =~ itself\ +$started\ +running\  ]]
	[ -z "$(ls -A "$WDRUN_REGISTRY")" ]

	wait_for_lock -t 1m
	complete "$WDRUN" --list
	[[ $output =~ second\ +$front\ +waiting\ +[0-9]+s\ +5.m..s\  ]]
	end "$front"
	[ "$(ids)" = "$id" ]
	complete "$WDRUN" --name=third --lock=lock --lock-wait=200ms -- touch ran
	[ "$status" -eq 75 ]
	[ ! -e ran ]
	[ "$(ids)" = "$id" ]
	is_listed holder running
	start "$WDRUN" --name=second --lock=lock --lock-wait=1h -- \
		"$PROGRAMS/sigcount"
	wait_until is_listed second waiting
	end "$holder"
	wait_until is_listed second running
	end "$started"
	[ -z "$(ls -A "$WDRUN_REGISTRY")" ]

	begin slow -k never -- "$PROGRAMS/escape" stubborn
	is_listed slow running
	kill -TERM "$front"
	wait_until is_listed slow stopping
	end_leftovers
	wait "$front" || true
}

@test "where no run is on record, --list is no failure and says so on stderr alone, and --json prints an empty array" {
	local place
	list
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	has_message "$WDRUN_REGISTRY"
	list -q
	[ "$status" -eq 0 ]
	[ -z "$output$stderr" ]
	list --json
	[ "$status" -eq 0 ]
	[ "$output$stderr" = '[]' ]
	complete "$WDRUN" --reap --registry=nowhere
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	[ ! -e nowhere ]
	list --registry=nowhere
	[ "$status" -eq 0 ]
	has_message nowhere
	for place in WDRUN_REGISTRY=nowhere XDG_STATE_HOME="$PWD/state"; do
		complete env WDRUN_REGISTRY= "$place" "$WDRUN" --list
		[ "$status" -eq 0 ]
		[ -z "$output" ]
		has_message "${place#*=}"
		[ ! -e "${place#*=}" ]
	done
}

# bats test_tags=slow
@test "a list that is read while runs end shows none of them as orphaned" {
	local runner
	(for _ in {1..10}; do "$WDRUN" --name=short true; done) 3>&- &
	runner=$!
	while is_alive "$runner"; do
		no is_listed short orphaned
	done
	wait "$runner"
	[ -z "$(ids)" ]
}

# bats test_tags=slow
@test "at a terminal each line of the list is cut to its width, elsewhere nothing is; a list that cannot be written is a failure" {
	local width line long place option
	long=$(printf 'a%.0s' {1..300})
	begin nightly -- "$PROGRAMS/sigcount" 9 "$long"
	list
	[[ ${lines[1]} == *" 9 $long" ]]
	place=$WDRUN_REGISTRY
	for width in 40 120; do
		complete env -u WDRUN_REGISTRY "$WDRUN" --pty --no-stdin -- sh -c '
			stty cols "$1" </dev/tty
			exec "$WDRUN" --list --registry="$2"' - "$width" "$place"
		[ "$status" -eq 0 ]
		[[ $output == *$'\n'nightly* ]]
		while IFS= read -r line; do
			((${#line} <= width))
		done <out
	done
	for option in '' --json; do
		status=0
		# shellcheck disable=SC2086
		"$WDRUN" --list $option >/dev/full 2>err || status=$?
		[ "$status" -eq 125 ]
		has_message stdout
	done
	end "$front"
}

@test "a name or a command that is not text cannot control the terminal" {
	start "$WDRUN" --name=$'a\e[31m\n\xff\xc2\x9bb' -- \
		"$PROGRAMS/sigcount" 9 $'x\ty\r\x7f'
	await_ready
	"$WDRUN" --list >list
	end "$started"
	[ "$(wc -l <list)" -eq 2 ]
	LC_ALL=C no grep -q '[^ -~]' list
}

# bats test_tags=smoke
@test "--json tells the same to programs, and is JSON whatever bytes there are, with null for what there is not, and the whole of a long command" {
	need jq
	local nasty=$'"quoted" \\ back\nnew\tline\e\x7f \xff\xc3 \xed\xa0\x80 \xc3\xa9 \xf0\x9f\x90\xa2'
	start "$WDRUN" --name="$nasty" -t 1h -- "$PROGRAMS/sigcount" 9 '' "$nasty" last
	await_ready
	front=$started
	find_id
	"$WDRUN" --list --json >json
	end "$front"
	iconv -f UTF-8 -t UTF-8 json >/dev/null
	jq -e --arg id "$id" --argjson pid "$front" '
		length == 1 and (.[0] |
		.id == $id and .state == "running" and .pid == $pid and
		.age >= 0 and .left > 3000 and .left <= 3600 and
		.name == "\"quoted\" \\ back\nnew\tline\u001b\u007f \ufffd\ufffd \ufffd\ufffd\ufffd é 🐢" and
		(.command[0] | endswith("/sigcount")) and
		.command[1:] == ["9", "", .name, "last"])' json

	mapfile -t many < <(seq 100000 104999)
	start "$WDRUN" --registry="$WDRUN_REGISTRY" -- "$PROGRAMS/sigcount" 9 \
		"${many[@]}"
	await_ready
	"$WDRUN" --list --json >json
	"$WDRUN" --list >list
	end "$started"
	jq -e '.[0] | .name == null and .left == null and
		.command[2:] == [range(100000; 105000) | tostring]' json
	grep -q ' 9 100000 100001 ' list
	[ "$(wc -c <list)" -lt 10000 ]
}
