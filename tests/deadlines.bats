#!/usr/bin/env bats
#
# Promise 2: nothing hangs, not even where the supervisor does: the front kills it
# at a deadline. These deadlines have to be sat out, which takes a minute: only
# "make check" does that.
#
# bats file_tags=slow

load helper

# hold PID: a debugger stops the supervisor, for ever, as soon as the process PID is gone.
hold() {
	need python3
	python3 - "$supervisor" "/proc/$1" >seized 2>&1 3>&- <<-'END' &
		import ctypes, os, sys
		PTRACE_ATTACH, PTRACE_SYSCALL, pid = 16, 24, int(sys.argv[1])
		ptrace = ctypes.CDLL(None).ptrace
		ptrace(PTRACE_ATTACH, pid, 0, 0)
		os.waitpid(pid, 0)
		print("ready", pid, flush=True)
		while os.path.exists(sys.argv[2]):
		    ptrace(PTRACE_SYSCALL, pid, 0, 0)
		    os.waitpid(pid, 0)
		os.waitpid(pid, 0)
	END
	debugger=$!
	wait_until test -s seized
	says_ready seized || skip "$(tail -n 1 seized)"
}

# ends_late STATUS: the front ends so, and has told that it killed the supervisor.
ends_late() {
	gives "$1" finish
	only_messages
	has_message "$supervisor"
	wait "$debugger"
	nobody_is_left
}

# As in a file system that does not answer.
@test "a supervisor that hangs in the files of the run costs ten seconds, and not the status" {
	mkfifo go
	underway --lock=lock sh -c 'echo "ready $$"; read -r _ <go; exit 7'
	hold "$target" # which is reaped when the front has its outcome
	echo >go
	ends_late 7
	[ -e lock ] # the front would hang there, too
	run -0 "$WDRUN" --lock=lock true
}

# The front kills it 40 seconds after --kill-after: as long as the end of a tree
# may take, and some more.
@test "a supervisor that a debugger has stopped is killed at its deadline, and the tree with it" {
	PATIENCE=80
	underway --lock=lock -k 0 escape fork setsid stubborn
	hold 0
	kill -TERM "$started"
	ends_late 137
	[ ! -e lock ]
}
