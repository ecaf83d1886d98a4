# Runs on record: running, orphaned, and forged. Only forge knows the format of
# an entry; the ID of a run is the name of its file, less `.run`.

setup() {
	common_setup
	export WDRUN_REGISTRY=$PWD/registry
	mkdir -m 700 "$WDRUN_REGISTRY"
}

# begin NAME [OPTION]... -- COMMAND...: starts a run of that name, whose COMMAND
# says `ready PID`, with its output in NAME.out. Sets front, ready and id.
begin() {
	local name=$1
	shift
	: >"$name.out"
	env --default-signal "$WDRUN" --name="$name" "$@" >"$name.out" 2>"$name.err" 3>&- &
	front=$!
	await_ready "$name.out"
	find_id
}

# end FRONT...: ends these runs.
end() {
	kill -TERM "$@"
	wait "$@" || true
}

# orphan OPTION... -- COMMAND...: starts a run, and kills its front and
# supervisor at once when COMMAND has said $number times (1) that it is ready.
# Sets front, supervisor, target and id, left to the PIDs that are ready, and
# ready to the first of them.
orphan() {
	start "$WDRUN" "$@"
	wait_until are_ready "${number:-1}"
	front=$started
	find_watchers
	find_id
	kill_watchers
	wait "$front" || true
	[ "$target" = "$ready" ] || wait_until is_dead "$target" # else it had exited
}

# are_ready COUNT [FILE]: FILE (out) has said so often that it is ready.
are_ready() {
	mapfile -t left < <(sed -n 's/^ready //p' "${2:-out}")
	ready=${left[0]-}
	((${#left[@]} == $1))
}

# wait_for_lock OPTION...: starts a run that waits for the lock of another run.
# Sets front, and holder, the other run's front, whose ID is id.
wait_for_lock() {
	begin holder --lock=lock -- sigcount
	holder=$front
	start "$WDRUN" --name=second --lock=lock --lock-wait=1h "$@" -- sigcount
	front=$started
	wait_until is_listed second waiting
}

kill_watchers() {
	kill_supervisor
	kill -KILL "$front"
	wait_until is_dead "$front"
}

# Sets id to the ID of the run whose front is $front.
find_id() {
	id=$(basename "$WDRUN_REGISTRY/$front"-*.run .run)
}

# Prints the IDs of the runs on record.
ids() {
	find "$WDRUN_REGISTRY" -name '*.run' -printf '%f\n' | sed 's/\.run$//'
}

is_on_record() { [ -e "$WDRUN_REGISTRY/$id.run" ]; }
is_off_the_record() { [ ! -e "$WDRUN_REGISTRY/$id.run" ]; }

# is_listed NAME STATE: --list shows the run in STATE.
is_listed() {
	"$WDRUN" --list | grep -qE "^$1 +[^ ]+ +$2 "
}

# live [NAME=VALUE]... [WRAPPER...]: starts a process with this in its
# environment, in a session of its own, as a run's processes are. Sets living.
live() {
	setsid env "$@" sleep 1000 >/dev/null 2>&1 3>&- &
	living=$!
	wait_until is_asleep "$living"
}

is_asleep() {
	grep -qsx sleep "/proc/$1/comm"
}

# start_of PID: prints the start time of PID, a sleep, in clock ticks after boot.
start_of() {
	cut -d ' ' -f 22 "/proc/$1/stat"
}

# is_unharmed PID: the process is alive, and not even stopped.
is_unharmed() {
	is_alive "$1" && [ "$process_state" != T ]
}

# spares PID...: all of these are unharmed. Ends them, since wdrun must not.
spares() {
	local pid
	for pid; do is_unharmed "$pid" || return; done
	kill -KILL "$@"
	for pid; do wait_until is_dead "$pid"; done
	wait "$@" 2>/dev/null || true
}

# forge [KEY=VALUE]...: puts a run on record whose watchers are dead: nobody holds
# the lock on its entry. Of the keys, name is that of the run, watcher the PID and
# start time of its front and its supervisor, started when it began (in nanoseconds),
# file one of --cleanup, and boot and machine where it ran. Sets id.
forge() {
	local boot file='' machine=- name=forged started=${EPOCHREALTIME//[!0-9]/}000 watcher
	read -r boot </proc/sys/kernel/random/boot_id
	[ ! -e /etc/machine-id ] || read -r machine </etc/machine-id || true
	watcher="$(sh -c 'echo $$') 1"
	local "$@"
	printf -v id '%d-%x' "${watcher% *}" "$started"
	umask 077
	printf '%s\0' "wdrun 4" "host $machine $boot $(stat -Lc %i /proc/self/ns/pid)" \
		"name $name" "${file:+file 0 $file}" "arg sleep" "front $watcher 0 5000000000" \
		"supervisor $watcher 0" >"$WDRUN_REGISTRY/$id.run"
	umask 022
}
