#!/usr/bin/env bats
#
# Promise 4, its last sentence: when front and supervisor were killed at once,
# `wdrun --reap` kills what is left, and nothing else. Each test of an unrelated
# process fails when the check that protects the process is removed from the
# source.
#
# Most of the runs are forged entries whose watchers are dead.
#
# Starts first: its tests take long, one after the other.
#
# shellcheck disable=SC2016,SC2154,SC2030,SC2031

load helper
load orphans

setup() {
	common_setup
	make_registry
}

# The same for a wdrun below strace. Sets front and supervisor.
has_traced_target() {
	front=$(children_of "$started" | head -n 1) &&
		supervisor=$(children_of "$front" | head -n 1) &&
		[ -n "$(children_of "$supervisor")" ]
} 2>/dev/null

has_an_entry() {
	[ -n "$(ids)" ]
}

# --- what is proven ----------------------------------------------------------

@test "--reap ends a daemon that both watchers left behind, and says so" {
	orphan --name=nightly -- "$PROGRAMS/escape" fork setsid stubborn
	read -r id < <(ids)

	complete "$WDRUN" --reap

	[ "$status" -eq 0 ]
	is_dead "$ready"
	[ -z "$(ids)" ]
	[[ $stderr == "wdrun: run $id (nightly): killed 1 process: $ready "* ]]
	only_messages
}

@test "a registered run ends what an earlier one has left before it starts" {
	orphan --name=nightly -- "$PROGRAMS/escape" fork setsid stubborn

	complete "$WDRUN" --name=daily -- sh -c \
		'ps -o stat= -p "$1" | grep -qv Z || echo "is gone"' - "$ready"

	[ "$status" -eq 0 ]
	[ "$output" = "is gone" ]
	[[ $stderr == "wdrun: run "*" (nightly): killed 1 process: $ready "* ]]
	[ -z "$(ids)" ]
}

@test "a process that carries the run's ID is ended" {
	forge
	live WDRUN_ID="$id"

	reap

	[ "$status" -eq 0 ]
	is_dead "$living"
	is_off_the_record
}

@test "a run that could make no session of its own is finished" {
	printf '%s\n' '#!/bin/sh' 'exec "$PROGRAMS/deny" setsid -- "$real" "$@"' >denied
	chmod +x denied
	export real=$WDRUN
	WDRUN=$PWD/denied
	orphan -- "$PROGRAMS/escape" fork stubborn

	WDRUN=$real
	reap

	[ "$status" -eq 0 ]
	is_dead "$ready"
	is_off_the_record
}

@test "a process without its environment is ended with its parent" {
	forge
	start_member "$PROGRAMS/escape" setsid empty
	await_ready

	reap

	[ "$status" -eq 0 ]
	is_dead "$started"
	is_dead "$ready"
	is_off_the_record
}

@test "processes in the session of the target are ended" {
	session_of_a_target
	forge "${of_session[@]}"

	reap

	[ "$status" -eq 0 ]
	is_dead "$target"
	is_dead "$member"
	is_off_the_record
}

@test "processes in the session of a supervisor that is a zombie are ended" {
	local parent leader
	start sh -c 'setsid sh -c "sleep 1000 & echo ready \$!; wait" &
		echo "leader $!"; exec sleep 1000'
	parent=$started
	await_ready
	wait_until grep -q '^leader' out
	leader=$(sed -n 's/^leader //p' out)
	forge supervisor="$leader $(start_of "$leader")"
	kill -KILL "$leader"
	wait_until is_zombie "$leader"

	reap

	[ "$status" -eq 0 ]
	spares "$parent"
	is_dead "$ready"
	is_off_the_record
}

@test "one process with the run's ID proves its whole session" {
	session_of_nobody
	forge supervisor="$gone"
	echo "$id" >go
	await_ready proof

	reap

	[ "$status" -eq 0 ]
	is_dead "$member"
	is_dead "$ready"
	is_off_the_record
}

@test "a run within the run is ended with it" {
	session_of_a_target WDRUN_ID="$(new_id)"
	nested=$(tr '\0' '\n' <"/proc/$member/environ" | sed -n 's/^WDRUN_ID=//p')
	forge id="1-$(printf '%x' 1)" "${of_session[@]}"
	live WDRUN_ID="$nested"

	reap

	[ "$status" -eq 0 ]
	is_dead "$member"
	is_dead "$living"
	is_off_the_record
}

@test "a fork storm that was left behind is ended" {
	forge
	start_member "$PROGRAMS/storm" 1000
	await_ready

	reap

	[ "$status" -eq 0 ]
	wait_until nobody_is_left
	is_off_the_record
}

@test "a process that is forked while --reap looks is found, even without an environment" {
	forge
	start_member "$PROGRAMS/brood" 2000
	await_ready

	reap

	[ "$status" -eq 0 ]
	nobody_is_left
	is_off_the_record
}

@test "a chain of processes, each of which forks the next and exits, is ended" {
	forge
	start_member "$PROGRAMS/chain" 200
	await_ready
	kill -KILL "$started"

	reap

	[ "$status" -eq 0 ]
	is_off_the_record
	nobody_is_left
}

@test "a process that executes itself time and again is ended" {
	forge
	printf '%s\n' '#!/bin/sh' ': >begun' 'exec "$0"' >again
	chmod +x again
	start_member ./again
	wait_until test -e begun

	reap

	[ "$status" -eq 0 ]
	is_off_the_record
	is_dead "$started"
}

# --- who is spared -----------------------------------------------------------

@test "a process that got the PID of a dead front or supervisor is left alone" {
	live
	forge front="$living $(($(start_of "$living") - 1))" \
		supervisor="$living $(($(start_of "$living") - 1))"

	reap

	[ "$status" -eq 0 ]
	spares "$living"
	is_off_the_record
}

@test "a session whose leader only got the PID of the supervisor is left alone" {
	local leader
	start setsid sh -c 'sleep 1000 & echo "ready $!"; wait'
	leader=$started
	await_ready
	forge supervisor="$leader $(($(start_of "$leader") - 1))"

	reap

	[ "$status" -eq 0 ]
	spares "$leader" "$ready"
	is_off_the_record
}

@test "a session of which the process with the PID of the target is no member is left alone" {
	session_of_a_target
	live
	forge "${of_session[0]}" target="$living $(start_of "$living")"

	reap

	[ "$status" -eq 1 ]
	spares "$target" "$member" "$living"
	is_on_record
}

@test "a process of the same session is left alone where nothing proves it, and reported" {
	session_of_nobody
	forge supervisor="$gone"

	reap

	[ "$status" -eq 1 ]
	spares "$member"
	is_on_record
	[[ $stderr == "wdrun: run $id"*" $member bash"*"has the run's session ID"* ]]
	[ "$(wc -l <err)" -eq 1 ]
}

@test "the session of a run that shares the caller's is left alone" {
	session_of_a_target
	forge "${of_session[@]}" session=caller

	reap

	[ "$status" -eq 0 ]
	spares "$target" "$member"
}

@test "an entry from another boot is removed, and no process is signalled" {
	session_of_a_target
	forge boot=00000000-0000-0000-0000-000000000000 \
		"${of_session[@]}"
	live WDRUN_ID="$id"

	reboot
	complete "${rebooted[@]}" "$WDRUN" --reap

	[ "$status" -eq 0 ]
	spares "$living" "$target" "$member"
	is_off_the_record
	[[ $stderr == "wdrun: run $id: began before the last boot" ]]
}

@test "a run of another machine, or of a container with a boot of its own, stays on record" {
	forge boot=0 machine=0123456789abcdef0123456789abcdef
	other=$id
	forge boot=0 machine=
	unknown=$id
	reboot
	complete "${rebooted[@]}" "$WDRUN" --reap
	[ "$status" -eq 0 ]
	[ "$(ids | sort)" = "$(printf '%s\n' "$other" "$unknown" | sort)" ]

	# The boot that it names was not the last one, since its file is younger.
	forge boot=0
	reap
	[ "$status" -eq 0 ]
	is_on_record
}

@test "a run of another PID namespace stays on record, and no process is signalled" {
	session_of_a_target
	forge pidns=1 "${of_session[@]}"
	live WDRUN_ID="$id"

	reap

	[ "$status" -eq 0 ]
	spares "$living" "$target" "$member"
	is_on_record
}

@test "a process of another user is left alone, whatever ID it carries" {
	need_other_user
	forge
	live WDRUN_ID="$id" setpriv --reuid=65534 --regid=65534 --clear-groups

	reap

	spares "$living"
}

@test "another user's process in the run's session is left alone, and reported" {
	need_other_user
	session_of_a_target setpriv --reuid=65534 --regid=65534 --clear-groups
	forge "${of_session[@]}"

	reap

	[ "$status" -eq 1 ]
	is_dead "$target"
	spares "$member"
	is_on_record
	[[ $stderr == *"stays on record because of $member sleep 1000 (belongs to another user)" ]]
}

@test "a process that only its parent proved is still reported when the parent is dead" {
	need_other_user
	forge
	start_member sh -c 'setsid env -i setpriv --reuid=65534 \
		--regid=65534 --clear-groups sleep 1000 & echo "ready $!"; wait'
	await_ready
	wait_until is_asleep "$ready"

	reap

	[ "$status" -eq 1 ]
	spares "$ready"
	is_on_record
	[[ $stderr == *"stays on record because of $ready sleep 1000 (belongs to another user)" ]]
}

@test "a process older than the run is left alone, whatever ID it carries" {
	id=$(new_id)
	live WDRUN_ID="$id"
	until make_dead && ((${dead#* } > $(start_of "$living"))); do :; done
	forge id="$id"

	reap

	[ "$status" -eq 0 ]
	spares "$living"
	is_off_the_record
}

@test "a process whose ID only looks like the run's is left alone" {
	local -a strangers=()
	local like
	forge
	for like in "WDRUN_ID=${id}0" "WDRUN_ID=${id%?}" "WDRUN_ID=1$id" \
		"WDRUN_ID=${id#?}" "WDRUN_ID=${id^^}" "WDRUN_ID= $id" \
		"WDRUN_ID=" "XWDRUN_ID=$id" "WDRUN_IDX=$id" \
		"X=WDRUN_ID=$id" "X=1
WDRUN_ID=$id" "WDRUN_ID=$id$id$id$id" "wdrun_id=$id"; do
		live "$like"
		strangers+=("$living")
	done

	reap

	[ "$status" -eq 0 ]
	spares "${strangers[@]}"
	is_off_the_record
}

@test "an ID that is too long to be one is not cut down to the run's" {
	forge id="1-$(printf '%045d' 1)" # 48 bytes with the zero at its end
	live WDRUN_ID="${id}0"

	reap

	[ "$status" -eq 0 ]
	spares "$living"
	is_off_the_record
}

@test "a process with the command line of the run's is left alone" {
	forge arg=sh
	mkfifo never
	start setsid sh -c 'echo "ready $$"; read -r _ <never' "WDRUN_ID=$id" "$id"
	await_ready

	reap

	[ "$status" -eq 0 ]
	spares "$ready"
	is_off_the_record
}

@test "--reap within an orphaned run leaves itself and its ancestors alone, and says so" {
	forge
	start_member bash -c '
		bash -c "\"\$WDRUN\" --reap; echo \"status \$?\""
		echo "$$ lives"'
	finish

	[ "$output" = "status 1
$started lives" ]
	is_on_record
	[[ $stderr == *" $started bash"*"(is an ancestor of this wdrun)"* ]]
}

@test "a run that is being stopped by its own watchers is left alone" {
	live
	forge supervisor="$living $(start_of "$living")"
	watcher=$living
	live WDRUN_ID="$id"

	reap

	[ "$status" -eq 0 ]
	spares "$living" "$watcher"
	is_on_record
}

@test "the run within which an orphaned run was started is left alone" {
	session_of_a_target WDRUN_ID="$(new_id)"
	outer=$(tr '\0' '\n' <"/proc/$member/environ" | sed -n 's/^WDRUN_ID=//p')
	forge "${of_session[@]}"
	live WDRUN_ID="$outer"

	reap

	[ "$status" -eq 0 ]
	is_dead "$member"
	spares "$living"
}

@test "a run whose own front lives is not counted as part of another run" {
	local front
	live
	front=$living
	session_of_a_target WDRUN_ID="$front-$(printf '%x' "$(date +%s%N)")"
	forge id="1-$(printf '%x' 1)" "${of_session[@]}"
	live WDRUN_ID="$(tr '\0' '\n' <"/proc/$member/environ" |
		sed -n 's/^WDRUN_ID=//p')"

	reap

	[ "$status" -eq 0 ]
	is_dead "$member"
	spares "$living" "$front"
}

@test "a process that gets the PID of another just before the signal is left alone" {
	need strace
	need_impostor
	forge
	live WDRUN_ID="$id"
	# --reap has seen the process, and is delayed before it opens a pidfd
	# for it.
	start strace -f -qq -o trace -e trace=pidfd_open \
		-e inject=pidfd_open:delay_enter=3000000:when=1 \
		"$WDRUN" --reap
	reaper=$started
	wait_until grep -q pidfd_open trace
	kill -KILL "$living" || true # --reap may have been quicker
	wait "$living" || true
	"$PROGRAMS/impostor" "$living" >impostor 3>&- &
	await_ready impostor
	[ "$ready" = "$living" ]

	wait_until is_dead "$reaper"

	spares "$ready"
}

# --- what cannot be verified -------------------------------------------------

@test "without a /proc of its own --reap signals no process, and says so" {
	need_mounts
	forge
	live WDRUN_ID="$id"

	export ASAN_OPTIONS=detect_leaks=0 # which needs /proc as well
	complete unshare --mount sh -c \
		'mount -t tmpfs none /proc && exec "$WDRUN" --reap'
	[ "$status" -eq 125 ] || [[ $stderr == *LeakSanitizer* ]]
	[[ $stderr == *"wdrun: no process can be verified: no /proc "* ]]
	is_on_record

	complete unshare --pid --fork "$WDRUN" --reap
	[ "$status" -eq 125 ]
	spares "$living"
	is_on_record
}

# In /proc/PID/status, the list of groups comes before what tells the namespaces.
@test "a user in thousands of groups is told from another PID namespace's, too" {
	need_root
	need_unshare --pid --fork
	complete setpriv --groups "$(seq -s, 3000000000 3000002000)" \
		unshare --pid --fork "$WDRUN" --reap

	[ "$status" -eq 125 ]
	[[ $stderr == *"no /proc of this PID namespace"* ]]
}

@test "where /proc has processes only, --reap and --cancel say what is missing" {
	need_mounts
	forge
	for mode in --reap --cancel=job; do
		complete unshare --pid --fork --mount sh -c \
			'mount -t proc -o subset=pid proc /proc && exec "$WDRUN" "$1"' \
			- "$mode"
		[ "$status" -eq 125 ]
		[[ $stderr == *"verified: cannot read '/proc/sys/kernel/random/boot_id': "* ]]
	done
	is_on_record
}

@test "a run whose watchers /proc hides does not count as orphaned" {
	need_other_user
	need_unshare --pid --fork --mount-proc
	# hidepid hides processes from users other than root.
	chown 65534:65534 "$WDRUN_REGISTRY"
	start unshare --pid --fork --mount-proc bash -c '
		mount -o remount,hidepid=2 /proc || exit 99
		. "$1/orphans.bash"
		as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
		"${as[@]}" "$PROGRAMS/escape" undumpable >ready &
		until grep -qs ready ready; do sleep 0.02; done
		read -r _ watcher <ready
		dead="$watcher $(start_of "$watcher")"
		forge
		chown 65534 "$WDRUN_REGISTRY"/*
		WDRUN_ID=$id setsid "${as[@]}" sleep 1000 >/dev/null &
		until is_asleep "$!"; do sleep 0.02; done
		# Only root may search the directories above the registry.
		(cd "$WDRUN_REGISTRY" && "${as[@]}" "$WDRUN" --reap --registry=.)
		echo "status $?"
		kill -0 "$!" && echo "it lives"' - "$BATS_TEST_DIRNAME"
	finish

	[ "$output" = "status 1
it lives" ]
	[[ $stderr == "wdrun: run "*": /proc does not show whether the front "*" are dead" ]]
}

@test "on a kernel without pidfds --reap does the same" {
	forge
	live WDRUN_ID="$id"
	mine=$living
	live WDRUN_ID="${id}0"
	complete "$PROGRAMS/deny" pidfd_open pidfd_send_signal -- \
		"$WDRUN" --reap

	[ "$status" -eq 0 ]
	is_dead "$mine"
	spares "$living"
	is_off_the_record
}

@test "of two --reap at once, one finishes the run" {
	local i
	forge
	live WDRUN_ID="$id"
	for i in {1..20}; do
		"$WDRUN" --reap 2>"err.$i" 3>&- &
	done
	wait_until is_dead "$living"
	wait_until is_off_the_record
	for i in {1..20}; do wait -n || true; done

	[ "$(cat err.* | wc -l)" -eq 1 ]
	grep -q "killed 1 process: $living" err.*
}

@test "--reap waits for another --reap of the same run" {
	forge
	live WDRUN_ID="$id"
	exec 8<"$WDRUN_REGISTRY/$id.run"
	flock 8
	start "$WDRUN" --reap 8<&-
	wait_until has_opened "$started" "$id.run"
	is_unharmed "$living"

	exec 8<&-
	finish

	[ "$status" -eq 0 ]
	is_dead "$living"
}

@test "--reap goes on where another process has stopped its helper" {
	local helper
	forge
	live WDRUN_ID="$id"
	exec 8<"$WDRUN_REGISTRY/$id.run"
	flock 8
	start "$WDRUN" --reap 8<&-
	wait_until grep -q . "/proc/$started/task/$started/children"
	read -r helper <"/proc/$started/task/$started/children" || true
	kill -STOP "$helper"

	exec 8<&-
	finish

	[ "$status" -eq 0 ]
	is_dead "$living"
	is_off_the_record
}

@test "a run starts also where an orphaned run cannot be looked at" {
	need strace
	forge
	live WDRUN_ID="$id"

	# strace delays the calls, as a process would that hangs when it is
	# looked at.
	start strace -f -qq -o trace -e trace=pidfd_open \
		-e inject=pidfd_open:delay_enter=80000000 \
		"$WDRUN" --name=daily echo started
	wait_until grep -qx started out

	kill -KILL "$started"
	wait "$started" || true
	is_on_record
	spares "$living"
	# The death of strace does not end the run that strace traced. This run
	# ends by itself, some time after its command.
	wait_until nobody_is_left
}

# --reap has stopped a process with SIGSTOP, and cannot look at the rest.
@test "where --reap gives up on a process that does not answer, it continues what it stopped" {
	local mine
	need strace
	export ASAN_OPTIONS=detect_leaks=0 # LeakSanitizer does not work under strace
	forge
	live WDRUN_ID="$id"
	mine=$living
	live
	# strace delays the read, as if the memory of this process could not be
	# read.
	start strace -f -qq -o trace -P "/proc/$living/environ" -e trace=read \
		-e inject=read:delay_enter=80000000 "$WDRUN" --reap
	wait_until is_stopped "$mine"

	wait_until grep -q "^wdrun: run $id: .* does not answer$" err

	wait_until is_unharmed "$mine"
	is_on_record
	kill -KILL "$started"
	wait "$started" || true
	spares "$mine" "$living"
}

# The signal of a terminal goes to wdrun and its helper.
@test "a Ctrl-C during --reap leaves no process stopped" {
	local mine reaper helper
	need strace
	export ASAN_OPTIONS=detect_leaks=0 # LeakSanitizer does not work under strace
	forge
	live WDRUN_ID="$id"
	mine=$living
	live
	start strace -f -qq -o trace -P "/proc/$living/environ" -e trace=read \
		-e inject=read:delay_enter=3000000 "$WDRUN" --reap
	wait_until is_stopped "$mine"

	reaper=$(children_of "$started")
	helper=$(children_of "$reaper")
	kill -INT "$reaper" "$helper"
	wait_until no is_stopped "$mine"

	wait "$started" || true
	kill -KILL "$mine" 2>/dev/null || true
	kill -KILL "$living"
}

@test "a run starts also where a file of a run from before the last boot hangs" {
	need_reboot # in the script below, skip is not defined
	export BATS_TEST_DIRNAME
	with_hung_fs '. "$BATS_TEST_DIRNAME/orphans.bash"
		export WDRUN_REGISTRY=$PWD/registry
		hang_fs
		dead="1 1"
		forge boot=0 lock="$PWD/mnt/x" cleanup="0 0 0 $PWD/mnt/x"
		reboot
		"${rebooted[@]}" "$WDRUN" --name=daily echo started
		echo "status $?"
		is_on_record && echo "on record"
		kill -KILL "$server"'
	finish

	[ "$output" = "started
status 0
on record" ]
	[ -z "$stderr" ]
}

@test "a run whose front died before its target was on record can be reaped" {
	local front supervisor id
	need_root
	need strace
	export ASAN_OPTIONS=detect_leaks=0 # LeakSanitizer does not work under strace
	# The watchers are delayed while the target is put on record, without
	# its front.
	start strace -f -qq -o trace -e trace=setsid,poll,ppoll \
		-e inject=setsid:delay_enter=1000000 \
		-e inject=poll,ppoll:delay_enter=90000000 \
		"$WDRUN" --name=job sleep 1000
	wait_until has_traced_target
	kill -KILL "$front"
	wait_until has_an_entry
	# strace itself would wait for the end of the delayed call.
	kill -KILL "$supervisor" "$started"
	finish
	wait_until nobody_is_left
	id=$(ids)
	is_on_record

	reap

	[ "$status" -eq 0 ]
	is_off_the_record
	[[ $stderr == "wdrun: run $id (job): found no process to kill" ]]
}

@test "an entry that cannot be read is reported and left alone" {
	forge
	head -c 100 "$WDRUN_REGISTRY/$id.run" >"$WDRUN_REGISTRY/1-1.run"
	sed 's/^wdrun 1$/wdrun 99/' "$WDRUN_REGISTRY/$id.run" \
		>"$WDRUN_REGISTRY/1-2.run"
	: >"$WDRUN_REGISTRY/1-3.run"
	mkfifo "$WDRUN_REGISTRY/1-4.run"
	chmod 600 "$WDRUN_REGISTRY"/*.run

	reap

	[ "$status" -eq 0 ]
	is_off_the_record
	[ "$(ids | sort | paste -sd' ')" = "1-1 1-2 1-3 1-4" ]
	[ "$(grep -c '^wdrun: registry: .1-[1-4].run' err)" -eq 4 ]
	only_messages
}

@test "where there is no registry there is nothing to reap" {
	rm -r "$WDRUN_REGISTRY"

	reap

	[ "$status" -eq 0 ]
	[ -z "$output$stderr" ]
	[ ! -e "$WDRUN_REGISTRY" ]
}

# --- its files ---------------------------------------------------------------

@test "lock files of an orphaned run are removed, but not those of living processes" {
	echo "${dead% *}" >stale.lock
	echo "$$" >held.lock
	forge lock="$PWD/stale.lock" lock="$PWD/held.lock" lock="$PWD/none.lock"

	reap

	[ "$status" -eq 0 ]
	[ ! -e stale.lock ]
	[ -e held.lock ]
	[[ $stderr == *"; removed '$PWD/stale.lock'" ]]
	is_off_the_record
}

@test "the command's own lock file is removed when all of its run is dead" {
	forge cleanup="0 0 0 $PWD/own.lock"
	live WDRUN_ID="$id"
	echo "$living" >own.lock

	reap

	[ "$status" -eq 0 ]
	is_dead "$living"
	[ ! -e own.lock ]
	[[ $stderr == *"; removed '$PWD/own.lock'" ]]
}

@test "a file without a PID stays where no process of the run was left" {
	forge cleanup="0 0 0 $PWD/strange.txt" cleanup="0 0 0 $PWD/empty" \
		cleanup="0 0 0 $PWD/directory"
	echo data >strange.txt
	: >empty
	mkdir directory

	reap

	[ "$status" -eq 0 ]
	[ "$(cat strange.txt)" = data ]
	[ ! -e empty ]
	[ ! -e directory ]
	[[ $stderr == *"; left '$PWD/strange.txt', which another process may have made"* ]]
	is_off_the_record
}

@test "a file without a PID is removed where processes of the run were left, if it is no older than the run" {
	echo data >older
	sleep 1.1
	forge cleanup="0 0 0 $PWD/older" cleanup="0 0 0 $PWD/own"
	live WDRUN_ID="$id"
	echo data >own

	reap

	[ "$status" -eq 0 ]
	[ ! -e own ]
	[ -e older ]
	is_off_the_record
}

@test "a file in a directory is removed before the directory, whatever the order of the options" {
	forge cleanup="0 0 0 $PWD/d" cleanup="0 0 0 $PWD/d/pid"
	mkdir d
	echo "${dead% *}" >d/pid

	reap

	[ "$status" -eq 0 ]
	[ ! -e d ]
	[[ $stderr == *"; removed '$PWD/d/pid'; removed '$PWD/d'" ]]
	is_off_the_record
}

@test "the files of a run of which a process is left stay as they are" {
	echo "${dead% *}" >stale.lock
	session_of_nobody
	forge supervisor="$gone" lock="$PWD/stale.lock"

	reap

	[ "$status" -eq 1 ]
	[ -e stale.lock ]
	spares "$member"
	is_on_record
}

@test "--reap --quiet is silent about what it did" {
	forge
	live WDRUN_ID="$id"

	complete "$WDRUN" --reap -q

	[ "$status" -eq 0 ]
	is_dead "$living"
	[ -z "$output$stderr" ]
}

# --- those who get away from one look ----------------------------------------

# ends_brood WAY: --reap ends the processes that programs/brood forks in this
# WAY.
ends_brood() {
	forge
	start_member "$PROGRAMS/brood" 2000 "$@"
	await_ready

	reap

	[ "$status" -eq 0 ]
	nobody_is_left
	is_off_the_record
}

@test "a process forked by vfork while --reap looks is found" {
	ends_brood vfork
}

@test "a process forked as a sibling while --reap looks is found" {
	ends_brood sibling
}

@test "a process forked by a thread while --reap looks is found, though the main thread has exited" {
	ends_brood thread
}

@test "processes that fork on without an environment while --reap looks are found" {
	ends_brood deep
}

@test "a computing process without an environment does not hold up --reap" {
	forge
	env -i bash -c 'cd "$1"; echo "ready $$"; while :; do :; done' - "$PWD" \
		>busy 3>&- &
	await_ready busy

	reap

	[ "$status" -eq 0 ]
	is_off_the_record
	spares "$ready"
}

# --- unfinished entries ------------------------------------------------------

# leave_unfinished NAME SECONDS: leaves an unfinished entry that was last
# written so long ago. Sets unfinished.
leave_unfinished() {
	unfinished=$WDRUN_REGISTRY/.$1.new
	echo "wdrun 1" >"$unfinished"
	touch -d "$2" "$unfinished"
}

@test "an unfinished entry is removed when its writer is dead, by --reap or the next run" {
	leave_unfinished "$(new_id)" '2 minutes ago'
	reap
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[ ! -e "$unfinished" ]

	leave_unfinished "$(new_id)" '2 minutes ago'
	complete "$WDRUN" --name=next true
	[ "$status" -eq 0 ]
	[ ! -e "$unfinished" ]
}

@test "an unfinished entry of this boot and PID namespace is removed at once" {
	here=$(</proc/sys/kernel/random/boot_id).$(stat -Lc %i /proc/self/ns/pid)
	leave_unfinished "$(new_id).$here" 'now'
	reap
	[ "$status" -eq 0 ]
	[ ! -e "$unfinished" ]

	leave_unfinished "$$-1.$here" 'now'
	reap
	[ -e "$unfinished" ]
}

@test "an unfinished entry stays where its writer may be alive, or is unknown" {
	leave_unfinished "$(new_id)" 'now'
	reap
	[ -e "$unfinished" ]

	leave_unfinished "$$-$(printf '%x' "$(date +%s%N)")" '2 minutes ago'
	reap
	[ -e "$unfinished" ]

	for name in notes 0-1 -1-1 4711; do
		leave_unfinished "$name" '2 minutes ago'
		reap
		[ -e "$unfinished" ]
	done
}
