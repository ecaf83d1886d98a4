#!/usr/bin/env bats
#
# The sentences of messages that documents show, or that a script may look for.
# Runs in a PID namespace of its own: --reap reads all processes of the machine.
# bats file_tags=words

load helper
load orphans

setup() {
	common_setup
	unset WDRUN_REGISTRY
	export LC_ALL=C HOME=$PWD
	ln -s "$WDRUN" wdrun
}

# told SENTENCE: a line of err is that, after the program's name. In SENTENCE,
# as in a pattern of the shell, * stands for what differs.
told() {
	local line
	while IFS= read -r line; do
		# shellcheck disable=SC2053 # a pattern
		[[ $line != "wdrun: "$1 ]] || return 0
	done <err
	echo "not told: $1"
	return 1
}

# tells SENTENCE ARG...: the program with these arguments tells that.
tells() {
	directly ./wdrun "${@:2}"
	told "$1"
}

# tells_alone: the same, and nothing else.
tells_alone() {
	tells "$@"
	has_line_count 1 err
}

@test "messages about commands that cannot be run, and output that cannot be written, keep their words" {
	tells_alone "no COMMAND given (see --help)"
	tells_alone "--timeout: '5x' is not a duration (250ms, 1.5, 1h30m, *)" -t 5x true
	tells_alone "'--no-such' is not an option (see --help)" --no-such true
	tells_alone "'--t=5' is short for several options (see --help)" --t=5 true
	tells_alone "--quiet takes no value (see --help)" --quiet=yes true
	tells_alone "cannot run 'no-such': no such program; *" no-such
	tells_alone "--report: 'no/file': No such file or directory" --report=no/file true
	tells_alone "--tee: cannot write to '/dev/full': No space left *; the copy ends here" \
		--tee=/dev/full echo text
	gives 125 complete sh -c './wdrun --until=x echo text >/dev/full'
	told "cannot write to stdout: No space left on device; the rest of it is lost"
}

@test "messages about a stop, and about what a run did, keep their words" {
	tells "timed out after 300ms, stopping 1 process with SIGTERM*:" -t 300ms sleep 1000
	tells "timed out after 1ns, stopping *" -t 1e-9 sleep 1000
	tells "timed out after 1s (the command has exited), stopping *" -t 1 sh -c 'sleep 1000 &'
	tells "no output for 300ms, stopping 1 process with SIGTERM*:" -i 300ms sleep 1000
	tells "the output is complete, but the command did not exit within 100ms, stopping *SIGTERM*:" \
		--until=go --until-grace=100ms -k 200ms sh -c 'trap "" TERM; echo go; sleep 1000'
	told "processes are still alive after a grace of 200ms, killing 2 processes: * \[sh\], * \[sleep\]"
	tells "the output is complete, but the command did not exit before the timeout of 2s, *" \
		-t 2s --until=go --until-grace=1h sh -c 'echo go; exec sleep 1000'
	tells "the output tells of a failure, but the command did not exit within 100ms, *" \
		--until-failure=go --until-grace=100ms sh -c 'echo go; exec sleep 1000'
	tells "sh: [1-9]* elapsed, * process*" --heartbeat=100ms sh -c 'until [ -s err ]; do sleep 0.05; done'
	tells "the command has exited; no progress for 1s, stopping 1 process with SIGTERM*:" \
		--tee=copy --idle-after-exit=1s sh -c 'sleep 1000 & exit 0'
	told "  * sleep 1000 \[S [12]s]: sleeping, holding the output open, fd 1*"
	tells "the command has exited; survivors are left after 1s, stopping 1 process with SIGTERM*:" \
		--max-after-exit=1s --idle-after-exit=never sh -c 'sleep 1000 & exit 0'
	for killed in front supervisor; do
		start_run ./wdrun escape
		kill -KILL "${!killed}"
		wait "$started" || true
		wait_until nobody_is_left
		told "the $killed was killed, killing *process*"
	done

	tells "ended with status 3 after *; * of CPU time, at most * KiB of memory" -v \
		sh -c 'exit 3'
}

@test "messages about locks and runs on record keep their words" {
	dead=$(sh -c 'echo $$')
	start ./wdrun --lock=lock sleep 1000
	wait_until test -s lock
	tells_alone "--lock: '$PWD/lock' is held by PID $started (./wdrun --lock=lock sleep 1000)" \
		--lock=lock true
	kill "$started"
	wait "$started" || true
	echo "$dead" >lock
	tells_alone "--lock: took '$PWD/lock' over from PID $dead, which no longer holds it" --lock=lock true
	export WDRUN_REGISTRY=$PWD/registry
	tells_alone "--cancel: nothing in flight: no run 'x' in $WDRUN_REGISTRY" --cancel=x
	tells_alone "no runs on record in $WDRUN_REGISTRY" --list
	orphan --name=nightly -- escape -x 0 fork setsid
	tells_alone "reaped run $id (nightly); killed $ready *" --reap
}
