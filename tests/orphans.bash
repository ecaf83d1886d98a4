# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2154 # what is set here is read by the tests
#
# Runs on record, real and forged, for reap.bats, cancel.bats and list.bats.

# Makes a registry of the test's own. Sets dead.
make_registry() {
	export WDRUN_REGISTRY=$PWD/registry
	mkdir -m 700 "$WDRUN_REGISTRY"
	make_dead
}

# start_of PID: prints the start time of PID, in clock ticks after boot.
start_of() {
	local stat
	local -a fields
	read -r stat <"/proc/$1/stat"
	read -ra fields <<<"${stat##*) }"
	echo "${fields[19]}"
}

# Sets dead to PID and start time of a process that has just ended.
make_dead() {
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

# Prints the present time, in nanoseconds since the epoch.
moment() {
	echo "${EPOCHREALTIME//[!0-9]/}000"
}

# forge [KEY=VALUE]...: puts a run on record, whose watchers are dead unless a
# KEY says otherwise. Sets id.
forge() {
	local -
	set +T
	local pair
	local -a more=()
	local -A is=(
		[boot]=$(</proc/sys/kernel/random/boot_id)
		[pidns]=$(stat -Lc %i /proc/self/ns/pid)
		[front]=$dead [supervisor]=$dead [target]=$dead
		[machine]=$(cat /etc/machine-id 2>/dev/null)
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
		for pair in id name boot host machine pidns timens front supervisor target \
			session started epoch timeout kill-after directory; do
			[ -z "${is[$pair]-}" ] || echo "$pair ${is[$pair]}"
		done
		((${#more[@]} == 0)) || printf '%s\n' "${more[@]}"
		echo "arg ${is[arg]}"
		echo end
	} >"$WDRUN_REGISTRY/$id.run"
	chmod 600 "$WDRUN_REGISTRY/$id.run"
}

# Skips the test where reboot has no effect.
need_reboot() {
	unshare --time true 2>/dev/null || skip "needs time namespaces, and root"
	[ -s /etc/machine-id ] || skip "there is no /etc/machine-id"
}

# Makes all files of the test older than the last boot, as a clock says that
# stands in rebooted: a command before a command.
reboot() {
	local up
	need_reboot
	sleep 3
	read -r up _ </proc/uptime
	rebooted=(unshare --time --boottime=$((1 - ${up%.*})))
}

# live [NAME=VALUE]... [WRAPPER...]: starts a process with this in its
# environment, in a session of its own, as a run's processes are. Sets living.
live() {
	local -
	set +T
	setsid env "$@" sleep 1000 >/dev/null 2>&1 3>&- &
	living=$!
	wait_until is_asleep "$living"
}

# start_member COMMAND...: starts COMMAND as a process of the forged run: with its
# ID, and in a session of its own.
start_member() {
	local -
	set +T
	start setsid env WDRUN_ID="$id" "$@"
}

is_asleep() {
	local name=''
	{ read -r name <"/proc/$1/comm"; } 2>/dev/null
	[ "$name" = sleep ]
}

# session_of_a_target [NAME=VALUE]... [WRAPPER...]: starts a session whose leader
# is dead, with a target, and a member with this in its environment. Sets target
# and member, and for forge, of_session.
session_of_a_target() {
	local leader
	rm -f member
	setsid bash -c 'bash -c "env \"\$@\" sleep 1000 &
			echo \"target \$\$\"; echo \"ready \$!\"; wait" - "$@" &
		wait' - "$@" >member 2>/dev/null 3>&- &
	leader=$!
	wait_until grep -q ^ready member
	target=$(sed -n 's/^target //p' member)
	member=$(sed -n 's/^ready //p' member)
	wait_until is_asleep "$member"
	of_session=(supervisor="$leader $(start_of "$leader")"
		target="$target $(start_of "$target")")
	kill -KILL "$leader"
	wait "$leader" || true
}

# Starts a session with a member, whose leader is dead. Sets gone to PID and
# start time of the leader, and member. The member reads an ID from the FIFO go,
# starts a process with this ID, and prints its PID into the file proof.
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

# On a slow machine the time of --reap can be over before it has looked at all
# processes often enough, or before one process could be read, such as those of a
# fork storm of another test. It says so, and its user runs it again.
reap() {
	local tries
	for tries in {1..5}; do
		complete "$WDRUN" --reap
		[ "$status" -eq 1 ] && grep -qE "$too_slow" err || return 0
	done
}

too_slow='because of processes that end too soon to be read$|cannot be looked at|cannot read the processes in /proc: Operation timed out$'

# is_unharmed PID: the process is alive, and not even stopped.
is_unharmed() {
	is_alive "$1" && [ "$process_state" != T ]
}

# spares PID...: all of these are unharmed. Ends them, since wdrun must not.
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

# Prints the IDs of the runs on record.
ids() {
	find "$WDRUN_REGISTRY" -name '*.run' -printf '%f\n' | sed 's/\.run$//'
}

# has_opened PID FILE: PID has FILE open.
has_opened() {
	find "/proc/$1/fd" -lname "*/$2" 2>/dev/null | grep -q .
}

# orphan OPTION... -- COMMAND...: starts a run, and kills its front and
# supervisor at once when COMMAND is ready. Sets ready.
orphan() {
	start "$WDRUN" "$@"
	await_watchers
	await_ready
	kill -STOP "$front" "$supervisor"
	wait_until is_stopped "$front"
	wait_until is_stopped "$supervisor"
	# The supervisor is killed first: the death of the front orphans its
	# process group, and the kernel then continues the stopped supervisor,
	# setpgid(2).
	kill -KILL "$supervisor" "$front"
	wait "$front" || true
	wait_until is_dead "$supervisor"
	wait_until is_dead "$target"
}
