#!/usr/bin/env bats
#
# wdrun --cancel stops one run on record and no other, and returns when that run is gone.
#
# Runs in a PID namespace of its own: other tests' processes are not its subject.

load helper
load orphans

# cancel STATUS RUN: --cancel=RUN ends with that.
cancel() {
	gives "$1" complete "$WDRUN" --cancel="$2"
}

# is_cancelled RUN: --cancel=RUN succeeds without a word, and the run of begin is gone.
is_cancelled() {
	cancel 0 "$1"
	[ -z "$output$stderr" ]
	is_dead "$front"
	is_dead "$ready"
	is_off_the_record
}

# bats test_tags=smoke,tree
@test "--cancel stops one run by SIGTERM, found by name, ID or PID, and returns when the run is gone" {
	begin other -- escape fork setsid
	other=("$front" "$ready" "$id")
	begin job -k 100ms -- escape fork setsid stubborn
	is_cancelled job
	for which in id front; do
		begin job -- sigcount
		is_cancelled "${!which}"
		gives 7 await "$front"
		grep -qx 'got 15' job.out
	done
	is_unharmed "${other[0]}"
	is_unharmed "${other[1]}"
	[ "$(ids)" = "${other[2]}" ]
	cancel 0 other
	[ -z "$(ids)" ]
}

# bats test_tags=slow
@test "--cancel gives 1 if there is no such run, and stops none if the name fits several runs" {
	begin job -- sigcount
	first=$front first_id=$id
	begin job -- sigcount
	cancel 125 job
	has_message job --list
	is_unharmed "$first"
	cancel 0 "$first_id"
	is_dead "$first"

	for which in jo job2 "${front}0" 0 -1 "$front-0" ../job; do
		cancel 1 "$which"
		has_line_count 1 err
		has_message "$which"
	done
	is_unharmed "$ready"
	is_cancelled job
	rm -r "$WDRUN_REGISTRY"
	cancel 1 job
	[ ! -e "$WDRUN_REGISTRY" ]
}

# bats test_tags=slow
@test "--cancel also ends a run that ignores SIGTERM, hangs, is stopped, or waits for a lock" {
	for name in never hung; do
		begin "$name" -k never -- escape fork setsid stubborn
		find_watchers
		[ "$name" = never ] || seized "$supervisor"
		"$WDRUN" --cancel="$name" 3>&- &
		waits+=("$!")
		dead+=("$front" "$ready")
	done
	start_run env --ignore-signal=TERM "$WDRUN" --name=job -k 100ms escape fork setsid
	find_id
	"$WDRUN" --cancel=job
	is_dead "$front"
	is_dead "$ready"
	is_off_the_record
	begin job -- sigcount
	kill -STOP "$front"
	wait_until is_stopped "$front"
	is_cancelled job
	for pid in "${waits[@]}"; do wait "$pid"; done
	for pid in "${dead[@]}"; do is_dead "$pid"; done
	wait_for_lock
	cancel 0 second
	[ -z "$stderr" ]
	gives 143 await "$front"
	[ ! -s out ]
	[ "$(ids)" = "$id" ]
	is_unharmed "$ready"
	front=$holder
	is_cancelled holder
	begin thrice -k never -- escape stubborn
	for _ in 1 2 3; do "$WDRUN" --cancel=thrice 3>&- & pause 0.3; done # longer than for a copy
	wait "$front" || true
	grep 'a third terminating signal' thrice.err
}

# bats test_tags=smoke,tree
@test "--cancel ends the processes of a run whose watchers were killed, and spares a process that got a watcher's PID" {
	orphan --name=job -- escape fork setsid stubborn
	cancel 0 job
	is_dead "$ready"
	is_off_the_record
	has_message "$id" "$ready"

	begin job -k never -- escape fork setsid stubborn
	start "$WDRUN" --cancel=job
	wait_until is_listed job stopping
	is_alive "$started"
	kill -KILL "$front"
	gives 0 finish
	wait_until nobody_is_left
	is_off_the_record
	live
	for mode in --cancel=job --reap; do
		forge name=job watcher="$living $(($(start_of "$living") - 1))"
		is_listed job orphaned
		gives 0 complete "$WDRUN" "$mode"
		is_off_the_record
	done
	# Without a machine-id, it may be of another machine.
	forge name=job boot=00000000-0000-0000-0000-000000000000 \
		watcher="$living $(start_of "$living")"
	if [ -s /etc/machine-id ]; then
		cancel 0 job
		is_off_the_record
	else
		cancel 125 job
	fi
	spares "$living"
}
