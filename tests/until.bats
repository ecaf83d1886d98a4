#!/usr/bin/env bats
#
# --until: the output says that the work is complete. A command that does not
# exit after that is stopped, and counts as successful.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

@test "the search finds what a search of the whole finds, at any border" {
	"$PROGRAMS/unit-search"
}

@test "a command that is complete and hangs is stopped after the grace, with 0" {
	complete "$WDRUN" -u 'all done' --until-grace=200ms sh -c '
		echo work; echo "all done"; sleep 1000'

	[ "$status" -eq 0 ]
	[ "$output" = $'work\nall done' ]
	[[ $stderr == "wdrun: the text of --until was found, but the command did not exit in 200ms, stopping "*"sleep 1000"* ]]
	[ "$(wc -l <err)" -eq 1 ]
	nobody_is_left
}

@test "a command that ignores the first signal gets SIGKILL, and the status is 0, also with -p" {
	start "$WDRUN" -p -u ready --until-grace=100ms -k 200ms \
		"$PROGRAMS/escape" fork setsid stubborn
	await_ready
	finish

	[ "$status" -eq 0 ]
	is_dead "$ready"
	nobody_is_left
}

@test "a command that exits within the grace keeps its own status" {
	complete "$WDRUN" -u DONE --until-grace=60 sh -c '
		echo DONE; sleep 0.2; echo more; exit 3'

	[ "$status" -eq 3 ]
	[ "$output" = $'DONE\nmore' ]
	[ -z "$stderr" ]

	complete "$WDRUN" -u DONE sh -c 'echo DONE; kill -SEGV $$'
	[ "$status" -eq 139 ]
}

@test "without the text nothing changes: the status, the timeout, the silence" {
	complete "$WDRUN" -u DONE sh -c 'echo DON; echo E; exit 3'
	[ "$status" -eq 3 ]
	[ -z "$stderr" ]

	complete "$WDRUN" -u DONE -t 300ms sh -c 'echo DON; sleep 1000'
	[ "$status" -eq 124 ]

	complete "$WDRUN" -u DONE -i 300ms sh -c 'echo DON; sleep 1000'
	[ "$status" -eq 124 ]
}

@test "a timeout within the grace ends the command with status 0" {
	complete_late "$WDRUN" -u DONE --until-grace=60 -t LIMIT sh -c '
		echo DONE; echo ready 1; sleep 1000'

	[ "$status" -eq 0 ]
	[[ $stderr == *"--until was found"*"did not exit"*"stopping"* ]]
	run ! grep -q 'timed out' err
}

@test "after the text silence is no reason to stop" {
	complete_late "$WDRUN" -u DONE --until-grace=60 -i LIMIT sh -c '
		echo DONE; echo ready 1; sleep "$0"; sleep 0.3; exit 3' LIMIT

	[ "$status" -eq 3 ]
	[ -z "$stderr" ]
}

@test "--until-grace=0 does not wait, --until-grace=never waits for ever" {
	complete "$WDRUN" -u DONE --until-grace=0 sh -c 'echo DONE; sleep 1000'
	[ "$status" -eq 0 ]

	goes_on -u ready --until-grace=never
}

@test "the grace runs from the first match, and what is printed in it comes through" {
	# If each line started the grace again, this would never end.
	complete "$WDRUN" -u DONE --until-grace=500ms bash -c '
		trap "echo last words; exit 9" TERM
		while :; do echo DONE; sleep 0.05; done'

	[ "$status" -eq 0 ]
	[[ $stderr == *"--until was found"* ]]
	[ "$(tail -n 1 out)" = 'last words' ]
}

# found TEXT SCRIPT: TEXT is found in what SCRIPT prints before it hangs.
found() {
	complete "$WDRUN" -t 200 -u "$1" --until-grace=0 sh -c "$2
		sleep 1000"

	[ "$status" -eq 0 ]
	nobody_is_left
}

@test "the text is found: without a newline, within a line, on stderr, in pieces" {
	found DONE 'printf DONE'
	[ "$output" = DONE ]
	found '"type":"result","subtype":' \
		'echo "{\"type\":\"result\",\"subtype\":\"success\"}"'
	found DONE 'echo DONE >&2'
	[[ $stderr == DONE* ]]
	found 'all done' 'for piece in a l l " " d o n e; do
		printf %s "$piece"; sleep 0.03; done'
	[ "$output" = 'all done' ]
	found aab 'printf aaaaa; sleep 0.1; printf ab' # a partial match, then the text
	found $'one\ntwo' 'echo one; sleep 0.1; echo two'
	found DONE 'setsid sh -c "echo DONE; sleep 1001" &'
}

@test "a text is not put together from both streams" {
	complete "$WDRUN" -t 200 -u DONE --until-grace=0 sh -c '
		printf DO; sleep 0.1; printf NE >&2; sleep 0.1; echo
		printf DO >&2; sleep 0.1; printf NE; sleep 0.1; exit 3'

	[ "$status" -eq 3 ]
}

@test "the text is found where both streams are one file" {
	complete sh -c '"$WDRUN" -u DONE --until-grace=300ms sh -c "
		printf DO; printf NE >&2; sleep 1000" >file 2>&1'

	[ "$status" -eq 0 ]
	[ "$(head -c 4 file)" = DONE ]
}

@test "a text across the border of two chunks is found" {
	local before
	for before in 4094 65534 131070; do
		complete "$WDRUN" -t 200 -u DONE --until-grace=0 sh -c '
			{ "$PROGRAMS/pattern" write 1 "$0"; printf DONE; } |
				dd bs=1M iflag=fullblock 2>/dev/null
			sleep 1000' "$before"

		[ "$status" -eq 0 ]
		[ "$(wc -c <out)" -eq "$((before + 4))" ]
	done
}

@test "the text is found in binary output, behind zeros and no text at all" {
	complete "$WDRUN" -t 200 -u $'\xff\x01DONE' --until-grace=0 sh -c '
		"$PROGRAMS/pattern" write 1 3000000; printf "\0\0\377\001DONE\0"
		sleep 1000'

	[ "$status" -eq 0 ]
	[ "$(wc -c <out)" -eq 3000009 ]
	head -c 3000000 out | cmp - <("$PROGRAMS/pattern" write 1 3000000)
}

@test "the longest text is found, one byte longer is refused" {
	local text
	text=$(printf '%01023d!' 0)
	complete "$WDRUN" -t 200 -u "$text" --until-grace=0 sh -c '
		printf 0; sleep 0.05; printf %s "$0"; sleep 1000' "$text"
	[ "$status" -eq 0 ]
	[ "$output" = "0$text" ]

	complete "$WDRUN" -u "x$text" touch ran
	[ "$status" -eq 125 ]
	[ ! -e ran ]
}

@test "a result that is slow to be read comes through whole" {
	complete "$PROGRAMS/sip" -c 2048 -p 100 "$WDRUN" -u DONE \
		--until-grace=0 -k 200ms sh -c '
		"$PROGRAMS/pattern" write 1 16384; printf DONE; sleep 1000'

	[ "$status" -eq 0 ]
	[ "$(wc -c <out)" -eq 16388 ]
	[ "$(head -c 16384 out | "$PROGRAMS/pattern" check 1 16384)" = same ]
}

@test "a text that only the survivors print changes nothing" {
	complete "$WDRUN" -u DONE --until-grace=0 --idle-after-exit=60 \
		--max-after-exit=60 sh -c '(sleep 0.3; echo DONE) & exit 3'

	[ "$status" -eq 3 ]
	[ "$output" = DONE ]
	[ -z "$stderr" ]
}

@test "an agent that prints its result and hangs, a child holding its terminal" {
	local agent='[ -t 1 ] || exit 9; echo work; setsid sleep 1001 &
		echo "{\"type\":\"result\",\"subtype\":\"success\"}"; sleep 1000'
	complete bash -c 'x=$("$WDRUN" --pty -t 60 -k 300ms --until-grace=200ms \
		-u "\"type\":\"result\",\"subtype\":" --tee=log sh -c "$0")
		printf "%s\n%s\n" "$?" "$x"' "$agent"

	[ "$output" = $'0\nwork\n{"type":"result","subtype":"success"}' ]
	[ "$(cat log)" = $'work\n{"type":"result","subtype":"success"}' ]
	nobody_is_left
}

@test "an agent that never prints its result is late" {
	complete_late "$WDRUN" --pty -t LIMIT -k 300ms \
		-u '"type":"result","subtype":' sh -c 'echo ready 1; sleep 1000'

	[ "$status" -eq 124 ]
	[ "$output" = 'ready 1' ]
}
