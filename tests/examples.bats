#!/usr/bin/env bats
#
# The scripts in examples/ do what they are there for, here with agents that
# are easily had: like the real one they print nothing unless their stdout is a
# terminal, and like the real one they hang.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

# agent LINE...: an agent that says who it is, then does these lines.
agent() {
	{
		cat <<-'END'
			#!/bin/bash
			[ -t 1 ] || exec >/dev/null
			say() { printf '%s\n' "$1" | tee -a said; }
			say '{"type":"system","subtype":"init"}'
		END
		printf '%s\n' "$@"
	} >agent
	chmod +x agent
	: >said
}

result='say '\''{"type":"result","subtype":"success","result":"done"}'\'

# run_agent [NAME=VALUE]...: examples/agent-run.sh with that agent.
run_agent() {
	complete env AGENT=./agent AGENT_LOG=log AGENT_TIMEOUT=20s \
		AGENT_GRACE=300ms "$@" "$root/examples/agent-run.sh" 'a task'
}

# What the agent said is in the output and in the log, and nothing else is.
all_is_there() {
	[ "$(wc -l <said)" -ge 1 ]
	cmp said out
	cmp said log
}

# The last line on stderr is the script's own.
ends_with() {
	[ "$(tail -n 1 err)" = "agent-run: $1" ]
}

@test "the agents of these tests print nothing without a terminal" {
	agent "$result"
	complete ./agent

	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "an agent that ends is none of the watchdog's business" {
	agent "$result"
	run_agent

	[ "$status" -eq 0 ]
	all_is_there
	[ "$stderr" = "agent-run: complete" ]
}

@test "an agent that prints its result and hangs has succeeded" {
	agent 'for i in {1..2000}; do
			echo "{\"type\":\"assistant\",\"message\":\"step $i\"}"
		done | tee -a said' \
		'setsid sleep 1000 &' "$result" 'sleep 1000'
	run_agent

	[ "$status" -eq 0 ]
	[ "$(wc -l <said)" -eq 2002 ]
	all_is_there
	[ "$(head -n -1 err | grep -c '^wdrun: .* sleep 1000')" -eq 1 ]
	ends_with "complete"
}

@test "an agent that hangs without a result is a failure" {
	agent 'setsid sleep 1000 &' 'sleep 1000'
	run_agent AGENT_TIMEOUT=1s

	[ "$status" -eq 124 ]
	all_is_there
	[[ $stderr == "wdrun: timed out after 1s, "* ]]
	ends_with "stopped without a result (see log)"
}

@test "an agent that fails has its own status, at once" {
	agent 'exit 3'
	SECONDS=0
	run_agent AGENT_GRACE=1h

	[ "$status" -eq 3 ]
	((SECONDS < 10))
	all_is_there
	[ "$stderr" = "agent-run: failed with status 3 (see log)" ]
}

@test "a tool that waits for a FIFO nobody writes is ended, and the agent too" {
	need jq
	agent 'mkfifo requests' \
		'setsid jq .id requests echo "ids written" &' \
		'jq .text requests echo "texts written"' "$result"
	run_agent AGENT_SILENCE=500ms

	[ "$status" -eq 124 ]
	nobody_is_left
	all_is_there
	[ "$(grep -oE '[0-9]+ jq ' err | sort -u | wc -l)" -eq 2 ]
	[[ $stderr == "wdrun: no output for 500ms, "* ]]
	ends_with "stopped without a result (see log)"
}

@test "a tool that holds the terminal does not hold an agent that ends" {
	need jq
	agent 'mkfifo requests' 'jq .id requests echo "ids written" &' \
		"$result" 'exit 0'
	run_agent

	[ "$status" -eq 0 ]
	nobody_is_left
	all_is_there
	ends_with "complete"
}

@test "the agent gets the task, and options that make it print its result" {
	agent 'printf "%s\n" "$@" >arguments'
	run_agent

	[ "$status" -eq 0 ]
	diff arguments - <<-'END'
		-p
		a task
		--output-format
		stream-json
		--verbose
	END
}

@test "a log that cannot be written is told before the agent is started" {
	agent 'touch ran'
	run_agent AGENT_LOG=no/such/log

	[ "$status" -eq 125 ]
	[ ! -e ran ]
	[[ $stderr == "wdrun: --tee: cannot open 'no/such/log': "* ]]
	ends_with "failed with status 125 (see no/such/log)"
}

@test "without a task the agent is not run" {
	agent 'touch ran'
	complete env AGENT=./agent "$root/examples/agent-run.sh"

	[ "$status" -eq 2 ]
	[ ! -e ran ]
	[[ $stderr == "usage: agent-run.sh "* ]]
}

# --- review-poll.sh ----------------------------------------------------------

# reviewer LINE...: a review command that does these lines, and two requests.
reviewer() {
	printf '%s\n' '#!/bin/bash' 'echo "reviewing $1"' "$@" >review
	chmod +x review
	mkdir -p queue
	echo '{"id":1051}' >queue/1051
	echo '{"id":1052}' >queue/1052
}

# poll [COMMAND...]: a round, as cron calls it, or called by COMMAND.
poll() {
	complete "${@:-env}" "$root/examples/review-poll.sh"
}

under_wdrun=("$WDRUN" -t 2 --cleanup=review.lock)

# A FIFO that nobody writes, and a jq line that says too much.
hangs='mkfifo requests; jq .id requests >ids.json echo "ids written"'

@test "a poll does the reviews that were asked for, once, with the lock held" {
	reviewer '[ "$(cat review.lock)" = "$PPID" ] && jq -e .id "$1"'
	poll "${under_wdrun[@]}"

	[ "$status" -eq 0 ]
	diff out - <<-'END'
		reviewing queue/1051
		1051
		reviewing queue/1052
		1052
	END
	diff err - <<-'END'
		review-poll: 1051: done
		review-poll: 1052: done
	END
	[ ! -e review.lock ]

	poll "${under_wdrun[@]}"
	[ "$status" -eq 0 ]
	[ -z "$output$stderr" ]
	[ ! -e review.lock ]
}

@test "a review that fails is tried again in the next round" {
	reviewer '[[ $1 != *1051 ]] || exit 3'
	poll "${under_wdrun[@]}"

	[ "$status" -eq 1 ]
	[ "$(ls queue)" = 1051 ]
	[[ $stderr == *"review-poll: 1051: failed with status 3"* ]]
	[ ! -e review.lock ]
}

@test "a poll that finds another at it does nothing" {
	reviewer
	complete bash -c 'echo $$ >review.lock
		"$@"; exit $?' - "${under_wdrun[@]}" "$root/examples/review-poll.sh"

	[ "$status" -eq 75 ]
	[ "$(ls queue)" = $'1051\n1052' ]
	[ "$stderr" = "review-poll: PID $(cat review.lock) is at it" ]
}

@test "a poll whose review hangs is ended, and the next one does its work" {
	need jq
	reviewer "$hangs"
	poll "${under_wdrun[@]}"
	[ "$status" -eq 124 ]
	nobody_is_left
	[ ! -e review.lock ]
	[ "$(grep -oE '[0-9]+ jq ' err | sort -u | wc -l)" -eq 1 ]

	reviewer
	poll "${under_wdrun[@]}"
	[ "$status" -eq 0 ]
	[ -z "$(ls queue)" ]
	[ ! -e review.lock ]
}

@test "a poll whose review hangs blocks the next one without wdrun" {
	need jq
	reviewer "$hangs"
	start "$root/examples/review-poll.sh"
	wait_until 30 test -s review.lock
	first=$started

	start "$root/examples/review-poll.sh"
	finish
	[ "$status" -eq 75 ]
	end_leftovers
	wait "$first" || true
	[ -e review.lock ]
}

@test "a poll and a run with --lock on the same file respect each other" {
	reviewer 'touch at-it; until [ -e go ]; do sleep 0.02; done'
	start "$root/examples/review-poll.sh"
	first=$started
	wait_until 30 test -e at-it
	complete "$WDRUN" --lock=review.lock touch ran
	[ "$status" -eq 75 ]
	[ ! -e ran ]
	touch go
	wait "$first"

	reviewer
	complete "$WDRUN" --lock=review.lock "$root/examples/review-poll.sh"
	[ "$status" -eq 75 ]
	[[ $stderr == "review-poll: PID $started is at it" ]]
	[ ! -e review.lock ]
}
