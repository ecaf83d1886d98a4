#!/usr/bin/env bats
#
# Promise 4, its last sentence: when front and supervisor were killed at once,
# `wdrun --reap` kills what is left of the run on record, and nothing else.
#
# Runs in a PID namespace of its own: --reap reads all processes of the machine.

load helper
load orphans

# reap_finishes PID...: --reap finishes the run, and these processes are dead.
reap_finishes() {
	local pid
	gives 0 complete "$WDRUN" --reap
	is_off_the_record
	for pid; do is_dead "$pid"; done
}

# reap_keeps WORD...: --reap does not finish the run, and a message has these words.
reap_keeps() {
	gives 1 complete "$WDRUN" --reap -q
	is_on_record
	has_message "$id" "$@"
}

# bats test_tags=smoke,tree
@test "--reap ends a daemon whose watchers are both dead, even if several --reap run; so does the next run on record" {
	orphan --name=nightly -- escape fork setsid stubborn
	is_listed nightly orphaned
	for _ in {1..4}; do
		("$WDRUN" --reap 2>>err && is_dead "$ready" && is_off_the_record) 3>&- &
		reapers+=("$!")
	done
	for pid in "${reapers[@]}"; do wait "$pid"; done
	has_line_count 1 err
	has_message "$id" nightly "$ready"
	orphan --name=nightly -- escape fork setsid stubborn
	seq 4 | xargs -n 1 -P 4 "$WDRUN" --quiet --name=daily true
	orphan --name=nightly -- bash -c 'for _ in {1..40}; do sleep 1000 & done; exec escape fork setsid'
	complete "$WDRUN" --name=daily -- grep -s State "/proc/$ready/status"
	[[ -z $output || $output == *zombie* ]]
	has_message "$id" nightly ' 41 '
	[ -z "$(ids)" ]
}

@test "--reap spares a daemon that --keep names and that leads a session, and its child" {
	# What bears the name, leads a session and gets the orphans, but is older, keeps nobody.
	start_run subreaper setsid bash -c 'exec -a kept bash -c "\"\$@\"; exec -a kept sleep 1000" - "$@"' - \
		"$WDRUN" --name=nightly --keep=kept bash -c 'daemon kept; daemon other; echo "ready $$"; exec escape stubborn'
	leader=$started
	find_id
	kill_watchers
	reap_finishes
	one_is_kept
	kill -KILL "$leader"
}

@test "--reap ends nested runs, and processes without WDRUN_ID that it knows by their session or parent" {
	number=5 orphan --name=a -- sh -c 'escape fork & chain 20000 &
		"$WDRUN" --registry="$PWD/other" escape fork setsid &
		escape fork empty &
		setsid sh -c "escape setsid empty & wait" & wait'
	reap_finishes "${left[@]}"
	nobody_is_left

	# The four watchers are killed at once.
	begin a -- "$WDRUN" --registry="$PWD/other" setsid sigcount
	find_watchers
	first_child "$target"
	kill -KILL "$front" "$supervisor" "$target" "$child"
	gives 0 complete "$WDRUN" --reap
	nobody_is_left
}

# bats test_tags=slow
@test "--reap ends what is left of a run in the session of another run, and nothing of the other run" {
	begin outer -- bash -c 'setsid sleep 1000 & echo "$!" >other
		"$WDRUN" --foreground --name=inner -- sh -c "escape fork & escape fork setsid & wait" &
		echo "$!" >inner; wait "$!"; exec sleep 1000'
	outer=$front outer_id=$id
	find_watchers
	caller=$target
	wait_until are_ready 2 outer.out
	front=$(<inner)
	find_id
	find_watchers
	kill_watchers
	wait_until is_asleep "$caller"
	reap_finishes "${left[@]}"
	is_unharmed "$(<other)"
	is_unharmed "$caller"
	is_unharmed "$outer"
	[ "$(ids)" = "$outer_id" ]
	end "$outer"
}

# bats test_tags=slow
@test "--reap leaves processes alone that only look like the run's, and its own ancestors, which a message names" {
	orphan --name=a -- escape fork setsid
	for like in "WDRUN_ID=${id}0" "WDRUN_ID=${id%?}" "WDRUN_ID=1$id" WDRUN_ID= \
		"XWDRUN_ID=$id" "WDRUN_IDX=$id" "X=WDRUN_ID=$id" "wdrun_id=$id"; do
		live "$like"
		strangers+=("$living")
	done
	live bash -c 'exec -a "WDRUN_ID=$1" sleep 1000' - "$id"
	strangers+=("$living")
	complete setsid env WDRUN_ID="$id" sh -c '"$WDRUN" --reap; echo "status $?, $$ lives"'
	[ "$output" = "status 1, $started lives" ]
	has_message "$id" "$started"
	is_dead "$ready"
	reap_finishes
	spares "${strangers[@]}"
}

# bats test_tags=slow
@test "--reap searches for two hundred orphaned runs at once, in less than 20 seconds" {
	forge
	for number in {1..249}; do
		printf -v other '%d-%x' "${id%-*}" "$number"
		cp "$WDRUN_REGISTRY/$id.run" "$WDRUN_REGISTRY/$other.run"
	done
	gives 1 complete bash -c 'ulimit -n 220; exec timeout 20 "$WDRUN" --reap' # it needs one for each
	has_line_count 201 err
	gives 0 complete "$WDRUN" --reap
	has_line_count 50 err
	[ -z "$(ids)" ]
}

@test "a process of the session that is not proven to be of the run lives on, and keeps the run on record" {
	orphan --name=a --lock=lock -- escape fork empty
	reap_keeps "$ready"
	[ -e lock ]
	spares "$ready"
	reap_finishes
	[ ! -e lock ]
}

# bats test_tags=slow
@test "--reap waits for a process that dies or is in execve(2), and keeps the run of one that hangs there on record" {
	need_mounts /dev/fuse
	mkdir mnt dying
	executable beside 'mount --make-rprivate /; (hung_fs mnt >server &); (hung_fs dying >other &)
		until [ -s server ] && [ -s other ]; do sleep .05; done' "exec '$WDRUN' \"\$@\""
	WDRUN=unshare orphan --mount ./beside --name=a -- bash -c '
		read -r _ server <server; read -r _ other <other
		(echo "$BASHPID" >pid; exec setsid hung_exec mnt/file "$server") &
		(exec 3<dying/file; kill -USR1 "$other"; echo "ready $BASHPID"; exec sleep 1000) & wait'
	dying=$ready
	wait_until grep -q hung server
	wait_until grep -q hung other
	wait_until grep -q 'VmExe:.* 0 kB' "/proc/$(<pid)/status"
	kill -KILL "$dying"
	wait_until no grep -q VmRSS "/proc/$dying/status"
	says_ready other
	sh -c 'sleep 7; kill -KILL "$0"' "$ready" 3>&- &
	servers=("$!")
	complete "$WDRUN" --reap
	first="$status: $stderr"
	says_ready server
	sh -c 'sleep 1; kill -KILL "$0"' "$ready" 3>&- &
	complete "$WDRUN" --reap
	wait "${servers[@]}" "$!" || true # else the teardown of a failed test would hang
	[[ "$status, $first" = "0, 1: "*"cannot look into $(<pid) "* && "$first" != *"left $dying"* ]]
	is_off_the_record
	is_dead "$(<pid)"
}

@test "--reap leaves a process of another user alone, and keeps its run on record" {
	need_other_user
	orphan --name=a -- bash -c '"$@" sleep 1000 &
		echo "$!" >other; escape fork setsid; wait' - "${as_nobody[@]}"
	wait_until is_asleep "$(<other)"
	reap_keeps "$(<other)"
	is_dead "$ready"
	spares "$(<other)"
	reap_finishes
}

@test "a run with one living watcher is listed as stopping; --reap waits for a living supervisor" {
	begin hurt -- escape fork setsid
	find_watchers
	kill_supervisor
	is_listed hurt stopping
	"$WDRUN" --reap
	is_unharmed "$ready"
	is_on_record
	kill -CONT "$front"
	wait "$front" || true
	is_dead "$ready"
	is_off_the_record
	begin job -- escape fork setsid stubborn
	kill -KILL "$front"
	reap_finishes "$ready"
	wait "$front" || true
}

# bats test_tags=slow
@test "a run of another PID namespace is listed as elsewhere, and neither reaped nor cancelled; --reap says how to finish it" {
	need_unshare --pid --fork --mount-proc
	begin job -- sigcount
	job=$front
	orphan --name=inside -- escape fork setsid
	complete unshare --pid --fork --mount-proc sh -c '"$WDRUN" --list >list
		"$WDRUN" --cancel=job; echo "$?"; "$WDRUN" --cancel=inside; echo "$?"
		"$WDRUN" --reap; echo "$?"'
	[ "$output" = $'125\n125\n0' ]
	[[ $(<list) =~ inside\ +[^\ ]+\ +elsewhere\  ]]
	has_message "$id" "rm '$WDRUN_REGISTRY/$id.run'"
	no has_message "$job-" rm # it is alive
	is_on_record
	is_unharmed "$ready"
	is_unharmed "$job"
	reap_finishes "$ready"
	end "$job"
}

# bats test_tags=slow
@test "--reap names a process that may be the run's, and whose environment cannot be read" {
	need_other_user
	give_to_all
	chown 65534 "$WDRUN_REGISTRY"
	cp "$(command -v sleep)" agent
	chmod 711 agent # who may not read a program may not look into its process
	start_run "${as_nobody[@]}" ./wdrun --name=a sh -c 'setsid ./agent 1000 & exec act any ready live'
	find_id
	agent=$(pgrep -x agent)
	! "${as_nobody[@]}" cat "/proc/$agent/environ" || skip "the environment can be read"
	kill_watchers
	gives 0 complete "${as_nobody[@]}" ./wdrun --reap
	has_message "$id" "$agent"
	is_off_the_record
	spares "$agent"
}

@test "--reap finishes a run from before the last boot without a signal, and leaves a run of another machine" {
	[ -s /etc/machine-id ] || skip "there is no /etc/machine-id"
	: >made
	forge boot=00000000-0000-0000-0000-000000000000 machine=0123456789abcdef
	elsewhere=$id
	forge boot=00000000-0000-0000-0000-000000000000 file="$PWD/made"
	live WDRUN_ID="$id"
	gives 0 complete "$WDRUN" --reap --quiet
	[ -z "$output$stderr" ]
	[ "$(ids)" = "$elsewhere" ]
	[ ! -e made ]
	spares "$living"
}

@test "a run that was killed while it waited for a lock leaves only its entry" {
	wait_for_lock --cleanup=made
	find_id
	kill -KILL "$front"
	wait_until is_dead "$front"
	: >made
	reap_finishes
	[ -e made ]
	[ "$(<lock)" = "$holder" ]
	is_listed holder running
	end "$holder"
}

# bats test_tags=smoke
@test "--reap removes the --lock and --cleanup files of the run, but not those of others, and says so" {
	: >before
	orphan --name=a --lock=lock --cleanup={before,pid,made,d,d/pid} -- bash -c 'mkdir d
		echo "$$" >pid; echo "$$" >d/pid; echo data >made; exec escape fork setsid'
	[ -e lock ]
	reap_finishes "$ready"
	[ "$(echo *)" = 'before err out registry' ]
	has_message "$PWD/pid" "$PWD/made" "$PWD/d/pid" "$PWD/lock"

	# A stranger has the PID that the lock of the run names.
	orphan --name=a --lock=lock -- sigcount
	printf '%d\n\n' "$$" >lock
	reap_finishes "$ready"
	[ ! -e lock ]

	# Another run has taken the lock, and no process of the run is left.
	orphan --name=a --lock=lock --cleanup={pid,text,empty,dir} -- bash -c 'mkdir dir
		: >empty; echo "$$" >pid; echo data >text; exec sigcount'
	env -u WDRUN_REGISTRY "$WDRUN" -q --lock=lock sigcount >out 3>&- &
	holder=$!
	await_ready
	reap_finishes
	[ "$(echo *)" = 'before err lock out registry' ]
	[ "$(<lock)" = "$holder" ]
	end "$holder"
}

@test "where a sandbox refuses pidfds and sendto(2), signals, locks, sockets and --reap work all the same" {
	need python3
	gives 0 complete forbid sandbox "$WDRUN"
	[ "$output" = fine ]
}
