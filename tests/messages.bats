#!/usr/bin/env bats
#
# The sentences of messages that the manual and the README show, or that a script
# may look for. Other tests depend on no sentence.
#
# bats file_tags=words
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load orphans

setup() {
	common_setup
	unset WDRUN_REGISTRY
	export LC_ALL=C HOME=$PWD
	program=wdrun
	ln -s "$WDRUN" timeout
	ln -s "$WDRUN" wdrun
}

# told SENTENCE: a line of err is that, after the program's name. In SENTENCE,
# as in a pattern of the shell, * stands for what differs.
told() {
	local line
	while IFS= read -r line; do
		# shellcheck disable=SC2053 # a pattern
		[[ $line != $program": "$1 ]] || return 0
	done <err
	echo "not told: $program: $1"
	return 1
}

# tells SENTENCE ARG...: the program with these arguments tells that.
tells() {
	directly "./$program" "${@:2}"
	told "$1"
}

# tells_alone: the same, and nothing else.
tells_alone() {
	tells "$@"
	has_line_count 1 err
}

@test "the sentences about what cannot be run, and about output that cannot be written" {
	printf '#!/bin/sh\r\n' >from-windows
	chmod +x from-windows
	tells_alone "no COMMAND given (see --help)"
	tells_alone "'-qZ' is not an option, is short for several, or takes no value (see --help)" \
		-qZ true
	tells_alone "--timeout: '5x' is not a duration (250ms, 1.5, 1h30m, *)" -t 5x true
	tells_alone "cannot run 'no-such': no such program; *" no-such
	tells_alone "cannot run './no-such': No such file or directory" ./no-such
	tells_alone "cannot run './from-windows': the interpreter is missing: /bin/sh\\\\r (CR *" \
		./from-windows
	tells_alone "--report: 'no/file': No such file or directory" --report=no/file true
	tells_alone "--tee: cannot write to '/dev/full': No space left *; the copy ends here" \
		--tee=/dev/full echo text
	./wdrun --until=x echo text 2>err >/dev/full
	told "cannot write to stdout: No space left on device; what cannot be written is lost"
	mkfifo pipe
	exec 7<>pipe
	./wdrun -t 300ms --until=x yes >pipe 2>err 3>&- || true
	exec 7<&-
	told "* bytes of output are lost: the reader did not take them in time"
}

@test "the sentences about a stop, what a run did, and how far it is" {
	local killed
	tells "timed out after 300ms, stopping 1 process with SIGTERM:" -t 300ms sleep 1000
	tells "no output for 300ms, stopping 1 process with SIGTERM:" -i 300ms sleep 1000
	tells "the text of --until was found, but the command did not exit, stopping *SIGTERM:" \
		--until=go --until-grace=0 -k 200ms sh -c 'trap "" TERM; echo go; sleep 1000'
	told "processes are still alive 200ms after SIGTERM, killing 2 processes:"
	tells "the command has exited; no progress for 1s, stopping 1 process with SIGTERM:" \
		--tee=copy --idle-after-exit=1s sh -c 'sleep 1000 & exit 0'
	told "  * sleep 1000 \[S 1s]: sleeping, holding the output open, fd 1*"
	tells "the command exited 1s ago, stopping 1 process with SIGTERM:" \
		--max-after-exit=1s --idle-after-exit=never sh -c 'sleep 1000 & exit 0'
	for killed in front supervisor; do
		start ./wdrun sleep 1000
		await_watchers
		kill -KILL "${!killed}"
		wait "$started" || true
		wait_until nobody_is_left
		told "the $killed (PID ${!killed}) was killed, killing *process*"
	done

	echo 'until [ -s err ]; do :; done' >until-told
	tells "nightly: *s elapsed, * left, 1 process" -t 1h --name=nightly \
		--registry=record --heartbeat=0.2 sh until-told
	tells "ended with status 3 after *; * of CPU time, at most * KiB of memory" -v \
		sh -c 'exit 3'
}

@test "the sentences about locks, runs on record, and those of timeout" {
	local dead first
	sleep 0 &
	dead=$!
	wait "$dead"
	start ./wdrun --lock=lock sleep 1000
	wait_until test -s lock
	tells_alone "--lock: '$PWD/lock' is held by PID $started (./wdrun --lock=lock sleep 1000)" \
		--lock=lock true
	kill "$started"
	wait "$started" || true
	echo "$dead" >lock
	tells_alone "--lock: took '$PWD/lock' over from PID $dead, which is dead" --lock=lock true
	tells_alone "--cleanup: removed '$PWD/made', which the command left behind" \
		--cleanup=made sh -c "echo $dead >made"
	tells_alone "--cleanup: cannot remove '$PWD/full': Directory not empty" \
		--cleanup=full mkdir -p full/directory

	make_registry
	tells_alone "--cancel: nothing in flight: no run 'x' in $WDRUN_REGISTRY" --cancel=x
	tells_alone "no runs on record in $WDRUN_REGISTRY (*)" --list
	begin twin -- "$PROGRAMS/sigcount"
	first=$front
	begin twin -- "$PROGRAMS/sigcount"
	tells_alone "--cancel: 'twin' means 2 runs, name one by its ID: $first-*, $front-*" \
		--cancel=twin
	end "$first" "$front"
	orphan --name=nightly -- "$PROGRAMS/escape" -x 0 fork setsid
	tells_alone "run $id (nightly): killed 1 process: $ready *" --reap

	program=timeout
	tells_alone "missing operand: DURATION COMMAND (see --help)"
}
