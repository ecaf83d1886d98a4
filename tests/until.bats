#!/usr/bin/env bats
#
# --until: the output says that the work is complete; a command that does not
# exit after that is stopped, and counts as successful. --heartbeat: lines that
# say how far the run is, and no other effect.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load bounds

@test "a command that is complete and hangs is stopped, a grace after the first match, with 0" {
	gives 0 complete "$WDRUN" -p -u ready --until-grace=100ms -k 100ms \
		--report=report "$PROGRAMS/escape" fork setsid stubborn
	says_ready out
	is_dead "$ready"
	only_messages
	has_message "$ready" escape stubborn
	reported '"reason_code":"until"'

	goes_on -u ready --until-grace=never

	# If each line started the grace again, this would never end.
	gives 0 complete "$WDRUN" -u DONE --until-grace=300ms bash -c '
		trap "echo last words; exit 9" TERM
		while :; do echo DONE; pause 0.05; done'
	[[ $output == *$'\nlast words' ]]
}

# ends STATUS OPTION... SCRIPT: with -u DONE and OPTION, SCRIPT ends so.
ends() {
	gives "$1" directly -u DONE "${@:2:$#-2}" sh -c "${!#}"
}

# bats test_tags=slow
@test "a command that exits within the grace keeps its status; after the text a timeout gives 0" {
	ends 3 --until-grace=60 'echo DONE; sleep 0.1; echo more; exit 3'
	[ "$output" = $'DONE\nmore' ]
	[ -z "$stderr" ]
	ends 3 --until-grace=0 'echo DON; echo E; exit 3'
	ends 124 -t 200ms 'echo DON; exec sleep 1000'

	gives 0 complete_late "$WDRUN" -u ready --until-grace=1000 -t LIMIT \
		--report=report sh -c 'echo "ready $$"; exec sleep 1000'
	reported '"reason_code":"until"'

	# Silence is not bounded after it.
	gives 3 complete_late "$WDRUN" -u ready --until-grace=1000 -i LIMIT sh -c '
		echo "ready $$"; sleep "$0.2"; exit 3' LIMIT
}

# found TEXT SCRIPT [ARG...]: TEXT is found in what SCRIPT prints before it
# hangs, without a grace.
found() {
	gives 0 directly -u "$1" --until-grace=0 sh -c "$2
		exec sleep 1000" "${@:3}"
}

# What is carried from one read to the next is the subject of the unit test search.
# bats test_tags=smoke
@test "the text is found: within a line, on stderr, in pieces, of any process, in one stream" {
	local text
	found '"type":"result","subtype":' \
		'printf "{\"type\":\"result\",\"subtype\":\"success\"}" >&2'
	[[ $stderr == *'success"}'* ]]
	# A partial match, then the text.
	found aab 'printf aaa; sleep 0.05; printf aa; sleep 0.05; printf b'
	[ "$output" = aaaaab ]
	found $'one\ntwo' 'echo one; sleep 0.05; setsid sh -c "echo two; exec sleep 1001" &'
	found $'\xff\x01DONE' 'head -c 3000000 /dev/urandom
		printf "\0\0\377\001DONE\0"'
	printf -v text '%01023d!' 0
	found "$text" 'printf 0; sleep 0.05; printf %s "$0"' "$text"

	ends 3 --until-grace=0 '
		printf DO; sleep 0.1; printf NE >&2; sleep 0.1; exit 3'
	# Here both are one file.
	"$WDRUN" -u DONE --until-grace=0 sh -c '
		printf DO; printf NE >&2; exec sleep 1000' >file 2>&1
	take file
	[[ $taken == DONE* ]]
}

# --- --heartbeat -------------------------------------------------------------

has_beaten() {
	local lines
	mapfile -t lines <err
	((${#lines[@]} >= $1))
}

# ends_by_signal: the run that was started is told to end.
ends_by_signal() {
	kill -TERM "$started"
	gives 143 finish
}

# beats_after LIMIT: the command writes at half of the limit; the first heartbeat
# comes when it was silent for the whole. Where it came before the output, or
# what there was of it, the machine was slow.
beats_after() {
	rm -f moment
	half=$(part "$1" 50) start "$WDRUN" --heartbeat="$1" -i 1000 bash -c '
		sleep "$half"; note; echo "ready $$"; exec sleep 1000'
	wait_until has_beaten 1
	! says_ready out || has_passed "$1"
	ends_by_signal
}

# bats test_tags=slow
@test "a heartbeat comes after silence, is no output, and does not come with -q or in a stop" {
	late beats_after LIMIT

	gives 124 complete_late "$WDRUN" --heartbeat=100ms -i LIMIT \
		sh -c 'echo ready 1; exec sleep 1000'
	[ "$output" = 'ready 1' ]
	has_beaten 3

	gives 0 directly -q --heartbeat=50ms sleep 0.3
	[ -z "$stderr" ]

	# A heartbeat has the name of the run; the line with the signal begins
	# the stop.
	gives 124 complete_late "$WDRUN" --heartbeat=50ms -k 300ms -t LIMIT -n nightly \
		--registry=registry "$PROGRAMS/escape" fork setsid stubborn
	[[ $stderr == *nightly*SIGTERM* ]]
	[[ ${stderr#*SIGTERM} != *nightly* ]]
}
