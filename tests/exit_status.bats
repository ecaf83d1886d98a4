#!/usr/bin/env bats
#
# Promise 3: the exit status is true, as a shell shows it ($?: a death by signal
# N is 128+N) and as waitpid(2) has it (programs/status.c).
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

# as_waitpid_sees RESULT COMMAND...: under wdrun, waitpid has RESULT for
# COMMAND.
as_waitpid_sees() {
	complete "$PROGRAMS/status" "$WDRUN" "${@:2}"

	[ "$output" = "$1" ]
	[ -z "$stderr" ]
}

@test "a shell and waitpid see the command's own code: 0, 1, 42, 255" {
	local code
	for code in 0 1 42 255; do
		complete "$WDRUN" sh -c "exit $code"
		[ "$status" -eq "$code" ]
		[ -z "$stderr" ]
		as_waitpid_sees "exit $code" sh -c "exit $code"
	done
}

@test "statuses that wdrun uses are the command's where the command returns them" {
	local code
	for code in 75 124 125 126 127 137; do
		as_waitpid_sees "exit $code" sh -c "exit $code"
	done
}

@test "waitpid sees death by TERM, KILL, SEGV, INT, ABRT, and a shell 128+N" {
	local name
	for name in TERM KILL SEGV INT ABRT; do
		as_waitpid_sees "signal $(kill -l "$name")" \
			"$PROGRAMS/die" "$name"
		complete bash -c '"$WDRUN" "$PROGRAMS/die" "$1"; exit "$?"' - \
			"$name"
		[ "$status" -eq $((128 + $(kill -l "$name"))) ]
	done
	as_waitpid_sees "signal 34" "$PROGRAMS/die" 34 # a real-time signal
}

@test "waitpid sees death by a signal that the caller ignores, real-time ones included" {
	local number
	for number in 2 15 34 35 64; do
		complete "$PROGRAMS/status" "$PROGRAMS/launch" --ignore "$number" \
			"$WDRUN" "$PROGRAMS/die" "$number"
		[ "$output" = "signal $number" ]
		[ -z "$stderr" ]
	done
}

@test "a death that dumps core is not dumped a second time" {
	ulimit -c unlimited || skip "this shell may not dump core"
	complete "$PROGRAMS/status" "$PROGRAMS/die" ABRT
	[ "$output" = "signal 6 core" ] || skip "this machine dumps no core"
	rm -f core*

	complete "$PROGRAMS/status" "$WDRUN" "$PROGRAMS/die" ABRT

	[ "$output" = "signal 6" ]
	[ "$(find . -name 'core*' | wc -l)" -le 1 ]
}

@test "a command that is not found gives 127, and says so" {
	complete "$WDRUN" no-such-command
	[ "$status" -eq 127 ]
	[[ $stderr == "wdrun: "*no-such-command* ]]
	[ "$(wc -l <err)" -eq 1 ]

	complete "$WDRUN" ./no/such/file
	[ "$status" -eq 127 ]
	[[ $stderr == "wdrun: "*./no/such/file*[Nn]o\ such\ file* ]]

	complete "$WDRUN" ''
	[ "$status" -eq 127 ]
}

@test "a command that cannot be executed gives 126, and says why" {
	echo data >data

	complete "$WDRUN" ./data
	[ "$status" -eq 126 ]
	[[ $stderr == "wdrun: "*./data*[Pp]ermission\ denied* ]]
	[ "$(wc -l <err)" -eq 1 ]

	mkdir directory
	complete "$WDRUN" ./directory
	[ "$status" -eq 126 ]

	complete "$WDRUN" ./data/below
	[ "$status" -eq 126 ]
}

@test "a program that is being written gives 126, and says so" {
	cp "$PROGRAMS/status" busy
	exec 7>>busy

	complete "$WDRUN" ./busy true
	exec 7>&-

	[ "$status" -eq 126 ]
	[[ $stderr == "wdrun: "*./busy*[Tt]ext\ file\ busy* ]]
	[ "$(wc -l <err)" -eq 1 ]
}

@test "a directory in PATH is no command: 126, or the command behind it" {
	mkdir -p one/tool two
	printf '#!/bin/sh\nexit 6\n' >two/tool
	chmod +x two/tool

	PATH=$PWD/one:$PATH complete "$WDRUN" tool
	[ "$status" -eq 126 ]
	[[ $stderr == "wdrun: "*tool*[Pp]ermission\ denied* ]]

	PATH=$PWD/one:$PWD/two:$PATH complete "$WDRUN" tool
	[ "$status" -eq 6 ]
	[ -z "$stderr" ]
}

@test "a script without #! is found by an empty element of PATH as well" {
	local path
	echo 'echo "hello $1"; exit 5' >only-here
	chmod +x only-here

	for path in ":$PATH" "$PATH:" "/no/such::$PATH"; do
		PATH=$path complete "$WDRUN" only-here you
		[ "$status" -eq 5 ]
		[ "$output" = "hello you" ]
	done
}

@test "a kernel that would not kill the command with its supervisor gives 125" {
	complete "$PROGRAMS/deny" PR_SET_PDEATHSIG -- "$WDRUN" touch ran

	[ "$status" -eq 125 ]
	[[ $stderr == "wdrun: "*not\ implemented* ]]
	[ "$(wc -l <err)" -eq 1 ]
	[ ! -e ran ]
}

@test "the status is true also where the supervisor is traced" {
	need strace
	for _ in {1..3}; do
		complete strace -f -qq -o /dev/null "$WDRUN" sh -c 'exit 42'
		[ "$status" -eq 42 ]
		[ -z "$stderr" ]
	done
}

# not_found TEXT COMMAND...: COMMAND gives 127, and one line that has TEXT.
not_found() {
	complete "$WDRUN" "${@:2}"

	[ "$status" -eq 127 ]
	[[ $stderr == "wdrun: cannot run '$2': "*"$1"* && $stderr != *$'\n'* ]]
}

@test "a script whose interpreter is missing gives 127, and the interpreter is named" {
	printf '#!/no/such/interpreter -x\n' >my-script
	printf '#!  /bin/sh\r\nexit 1\r\n' >from-windows
	printf '#!nothing' >short
	chmod +x my-script from-windows short

	not_found "the interpreter is missing: /no/such/interpreter" ./my-script
	not_found "the interpreter is missing: /no/such/interpreter" "$PWD/my-script"
	not_found 'the interpreter is missing: /bin/sh\r (CR LF' ./from-windows
	not_found "the interpreter is missing: nothing" ./short
	PATH=/no/such:$PWD:$PATH \
		not_found "the interpreter is missing: /no/such/interpreter" my-script
}

@test "a program whose loader is missing gives 127, and that is said" {
	need cc
	echo 'int main(void) { return 0; }' >program.c
	cc -Wl,--dynamic-linker=/no/such/loader -o program program.c

	not_found "the interpreter is missing: the dynamic loader (ld.so)" ./program
}

@test "a COMMAND that is a duration, an assignment or shell syntax gets a hint" {
	not_found 'did you mean -t 10?' 10 sleep 20
	not_found 'did you mean -t 1h30m?' 1h30m sleep 20
	not_found 'env A=1' A=1 env
	not_found "sh -c '...'" 'echo hi; sleep 3'
	not_found "sh -c '...'" 'true && echo'
	not_found "sh -c '...'" cd /tmp
	not_found 'no such program' ll
	not_found "sh -c '...'" ll
	not_found 'No such file' ./10 sleep
	[[ $stderr != *'did you mean'* && $stderr != *'sh -c'* ]]
	not_found 'No such file' ''
}

@test "under the name timeout a COMMAND that is not found has GNU's words" {
	ln -s "$WDRUN" timeout
	complete ./timeout 5 10 sleep 20
	[ "$status" -eq 127 ]
	[ "$stderr" = "timeout: failed to run command '10': No such file or directory" ]
}

@test "a script without #! is run by /bin/sh" {
	echo 'echo "hello $1"; exit 5' >script
	chmod +x script

	complete "$WDRUN" ./script you

	[ "$status" -eq 5 ]
	[ "$output" = "hello you" ]
}

@test "a command is looked for in PATH" {
	mkdir bin
	printf '#!/bin/sh\nexit 6\n' >bin/in-path
	chmod +x bin/in-path

	PATH="$PWD/bin:$PATH" complete "$WDRUN" in-path

	[ "$status" -eq 6 ]
}

# A command that answers SIGTERM with the exit status $1.
answers='trap "exit $1" TERM; echo "ready $$"
	while :; do sleep 0.05; done'
stays='echo "ready $$"; exec sleep 1000'

@test "a timeout gives 124, also where SIGKILL is needed, or TERM answered with 0" {
	complete "$WDRUN" -t 100ms sleep 1000
	[ "$status" -eq 124 ]

	complete_late "$WDRUN" -t LIMIT -k 100ms \
		"$PROGRAMS/launch" --ignore TERM sh -c "$stays"
	[ "$status" -eq 124 ]

	complete_late "$WDRUN" -t LIMIT sh -c "$answers" - 0
	[ "$status" -eq 124 ]
}

@test "--preserve-status gives the command's own status after a timeout" {
	complete_late "$WDRUN" -p -t LIMIT sh -c "$answers" - 9
	[ "$status" -eq 9 ]

	complete "$PROGRAMS/status" "$WDRUN" --preserve-status -t 100ms sleep 1000
	[ "$output" = "signal 15" ]

	complete_late "$PROGRAMS/status" "$WDRUN" -p -t LIMIT -k 100ms \
		"$PROGRAMS/launch" --ignore TERM sh -c "$stays"
	[ "$(tail -n 1 out)" = "signal 9" ]
}

@test "a command that answers a forwarded TERM with a code gives that code" {
	start "$WDRUN" "$PROGRAMS/sigcount"
	await_ready

	kill -TERM "$started"
	finish

	[ "$status" -eq 7 ]
}

@test "a command that somebody else killed gives its death, and its children die" {
	start "$PROGRAMS/status" "$WDRUN" --idle-after-exit=200ms -k 200ms \
		"$PROGRAMS/escape" fork setsid stubborn
	await_ready
	wait_until grep -qs . "/proc/$started/task/$started/children"
	started=$(children_of "$started") await_watchers

	kill -KILL "$target"
	finish

	[ "$output" = "ready $ready"$'\n'"signal 9" ]
	is_dead "$ready"
}

ends_before_its_timeout() {
	complete "$WDRUN" -t "$limit" --survivors=wait "$PROGRAMS/ticker" 100 0 3
	[ "$status" -eq 3 ]
}

@test "a timeout that comes after the command's exit leaves its status alone" {
	with_more_time ends_before_its_timeout
	nobody_is_left
}

@test "a signal that comes after the command's exit leaves its status alone" {
	start "$WDRUN" --survivors=wait "$PROGRAMS/ticker" 100 0 3
	wait_until grep -q tick out

	kill -TERM "$started"
	finish

	[ "$status" -eq 3 ]
	nobody_is_left
}

@test "a supervisor that is killed after the command's exit does not lose the status" {
	start "$WDRUN" --survivors=wait "$PROGRAMS/escape" -x 7 fork setsid
	await_watchers
	await_ready
	wait_until is_zombie "$target"

	kill -KILL "$supervisor"
	finish

	[ "$status" -eq 7 ]
	nobody_is_left
}

@test "trouble with stderr does not change the status" {
	complete sh -c 'exec "$WDRUN" -t 100ms sleep 1000 2>/dev/full'
	[ "$status" -eq 124 ]

	complete sh -c 'exec "$WDRUN" -v sh -c "exit 42" 2>/dev/full'
	[ "$status" -eq 42 ]

	mkfifo fifo # its reader is gone by the time of the first message
	complete bash -c 'exec 7<>fifo 8>fifo 7<&-
		exec "$WDRUN" -v sh -c "exit 42" 2>&8'
	[ "$status" -eq 42 ]
}

@test "python's subprocess sees the same statuses" {
	need python3
	complete python3 -c '
import os, subprocess
run = lambda *command: subprocess.run([os.environ["WDRUN"], *command])
print(run("sh", "-c", "exit 42").returncode)
print(run(os.environ["PROGRAMS"] + "/die", "TERM").returncode)
print(run("-t", "100ms", "sleep", "1000").returncode)
print(subprocess.run([os.environ["WDRUN"], "cat"], input=b"text",
                     stdout=subprocess.PIPE).stdout)
'
	[ "$status" -eq 0 ]
	[ "$output" = $'42\n-15\n124\nb\'text\'' ]
}

is_killed_by_python() {
	complete python3 -c '
import os, subprocess, sys
try:
    subprocess.run([os.environ["WDRUN"], os.environ["PROGRAMS"] + "/escape",
                    "fork", "setsid", "stubborn"], timeout=float(sys.argv[1]))
except subprocess.TimeoutExpired:
    print("expired")
' "$limit"
	[[ $output == ready*expired ]]
}

@test "python's subprocess timeout kills wdrun, and with it the whole tree" {
	need python3
	with_more_time is_killed_by_python

	read -r _ ready <out
	wait_until is_dead "$ready"
	wait_until nobody_is_left # the supervisor included
}

@test "make sees a recipe that hangs as one that failed" {
	need make
	# shellcheck disable=SC2016
	printf 'all:\n\t@$(WDRUN) -t 100ms sleep 1000\n' >Makefile

	complete make

	[ "$status" -eq 2 ]
	[[ $stderr == *"Error 124"* ]]
}

@test "make's jobserver passes through to a make below" {
	need make
	printf '%s\n' 'all: one two' 'one two:' \
		$'\t+@$(WDRUN) -t 60 $(MAKE) -s below' \
		'below: a b' 'a b:' $'\t@echo $@' \
		'.PHONY: all one two below a b' >Makefile

	complete make -s -j3

	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[ "$(sort out | xargs)" = "a a b b" ]
}

@test "a small limit on the stack is refused before anything is taken, or is enough" {
	local size refused=0
	need prlimit
	for size in 32 48 64 96 128 160 256; do
		complete prlimit --stack=$((size * 1024)) "$WDRUN" --lock=lock \
			--name=job --registry=runs --tee=copy -t 100 \
			sh -c ': >ran; exit 7'
		[ ! -e lock ]
		if [ "$status" -eq 125 ]; then
			[[ $stderr == "wdrun: a stack of $size KiB is too small"* ]]
			[ ! -e ran ]
			[ ! -e runs ]
			refused=$size
		else
			[ "$status" -eq 7 ]
			rm ran
		fi
	done
	((refused >= 32 && refused < 256))
}
