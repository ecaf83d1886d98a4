#!/usr/bin/env bats
#
# --report: how a run ended, as JSON, on every way out.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2094,SC2154

load helper

setup() {
	common_setup
	need jq
}

# says FILTER [FILE]: report, or FILE, is there and complete, and FILTER is true of
# it. Then it is called last.
says() {
	jq -e ".version == 1 and .elapsed_ms >= 0 and (.id | length > 5) and
		(.command | length > 0) and
		(.processes | has(\"stopped\") and has(\"killed\")) and
		($1)" "${2-report}" >/dev/null || {
		head -c 4096 "${2-report}"
		return 1
	}
	mv "${2-report}" last
}

# ends STATUS FILTER ARGUMENT...: wdrun --report=report ARGUMENT... ends with
# STATUS, and FILTER is true of the report. With LIMIT as for complete_late.
ends() {
	local how=
	[[ " ${*:3} " != *' LIMIT '* ]] || how=late
	$how directly "$WDRUN" --report=report "${@:3}"
	[ "$status" -eq "$1" ]
	says "$2"
}

# is_refused ARGUMENT...: with these, wdrun runs nothing, and says why.
is_refused() {
	directly "$WDRUN" "$@" touch ran
	[ "$status" -eq 125 ]
	has_message --report
	[ ! -e ran ]
}

# bats test_tags=smoke,slow
@test "a command's own end is reported: its status, its signal, why it was not executed, and what it used; of any bytes, however many and long" {
	local now=$EPOCHSECONDS name big argument arguments bells
	ends 0 '.outcome == "exited" and .status == 0 and .signal == null and
		.reason == null and .reason_code == null and .tree == null and
		.target.status == 0 and .output == null' true
	ends 3 '.status == 3 and .target.status == 3 and
		.cpu_ms >= 100 and .peak_memory_kib > 500 and
		.directory == "'"$PWD"'" and .started >= '"$now"' and
		.started - '"$now"' < 60' \
		bash -c 'until read -ra stat </proc/$$/stat
			((stat[13] >= 15)); do :; done; exit 3'
	# What wdrun itself computes is not the command's.
	ends 124 '.cpu_ms < 100' --heartbeat=5ms -t 1s sleep 1000
	ends 139 '.outcome == "killed" and .status == 139 and
		.signal == "SIGSEGV" and .target.status == null and
		.target.signal == "SIGSEGV"' "$PROGRAMS/die" SEGV
	ends 127 '.outcome == "not executed" and .status == 127 and
		.reason_code == "exec" and
		.reason == "No such file or directory"' ./absent
	ends 126 '.outcome == "not executed" and .status == 126' /

	name=$'a "name"\nof \\ two\tlines \e[1m\xff\xfe \xc3\xa4'
	printf -v big 'x%.0s' {1..4096}
	printf -v argument '\a%.0s' {1..2000}
	arguments=({1..60})
	bells=({1..20000})
	XDG_STATE_HOME=$PWD/state \
		ends 0 '(.name | startswith("a \"name\"\nof \\ two\tlines \u001b[1m") and
		endswith("\ufffd\ufffd ä")) and (.command | length) == 20063 and
		(.command[1] | length) == 4096 and .command[2] == "\ufffd\"\u0001" and
		([.command[3:63][] | length] | unique) == [2000] and
		.cleanup == [] and .command[20062] == "\u0007"' \
		--name="$name" true "$big" $'\xff"\x01' \
		"${arguments[@]/*/$argument}" "${bells[@]/*/$'\a'}"
	run ! grep -q $'[\e\x01]' last
}

# bats test_tags=slow
@test "each reason for a stop is reported, how many processes were stopped and killed, and output that was given up" {
	ends 124 '.processes.stopped == 2 and .processes.killed == 2' \
		-s KILL -t LIMIT sh -c 'sleep 1000 & echo "ready $!"; wait'
	ends 0 '.reason == "the output is complete" and
		.reason_code == "until" and .status == 0' \
		-u line --until-grace=0 sh -c 'echo line; exec sleep 1000'
	ends 7 '.outcome == "exited" and .target.status == 7 and
		.reason == "the survivors are idle" and
		.reason_code == "survivors-idle" and .processes.stopped == 1' \
		--idle-after-exit=100ms sh -c 'sleep 1000 & exit 7'
	ends 7 '.reason == "the survivors ran out of time" and
		.reason_code == "survivors-busy"' --max-after-exit=100ms \
		--idle-after-exit=100 sh -c 'sleep 1000 & exit 7'

	start "$WDRUN" --report=report -k 100ms \
		"$PROGRAMS/escape" fork setsid stubborn
	await_ready
	kill -INT "$started"
	finish
	[ "$status" -eq 130 ]
	says '.outcome == "stopped" and .reason == "cancelled" and
		.reason_code == "cancelled" and .status == 130 and
		.signal == "SIGINT" and .processes.killed >= 1 and
		(.tree[0].command | startswith("escape"))'

	mkfifo fifo
	exec 7<>fifo
	# The command says that it is ready when it has written all of its
	# output.
	late complete sh -c 'exec "$WDRUN" --report=report -i 60 -t LIMIT -k 100ms sh -c "
		\"\$PROGRAMS/pattern\" write 1 180000
		exec \"\$PROGRAMS/escape\" -x 0 >&8" 8>&1 >&7'
	exec 7>&-
	says '.output.undelivered > 0 and .output.relayed > 0 and .status == 0'
}

# bats test_tags=tree,slow
@test "the tree of the diagnosis is reported, as it was printed, and with --quiet too" {
	# The first signal changes nothing: where wdrun is woken late it signals
	# first and then looks.
	ends 124 '.reason == "timeout" and .reason_code == "timeout" and
		.status == 124 and .target.signal == "SIGKILL" and
		.processes.stopped == 2 and .processes.killed == 2 and
		(.tree | length) == 2 and
		(.tree[0] | .pid > 0 and .ppid > 0 and .state == "S" and
			.command == "sh -c \u0027echo ready 1; sleep 1000; echo\u0027" and
			.cpu_ms >= 0) and
		.tree[0].waiting_for == "waiting for child \(.tree[1].pid)" and
		.tree[1].ppid == .tree[0].pid and
		.tree[1].command == "sleep 1000" and
		.tree[1].waiting_for == "sleeping"' \
		-t LIMIT -s URG -k 100ms sh -c 'echo ready 1; sleep 1000; echo'
	grep -F "$(jq -r '.tree[1] | "\(.pid) \(.command) [S "' last)" err

	ends 124 '.reason == "no output" and .reason_code == "idle" and
		.output.relayed == 8 and .tree[0].state == "S"' \
		-q -i LIMIT -s URG -k 0 sh -c 'echo ready 1; exec sleep 1000'
	[ ! -s err ]
}

# bats test_tags=slow
@test "a lock that is held is reported; such a run used nothing" {
	local first
	start "$WDRUN" --lock=lock sleep 1000
	await_watchers
	first=$started
	# Neither what the caller used nor its older child is the run's.
	directly bash -c 'bash -c "for i in {1..30000}; do :; done"
		sleep 1000 & echo $! >older
		exec "$WDRUN" --report=report --lock=lock true'
	[ "$status" -eq 75 ]
	says '.outcome == "locked out" and .reason_code == "locked" and
		.status == 75 and (.locks[0] | endswith("/lock")) and
		.target.pid == null and .cpu_ms == 0 and
		.peak_memory_kib == 0 and .processes.left == []'
	read -r older <older
	kill -KILL "$older"

	# Not held, but impossible.
	((EUID != 0)) || ends 125 '.outcome != "locked out"' \
		--lock-exit=125 --lock=/proc/lock true
	kill -TERM "$first"
	wait "$first" || true
}

# bats test_tags=smoke
@test "a report is written after SIGKILL of the front, and of the supervisor, which changes neither the number of stopped processes nor the command's end" {
	local escape=("$PROGRAMS/escape" fork setsid stubborn) pid pids
	start "$WDRUN" --report=report "${escape[@]}"
	await_ready
	kill -KILL "$started"
	finish
	wait_until test -s report
	wait_until nobody_is_left
	says '.reason == "the front was killed" and
		.reason_code == "front-killed"'

	start "$WDRUN" --report=report "${escape[@]}"
	await_ready
	await_watchers
	kill -KILL "$supervisor"
	finish
	[ "$status" -eq 137 ]
	says '.reason == "the supervisor was killed" and .status == 137 and
		.reason_code == "supervisor-killed" and .processes.killed >= 1'

	start "$WDRUN" -v --report=report -k 1000 bash -c '
		for _ in 1 2 3; do sleep 1000 & echo $! >>pids; done
		exec "$PROGRAMS/escape" fork setsid stubborn'
	await_ready
	await_watchers
	kill -TERM "$front"
	mapfile -t pids <pids
	for pid in "${pids[@]}"; do
		wait_until is_dead "$pid"
	done
	wait_until grep -q stopping err # counted before it was told
	kill -KILL "$supervisor"
	finish
	says '.outcome == "stopped" and .reason_code == "cancelled" and
		.processes.stopped >= 4'

	start "$WDRUN" --report=report --idle-after-exit=1000 \
		sh -c 'echo $$ >pid; sleep 1000 & exit 7'
	await_watchers
	wait_until test -s pid
	read -r pid <pid
	wait_until is_zombie "$pid"
	kill -KILL "$supervisor"
	finish
	says '.outcome == "exited" and .target.status == 7 and
		.reason_code == "supervisor-killed"'
}

# --- the file ----------------------------------------------------------------

# bats test_tags=smoke
@test "an older report is replaced in one step, where its name led at the start, and keeps its mode; a new one follows the umask; none is told" {
	local older newer
	mkdir -p A/app victim place
	echo precious >victim/report
	printf -v older 'x%.0s' {1..255}
	printf -v newer 'y%.0s' {1..240}
	echo old >"A/app/$older"
	chmod 664 "A/app/$older"
	ln "A/app/$older" kept
	umask 27
	directly "$WDRUN" --report="A/app/$older" sh -c 'mv A/app A/moved
		ln -s ../victim A/app; exit 3'
	[ "$status" -eq 3 ]
	ends 0 '.status == 0' true
	directly "$WDRUN" --report="$newer" true
	[ "$status" -eq 0 ]

	read -r kept <kept
	[ "$kept" = old ]
	modes=$(stat -c %a "A/moved/$older" last "$newer")
	[ "$modes" = $'664\n640\n640' ]
	shopt -s dotglob
	left=(A/moved/*) victims=(victim/*)
	[ "${left[*]}" = "A/moved/$older" ]
	[ "${victims[*]}" = victim/report ]
	read -r precious <victim/report
	[ "$precious" = precious ]
	says '.status == 0' "$newer"
	says '.status == 3' "A/moved/$older"

	directly "$WDRUN" --report=place/report sh -c 'rm -r place; exit 4'
	[ "$status" -eq 4 ]
	has_message --report "$PWD/place/report"
	mapfile -t lines <err
	[ "${#lines[@]}" -eq 1 ]
}

# bats test_tags=slow
@test "no other kind of file is replaced, nor another user's FIFO, nor is a descriptor that cannot be written to" {
	local file descriptor
	echo old >kept
	ln -s kept link
	for file in link . absent/report /dev/null; do
		is_refused --report="$file"
	done
	read -r kept <kept
	[ "$kept" = old ]

	exec 8</dev/null 9>&-
	for descriptor in 9 8 9x -1 99999999999; do
		is_refused --report="/dev/fd/$descriptor"
		has_message "/dev/fd/$descriptor"
	done
	exec 8<&-

	((EUID == 0)) || return 0
	mkdir -m 1777 sticky
	mkfifo sticky/report
	chown 65534 sticky/report
	is_refused --report=sticky/report
}

# bats test_tags=slow
@test "a FIFO gets the report, and stays, also after SIGKILL of the front; without a reader, or with one that is stuck or gone, nothing hangs" {
	local file
	mkfifo fifo
	directly "$WDRUN" --report=fifo sh -c 'exit 3'
	[ "$status" -eq 3 ]

	exec 7<>fifo
	directly "$WDRUN" --report=fifo sh -c 'exit 3'
	[ "$status" -eq 3 ]
	[ ! -s err ]
	read -ru 7 line
	echo "$line" >report
	says '.status == 3'

	start "$WDRUN" --report=fifo "$PROGRAMS/escape"
	await_ready
	kill -KILL "$started"
	finish
	read -ru 7 line
	echo "$line" >report
	says '.reason_code == "front-killed"'
	[ -p fifo ]

	dd if=/dev/zero of=fifo oflag=nonblock bs=65536 count=1 2>/dev/null
	for file in fifo /dev/fd/7; do
		directly "$WDRUN" --report="$file" sh -c 'exit 3'
		[ "$status" -eq 3 ]
		has_message --report "$file"
	done
	exec 9>fifo 7>&-
	directly "$WDRUN" --report=/dev/fd/9 sh -c 'exit 5'
	exec 9>&-
	[ "$status" -eq 5 ]
}

# bats test_tags=slow
@test "a descriptor gets the report behind what stands there: a file's, a pipe's, a socket's" {
	echo first >file
	directly "$WDRUN" --report=/dev/fd/9 sh -c 'exit 4' 9>>file
	[ "$status" -eq 4 ]
	{
		read -r line
		[ "$line" = first ]
		read -r line
		echo "$line" >report
	} <file
	says '.status == 4'

	directly "$WDRUN" --report=/dev/stderr sh -c 'exit 6'
	[ "$status" -eq 6 ]
	cp err report
	says '.status == 6'

	# Its reader waits for the report.
	line=$("$WDRUN" --report=/dev/fd/9 sh -c 'echo >&9; exit 5' 9>&1 >/dev/null) || status=$?
	[ "$status" -eq 5 ]
	echo "${line##*$'\n'}" >report
	says '.status == 5'

	need python3
	directly python3 -c '
import os, socket, subprocess
ours, theirs = socket.socketpair()
subprocess.run([os.environ["WDRUN"], "--report=/dev/fd/%d" % theirs.fileno(), "false"],
               pass_fds=[theirs.fileno()])
theirs.close()
print(ours.makefile().read())'
	read -r line <out
	echo "$line" >report
	says '.status == 1'
}
