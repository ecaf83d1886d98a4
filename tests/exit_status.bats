#!/usr/bin/env bats
#
# Promise 3: the exit status is true, as a shell shows it ($?: a death by signal
# N is 128+N) and as waitpid(2) has it (programs/wait_status.py).

load helper

# ends_as RESULT COMMAND...: waitpid has RESULT for COMMAND, and nothing is told.
ends_as() {
	wait_status "${launched[@]}" "$WDRUN" "${@:2}" >out 2>err 3>&-
	take out
	echo "$*: $taken"
	[ "$taken" = "$1" ]
	[ ! -s err ]
}
launched=()

# die SIGNAL, below other words: dies of SIGNAL, whatever disposition it has inherited.
die=(env --default-signal sh -c 'kill -"$0" "$$"')

# bats test_tags=smoke
@test "a shell and waitpid(2) see the command's exit code, and its death by a signal, even by an ignored one" {
	for code in 0 75 124 125 127 255; do ends_as "exit $code" sh -c "exit $code"; done
	for number in 1 9 11 64; do ends_as "signal $number" "${die[@]}" "$number"; done
	for number in 2 15 34; do
		launched=(env --ignore-signal="$number")
		ends_as "signal $number" "${die[@]}" "$number"
	done
	gives 143 directly "$WDRUN" "${die[@]}" TERM
	# A reaper of both watchers, as proot(1) is, sees it, too.
	complete subreaper wait_status "$WDRUN" sh -c 'read -r _ _ _ front _ </proc/$PPID/stat; kill -9 "$front"; sleep 1000'
	[ "$output" = $'signal 9\nexit 137' ]
}

# bats test_tags=slow
@test "a death that dumps core is not dumped a second time" {
	ulimit -c unlimited || skip "this shell may not dump core"
	complete wait_status "${die[@]}" ABRT
	[ "$output" = "signal 6 core" ] || skip "this machine dumps no core"
	ends_as "signal 6" "${die[@]}" ABRT
}

# each_not_run: for each line of stdin, `STATUS WORD... | COMMAND...`, which are words of
# the shell: COMMAND gives STATUS, and one line that names it and has each WORD.
each_not_run() {
	local row words command
	while IFS= read -ru 9 row; do
		eval "words=(${row%%' |'*}) command=(${row#*'| '})"
		gives "${words[0]}" directly "$WDRUN" "${command[@]}"
		[[ $stderr != *$'\n'* ]]
		has_message "'${command[0]}'" "${words[@]:1}"
	done 9<&0
}

# bats test_tags=smoke
@test "a command that is not found gives 127, one that cannot be executed 126, and a message says why" {
	echo data >data
	mkdir -p directory one/tool two
	printf '#!/bin/sh\nexit 6\n' >two/tool
	cp "$PROGRAMS/sigcount" busy
	printf '#!/no/such/interpreter -x\n' >my-script
	printf '#!  /bin/sh\r\nexit 1\r\n' >from-windows
	printf '#!nothing' >short
	echo 'echo "hello $1"; exit 5' >only-here
	chmod +x two/tool my-script from-windows short only-here
	exec 7>>busy
	each_not_run <<-'END'
		127 no\ such\ program | no-such-command
		127 No\ such\ file | ./no/such/file
		127 No\ such\ file | ''
		126 Permission\ denied | ./data
		126 | ./directory
		126 Not\ a\ directory | ./data/below
		126 Text\ file\ busy | ./busy true
		127 /no/such/interpreter | ./my-script
		127 '/bin/sh\r' | ./from-windows
		127 nothing | ./short
		127 '-t 10' | 10 sleep 20
		127 '-t 1h30m' | 1h30m sleep 20
		127 'sh -c' | A=1 env
		127 'sh -c' | 'echo hi; sleep 3'
		127 'sh -c' | cd /tmp
		127 'sh -c' | ll
	END
	PATH=$PWD/one:$PATH each_not_run <<<'126 Permission\ denied | tool'
	PATH=/no/such:$PWD:$PATH each_not_run <<<'127 /no/such/interpreter | my-script'
	PATH=$PWD/one:$PWD/two:$PATH ends_as "exit 6" tool
	if command -v cc >/dev/null; then
		echo 'int main(void) { return 0; }' >program.c
		cc -Wl,--dynamic-linker=/no/such/loader -o program program.c
		each_not_run <<<'127 ld.so | ./program'
	fi

	# A script needs no #!, and an empty element of PATH is this directory.
	for path in "$PWD:$PATH" "$PATH:" "/no/such::$PATH"; do
		PATH=$path gives 5 complete "$WDRUN" only-here you
		[ "$output" = "hello you" ]
	done
}

# stopped RESULT OPTION... COMMAND...: waitpid has RESULT where this is stopped at LIMIT,
# after COMMAND was ready.
stopped() {
	complete_late wait_status "$WDRUN" -t LIMIT "${@:2}"
	[ "${output##*$'\n'}" = "$1" ]
}

@test "a timeout gives 124, however the command ends; with --preserve-status its own status" {
	answers='trap "exit $1" TERM; echo "ready $$"
		while :; do sleep 1000 & wait; done'
	sleeps='echo "ready $$"; exec sleep 1000'
	stopped 'exit 124' sh -c "$sleeps"
	stopped 'exit 124' -k 100ms escape stubborn
	stopped 'exit 124' sh -c "$answers" - 0
	stopped 'exit 9' -p sh -c "$answers" - 9
	stopped 'signal 15' --preserve-status sh -c "$sleeps"
	stopped 'signal 9' -p -s KILL sh -c "$sleeps"
}

@test "nothing after the command's exit changes its status; a SIGKILL of the command by others gives 137" {
	# It is ready when the shell has closed the pipe: by its exit.
	gives 3 complete_late "$WDRUN" -t LIMIT --survivors=wait bash -c '
		exec 7> >(cat; echo "ready $BASHPID"; exec sleep 1000); exit 3'
	is_dead "$ready"

	# Somebody else kills the command.
	underway --idle-after-exit=100ms -k 100ms escape fork setsid stubborn
	kill -KILL "$target"
	gives 137 finish
	is_dead "$ready"
}

# SIGPIPE of a message without a reader, SIGXFSZ of one to a full file: nobody dies of it,
# nor is stopped earlier.
# bats test_tags=slow
@test "trouble with stderr does not change the status" {
	mkfifo pipe
	for launcher in 'exec "$@" 2>/dev/full' 'exec 7<>pipe 2>pipe 7<&-; exec "$@"' \
		'ulimit -f 0; exec 2>full "$@"'; do
		start bash -c "$launcher" - "$WDRUN" -v -k 60 bash -c '
			exec 2>/dev/null
			trap "sleep 0.2; mkdir in-order; exit 7" TERM; mkdir ready
			while :; do sleep 1000 & wait; done'
		wait_until test -d ready
		ended_by TERM 7
		rmdir ready in-order
	done
}
