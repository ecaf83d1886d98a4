#!/usr/bin/env bats
#
# Promise 4, its last sentence: when front and supervisor were killed at once,
# `wdrun --reap` kills what is left of the run on record, and nothing else.
#
# Runs in a PID namespace of its own: --reap reads all processes of the machine.
#
# shellcheck disable=SC2016,SC2154,SC2030,SC2031

load helper
load orphans

setup() {
	common_setup
	make_registry
}

# reap_finishes PID...: --reap finishes the run, and these processes are dead.
reap_finishes() {
	complete "$WDRUN" --reap
	[ "$status" -eq 0 ]
	is_off_the_record
	only_messages
	are_dead "$@"
}

are_dead() {
	local pid
	for pid; do is_dead "$pid" || return; done
}

# reap_keeps WORD...: --reap does not finish the run, which a message with these
# words says.
reap_keeps() {
	complete "$WDRUN" --reap
	[ "$status" -eq 1 ]
	is_on_record
	has_message "$id" "$@"
}

# bats test_tags=smoke,tree
@test "--reap ends a daemon that both watchers left behind, and says so, but for --quiet" {
	orphan --name=nightly -- "$PROGRAMS/escape" fork setsid stubborn
	is_listed nightly orphaned
	reap_finishes "$ready"
	has_message "$id" nightly "$ready"

	orphan --name=nightly -- "$PROGRAMS/escape" fork setsid
	complete "$WDRUN" --reap --quiet
	[ "$status" -eq 0 ]
	[ -z "$output$stderr$(ids)" ]
	is_dead "$ready"
}

# bats test_tags=smoke
@test "a registered run ends what an earlier one has left before it starts" {
	orphan --name=nightly -- "$PROGRAMS/escape" fork setsid stubborn
	complete "$WDRUN" --name=daily -- bash -c '. "$1"
		is_dead "$2" && echo "is dead"' - "$BATS_TEST_DIRNAME/helper.bash" "$ready"
	[ "$status" -eq 0 ]
	[ "$output" = "is dead" ]
	has_message "$id" nightly "$ready"
	[ -z "$(ids)" ]
}

@test "one process with the run's ID proves the session of the run, with those that have no environment" {
	number=2 orphan --name=a -- bash -c '"$PROGRAMS/escape" fork &
		"$PROGRAMS/escape" fork empty & wait'
	reap_finishes "${left[@]}"
}

@test "a process without its environment, in another session, is ended with its parent" {
	orphan --name=a -- bash -c '
		setsid bash -c "\"\$PROGRAMS/escape\" setsid empty & wait" & wait'
	reap_finishes "${left[@]}"
	nobody_is_left
}

@test "what a run in the caller's session has left is ended, and the caller is not" {
	local caller
	start setsid bash -c '"$WDRUN" --foreground --name=a -- "$PROGRAMS/escape" fork &
		echo "front $!"; wait; exec sleep 1000'
	caller=$started
	await_ready
	front=$(sed -n 's/^front //p' out)
	find_id
	kill_watchers "$front" "$(children_of "$front")"
	wait_until is_asleep "$caller"
	reap_finishes "$ready"
	spares "$caller"
}

# bats test_tags=smoke
@test "a run within an orphaned run is ended with it" {
	local child inner
	start "$WDRUN" --name=outer -- bash -c '"$PROGRAMS/escape" fork &
		exec env -u WDRUN_REGISTRY "$WDRUN" --foreground -- bash -c \
			"\"\$PROGRAMS/escape\" fork & \"\$PROGRAMS/escape\" fork setsid & wait"'
	await_watchers
	wait_until are_ready 3
	find_id
	for child in $(children_of "$target"); do
		[ ! "/proc/$child/exe" -ef "/proc/$front/exe" ] || inner=$child
	done
	kill_watchers "$front" "$supervisor" "$target" "$inner"
	reap_finishes "${left[@]}"
}

@test "a fork storm that was left behind is ended, and so are processes that go on forking" {
	orphan --name=storm -- bash -c '"$PROGRAMS/storm" 200 & wait'
	reap_finishes
	nobody_is_left
	number=2 orphan --name=chain -- bash -c '"$PROGRAMS/chain" 20000 &
		"$PROGRAMS/escape" fork setsid & wait'
	reap_finishes
	nobody_is_left
}

# bats test_tags=smoke
@test "processes whose ID only looks like the run's are left alone" {
	local like
	local -a strangers=()
	orphan --name=a -- "$PROGRAMS/escape" fork setsid
	for like in "WDRUN_ID=${id}0" "WDRUN_ID=${id%?}" "WDRUN_ID=1$id" \
		"WDRUN_ID=${id#?}" "WDRUN_ID=${id^^}" "WDRUN_ID= $id" \
		"WDRUN_ID=" "XWDRUN_ID=$id" "WDRUN_IDX=$id" \
		"X=WDRUN_ID=$id" $'X=1\nWDRUN_ID='"$id" \
		"WDRUN_ID=$id$id$id$id" "wdrun_id=$id"; do
		live "$like"
		strangers+=("$living")
	done
	live bash -c 'exec -a "WDRUN_ID=$1" sleep 1000' - "$id"
	reap_finishes "$ready"
	spares "${strangers[@]}" "$living"
}

@test "a process of the run's session stays, unsignalled and on record, where nothing proves it the run's" {
	orphan --name=a --lock=lock -- "$PROGRAMS/escape" fork empty
	need_reaper
	reap_keeps "$ready"
	[ -e lock ]
	spares "$ready"
	reap_finishes
	[ ! -e lock ]
}

@test "a process of another user is left alone, whatever ID it carries, and keeps its run on record" {
	local stranger
	need_other_user
	orphan --name=a -- bash -c '"$PROGRAMS/escape" fork setsid &
		setpriv --reuid=65534 --regid=65534 --clear-groups sleep 1000 &
		echo "other $!"; wait'
	stranger=$(sed -n 's/^other //p' out)
	wait_until is_asleep "$stranger"
	reap_keeps "$stranger"
	are_dead "${left[@]}"
	spares "$stranger"
	reap_finishes
}

@test "--reap within an orphaned run leaves itself and its ancestors alone, and says so" {
	orphan --name=a -- "$PROGRAMS/escape" fork setsid
	complete setsid env WDRUN_ID="$id" bash -c '"$WDRUN" --reap
		echo "status $?, $$ lives"'
	[ "$output" = "status 1, $started lives" ]
	has_message "$id" "$started"
	is_on_record
	is_dead "$ready"
}

@test "a run of which one watcher lives is listed as stopping, and left to that watcher" {
	start "$WDRUN" --name=hurt -- "$PROGRAMS/escape" fork setsid
	await_watchers
	await_ready
	find_id
	kill -STOP "$front"
	wait_until is_stopped "$front"
	kill -KILL "$supervisor"
	wait_until is_dead "$supervisor"
	is_listed hurt stopping
	"$WDRUN" --reap
	is_unharmed "$ready"
	is_on_record
	kill -CONT "$front"
	finish
	is_dead "$ready"
	is_off_the_record
}

@test "the run within which an orphaned run was started is left alone" {
	local outer outer_id other
	begin outer -- bash -c 'setsid sleep 1000 & echo "other $!"
		"$WDRUN" --name=inner -- "$PROGRAMS/escape" fork setsid &
		echo "front $!"; wait; exec sleep 1000'
	outer=$front outer_id=$id
	other=$(sed -n 's/^other //p' outer.out)
	front=$(sed -n 's/^front //p' outer.out)
	find_id
	kill_watchers "$front" "$(children_of "$front")"
	reap_finishes "$ready"
	is_unharmed "$other"
	is_unharmed "$outer"
	[ "$(ids)" = "$outer_id" ]
	end "$outer"
}

@test "a run of another PID namespace is neither reaped nor cancelled from there, and listed as elsewhere" {
	local -a there=(unshare --pid --fork --mount-proc)
	need_unshare --pid --fork --mount-proc
	begin job -- "$PROGRAMS/sigcount"
	complete "${there[@]}" "$WDRUN" --cancel=job
	[ "$status" -eq 125 ]
	complete "${there[@]}" "$WDRUN" --reap
	is_unharmed "$front"
	is_unharmed "$ready"
	end "$front"

	orphan --name=inside -- "$PROGRAMS/escape" fork setsid
	is_listed inside elsewhere "${there[@]}"
	complete "${there[@]}" "$WDRUN" --reap
	[ "$status" -eq 0 ]
	complete "${there[@]}" "$WDRUN" --cancel=inside
	[ "$status" -eq 125 ]
	is_on_record
	is_unharmed "$ready"
	reap_finishes "$ready"
}

@test "an entry from before the last boot is removed without a signal, but not one of another machine" {
	local elsewhere up
	unshare --time true 2>/dev/null || skip "needs time namespaces, and root"
	[ -s /etc/machine-id ] || skip "there is no /etc/machine-id"
	forge boot=00000000-0000-0000-0000-000000000000 machine=0123456789abcdef
	elsewhere=$id
	forge boot=00000000-0000-0000-0000-000000000000
	live WDRUN_ID="$id"
	sleep 2.1 # the boot is as long after the entries as clocks may differ
	read -r up _ </proc/uptime
	complete unshare --time --boottime="-${up%.*}" "$WDRUN" --reap
	[ "$status" -eq 0 ]
	[ "$(ids)" = "$elsewhere" ]
	spares "$living"
}

@test "of several --reap at once, one finishes the run" {
	local each
	local -a reapers=()
	orphan --name=a -- "$PROGRAMS/escape" fork setsid
	for each in {1..5}; do
		"$WDRUN" --reap 2>"err.$each" 3>&- &
		reapers+=("$!")
	done
	for each in "${reapers[@]}"; do wait "$each" || true; done
	is_dead "$ready"
	is_off_the_record
	cat err.* >err
	[ "$(wc -l <err)" -eq 1 ]
	has_message "$id" "$ready"
}

@test "a run that was killed while it waited for a lock leaves an entry that --reap removes, and no more" {
	wait_for_lock --cleanup=made
	find_id
	kill -KILL "$front"
	wait_until is_dead "$front"
	: >made
	is_listed second orphaned
	reap_finishes
	[ -e made ]
	[ "$(<lock)" = "$holder" ]
	is_listed holder running
	end "$holder"
}

@test "--reap removes the lock file of an orphaned run, but not when another has taken the lock" {
	orphan --name=a --lock=lock -- "$PROGRAMS/escape" fork setsid
	[ -e lock ]
	reap_finishes "$ready"
	[ ! -e lock ]
	has_message "$PWD/lock"

	orphan --name=a --lock=lock -- "$PROGRAMS/escape" fork setsid
	env -u WDRUN_REGISTRY "$WDRUN" -q --lock=lock "$PROGRAMS/sigcount" >out 3>&- &
	holder=$!
	await_ready
	reap_finishes
	[ "$(<lock)" = "$holder" ]
	end "$holder"
}

# bats test_tags=smoke
@test "--reap removes the files of --cleanup that the run made, also a file before its directory" {
	: >before
	orphan --name=a --cleanup=before --cleanup=pid --cleanup=made --cleanup=d \
		--cleanup=d/pid -- bash -c 'mkdir d
		echo "$$" >pid; echo "$$" >d/pid; echo data >made
		exec "$PROGRAMS/escape" fork setsid'
	reap_finishes "$ready"
	[ -e before ]
	[ ! -e pid ]
	[ ! -e made ]
	[ ! -e d ]
	has_message "$PWD/pid" "$PWD/made" "$PWD/d/pid"
}

@test "where no process of the run was left, --reap leaves a file of --cleanup that may be another's, and says so" {
	orphan --name=a --cleanup=pid --cleanup=text -- bash -c \
		'echo "$$" >pid; echo data >text; exec "$PROGRAMS/sigcount"'
	reap_finishes
	[ ! -e pid ]
	[ "$(<text)" = data ]
	has_message "$PWD/text"
}
