#!/usr/bin/env bats
#
# The scripts in examples/ do what their first lines say. The agents here are
# shell scripts: like a real agent they write escape sequences to a terminal, wait
# for the end of their input, and may hang.
# bats file_tags=words

load helper

examples=$root/examples

# The end of a script that hangs, beside an escapee.
hangs=('setsid sleep 1000 &' 'echo "ready $$" | tee there' 'sleep 1000')

# ends_when_killed WORD...: all that it has started ends with it, by SIGKILL.
ends_when_killed() {
	rm -f there
	start env TMPDIR="$PWD" "${@//LIMIT/1000}" hangs <"${input-/dev/null}"
	wait_until test -s there
	kill -KILL "$started"
	wait_until nobody_is_left
	await "$started"
}

# bats test_tags=programs
@test "each example has the status of its command, and ends the command if it hangs, or if the example is killed" {
	need python3 node
	executable command '[[ " $* " != *" ends "* ]] || exit 124' "${hangs[@]}"
	ln -s "$examples"/* . # their names do not matter
	for words in 'env AGENT_TIMEOUT=LIMITs AGENT=./command ./agent-run.sh' \
		'env STEP_TIMEOUT=LIMITs ./ci-step.sh ./command' \
		'./run.py LIMIT ./command' './run.mjs LIMIT ./command'; do
		read -ra words <<<"$words"
		# Without a word where the command has the status of a timeout itself.
		gives 124 complete "${words[@]//LIMIT/90}" ends
		no has_message
		gives 124 complete_late "${words[@]}" hangs
		has_message 'sleep 1000'
		nobody_is_left
		ends_when_killed "${words[@]}"
	done
	gives 7 complete python3 -c $'import run, subprocess\ntry: run.run(["sleep", "9"], 1e-5)\nexcept subprocess.TimeoutExpired: exit(7)'
}

# --- each by itself ----------------------------------------------------------

# agent LINE...: writes an agent that notes its arguments, then runs LINEs.
agent() {
	executable agent '[ ! -t 1 ] || printf "\033[?25h"' 'cat' 'printf "%s\n" "$@" >arguments' \
		'say() { printf "%s\n" "$1" | tee -a said; }' 'say "ready $$"' "$@"
}

result='say '\''{"type":"result","subtype":"success","is_error":false}'\'

# run_agent [NAME=VALUE]...: runs it, by examples/agent-run.sh. The output and the
# log have what the agent printed, and nothing else.
run_agent() {
	rm -f said log
	complete env AGENT=./agent AGENT_LOG=log AGENT_TIMEOUT=90s \
		AGENT_GRACE=300ms "$@" "$examples/agent-run.sh" 'a task'
	cmp said out
	cmp said log
}

# ended STATUS TEXT: that is the status, and the last line is the script's.
ended() {
	[ "$status" -eq "$1" ]
	[ "$(tail -n 1 err)" = "agent-run: $2" ]
	nobody_is_left
}

@test "agent-run.sh: a result is success, even if the agent hangs; silence and failure are reported" {
	agent 'seq 2000 | tee -a said' 'setsid sleep 1000 &' "$result" 'sleep 1000'
	run_agent
	ended 0 complete
	has_message 'sleep 1000'
	printf '%s\n' -p 'a task' --output-format stream-json --verbose | diff - arguments

	# The agent calls an API error a success, too.
	agent 'mkfifo requests' 'setsid sleep 1000 &' "${result/false/true}" 'cat requests'
	late run_agent AGENT_SILENCE=LIMITs
	ended 124 "stopped without a result (see log)"
	has_message requests

	agent 'exit 124'
	run_agent AGENT_GRACE=1h
	ended 124 "failed with status 124 (see log)"
	agent 'trap "exit 0" INT' 'kill -INT "$PPID"' 'while :; do sleep 0.05; done' # as at Ctrl-C
	run_agent
	ended 130 "cancelled (see log)"
}

# poll: runs a round of review-poll.sh as cron does.
poll() {
	complete "$WDRUN" -t 90 --cleanup=review.lock "$examples/review-poll.sh"
}

@test "review-poll.sh does the queued work, holds its lock, says what fails, and ends if another one runs" {
	mkdir queue
	touch queue/1051 queue/1052
	executable review '[ "$(cat review.lock)" = "$PPID" ] && [[ $1 != *1051 ]] || exit 3'
	gives 1 poll
	diff err <(printf 'review-poll: %s\n' '1051: failed with status 3' '1052: done')
	[ "$(ls queue)" = 1051 ]
	[ ! -e review.lock ]

	mkfifo go
	executable review 'touch at-it' 'read -r _ <go'
	start "$examples/review-poll.sh"
	first=$started
	wait_until test -e at-it
	gives 75 poll
	[ "$stderr" = "review-poll: PID $first is at it" ]
	echo >go
	wait "$first"
	[ -z "$(ls queue)" ]
}

@test "ci-step.sh: a CI step shows the output, keeps a copy, says why it failed, and ends when its shell is cancelled" {
	gives 124 complete "$examples/ci-step.sh" sh -c 'echo one; echo two >&2; exit 124'
	[ "$output" = one ]
	[ "$stderr" = two ]
	diff <(sort step.log) <(printf '%s\n' one two)

	gives 124 complete env STEP_SILENCE=300ms "$examples/ci-step.sh" sleep 1000
	has_message 'sleep 1000'
	grep -q '"reason_code":"idle"' step.json

	# As the runner does: the line of the header is a script of its own.
	line=$(sed -n 's/^# *run: \(.*\) make check$/\1/p' "$examples/ci-step.sh")
	ln -s "$examples" examples
	executable command 'trap "touch cleaned; exit 3" INT' 'touch there' \
		'while :; do sleep 0.05; done'
	echo "$line ./command" >step
	start bash -e step
	wait_until test -e there
	kill -INT "$started"
	wait_until nobody_is_left
	await "$started"
	[ -e cleaned ]
}

some_fail='[ "$1" = 7 ] || echo "$1" >>ended
	case $1 in
	6) exit 124 ;;
	7) setsid sleep 1000 & sleep 1000 ;;
	9) exit 255 ;;
	"ten and a half") echo "$1" ;;
	esac'

# many WITH LIMIT: runs that on 4 lines. LIMIT is only for the line that hangs.
many() {
	rm -f ended
	complete env MANY_WITH="$1" MANY_TIMEOUT="$2" MANY_JOBS=4 "$examples/many.sh" \
		sh -c "$some_fail" - <<<$'7\n9\nten and a half\n6'
	! has_line_count 3 ended || echo 'ready 1' >>out # for late
}

# bats test_tags=programs
@test "many.sh: a run that hangs or fails leaves the others alone, and all end with the script" {
	input=lines
	need parallel
	seq 50 >lines
	executable command "${hangs[@]}"
	for with in xargs parallel; do
		echo "--- $with"
		gives 1 late many "$with" LIMIT
		[ "$output" = "ten and a half" ]
		[ "$(tail -n 1 err)" = "many: 4 runs, 3 failed, 1 of them timed out" ]
		nobody_is_left
		diff <(sort many.log) <(printf '%s\n' '0 ten and a half' '124 6' '255 9' 'late 7')
		[ -z "$(find . -name 'many.log.*')" ]

		MANY_WITH=$with MANY_JOBS=2 ends_when_killed \
			env MANY_TIMEOUT=LIMIT "$examples/many.sh" ./command
		[ "$(wc -l <many.log)" -lt 50 ]
	done
}

# tool REQUEST: writes the answer to the file out.
tool() {
	gives 0 complete "$examples/agent-tool.py" <<<"$1"
	[ -z "$stderr" ]
}

# The program tells that it is there in a file, since the answer comes at the end.
late_tool() {
	rm -f there
	tool '{"command": "echo up; setsid sleep 1000 & echo \"ready $$\" >there; sleep 1000",
		"timeout": '"$1"'}'
	jq -e . out >answer
	cp there out
}

@test "agent-tool.py answers with JSON: status, shortened output, and what hung or was not valid" {
	need jq python3
	tool '{"command": "seq 10000; echo \"é\" >&2; cat; exit 3", "max_output": 20}'
	jq -e '.status == 3 and .stopped == false and .hung == [] and
		.reason == null and
		(.output | startswith("1\n2\n3\n4\n5\n\n... ")) and
		(.output | endswith(" ...\n\n10000\né\n")) and
		.omitted == 48894 + 3 - 20' out

	late late_tool LIMIT
	nobody_is_left
	jq -e '.status == null and .stopped and .reason == "timeout" and
		.output == "up\n" and ([.hung[] | select(.pid > 0)] | length) >= 2' answer
	tool '{"command": "sleep 1000", "idle_timeout": 0.3}'
	jq -e '.stopped and .reason == "idle"' out

	for request in '' '{"command": "true", "shell": "zsh"}' $'{"command": "\xff"}'; do
		echo "--- ${request::99}"
		tool "$request"
		jq -e 'keys == ["error"] and (.error | length > 5)' out
	done
}
