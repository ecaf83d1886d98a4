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
	printf '#!%s\n' /no/such/interpreter >old
	printf '#!/bin/sh\r\n' >from-windows
	: >not-executable
	chmod +x old from-windows
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
	printf '%s\n' "not told: $program: $1" "but:"
	cat err
	return 1
}

# tells SENTENCE ARG...: the program with these arguments tells that.
tells() {
	"./$program" "${@:2}" >out 2>err </dev/null 3>&- || true
	told "$1"
}

# tells_alone: the same, and nothing else.
tells_alone() {
	tells "$@"
	[ "$(wc -l <err)" -eq 1 ]
}

@test "the sentences about a wrong command line" {
	tells_alone "no COMMAND given (see --help)"
	tells_alone "'-qZ' is not an option, is short for several, or takes no value (see --help)" -qZ true
	tells_alone "--timeout needs a value: DUR (see --help)" --timeout
	tells_alone "--timeout: '5x' is not a duration (250ms, 1.5, 1h30m, never; units ms, s, m, h, d, w)" \
		--timeout=5x true
	tells_alone "--until: ' *' is not a text (1 to 1024 bytes)" \
		--until="$(printf %1025s '')" true
	tells_alone "--lock: 'f17' is not one of at most 16 file names ('./-' for one that is named '-')" \
		--lock=f{1..17} true
	tells_alone "of --list, --cancel, --reap and a COMMAND only one can be given" --list touch ran
}

@test "the sentences about a command or a file that cannot be used" {
	tells_alone "cannot run 'no-such': no such program; *" no-such
	tells_alone "cannot run './no-such': No such file or directory" ./no-such
	tells_alone "cannot run './not-executable': Permission denied" ./not-executable
	tells_alone "cannot run './old': the interpreter is missing: /no/such/interpreter" ./old
	tells_alone "cannot run './from-windows': the interpreter is missing: /bin/sh\\\\r (CR LF *" \
		./from-windows
	tells_alone "--report: 'no/file': No such file or directory" --report=no/file true
	tells_alone "--tee: cannot open 'no/file': No such file or directory" --tee=no/file true
	mkfifo fifo
	tells_alone "--tee: cannot open 'fifo': it is a FIFO that nobody reads" --tee=fifo true
	[ -w /dev/full ] || skip "there is no /dev/full"
	tells_alone "--tee: cannot write to '/dev/full': No space left on device; the copy ends here" \
		--tee=/dev/full echo text
	WDRUN=./wdrun bash -c '"$WDRUN" --until=x echo text >/dev/full' 2>err
	told "cannot write to stdout: No space left on device; what cannot be written is lost"
}

@test "the sentences about a stop" {
	tells "timed out after 300ms, stopping 1 process with SIGTERM:" -t 300ms sleep 1000
	tells "no output for 300ms, stopping 1 process with SIGTERM:" -i 300ms sleep 1000
	tells "the text of --until was found, but the command did not exit, stopping * with SIGTERM:" \
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
}

@test "the sentences about what a run did, and how far it is" {
	echo 'until [ -s err ]; do :; done' >until-told
	tells "sh: *s elapsed, 1 process" --heartbeat=0.2 sh until-told
	tells "nightly: *s elapsed, * left, 1 process" -t 1h --name=nightly \
		--registry=record --heartbeat=0.2 sh until-told
	tells "ended with status 3 after *; * of CPU time, at most * KiB of memory" -v sh -c 'exit 3'
	mkfifo pipe
	exec 7<>pipe
	./wdrun -t 300ms --until=x yes >pipe 2>err 3>&- || true
	exec 7<&-
	told "* bytes of output are lost: the reader did not take them in time"
}

@test "the sentences about locks and what the command left" {
	local dead
	sleep 0 &
	dead=$!
	wait "$dead"
	start ./wdrun --lock=lock sleep 1000
	wait_until test -s lock
	tells_alone "--lock: '$PWD/lock' is held by PID $started (./wdrun --lock=lock sleep 1000)" \
		--lock=lock true
	kill "$started"
	wait "$started" || true
	exec 9>>lock
	flock 9
	tells_alone "--lock: '$PWD/lock' is held by another process, or by a descriptor that wdrun has inherited" --lock=lock true
	exec 9>&-
	echo "$dead" >lock
	tells_alone "--lock: took '$PWD/lock' over from PID $dead, which is dead" --lock=lock true
	echo text >lock
	tells_alone "--lock: '$PWD/lock': it is not a lock file: its content is not a PID" --lock=lock true
	tells_alone "--cleanup: removed '$PWD/made', which the command left behind" \
		--cleanup=made sh -c "echo $dead >made"
	tells_alone "--cleanup: cannot remove '$PWD/full': Directory not empty" \
		--cleanup=full mkdir -p full/directory
}

@test "the sentences about runs on record, and those of timeout" {
	make_registry
	tells_alone "--cancel: nothing in flight: no run 'nobody' in $WDRUN_REGISTRY" \
		--cancel=nobody
	tells_alone "no runs on record in $WDRUN_REGISTRY (*)" --list
	begin twin -- "$PROGRAMS/sigcount"
	first=$front
	begin twin -- "$PROGRAMS/sigcount"
	tells_alone "--cancel: 'twin' means 2 runs, name one by its ID: $first-*, $front-*" --cancel=twin
	end "$first" "$front"
	orphan --name=nightly -- "$PROGRAMS/escape" -x 0 fork setsid
	tells_alone "run $id (nightly): killed 1 process: $ready *" --reap

	program=timeout
	tells_alone "missing operand: DURATION COMMAND (see --help)"
	tells_alone "--signal: 'FOO' is not a signal (*)" -s FOO 1 true
}
