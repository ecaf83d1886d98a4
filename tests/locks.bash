# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2154 # they share variables with the tests
#
# Holders of locks, and runs that want locks: for tests of --lock.

# Writes two programs into the test's directory: inside notes in the file log
# when it enters and leaves; script takes a PID lock as scripts usually do, then
# runs its arguments with the lock held.
write_programs() {
	printf '%s\n' '#!/bin/sh' 'echo "enter $$" >>log' 'sleep 0.01' \
		'echo "leave $$" >>log' >inside
	printf '%s\n' '#!/bin/bash' 'if [ -f lock ] && kill -0 "$(cat lock)"; then' \
		'echo "held by $(cat lock)"' 'exit 11' 'fi' \
		'echo $$ >lock' 'echo "ready $$"' 'eval "$@"' >script
	chmod +x inside script
}

# ends STATUS ARG...: a run with these arguments ends with STATUS.
ends() {
	complete "$WDRUN" "${@:2}"
	[ "$status" -eq "$1" ]
}

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

# A script's PID is in the lock.
hold_by_script() {
	hold ./script 'exec sleep 1000'
}

# flock(1) holds it, and no PID is in it.
hold_by_flock() {
	hold bash -c 'exec 9>lock; flock 9; echo "ready $$"; exec sleep 1000'
}

release() {
	kill -KILL "$held_by"
	wait_until is_dead "$holder"
	wait "$holder" || true
}

# contend [OPTION]...: starts a run that wants the lock, and waits until it
# waits.
contend() {
	start "$WDRUN" --lock=lock --lock-wait=1000 "$@" ./inside
	wait_until is_waiting "$started"
}

# is_waiting PID: the process is a sleeping wdrun, and not yet with a command:
# that would be its grandchild. Before exec, it is not a wdrun yet.
is_waiting() {
	local child
	look_at "$1"
	[ "$process_state" = S ] && [ "/proc/$1/exe" -ef "$WDRUN" ] || return
	for child in $(children_of "$1"); do
		[ -z "$(children_of "$child")" ] || return
	done
}

# The run that was started has had the lock, alone, and no process has it now.
got_it() {
	[ "$status" -eq 0 ]
	alternate 1
	rm log
	[ ! -e lock ]
}

# alternate NUMBER: so many runs were inside, and none while another one was.
alternate() {
	awk -v runs="$1" '
		NR % 2 == 1 && $1 != "enter" { bad = 1 }
		NR % 2 == 0 && ($1 != "leave" || $2 != pid) { bad = 1 }
		{ pid = $2 }
		END { exit bad || NR != 2 * runs }' log
}

begun=()

# begin_runs NUMBER OPTION...: starts so many runs of ./inside, each without a
# wait for the ones before.
begin_runs() {
	local i
	for ((i = 0; i < $1; i++)); do
		"$WDRUN" "${@:2}" ./inside 2>>errors 3>&- &
		begun+=($!)
	done
}

# Waits for these runs. Sets statuses to how many had which status, as `0:8`.
end_runs() {
	local pid
	for pid in "${begun[@]}"; do
		status=0
		wait "$pid" || status=$?
		echo "$status"
	done >ended
	begun=()
	statuses=$(sort -n ended | uniq -c | awk '{ print $2 ":" $1 }' | xargs)
	echo "statuses $statuses"
	head -n 20 errors
}

# supervisor_above PID FRONT: prints the child of FRONT that PID is below.
supervisor_above() {
	local child
	for child in $(children_of "$2"); do
		! is_below "$1" "$child" || echo "$child"
	done
}

# Prints the PID of a process that has ended. The kernel does not give the
# number away soon.
dead_pid() {
	sh -c 'echo $$'
}
