#!/usr/bin/env bats
#
# Promise 2: nothing hangs. Every wait has a bound, and a message says so when a
# bound was needed. (For the bounds after the command's exit, see
# survivors.bats.)
#
# Starts first: its tests take long, one after the other.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154

load helper

@test "a command that never ends is ended by --timeout" {
	complete "$WDRUN" --timeout=200ms sleep 1000

	[ "$status" -eq 124 ]
}

@test "a command that ends in time is left alone" {
	complete "$WDRUN" -t 60 -k 60 sh -c 'echo done'

	[ "$status" -eq 0 ]
	[ "$output" = "done" ]
	[ -z "$stderr" ]
}

@test "no timeout: 0, never, and no option" {
	local bound
	for bound in --timeout=0 --timeout=never --kill-after=never; do
		goes_on "$bound"
	done
}

@test "the timeout sends the signal of --signal" {
	complete_late "$WDRUN" -t LIMIT -k never -s USR1 bash -c '
		trap "echo got USR1; exit 3" USR1; trap "echo got TERM; exit 3" TERM
		echo "ready $$"; while :; do sleep 0.05; done'

	[ "$status" -eq 124 ]
	[ "${output#*$'\n'}" = 'got USR1' ]
}

@test "--signal=KILL ends what ignores everything else" {
	complete "$WDRUN" -t 300ms -k never -s KILL \
		"$PROGRAMS/launch" --ignore TERM sleep 1000

	[ "$status" -eq 124 ]
}

@test "what ignores the first signal gets SIGKILL after --kill-after" {
	complete_late "$WDRUN" -t LIMIT -k 300ms \
		"$PROGRAMS/escape" fork setsid stubborn

	[ "$status" -eq 124 ]
	is_dead "$ready"
}

@test "a stopped process gets the chance to end in order" {
	complete_late "$WDRUN" -t LIMIT -k never sh -c '
		(until grep -q stopped /proc/$$/status; do sleep 0.02; done
		echo "ready $$") &
		trap "echo in order; exit 0" TERM
		kill -STOP $$; while :; do sleep 0.05; done'

	[ "$status" -eq 124 ]
	[[ $output == *"in order" ]]
}

@test "the end of the tree is the end of the stop: no bound is sat out" {
	# --timeout is a bound here, --kill-after is not.
	complete_late "$WDRUN" -t LIMIT -k never "$PROGRAMS/escape" fork setsid

	[ "$status" -eq 124 ]
}

@test "the first line of the message about a timeout names the bound" {
	complete "$WDRUN" -t 300ms sleep 1000

	[[ $stderr == "wdrun: "*300ms* ]]
	only_messages
}

@test "a timeout names the processes that had to be stopped" {
	complete_late "$WDRUN" -t LIMIT -k 300ms \
		"$PROGRAMS/escape" fork setsid stubborn

	[[ $stderr == *"$ready"*escape* ]]
	only_messages
}

@test "--quiet says nothing of a timeout" {
	complete "$WDRUN" -q -t 200ms -k 200ms "$PROGRAMS/escape" stubborn

	[ "$status" -eq 124 ]
	[ -z "$stderr" ]
}

@test "--quiet still says why nothing was run" {
	complete "$WDRUN" -q -t x true
	[ "$status" -eq 125 ]
	[ -n "$stderr" ]
}

@test "--verbose shows the states of a run in which nothing went wrong" {
	complete "$WDRUN" -v true

	[ "$status" -eq 0 ]
	[ "$(wc -l <err)" -ge 1 ]
	only_messages
}

# closes_with TEXT: the last line on stderr, and no other, says how it ended.
closes_with() {
	[[ ${stderr##*$'\n'} =~ ^wdrun:\ ended\ $1\ after\ [0-9.]+m?s\;\ [0-9.]+m?s\ of\ CPU\ time,\ at\ most\ [0-9]+\ KiB\ of\ memory${2-}$ ]]
	[ "$(grep -c '^wdrun: ended ' err)" -eq 1 ]
}

@test "--verbose closes with a line: how it ended, how long it took, CPU, memory, bytes" {
	complete "$WDRUN" -v sh -c 'exit 3'
	closes_with 'with status 3'

	complete "$WDRUN" -v -i 900 sh -c 'echo hello; kill -9 $$'
	closes_with 'by SIGKILL' ', 6 bytes of output'

	complete "$WDRUN" -v -t 100ms -k 100ms "$PROGRAMS/escape" setsid
	closes_with 'with status 124 \(timeout\)'
	nobody_is_left

	complete "$WDRUN" -v -l lock -c pid sh -c 'echo 1 >pid; sleep 0.1
		i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'
	closes_with 'with status 0'
	[[ $stderr =~ \ after\ ([0-9]+)ms|\ after\ [1-9] ]]
	((${BASH_REMATCH[1]:-999} >= 100))

	complete "$WDRUN" -v ./absent # which never began
	run ! grep 'ended' err
	complete "$WDRUN" true
	[ -z "$stderr" ]
}

@test "--verbose shows each decision of a stop: the signal, and the kill" {
	complete_late "$WDRUN" -v -t LIMIT -k 300ms "$PROGRAMS/escape" stubborn

	[ "$status" -eq 124 ]
	[[ $stderr == *stopping*TERM*killing*escape* ]]
	only_messages
}

@test "a stuck reader of stderr does not hang the stop" {
	mkfifo full
	exec 7<>full
	# head fills the pipe, which has no reader.
	head -c 1000000 /dev/zero >&7 3>&- &
	local filler=$!
	wait_until is_asleep "$filler"

	"$PROGRAMS/launch" --defaults "$WDRUN" -t 300ms -k 300ms \
		"$PROGRAMS/escape" stubborn >out 2>&7 3>&- 7>&- &
	started=$!
	: >err
	finish

	[ "$status" -eq 124 ]
	kill -KILL "$filler"
	exec 7>&-
	wait_until nobody_is_left
}

# is_asleep PID: the process is in the kernel's pipe_write, and not between two
# writes.
is_asleep() {
	look_at "$1"
	[ "$process_state" = S ]
}

@test "a storm that outruns the sweep is ended" {
	complete_late "$WDRUN" -t LIMIT -k 300ms "$PROGRAMS/storm" 3000

	[ "$status" -eq 124 ]
	nobody_is_left
}

@test "a chain at full speed is ended" {
	complete_late "$WDRUN" -t LIMIT -k 300ms "$PROGRAMS/chain"

	[ "$status" -eq 124 ]
	nobody_is_left
}

@test "a survivor with a file of a hung file system does not hang the stop" {
	with_hung_fs '"$WDRUN" --idle-after-exit=300ms -k 300ms bash -c "
			exec 9<mnt/file
			setsid \"\$PROGRAMS/launch\" --ignore TERM sleep 1000 &
			echo \"survivor \$!\"
			hang_fs
			exit 3" | cat
		echo "status ${PIPESTATUS[0]}"
		kill -KILL $server'
	finish

	grep -qx 'status 3' out
	[[ $stderr == *"$(sed -n 's/^survivor //p' out)"*sleep* ]]
	nobody_is_left
}

@test "a command that works in a hung file system does not hang the stop" {
	late complete_with_hung_fs '"$WDRUN" -t LIMIT -k 300ms bash -c "
			hang_fs
			echo \"ready \$\$\"
			cd mnt && exec sleep 1000"
		echo "status $?"
		kill -KILL $server'

	grep -qx 'status 124' out
	nobody_is_left
}

@test "a stderr on a hung file system does not hold up the kill" {
	late complete_with_hung_fs '"$WDRUN" -t LIMIT -k 300ms bash -c "
			exec 2>/dev/null
			hang_fs
			exec \"\$PROGRAMS/escape\" fork setsid stubborn" 2>>mnt/file
		echo "status $?"
		kill -KILL $server'

	grep -qx 'status 124' out
	is_dead "$ready"
	nobody_is_left
}

@test "a stderr on a hung file system does not hold up wdrun, beside a relay that hangs" {
	late complete_with_hung_fs '"$WDRUN" -t LIMIT -k 300ms -i 60 bash -c "
			hang_fs
			echo lost
			exec \"\$PROGRAMS/escape\" fork setsid stubborn >&5" 5>&1 >>mnt/file 2>&1
		echo "status $?"
		kill -KILL $server'

	grep -qx 'status 124' out
	nobody_is_left
}

@test "a stderr on a hung file system does not keep a lock, beside a file of --cleanup that hangs" {
	with_hung_fs '"$WDRUN" --lock="$PWD/ok.lock" --cleanup="$PWD/mnt/file" \
			bash -c "exec 2>/dev/null; hang_fs; exit 3" 2>>mnt/file
		echo "status $?"
		kill -KILL $server'
	finish

	grep -qx 'status 3' out
	[ ! -e ok.lock ]
	nobody_is_left
}

@test "a call that fails for a moment hangs nothing, and leaves nothing" {
	local when
	need strace
	for when in {1..8}; do
		complete strace -f -qq -o /dev/null \
			-e "inject=waitid:error=ENOMEM:when=$when" \
			"$WDRUN" --idle-after-exit=100ms -k 100ms \
			"$PROGRAMS/escape" -x 3 fork setsid stubborn
		[[ $status == 3 || $status == 125 ]]
		nobody_is_left
	done
}

@test "a /proc that cannot be read for a moment is read later" {
	need strace
	start "$WDRUN" -k 300ms "$PROGRAMS/escape" fork setsid stubborn
	await_ready
	await_watchers
	strace -qq -o /dev/null -e inject=open,openat:error=ENFILE:when=1 \
		-p "$supervisor" 3>&- &
	wait_until is_traced "$supervisor"

	kill -TERM "$front"
	finish

	[ "$status" -eq 143 ]
	[[ $stderr == *"$ready"*escape* ]]
	is_dead "$ready"
}

is_traced() {
	grep -q '^TracerPid:.*[1-9]' "/proc/$1/status"
}

@test "a process whose command line cannot be read is named all the same" {
	need strace
	start "$WDRUN" -k 300ms "$PROGRAMS/escape" fork setsid stubborn
	await_ready
	await_watchers
	strace -f -qq -o /dev/null -P "/proc/$ready/cmdline" \
		-e inject=open,openat:delay_enter=10s -p "$supervisor" 3>&- &
	local tracer=$!
	wait_until is_traced "$supervisor"

	kill -TERM "$front"
	finish
	kill -KILL "$tracer" 2>/dev/null || true # it would hold up what it traces

	[[ $stderr == *"killing 1 process: $ready "* ]]
	wait_until nobody_is_left
}

@test "without memory for a list of the tree, the tree is ended all the same" {
	need prlimit
	start "$WDRUN" -k 300ms "$PROGRAMS/escape" fork setsid stubborn
	await_ready
	await_watchers

	prlimit --pid "$supervisor" --as=1000:1000 --data=1000:1000
	kill -TERM "$front"
	finish

	is_dead "$ready"
	nobody_is_left
}

# debug_supervisor COMMAND...: starts COMMAND, a run, and a tracer that stops its
# supervisor, or with request=0x4206 (PTRACE_SEIZE) does not, and keeps its end
# from its parent.
debug_supervisor() {
	start "$@" "$PROGRAMS/escape" fork setsid stubborn
	await_ready
	await_watchers
	: >traced
	python3 -c 'import ctypes, sys, time
request = int(sys.argv[2], 0)
if ctypes.CDLL(None).ptrace(request, int(sys.argv[1]), 0, 0) == -1:
	sys.exit("no ptrace")
print("attached", flush=True)
time.sleep(1000)' "$supervisor" "${request-16}" >traced 2>&1 3>&- & # 16: ATTACH
	tracer=$!
	wait_until test -s traced
	! grep -q 'no ptrace' traced || skip "this machine permits no ptrace"
}

ends_though_debugged() {
	finish
	kill "$tracer"
	wait "$tracer" || true
	[ "$status" -eq 137 ] &&
		[[ $stderr == "wdrun: the supervisor (PID $supervisor) is stopped by a debugger"*"all processes are dead, but zombie $supervisor [wd-"*"] is held by its tracer $tracer ["* ]] &&
		nobody_is_left
}

times_out_though_debugged() {
	debug_supervisor "$WDRUN" -t "$limit" -k never
	ends_though_debugged
}

@test "a debugger that has stopped the supervisor puts off neither --timeout nor a signal for ever" {
	need python3
	debug_supervisor "$WDRUN" -k never
	kill -TERM "$started"
	ends_though_debugged

	with_more_time times_out_though_debugged
}

@test "a tracer that keeps the end of the supervisor to itself does not keep the front" {
	need python3
	request=0x4206
	debug_supervisor "$WDRUN" -k 100ms
	kill -TERM "$started"
	finish

	is_zombie "$supervisor"
	kill "$tracer"
	wait "$tracer" || true
	[ "$status" -eq 143 ]
}
