#!/usr/bin/env bats
#
# Promise 1: when wdrun returns, every process that the command started is dead,
# whatever it is and however the run ends.

load helper
load bounds

# One of each kind: children, daemons, the deaf, the stopped, one without an
# environment, the child of a thread and that of a process without its main thread,
# one that leaves a successor, a chain. They say that they are ready in the file kinds.
all_kinds=(bash -c '
	: >kinds
	for kind in escape "escape fork setsid" "escape fork setsid fork root closed" \
		"timeout 1000 escape" "escape stubborn" "escape stopped" \
		"escape fork setsid stubborn stopped" "escape fork setsid empty" \
		"threads fork" "threads leaderless" successor "chain 20000"; do
		$kind >>kinds &
	done
	until mapfile -t ready <kinds && ((${#ready[@]} == 12)); do pause 0.02; done
	echo "ready $$"
	wait')

# wdrun itself decides to stop, as for a timeout, when the command is ready.
by_completion() {
	gives 0 complete "$WDRUN" -u ready --until-grace=0 -k 100ms -- "$@"
	says_ready out
	nobody_is_left
}

by_signal() { # SIGNAL COMMAND...
	underway -k 300ms --idle-after-exit=0 -- "${@:2}"
	ended_by "$1" $((128 + $(kill -l "$1")))
	nobody_is_left
}

# A killed front cannot wait for the end of the tree; the supervisor does that.
by_death() { # front|supervisor COMMAND...
	underway -- "${@:2}"
	kill -KILL "${!1}"
	gives 137 finish
	[ "$1" = supervisor ] || wait_until nobody_is_left
	nobody_is_left
}

# bats test_tags=smoke,tree
@test "children, daemons, processes that ignore SIGTERM or are stopped, and fork bombs are dead however the run ends" {
	by_completion "${all_kinds[@]}"
	by_signal TERM "${all_kinds[@]}"
	by_death front "${all_kinds[@]}"
	by_death supervisor "${all_kinds[@]}"
	by_completion storm 100
}

# bats test_tags=tree
@test "HUP, INT, QUIT and TERM end the tree; no signal but SIGKILL ends wdrun before its tree" {
	for name in HUP INT QUIT SEGV; do by_signal "$name" escape fork setsid stubborn stopped; done
	by_death supervisor threads leaderless
}

# --- the first signal --------------------------------------------------------

# traced OPTION... COMMAND...: starts a run whose calls are in trace.PID, with PAUSE us after a signal.
traced() {
	rm -f trace.*
	start strace -qq -ff -o trace -e inject=sched_yield,pidfd_send_signal:delay_exit="${pause:-0}" \
		-e trace=kill,openat,readlinkat,write,/fork,/clone,sched_yield,pidfd_send_signal "$WDRUN" "$@"
	await_ready
	first_child "$started"
	front=$child
	find_watchers
}

# bats test_tags=slow
@test "after a cancel, or SIGKILL of the front, the command gets its signal before anything is read; no sample forks" {
	need_strace
	for signal in TERM KILL; do
		traced -k 100ms escape
		kill -s "$signal" "$front"
		finish
		wait_until nobody_is_left
		sed "/^kill(-$target, SIG$signal)/q" "trace.$supervisor" >before
		grep -q "^kill(-$target, SIG$signal)" before
		no grep -E '"self"|"[0-9]+/|^write\(2,' before
	done
	traced -q --idle-after-exit=600ms escape -x 3 fork setsid
	gives 3 finish
	[ "$(grep -cE '^v?fork|^clone' "trace.$supervisor")" -eq 1 ]
	grep -q '/io' "trace.$supervisor"
}

# reaches NUMBER READY SCRIPT: the first signal is got NUMBER times, where SCRIPT and
# this shell are ready READY times. A real-time signal: of others, the second is lost
# while one is pending. Whoever it does not reach keeps the run from its end.
reaches() {
	start "$WDRUN" -k never -s 40 -u complete --until-grace=0 bash -c "$3"'
		(until [ "$(grep -c ready out)" = "$0" ]; do pause 0.02; done
			pause 0.05; echo complete) & # starts are counted in ticks of 10 ms
		exec ${before-} sigcount' "$2"
	wait_until has_lines "$1" 'got 40'
	ended_by TERM 0
	has_lines "$1" 'got 40'
}

# bats test_tags=tree
@test "the first signal reaches groups, sessions, nested runs, orphans, children of threads and stopped processes, each once" {
	reaches 2 2 '"$WDRUN" -k never sigcount &'
	reaches 45 46 'for _ in {1..40}; do sigcount & done
		setsid sigcount &
		setsid bash -c "setsid sigcount & wait" &
		(setsid sigcount &)
		setsid env --ignore-signal=40 threads fork "$PROGRAMS/sigcount" &'
	# While the crowd is visited, the shells die, and what they leave are orphans
	# of the group that has had the signal.
	reaches 41 41 'crowd 150 >crowd & await_file crowd
		for _ in {1..40}; do sh -c "sigcount & wait" & done'
	# No bash, since version 5.1 may end with 0 there, if it has a trap.
	underway -k never sh -c 'escape setsid stopped & until [ -s out ]; do sleep .02; done; kill -STOP $$'
	wait_until is_stopped "$target"
	ended_by TERM 143
	nobody_is_left
}

# bats test_tags=slow,tree
@test "the first signal reaches a command that has left its process group, and the orphans of a subreaper" {
	# The signal to the group ends the shells, while the crowd is visited. What they
	# leave comes to the command, whose children were read before.
	reaches 41 41 'setsid crowd 150 >crowd & await_file crowd
		for _ in {1..40}; do sh -c "setsid sigcount & wait" & done
		before=subreaper'
}

# bats test_tags=slow
@test "a process that becomes an orphan gets the first signal, however late in a stop that is" {
	# Its parent ends 4.5 s after the signal, and is no child of the supervisor, which
	# is not told of that.
	underway -k 8 bash -c 'trap "" TERM
		env --default-signal sigcount >first & await_file first
		(await_file go; env --default-signal sigcount >late & await_file late; sleep 4.5) &
		echo "ready $$"; wait; while :; do sleep 1000; done'
	kill -TERM "$front"
	wait_until grep -qx 'got 15' first
	echo >go
	wait_until grep -qsx 'got 15' late
	ended_by KILL 137
	wait_until nobody_is_left
}

# Each process of a chain dies of the signal, and so leaves the next one to the
# supervisor; a shell with a trap dies only when its child is dead.
# bats test_tags=tree
@test "a child that a handler of the first signal starts may finish; what that child leaves gets the signal" {
	export links last link='((links-- > 0)) || exec bash -c "$last"
		setsid bash -c "$link"
		true'
	for last in 'exec sigcount' 'trap : TERM; setsid sigcount; true'; do
		links=8
		underway -k never bash -c "$link"
		ended_by TERM 143
		has_lines 1 'got 15'
		nobody_is_left
	done
	# The process outside the group says when the tree was read: what the
	# handler starts then is not found with the others.
	export clean_up='
		(sigcount >left & await_file left)
		until grep -q "got 15" left; do pause 0.02; done
		echo in order'
	underway -k never bash -c 'setsid sigcount >outside &
		trap "until grep -q got outside; do pause 0.02; done
			pause 0.05 # starts are counted in ticks of 10 ms
			bash -c \"\$clean_up\" && exit 5" TERM
		await_file outside
		echo "ready $$"
		while :; do pause 0.01; done'
	ended_by TERM 5
	[[ $output == *"in order" ]]
	nobody_is_left
}

# bats test_tags=slow
@test "SIGKILL ends a script before what it waits for: so the script does not go on to its next command" {
	need_strace
	mkfifo end
	pause=100000 traced -k 300ms bash -c 'trap "" TERM
		sleep 1000 >end & (read -r _ <end; : >next) & echo "ready $$"; wait'
	kill "$front"
	gives 137 finish
	[ ! -e next ]
	export script='echo "ready $$"; sleep 1000; : >next'
	pause=100000 traced -k 300ms bash -c 'trap "" TERM; "$WDRUN" -k never bash -c "bash -c \"\$script\" & wait"; :'
	kill "$front"
	gives 137 finish
	[ ! -e next ]
}

# bats test_tags=slow
@test "a handler may clean up by a command in a group of its own, even if wdrun is slow to look" {
	need_strace
	for option in -f --keep=none -q; do
		pause=100000 traced "$option" -k never sh -c '
			trap "setsid -w sh -c \"sleep 0.3; exit 5\"; exit \$?" TERM; echo "ready $$"; sleep 1000 & wait'
		kill "$front"
		gives 5 finish
	done
}

@test "--keep lets a daemon and its descendants live after an exit, a stop, a cancel, and SIGKILL of a watcher" {
	for how in setsid nohup; do
		both="daemon kept $how; daemon other $how"
		gives 3 complete "$WDRUN" --keep=kept --idle-after-exit=100ms bash -c "$both; exit 3"
		one_is_kept
		has_message '(--keep=NAME or --survivors=leave lets them live)'
		gives 0 complete "$WDRUN" -u ready --until-grace=0 -k 100ms --keep=kept bash -c "$both
			exec escape stubborn"
		one_is_kept
		for words in 100ms "20 $WDRUN -k 100ms"; do
			read -ra words <<<"$words"
			start_run "$WDRUN" --keep=kept -k "${words[@]}" bash -c "$both; exec escape stubborn"
			ended_by TERM 143
			one_is_kept
		done
		start_run "$WDRUN" --keep=kept bash -c "$both; exec escape stubborn"
		kill -KILL "$front"
		finish
		wait_until is_dead "$supervisor"
		one_is_kept
	done
	# Only a daemon in a session of its own: the front does not know who was an orphan.
	start_run "$WDRUN" --keep=kept bash -c "daemon kept; daemon other; exec escape stubborn"
	kill -KILL "$supervisor"
	gives 137 finish
	one_is_kept
}

@test "wdrun does not wait for a daemon that it keeps, by comm, argv[0] or program, in nested runs, too" {
	cp "$(command -v sleep)" a-very-long-name
	ln -s a-very-long-name titled
	both() { # one gets its name when the command has ended
		daemon kept
		(setsid bash -c 'while kill -0 "$0"; do pause 0.02; done; exec "./${title:-a-very-long-name}" 1000' "$$" \
			</dev/null >&0 2>&0 & echo $! >long)
	}
	export -f both
	complete bash -c 'x=$("$WDRUN" -i never --survivors=wait --keep=a-very-long-name --keep=kept -v \
		bash -c both); echo "$?$x"'
	[ "$output" = 0 ]
	has_message "--keep: kept $(<kept.pid)"
	has_message "--keep: kept $(<long)"
	is_alive "$(<kept.pid)" "$(<long)"
	kill -KILL "$(<kept.pid)" "$(<kept.child)" "$(<long)"
	for more in kept "none kept"; do
		rm ./*.pid ./*.child long
		gives 0 complete env WDRUN_KEEP="$more" title=titled "$WDRUN" --keep=a-very-long-name bash -c '
			exec "$WDRUN" --max-after-exit=never bash -c both'
		[ -z "$stderr" ]
		is_alive "$(<kept.pid)" "$(<long)"
		kill -KILL "$(<kept.pid)" "$(<kept.child)" "$(<long)"
	done
	# In vfork(2), a process shows the path of its program, but not its words.
	ln -sf "$(python3 -c 'import sys; print(sys.executable)')" other
	gives 3 complete "$WDRUN" --keep="$(basename "$(realpath other)")" bash -c '
		(setsid ./other "$(command -v block)" vfork >vfork </dev/null 2>&1 &)
		until grep -qs ready vfork; do pause 0.02; done; exit 3'
	is_alive "$(cut -d " " -f 2 vfork)"
	kill -KILL -- "-$(cut -d " " -f 2 vfork)"
	for name in '' 'a b' a/b; do
		gives 125 complete "$WDRUN" --keep="$name" touch ran
		has_message "--keep: '$name' is not"
		[ ! -e ran ]
	done
}

@test "a command that unmounts /proc is ended with all its processes, even those in sessions of their own" {
	need_mounts
	start unshare --mount bash -c 'mount --make-rprivate /
		exec "$WDRUN" -k 300ms bash -c "
			escape fork setsid stubborn >escaped &
			await_file escaped
			umount -l /proc && echo ready \$\$; sleep 1000"'
	await_ready
	ended_by TERM 143
	nobody_is_left
	start_run unshare --mount sh -c 'while umount -l /proc; do :; done
		exec "$WDRUN" -v --survivors=wait sh -c "sleep 1000 & echo ready \$\$
		until [ -e go ]; do sleep 0.02; done; exit 3"'
	touch go
	wait_until grep -q 'the command exited' err
	kill -KILL "$supervisor"
	gives 3 finish
	nobody_is_left
}
