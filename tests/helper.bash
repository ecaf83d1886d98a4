# shellcheck disable=SC2119,SC2120,SC2317 # the tests call what is here
#
# What all .bats files share. A test runs in an empty directory of its own. All
# that it starts has the marker WDRUN_TEST in its environment, and no process of
# it may be left when the test is over: teardown looks, and fails the test.

# Without a fork where possible: bats reads this file again for each test.
root=${BASH_SOURCE[0]%/*}/..
[[ $root == /*[!.]/.. ]] && root=${root%/*/..} || root=$(realpath -s "$root")
[[ ${WDRUN-} == /* ]] || WDRUN=$(realpath -s "${WDRUN:-$root/wdrun}")
[[ ${PROGRAMS-} == /* ]] || PROGRAMS=$(realpath -s "${PROGRAMS:-$root/build/tests}")
export WDRUN PROGRAMS PATH=$PROGRAMS:$PATH

# PATIENCE is how long, in seconds, the tests wait for a condition. The test
# programs live longer (LIFE_SECONDS in programs/bounded.h), so that none of
# them is found dead without having been killed.
PATIENCE=${PATIENCE:-60}

# A test that hangs is ended after so many seconds, by bats (from version 1.8 on),
# which needs ps(1) or pkill(1) for that.
! command -v ps pkill >/dev/null || BATS_TEST_TIMEOUT=$((PATIENCE + 120))

# bats notes the stack before each command, which takes a sixth of the CPU time (half
# in version 1.2). To note it where a test fails is enough.
note_failure() {
	BATS_ERROR_STATUS=$?
	bats_capture_stack_trace
	BATS_DEBUG_LAST_STACK_TRACE_IS_VALID=1
	BATS_CURRENT_STACK_TRACE=("${BATS_STACK_TRACE[@]}") # version 1.2
}

setup() { common_setup; }
teardown() { common_teardown; }

# stdin is not a terminal, also when the tests are started from one.
common_setup() {
	trap - DEBUG
	trap 'note_failure; bats_error_trap' ERR
	if [ -z "${BATS_TEST_TMPDIR-}" ]; then # before version 1.4
		BATS_TEST_TMPDIR=${BATS_FILE_TMPDIR:?is set by tests/run}/$BATS_TEST_NUMBER
		mkdir "$BATS_TEST_TMPDIR" || return
	fi
	cd "$BATS_TEST_TMPDIR" || return
	export WDRUN_TEST="$BATS_TEST_TMPDIR"
	unset PYTHONUNBUFFERED # with it, print() has a write(2) for each word
	exec </dev/null
	# By its text: tests have --pty in rows and words.
	[[ -z ${WDRUN_NO_PTY-} || $(declare -f "$BATS_TEST_NAME") != *@(--pty|at_prompt|open_terminal)* ]] ||
		need_pty
	command -v python3 >/dev/null || ! runs_python "$BATS_TEST_NAME" || need python3
}

# runs_python FUNCTION: it, or a function that it calls, runs a test program in Python.
runs_python() {
	local -A seen=([common_setup]=1)
	local at text word words=("$1")
	for ((at = 0; at < ${#words[@]}; at++)); do
		text=$(declare -f "${words[at]}")
		for word in ${text//[!-a-z_]/ }; do
			[ -z "${seen[$word]-}" ] || continue
			seen[$word]=1
			[[ $word != python && ! -e $root/tests/programs/$word.py ]] || return 0
			! declare -F -- "$word" >/dev/null || words+=("$word")
		done
	done
	return 1
}

common_teardown() {
	cd / || return
	[ -n "${WDRUN_TEST-}" ] || return 0 # not set up: the look would find all processes
	rm() { :; } # bats need not remove its log: tests/run removes the directory
	# -d: a process that was killed, and is not reaped yet, counts as dead.
	"$PROGRAMS/leftovers" -d "$WDRUN_TEST" >/dev/null && return 0 # not the status before this trap
	# bats would print a failed teardown as "not ok … # skip".
	if [ -n "${BATS_TEST_SKIPPED-}" ] && end_leftovers; then return 0; fi
	echo "this test has left:"
	show_processes
	end_leftovers || echo "and they cannot be ended"
	return 1
}

# --- waiting -----------------------------------------------------------------

# wait_until COMMAND...: waits until COMMAND succeeds, else fails the test.
# After a while it looks less often, since all tests share the processors.
wait_until() {
	local bound=$((SECONDS + PATIENCE)) pauses=0
	until "$@"; do
		((SECONDS < bound)) || {
			echo "never came true: $*" >&2
			show_processes >&2
			return 1
		}
		if ((++pauses < 6)); then pause 0.02; elif ((pauses < 30)); then pause 0.06; else pause 0.2; fi
	done
}

# pause SECONDS: as sleep(1), without its fork and exec, which cost as much as
# all else in a look: nothing ever comes on this socket.
pause() {
	local why=0
	{ read -rt "$1" </dev/udp/127.0.0.1/9; } 2>/dev/null || why=$?
	((why > 128)) || sleep "$1" # there is no such socket
}

# no COMMAND...: succeeds where COMMAND fails. (! is not a command that can be waited for.)
no() {
	if "$@"; then return 1; fi
}

# --- processes ---------------------------------------------------------------

# look_at PID: sets process_state (a letter, empty if there is no such process)
# and process_parent. Without a fork: a test may have a thousand processes. What
# is no PID ends the test: /proc//stat is a file.
look_at() {
	local stat
	[[ $1 =~ ^[0-9]+$ ]] || { echo "no PID: '$1'" && exit 1; } >&2
	process_state='' process_parent=0
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
	read -r process_state process_parent _ <<<"${stat##*) }"
}

# is_alive PID...: all of them are. A zombie counts as dead, reaped or not.
is_alive() {
	local pid
	for pid; do
		look_at "$pid"
		[[ $process_state == [!ZX] ]] || return 1
	done
}

is_dead() { no is_alive "$1"; }

# Dead and reaped.
is_gone() { [ ! -e "/proc/$1" ]; }

# is_in_state LETTER PID: as ps(1) shows it.
is_in_state() {
	look_at "$2"
	[ "$process_state" = "$1" ]
}
is_stopped() { is_in_state T "$1"; }
is_idle() { is_in_state S "$1"; }

# Prints the PIDs of the processes that this test started and that are not dead,
# found by the marker or, where the environment was emptied, by the working
# directory. Fails if there are any. The shells that ask do not count.
leftovers() {
	"$PROGRAMS/leftovers" "$WDRUN_TEST"
}

nobody_is_left() { leftovers >/dev/null; }

show_processes() {
	local pids
	pids=$(leftovers) && return
	if command -v ps >/dev/null; then
		ps -o pid,ppid,pgid,sid,stat,wchan:20,args -p "${pids//$'\n'/,}"
	else
		echo "$pids"
	fi | cut -c1-200 | head -n 40
}

# For processes that a test leaves on purpose. They are stopped first, since
# they may fork. programs/forks.c, which forks too fast for a shell, ends when it sees the file.
end_leftovers() {
	local round left
	: >"$BATS_TEST_TMPDIR/stop-chain"
	for round in {1..100}; do
		left=$(leftovers) && return 0
		mapfile -t left <<<"$left"
		kill -STOP "${left[@]}" 2>/dev/null || true
		((round < 3)) || kill -KILL "${left[@]}" 2>/dev/null || true
	done
	nobody_is_left
}

# --- running -----------------------------------------------------------------

# start COMMAND...: starts COMMAND in the background, with default signal
# dispositions (bash ignores SIGINT in its background jobs), and its output in
# the files out and err. Sets started. stdin is that of the caller.
start() {
	: >out 2>err
	env --default-signal "$@" <&0 >out 2>err 3>&- &
	started=$!
}

# Words before a command that make it a job, which SIGTSTP stops: their shell stays its
# parent, and exits with its status.
as_job=(bash -c 'set -m; "$@" & set +m; wait "$!"' bash)

# await PID: waits for the end of a process of this shell. Sets status.
await() {
	status=0
	wait "$1" || status=$?
}

# Waits for what was started, as long as a test may take. Sets status, output and stderr.
finish() {
	await "$started"
	take_output
}

# A front that is stopped ends nothing when its supervisor dies.
kill_supervisor() {
	kill -STOP "$front"
	wait_until is_stopped "$front"
	kill -KILL "$supervisor"
	wait_until is_dead "$supervisor"
}

# ended_by SIGNAL STATUS [PID]: the signal to PID, or else to what was started, ends that,
# with STATUS.
ended_by() {
	kill -s "$1" "${3:-$started}"
	gives "$2" finish
}

# start_run COMMAND...: COMMAND executes wdrun, or has it for its child. Waits until
# the command of that run is ready, and its supervisor knows that: before, the status of
# a supervisor that is killed is 125. Sets ready, front, supervisor and target.
start_run() {
	start "$@"
	await_ready
	front=$started
	[ "/proc/$front/exe" -ef "$WDRUN" ] || { first_child "$front" && front=$child; }
	find_watchers
	wait_until is_idle "$supervisor"
}

# underway OPTION... COMMAND...: the same for a run that nothing else starts.
underway() {
	start_run "$WDRUN" "$@"
}

# Sets output and stderr, and prints them with the status, for the log of a failure.
take_output() {
	take out
	output=$taken
	take err
	stderr=$taken
	echo "status $status"
	head -n 20 out err # for the log of a failure
}

# take FILE: sets taken to what is in FILE. bash warns of zero bytes.
take() {
	taken=$(<"$1")
} 2>/dev/null

# has_text FILE TEXT: that is all of FILE, but for newlines at its end.
has_text() {
	take "$1"
	[ "$taken" = "$2" ]
}

# complete COMMAND...: start and finish.
complete() {
	start "$@"
	finish
}

# directly COMMAND...: complete, in the foreground and with the dispositions of this shell.
directly() {
	status=0
	"$@" >out 2>err 3>&- || status=$?
	take_output
}

# complete_late COMMAND...: complete, where LIMIT in COMMAND is a time that must
# not pass before the program says `ready`: 1 s, and where a slow machine needed
# longer to start the program, 20 s. What is tested comes after; it is not tried
# again. Sets ready and limit.
complete_late() {
	late complete "$@"
}

# late FUNCTION ARG...: the same for another FUNCTION that starts and finishes.
late() {
	for limit in 1 20; do
		"${@//LIMIT/$limit}"
		! says_ready out || return 0
	done
	echo "the program was not ready within 20 s"
	return 1
}

# gives STATUS FUNCTION ARG...: FUNCTION (finish, complete and the like) waits for the
# end of a run, and the run has that status.
gives() {
	"${@:2}"
	[ "$status" -eq "$1" ]
}

# goes_on OPTION...: with these options a run has no bound: it still runs when
# it has had time to look at its clocks, until it is told to end.
goes_on() {
	underway "$@" sigcount
	kill -USR1 "$started"
	wait_until grep -qx 'got 10' out
	ended_by TERM 7
}

# Waits until the program says `ready PID`. Sets ready to that PID.
await_ready() {
	wait_until says_ready "${1:-out}"
}

# Without a fork: a grep that is about to exit would be found as left.
says_ready() {
	local word
	while read -r word ready _; do
		[[ $word != ready || ! $ready =~ ^[0-9]+$ ]] || return 0
	done <"$1"
	return 1
} 2>/dev/null

# Sets supervisor and target of the run of $front, whose command is ready, or has ended.
find_watchers() {
	first_child "$front" && supervisor=$child || return
	first_child "$supervisor" && target=$child
}

# The target of the run is reaped, and the process that said `ready` outlives it.
lingers() {
	first_child "$supervisor" && [ "$child" = "$ready" ]
}

# sleep_on SECONDS PID...: for so long, none of these gives up the CPU, or loses it.
sleep_on() {
	local before files=("${@/#//proc/}")
	unset 'files[0]'
	before=$(grep ctxt_switches "${files[@]/%//status}")
	pause "$1"
	[ "$(grep ctxt_switches "${files[@]/%//status}")" = "$before" ]
}

# seized PID [FILE [SECONDS]]: a debugger, $!, holds this process, as "seize" has it.
seized() {
	need_strace
	seize "$@" >seized 2>&1 3>&- &
	await_ready seized
}

# first_child PID: sets child to the oldest child of PID, and children to how many
# its main thread has. Without a fork.
first_child() {
	local pids=()
	read -ra pids <"/proc/$1/task/$1/children" || true # it has no newline
	child=${pids[0]-} children=${#pids[@]}
	[ -n "$child" ]
} 2>/dev/null

# has_children COUNT PID
has_children() {
	first_child "$2" && ((children == $1))
}

# has_line_count COUNT FILE: FILE has so many lines.
has_line_count() {
	local lines
	mapfile -t lines <"$2"
	((${#lines[@]} == $1))
}

# has_message WORD...: a line of err is a message of wdrun's with all of these
# words: names, values and numbers that the test gave. The sentences are the
# subject of messages.bats alone.
has_message() {
	local line word
	while IFS= read -r line; do
		[[ $line == 'wdrun: '* ]] || continue
		for word; do [[ $line == *"$word"* ]] || continue 2; done
		return 0
	done <err
	return 1
}

# Every line of err is a message of wdrun's.
only_messages() {
	no grep -qv '^wdrun: ' err
}

# executable NAME LINE...: writes such a script.
executable() {
	printf '%s\n' '#!/bin/bash' "${@:2}" >"$1"
	chmod +x "$1"
}

# --- daemons that --keep lets live ---------------------------------------------

# daemon NAME [nohup]: starts a daemon with a child, in a session of its own unless with
# nohup. NAME is the last part of its first word; NAME.pid and NAME.child have the PIDs.
daemon() {
	local session=setsid
	[ "${2-}" != nohup ] || session=
	($session bash -c 'echo $$ >$0.pid
		sleep 1000 &
		echo $! >$0.child
		exec -a /opt/$0 sleep 1000' "$1" </dev/null >/dev/null 2>&1 &)
	until [ -s "$1.pid" ] && grep -qs "^/opt/$1" "/proc/$(<"$1.pid")/cmdline"; do pause 0.02; done
}
export -f daemon

# The daemon "kept" lives, with its child, and "other" does not.
one_is_kept() {
	is_alive "$(<kept.pid)" "$(<kept.child)"
	is_dead "$(<other.pid)"
	is_dead "$(<other.child)"
	kill -KILL "$(<kept.pid)" "$(<kept.child)"
	rm ./*.pid ./*.child
}

# --- skipping ----------------------------------------------------------------

# need COMMAND...: skips the test where one of these is not installed.
need() {
	local command
	for command; do
		command -v "$command" >/dev/null || skip "$command is not installed (make deps)"
	done
}

# Skips the test where strace(1) may not trace what a program forks.
need_strace() {
	need strace
	strace -qq -f -e trace=none true || skip "strace may not trace"
}

# tests/run has tried to open one. A chroot may have no /dev/pts.
need_pty() {
	[ -z "${WDRUN_NO_PTY-}" ] ||
		skip "no pseudo-terminal can be opened: mount -t devpts devpts /dev/pts"
}

# need_unshare OPTION...: skips the test where unshare(1) is not there, or may
# not do that: in many containers, in a chroot without a mount point of its own.
need_unshare() {
	local why
	need unshare
	why=$(unshare "$@" true 2>&1) || skip "unshare $*: ${why#unshare: }"
}

# Skips the test where nothing can be mounted in a mount namespace.
need_mounts() {
	need_unshare --mount
	[ -z "$( (: <>"${1:-/dev/null}") 2>&1)" ] || skip "$1 cannot be opened"
}

# Words before a command that another user runs.
as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

# Skips the test where it cannot run a command as another user.
need_other_user() {
	need setpriv
	"${as_nobody[@]}" true 2>/dev/null || skip "cannot become another user"
}

# give_to_all [PROGRAM]: copies it and wdrun to where another user can reach and execute them.
give_to_all() {
	cp "$WDRUN" "${@/#/$PROGRAMS/}" .
	WDRUN=$PWD/wdrun
	chmod 777 .
	chmod 755 .. ../..
}
