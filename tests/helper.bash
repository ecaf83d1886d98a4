# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034 # what is set here is read by the tests
#
# What all .bats files share. A test runs in an empty directory of its own, all
# that it starts carries the marker WDRUN_TEST in its environment, and when it
# is over no process of it may be left: teardown looks, and fails the test.

bats_require_minimum_version 1.5.0

# Without a fork where that can be: bats reads this file anew for each test.
root=${BASH_SOURCE[0]%/*}/..
[[ $root == /*[!.]/.. ]] && root=${root%/*/..} || root=$(realpath -s "$root")
[[ ${WDRUN-} == /* ]] || WDRUN=$(realpath -s "${WDRUN:-$root/wdrun}")
[[ ${PROGRAMS-} == /* ]] || PROGRAMS=$(realpath -s "${PROGRAMS:-$root/build/tests}")
export WDRUN PROGRAMS

# For how long, in seconds, what must come true is waited for. The test programs
# live longer (LIFE_SECONDS in programs/bounded.h), so that none is found dead
# which nobody killed; and a test that hangs all the same is ended by bats.
PATIENCE=100
export BATS_TEST_TIMEOUT="${BATS_TEST_TIMEOUT:-280}"

# bats notes the stack before each command, to show it where a test fails. In
# the loops below that is four fifths of their time, and tells no more than the
# line that called them: hence "local -; set +T" in what tests call often.

setup() {
	common_setup
}

teardown() {
	common_teardown
}

# stdin is no terminal, also when the tests are started from one.
common_setup() {
	local -
	set +T
	cd "$BATS_TEST_TMPDIR" || return
	export WDRUN_TEST="$BATS_TEST_TMPDIR"
	exec </dev/null
}

common_teardown() {
	local -
	set +T
	cd / || return
	# Who was killed without being waited for is as good as dead.
	"$PROGRAMS/leftovers" -d "$WDRUN_TEST" >/dev/null && return

	echo "this test has left:"
	show_processes
	end_leftovers || echo "and they cannot be ended"
	return 1
}

# --- waiting -----------------------------------------------------------------

# wait_until COMMAND...: until COMMAND succeeds; else fails the test. It looks
# less often after a while, as all that look share two processors.
wait_until() {
	local -
	set +T
	local bound=$((SECONDS + PATIENCE)) pauses=0
	until "$@"; do
		((SECONDS < bound)) || {
			echo "never came true: $*" >&2
			show_processes >&2
			return 1
		}
		if ((pauses++ < 5)); then pause 0.02; else pause 0.06; fi
	done
}

# pause SECONDS: as sleep(1), which costs as much as all else in a look: nothing
# ever comes on this socket.
pause() {
	local why=0
	{ read -rt "$1" </dev/udp/127.0.0.1/9; } 2>/dev/null || why=$?
	((why > 128)) || sleep "$1" # there is no such socket
}

# no COMMAND...: succeeds where COMMAND fails. (! is no command to wait for.)
no() {
	if "$@"; then return 1; fi
}

# --- processes ---------------------------------------------------------------

# look_at PID: sets process_state (a letter, empty if there is no such process)
# and process_parent. No fork: a test may have a thousand processes.
look_at() {
	local stat
	process_state='' process_parent=0
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
	read -r process_state process_parent _ <<<"${stat##*) }"
}

# A zombie is dead: whether its new parent has buried it is not our subject.
is_alive() {
	look_at "$1"
	case $process_state in
	'' | Z | X) return 1 ;;
	esac
}

is_dead() {
	no is_alive "$1"
}

is_zombie() {
	look_at "$1"
	[ "$process_state" = Z ]
}

is_stopped() {
	look_at "$1"
	[ "$process_state" = T ]
}

# The children of all threads, one a line.
children_of() {
	local -
	set +T
	local file pids
	for file in "/proc/$1"/task/*/children; do
		pids=()
		read -ra pids <"$file" || true # it has no newline
		((${#pids[@]} == 0)) || printf '%s\n' "${pids[@]}"
	done 2>/dev/null
}

# is_below PID ANCESTOR: PID is ANCESTOR, or a descendant of its.
is_below() {
	local -
	set +T
	local pid=$1
	while ((pid > 1 && pid != $2)); do
		look_at "$pid"
		pid=$process_parent
	done
	((pid == $2))
}

# The PIDs of what this test started and is not dead: found by the marker, or,
# where the environment was emptied, by the working directory. Fails if there
# are any. The shells that ask do not count.
leftovers() {
	"$PROGRAMS/leftovers" "$WDRUN_TEST"
}

nobody_is_left() {
	leftovers >/dev/null
}

show_processes() {
	local -
	set +T
	local pids
	pids=$(leftovers) || ps -o pid,ppid,pgid,sid,stat,wchan:20,args \
		-p "${pids//$'\n'/,}" | cut -c1-200 | head -n 40
}

# For what a test leaves by intent. Stopped first, as they may fork; and the
# chain of programs/chain.c, which nobody catches from a shell, stops by itself
# where it sees the file.
end_leftovers() {
	local -
	set +T
	local round left
	: >"$BATS_TEST_TMPDIR/stop-chain"
	for round in {1..100}; do
		left=$(leftovers) && return
		mapfile -t left <<<"$left"
		kill -STOP "${left[@]}" 2>/dev/null || true
		((round < 3)) || kill -KILL "${left[@]}" 2>/dev/null || true
	done
	nobody_is_left
}

# --- running -----------------------------------------------------------------

# start COMMAND...: in the background, with default signal dispositions (bash
# ignores SIGINT in its background jobs), its output in the files out and err.
# Sets started. stdin is that of the call.
start() {
	local -
	set +T
	local words=("$@")
	wanted_report=
	[ -z "${WDRUN_REPORTS-}" ] || want_report
	: >out
	"$PROGRAMS/launch" --defaults "${words[@]}" <&0 >out 2>err 3>&- &
	started=$!
}

# With WDRUN_REPORTS=1 each run that a test starts writes a report as well,
# beside the test's directory, and finish looks at it. Not where words is no run,
# or has a --report of its own.
want_report() {
	local word
	[ "${words[0]}" = "$WDRUN" ] || return 0
	for word in "${words[@]:1}"; do
		case $word in
		--report* | --list | --reap | --cancel* | --help | -h | \
			--version | -V) return 0 ;;
		esac
	done
	wanted_report=$BATS_TEST_TMPDIR.report
	rm -f "$wanted_report"
	words=("$WDRUN" "--report=$wanted_report" "${words[@]:1}")
}

# The report is there, whole, and as true as the status. Who kills the front gets
# it later, and who kills both gets none; nor does who is refused, or told that
# it cannot be written.
check_report() {
	case $status in
	137) [ -e "$wanted_report" ] || return 0 ;;
	125) [ -e "$wanted_report" ] || [ -s err ] && return ;;
	esac
	no grep -qs '^wdrun: --report: cannot write' err || return 0
	jq -e --argjson status "$status" '.version == 1 and
		(.status == $status or $status == 137) and
		(.id | length) > 5 and .elapsed_ms >= 0 and .started > 0 and
		(.outcome | IN("exited", "killed", "stopped", "not executed",
			"locked out", "unknown")) and
		(.command | length) > 0 and (.directory | startswith("/")) and
		(.processes.stopped >= 0 and .processes.killed >= 0)' \
		"$wanted_report" >/dev/null || {
		echo "status $status, but the report:"
		cat "$wanted_report"
		return 1
	}
}

# Waits for what was started. Sets status, output and stderr.
finish() {
	local -
	set +T
	wait_until is_dead "$started" || {
		show_output
		end_leftovers
		return 1
	}
	status=0
	wait "$started" || status=$?
	take out
	output=$taken
	take err
	stderr=$taken
	echo "status $status"
	show_output
	[ -z "${wanted_report-}" ] || check_report
}

# take FILE: sets taken to what it begins with, as $(...) has it: no zero bytes,
# and no newlines at its end. Without a fork, as each test does it.
take() {
	local LC_ALL=C part='' room=100000
	taken=''
	while ((room > 0)) && IFS= read -rd '' -n "$room" part; do
		taken+=$part
		((room -= ${#part} + 1)) || true
		part=''
	done <"$1"
	taken+=$part
	taken=${taken%"${taken##*[!$'\n']}"}
}

# The beginning of both, for who looks at a failure.
show_output() {
	local lines
	mapfile -n 20 lines <out
	printf '%s' "--- stdout"$'\n' "${lines[@]}"
	mapfile -n 20 lines <err
	printf '%s' "--- stderr"$'\n' "${lines[@]}"
}

# complete COMMAND...: start and finish.
complete() {
	local -
	set +T
	start "$@"
	finish
}

# complete_late COMMAND...: complete, where LIMIT in COMMAND is a time
# that is to pass after the program said `ready`, and not before, on a machine of
# any speed: a short one, and if that was too short, a longer one. Sets ready.
complete_late() {
	late complete "$@"
}

# late FUNCTION ARG...: the same for another FUNCTION that starts and finishes.
late() {
	local limit
	for limit in 0.4 2 10 50; do
		"${@//LIMIT/$limit}"
		! says_ready out || return 0
	done
	return 1
}

# goes_on OPTION...: with these a run has no bound: when it has had the time to
# look at its clocks, it still runs, until it is told to end.
goes_on() {
	start "$WDRUN" "$@" "$PROGRAMS/sigcount"
	await_ready
	kill -USR1 "$started"
	wait_until grep -qx 'got 10' out
	kill -TERM "$started"
	finish

	[ "$status" -eq 7 ]
}

# Waits until the program says `ready PID`. Sets ready to that PID.
await_ready() {
	local -
	set +T
	wait_until says_ready "${1:-out}"
}

# Without a fork: a grep that is on its way out would be one that is left.
says_ready() {
	local word
	while read -r word ready _; do
		[[ $word != ready || ! $ready =~ ^[0-9]+$ ]] || return 0
	done <"$1"
	return 1
} 2>/dev/null

# Sets front, supervisor and target of the wdrun that was started. The target
# was executed when this returns.
await_watchers() {
	local -
	set +T
	front=$started
	wait_until has_target
}

has_target() {
	supervisor=$(children_of "$front")
	[[ $supervisor =~ ^[0-9]+$ ]] || return
	target=$(children_of "$supervisor")
	target=${target%%$'\n'*}
	[[ $target =~ ^[0-9]+$ ]] || return
	no cmp -s "/proc/$supervisor/cmdline" "/proc/$target/cmdline"
}

# with_more_time COMMAND...: COMMAND succeeds, where it takes its times from
# limit, in seconds, and moment, a fifth of that: short ones, and should these be
# too short for the machine, longer ones. It may not rely on `set -e`.
with_more_time() {
	local limit moment
	for limit in 0.4 2 10 50; do
		case $limit in
		0.4) moment=0.08 ;;
		2) moment=0.4 ;;
		*) moment=$((limit / 5)) ;;
		esac
		if "$@"; then return; fi
	done
	return 1
}

# Every line of err is a message of wdrun's.
only_messages() {
	no grep -qv '^wdrun: ' err
}

# with_hung_fs SCRIPT: starts SCRIPT where $PWD/mnt is a file system, which hangs
# from `hang_fs` on. What serves it is the process $server.
with_hung_fs() {
	need_root
	need unshare
	mkdir -p mnt
	start unshare --mount bash -c 'mount --make-rprivate /
		"$PROGRAMS/hung_fs" "$PWD/mnt" >server & server=$!
		until grep -qs ready server; do sleep 0.02; done
		: <mnt/file # from now on a close asks no more
		hang_fs() {
			kill -USR1 "$server"
			until grep -q hung server; do sleep 0.02; done
		}
		export -f hang_fs
		export server
		'"$1"
	await_ready server
}

complete_with_hung_fs() {
	with_hung_fs "$1"
	finish
}

# --- skipping ----------------------------------------------------------------

# need COMMAND...: skips the test where one of these is not installed.
need() {
	local command
	for command; do
		command -v "$command" >/dev/null ||
			skip "$command is not installed (tests/install-tools)"
	done
}

need_root() {
	((EUID == 0)) || skip "needs root"
}
