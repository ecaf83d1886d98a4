#!/usr/bin/env bats
#
# --report: how a run ended, as JSON, on every way out.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load freezer

setup() {
	common_setup
	need jq
}

# says FILTER: the report is there and complete, and FILTER is true of it.
says() {
	jq -e "$1" report >answer || {
		cat report
		return 1
	}
	[ "$(jq '.version == 1 and (.elapsed_ms >= 0) and (.id | length > 5)
		and (.processes | has("stopped") and has("killed"))
		and (.command | length > 0)' report)" = true ]
}

says_now() {
	[ -s report ] && says "$1" >/dev/null 2>&1
}

# ends STATUS FILTER ARGUMENT...: wdrun --report=report ARGUMENT... ends with
# STATUS, and FILTER is true of the report.
ends() {
	ends_by complete "$@"
}

# The same with LIMIT in an ARGUMENT, as for complete_late.
ends_late() {
	ends_by complete_late "$@"
}

ends_by() {
	local how=$1
	shift
	rm -f report
	"$how" "$WDRUN" --report=report "${@:3}"
	[ "$status" -eq "$1" ]
	says "$2"
	[ "$(find . -name '*report*')" = ./report ]
}

@test "a command's own end is reported: its status, or its signal" {
	ends 0 '.outcome == "exited" and .status == 0 and .signal == null and
		.reason == null and .target.status == 0 and .output == null' true
	ends 3 '.status == 3 and .target.status == 3' sh -c 'exit 3'
	ends 139 '.outcome == "killed" and .status == 139 and
		.signal == "SIGSEGV" and .target.status == null and
		.target.signal == "SIGSEGV"' sh -c 'kill -SEGV $$'
}

@test "the reason why a command was not executed is reported" {
	ends 127 '.outcome == "not executed" and .status == 127 and
		.reason == "No such file or directory"' ./absent
	ends 126 '.outcome == "not executed" and .status == 126' /
}

@test "each reason for a stop is reported, and how many processes were stopped and killed" {
	ends_late 124 '.outcome == "stopped" and .reason == "timeout" and
		.status == 124 and .processes.stopped == 2 and
		.processes.killed == 0 and .target.signal == "SIGTERM"' \
		-t LIMIT sh -c 'sleep 1000 & echo "ready $!"; wait'
	ends_late 124 '.reason == "no output" and .output.relayed == 8' \
		-i LIMIT sh -c 'echo ready 1; sleep 1000'
	ends 0 '.reason == "the output is complete" and .status == 0' \
		-u line --until-grace=0 sh -c 'echo line; sleep 1000'
	ends 7 '.outcome == "exited" and .target.status == 7 and
		.reason == "the survivors are idle" and .processes.stopped == 1' \
		--idle-after-exit=100ms sh -c 'sleep 1000 & exit 7'
	ends_late 124 '.reason == "timeout" and .processes.killed >= 1' \
		-t LIMIT -k 100ms "$PROGRAMS/escape" fork setsid stubborn
}

@test "the tree of the diagnosis is reported, as it was printed, and with --quiet too" {
	ends_late 124 '.reason_code == "timeout" and (.tree | length) == 2 and
		(.tree[0] | .pid > 0 and .ppid > 0 and .state == "S" and
			.command == "sh -c \u0027echo ready 1; sleep 1000; echo\u0027" and
			.wait == "child" and .cpu_ms >= 0) and
		.tree[0].waits_for == [.tree[1].pid] and
		.tree[0].waiting_for == "waiting for child \(.tree[1].pid)" and
		.tree[1].ppid == .tree[0].pid and
		.tree[1].command == "sleep 1000" and .tree[1].wait == "sleep" and
		.tree[1].waiting_for == "sleeping" and .tree[1].waits_for == []' \
		-t LIMIT sh -c 'echo ready 1; sleep 1000; echo'
	grep -F "$(jq -r '.tree[1] | "\(.pid) \(.command) [S "' report)" err

	ends_late 124 '.reason_code == "idle" and .tree[0].wait == "sleep"' \
		-q -i LIMIT sh -c 'echo ready 1; exec sleep 1000'
	[ -z "$stderr" ]
	ends 0 '.tree == null and .reason_code == null' true
	ends 127 '.reason_code == "exec"' ./absent
}

@test "a signal to wdrun is reported" {
	start "$WDRUN" --report=report sleep 1000
	await_watchers
	kill -INT "$front"
	finish
	[ "$status" -eq 130 ]
	says '.outcome == "stopped" and .reason == "cancelled" and
		.status == 130 and .signal == "SIGINT"'
}

# waits_for_lock PID: the process reads its signals from a signalfd, and has no
# command yet.
waits_for_lock() {
	grep -qs '^sigmask' "/proc/$1"/fdinfo/*
}

@test "a lock that another process holds, or that was waited for in vain, is reported" {
	start "$WDRUN" --lock=lock sleep 1000
	await_watchers
	first=$started
	ends 75 '.outcome == "locked out" and .status == 75 and
		(.locks[0] | endswith("/lock")) and .target.pid == null' \
		--lock=lock true

	start "$WDRUN" --report=report --lock=lock --lock-wait=100 true
	wait_until waits_for_lock "$started"
	kill -INT "$started"
	finish
	[ "$status" -eq 130 ]
	says '.outcome == "stopped" and .reason == "cancelled" and
		.signal == "SIGINT" and .target.pid == null'
	kill -TERM "$first"
	wait "$first" || true
}

@test "a report is written after SIGKILL of the front, and of the supervisor" {
	start "$WDRUN" --report=report "$PROGRAMS/escape" fork setsid stubborn
	await_ready
	await_watchers
	kill -KILL "$front"
	finish
	wait_until says_now '.reason == "the front was killed"'
	wait_until nobody_is_left

	rm -f report
	start "$WDRUN" --report=report "$PROGRAMS/escape" fork setsid stubborn
	await_ready
	await_watchers
	kill -KILL "$supervisor"
	finish
	[ "$status" -eq 137 ]
	says '.reason == "the supervisor was killed" and .status == 137 and
		.processes.killed >= 1'
}

@test "names and arguments of any bytes come through as JSON" {
	name=$'a "name"\nof \\ two\tlines \e[1m\xff\xfe \xc3\xa4'
	big=$(printf 'x%.0s' {1..4096})
	XDG_STATE_HOME=$PWD/state \
		ends 0 '(.name | startswith("a \"name\"\nof \\ two\tlines \u001b[1m") and
		endswith("\ufffd\ufffd ä")) and (.command | length) == 5 and
		(.command[3] | length) == 4096 and .command[4] == "\ufffd\"\u0001"' \
		--name="$name" sh -c ':' "$big" $'\xff"\x01'
	mapfile -t bells < <(yes $'\a' | head -n 20000)
	ends 0 '(.command | length) == 20003 and .command[20002] == "\u0007"' \
		sh -c ':' "${bells[@]}"
}

@test "a long command line is in the report as a whole" {
	local argument
	argument=$(printf '\a%.0s' {1..2000})
	mapfile -t arguments < <(yes "$argument" | head -n 60)
	ends 0 '(.command | length) == 63 and .cleanup == [] and
		([.command[3:][] | length] | unique) == [2000]' \
		sh -c ':' "${arguments[@]}"
}

@test "what a run used, and where and when it ran, is reported" {
	before=$(date +%s)
	ends 0 '.cpu_ms >= 100 and .peak_memory_kib > 500 and
		.directory == "'"$PWD"'" and .started >= '"$before"' and
		.started - '"$before"' < 60' \
		bash -c 'SECONDS=0; i=0; while ((i++ < 150000)); do :; done'
}

@test "output that was given up is in the report" {
	mkfifo fifo
	exec 7<>fifo
	# The command says that it is ready when it has written all of its
	# output.
	late complete sh -c '"$WDRUN" --report=report -i 60 -t LIMIT -k 100ms sh -c "
		\"\$PROGRAMS/pattern\" write 1 200000
		exec \"\$PROGRAMS/escape\" -x 0 >&8" 8>&1 >&7'
	exec 7>&-
	says '.output.undelivered > 0 and .output.relayed > 0 and .status == 0'
}

@test "an older report is replaced in one step, and no other kind of file is" {
	echo old >report
	ln report kept
	complete "$WDRUN" --report=report true
	says '.status == 0'
	[ "$(cat kept)" = old ]

	ln -s kept link
	for file in link . absent/report /dev/null; do
		complete "$WDRUN" --report="$file" touch ran
		[ "$status" -eq 125 ]
		[[ $stderr == "wdrun: --report: "* ]]
	done
	[ "$(cat kept)" = old ]
	[ ! -e ran ]
}

@test "a report that cannot be written at the end is told, and changes no status" {
	mkdir place
	complete "$WDRUN" --report=place/report sh -c 'rm -r place; exit 4'
	[ "$status" -eq 4 ]
	[[ $stderr == "wdrun: --report: cannot write '"*"/place/report': "* ]]
	with_hung_fs '"$WDRUN" --report="$PWD/mnt/file" bash -c "hang_fs; exit 3"
		echo "status $?"
		kill -KILL $server'
	finish
	if ! grep -qx 'status 125' out; then
		grep -qx 'status 3' out
		[[ $stderr == *"--report: '"*"/file' could not be written in time"* ]]
	fi
}

@test "an unkillable process is listed in the report" {
	need_freezer
	start "$WDRUN" --report=report -k 100ms "$PROGRAMS/escape" fork setsid
	await_ready
	freeze "$ready"
	kill -TERM "$started"
	finish
	says '.status == 143 and .processes.left[0].pid == '"$ready"' and
		(.processes.left[0].command | test("escape"))'
	thaw "$ready"
}

# is_zombie PID
is_zombie() {
	grep -qs '^State:.Z' "/proc/$1/status"
}

is_dead() {
	[ ! -e "/proc/$1" ] || is_zombie "$1"
}

@test "a supervisor that is killed changes neither the number of stopped processes nor the command's end" {
	start "$WDRUN" --report=report -k 1000 bash -c '
		for _ in 1 2 3 4; do (sleep 1000 & echo $! >>pids); done
		exec "$PROGRAMS/escape" fork setsid stubborn'
	await_ready
	await_watchers
	kill -TERM "$front"
	for pid in $(<pids); do
		wait_until is_dead "$pid"
	done
	kill -KILL "$supervisor"
	finish
	says '.outcome == "stopped" and .reason == "cancelled" and
		.processes.stopped >= 5'

	start "$WDRUN" --report=report --idle-after-exit=1000 \
		bash -c 'echo $$ >pid; sleep 1000 & exit 7'
	await_watchers
	wait_until test -s pid
	wait_until is_zombie "$(<pid)"
	kill -KILL "$supervisor"
	finish
	says '.outcome == "exited" and .target.status == 7 and
		.reason == "the supervisor was killed"'
}

@test "a process that --signal=KILL ended is counted as killed" {
	ends_late 124 '.processes.stopped == 2 and .processes.killed == 2' \
		-s KILL -t LIMIT sh -c 'sleep 1000 & echo "ready $!"; wait'
}

@test "a run without a command used nothing, and only a held lock is reported as locked out" {
	start "$WDRUN" --lock=lock sleep 1000
	await_watchers
	first=$started
	complete bash -c 'bash -c "i=0; while ((i++ < 30000)); do :; done"
		exec "$WDRUN" --report=report --lock=lock true'
	[ "$status" -eq 75 ]
	says '.outcome == "locked out" and .cpu_ms == 0 and
		.peak_memory_kib == 0'
	# An older child of the caller's is no process of the run.
	complete bash -c 'sleep 1000 & echo $! >older; exec "$WDRUN" --report=report --lock=lock true'
	[ "$status" -eq 75 ]
	says '.processes.left == []'
	kill -KILL "$(<older)"
	kill -TERM "$first"
	wait "$first" || true
}

@test "a lock that cannot be made is not reported as locked out" {
	need_root # or that is found before there is a report
	ends 125 '.outcome != "locked out"' --lock-exit=125 --lock=/proc/lock true
}

@test "the report's file cannot be a lock, a file to clean up or a copy" {
	for option in --lock=./report --cleanup="$PWD/report" --tee=report; do
		complete "$WDRUN" --report=report "$option" touch ran
		[ "$status" -eq 125 ]
		[[ $stderr == "wdrun: --"*"report' is the file of --"*" too" ]]
		[ ! -e report ] && [ ! -e ran ]
	done
}

@test "a FIFO gets the report, and stays" {
	mkfifo fifo
	cat fifo >report 3>&- &
	reader=$!
	complete "$WDRUN" --report=fifo sh -c 'exit 3'
	wait "$reader"
	[ "$status" -eq 3 ]
	[ -z "$stderr" ]
	says '.status == 3'
	[ -p fifo ]

	cat fifo >report 3>&- &
	reader=$!
	start "$WDRUN" --report=fifo sleep 1000
	await_watchers
	kill -KILL "$front"
	finish
	wait "$reader"
	says '.reason == "the front was killed"'
}

@test "a descriptor gets the report behind what stands there" {
	complete sh -c 'echo first; "$WDRUN" --report=/dev/fd/9 sh -c "exit 4" 9>&1'
	[ "$status" -eq 4 ]
	[ "$(sed -n 1p out)" = first ]
	tail -n +2 out >report
	says '.status == 4'

	# A pipe, whose reader waits for the report, and a socket.
	complete sh -c '{ "$WDRUN" --report=/dev/fd/9 sh -c "echo >&9; exit 5" 9>&1 >/dev/null; } | tail -n 1'
	mv out report
	says '.status == 5'
	complete python3 -c '
import os, socket, subprocess
ours, theirs = socket.socketpair()
subprocess.run([os.environ["WDRUN"], "--report=/dev/fd/%d" % theirs.fileno(), "false"],
               pass_fds=[theirs.fileno()])
theirs.close()
print(ours.makefile().read())'
	mv out report
	says '.status == 1'
}

@test "a descriptor that cannot be written to is refused" {
	for descriptor in 9 8 x 9x -1 99999999999; do
		complete "$WDRUN" --report="/dev/fd/$descriptor" touch ran 8</dev/null 9>&-
		[ "$status" -eq 125 ]
		[[ $stderr == "wdrun: --report: '/dev/fd/$descriptor': "* ]]
	done
	[ ! -e ran ]
}

@test "a FIFO without a reader, and a reader that is stuck or gone, do not hang the report" {
	mkfifo fifo
	complete "$WDRUN" --report=fifo sh -c 'exit 3'
	[ "$status" -eq 3 ]
	[[ $stderr == "wdrun: --report: cannot write '$PWD/fifo': nobody reads it" ]]

	exec 7<>fifo
	dd if=/dev/zero of=fifo oflag=nonblock bs=65536 count=1 2>/dev/null
	complete "$WDRUN" --report=fifo sh -c 'exit 3'
	[ "$status" -eq 3 ]
	[[ $stderr == "wdrun: --report: cannot write '$PWD/fifo': "* ]]
	complete "$WDRUN" --report=/dev/fd/7 sh -c 'exit 3'
	[ "$status" -eq 3 ]
	[[ $stderr == "wdrun: --report: cannot write '/dev/fd/7': "* ]]
	exec 7>&-

	complete sh -c '{ "$WDRUN" --report=/dev/fd/9 sh -c "exit 5" 9>&1 >/dev/null; echo "$?" >&2; } | true'
	[ "$(tail -n 1 err)" = 5 ]
	nobody_is_left
}
