#!/usr/bin/env bats
#
# Promise 2: nothing hangs, not even where a file system or the supervisor does.
# bats file_tags=slow

load helper
load bounds

# beside_hung_fs SCRIPT: SCRIPT runs where a file system is at mnt, of the process $server.
beside_hung_fs() {
	need_mounts /dev/fuse
	mkdir mnt
	start unshare --mount bash -c "mount --make-rprivate /
		hung_fs \"\$PWD/mnt\" >server & export server=\$!
		await_file server
		$1; echo over"
	wait_until grep -q over out
	says_ready server
	kill -KILL "$ready"
	finish
	[ -s err ]
	only_messages
	wait_until nobody_is_left
}

@test "a file of the run in a file system that hangs delays the end by ten seconds, and does not change the status; one of the caller delays nothing" {
	beside_hung_fs 'exec 5<mnt/file # the kernel has cached that a close sends no request
		"$WDRUN" --lock="$PWD/lock" --cleanup=mnt/file bash -c "
			kill -USR1 $server
			until grep -q hung server; do pause 0.02; done
			exit 7"
		echo "status $?"; "$WDRUN" -t 1 -k 0 --lock="$PWD/lock" sleep 1000 <&5; echo "status $?"'
	[ "$output" = $'status 7\nstatus 124\nover' ]
}

@test "if the list of processes is not complete yet, and the target does not die, wdrun does not give up the tree" {
	need python3 strace
	need_mounts
	output=$(unshare --mount slow_tree)
	[[ $output != skip* ]] || skip "$output"
	[ "$output" = "-15 0" ]
}

@test "a survivor that hangs in execve(2), in a file system that hangs, counts as idle, and is given up" {
	beside_hung_fs '"$WDRUN" --max-after-exit=never -k 0 sh -c "hung_exec mnt/file $server & exit 7"
		echo "status $?"'
	[ "$output" = $'status 7\nover' ]
}

# hangs_at_its_look STATUS ARGUMENT...: the front ends the run of such a supervisor.
hangs_at_its_look() {
	underway -t 5 -k 2 "${@:2}"
	said="ready $ready"
	seized "$supervisor" /wchan
	# A debugger that is stopped keeps a process that SIGKILL has ended.
	[ "$1" = 124 ] || { wait_until grep -q held seized; kill -STOP "$!"; }
	gives "$1" finish
	is_dead "$ready"
	[[ $* != *sigcount || $output == "$said"$'\ngot 15' ]]
	has_message 'timed out; the supervisor' "$supervisor"
	if [ "$1" = 124 ]; then wait "$!"; else kill -KILL "$!"; fi
}

@test "if the supervisor hangs while it reads the tree, the front sends the first signal once, and later SIGKILL, even if it cannot kill the supervisor" {
	need_strace
	beside plain hangs_at_its_look 124 sigcount
	beside kept hangs_at_its_look 124 --keep=none xargs -a /dev/null sigcount
	beside escapee hangs_at_its_look 124 escape fork setsid stubborn
	beside held hangs_at_its_look 125 escape fork setsid stubborn
	together
	wait_until nobody_is_left
}

@test "after SIGKILL, a dead process that a debugger holds is told with its state" {
	underway -t 1 -k 100ms escape
	seized "$target"
	kill -STOP "$!"
	gives 124 finish
	[[ $stderr == *': stopped by a debugger'*'could not kill 1 process:'*" $target [escape] [Z]"* ]]
	kill -KILL "$!"
}

@test "if the supervisor hangs while it looks at survivors, the front sends them the first signal, too, once" {
	underway --idle-after-exit=0 -k 3 -s INT sh -c 'setsid sigcount 9 &
		until [ -e go ]; do sleep 0.02; done; exit 3'
	seized "$supervisor" /wchan 2
	touch go
	wait_until has_lines 1 'got 2'
	gives 3 finish
	has_lines 1 'got 2'
}

@test "if the supervisor hangs while it reads the tree, and then goes on, the stop has sent its signal once, and has its whole grace period" {
	for WDRUN_KEEP in '' kept; do
		export WDRUN_KEEP
		underway -t 3 -k 6 -s USR1 bash -c "${WDRUN_KEEP:+daemon kept nohup;} sigcount 9; exit"
		seized "$supervisor" /wchan 4
		gives 124 finish
		has_lines 1 'got 10'
		has_message 'killing 1 process:' # 6 s after the look
		no has_message "$supervisor"
		wait "$!"
	done
	is_alive "$(<kept.pid)" "$(<kept.child)"
	kill -KILL "$(<kept.pid)" "$(<kept.child)"
}

@test "no stop is late because processes execute, map, open or poll files that hang" {
	beside_hung_fs 'began=$SECONDS
		"$WDRUN" -t 5 -k 1 bash -c "hung_file mnt/file & await_file opened
			hung_exec mnt/file $server & wait"
		echo "status $?"; ((SECONDS - began < 30)) && echo in time'
	[ "$output" = $'status 124\nin time\nover' ]
	has_message hung_file "opening a file: 'mnt/file'"
	has_message '[python3] [S]' # within execve(2)
	no has_message 'does not answer'
}

# By the front, 40 seconds after the third signal: no end of a tree takes longer.
@test "a supervisor that a debugger has stopped is killed at its deadline, together with the tree" {
	PATIENCE=80
	underway --lock=lock -k never escape fork setsid stubborn
	seized "$supervisor"
	says_ready out
	for signal in TERM INT; do kill -s "$signal" "$started"; done
	ended_by QUIT 137
	is_dead "$ready"
	wait "$!" # the debugger
	nobody_is_left
	has_message "$supervisor"
	[ ! -e lock ]
}
