#!/usr/bin/env bats
#
# Signals: which processes get them, and what wdrun does. programs/sigcount.c
# prints the signals that it got, and exits with 7 after TERM.

load helper
load bounds
load terminal

# has_taken_all WATCHER: no signal to it is pending, or under way in it.
has_taken_all() {
	grep -q '^ShdPnd:.0*$' "/proc/$1/status" && is_idle "$1"
}

@test "a terminating signal reaches the whole tree; any other reaches the command alone" {
	start "$WDRUN" -k never sh -c 'sigcount >child & setsid sigcount >escaped & exec sigcount'
	wait_until has_lines 1 'ready .*'
	await_ready child
	await_ready escaped
	# USR1 USR2 PIPE ALRM URG XCPU VTALRM PROF WINCH IO PWR, real-time
	for number in 10 12 13 14 23 24 26 27 28 29 30 50 64; do
		kill -"$number" "$started"
		wait_until has_lines 1 "got $number"
	done
	for number in 1 2 3; do
		kill -34 "$started"
		wait_until has_lines "$number" 'got 34'
	done
	ended_by TERM 7
	[ -z "$stderr" ]
	[ "$(grep -h got child escaped)" = $'got 15\ngot 15' ]
}

# bats test_tags=slow
@test "a terminating signal starts the time of --kill-after, and does not delay --timeout" {
	underway -k 200ms env --ignore-signal=TERM escape
	ended_by TERM 137
	gives 7 complete_late sh -c 'front=$$ exec "$WDRUN" "$@"' sh -t LIMIT -k never \
		sh -c 'trap "" INT; kill -INT "$front"; exec sigcount'
	has_message TERM
}

@test "two terminating signals are forwarded, and the third one kills at once, whoever sends them" {
	underway -k never sigcount
	kill -INT "$started"
	wait_until has_lines 1 'got 2'
	sh -c "kill -QUIT $started"
	wait_until has_lines 1 'got 3'
	is_alive "$ready"
	ended_by TERM 137
	# One TERM to the outermost of three is no third signal.
	underway -k 60 "$WDRUN" -k 60 "$WDRUN" -k 60 bash -c '
		trap "sleep 0.3; echo in order; exit 7" TERM; echo "ready $$"
		while :; do sleep 0.05; done'
	ended_by TERM 7
	[[ $output == *"in order" ]]
}

# Two of the same signal within 250 ms are one, as a process and its group get it.
@test "a command gets a signal once, whether it was sent to wdrun, its group, or both" {
	for nest in 'timeout 900 WDRUN' 'WDRUN -k 60' 'WDRUN timeout 900 WDRUN' \
		'WDRUN WDRUN WDRUN WDRUN'; do
		read -ra words <<<"${nest//WDRUN/$WDRUN}"
		start_run setsid sh -c 'echo "$$" >leader; exec "$@"' - "${words[@]}" sigcount
		group=$(<leader)
		kill -INT -- "-$group" "$group" # at once
		wait_until has_lines 1 'got 2'
		gives 7 ended_by TERM 7
		has_lines 1 'got 2'
		has_lines 1 'got 15'
	done
	# An outer run sends it to the front, and late to the supervisor; a caller is late, too.
	underway -k 60 sigcount
	echo wd-supervisor >"/proc/$$/comm"
	kill -INT "$front"
	wait_until has_lines 1 'got 2'
	pause 0.4
	kill -INT "$supervisor" "$front"
	wait_until has_taken_all "$supervisor"
	wait_until has_taken_all "$front"
	echo bash >"/proc/$$/comm"
	kill -INT "$front"
	gives 7 ended_by TERM 7
	has_lines 1 'got 2'
}

@test "of two different terminating signals in a row, the command gets both" {
	underway -k 60 sigcount
	kill -INT "$front"
	ended_by TERM 7
	has_lines 1 'got 2'
	has_lines 1 'got 15'
}

# Its workers, and a run within the run, are left to it.
@test "a SIGHUP that a process sends is forwarded, and cancels the run only if the command dies of it" {
	underway bash -c 'trap "echo reloaded" HUP; echo "ready $$"
		while :; do sleep 0.05; done'
	kill -HUP "$front"
	wait_until has_lines 1 reloaded
	[ "$(cat "/proc/$supervisor/comm")" = wd-supervisor ]
	ended_by TERM 143
	underway -k 100ms "$WDRUN" -k 100ms bash -c 'sigcount >worker & trap "echo reloaded" HUP
		echo "ready $!"; until wait; do :; done'
	await_ready worker
	kill -HUP "$front"
	wait_until has_lines 1 reloaded
	pause 0.3 # before that, it is a copy
	kill -HUP "$supervisor"
	wait_until has_lines 2 reloaded
	has_lines 0 'got .*' worker
	ended_by TERM 143
	underway --survivors=leave -k 60 bash -c 'sleep 1000 & echo "ready $$"; exec sleep 1000'
	ended_by HUP 129
	[ -z "$stderr" ]
	underway -q --idle-after-exit=never --max-after-exit=never -k 300ms \
		bash -c 'trap "" HUP; sleep 1000 & trap - HUP; echo "ready $$"; exec sleep 1000'
	ended_by HUP 129
}

@test "a run within a run ends before the outer run kills its watchers: status, lock and report are true" {
	cp "$WDRUN" other-build
	underway -k 1 ./other-build --lock=lock --report=report bash -c 'trap "exit 3" TERM; escape stubborn >/dev/null & echo "ready $$"; wait'
	ended_by TERM 3
	[[ ! -e lock && -s report ]]
	underway -k 1 "$WDRUN" "$WDRUN" --lock=lock --report=report bash -c '
		trap "" TERM; rm report; sleep 1000 & "$0" sleep 1000 & echo "ready $$"; wait; : >next' "$WDRUN"
	ended_by TERM 137
	[[ ! -e lock && ! -e next && -s report ]]
	mkfifo full
	exec 9<>full
	head -c 65536 /dev/zero >&9 # so that the inner front waits without its supervisor
	underway -k 1 "$WDRUN" --report=/dev/fd/9 bash -c 'trap "exit 3" TERM; sleep 1000 & echo "ready $$"; wait'
	kill "$front"
	wait_until grep -q "still alive" err
	head -c 65536 <&9 >/dev/null
	gives 3 finish
	# In a session of its own: a front in the command's group gets the group's SIGKILL.
	underway bash -c 'setsid "$0" --lock=lock --report=report bash -c "$1" & wait' "$WDRUN" 'rm report; echo "ready $$"; exec sleep 1000'
	kill -KILL "$front"
	gives 137 finish
	wait_until nobody_is_left
	[[ ! -e lock && -s report ]]
}

@test "a command can end its run by a terminating signal to its parent; other signals to the parent do nothing" {
	gives 143 complete "$WDRUN" sh -c 'kill -TERM "$PPID"; exec sleep 1000'
	underway sigcount
	kill -USR1 "$supervisor"
	wait_until has_taken_all "$supervisor"
	kill -TERM "$supervisor"
	gives 7 finish
	has_lines 1 'got .*'
}

# sent_by_another OPTION...: a process that lives on, sender, cancels a run.
sent_by_another() {
	underway --report=report "$@" sigcount
	bash -c 'kill -TERM "$1"; exec sleep 1000' - "$front" 3>&- &
	sender=$!
	gives 7 finish
	kill -KILL "$sender"
	grep -q '"cancelled_by":{"signal":"SIGTERM","pid":'"$sender"',"command":"' report
}

@test "a message names the sender of a cancel, but not if that is the caller, and not with -q" {
	sent_by_another
	has_message "cancelled by SIGTERM from $sender (" '), stopping 1 process'
	sent_by_another -q
	[ -z "$stderr" ]
	underway --report=report sigcount
	ended_by TERM 7
	[ -z "$stderr" ]
	grep -q '"cancelled_by":{"signal":"SIGTERM","pid":'$$ report
	for receiver in '${WDRUN_ID%%-*}' '$PPID'; do
		gives 143 complete "$WDRUN" sh -c "kill -TERM $receiver; exec sleep 1000"
		has_message 'cancelled by SIGTERM from ' ', a process of the run), stopping'
	done
	gives 143 complete "$WDRUN" sh -c '(kill -TERM "$PPID") & exec sleep 1000'
	has_message 'cancelled by SIGTERM from '
	underway --report=report sigcount 1
	kill -HUP "$front"
	finish
	grep -q '"cancelled_by":null' report
	need_unshare --pid --fork
	start_run unshare --pid --fork env --default-signal "$WDRUN" sigcount # unshare(1) of 2020 ignores TERM
	ended_by TERM 7 "$front"
	has_message 'cancelled by SIGTERM from outside this PID namespace, stopping'
	gives 143 complete unshare --pid --fork bash -c 'env --default-signal "$WDRUN" --report=report sh -c ": >there; exec sleep 1000" & until [ -e there ]; do sleep 0.05; done; kill $!; wait $!'
	grep -q '"pid":1,"command":null' report
}

# In its PID namespace, kill(2) spares init alone.
@test "a command has a signal once, also if systemd(1) signals each process of a unit" {
	need_unshare --pid --fork --mount-proc --kill-child
	ln -s "$(command -v bash)" systemd
	gives 137 complete unshare --pid --fork --mount-proc --kill-child ./systemd -c '
		env --default-signal "$WDRUN" -k 300ms sigcount 9 >log &
		until grep -q ready log; do sleep 0.02; done
		s=$(<"/proc/$!/task/$!/children"); kill -STOP $s; kill -INT -1
		until grep -q "got 2" log; do sleep 0.02; done; kill -CONT $s
		wait "$!"'
	has_lines 1 'got 2' log
}

@test "a signal that was ignored when wdrun started, as by nohup(1), is for the command alone, and cancels nothing" {
	start_run env --ignore-signal=HUP,INT,QUIT,USR1 "$WDRUN" -k never sh -c 'sigcount >child & until [ -s child ]; do sleep 0.1; done; exec sigcount'
	for signal in HUP INT QUIT USR1; do # USR1 is handled after the others
		kill -"$signal" "$started"
		wait_until has_lines 1 "got $(kill -l "$signal")"
	done
	has_lines 0 'got .*' child
	ended_by TERM 7
	gives 130 complete env --ignore-signal=INT "$WDRUN" -q -p -t .1 -s INT -k 300ms sleep 1000
	start_run env --ignore-signal=INT "$WDRUN" "$WDRUN" env --default-signal=INT bash -c 'echo "ready $$"; exec sleep 1000'
	ended_by INT 130
}

# is_pending PID DIGITS: a pending signal of PID is in the mask that ends so. For the
# commands of runs, too: bash, since dash unblocks all signals when it waits.
is_pending() {
	grep -qE "^S[ih][gd]Pnd:.*$2$" "/proc/$1/status"
}

# pending SIGNAL COMMAND...: completes COMMAND, which SIGNAL, from another process, waits for.
pending() {
	complete env --block-signal="$1" bash -c 'sh -c "kill -$0 $$"; exec "$@"' "$@"
}

@test "a signal that was pending when wdrun started, even of Ctrl-C, is pending for the command, or ends the run" {
	export -f is_pending
	gives 0 pending USR1 "$WDRUN" -t 200 bash -c '
		until is_pending $$ "[2367abef].."; do :; done; echo pending'
	open_terminal env --block-signal=INT bash -c 'kill -STOP $$; exec wdrun bash -c "
		until is_pending \$\$ \"[2367abef]\"; do :; done; echo yes >seen"'
	wait_until is_stopped "$shell"
	press C-c
	wait_until is_pending "$shell" '[2367abef]'
	kill -CONT "$shell"
	wait_until grep -qsx yes seen
	wait_until nobody_is_left
	pending TERM "$WDRUN" -k 300ms sleep 1000
	[ "$status" -gt 128 ]
}

# bats test_tags=slow
@test "a signal in the first moments of wdrun is not lost" {
	for _ in {1..10}; do
		start "$WDRUN" -k 300ms sleep 1000
		# Before that, env would die by the signal.
		wait_until test "/proc/$started/exe" -ef "$WDRUN"
		ended_by TERM 143 >/dev/null
	done
}

@test "SIGTSTP stops the command and wdrun, and SIGCONT continues them; a command may handle SIGTSTP" {
	start_run "${as_job[@]}" "$WDRUN" sh -c 'sleep 1000 & echo $! >child; exec escape'
	kill -TSTP "$front"
	wait_until is_stopped "$target"
	wait_until is_stopped "$front"
	wait_until is_stopped "$(<child)"
	# fg and Ctrl-Z, before the supervisor has seen either
	kill -STOP "$supervisor"
	wait_until is_stopped "$supervisor"
	for signal in CONT TSTP; do
		kill "-$signal" "$front"
		wait_until has_taken_all "$front"
	done
	kill -CONT "$supervisor"
	wait_until is_stopped "$front"
	kill -CONT "$front"
	wait_until no is_stopped "$target"
	ended_by TERM 143 "$front"
	# If the command handles it, its children are not stopped, either.
	start_run "${as_job[@]}" "$WDRUN" sh -c 'sleep 1000 & echo $! >child; exec sigcount'
	kill -TSTP "$front"
	wait_until has_lines 1 'got 20'
	no is_stopped "$(<child)"
	# A stop that the supervisor has not obeyed yet is taken back.
	kill -STOP "$supervisor"
	wait_until is_stopped "$supervisor"
	for signal in TSTP CONT; do
		kill "-$signal" "$front"
		wait_until has_taken_all "$front"
	done
	kill -CONT "$supervisor"
	kill -USR1 "$front"
	wait_until has_lines 1 'got 10'
	has_lines 1 'got 20'
	ended_by TERM 7 "$front"
	# Its clocks stand still then; those of a command that stops itself go on.
	for limit in 1 20; do
		start_run "${as_job[@]}" "$WDRUN" -t "$limit" escape
		kill -TSTP "$front"
		wait_until eval 'is_stopped "$front" || is_dead "$front"'
		no is_dead "$front" || continue
		"$WDRUN" -q -t "$limit" sleep 1000 || true # the same clock, later
		"$WDRUN" -q -t 300ms sleep 1000 || true
		is_stopped "$front"
		break
	done
	ended_by CONT 124 "$front"
	gives 124 complete "$WDRUN" -t 500ms sh -c 'kill -STOP "$$"'
	# In vfork(2) it does not stop yet.
	start_run "${as_job[@]}" "$WDRUN" --foreground block vfork
	wait_until first_child "$target"
	kill -TSTP "$front"
	wait_until is_pending "$target" '[89a-f]....'
	kill -CONT "$front"
	wait_until no is_pending "$target" '[89a-f]....'
	ended_by TERM 143 "$front"
}
