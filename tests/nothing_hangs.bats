#!/usr/bin/env bats
#
# Promise 2: nothing hangs. Every wait has a bound, and a message says so when a
# bound was needed: --timeout, a complete output, survivors of the command. (For
# silence see idle.bats, for a supervisor that hangs deadlines.bats.)

load helper
load bounds

deaf_daemon=(escape fork setsid stubborn)

@test "a signal that stops the target before it executes the command does not hold up the run" {
	need_strace
	is_front() { first_child "$started" && [ "/proc/$child/exe" -ef "$WDRUN" ]; }
	start strace -f -qq -o trace -e trace=execve -e inject=execve:delay_enter=1000000 \
		"$WDRUN" -t 500ms -k 100ms sleep 1000
	wait_until is_front # strace(1) has other children before
	front=$child
	wait_until find_watchers
	kill -TSTP "$target"
	gives 124 finish
}

@test "--timeout ends a command that takes too long with 124, and no other; 0 and never set no limit" {
	gives 124 wdrun_directly -t0.1 sleep 1000
	gives 3 wdrun_directly -t 60 -k 60 sh -c 'echo done; exit 3'
	[ "$output$stderr" = "done" ]
	goes_on --timeout=0 --idle-timeout=0
	goes_on --timeout=never --kill-after=never
	# The filter of a systemd(1) unit kills whoever asks for priority.
	gives 124 complete_late forbid "$WDRUN" -t LIMIT sigcount
	has_lines 1 'got 15'
}

@test "on one processor, the end of a command with threads costs no second of that" {
	gives 0 complete python3 -c 'import os, resource, subprocess, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
for _ in range(3): subprocess.run(sys.argv[1:])
sys.exit(resource.getrusage(resource.RUSAGE_CHILDREN).ru_stime > 1)' \
		"$WDRUN" -q -t 300ms -s KILL threads leaderless
}

@test "a stop prints each process of the tree; --verbose prints each decision, too, and --quiet prints nothing" {
	gives 124 late wdrun_directly -v -t LIMIT -k 321ms "${deaf_daemon[@]}"
	only_messages
	has_message "$ready" escape stubborn
	[[ $stderr == *'escape fork'*'escape fork'* ]]
	has_message 321ms
	[[ ${stderr##*$'\n'} == *124* ]]
	gives 124 wdrun_directly -q -t 100ms -k 0 escape stubborn
	[ -z "$stderr" ]
	gives 125 wdrun_directly -q -t x true
	has_message x
}

# As by a batch scheduler; and as where the front is stuck in a write of the output.
# bats test_tags=slow
@test "while wdrun's group is stopped, a timeout ends the tree and frees the lock" {
	complete_stopped() {
		start setsid "$WDRUN" -t "$1" -k 100ms --lock=lock "${deaf_daemon[@]}"
		until says_ready out || is_dead "$started"; do pause 0.02; done
		says_ready out || { finish && return; }
		kill -STOP -- "-$started"
		wait_until is_dead "$ready"
		wait_until no test -e lock
		kill -CONT -- "-$started"
		finish
	}
	gives 124 late complete_stopped LIMIT
	nobody_is_left
}

# bats test_tags=slow
@test "a reader of stderr that takes nothing holds up no heartbeat, no stop and no end" {
	mkfifo full
	exec 7<>full
	head -c 65536 /dev/zero >&7
	complete sh -c '"$WDRUN" --heartbeat=50ms -t 300ms -k 100ms -v \
			escape fork setsid stubborn 2>&7 7>&-
		echo "status $?"'
	[ "${output##*$'\n'}" = 'status 124' ]
	need_pty
	gives 124 complete timeout -s KILL 20 full_terminal 2 "$WDRUN" -t 300ms -k 100ms bash -c '
		trap "" TERM; for _ in {1..3}; do sleep 1000 & done; wait'
}

# --- --until and --heartbeat -------------------------------------------------

# bats test_tags=slow
@test "after the text of --until, a silent command is stopped with 0 after the grace, one that writes after ten graces" {
	gives 0 wdrun_directly -p -u ready --until-grace=100ms -k 100ms "${deaf_daemon[@]}"
	has_message escape stubborn
	goes_on -u ready --until-grace=never

	gives 7 wdrun_directly -u DONE --until-grace=1s bash -c '
		echo "say DONE"; for i in {1..15}; do pause 0.1; echo step; done; exit 7'
	gives 0 wdrun_directly -u DONE --until-grace=200ms bash -c '
		trap "echo last words; exit 9" TERM
		note; echo DONE; while :; do pause 0.05; echo DONE; done'
	[[ $output == *$'\nlast words' ]]
	has_passed 2
	has_message 'within 2s'
}

# bats test_tags=slow
@test "after the text of --until, a timeout gives 124 only if output went on until then, after the line of the text" {
	for row in '124 echo DONE; while :; do echo more; pause 0.05; done' \
		'124 while :; do pause 0.05; echo DONE; done' \
		'0 echo DONE; echo more; exec sleep 1000' \
		'0 printf DONE; while :; do printf .; pause 0.05; done'; do
		echo "$row"
		gives "${row%% *}" wdrun_directly -t 2 -u DONE bash -c "${row#* }"
		[[ $row != 124* ]] || has_message 'timed out after 2s (TEXT came after' 'went on'
	done
}

@test "--until-failure gives 1, even if the text of --until comes, too; a command that exits keeps its status" {
	for row in '1 echo failed' '1 echo passed, failed' '1 echo failed, passed' \
		'1 echo failed; sleep 0.1; echo passed' '1 echo passed; sleep 0.1; echo failed' \
		'0 echo passed' '1 printf fai >&2; echo passed; sleep 0.1; printf led >&2'; do
		echo "$row"
		gives "${row%% *}" wdrun_directly -u passed --until-failure=failed \
			--until-grace=300ms --report=report sh -c "${row#* }; exec sleep 1000"
		[[ $row == 0* ]] || reported '"reason_code":"until-failure"'
	done
	gives 4 wdrun_directly --until-failure=failed sh -c 'echo failed; exit 4'
	gives 1 wdrun_directly -p --until-failure=failed --until-grace=0 -t 100 sh -c 'echo failed; exec sleep 1000'
	[ -z "$stderr" ]
}

# ends STATUS OPTION... SCRIPT: with -u DONE and OPTION, SCRIPT ends so.
ends() {
	gives "$1" wdrun_directly -u DONE "${@:2:$#-2}" sh -c "${!#}"
}

# bats test_tags=slow
@test "a command that exits after the text of --until keeps its status; a timeout after the text gives 0" {
	ends 3 --until-grace=60 'echo DONE; sleep 0.1; echo more; exit 3'
	[ "$output$stderr" = $'DONE\nmore' ]
	ends 3 --until-grace=0 'echo DON; echo E; exit 3'
	ends 124 -t 200ms 'echo DON; exec sleep 1000'
	gives 0 late wdrun_directly -u ready --until-grace=1000 -t LIMIT --report=report escape
	reported '"reason_code":"until"'

	gives 3 late wdrun_directly -u ready --until-grace=1000 -i LIMIT sh -c '
		echo "ready $$"; sleep "$0.2"; exit 3' LIMIT
}

# found TEXT SCRIPT [ARG...]: TEXT is found in what SCRIPT prints before it hangs, without a grace.
found() {
	gives 0 wdrun_directly -u "$1" --until-grace=0 sh -c "$2
		exec sleep 1000" "${@:3}"
}

# What is carried from one read to the next is the subject of the unit test search.
# bats test_tags=smoke
@test "the text of --until is found within a line, on stderr, in pieces, of any process, but not across streams" {
	found '"type":"result","subtype":' \
		'printf "{\"type\":\"result\",\"subtype\":\"success\"}" >&2'
	[[ $stderr == *'success"}'* ]]
	found aab 'printf aaa; sleep 0.05; printf aa; sleep 0.05; printf b'
	[ "$output" = aaaaab ]
	found $'one\ntwo' 'echo one; sleep 0.05; setsid sh -c "echo two; exec sleep 1001" &'
	found $'\xff\x01DONE' 'head -c 3000000 /dev/urandom; printf "\0\0\377\001DONE\0"'
	printf -v text '%01023d!' 0
	found "$text" 'printf 0; sleep 0.05; printf %s "$0"' "$text"
	ends 3 --until-grace=0 'printf DO; sleep 0.1; printf NE >&2; sleep 0.1; exit 3'
	"$WDRUN" -u DONE --until-grace=0 sh -c 'printf DO; printf NE >&2
		exec sleep 1000' >file 2>&1
	[[ $(<file) == DONE* ]]
}

# bats test_tags=slow
@test "a heartbeat comes after silence, does not count as output, and does not come with -q or in a stop" {
	# It ends the wait of the command, which was silent from its output on.
	late ends_after LIMIT 0 --heartbeat=LIMIT -i 60 bash -c '
		sleep "$half"; note; echo heard; await_file err'
	gives 124 late wdrun_directly --heartbeat=100ms -i LIMIT escape
	[ "$output" = "ready $ready" ]
	(($(wc -l <err) >= 3))
	gives 0 wdrun_directly -q --heartbeat=50ms sleep 0.3
	[ -z "$stderr" ]

	# A heartbeat has the name of the run; the line with the signal begins the stop.
	gives 124 late wdrun_directly --heartbeat=50ms -k 300ms -t LIMIT -n nightly \
		--registry=registry "${deaf_daemon[@]}"
	[[ $stderr == *nightly*SIGTERM* ]]
	[[ ${stderr#*SIGTERM} != *nightly* ]]
}

# --- after the exit ----------------------------------------------------------

# stops_survivors STATUS OPTION...: a survivor that does nothing is stopped.
stops_survivors() {
	gives "$1" wdrun_directly --report=report --idle-after-exit=200ms \
		--max-after-exit=never -k 100ms "${@:2}"
	reported '"reason_code":"survivors-idle"'
	nobody_is_left
}

# bats test_tags=tree
@test "with --die-with-reader, even a silent command ends when its reader is gone" {
	command=("$WDRUN" --die-with-reader -k 100ms --report=report escape fork setsid stubborn)
	for option in -v --tee=copy; do
		gives 143 wdrun_directly bash -c '"${@:2}" "$1" sh -c "echo ready; exec sleep 1000" |
			head -n 1; exit "${PIPESTATUS[0]}"' - "$option" "$WDRUN" --die-with-reader --report=report
		[[ $output == ready* ]]
		grep -q '"reason_code":"reader-gone"' report
	done
	gives 3 wdrun_directly bash -c '"$WDRUN" --die-with-reader -- sh -c "exit 3" >file'
	# A client that closes both ends, and waits, gets the command's own end.
	gives 3 complete python3 -c 'import subprocess as s, sys; server = s.Popen(sys.argv[1:], stdin=s.PIPE, stdout=s.PIPE)
server.stdout.readline(), server.stdin.close(), server.stdout.close(), sys.exit(server.wait())' \
		"$WDRUN" --die-with-reader sh -c 'echo ready; read x; sleep 0.1; exit 3'
	gives 125 wdrun_directly --lock=l bash -c '"$WDRUN" --die-with-reader --report=report --lock=l \
		--lock-wait=never false | true; exit "${PIPESTATUS[0]}"'
	grep -q '"outcome":"not executed","reason":"nobody reads standard output"' report
	for kind in socket terminal; do
		complete lost_reader "$kind" "${command[@]}"
		[ "$output" = -15 ]
		nobody_is_left
	done
}

@test "a survivor that does nothing is stopped after --idle-after-exit, and the command's status stands" {
	stops_survivors 5 escape -x 5 fork setsid stubborn closed
	stops_survivors 139 sh -c 'sleep 1000 & kill -SEGV $$'
	stops_survivors 6 -q sh -c 'sleep 1000 & exit 6'
	[ -z "$stderr" ]
}

# bats test_tags=slow
@test "survivors that print, write a file or use CPU time outlast --idle-after-exit, up to --max-after-exit" {
	# The survivor starts no process, which would be progress: it waits at a FIFO.
	mkfifo never
	moves='(read -rt "$half" <>../never; note; eval "$0"; read -r <>../never) & exit 3'
	set -- LIMIT 3 --idle-after-exit=LIMIT --max-after-exit=never
	beside output late ends_after "$@" -i 1000 bash -c "$moves" 'echo tick'
	beside file late ends_after "$@" bash -c "$moves" 'printf %09000d 0 >file'
	beside computes gives 3 late wdrun_directly --idle-after-exit=LIMIT --max-after-exit=never \
		bash -c '(end=$((${EPOCHREALTIME//[!0-9]/} + $0 * 1500000))
			until ((${EPOCHREALTIME//[!0-9]/} > end)); do :; done
			echo "ready $BASHPID") & exit 3' LIMIT
	together
	gives 3 wdrun_directly -s URG -k 100ms --max-after-exit=500ms --idle-after-exit=never \
		--report=report bash -c '(while sleep 0.05; do echo tick; done) & exit 3'
	reported '"reason_code":"survivors-busy"'
	has_message 'while sleep'
	nobody_is_left
}

# bats test_tags=slow
@test "--survivors=wait waits for survivors, whatever they do, until --timeout" {
	gives 4 wdrun_directly --survivors=wait --idle-after-exit=50ms --max-after-exit=100ms \
		-i 1000 --idle-unless-busy -k 50ms sh -c '(sleep 0.6; echo late) & exit 4'
	[ "$output$stderr" = late ]
	gives 4 late wdrun_directly --survivors=wait -t LIMIT --report=report bash -c '
		(while [ -e "/proc/$$" ]; do pause 0.02; done; exec escape) & exit 4'
	reported '"reason_code":"timeout"'
	nobody_is_left
}

# bats test_tags=tree
@test "--survivors=leave lets survivors live; a timeout ends the whole tree all the same" {
	gives 4 wdrun_directly --survivors=leave --idle-after-exit=never --max-after-exit=never \
		escape -x 4 fork setsid
	[ -z "$stderr" ]
	[ "ready $(leftovers)" = "$output" ]
	end_leftovers
	# Also if the supervisor is killed while it tells of the exit, to a full pipe.
	mkfifo full
	exec 7<>full
	dd if=/dev/zero of=full bs=64K count=1 oflag=nonblock
	start_run sh -c 'exec "$WDRUN" -v --survivors=leave sh -c "escape -x 0 fork setsid
		until [ -e go ]; do sleep 0.02; done; exit 4" 2>full 7>&-'
	touch go
	wait_until is_gone "$target"
	kill -KILL "$supervisor" || true # it has ended already
	gives 4 finish
	[ "ready $(leftovers)" = "$output" ]
	end_leftovers
	gives 124 late wdrun_directly --survivors=leave -t LIMIT -k 100ms "${deaf_daemon[@]}"
	nobody_is_left
}

@test "a survivor that waits until the command's process is gone sees that it is gone" {
	gives 3 wdrun_directly --idle-after-exit=20 --max-after-exit=20 bash -c '
		(while kill -0 $$; do pause 0.02; done; echo seen >work) 2>/dev/null & exit 3'
	has_text work seen
	[ -z "$stderr" ]
	gives 3 wdrun_directly --survivors=wait sh -c 'tail -s .1 --pid=$$ -n 0 -f /dev/null & exit 3'
}

@test "a signal while survivors are left reaches their process group, and a terminating one ends them" {
	underway --survivors=wait sh -c 'sigcount & exit 3'
	wait_until lingers
	kill -USR1 "$front"
	wait_until has_lines 1 'got 10'
	ended_by TERM 3
	nobody_is_left
}
