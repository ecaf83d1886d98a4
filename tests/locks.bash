# Holders of locks, and runs that want locks: for tests of --lock.

# ends STATUS ARG...: a run with these arguments ends with STATUS.
ends() {
	gives "$1" directly "$WDRUN" "${@:2}"
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
	hold "$WDRUN" --lock=lock "$@" sigcount
}

# A script's PID is in the lock.
hold_by_script() {
	hold sh -c 'echo $$ >lock; echo "ready $$"; exec sleep 1000'
}

# flock(1) holds it, and no PID is in it.
hold_by_flock() {
	hold flock --no-fork lock sigcount
}

release() {
	kill -KILL "$held_by"
	await_holder
}

await_holder() {
	wait_until is_dead "$holder"
	wait "$holder" || true
}

# contend [OPTION]...: starts a run that wants the lock; returns when it waits.
contend() {
	start "$WDRUN" --lock=lock --lock-wait=1000 "$@" echo inside
	wait_until is_waiting "$started"
	[ ! -s out ]
}

# is_waiting PID: the process is a wdrun (since its exec), sleeps, and is alone.
is_waiting() {
	look_at "$1"
	[ "$process_state" = S ] && [ "/proc/$1/exe" -ef "$WDRUN" ] || return
	no first_child "$1"
}

# got_it [blank]: the run that was started ends, and has had the lock. Nobody has it
# now: its file is gone, or blank, as it was before.
got_it() {
	gives 0 finish
	[ "$output" = inside ]
	[ -z "${1-}" ] || is_blank lock
	[ ! -e lock ]
}

# is_blank FILE: it is there, and empty. Removes it.
is_blank() {
	[ -f "$1" ] && [ ! -s "$1" ] && rm "$1"
}

# Prints the PID of a process that has ended. The kernel does not give the number away soon.
dead_pid() {
	sh -c 'echo $$'
}
