#!/usr/bin/env bats
#
# Promise 2: nothing hangs, not even where the supervisor does: the front kills it
# at a deadline. These deadlines have to be sat out, which takes a minute: only
# "make check" does that.
#
# bats file_tags=slow

load helper
load bounds

@test "a file of the run in a file system that hangs costs ten seconds, and not the status" {
	need_mounts
	[ -z "$( (: <>/dev/fuse) 2>&1)" ] || skip "/dev/fuse cannot be opened"
	mkdir mnt
	start unshare --mount bash -c 'mount --make-rprivate /
		hung_fs "$PWD/mnt" >server & export server=$!
		await_file server
		: <mnt/file # the kernel has cached that a close sends no request
		"$WDRUN" --lock="$PWD/lock" --cleanup=mnt/file bash -c "
			kill -USR1 $server
			until grep -q hung server; do pause 0.02; done
			exit 7"
		echo "status $?"'
	wait_until grep -q status out
	run -0 "$WDRUN" --lock=lock true
	says_ready server
	kill -KILL "$ready"
	finish

	[ "$output" = 'status 7' ]
	[ -s err ]
	only_messages
	wait_until nobody_is_left
}

# The front kills it 40 seconds after --kill-after: as long as the end of a tree
# may take, and some more.
@test "a supervisor that a debugger has stopped is killed at its deadline, and the tree with it" {
	need python3
	PATIENCE=80
	underway --lock=lock -k 0 escape fork setsid stubborn
	python3 - "$supervisor" >seized 2>&1 3>&- <<-'END' &
		import ctypes, os, sys
		PTRACE_ATTACH, pid = 16, int(sys.argv[1])
		ctypes.CDLL(None).ptrace(PTRACE_ATTACH, pid, 0, 0)
		os.waitpid(pid, 0)
		print("ready", pid, flush=True)
		os.waitpid(pid, 0)
	END
	wait_until test -s seized
	says_ready seized || skip "$(tail -n 1 seized)"
	says_ready out

	ended_by TERM 137
	is_dead "$ready"
	wait "$!" # the debugger
	nobody_is_left
	has_message "$supervisor"
	[ ! -e lock ]
}
