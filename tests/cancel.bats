#!/usr/bin/env bats
#
# wdrun --cancel stops one run on record and no other, and returns when that run
# is gone.
#
# shellcheck disable=SC2016,SC2154,SC2030,SC2031

load helper
load orphans

setup() {
	common_setup
	make_registry
}

# begin NAME [OPTION]... -- COMMAND...: starts a run of that name in the
# background, with its output in NAME.out. Sets front and ready.
begin() {
	local -
	set +T
	local name=$1
	shift
	: >"$name.out"
	"$PROGRAMS/launch" --defaults "$WDRUN" --name="$name" "$@" \
		>"$name.out" 2>"$name.err" 3>&- &
	front=$!
	await_ready "$name.out"
}

cancel() {
	complete "$WDRUN" --cancel="$1"
}

# Prints the ID of the run whose front is PID.
id_of() {
	ids | grep "^$1-"
}

@test "--cancel stops one of three runs, alone, and returns when it is gone" {
	local -A fronts=() targets=()
	for name in one two three; do
		begin "$name" -k 100ms -- \
			"$PROGRAMS/escape" fork setsid stubborn
		fronts[$name]=$front targets[$name]=$ready
	done

	cancel two

	[ "$status" -eq 0 ]
	[ -z "$output$stderr" ]
	is_dead "${fronts[two]}"
	is_dead "${targets[two]}"
	is_unharmed "${fronts[one]}"
	is_unharmed "${targets[one]}"
	is_unharmed "${fronts[three]}"
	is_unharmed "${targets[three]}"
	[ "$(ids | wc -l)" -eq 2 ]

	cancel one
	cancel three
	[ -z "$(ids)" ]
}

@test "a run is named by its ID, or the PID of its front, supervisor or target" {
	local -a children
	local means
	for means in id front supervisor target; do
		begin job -- "$PROGRAMS/sigcount"
		children=("$(children_of "$front")")
		case $means in
		id) cancel "$(id_of "$front")" ;;
		front) cancel "$front" ;;
		supervisor) cancel "${children[0]}" ;;
		target) cancel "$ready" ;;
		esac
		[ "$status" -eq 0 ]
		is_dead "$ready"
		[ -z "$(ids)" ]
	done
}

@test "an ID goes before a name, and a name before a PID" {
	local one two
	begin one -- "$PROGRAMS/sigcount"
	one=$front
	begin "$one" -- "$PROGRAMS/sigcount"
	two=$front
	begin "$(id_of "$two")" -- "$PROGRAMS/sigcount"

	cancel "$(id_of "$two")"
	is_dead "$two"
	is_alive "$front"
	is_alive "$one"

	begin "$one" -- "$PROGRAMS/sigcount"
	cancel "$one"
	is_dead "$front"
	is_alive "$one"

	cancel one
	for id in $(ids); do cancel "$id"; done
	nobody_is_left
}

@test "the target that is the front of a run within the run means the inner run" {
	local outer
	begin outer -- "$PROGRAMS/launch" --defaults \
		"$WDRUN" --name=inner "$PROGRAMS/sigcount"
	outer=$front
	inner=$(ids | grep -v "^$outer-")

	cancel "${inner%%-*}"

	[ "$status" -eq 0 ]
	is_dead "$ready"
	wait_until is_dead "$outer"
}

@test "--cancel of a run that does not exist says so, and its status is 1" {
	begin job -- "$PROGRAMS/sigcount"

	for which in jo job2 "${front}0" 1 0 -1 '' "$front-0" '../job'; do
		cancel "$which"
		[ "$status" -eq 1 ]
		[ "$stderr" = "wdrun: no run '$which' in $WDRUN_REGISTRY" ]
	done
	is_unharmed "$ready"

	cancel job
	[ "$status" -eq 0 ]
	cancel job
	[ "$status" -eq 1 ]
	rm -r "$WDRUN_REGISTRY"
	cancel job
	[ "$status" -eq 1 ]
	[ "$stderr" = "wdrun: no run 'job' in $WDRUN_REGISTRY" ]
}

@test "a name of several runs is refused, with their IDs" {
	local first
	begin job -- "$PROGRAMS/sigcount"
	first=$front
	begin job -- "$PROGRAMS/sigcount"

	cancel job

	[ "$status" -eq 125 ]
	[[ $stderr == *"$(id_of "$first")"* ]]
	[[ $stderr == *"$(id_of "$front")"* ]]
	only_messages
	is_unharmed "$first"
	is_unharmed "$front"
	cancel "$(id_of "$first")"
	cancel "$(id_of "$front")"
	nobody_is_left
}

@test "a cancelled run ends as after a SIGTERM" {
	begin job -- "$PROGRAMS/sigcount"
	run_front=$front

	cancel job

	status=0
	wait "$run_front" || status=$?
	[ "$status" -eq 7 ]
	grep -qx 'got 15' job.out
}

@test "a run that does not end by itself is killed after --kill-after" {
	begin job -k 100ms -- "$PROGRAMS/escape" stubborn
	stubborn=$ready

	cancel job

	[ "$status" -eq 0 ]
	is_dead "$stubborn"
	nobody_is_left
}

@test "a run that ignores SIGTERM from the start is cancelled all the same" {
	local -a ignored=()
	for signal in TERM INT HUP QUIT; do
		ignored+=(--ignore "$signal")
		start "$PROGRAMS/launch" "${ignored[@]}" "$WDRUN" --name=job \
			-k 100ms "$PROGRAMS/escape" fork setsid
		await_ready
		job=$started

		"$WDRUN" --cancel=job

		is_dead "$job"
		wait_until nobody_is_left
		[ -z "$(ids)" ]
	done
}

@test "a run that is stopped is cancelled all the same" {
	begin job -- "$PROGRAMS/sigcount"
	kill -STOP "$front"
	wait_until is_stopped "$front"

	cancel job

	[ "$status" -eq 0 ]
	is_dead "$ready"
	is_dead "$front"
}

@test "the ID that the table of --list shows is enough for --cancel" {
	begin job -- "$PROGRAMS/sigcount"
	shown=$("$WDRUN" --list | awk '$1 == "job" { print $2 }')
	[ "$shown" = "$front" ]
	cancel "$shown"
	[ "$status" -eq 0 ]
	is_dead "$ready"

	# Another process has the PID of the dead front.
	live
	forge id="$living-77" name=lost \
		front="$living $(($(start_of "$living") - 1))"
	[ "$("$WDRUN" --list | awk '$1 == "lost" { print $2 }')" = "$living" ]
	cancel "$living"
	[ "$status" -eq 0 ]
	is_off_the_record
	spares "$living"
}

@test "--cancel of a run whose watchers were both killed ends what is left of it" {
	orphan --name=job -- "$PROGRAMS/escape" fork setsid stubborn
	orphan=$ready

	cancel job

	[ "$status" -eq 0 ]
	is_dead "$orphan"
	[ -z "$(ids)" ]
	[[ $stderr == "wdrun: run "*" (job): killed 1 process: $orphan "* ]]
}

@test "--cancel with too few descriptors either stops the run or says why not" {
	local descriptors
	begin job -k never -- "$PROGRAMS/sigcount"

	for descriptors in {3..12}; do
		complete bash -c 'ulimit -n "$1"; exec "$WDRUN" --cancel=job' \
			- "$descriptors"
		((status != 0)) || break
		[ "$status" -eq 125 ] || [ "$status" -eq 127 ]
		[ -n "$stderr" ]
		is_unharmed "$front"
	done

	[ "$status" -eq 0 ]
	is_dead "$front"
	is_dead "$ready"
}

@test "a run whose entry cannot be read does not count as no run" {
	forge name=job
	sed -i 's/^wdrun 1$/wdrun 99/' "$WDRUN_REGISTRY/$id.run"

	cancel "$id"

	[ "$status" -eq 125 ]
	[[ $stderr == "wdrun: registry: '$id.run' cannot be used: "* ]]
	[ "$(wc -l <err)" -eq 1 ]
	is_on_record
}

@test "a run whose entry fails to be read is not taken for none either" {
	need strace
	export ASAN_OPTIONS=detect_leaks=0 # which does not work under strace
	begin job -- "$PROGRAMS/sigcount"
	id=$(id_of "$front")

	complete strace -qq -o trace -P "$WDRUN_REGISTRY/$id.run" \
		-e trace=read -e inject=read:error=EIO "$WDRUN" --cancel=job

	[ "$status" -eq 125 ]
	[[ $stderr == *"wdrun: registry: '$id.run' cannot be used: "* ]]
	is_unharmed "$front"
	cancel job
	[ "$status" -eq 0 ]
}

@test "a front that is killed meanwhile leaves nothing to be cancelled" {
	begin job -k never -- "$PROGRAMS/escape" fork setsid stubborn
	start "$WDRUN" --cancel=job
	cancel=$started
	wait_until grep -q 'wd-stopping' \
		"/proc/$(children_of "$front")/comm"
	is_alive "$cancel"

	kill -KILL "$front"
	finish

	[ "$status" -eq 0 ]
	wait_until nobody_is_left
	[ -z "$(ids)" ]
}

@test "on a kernel without pidfds --cancel does the same" {
	begin job -k 100ms -- "$PROGRAMS/escape" stubborn

	complete "$PROGRAMS/deny" pidfd_open pidfd_send_signal -- \
		"$WDRUN" --cancel=job

	[ "$status" -eq 0 ]
	is_dead "$ready"
	is_dead "$front"
	[ -z "$(ids)" ]
}

@test "a process that got the PID of a dead front or supervisor gets no signal" {
	local watcher
	live
	watcher="$living $(($(start_of "$living") - 1))"
	forge name=job front="$watcher" supervisor="$watcher"

	cancel job

	[ "$status" -eq 0 ]
	is_off_the_record
	spares "$living"
}

@test "a process that got the PID of a dead target does not stand for its run" {
	local stranger
	live
	stranger=$living
	live
	forge front="$living $(start_of "$living")" \
		target="$stranger $(($(start_of "$stranger") - 1))"

	cancel "$stranger"

	[ "$status" -eq 1 ]
	is_on_record
	spares "$stranger" "$living"
}

@test "a run of another PID namespace is not cancelled from here" {
	live
	forge name=job pidns=1 front="$living $(start_of "$living")"

	cancel "$living"
	[ "$status" -eq 1 ]
	cancel job
	[ "$status" -eq 125 ]
	[[ $stderr == "wdrun: "*"another PID namespace"* ]]

	is_on_record
	spares "$living"
}

@test "a run from before the last boot cannot be cancelled" {
	live
	forge name=job boot=0 front="$living $(start_of "$living")"

	reboot
	complete "${rebooted[@]}" "$WDRUN" --cancel=job

	[ "$status" -eq 1 ]
	is_on_record
	spares "$living"
}

# Between the moment at which --cancel has found the front of a run and the
# moment at which it opens a pidfd for it, the front dies and another process
# gets its PID. Fails where limit was too short for that.
gives_its_pid_away() {
	rm -f "$WDRUN_REGISTRY"/* trace # of a limit that was too short
	live
	forge name=job front="$living $(start_of "$living")"
	start strace -f -qq -o trace -e trace=pidfd_open \
		-e inject=pidfd_open:delay_enter="$limit"s:when=1 \
		"$WDRUN" --cancel=job
	wait_until grep -q pidfd_open trace
	kill -KILL "$living"
	wait "$living" || true
	: >impostor
	"$PROGRAMS/impostor" "$living" >impostor 3>&- &
	await_ready impostor
	[ "$ready" = "$living" ] && is_asked=$(grep -c ' = ' trace)
	finish
	# spares comes first, since it ends the impostor also for a limit that was
	# too short.
	spares "$ready" && [ "$status" -eq 0 ] && [ "$is_asked" = 0 ]
}

@test "a process that gets the PID of a front just before the signal gets no signal" {
	need strace
	need_impostor
	export ASAN_OPTIONS=detect_leaks=0 # LeakSanitizer does not work under strace
	with_more_time gives_its_pid_away
}
