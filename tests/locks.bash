# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # they share variables with the tests
#
# Holders of locks, and runs that wait for locks: for tests of --lock.

# hold COMMAND...: starts COMMAND in the background, and waits for `ready PID`.
# Sets holder, and held_by to that PID.
hold() {
	local -
	set +T
	: >holder.out
	"$PROGRAMS/launch" --defaults "$@" >holder.out 2>holder.err 3>&- &
	holder=$!
	await_ready holder.out
	held_by=$ready
}

# A run holds the lock.
hold_lock() {
	hold "$WDRUN" --lock=lock "$PROGRAMS/sigcount"
}

release() {
	kill -KILL "$held_by"
	wait_until is_dead "$holder"
	wait "$holder" || true
}

# is_waiting PID: the process is a sleeping wdrun without a supervisor. Before
# exec, it is not a wdrun yet.
is_waiting() {
	look_at "$1"
	[ "$process_state" = S ] && [ "/proc/$1/exe" -ef "$WDRUN" ] &&
		[ -z "$(supervisor_of "$1")" ]
}

# Prints the messages, with relative names where the test gave relative names:
# wdrun makes all names absolute.
told() {
	sed "s|'$PWD/|'|g" err
}

# Prints the PID of a process that has ended. The kernel does not give the
# number away soon.
dead_pid() {
	sh -c 'echo $$'
}
