#!/usr/bin/env bats
#
# Containers and unusual machines: wdrun as PID 1, without /proc, with a /proc
# of another PID namespace, with processes that cannot be killed.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load freezer

setup() {
	common_setup
	need_root
	need_unshare --pid --fork --mount-proc
	container=(unshare --pid --fork --mount-proc)
}

@test "as PID 1 it has the command's exit status" {
	complete "${container[@]}" "$WDRUN" sh -c 'exit 42'

	[ "$status" -eq 42 ]
	[ -z "$stderr" ]
}

@test "as PID 1 a death by signal N becomes exit status 128+N" {
	complete "$PROGRAMS/status" "${container[@]}" \
		"$WDRUN" "$PROGRAMS/die" TERM
	[ "$output" = "exit 143" ]

	complete "$PROGRAMS/status" "${container[@]}" \
		"$WDRUN" "$PROGRAMS/die" SEGV
	[ "$output" = "exit 139" ]
}

@test "as PID 1 it leaves no zombie" {
	complete "${container[@]}" "$WDRUN" -t 60 bash -c '
		[ /proc/1/exe -ef "$WDRUN" ] || exit 1
		for i in {1..20}; do
			(sleep 0.01 & exec true) &
		done
		wait
		until pids=(/proc/[0-9]*); ((${#pids[@]} == 3)); do
			sleep 0.05
		done
		! grep -h "^State:.*Z" /proc/[0-9]*/status'

	[ "$status" -eq 0 ]
}

# Sets first to PID 1 of the container that was started, once that is wdrun.
in_container() {
	first=$(children_of "$started") && [[ $first =~ ^[0-9]+$ ]] &&
		[ "/proc/$first/exe" -ef "$WDRUN" ]
}

@test "as PID 1 it is ended by TERM" {
	start "${container[@]}" "$WDRUN" -k 300ms \
		"$PROGRAMS/escape" fork setsid stubborn
	await_ready
	wait_until in_container

	kill -TERM "$first"
	finish

	[ "$status" -eq 143 ]
	nobody_is_left
}

@test "as PID 1 it forwards signals to a command that handles them" {
	start "${container[@]}" "$WDRUN" "$PROGRAMS/sigcount"
	await_ready
	wait_until in_container

	kill -USR1 "$first"
	wait_until grep -qx 'got 10' out
	kill -TERM "$first"
	finish

	[ "$status" -eq 7 ]
}

@test "as PID 1 a timeout ends the tree" {
	complete_late "${container[@]}" "$WDRUN" -t LIMIT -k 300ms \
		"$PROGRAMS/escape" fork setsid stubborn

	[ "$status" -eq 124 ]
	nobody_is_left
}

@test "as PID 1 it survives the death of its supervisor, and ends the tree" {
	start "${container[@]}" "$WDRUN" "$PROGRAMS/escape" fork setsid stubborn
	await_ready
	wait_until in_container

	kill -KILL "$(children_of "$first")"
	finish

	[ "$status" -eq 137 ]
	nobody_is_left
}

# Without /proc the sanitizers warn that they cannot find their own name and
# stack. These warnings are no findings; findings are errors.
drop_sanitizers_warnings() {
	sed -Ei -e '/^==[0-9]+==WARNING: /d' \
		-e '/^False positive error reports may follow$/d' \
		-e '/^For details see .*sanitizers/d' err
	stderr=$(cat err)
}

@test "without /proc a command runs, and its exit status is returned" {
	complete unshare --mount sh -c 'mount -t tmpfs none /proc
		exec "$WDRUN" -t 60 sh -c "exit 42"'
	drop_sanitizers_warnings

	[ "$status" -eq 42 ]
	[ -z "$stderr" ]
}

@test "without /proc a timeout ends the command's group" {
	complete_late unshare --mount sh -c 'mount -t tmpfs none /proc
		exec "$WDRUN" -t LIMIT -k 300ms "$PROGRAMS/escape" stubborn'

	[ "$status" -eq 124 ]
	is_dead "$ready"
	nobody_is_left
}

@test "without /proc an escapee dies all the same, and a message says what is missing" {
	complete_late unshare --mount sh -c 'mount -t tmpfs none /proc
		exec "$WDRUN" -t LIMIT -k 300ms "$PROGRAMS/escape" \
			fork setsid stubborn'

	[ "$status" -eq 124 ]
	[[ $stderr == *"wdrun: "*/proc* ]]
	drop_sanitizers_warnings
	only_messages
	is_dead "$ready"
	nobody_is_left
}

@test "with unshare --pid, but without --fork, a timeout ends the tree" {
	complete_late unshare --pid "$WDRUN" -t LIMIT -k 300ms \
		"$PROGRAMS/escape" fork setsid stubborn

	[ "$status" -eq 124 ]
	[[ $stderr != *"could not"* ]]
	nobody_is_left
}

# Sets as_nobody: the words that run wdrun as another user, who sees only their
# own processes in /proc.
become_nobody() {
	need_other_user
	give_to_all "$WDRUN" "$PROGRAMS/escape"
	as_nobody=(unshare --mount sh -c 'mount --make-rprivate / &&
		mount -t proc -o hidepid=2 proc /proc &&
		exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"'
		- "./${WDRUN##*/}")
}

@test "where /proc hides a process that is not dumpable, a daemon of it dies" {
	become_nobody
	complete "${as_nobody[@]}" --idle-after-exit=300ms -k 300ms \
		./escape -x 3 fork setsid fork undumpable
	await_ready

	[ "$status" -eq 3 ]
	is_dead "$ready"
	nobody_is_left
}

@test "where /proc hides a setuid command, a timeout ends it" {
	become_nobody
	chmod u+s escape
	complete_late "${as_nobody[@]}" -t LIMIT -k 300ms ./escape

	[ "$status" -eq 124 ]
	is_dead "$ready"
	nobody_is_left
}

@test "a fork bomb that has reached its user's limit of processes is ended" {
	need prlimit
	need_other_user
	give_to_all "$WDRUN" "$PROGRAMS/bomb"
	# A user whom no other test uses at the same time.
	local user=$((60000 + $$ % 5000))
	complete_late prlimit --nproc=40 setpriv --reuid "$user" --regid "$user" \
		--clear-groups "./${WDRUN##*/}" -t LIMIT -k 200ms ./bomb

	[ "$status" -eq 124 ]
	[[ $stderr != *"could not"* ]]
	nobody_is_left
}

@test "a process of the tree that has the PID of an earlier child of the caller's is killed" {
	complete "${container[@]}" sh -c '
		bash -c '\''sleep 1000 & was=$!
			exec "$WDRUN" --idle-after-exit=200ms bash -c "
			kill -KILL \$1
			while kill -0 \$1 2>/dev/null; do sleep 0.02; done
			echo \$((\$1 - 1)) >/proc/sys/kernel/ns_last_pid
			setsid sleep 1000 &
			[ \$! -eq \$1 ] && echo reused
			exit 4" - $was'\''
		echo "status $?"
		pgrep -x sleep >/dev/null && echo left'

	[ "$output" = $'reused\nstatus 4' ]
}

@test "a /proc of another namespace is not used: no unrelated process gets a signal" {
	# In the inner namespace the supervisor becomes PID 2, and unrelated
	# processes get the numbers that children of kthreadd have outside. A
	# wdrun that took the outer /proc/2 for its supervisor would kill the
	# unrelated processes.
	[ "$(cat /proc/2/comm)" = kthreadd ] || skip "no kthreadd here"
	complete_late unshare --pid --fork bash -c '
		last=/proc/sys/kernel/ns_last_pid
		echo 2 >$last
		for i in {3..20}; do
			setsid "$PROGRAMS/escape" --live & strangers+=($!)
		done
		echo "strangers ${strangers[*]}"
		(
			echo 99 >$last
			"$PROGRAMS/launch" --defaults bash -c "
				echo 1 >$last
				exec \"\$WDRUN\" -t LIMIT -k 300ms \
					\"\$PROGRAMS/escape\" stubborn"
			echo "status $?"
		)
		kill -0 "${strangers[@]}" && echo "all live"
		grep -h "^NSpid" /proc/[0-9]*/status >/dev/null'

	grep -q '^strangers 3 4 5 6' out
	grep -qx 'status 124' out
	grep -qx 'all live' out
	grep -q '^wdrun: .*/proc' err
	wait_until nobody_is_left
}

# give_to_all FILE...: copies FILEs to where another user can reach and execute
# them.
give_to_all() {
	local directory=$PWD
	cp "$@" .
	chmod a+rwx .
	while [ "$directory" != / ]; do
		chmod a+x "$directory"
		directory=$(dirname "$directory")
	done
}

# lists_and_leaves STEP...: a process of another user, which has taken STEPs, is
# listed, and not waited for.
lists_and_leaves() {
	need jq
	need_other_user
	give_to_all "$WDRUN" "$PROGRAMS/escape"
	chmod u+s escape
	setpriv --reuid 65534 --clear-groups ./escape -x 0 root-user >try \
		2>&1 3>&- || true
	grep -q ready try || skip "no setuid on this file system"
	end_leftovers

	complete_late setpriv --reuid 65534 --regid 65534 --clear-groups \
		"./${WDRUN##*/}" --report=report -t LIMIT -k 200ms ./escape "$@"

	[ "$status" -eq 124 ]
	[[ $stderr == *"$ready"*escape* ]]
	[[ $(tail -n 1 err) == "wdrun: "*"$ready"* ]]
	only_messages
	is_alive "$ready"
	end_leftovers
}

@test "another user's process is listed, and waited for no longer than the bound" {
	lists_and_leaves fork setsid root-user
}

# A process that computes is taken for one that dies, if it has got SIGKILL.
@test "another user's process that computes is waited for no longer than the bound" {
	lists_and_leaves fork setsid root-user busy

	# The bound is 5 s after the last process that can be killed. While a
	# tree dies, it is 60 s more.
	jq -e ".elapsed_ms < 50000" report
}

@test "a process that not even SIGKILL ends is listed, and does not hang wdrun" {
	start "$WDRUN" -k 100ms "$PROGRAMS/escape" fork setsid
	await_ready
	freeze "$ready"
	kill -TERM "$started"
	finish

	[ "$status" -eq 143 ]
	[[ $(tail -n 1 err) == "wdrun: "*"$ready"* ]]
	only_messages
	is_alive "$ready"
	thaw "$ready"
}

@test "the death of the caller is noticed though the command exits because of it at once" {
	start bash -c '"$WDRUN" --die-with-parent --survivors=wait -k 300ms \
		"$PROGRAMS/escape" fork setsid; :'
	await_ready
	front=$(children_of "$started")
	supervisor=$(children_of "$front")
	target=$(children_of "$supervisor" | head -n 1)
	# The supervisor is frozen, so that it learns of both deaths at the same
	# time.
	freeze "$supervisor"

	kill -KILL "$started"
	wait_until is_dead "$started"
	kill -KILL "$target"
	wait_until is_zombie "$target"
	thaw "$supervisor"

	wait_until nobody_is_left
}

# waitid(2) for any child reports the target's zombie, which is kept, and one
# SIGCHLD can stand for many deaths.
@test "after the death of the command, survivors that die leave no zombies" {
	local orphans late
	start "$WDRUN" --survivors=wait bash -c '
		for _ in {1..60}; do sleep 1000 & echo "orphan $!"; done
		echo "ready $$"; exit 3'
	await_watchers
	await_ready
	wait_until is_zombie "$target"
	mapfile -t orphans < <(sed -n 's/^orphan //p' out)

	late=("${orphans[@]:0:20}")
	kill -KILL "${orphans[@]:20}"
	wait_until leaves_one_zombie

	kill -KILL "${late[@]}" # some are left: wdrun reaped after fewer deaths than there are
	finish
	[ "$status" -eq 3 ]
}

# Kills one more of the processes at each look, which wakes the supervisor up,
# until the target's is the only zombie.
leaves_one_zombie() {
	local pid count=0
	if ((${#late[@]} > 1)); then
		kill -KILL "${late[0]}"
		late=("${late[@]:1}")
	fi
	for pid in $(children_of "$supervisor"); do
		! is_zombie "$pid" || ((++count))
	done
	((count == 1))
}
