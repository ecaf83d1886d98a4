#!/usr/bin/env bats
#
# --report: how a run ended, as JSON, on every way out.

load helper
load bounds

setup() {
	common_setup
	need jq
}

# says FILTER [FILE]: report, or FILE, is there and complete, and FILTER is true of
# it. Then it is called last.
says() {
	head -c 4096 "${2-report}"
	jq -e ".version == 1 and .elapsed_ms >= 0 and (.id | length > 5) and
		(.command | length > 0) and
		(.processes | has(\"stopped\") and has(\"killed\")) and
		($1)" "${2-report}" >/dev/null
	mv "${2-report}" last
}

# ends STATUS FILTER ARGUMENT...: wdrun --report=report ARGUMENT... ends with
# STATUS, and FILTER is true of the report. With LIMIT as for complete_late.
ends() {
	local how=
	[[ " ${*:3} " != *' LIMIT '* ]] || how=late
	gives "$1" $how wdrun_directly --report=report "${@:3}"
	says "$2"
}

# reports_to FILE: a run with --report=FILE ends with 3.
reports_to() {
	gives 3 wdrun_directly --report="$1" sh -c 'exit 3'
}

# bats test_tags=smoke,slow
@test "the report tells how the command ended, and what it used, or why it was not executed, whatever bytes it has" {
	now=$EPOCHSECONDS
	ends 0 '.outcome == "exited" and .status == 0 and .signal == null and
		.reason == null and .reason_code == null and .tree == null and
		.target.status == 0 and .output == null and .locks == [] and .cleanup == []' true
	ends 3 '.status == 3 and .target.status == 3 and
		.cpu_ms >= 100 and .peak_memory_kib > 500 and
		.directory == "'"$PWD"'" and .started >= '"$now"' and .started - '"$now"' < 60' \
		bash -c 'until read -ra stat </proc/$$/stat
			((stat[13] >= 15)); do :; done; exit 3'
	# What wdrun itself computes is not the command's.
	ends 124 '.cpu_ms < 20' --heartbeat=1ms -t 1s sleep 1000
	ends 139 '.outcome == "killed" and .status == 139 and .signal == "SIGSEGV" and
		.target.status == null and .target.signal == "SIGSEGV"' sh -c 'kill -SEGV $$'
	ends 127 '.outcome == "not executed" and .status == 127 and .reason_code == "exec" and
		.reason == "cannot run \u0027./absent\u0027: No such file or directory"' ./absent
	name=$'a "name"\nof \\ two\tlines \e[1m\xff\xfe \xc3\xa4'
	XDG_STATE_HOME=$PWD/state ends 0 '.command[1:3] == ["\ufffd\"\u0001", ""] and
		.command[3:] == [range(10000; 30000) | tostring] and
		.name == "a \"name\"\nof \\ two\tlines \u001b[1m\ufffd\ufffd ä"' \
		--name="$name" true $'\xff"\x01' '' {10000..29999}
	no grep -q $'[\e\x01]' last
}

# bats test_tags=slow
@test "the report tells the reason for a stop, how many processes were stopped, and how much output was given up" {
	ends 124 '.processes.stopped == 2 and .processes.killed == 2' \
		-s KILL -t LIMIT sh -c 'sleep 1000 & echo "ready $!"; wait'
	ends 7 '.outcome == "exited" and .target.status == 7 and .processes.stopped == 1 and
		.reason == "the command has exited; no progress" and .reason_code == "survivors-idle"' \
		--idle-after-exit=100ms sh -c 'sleep 1000 & exit 7'
	# A zombie of another group was not stopped.
	underway --report=report escape setsid
	kill -KILL "$ready"
	wait_until is_in_state Z "$ready"
	ended_by INT 130
	says '.outcome == "stopped" and .reason == "cancelled" and .reason_code == "cancelled" and
		.status == 130 and .signal == "SIGINT" and .processes.stopped == 1'

	mkfifo fifo
	exec 7<>fifo
	"$WDRUN" --report=report -t 300ms --until=x yes >fifo 3>&- || true
	says '.output.undelivered > 0 and .output.relayed > 0 and .status == 124'
}

# bats test_tags=tree,slow
@test "the report has the tree of the diagnosis as it was printed, even with --quiet" {
	# The first signal changes nothing: see diagnosis.bats.
	ends 124 '.reason == "timed out" and .reason_code == "timeout" and
		.status == 124 and .target.signal == "SIGKILL" and
		.processes.stopped == 2 and .processes.killed == 2 and
		(.tree | length) == 2 and
		(.tree[0] | .pid > 0 and .ppid > 0 and .state == "S" and .cpu_ms >= 0 and
			.command == "sh -c \u0027echo ready 1; sleep 1000; echo\u0027") and
		.tree[0].waiting_for == "waiting for child \(.tree[1].pid)" and
		.tree[1].ppid == .tree[0].pid and .tree[1].command == "sleep 1000" and
		.tree[1].waiting_for == "sleeping"' \
		-t LIMIT -s URG -k 100ms sh -c 'echo ready 1; sleep 1000; echo'
	grep -F "$(jq -r '.tree[1] | "\(.pid) \(.command) [S "' last)" err

	ends 124 '.reason == "no output" and .reason_code == "idle" and
		.output.relayed == 8 and .tree[0].state == "S"' \
		-q -i LIMIT -s URG -k 0 sh -c 'echo ready 1; exec sleep 1000'
	[ ! -s err ]
}

@test "the report tells that a lock is held; such a run used no CPU time and no memory" {
	exec 9>lock
	flock 9
	# What the caller used is not the run's.
	gives 75 complete bash -c 'for i in {1..30000}; do :; done
		exec "$WDRUN" --report=report --lock=lock true'
	says '.outcome == "locked out" and .reason_code == "locked" and .status == 75 and
		(.locks[0] | endswith("/lock")) and .target.pid == null and .cpu_ms == 0 and
		.peak_memory_kib == 0 and .processes.left == []'
	grep -qxF "wdrun: --lock: $(jq -r .reason last)" err
}

# refused OPTION...: nothing is run, with 125, and the report has the message.
refused() {
	rm -f last
	echo old >report
	gives 125 complete env "${as[@]}" "$WDRUN" --report=report "$@" touch ran
	[ ! -e ran ]
	says '.outcome == "not executed" and .reason_code == "exec" and .status == 125'
	grep -qxF "wdrun: $(jq -r .reason last)" err
}

# bats test_tags=slow
@test "if a run is refused before anything is run, the report tells why in the words of the message" {
	as=()
	echo text >text
	ln -s nothing link
	for lock in text link no/such/lock; do refused --lock="$lock"; done
	refused --registry=text --name=a
	refused --tee=/no/such/copy
	need_unshare --pid
	as=(unshare --pid)
	refused -t 9
}

# bats test_tags=slow
@test "if rename(2) may not replace another user's file, --report=FILE is refused before anything is run" {
	need_other_user
	give_to_all
	mkdir -m 1777 sticky
	mkdir -m 777 open
	echo old | tee sticky/report open/report
	chmod 644 ./*/report
	gives 125 complete "${as_nobody[@]}" ./wdrun --report=sticky/report touch sticky/ran
	has_message --report sticky/report
	[ ! -e sticky/ran ]
	[ "$(<sticky/report)" = old ]
	gives 0 complete "${as_nobody[@]}" ./wdrun --report=open/report true
	says '.status == 0' open/report
	gives 3 complete "$WDRUN" --report=sticky/report sh -c ': >"sticky/.${WDRUN_ID##*/}.new"; exit 3'
	says '.status == 3' sticky/report # root may
}

# bats test_tags=smoke
@test "an older report is replaced in one step, in the directory to which its path led at the start" {
	mkdir -p A/app victim place
	echo precious | tee victim/report >precious
	printf -v older 'x%.0s' {1..255}
	echo old >"A/app/$older"
	ln "A/app/$older" kept
	gives 3 wdrun_directly --report="A/app/$older" sh -c 'mv A/app A/moved
		ln -s ../victim A/app; exit 3'
	[ "$(<kept)" = old ]
	[ "$(ls -A A/moved victim)" = $'A/moved:\n'"$older"$'\n\nvictim:\nreport' ]
	cmp precious victim/report
	says '.status == 3' "A/moved/$older"

	gives 4 wdrun_directly --report=place/report sh -c 'rm -r place; exit 4'
	has_line_count 1 err
	has_message --report "$PWD/place/report"
}

# bats test_tags=slow
@test "--report replaces only regular files, and refuses another user's FIFO and a wrong descriptor" {
	files=(link . / absent/report /dev/null /dev/fd/{9,8,9x,-1,99999999999})
	echo old >kept
	ln -s kept link
	exec 8</dev/null 9>&-
	if ((EUID == 0)); then
		mkdir -m 1777 sticky
		mkfifo sticky/report
		chown 65534 sticky/report
		files+=(sticky/report)
	fi
	for file in "${files[@]}"; do
		gives 125 wdrun_directly --report="$file" touch ran
		has_message --report "$file"
		[ ! -e ran ]
	done
	[ "$(<kept)" = old ]
}

# bats test_tags=slow
@test "a FIFO or descriptor gets the report; if its reader is missing or stuck, nothing hangs" {
	mkfifo fifo
	reports_to fifo
	exec 7<>fifo
	reports_to fifo
	[ ! -s err ]
	head -n 1 <&7 >report
	says '.status == 3'

	underway --report=fifo escape
	ended_by KILL 137
	head -n 1 <&7 >report
	says '.reason == "the front was killed" and .reason_code == "front-killed"'
	[ -p fifo ]

	dd if=/dev/zero of=fifo oflag=nonblock bs=65536 count=1 2>/dev/null
	for file in fifo /dev/fd/7; do
		reports_to "$file"
		has_message --report "$file"
	done
	exec 9>fifo 7>&-
	reports_to /dev/fd/9
	echo first >file
	reports_to /dev/fd/9 9>>file
	[ "$(head -n 1 file)" = first ]
	tail -n 1 file >report
	says '.status == 3'
	reports_to /dev/stderr
	says '.status == 3' err
	# Its reader waits for the report.
	"$WDRUN" --report=/dev/fd/9 sh -c 'echo >&9; exit 5' 9>&1 >/dev/null | tail -n 1 >report
	says '.status == 5'
}
