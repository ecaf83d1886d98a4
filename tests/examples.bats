#!/usr/bin/env bats
#
# The scripts in examples/ do what their first lines say. The agents here are
# shell scripts: like a real agent they print nothing unless their stdout is a
# terminal, and like a real agent they may hang.
#
# Starts first: its tests take long, one after the other.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

# agent LINE...: writes an agent that notes its arguments, then runs LINEs.
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

# run_agent [NAME=VALUE]...: runs examples/agent-run.sh with that agent.
run_agent() {
	complete env AGENT=./agent AGENT_LOG=log AGENT_TIMEOUT=90s \
		AGENT_GRACE=300ms "$@" "$root/examples/agent-run.sh" 'a task'
}

# The output and the log have what the agent printed, and nothing else.
all_is_there() {
	[ "$(wc -l <said)" -ge 1 ]
	cmp said out
	cmp said log
}

# ends_with TEXT: the last line on stderr is TEXT, from the script.
ends_with() {
	[ "$(tail -n 1 err)" = "agent-run: $1" ]
}

@test "the agents of these tests print nothing without a terminal, as a real one" {
	agent "$result"
	complete ./agent

	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "an agent that ends by itself is not stopped" {
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

hangs_without_a_result() {
	: >said
	rm -f log
	run_agent AGENT_TIMEOUT="$limit"s
	[ -s said ] && [[ $stderr == *" sleep 1000 "* ]]
}

@test "an agent that hangs without a result is a failure" {
	agent 'setsid sleep 1000 &' 'sleep 1000'
	with_more_time hangs_without_a_result

	[ "$status" -eq 124 ]
	all_is_there
	[[ $stderr == "wdrun: timed out after "*"s, "* ]]
	ends_with "stopped without a result (see log)"
}

@test "an agent that fails has its own status, at once" {
	agent 'exit 3'
	run_agent AGENT_GRACE=1h

	[ "$status" -eq 3 ]
	all_is_there
	[ "$stderr" = "agent-run: failed with status 3 (see log)" ]
}

hangs_in_two_tools() {
	: >said
	rm -f log requests
	run_agent AGENT_SILENCE="$limit"s
	[ "$(grep -oE '[0-9]+ jq ' err | sort -u | wc -l)" -eq 2 ]
}

@test "a tool that waits for a FIFO nobody writes is ended, and the agent too" {
	need jq
	agent 'mkfifo requests' \
		'setsid jq .id requests echo "ids written" &' \
		'jq .text requests echo "texts written"' "$result"
	with_more_time hangs_in_two_tools

	[ "$status" -eq 124 ]
	nobody_is_left
	all_is_there
	[[ $stderr == "wdrun: no output for "*"s, "* ]]
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

@test "an agent that ends with 124 by itself was not stopped" {
	agent 'exit 124'
	run_agent

	[ "$status" -eq 124 ]
	[ "$stderr" = "agent-run: failed with status 124 (see log)" ]
}

@test "an agent ends when the script that runs it is killed alone" {
	agent 'setsid sleep 1000 & sleep 1000'
	start env AGENT=./agent "$root/examples/agent-run.sh" 'a task'
	wait_until test -s said
	kill "$started"
	wait_until nobody_is_left
	wait "$started" || true
}

# --- review-poll.sh ----------------------------------------------------------

# reviewer LINE...: writes a review command that runs LINEs, and two requests.
reviewer() {
	printf '%s\n' '#!/bin/bash' 'echo "reviewing $1"' "$@" >review
	chmod +x review
	mkdir -p queue
	echo '{"id":1051}' >queue/1051
	echo '{"id":1052}' >queue/1052
}

# poll [COMMAND...]: runs a round as cron does, or by COMMAND.
poll() {
	complete "${@:-env}" "$root/examples/review-poll.sh"
}

under_wdrun=("$WDRUN" -t 90 --cleanup=review.lock)

# A FIFO that no process writes, and a jq line with a word too many.
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

@test "a poll that finds another poll running does nothing" {
	reviewer
	complete bash -c 'echo $$ >review.lock
		"$@"; exit $?' - "${under_wdrun[@]}" "$root/examples/review-poll.sh"

	[ "$status" -eq 75 ]
	[ "$(ls queue)" = $'1051\n1052' ]
	[ "$stderr" = "review-poll: PID $(cat review.lock) is at it" ]
}

hangs_in_a_review() {
	rm -f requests ids.json
	reviewer "$hangs"
	poll "$WDRUN" -t "$limit" --cleanup=review.lock
	[ "$(grep -oE '[0-9]+ jq ' err | sort -u | wc -l)" -eq 1 ]
}

@test "a poll whose review hangs is ended, and the next one does its work" {
	need jq
	with_more_time hangs_in_a_review
	[ "$status" -eq 124 ]
	nobody_is_left
	[ ! -e review.lock ]

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
	wait_until test -s review.lock
	first=$started

	start "$root/examples/review-poll.sh"
	finish
	[ "$status" -eq 75 ]
	end_leftovers
	wait "$first" || true
	[ -e review.lock ]
}

@test "a poll and a run with --lock on the same file respect each other" {
	mkfifo go
	reviewer '[ -e at-it ] || { touch at-it; read -r _ <go; }'
	start "$root/examples/review-poll.sh"
	first=$started
	wait_until test -e at-it
	complete "$WDRUN" --lock=review.lock touch ran
	[ "$status" -eq 75 ]
	[ ! -e ran ]
	echo >go
	wait "$first"

	reviewer
	complete "$WDRUN" --lock=review.lock "$root/examples/review-poll.sh"
	[ "$status" -eq 75 ]
	[[ $stderr == "review-poll: PID $started is at it" ]]
	[ ! -e review.lock ]
}

@test "a poll that cannot make its lock, or remove it, says so" {
	reviewer
	complete env REVIEW_LOCK=no/such/lock "$root/examples/review-poll.sh"
	[ "$status" -eq 2 ]
	[ -z "$output" ]
	[[ $stderr == *$'\n'"review-poll: cannot write the lock no/such/lock" ]]

	reviewer 'rm review.lock && mkdir review.lock'
	rm queue/1052
	poll
	[ "$status" -eq 2 ]
	[[ $stderr == *$'\n'"review-poll: cannot remove the lock review.lock" ]]
}

@test "a poll does not report a request as done that stays in the queue" {
	reviewer 'rm "$1" && mkdir "$1"'
	rm queue/1052
	poll

	[ "$status" -eq 1 ]
	[[ $stderr == *"review-poll: 1051: done, but cannot be removed" ]]
}

# --- ci-step.sh --------------------------------------------------------------

@test "a CI step has its command's status and output, and a copy in the log" {
	complete "$root/examples/ci-step.sh" sh -c 'echo one; echo two >&2; exit 3'

	[ "$status" -eq 3 ]
	[ "$output" = one ]
	[ "$stderr" = $'two\n::error::sh failed with status 3' ]
	diff <(sort step.log) <(printf '%s\n' one two)
}

hangs_in_a_step() {
	complete env STEP_TIMEOUT="$limit"s "$root/examples/ci-step.sh" \
		sh -c 'echo one; setsid sleep 1000 & sleep 1000'
	[ "$output" = one ] && [[ $stderr == *" sleep 1000"* ]]
}

@test "a CI step that hangs is stopped, and says what hung" {
	with_more_time hangs_in_a_step

	[ "$status" -eq 124 ]
	[[ $stderr == "wdrun: timed out after "*"s, "*" sleep 1000"* ]]
	[ "$(tail -n 1 err)" = \
		"::error::sh was stopped; what it hung in is named above" ]
}

@test "a CI step that ends with 124 by itself was not stopped" {
	complete "$root/examples/ci-step.sh" sh -c 'exit 124'

	[ "$status" -eq 124 ]
	[ "$stderr" = "::error::sh failed with status 124" ]
	jq -e '.outcome == "exited"' step.json
}

@test "a CI step ends, with its setsid, when its script alone is killed" {
	local signal
	for signal in TERM KILL; do
		start "$root/examples/ci-step.sh" sh -c \
			'setsid sleep 1000 & echo "ready $$"; sleep 1000'
		await_ready
		kill "-$signal" "$started"
		wait_until nobody_is_left
		wait "$started" || true
	done
}

# --- crontab -----------------------------------------------------------------

# job NUMBER BOUND: runs that line of the crontab as cron does, but with this
# bound and in this directory.
job() {
	local line
	line=$(grep -E '^[0-9*]' "$root/examples/crontab" | sed -n "$1p" |
		sed -E 's/^([^ ]+ +){5}//')
	[[ $line == *wdrun* && $line != *%* ]]
	complete env PATH="$PWD/path:$PATH" SYNC="$PWD" BOUND="$2" \
		sh -c "$line"
}

hangs_in_a_job() {
	job 1 "$limit"
	[[ $stderr == *" sleep 1000"* ]]
}

@test "a cron job that hangs is ended, and the next round gets the lock" {
	mkdir path
	ln -s "$WDRUN" path/wdrun
	printf '%s\n' '#!/bin/sh' 'cat sync.lock' '[ ! -e hang ] || sleep 1000' \
		>sync.sh
	cp sync.sh clean.sh
	chmod +x sync.sh clean.sh

	touch hang
	with_more_time hangs_in_a_job
	[ "$status" -eq 124 ]
	[[ $stderr == "wdrun: timed out after "*"s, "*" sleep 1000"* ]]
	[ ! -e sync.lock ]

	rm hang
	for number in 1 2; do
		job "$number" 90
		[ "$status" -eq 0 ]
		[[ $output =~ ^[0-9]+$ ]]
		[ -z "$stderr" ]
	done
}

@test "a cron job that finds another round running does nothing, and says so" {
	mkdir path
	ln -s "$WDRUN" path/wdrun
	start "$WDRUN" --lock=sync.lock sleep 1000
	await_watchers
	other=$started

	job 1 90
	[ "$status" -eq 75 ]
	[[ $stderr == "wdrun: --lock: '$PWD/sync.lock' is held by PID $other "* ]]
	kill "$other"
	wait "$other" || true
}

# --- Makefile ----------------------------------------------------------------

# a_test NAME LINE...: writes an executable that the makefile runs as a test.
a_test() {
	printf '%s\n' '#!/bin/sh' "${@:2}" >"$1"
	chmod +x "$1"
}

# by_make ARGUMENT...: runs make, apart from the make that may run these tests.
by_make() {
	complete env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make \
		-f "$root/examples/Makefile" TESTS='t-*.sh' "$@"
}

passes_but_one() {
	rm -f ./*.passed
	by_make -k -j3 check BOUND="$limit"
	[ "$(echo ./*.passed)" = "./t-1.sh.passed ./t-3.sh.passed" ] &&
		grep '^wdrun: .* sleep 1000 ' err
}

@test "of tests that make runs, one that hangs fails, and the others pass" {
	a_test t-1.sh 'echo one'
	a_test t-2.sh 'setsid sleep 1000 &' 'sleep 1000'
	a_test t-3.sh 'echo three'
	with_more_time passes_but_one

	[ "$status" -eq 2 ]
	nobody_is_left
	[ "$(cat t-1.sh.log t-3.sh.log)" = $'one\nthree' ]
	grep -q '^wdrun: timed out after .*s, ' err
	grep -q 't-2.sh.passed\] Error 124' err
}

@test "a make within a recipe shares the jobserver" {
	for i in 1 2 3; do # each of these waits for the other two
		a_test "t-$i.sh" 'touch "$0.began"' \
			'until [ "$(ls *.began | wc -l)" -eq 3 ]; do' \
			'sleep 0.02' 'done'
	done
	by_make -j3 again BOUND=90s

	[ "$status" -eq 0 ]
	[ "$(find . -name '*.passed' | wc -l)" -eq 3 ]
	[ -z "$stderr" ]
}

@test "a make within a recipe finds a makefile whose path has blanks and signs" {
	local place="it's my make & files"
	mkdir "$place"
	cp "$root/examples/Makefile" "$place"
	a_test t-1.sh 'echo one'
	complete env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make \
		-f "$place/Makefile" again TESTS='t-*.sh'

	[ "$status" -eq 0 ]
	[ -e t-1.sh.passed ]
}

# --- entrypoint.sh -----------------------------------------------------------

@test "a container ends when it is told to, after its service has cleaned up" {
	need_root
	need_unshare --pid --fork --mount-proc
	cat >server <<-'END'
		#!/bin/bash
		trap 'echo tidied up; exit 7' TERM
		(sleep 0.01 & exec true) & # an orphan, which PID 1 has to reap
		wait
		echo "ready $$"
		while :; do sleep 1000 & wait "$!"; done
	END
	chmod +x server
	start env STATE_DIR="$PWD/state" unshare --pid --fork --mount-proc \
		"$root/examples/entrypoint.sh" ./server --port=8080
	await_ready
	kill -TERM "$(children_of "$started")"
	finish

	[ "$ready" -ne 1 ]
	[ "$status" -eq 7 ]
	[ "$(tail -n 1 out)" = "tidied up" ]
	[ -z "$stderr" ]
	[ -d state ]
}

# --- many.sh -----------------------------------------------------------------

# A command that hangs, dies or fails for some of its lines.
some_fail='case $1 in
	6) exit 124 ;;
	7) setsid sleep 1000 & sleep 1000 ;;
	8) kill -KILL $$ ;;
	9) exit 255 ;;
	"ten and a half") echo "$1" ;;
	esac'

# many WITH COUNT: runs examples/many.sh on COUNT lines, and one that is no
# number.
many() {
	rm -f many.log
	complete bash -c '{ seq "$3" && echo "ten and a half"; } |
		MANY_WITH=$2 MANY_TIMEOUT=$5 MANY_JOBS=20 \
		"$1/examples/many.sh" sh -c "$4" -' - "$root" "$1" "$2" \
		"$some_fail" "$limit"

	[ "$(tail -n 1 err)" = \
		"many: $(($2 + 1)) runs, 4 failed, 1 of them timed out" ] &&
		nobody_is_left
}

# What the output and the log have after that.
shows_many() {
	[ "$status" -eq 1 ]
	[ "$output" = "ten and a half" ]
	[ "$(wc -l <many.log)" -eq $(($1 + 1)) ]
	diff <(grep -v '^0 ' many.log | sort) \
		<(printf '%s\n' '124 6' '137 8' '255 9' 'late 7')
	[ -z "$(find . -name 'many.log.*')" ]
}

@test "a hundred runs by xargs: those that hang, die or fail do not matter" {
	with_more_time many xargs 100
	shows_many 100
}

@test "lines by xargs and GNU parallel end, and begin no more, once the script is killed" {
	need parallel
	local with signal
	for with in xargs parallel; do
		for signal in TERM KILL; do
			: >begun
			start env MANY_WITH="$with" MANY_JOBS=2 MANY_TIMEOUT=1h \
				"$root/examples/many.sh" sh -c \
				'echo "$1" >>begun; exec sleep 1000' - \
				< <(seq 50)
			wait_until eval '[ "$(wc -l <begun)" -eq 2 ]'
			kill "-$signal" "$started"
			wait_until nobody_is_left
			[ "$(wc -l <begun)" -lt 50 ]
			wait "$started" || true
		done
	done
}

@test "runs by GNU parallel: those that hang, die or fail do not matter" {
	need parallel
	with_more_time many parallel 20
	shows_many 20
}

# --- agent-tool.py, run.py, run.mjs ------------------------------------------

# tool REQUEST: writes the answer to the file out.
tool() {
	complete bash -c '"$1/examples/agent-tool.py" <<<"$2"' - "$root" "$1"
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
}

@test "an agent's tool returns status and output as JSON, less the middle" {
	need jq
	tool '{"command": "seq 10000; echo \"é\" >&2; cat; exit 3", "max_output": 20}'

	jq -e '.status == 3 and .stopped == false and .hung == [] and
		.reason == null and
		(.output | startswith("1\n2\n3\n4\n5\n\n... ")) and
		(.output | endswith(" ...\n\n10000\né\n")) and
		.omitted == 48894 + 3 - 20' out

	tool '{"command": "exit 124"}'
	jq -e '.status == 124 and .stopped == false' out
}

# Succeeds if both processes were executed before $limit was over.
stops_and_tells() {
	tool '{"command": "echo up; setsid sleep 1000 & sleep 1000", "timeout": '"$limit"'}'
	jq -e '.output == "up\n" and ([.hung[] | select(.command == "sleep 1000" and
			.waiting_for == "sleeping" and .pid > 0)] | length) == 2' out
}

@test "an agent's tool stops what hangs or is silent, and says what hung" {
	need jq
	with_more_time stops_and_tells
	nobody_is_left
	jq -e '.status == null and .stopped and .reason == "timeout"' out

	tool '{"command": "sleep 1000", "idle_timeout": 0.3}'
	nobody_is_left
	jq -e '.stopped and .reason == "idle"' out
}

returns_in_time() {
	complete "$root/examples/$1" "$limit" \
		sh -c 'echo up; setsid sleep 1000 & sleep 1000'
	[ "$output" = up ]
}

@test "Python's subprocess and Node's child_process return in time" {
	need python3 node
	local program
	for program in run.py run.mjs; do
		with_more_time returns_in_time "$program"
		[ "$status" -eq 124 ]
		[[ $stderr == "wdrun: timed out after "*"s, "* ]]
		nobody_is_left
	done
}

@test "Python's subprocess and Node's child_process have the command's status" {
	need python3 node
	local program
	for program in run.py run.mjs; do
		complete "$root/examples/$program" 90 sh -c 'echo up; exit 3'
		[ "$status" -eq 3 ]
		[ "$output" = up ]
		complete "$root/examples/$program" 90 sh -c 'kill -KILL $$'
		[ "$status" -eq 137 ]
		complete "$root/examples/$program" 90
		[[ $stderr == "usage: $program "* ]]
	done
}

@test "an agent's tool answers with JSON to a request that is not valid" {
	need jq
	local request
	for request in '' '{' 'null' '[]' '{}' '{"command": 3}' '{"command": null}' \
		'{"command": "true", "shell": "zsh"}' \
		'{"command": "echo \ud800"}' '{"command": "echo \u0000"}' \
		'{"command": "true", "timeout": null}' \
		'{"command": "true", "timeout": -1}' \
		'{"command": "true", "timeout": 0}' \
		'{"command": "true", "timeout": true}' \
		'{"command": "true", "timeout": "1"}' \
		'{"command": "true", "timeout": NaN}' \
		'{"command": "true", "timeout": 1e20}' \
		'{"command": "true", "idle_timeout": 0.00001}' \
		'{"command": "true", "max_output": -1}' \
		'{"command": "true", "max_output": 1.5}' \
		$'{"command": "\xff"}' "$(printf '%9999s' '' | tr ' ' '[')"; do
		echo "--- ${request::99}"
		tool "$request"
		jq -e 'keys == ["error"] and (.error | length > 5)' out
	done

	WDRUN=no/such/wdrun tool '{"command": "true"}'
	jq -e '.error | test("no/such/wdrun")' out
}

@test "an agent's tool reports a death by a signal, and a status 124 of the command's own" {
	need jq
	tool '{"command": "echo noise >&2; exit 124"}'
	jq -e '.status == 124 and .stopped == false' out
	tool '{"command": "sleep 1000 & exit 124", "timeout": 50}'
	jq -e '.status == 124 and .stopped == false and
		.reason == "survivors-idle" and .hung == []' out
	tool '{"command": "kill -KILL $$"}'
	jq -e '.status == 137 and .stopped == false' out
	tool '{"command": "true", "timeout": 0.001}'
	jq -e '.stopped or .status == 0' out
}

@test "Python's subprocess and Node's child_process report a status 124 of the command's own" {
	need python3 node
	complete python3 -c 'import sys; sys.path.insert(0, sys.argv[1])
import run, subprocess
print(run.run(["sh", "-c", "exit 124"], 20).returncode)
print(run.run(["sh", "-c", "exit 3"], None).returncode)
for timeout, options in (0.1, {"check": True}), (1e-5, {}), (0, {}):
	try:
		run.run(["sleep", "1000"], timeout, **options)
	except subprocess.TimeoutExpired as late:
		print(late.cmd, late.timeout)
try:
	run.run(["sh", "-c", "exit 124"], 20, check=True)
except subprocess.CalledProcessError as failed:
	print(failed.returncode)' "$root/examples"
	[ "$output" = "124
3
['sleep', '1000'] 0.1
['sleep', '1000'] 1e-05
['sleep', '1000'] 0
124" ]

	complete node --input-type=module -e 'const { run } =
		await import(process.argv[1] + "/run.mjs");
		for (const script of ["exit 124", "sleep 1000", "kill -40 $$"]) {
			const done = await run(["sh", "-c", script],
				script === "sleep 1000" ? 0.1 : 20);
			console.log(done.status, done.signal, done.timedOut);
		}' "$root/examples"
	[ "$output" = "124 null false
124 null true
168 SIGRTMIN+6 false" ]
}

@test "Python's subprocess and Node's child_process run under the name of a symlink" {
	need python3 node
	local program
	for program in run.py run.mjs; do
		ln -s "$root/examples/$program" .
		complete "./$program" 20 sh -c 'echo up; kill -40 $$'
		[ "$status" -eq 168 ]
		[ "$output" = up ]
	done
}

@test "what Python's subprocess and Node's child_process run ends with them" {
	need python3 node
	local program signal
	for program in run.py run.mjs; do
		for signal in TERM KILL; do
			start env TMPDIR="$PWD" \
				"$root/examples/$program" 1000 sh -c \
				'setsid sleep 1000 & echo "ready $$" >ready; sleep 1000'
			await_ready ready
			kill "-$signal" "$started"
			wait_until nobody_is_left
			wait "$started" || true
			rm ready
		done
	done
}
