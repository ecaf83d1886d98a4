# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2154 # what is set here is read by the tests
#
# Runs on record, real and forged, for reap.bats and cancel.bats.

# A registry of the test's own. Sets dead.
make_registry() {
	export WDRUN_REGISTRY=$PWD/registry
	mkdir -m 700 "$WDRUN_REGISTRY"
	mourn
}

# start_of PID: the moment of its start, in clock ticks after boot.
start_of() {
	local stat
	local -a fields
	read -r stat <"/proc/$1/stat"
	read -ra fields <<<"${stat##*) }"
	echo "${fields[19]}"
}

# Sets dead to the PID and the start of a process that was just alive.
mourn() {
	local -
	set +T
	sleep 1000 3>&- &
	dead="$! $(start_of "$!")"
	kill -KILL "$!"
	wait "$!" 2>/dev/null || true
}

new_id() {
	printf '%d-%x\n' "${dead% *}" "$(moment)"
}

# Now, in nanoseconds after the epoch.
moment() {
	echo "${EPOCHREALTIME//[!0-9]/}000"
}

# forge [KEY=VALUE]...: puts a run on record, as one whose watchers are dead if
# the KEYs do not say otherwise. Sets id.
forge() {
	local -
	set +T
	local pair
	local -a more=()
	local -A is=(
		[boot]=$(</proc/sys/kernel/random/boot_id)
		[pidns]=$(stat -Lc %i /proc/self/ns/pid)
		[front]=$dead [supervisor]=$dead [target]=$dead
		[session]=own [started]=1000000000
		[epoch]=$(moment) [timeout]=never
		[kill-after]=5000000000 [directory]=$PWD [arg]=sleep
	)
	is[id]=$(new_id)
	for pair; do
		case $pair in
		lock=* | cleanup=*) more+=("${pair%%=*} ${pair#*=}") ;;
		*) is[${pair%%=*}]=${pair#*=} ;;
		esac
	done
	id=${is[id]}
	{
		echo "wdrun 1"
		for pair in id name boot host pidns timens front supervisor target \
			session started epoch timeout kill-after directory; do
			[ -z "${is[$pair]-}" ] || echo "$pair ${is[$pair]}"
		done
		((${#more[@]} == 0)) || printf '%s\n' "${more[@]}"
		echo "arg ${is[arg]}"
		echo end
	} >"$WDRUN_REGISTRY/$id.run"
	chmod 600 "$WDRUN_REGISTRY/$id.run"
}

# live [NAME=VALUE]... [WRAPPER...]: a process with this in its environment. Sets
# living.
live() {
	local -
	set +T
	env "$@" sleep 1000 >/dev/null 2>&1 3>&- &
	living=$!
	wait_until is_asleep "$living"
}

is_asleep() {
	local name=''
	{ read -r name <"/proc/$1/comm"; } 2>/dev/null
	[ "$name" = sleep ]
}

# session_of_a_leader [NAME=VALUE]... [WRAPPER...]: a session, with a leader who
# lives, and a member with this in its environment. Sets leader and member.
session_of_a_leader() {
	rm -f member
	setsid bash -c 'env "$@" sleep 1000 & echo "ready $!"; wait' - "$@" \
		>member 2>/dev/null 3>&- &
	leader=$!
	await_ready member
	member=$ready
	wait_until is_asleep "$member"
}

# A session with a member, whose leader is gone. Sets gone, to PID and start of
# the leader, and member, which makes another one with the ID that it reads from
# the FIFO go, and prints its PID into the file proof.
session_of_nobody() {
	local leader
	mkfifo go
	setsid bash -c 'bash -c "echo \"ready \$\$\"; read -r id <go
			WDRUN_ID=\$id sleep 1000 & echo \"ready \$!\" >proof
			exec sleep 1000" & wait' >member 2>/dev/null 3>&- &
	leader=$!
	await_ready member
	member=$ready
	gone="$leader $(start_of "$leader")"
	kill -KILL "$leader"
	wait "$leader" || true
}

reap() {
	complete "$WDRUN" --reap
}

# Alive, and not even stopped.
is_unharmed() {
	is_alive "$1" && [ "$process_state" != T ]
}

# spares PID...: they are all unharmed; and, since nobody else does, ends them.
spares() {
	local -
	set +T
	local pid
	for pid; do is_unharmed "$pid" || return; done
	kill -KILL "$@"
	for pid; do wait_until is_dead "$pid"; done
}

is_on_record() {
	[ -e "$WDRUN_REGISTRY/$id.run" ]
}

is_off_the_record() {
	[ ! -e "$WDRUN_REGISTRY/$id.run" ]
}

# The IDs of the runs on record.
ids() {
	find "$WDRUN_REGISTRY" -name '*.run' -printf '%f\n' | sed 's/\.run$//'
}

# has_opened PID FILE: PID, or a child of its, has FILE open.
has_opened() {
	find "/proc/$1/fd" -lname "*/$2" 2>/dev/null | grep -q .
}

# orphan OPTION... -- COMMAND...: a run whose front and supervisor are killed at
# once when its COMMAND is ready. Sets ready.
orphan() {
	start "$WDRUN" "$@"
	await_watchers
	await_ready
	kill -STOP "$front" "$supervisor"
	wait_until is_stopped "$front"
	wait_until is_stopped "$supervisor"
	# In this order: a supervisor that is stopped and loses its front is in
	# an orphaned process group then, so that the kernel has it go on.
	kill -KILL "$supervisor" "$front"
	wait "$front" || true
	wait_until is_dead "$supervisor"
	wait_until is_dead "$target"
}
