# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2154 # they share variables with the tests
#
# Holders of locks, and runs that want locks: for tests of --lock.

# It is ready, and a signal ends it.
sleeper=(sh -c 'echo "ready $$"; exec sleep 1000')

# ends STATUS ARG...: a run with these arguments ends with STATUS.
ends() {
	status=0
	"$WDRUN" "${@:2}" </dev/null >out 2>err 3>&- || status=$?
	[ "$status" -eq "$1" ] || {
		echo "status $status, not $1: ${*:2}"
		show_output
		return 1
	}
}

# is_in FILE TEXT: that is all of the file, but for newlines at its end.
is_in() {
	take "$1"
	[ "$taken" = "$2" ]
}

# is_none NAME...: there is no such file, nor a link. A name may be a pattern.
is_none() {
	local name
	for name; do no compgen -G "$name" >/dev/null || return; done
}

# hold COMMAND...: starts COMMAND in the background, and waits for `ready PID`.
# Sets holder, and held_by to that PID.
hold() {
	: >holder.out
	"$@" >holder.out 2>holder.err 3>&- &
	holder=$!
	await_ready holder.out
	held_by=$ready
}

# A run holds the lock.
hold_lock() {
	hold "$WDRUN" --lock=lock "$@" "$PROGRAMS/sigcount"
}

# A script's PID is in the lock.
hold_by_script() {
	sh -c 'echo $$ >lock; exec sleep 1000' 3>&- &
	holder=$! held_by=$!
	wait_until is_in lock "$held_by"
}

# flock(1) holds it, and no PID is in it.
hold_by_flock() {
	hold flock --no-fork lock "$PROGRAMS/sigcount"
}

release() {
	kill -KILL "$held_by"
	await_holder
}

await_holder() {
	wait_until is_dead "$holder"
	wait "$holder" || true
}

# contend [OPTION]...: starts a run that wants the lock, and waits until it
# waits.
contend() {
	start "$WDRUN" --lock=lock --lock-wait=1000 "$@" echo inside
	wait_until is_waiting "$started"
	[ ! -s out ]
}

# find_children PID: sets children. As children_of, but without a fork.
find_children() {
	local file pids
	children=()
	for file in "/proc/$1"/task/*/children; do
		pids=()
		read -ra pids <"$file" || true # it has no newline
		children+=("${pids[@]}")
	done 2>/dev/null
}

# is_waiting PID: the process is a sleeping wdrun, and alone. Before exec, it is
# not a wdrun yet.
is_waiting() {
	local children
	look_at "$1"
	[ "$process_state" = S ] && [ "/proc/$1/exe" -ef "$WDRUN" ] || return
	find_children "$1"
	[ "${#children[@]}" -eq 0 ]
}

# The run that was started has had the lock, and no process has it now.
got_it() {
	[ "$status" -eq 0 ]
	[ "$output" = inside ]
	[ ! -e lock ]
}

# Writes the program inside into the test's directory: it notes in the file log
# when it enters and leaves.
write_inside() {
	printf '%s\n' '#!/bin/sh' 'echo "enter $$" >>log' 'i=0' \
		'while [ $((i += 1)) -lt 2000 ]; do :; done' \
		'echo "leave $$" >>log' >inside
	chmod +x inside
}

# alternate NUMBER: so many runs were inside, and none while another one was.
alternate() {
	local i lines
	mapfile -t lines <log
	[ "${#lines[@]}" -eq $((2 * $1)) ]
	for ((i = 0; i < 2 * $1; i += 2)); do
		[[ ${lines[i]} == 'enter '* ]]
		[ "${lines[i + 1]}" = "leave ${lines[i]#enter }" ]
	done
}

begun=()

# begin_runs NUMBER OPTION...: starts so many runs of ./inside, each without a
# wait for the ones before.
begin_runs() {
	local i
	for ((i = 0; i < $1; i++)); do
		"$WDRUN" "${@:2}" ./inside 2>>err 3>&- &
		begun+=($!)
	done
}

# Waits for these runs. Sets ended: how many had which status.
end_runs() {
	local pid
	ended=()
	for pid in "${begun[@]}"; do
		status=0
		wait "$pid" || status=$?
		((ended[status] += 1))
	done
	begun=()
	echo "statuses ${!ended[*]}: ${ended[*]}"
	mapfile -n 20 -t pid <err
	printf '%s\n' "${pid[@]}"
}

# Sets supervisor to the child of holder that held_by is below.
find_supervisor() {
	local child children
	find_children "$holder"
	for child in "${children[@]}"; do
		! is_below "$held_by" "$child" || supervisor=$child
	done
}

# Prints the PID of a process that has ended. The kernel does not give the
# number away soon.
dead_pid() {
	: 3>&- &
	echo $!
	wait $!
}
