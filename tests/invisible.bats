#!/usr/bin/env bats
#
# Promise 6: you cannot tell that it is there. programs/state.c prints what a command can
# see of its surroundings; tests/differential compares far more of them, at random.

load helper

# same_state BUT OPTION [LAUNCHER]...: started by LAUNCHER, the command sees the
# same below wdrun with OPTION as without wdrun, except for lines that begin with BUT, and WDRUN_ID.
same_state() {
	local but=$1 option=$2 launcher=(env --default-signal "${@:3}")
	"${launcher[@]}" state without 3>&-
	"${launcher[@]}" "$WDRUN" "$option" state with 3>&-
	[ "$(grep -c '^environment: WDRUN_ID=.' with)" -eq 1 ]
	sed -i "/^environment: WDRUN_ID=/d; /^$but/d" without with
	[ "$(wc -l <without)" -gt 20 ]
	diff without with
}

# bats test_tags=smoke
@test "the command has the caller's descriptors, signals, mask, limits, directory, niceness, IDs and environment" {
	unusual=(--block-signal="USR1,34,CHLD,TERM" --ignore-signal="PIPE,35,CHLD,TSTP" nice -n 3)
	umask 027
	ulimit -n 800
	ulimit -c 0
	echo text >file
	exec 5<file 6>>log 7<>both 300<file
	# The one difference: the command leads a process group.
	same_state 'session: leader' -- "${unusual[@]}"
	same_state 'session: leader' -- sh -c 'exec "$@" <&- >&- 2>&-' sh
	same_state nothing --foreground
}

@test "wdrun runs with a limit of 5 MB on its data (RLIMIT_DATA)" {
	gives 3 complete bash -c 'ulimit -d 5000; exec "$WDRUN" sh -c "exit 3"'
}

@test "systemd's variables that had wdrun's PID have the command's PID; others stay as they are" {
	complete bash -c 'export LISTEN_FDS=1 LISTEN_PIDFDID=5
		LISTEN_PID=$$ WATCHDOG_PID=$$ SYSTEMD_EXEC_PID=$$ exec "$WDRUN" bash -c "
			echo \$((LISTEN_PID == \$\$)) \$((WATCHDOG_PID == \$\$)) \
				\$((SYSTEMD_EXEC_PID == \$\$)) \$LISTEN_FDS \$LISTEN_PIDFDID"'
	[ "$output" = "1 1 1 1" ]
	complete env LISTEN_PID=1 LISTEN_PIDFDID=5 "$WDRUN" printenv LISTEN_PID LISTEN_PIDFDID
	[ "$output" = $'1\n5' ]
}

@test "an fcntl(2) lock of the program that executes wdrun is held until the end of the run" {
	is_free() { python3 -c 'import fcntl; fcntl.lockf(open("locked", "a"), fcntl.LOCK_EX | fcntl.LOCK_NB)' 2>/dev/null; }
	for fd in 3 12; do
		for option in -q --idle-timeout=never; do
			start_run hold_lockf locked "$fd" "$WDRUN" "$option" sigcount
			no is_free
			ended_by TERM 7
			is_free
		done
	done
}

# The session of the target.
has_nice() {
	[[ $(<"/proc/$target/autogroup") == *" nice $1" ]]
}

@test "the session of the command has the caller's nice value for the kernel's autogroup" {
	[ -e /proc/self/autogroup ] || skip "this kernel has no autogroup (CONFIG_SCHED_AUTOGROUP)"
	underway sigcount
	wait_until has_nice "$(nice)"
	ended_by TERM 7
	start_run nice -n 7 "$WDRUN" sigcount
	wait_until has_nice "$(nice -n 7 nice)"
	ended_by TERM 7
}

# descriptors PID: prints number and target of each.
descriptors() {
	find "/proc/$1/fd" -type l -printf '%f %l\n'
}

# So the end of a file, SIGPIPE and a lock are as without wdrun.
@test "neither watcher keeps the caller's directory, or a descriptor of the caller but stderr" {
	mkfifo pipe
	echo text >file
	exec 5<>pipe 6<file 7>>log 500>>log <file
	underway sh -c 'echo "ready $$"; exec sleep 1000'
	exec 5>&- 6<&- 7>&- 500>&-

	descriptors "$target" >those
	grep '^500 ' those
	descriptors "$$" >>those
	grep -o 'pipe:.*' those >pipes || true
	for watcher in "$front" "$supervisor"; do
		[ "/proc/$watcher/cwd" -ef / ]
		descriptors "$watcher" >held
		[ -s held ]
		no grep -xvE "2 $PWD/err|[0-9]+ /proc|[0-9]{1,2} (anon_inode|pipe):.*" held
		no grep -Ff pipes held
	done
	ended_by TERM 143
}

@test "a pipeline works as without wdrun: SIGPIPE, input that is left to read, process substitution" {
	complete bash -c '"$WDRUN" yes | head -n 1; echo "${PIPESTATUS[0]}"
		printf "one\ntwo\n" | { "$WDRUN" sh -c "read x; echo \"first \$x\""; cat; }
		"$WDRUN" cat <(echo from below)'
	[ "$output" = $'y\n141\nfirst one\ntwo\nfrom below' ]
	[ -z "$stderr" ]
}
