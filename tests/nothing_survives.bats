#!/usr/bin/env bats
#
# Promise 1: when wdrun returns, every process that the command started is dead,
# whatever it is and however the run ends.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154

load helper

# One of each kind: a child, a grandchild in a session of its own, a daemon, the
# command of a nested timeout, the deaf, the stopped, a deaf and stopped daemon,
# one without an environment, the child of a thread and that of a process
# without its main thread, one that leaves a successor, a chain. Each says that
# it is ready in the file kinds.
export -f pause
all_kinds=(bash -c '
	kind() { "$@" >>kinds & }
	: >kinds
	escape=$PROGRAMS/escape
	kind "$escape"
	kind "$escape" fork setsid
	kind "$escape" fork setsid fork root closed
	kind timeout 1000 "$escape"
	kind "$escape" stubborn
	kind "$escape" stopped
	kind "$escape" fork setsid stubborn stopped
	kind "$escape" fork setsid empty
	kind "$PROGRAMS/threads" fork
	kind "$PROGRAMS/threads" leaderless
	kind "$PROGRAMS/successor"
	kind "$PROGRAMS/chain" 20000
	until mapfile -t ready <kinds && ((${#ready[@]} == 12)); do
		pause 0.02
	done
	echo "ready $$"
	wait')

# All that said that they are ready are dead, and what they left.
all_are_dead() {
	local pid file
	for file in out kinds; do
		[ -e "$file" ] || continue
		while read -r _ pid _; do
			is_dead "$pid"
		done <"$file"
	done
	nobody_is_left
}

# wdrun itself decides to stop, as for a timeout, when the command is ready.
by_completion() {
	gives 0 complete "$WDRUN" -u ready --until-grace=0 -k 100ms -- "$@"

	says_ready out
	all_are_dead
}

by_signal() { # SIGNAL COMMAND...
	start "$WDRUN" -k 100ms --idle-after-exit=0 -- "${@:2}"
	await_ready

	kill -s "$1" "$started"
	finish

	[ "$status" -eq $((128 + $(kill -l "$1"))) ]
	all_are_dead
}

# A front that is killed cannot wait for the end of the tree; the supervisor
# does that.
by_death() { # front|supervisor COMMAND...
	start "$WDRUN" -- "${@:2}"
	await_ready
	front=$started
	find_watchers

	kill -KILL "${!1}"
	gives 137 finish

	[ "$1" = supervisor ] || wait_until nobody_is_left
	all_are_dead
}

# bats test_tags=smoke,tree
@test "children, daemons, the deaf, the stopped, a chain, a storm are dead however the run ends" {
	by_completion "${all_kinds[@]}"
	by_signal TERM "${all_kinds[@]}"
	by_death front "${all_kinds[@]}"
	by_death supervisor "${all_kinds[@]}"
	rm kinds
	by_completion "$PROGRAMS/storm" 100
}

# bats test_tags=tree
@test "HUP, INT, QUIT and TERM end the tree; no signal but SIGKILL ends wdrun before its tree" {
	local name
	for name in HUP INT QUIT SEGV; do
		by_signal "$name" "$PROGRAMS/escape" fork setsid stubborn stopped
	done
	by_death supervisor "$PROGRAMS/threads" leaderless
}

# --- the first signal --------------------------------------------------------

# traced OPTION... COMMAND...: starts a run whose calls are in trace.PID.
traced() {
	rm -f trace.*
	start strace -qq -ff -o trace \
		-e trace=kill,openat,readlinkat,write,fork,vfork,clone,clone3 \
		"$WDRUN" "$@"
	await_ready
	first_child "$started"
	front=$child
	find_watchers
}

# bats test_tags=slow
@test "a cancel, and the loss of the front, reach the command before all else; a sample is no fork" {
	local signal
	need strace
	strace -qq -f -e trace=none true || skip "strace may not trace"
	for signal in TERM KILL; do
		traced -k 100ms "$PROGRAMS/escape"
		kill -s "$signal" "$front"
		finish
		wait_until nobody_is_left
		sed "/^kill(-$target, SIG$signal)/q" "trace.$supervisor" >before
		grep -q "^kill(-$target, SIG$signal)" before
		no grep -E '"self"|"[0-9]+/|^write\(2,' before
	done

	traced -q --idle-after-exit=600ms "$PROGRAMS/escape" -x 3 fork setsid
	finish
	[ "$status" -eq 3 ]
	[ "$(grep -cE '^v?fork|^clone' "trace.$supervisor")" -eq 1 ]
	grep -q '/io' "trace.$supervisor"
}

# has_lines NUMBER GLOB: so many lines of out are like that.
has_lines() {
	local line lines found=0
	mapfile -t lines <out
	for line in "${lines[@]}"; do
		# shellcheck disable=SC2053 # it is a pattern
		[[ $line != $2 ]] || ((++found))
	done
	((found == $1))
}

# There is no SIGKILL here: whoever the first signal does not reach keeps the
# run from its end, or is not counted.
# bats test_tags=tree
@test "the first signal reaches groups, sessions, orphans, children of threads once, and the stopped" {
	# A real-time signal: of others, the second is lost while one is pending.
	start "$WDRUN" -k never -s 40 -u complete --until-grace=0 bash -c '
		for _ in {1..40}; do "$PROGRAMS/sigcount" & done
		setsid "$PROGRAMS/sigcount" &
		setsid bash -c "setsid \"\$PROGRAMS/sigcount\" & wait" &
		(setsid "$PROGRAMS/sigcount" &)
		setsid env --ignore-signal=40 "$PROGRAMS/threads" fork \
			"$PROGRAMS/sigcount" &
		(until [ "$(grep -c ready out)" = 46 ]; do pause 0.02; done
			echo complete) & # threads is ready, too
		exec "$PROGRAMS/sigcount"'
	wait_until has_lines 45 'got 40'
	kill -TERM "$started"
	finish
	has_lines 45 'got 40'

	# While the crowd is visited, the shells die, and what they leave are orphans
	# of the group that has had the signal. One of real-time is not merged.
	start "$WDRUN" -s 40 -u DONE --until-grace=0 -k never bash -c '
		"$PROGRAMS/crowd" 150 >crowd &
		until [ -s crowd ]; do pause 0.02; done
		for _ in {1..40}; do sh -c "\"\$PROGRAMS/sigcount\" & wait" & done
		(until [ "$(grep -c ready out)" = 41 ]; do pause 0.05; done; echo DONE) &
		exec "$PROGRAMS/sigcount"'
	wait_until has_lines 41 'got 40'
	kill -TERM "$started"
	gives 0 finish
	has_lines 41 'got 40'

	start "$WDRUN" -k never bash -c '
		setsid bash -c "kill -STOP \$\$" &
		until read -r stat <"/proc/$!/stat" && [[ $stat == *") T "* ]]; do
			pause 0.02
		done
		echo "ready $$"
		kill -STOP $$'
	await_ready
	wait_until is_stopped "$ready"
	kill -TERM "$started"
	gives 143 finish
	nobody_is_left
}

# Each process of a chain dies of the signal, and so leaves the next one to the
# supervisor; a shell with a trap dies only when its child is dead.
# bats test_tags=tree
@test "what a handler of the first signal starts may end; what it leaves gets the signal" {
	export links last link='((links-- > 0)) || exec bash -c "$last"
		setsid bash -c "$link"
		true'
	for last in 'exec "$PROGRAMS/sigcount"' \
		'trap : TERM; setsid "$PROGRAMS/sigcount"; true'; do
		links=8
		start "$WDRUN" -k never bash -c "$link"
		await_ready
		kill -TERM "$started"
		finish
		has_lines 1 'got 15'
		nobody_is_left
	done

	# The process outside the group says when the tree was read: what the
	# handler starts then is not found with the others.
	export clean_up='
		("$PROGRAMS/sigcount" >left &
		until [ -s left ]; do pause 0.02; done)
		until grep -q "got 15" left; do pause 0.02; done
		echo in order'
	start "$WDRUN" -k never bash -c '
		setsid "$PROGRAMS/sigcount" >outside &
		trap "until grep -q got outside; do pause 0.02; done
			pause 0.05 # starts are counted in ticks of 10 ms
			bash -c \"\$clean_up\" && exit 5" TERM
		until [ -s outside ]; do pause 0.02; done
		echo "ready $$"
		while :; do pause 0.01; done'
	await_ready
	kill -TERM "$started"
	gives 5 finish
	[[ $output == *"in order" ]]
	nobody_is_left
}

@test "a command that unmounts /proc is ended as a whole, escapees too" {
	need_mounts
	start unshare --mount bash -c 'mount --make-rprivate /
		exec "$WDRUN" -k 300ms bash -c "
			\"\$PROGRAMS/escape\" fork setsid stubborn >escaped &
			until [ -s escaped ]; do pause 0.02; done
			umount -l /proc && echo ready \$\$; sleep 1000"'
	await_ready

	kill -TERM "$started"
	gives 143 finish

	says_ready escaped
	is_dead "$ready"
	nobody_is_left
}
