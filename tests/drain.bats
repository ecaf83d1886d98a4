#!/usr/bin/env bats
#
# After the command's end its output is still on its way. It is delivered,
# however slow the reader, and no reader, survivor or process outside the tree
# holds back the status.
#
# Starts first: its tests take long, one after the other.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load relays

# Sets lost to the number of bytes that wdrun reports as lost.
read_lost() {
	lost=$(sed -n 's/^wdrun: \([0-9]*\) bytes of output are lost: .*/\1/p' err)
	[[ $lost =~ ^[0-9]+$ ]]
}

# written_is_out_and_lost BYTES: the bytes in out and the lost bytes add up to
# BYTES.
written_is_out_and_lost() {
	read_lost
	echo "out $(wc -c <out), lost $lost"
	(($(wc -c <out) + lost == $1))
}

# --- slow readers ------------------------------------------------------------

@test "a reader that takes 1 KB now and then gets all of it, and the status" {
	# The bounds for survivors do not apply to a reader.
	local option
	for option in -i60 --until=nothing --pty; do
		complete "$PROGRAMS/sip" -c 1024 -p 25 "$WDRUN" "$option" \
			--idle-after-exit=200ms --max-after-exit=300ms \
			sh -c '"$PROGRAMS/pattern" write 1 20000; exit 7'

		echo "$option"
		[ "$status" -eq 7 ]
		[ "$("$PROGRAMS/pattern" check 1 20000 <out)" = same ]
		[ -z "$stderr" ]
	done
}

@test "a reader that comes late gets all of it, and the status" {
	start "$PROGRAMS/sip" -w go "$WDRUN" -i 60 --idle-after-exit=100ms \
		--max-after-exit=100ms sh -c \
		'"$PROGRAMS/pattern" write 1 20000; exit 7'
	await_run_below
	wait_until is_dead "$target"
	pause 0.5 # longer than the bounds for survivors
	is_alive "$front"

	touch go
	finish

	[ "$status" -eq 7 ]
	[ "$("$PROGRAMS/pattern" check 1 20000 <out)" = same ]
	[ -z "$stderr" ]
}

@test "a slow reader of stderr is waited for as well" {
	complete "$PROGRAMS/sip" -c 1024 -p 50 sh -c '"$WDRUN" -i 60 sh -c "
		\"\$PROGRAMS/pattern\" write 1 10 2 20000; exit 7" \
		2>&1 >first'

	[ "$status" -eq 7 ]
	[ "$("$PROGRAMS/pattern" check 2 20000 <out)" = same ]
	[ "$("$PROGRAMS/pattern" check 1 10 <first)" = same ]
}

@test "output that was written right before the exit is delivered, time and again" {
	local i
	for i in {1..15}; do
		"$WDRUN" -i 60 "$PROGRAMS/pattern" write "$i" 50000 |
			"$PROGRAMS/pattern" check "$i" 50000
		"$WDRUN" --pty "$PROGRAMS/pattern" write "$i" 50000 |
			"$PROGRAMS/pattern" check "$i" 50000
	done >verdicts

	[ "$(sort verdicts | uniq -c | xargs)" = "30 same" ]
}

# quickest COMMAND...: sets microseconds to the time of the fastest of 10 runs.
quickest() {
	local -
	set +T
	local i before took
	microseconds=1000000000
	for i in {1..10}; do
		before=${EPOCHREALTIME/[.,]/}
		"$@" >>out
		took=$((${EPOCHREALTIME/[.,]/} - before))
		((took >= microseconds)) || microseconds=$took
	done
}

# A wait would be in all of the runs; other load of the machine is not.
costs_no_time() {
	local without
	quickest "$WDRUN" echo hello
	without=$microseconds
	quickest "$WDRUN" -i 60 echo hello
	((microseconds <= 3 * without + 50000))
}

@test "where nothing is left to be delivered the end costs no time" {
	with_more_time costs_no_time

	[ "$(($(wc -l <out) % 20))" -eq 0 ]
}

# --- readers that are stuck --------------------------------------------------

# The command has to write all of its output before the timeout.
ends_by_itself_with_a_stuck_reader() {
	complete "$PROGRAMS/sip" -n "$WDRUN" "$@" -t "$limit" -k 300ms \
		sh -c '"$PROGRAMS/pattern" write 1 6000; exit 7'
	[ "$status" -eq 7 ]
}

@test "a reader that never reads does not hold the status beyond --timeout" {
	local option
	for option in -i60 --until=nothing --tee=copy --pty; do
		echo "$option"
		with_more_time ends_by_itself_with_a_stuck_reader "$option"

		[ "$(wc -l <err)" -eq 1 ]
		written_is_out_and_lost 6000
		((lost > 0))
		[[ $stderr == *" bytes of output are lost: the reader did not take them in time" ]]
		cmp out <(head -c "$(wc -c <out)" \
			<("$PROGRAMS/pattern" write 1 6000))
	done

	with_more_time ends_by_itself_with_a_stuck_reader -q -i 60
	[ -z "$stderr" ]
}

loses_some_of_much() {
	complete "$PROGRAMS/sip" -n "$WDRUN" -i 60 -t "$limit" -k 300ms \
		"$PROGRAMS/pattern" write 1 5000000
	read_lost
}

@test "a command that is late because its reader is stuck gets 124" {
	with_more_time loses_some_of_much

	[ "$status" -eq 124 ]
	((lost > 0 && lost < 5000000))
	grep -q '^wdrun: timed out after .*s, stopping' err
	nobody_is_left
}

loses_of_both() {
	complete "$PROGRAMS/sip" -n sh -c '"$WDRUN" -i 60 -t "$1" -k 300ms \
		sh -c "\"\$PROGRAMS/pattern\" write 1 15000; exit 7" \
		2>messages' - "$limit"
	mv messages err
	[ "$status" -eq 7 ]
}

@test "what both streams have lost is reported in one line" {
	with_more_time loses_of_both

	[ "$(wc -l <err)" -eq 1 ]
	written_is_out_and_lost 15000
}

@test "after a signal a stuck reader is waited for until --kill-after" {
	start "$PROGRAMS/sip" -n "$WDRUN" -i 60 -k 400ms sh -c '
		"$PROGRAMS/pattern" write 1 15000; exit 7'
	await_run_below
	wait_until is_dead "$target"
	is_alive "$front"

	kill -TERM "$front"
	finish

	[ "$status" -eq 7 ]
	written_is_out_and_lost 15000
}

@test "after a signal a reader that takes nothing is not waited for any longer" {
	start "$PROGRAMS/sip" -n "$WDRUN" -i 60 -k never sh -c '
		"$PROGRAMS/pattern" write 1 15000; exit 7'
	await_run_below
	wait_until is_dead "$target"

	kill -TERM "$front"
	finish

	[ "$status" -eq 7 ]
	written_is_out_and_lost 15000
}

@test "after a signal a reader that keeps reading is waited for, however slow it is" {
	# This is longer than a reader that takes nothing is waited for.
	start "$PROGRAMS/sip" -c 1024 -p 80 "$WDRUN" -i 60 -k never sh -c '
		"$PROGRAMS/pattern" write 1 36000; exit 7'
	await_run_below
	wait_until is_dead "$target"

	kill -TERM "$front"
	finish

	[ "$status" -eq 7 ]
	[ "$("$PROGRAMS/pattern" check 1 36000 <out)" = same ]
	[ -z "$stderr" ]
}

@test "a third signal gives up at once, though the reader goes on" {
	start "$PROGRAMS/sip" -c 512 -p 800 "$WDRUN" -i 60 -k never sh -c '
		"$PROGRAMS/pattern" write 1 60000; exit 7'
	await_run_below
	wait_until is_dead "$target"

	kill -TERM "$front"
	wait_until was_taken
	kill -TERM "$front"
	wait_until was_taken
	kill -TERM "$front"
	finish

	[ "$status" -eq 7 ]
	written_is_out_and_lost 60000
	((lost > 20000)) # the reader would have taken these in time
}

# Succeeds when neither watcher has a pending SIGTERM: a second one would merge
# with it.
was_taken() {
	no is_pending "$front" && no is_pending "$supervisor" &&
		sleep 0.05 && no is_pending "$supervisor"
}

# is_pending PID: a SIGTERM is pending there.
is_pending() {
	local pending
	pending=$(sed -n 's/^ShdPnd:\t//p' "/proc/$1/status")
	((16#$pending & 1 << 14))
}

@test "a stuck reader and a caller that dies: the run ends" {
	mkfifo fifo
	exec 7<>fifo
	"$PROGRAMS/pattern" write 2 60000 >&7 # fills the pipe, so that the run's output has hardly any room
	start sh -c '"$WDRUN" --die-with-parent -k 300ms -i 60 sh -c "
		\"\$PROGRAMS/pattern\" write 1 50000" 7>&- >fifo & echo $! >pid
		exec sleep 1000' 7>&-
	wait_until test -s pid
	front=$(cat pid)
	wait_until has_no_target

	kill -KILL "$started"
	wait_until is_dead "$front"
	exec 7>&-
	finish
	read_lost
}

has_no_target() {
	supervisor=$(supervisor_of "$front") && [ -n "$supervisor" ] &&
		target=$(children_of "$supervisor" | head -n 1) &&
		is_dead "${target:-0}"
}

is_read_slowly_after_a_stop() {
	complete "$PROGRAMS/sip" -c 2048 -p 50 "$WDRUN" -i 60 -t "$limit" -k 20 sh -c '
		"$PROGRAMS/pattern" write 1 16384; sleep 1000'

	[ "$status" -eq 124 ] &&
		[ "$("$PROGRAMS/pattern" check 1 16384 <out)" = same ] &&
		[ "$(grep -vc "^wdrun:   " err)" -eq 1 ]
}

@test "a stop by --timeout leaves a reader that is slow the time of the stop" {
	with_more_time is_read_slowly_after_a_stop
}

# --- survivors and strangers -------------------------------------------------

# The survivor writes for twice the bound in all, and pauses for a fifth of it.
is_heard_to_the_end() {
	local milliseconds
	printf -v milliseconds %.0f "${moment}e3"
	complete "$WDRUN" -i 60 --idle-after-exit="$limit" --max-after-exit=never \
		"$PROGRAMS/ticker" "$milliseconds" 10 3

	[ "$status" -eq 3 ] && [ "$(grep -c '^tick' out)" -eq 10 ] &&
		[ "$(tail -n 1 out)" = "done" ] && [ -z "$stderr" ]
}

@test "what a survivor writes comes through, and is progress" {
	with_more_time is_heard_to_the_end
}

@test "what a survivor writes to the pseudo-terminal comes through" {
	complete "$WDRUN" --pty --idle-after-exit=60 --max-after-exit=60 bash -c '
		trap "" HUP; (sleep 0.2; echo late) & exit 3'

	[ "$status" -eq 3 ]
	[ "$output" = late ]
	[ -z "$stderr" ]
}

@test "a survivor that holds the output does not hold \$(wdrun ...)" {
	complete bash -c 'x=$("$WDRUN" -i 60 --idle-after-exit=200ms \
		sh -c "setsid sleep 1000 & echo hi; exit 3"); echo "$? $x"'

	[ "$output" = "3 hi" ]
	[[ $stderr == *"output held open by"*"sleep"*"fd 1"* ]]
	nobody_is_left
}

loses_of_a_flood() {
	complete "$PROGRAMS/sip" -n "$WDRUN" -i 60 --max-after-exit="$moment" \
		-k 300ms -t "$limit" sh -c 'yes & exit 3'
	[ "$status" -eq 3 ] && read_lost && nobody_is_left
}

@test "a survivor that floods its output is stopped, with a reader or without" {
	complete bash -c '"$WDRUN" -i 60 --max-after-exit=200ms -k 300ms sh -c "
		yes & exit 3" >/dev/null'
	[ "$status" -eq 3 ]
	nobody_is_left

	with_more_time loses_of_a_flood
}

@test "--survivors=leave: what was written before is delivered, and the rest comes later" {
	mkfifo go
	complete "$WDRUN" -i 60 --survivors=leave sh -c '
		(echo first; read -r _ <go; echo rest) & exit 5'

	[ "$status" -eq 5 ]
	[ -z "$stderr" ]
	wait_until grep -qx first out
	run ! grep -q rest out
	echo >go
	wait_until grep -qx rest out
	[ "$(wc -l <out)" -eq 2 ]
	# The relay ends when the survivors close its pipe.
	wait_until nobody_is_left
}

@test "--survivors=leave: the reader sees the end when the last survivor ends" {
	complete bash -c '"$WDRUN" --tee=copy --survivors=leave sh -c "
			echo first; (sleep 0.2; echo last) & exit 5" | cat
		echo "${PIPESTATUS[0]}"'

	[ "$output" = $'first\nlast\n5' ]
	cmp copy <(printf 'first\nlast\n')
	wait_until nobody_is_left
}

# The timeout ends the wait for the reader; the command exits before it.
leaves_a_survivor() {
	rm -f go front survived
	start "$PROGRAMS/sip" -w go sh -c 'echo $$ >front
		exec "$WDRUN" -i 60 -t "$0" --survivors=leave sh -c "
			\"\$PROGRAMS/pattern\" write 1 15000
			(read -r _ <gate; echo late; : >survived) & exit 3"' "$limit"
	wait_until test -s front
	wait_until is_dead "$(cat front)"

	touch go
	echo >&6
	finish
	[ "$status" -eq 3 ]
}

@test "--survivors=leave: a stuck reader gets all of it when it goes on" {
	mkfifo gate
	exec 6<>gate
	with_more_time leaves_a_survivor
	[ "$status" -eq 3 ]
	[ "$(head -c 15000 out | "$PROGRAMS/pattern" check 1 15000)" = same ]
	[ "$(tail -c +15001 out)" = late ]
	[ -e survived ]
	[ -z "$stderr" ]
	exec 6>&-
	wait_until nobody_is_left
}

@test "a pipe that a process outside the tree holds does not hold the run" {
	"$PROGRAMS/hand_over" take socket >stranger 3>&- &
	local stranger=$!
	wait_until test -S socket

	complete "$WDRUN" -i 60 --max-after-exit=never --idle-after-exit=never \
		sh -c '"$PROGRAMS/hand_over" give socket; echo hello; exit 3'

	[ "$status" -eq 3 ]
	[ "$output" = hello ]
	[ -z "$stderr" ]
	is_alive "$stranger"
	kill -KILL "$stranger"
	wait "$stranger" || true
}

@test "a process outside the tree that floods the pipe does not hold the run" {
	local option
	for option in -i60 --until=nothing --pty; do
		rm -f socket
		"$PROGRAMS/hand_over" take socket flood >stranger 3>&- &
		local stranger=$!
		wait_until test -S socket

		complete "$WDRUN" "$option" --max-after-exit=never sh -c '
			"$PROGRAMS/hand_over" give socket; exit 3'

		kill -KILL "$stranger"
		wait "$stranger" || true
		echo "$option"
		[ "$status" -eq 3 ]
		[ -z "$stderr" ]
	done
}

# --- SIGKILL of a watcher ----------------------------------------------------

# Starts a run whose output is on its way and has no reader yet: more than the
# pipe to the reader holds, and no more than a pseudo-terminal takes.
start_with_output_in_flight() {
	start "$PROGRAMS/sip" -w go "$WDRUN" "$@" sh -c '
		"$PROGRAMS/pattern" write 1 6000; echo "$$" >written
		exec sleep 1000'
	await_run_below
	wait_until test -s written
}

@test "SIGKILL of the supervisor: what was written is delivered, no process is left" {
	local option
	for option in -i60 --until=nothing --tee=copy --pty; do
		rm -f go written
		start_with_output_in_flight "$option"

		kill -KILL "$supervisor"
		wait_until is_dead "$(cat written)"
		is_alive "$front"
		touch go
		finish

		echo "$option"
		# The kernel sends SIGHUP where the leader of a terminal's
		# session dies, before the SIGKILL of a dead parent.
		[ "$status" -eq 137 ] || [ "$option $status" = '--pty 129' ]
		[ "$("$PROGRAMS/pattern" check 1 6000 <out)" = same ]
		nobody_is_left
	done
}

@test "SIGKILL of the supervisor, and a reader that never reads: the run ends" {
	start "$PROGRAMS/sip" -n "$WDRUN" -i 60 -k 300ms sh -c '
		"$PROGRAMS/pattern" write 1 15000; echo $$ >written
		exec sleep 1000'
	await_run_below
	wait_until test -s written

	kill -KILL "$supervisor"
	finish

	[ "$status" -eq 137 ]
	written_is_out_and_lost 15000
	nobody_is_left
}

# loses_its_supervisor_after_a_stop OPTION...: the supervisor is killed after
# the stop by OPTION, and before the timeout. MOMENT is a bound on silence.
loses_its_supervisor_after_a_stop() {
	rm -f go
	start "$PROGRAMS/sip" -n "$WDRUN" "${@//MOMENT/"$moment"}" -t "$limit" \
		-k 300ms bash -c '
			trap "\"\$PROGRAMS/pattern\" write 1 9000; exit 9" TERM
			until [ -e go ]; do echo .; read -rt 0.02 <>never; done
			echo first; while :; do read -rt 0.05 <>never; done'
	wait_until has_run_or_is_over
	touch go
	wait_until is_stopping_or_over

	# The watchers wait for the reader now, if the command had the time to
	# write its last words.
	if is_alive "$started"; then kill -KILL "$supervisor"; fi
	finish
	grep -q 'stopping' err && no grep -q 'timed out' err &&
		grep -q '^wdrun: the supervisor .* was killed' err
}

has_run_or_is_over() {
	{ wdrun_of "$started" && has_watched_target; } || is_dead "$started"
}

is_stopping_or_over() {
	{ grep -q 'stopping' err && is_dead "$target"; } || is_dead "$started"
}

@test "SIGKILL of the supervisor after another stop: --timeout still ends the run" {
	local option
	# The last message goes to a reader that takes nothing more.
	mkfifo never
	for option in '-u first --until-grace=0' '-i MOMENT'; do
		# shellcheck disable=SC2086 # two words
		with_more_time loses_its_supervisor_after_a_stop $option

		echo "$option"
		[ "$status" -ne 125 ]
		nobody_is_left
	done
}

@test "SIGKILL of the front: no process is left, no relay either" {
	local option pid relays
	for option in -i60 --until=nothing --tee=copy --pty; do
		rm -f go written
		start_with_output_in_flight "$option"

		mapfile -t relays < <(relays_of "$front")
		kill -KILL "$front"
		for pid in "$(cat written)" "$supervisor" "${relays[@]}"; do
			wait_until is_dead "$pid"
		done
		touch go
		finish

		echo "$option"
		[ "$status" -eq 137 ]
		nobody_is_left
	done
}

@test "SIGKILL of a relay with output in flight is reported, and the run goes on" {
	mkfifo gate
	start "$PROGRAMS/sip" -w go "$WDRUN" -u nothing sh -c '
		"$PROGRAMS/pattern" write 1 20000
		: >written; read -r _ <gate; exit 6'
	await_run_below
	wait_until test -e written

	kill_relays
	touch go
	echo >gate
	finish

	[ "$status" -eq 6 ]
	grep -q '^wdrun: the relay of stdout was killed: output may be lost$' err
	nobody_is_left
}

@test "SIGKILL of a relay that has a stuck reader: the run ends" {
	start "$PROGRAMS/sip" -n "$WDRUN" -i 60 sh -c '
		"$PROGRAMS/pattern" write 1 15000; exit 6'
	await_run_below
	wait_until is_dead "$target"

	kill_relays
	finish

	[ "$status" -eq 6 ]
	[ "$stderr" = "wdrun: the relay of stdout was killed: output may be lost" ]
}

kill_relays() {
	local pid
	for pid in $(relays_of "$front"); do
		kill -KILL "$pid"
	done
}

@test "SIGKILL of the relays, and then of the front, leaves nobody" {
	start "$WDRUN" -i 60 "$PROGRAMS/escape" fork setsid
	await_ready
	front=$started
	supervisor=$(supervisor_of "$front")

	kill_relays
	kill -KILL "$front"
	finish

	wait_until is_dead "$ready"
	wait_until nobody_is_left
}
