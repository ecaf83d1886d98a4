# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # they share variables with the tests
#
# Who holds a lock, and who waits for it: for tests of --lock.

# hold COMMAND...: in the background, until it says `ready PID`. Sets holder, and
# held_by, that PID.
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

# A wdrun that is not executed yet does not sleep in wdrun.
is_waiting() {
	look_at "$1"
	[ "$process_state" = S ] && [ "/proc/$1/exe" -ef "$WDRUN" ] &&
		[ -z "$(supervisor_of "$1")" ]
}

# What was told. wdrun makes absolute the names that it was given: here they are
# as they were.
told() {
	sed "s|'$PWD/|'|g" err
}

# The PID of a process that has ended. It was not given away yet: each number
# has its turn.
dead_pid() {
	sh -c 'echo $$'
}
