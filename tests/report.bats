#!/usr/bin/env bats
#
# --report: how a run ended, as JSON, on every way out.
#
# shellcheck disable=SC2016,SC2154

load helper

setup() {
	common_setup
	need jq
}

# says FILTER: the report is there and complete, and FILTER is true of it.
says() {
	local -
	set +T
	jq -e '.version == 1 and .elapsed_ms >= 0 and (.id | length > 5) and
		(.processes | has("stopped") and has("killed")) and
		(.command | length > 0) and ('"$1"')' report || {
		cat report
		return 1
	}
}

says_now() {
	[ -s report ] && says "$1" >/dev/null 2>&1
}

# ends STATUS FILTER ARGUMENT...: wdrun --report=report ARGUMENT... ends with
# STATUS, and FILTER is true of the report. With LIMIT as for complete_late.
ends() {
	local how=(complete)
	[[ " ${*:3} " != *' LIMIT '* ]] || how=(late "${run_by:-complete}")
	rm -f report
	"${how[@]}" "$WDRUN" --report=report "${@:3}"
	[ "$status" -eq "$1" ]
	says "$2"
	[ "$(find . -name '*report*')" = ./report ]
}

# is_refused ARGUMENT...: with these, wdrun runs nothing, and says why.
is_refused() {
	complete "$WDRUN" "$@" touch ran
	[ "$status" -eq 125 ]
	has_message --report
	[ ! -e ran ]
}

# bats test_tags=smoke
@test "a command's own end is reported: its status, its signal, or why it was not executed" {
	ends 0 '.outcome == "exited" and .status == 0 and .signal == null and
		.reason == null and .reason_code == null and .tree == null and
		.target.status == 0 and .output == null' true
	ends 3 '.status == 3 and .target.status == 3' sh -c 'exit 3'
	ends 139 '.outcome == "killed" and .status == 139 and
		.signal == "SIGSEGV" and .target.status == null and
		.target.signal == "SIGSEGV"' sh -c 'kill -SEGV $$'
	ends 127 '.outcome == "not executed" and .status == 127 and
		.reason_code == "exec" and
		.reason == "No such file or directory"' ./absent
	ends 126 '.outcome == "not executed" and .status == 126' /
}

# bats test_tags=smoke
@test "each reason for a stop is reported, and how many processes were stopped and killed" {
	ends 124 '.outcome == "stopped" and .reason == "timeout" and
		.reason_code == "timeout" and .status == 124 and
		.processes.stopped == 2 and .processes.killed == 0 and
		.target.signal == "SIGTERM"' \
		-t LIMIT sh -c 'sleep 1000 & echo "ready $!"; wait'
	ends 124 '.reason_code == "timeout" and .processes.killed >= 1' \
		-t LIMIT -k 100ms "$PROGRAMS/escape" fork setsid stubborn
	ends 124 '.processes.stopped == 2 and .processes.killed == 2' \
		-s KILL -t LIMIT sh -c 'sleep 1000 & echo "ready $!"; wait'
	ends 124 '.reason == "no output" and .reason_code == "idle" and
		.output.relayed == 8' -i LIMIT sh -c 'echo ready 1; sleep 1000'
	ends 0 '.reason == "the output is complete" and
		.reason_code == "until" and .status == 0' \
		-u line --until-grace=0 sh -c 'echo line; sleep 1000'
	ends 7 '.outcome == "exited" and .target.status == 7 and
		.reason == "the survivors are idle" and
		.reason_code == "survivors-idle" and .processes.stopped == 1' \
		--idle-after-exit=100ms sh -c 'sleep 1000 & exit 7'
	ends 7 '.reason == "the survivors ran out of time" and
		.reason_code == "survivors-busy"' --max-after-exit=100ms \
		--idle-after-exit=100 sh -c 'sleep 1000 & exit 7'

	start "$WDRUN" --report=report sleep 1000
	await_watchers
	kill -INT "$front"
	finish
	[ "$status" -eq 130 ]
	says '.outcome == "stopped" and .reason == "cancelled" and
		.reason_code == "cancelled" and .status == 130 and
		.signal == "SIGINT" and .tree == null'
}

# wdrun must also have had the time to look at each process: on a busy machine it
# tells less. Not an assertion.
look() {
	complete "$@"
	jq -e '.tree // [] | length > 0 and all(.wait)' report || : >out
}

# bats test_tags=smoke,tree
@test "the tree of the diagnosis is reported, as it was printed, and with --quiet too" {
	local run_by=look
	ends 124 '.reason_code == "timeout" and (.tree | length) == 2 and
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

	ends 124 '.reason_code == "idle" and .tree[0].state == "S"' \
		-q -i LIMIT sh -c 'echo ready 1; exec sleep 1000'
	[ ! -s err ]
}

# waits_for_lock PID: the process reads its signals from a signalfd, and has no
# command yet.
waits_for_lock() {
	grep -qs '^sigmask' "/proc/$1"/fdinfo/*
}

@test "a lock that is held, or was waited for in vain, is reported; such a run used nothing" {
	local first
	start "$WDRUN" --lock=lock sleep 1000
	await_watchers
	first=$started
	# Neither what the caller used nor its older child is the run's.
	complete bash -c 'bash -c "for i in {1..30000}; do :; done"
		sleep 1000 & echo $! >older
		exec "$WDRUN" --report=report --lock=lock true'
	[ "$status" -eq 75 ]
	says '.outcome == "locked out" and .reason_code == "locked" and
		.status == 75 and (.locks[0] | endswith("/lock")) and
		.target.pid == null and .cpu_ms == 0 and
		.peak_memory_kib == 0 and .processes.left == []'
	kill -KILL "$(<older)"

	start "$WDRUN" --report=report --lock=lock --lock-wait=100 true
	wait_until waits_for_lock "$started"
	kill -INT "$started"
	finish
	[ "$status" -eq 130 ]
	says '.outcome == "stopped" and .reason_code == "cancelled" and
		.signal == "SIGINT" and .target.pid == null'

	# Not held, but impossible.
	((EUID != 0)) || ends 125 '.outcome != "locked out"' \
		--lock-exit=125 --lock=/proc/lock true
	kill -TERM "$first"
	wait "$first" || true
}

# bats test_tags=smoke
@test "a report is written after SIGKILL of the front, and of the supervisor" {
	start "$WDRUN" --report=report "$PROGRAMS/escape" fork setsid stubborn
	await_ready
	await_watchers
	kill -KILL "$front"
	finish
	wait_until says_now '.reason == "the front was killed" and
		.reason_code == "front-killed"'
	wait_until nobody_is_left

	rm -f report
	start "$WDRUN" --report=report "$PROGRAMS/escape" fork setsid stubborn
	await_ready
	await_watchers
	kill -KILL "$supervisor"
	finish
	[ "$status" -eq 137 ]
	says '.reason == "the supervisor was killed" and .status == 137 and
		.reason_code == "supervisor-killed" and .processes.killed >= 1'
}

@test "a supervisor that is killed changes neither the number of stopped processes nor the command's end" {
	local pid
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
	says '.outcome == "stopped" and .reason_code == "cancelled" and
		.processes.stopped >= 5'

	start "$WDRUN" --report=report --idle-after-exit=1000 \
		sh -c 'echo $$ >pid; sleep 1000 & exit 7'
	await_watchers
	wait_until test -s pid
	wait_until is_zombie "$(<pid)"
	kill -KILL "$supervisor"
	finish
	says '.outcome == "exited" and .target.status == 7 and
		.reason_code == "supervisor-killed"'
}

@test "names and arguments of any bytes come through as JSON, however many and long" {
	local argument bells big arguments name
	name=$'a "name"\nof \\ two\tlines \e[1m\xff\xfe \xc3\xa4'
	printf -v big 'x%.0s' {1..4096}
	XDG_STATE_HOME=$PWD/state \
		ends 0 '(.name | startswith("a \"name\"\nof \\ two\tlines \u001b[1m") and
		endswith("\ufffd\ufffd ä")) and (.command | length) == 5 and
		(.command[3] | length) == 4096 and .command[4] == "\ufffd\"\u0001"' \
		--name="$name" sh -c ':' "$big" $'\xff"\x01'
	run ! grep -q $'[\e\x01]' report

	mapfile -t bells < <(yes $'\a' | head -n 20000)
	ends 0 '(.command | length) == 20003 and .command[20002] == "\u0007"' \
		sh -c ':' "${bells[@]}"
	printf -v argument '\a%.0s' {1..2000}
	mapfile -t arguments < <(yes "$argument" | head -n 60)
	ends 0 '(.command | length) == 63 and .cleanup == [] and
		([.command[3:][] | length] | unique) == [2000]' \
		sh -c ':' "${arguments[@]}"
}

@test "what a run used, and where and when it ran, is reported" {
	local before
	before=$(date +%s)
	ends 0 '.cpu_ms >= 100 and .peak_memory_kib > 500 and
		.directory == "'"$PWD"'" and .started >= '"$before"' and
		.started - '"$before"' < 60' \
		bash -c 'until read -ra stat </proc/$$/stat
			((stat[13] >= 15)); do :; done'
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

# --- the file ----------------------------------------------------------------

# bats test_tags=smoke
@test "an older report is replaced in one step, keeps its mode, and a new one follows the umask" {
	local name length
	echo old >report
	chmod 664 report
	ln report kept
	complete bash -c 'umask 27; exec "$WDRUN" --report=report true'
	says '.status == 0'
	[ "$(<kept)" = old ]
	[ "$(stat -c %a report)" = 664 ]

	rm report
	complete bash -c 'umask 27; exec "$WDRUN" --report=report true'
	says '.status == 0'
	[ "$(stat -c %a report)" = 640 ]

	for length in 240 255; do
		printf -v name 'x%.0s' $(seq "$length")
		echo old >"$name"
		complete "$WDRUN" --report="$name" true
		[ "$status" -eq 0 ]
		jq -e '.status == 0' "$name"
	done
}

@test "no other kind of file is replaced, nor one of another option's, nor another user's FIFO" {
	local file option
	echo old >kept
	ln -s kept link
	for file in link . absent/report /dev/null; do
		is_refused --report="$file"
	done
	[ "$(<kept)" = old ]

	mkdir d
	ln -s d dd
	for option in --lock=./d/X --lock="$PWD/d/X" --cleanup=dd/X --tee=d/X; do
		is_refused --report=d/X "$option"
		has_message "${option%%=*}"
		[ ! -e d/X ]
	done

	((EUID == 0)) || return 0
	mkdir -m 1777 sticky
	mkfifo sticky/report
	chown 65534 sticky/report
	is_refused --report=sticky/report
}

@test "a report is written to where its name led at the start" {
	mkdir -p A/app victim
	echo precious >victim/report
	complete "$WDRUN" --report=A/app/report sh -c 'mv A/app A/moved
		ln -s ../victim A/app; exit 3'
	[ "$status" -eq 3 ]
	[ "$(<victim/report)" = precious ]
	[ "$(jq .status A/moved/report)" -eq 3 ]
}

@test "a report that cannot be written at the end is told, and changes no status" {
	mkdir place
	complete "$WDRUN" --report=place/report sh -c 'rm -r place; exit 4'
	[ "$status" -eq 4 ]
	has_message --report "$PWD/place/report"
	[ "$(wc -l <err)" -eq 1 ]
}

# bats test_tags=smoke
@test "a FIFO gets the report, and stays, also after SIGKILL of the front" {
	local reader
	mkfifo fifo
	cat fifo >report 3>&- &
	reader=$!
	complete "$WDRUN" --report=fifo sh -c 'exit 3'
	wait "$reader"
	[ "$status" -eq 3 ]
	[ ! -s err ]
	says '.status == 3'
	[ -p fifo ]

	cat fifo >report 3>&- &
	reader=$!
	start "$WDRUN" --report=fifo sleep 1000
	await_watchers
	kill -KILL "$front"
	finish
	wait "$reader"
	says '.reason_code == "front-killed"'
}

@test "a FIFO without a reader, and a reader that is stuck or gone, do not hang the report" {
	local file
	mkfifo fifo
	complete "$WDRUN" --report=fifo sh -c 'exit 3'
	[ "$status" -eq 3 ]
	[ -p fifo ]

	exec 7<>fifo
	dd if=/dev/zero of=fifo oflag=nonblock bs=65536 count=1 2>/dev/null
	for file in fifo /dev/fd/7; do
		complete "$WDRUN" --report="$file" sh -c 'exit 3'
		[ "$status" -eq 3 ]
		has_message --report "$file"
	done
	exec 7>&-

	complete sh -c '{ "$WDRUN" --report=/dev/fd/9 sh -c "exit 5" 9>&1 >/dev/null; echo "$?" >&2; } | true'
	[ "$(tail -n 1 err)" = 5 ]
}

@test "a descriptor gets the report behind what stands there: a file's, a pipe's, a socket's" {
	complete sh -c 'echo first; "$WDRUN" --report=/dev/fd/9 sh -c "exit 4" 9>&1'
	[ "$status" -eq 4 ]
	[ "$(head -n 1 out)" = first ]
	tail -n +2 out >report
	says '.status == 4'

	# Its reader waits for the report.
	complete sh -c '"$WDRUN" --report=/dev/fd/9 sh -c "echo >&9; exit 5" 9>&1 >/dev/null | tail -n 1'
	mv out report
	says '.status == 5'

	need python3
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
	local descriptor
	exec 8</dev/null 9>&-
	for descriptor in 9 8 x 9x -1 99999999999; do
		is_refused --report="/dev/fd/$descriptor"
		has_message "/dev/fd/$descriptor"
	done
	exec 8<&-
}
