#!/usr/bin/env bats
#
# After the command's end its output is still on its way. It is delivered,
# however slow the reader, and no reader, survivor or process outside the tree
# holds back the status.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

# `bash -c "$read_by" - SIP-OPTION... COMMAND...`: programs/sip reads what
# COMMAND writes; what it gets is in the file seen. On descriptor 9, the file
# out, a command says that it is ready.
read_by='exec 9>&1; exec "$PROGRAMS/sip" "$@" >seen'

# writing BYTES [THEN]: prints a script that writes so many bytes, more than the
# reader's pipe holds, says `ready PID`, and exits with 7, or does THEN.
writing() {
	printf '"$PROGRAMS/pattern" write 1 %s; echo "ready $$" >&9; %s\n' \
		"$1" "${2-exit 7}"
}

# Waits until the command of a wdrun with a reader is ready. Sets target and
# front.
await_command() {
	await_ready
	target=$ready
	front=$(children_of "$started")
}

# The reader has got BYTES bytes.
got_all() {
	[ "$("$PROGRAMS/pattern" check 1 "$1" <seen)" = same ]
}

# tells_lost BYTES: the reader has got the first of the BYTES bytes, and one
# message has the number of the others.
tells_lost() {
	local lost=$(($1 - $(wc -c <seen)))
	echo "lost: $lost"
	((lost > 0))
	cmp seen <(head -c "$(wc -c <seen)" <("$PROGRAMS/pattern" write 1 "$1"))
	[ "$(grep -cE "^wdrun: (.* )?$lost " err)" -eq 1 ]
}

# --- slow readers ------------------------------------------------------------

# bats test_tags=smoke
@test "a reader that takes 1 KB now and then gets all of it, and the status" {
	# The bounds for survivors do not apply to a reader.
	local option
	for option in -i60 --pty; do
		echo "$option"
		complete bash -c "$read_by" - -c 1024 -p 8 "$WDRUN" "$option" \
			--idle-after-exit=100ms --max-after-exit=100ms \
			sh -c "$(writing 20000)"

		[ "$status" -eq 7 ]
		got_all 20000
		[ -z "$stderr" ]
	done

	# The reader of stderr.
	complete bash -c "$read_by" - -c 1024 -p 8 sh -c '"$WDRUN" -i 60 sh -c \
		"\"\$PROGRAMS/pattern\" write 2 10 1 20000; exit 7" 2>&1 >first'
	[ "$status" -eq 7 ]
	got_all 20000
	[ "$("$PROGRAMS/pattern" check 2 10 <first)" = same ]
}

@test "a reader that comes late gets all of it, and the status" {
	start bash -c "$read_by" - -w go "$WDRUN" -i 60 \
		--idle-after-exit=100ms --max-after-exit=100ms \
		sh -c "$(writing 20000)"
	await_command
	wait_until is_dead "$target"
	pause 0.4 # longer than the bounds for survivors
	is_alive "$front"

	touch go
	finish

	[ "$status" -eq 7 ]
	got_all 20000
	[ -z "$stderr" ]
}

@test "output that was written right before the exit is delivered, time and again" {
	local i
	for i in {1..10}; do
		"$WDRUN" -i 60 "$PROGRAMS/pattern" write "$i" 50000 |
			"$PROGRAMS/pattern" check "$i" 50000
		"$WDRUN" --pty "$PROGRAMS/pattern" write "$i" 50000 |
			"$PROGRAMS/pattern" check "$i" 50000
	done >verdicts

	[ "$(sort verdicts | uniq -c | xargs)" = "20 same" ]
}

@test "last words in a stop by --timeout reach a slow reader" {
	local script='trap "\"\$PROGRAMS/pattern\" write 1 16384; exit 9" TERM
		echo "ready $$" >&9; sleep 1000 & wait'
	complete_late bash -c "$read_by" - -c 2048 -p 50 "$WDRUN" -i 60 \
		-t LIMIT -k 1000 bash -c "$script"

	[ "$status" -eq 124 ]
	got_all 16384
}

# --- readers that are stuck --------------------------------------------------

# bats test_tags=smoke
@test "a reader that never reads does not hold the status beyond --timeout" {
	local option
	for option in -i60 --pty; do
		echo "$option"
		complete_late bash -c "$read_by" - -n "$WDRUN" "$option" \
			-t LIMIT -k 300ms sh -c "$(writing 6000)"

		[ "$status" -eq 7 ]
		tells_lost 6000
		[ "$(wc -l <err)" -eq 1 ]
	done
}

@test "a command that is late because its reader is stuck gets 124" {
	complete bash -c "$read_by" - -n "$WDRUN" -i 60 -t 500ms -k 300ms \
		"$PROGRAMS/pattern" write 1 5000000

	[ "$status" -eq 124 ]
	only_messages
	cmp seen <(head -c "$(wc -c <seen)" \
		<("$PROGRAMS/pattern" write 1 5000000))
}

@test "after a signal a reader that takes nothing is waited for a little, or until --kill-after" {
	local options
	for options in '-i 60 -k 300ms' '-q --tee=copy -k 300ms' \
		'-i 60 -k never'; do
		echo "$options"
		# shellcheck disable=SC2086 # words
		start bash -c "$read_by" - -n "$WDRUN" $options \
			sh -c "$(writing 15000)"
		await_command
		wait_until is_dead "$target"

		kill -TERM "$front"
		finish

		[ "$status" -eq 7 ]
		if [[ $options == -q* ]]; then
			[ -z "$stderr" ]
		else
			tells_lost 15000
		fi
	done
}

@test "after a signal a reader that keeps reading is waited for, however slow it is" {
	# For longer than a reader that takes nothing.
	start bash -c "$read_by" - -c 1024 -p 80 "$WDRUN" -i 60 -k never \
		sh -c "$(writing 32000)"
	await_command
	wait_until is_dead "$target"

	kill -TERM "$front"
	finish

	[ "$status" -eq 7 ]
	got_all 32000
	[ -z "$stderr" ]
}

@test "a third signal gives up at once, though the reader goes on" {
	start bash -c "$read_by" - -c 2048 -p 300 "$WDRUN" -i 60 -k never \
		sh -c "$(writing 60000)"
	await_command
	wait_until is_dead "$target"

	# The reader would need 9 s.
	kill -TERM "$front"
	kill -INT "$front"
	kill -HUP "$front"
	finish

	[ "$status" -eq 7 ]
	tells_lost 60000
}

@test "a stuck reader and a caller that dies: the run ends with --die-with-parent" {
	mkfifo fifo
	exec 7<>fifo
	# The FIFO holds two thirds of it.
	start sh -c '"$WDRUN" --die-with-parent -k 300ms -i 60 sh -c "$0" \
			9>&1 >fifo & exec sleep 1000' "$(writing 100000)" 7>&-
	await_ready
	wait_until is_dead "$ready"

	kill -KILL "$started"
	wait_until nobody_is_left
	exec 7>&-

	[ -s err ]
	only_messages
}

# --- survivors and strangers -------------------------------------------------

@test "what a survivor writes comes through, also to its terminal" {
	complete "$WDRUN" -i 60 --idle-after-exit=60 --max-after-exit=60 \
		"$PROGRAMS/ticker" 50 5 3
	[ "$status" -eq 3 ]
	[ "$(wc -l <out)" -eq 6 ]
	[ "$(tail -n 1 out)" = "done" ]
	[ -z "$stderr" ]

	complete "$WDRUN" --pty --idle-after-exit=60 --max-after-exit=60 bash -c '
		trap "" HUP; (sleep 0.2; echo late) & exit 3'
	[ "$status" -eq 3 ]
	[ "$output" = late ]
	[ -z "$stderr" ]
}

# bats test_tags=smoke,tree
@test "a survivor that holds the output does not hold \$(wdrun ...), and is named" {
	complete bash -c 'x=$("$WDRUN" -i 60 --idle-after-exit=200ms \
		sh -c "setsid sleep 1000 & echo hi; exit 3"); echo "$? $x"'

	[ "$output" = "3 hi" ]
	has_message sleep "fd 1"
	nobody_is_left
}

@test "a survivor that floods its output is stopped, with a reader or without" {
	complete bash -c '"$WDRUN" -i 60 --max-after-exit=200ms -k 300ms sh -c "
		yes & exit 3" >/dev/null'
	[ "$status" -eq 3 ]
	nobody_is_left

	complete_late bash -c "$read_by" - -n "$WDRUN" -i 60 -t LIMIT \
		--max-after-exit=200ms -k 300ms sh -c '
			yes & echo "ready $$" >&9; exit 3'
	[ "$status" -eq 3 ]
	[ -s err ]
	only_messages
}

@test "--survivors=leave: the run returns, the rest comes later, and then the end" {
	mkfifo gate
	exec 6<>gate
	start bash -c '{ "$WDRUN" --tee=copy --survivors=leave sh -c "
			echo first; (read -r _ <gate; echo last) & exit 5"
			echo "$?" >returned; } | cat' 6>&-

	wait_until test -s returned
	[ "$(<returned)" -eq 5 ]
	wait_until grep -qx first out
	is_alive "$started"
	echo >&6
	finish

	[ "$output" = $'first\nlast' ]
	cmp copy out
	[ -z "$stderr" ]
	wait_until nobody_is_left
}

# leaves_a_survivor LIMIT: the limit ends the wait for the reader.
leaves_a_survivor() {
	rm -f go
	start bash -c "$read_by" - -w go "$WDRUN" -i 60 -t "$1" \
		--survivors=leave sh -c "$(writing 15000 '
			(read -r _ <gate; echo late) & exit 3')" 6>&-
	wait_until has_front
	wait_until is_dead "$front"

	touch go
	echo >&6
	finish
}

has_front() {
	front=$(children_of "$started")
	[ -n "$front" ]
}

@test "--survivors=leave: a stuck reader gets all of it when it goes on" {
	mkfifo gate
	exec 6<>gate
	late leaves_a_survivor LIMIT

	[ "$status" -eq 3 ]
	[ "$(head -c 15000 seen | "$PROGRAMS/pattern" check 1 15000)" = same ]
	[ "$(tail -c +15001 seen)" = late ]
	[ -z "$stderr" ]
	wait_until nobody_is_left
}

@test "a process outside the tree that holds the pipe, or floods it, does not hold the run" {
	local option stranger
	mkfifo gate
	exec 6<>gate
	for option in -i60 --pty; do
		for stranger in 'sleep 1000' yes; do
			echo "$option, $stranger"
			rm -f said
			start sh -c 'exec "$WDRUN" "$0" --max-after-exit=never \
				--idle-after-exit=never sh -c "
				echo ready \$\$ >said; read -r _ <gate
				exit 3" >/dev/null' "$option"
			wait_until says_ready said
			# shellcheck disable=SC2086 # words
			$stranger >"/proc/$ready/fd/1" 2>/dev/null 3>&- &
			wait_until test "/proc/$!/fd/1" -ef "/proc/$ready/fd/1"

			echo >&6
			finish

			kill -KILL "$!" 2>/dev/null || true
			wait "$!" || true
			[ "$status" -eq 3 ]
			[ -z "$stderr" ]
		done
	done
}

# --- SIGKILL of a watcher ----------------------------------------------------

# start_in_flight SIP-OPTION... wdrun...: a run whose output is on its way and
# has no reader yet. Sets supervisor too.
start_in_flight() {
	rm -f go
	start bash -c "$read_by" - "$@" sh -c "$(writing 6000 'exec sleep 1000')"
	await_command
	look_at "$target"
	supervisor=$process_parent
}

# bats test_tags=smoke
@test "SIGKILL of the supervisor: what was written is delivered, no process is left" {
	local option
	for option in -i60 --tee=copy --pty; do
		echo "$option"
		start_in_flight -w go "$WDRUN" "$option"

		kill -KILL "$supervisor"
		touch go
		finish

		# The kernel sends SIGHUP where the leader of a terminal's
		# session dies, before the SIGKILL of a dead parent.
		[ "$status" -eq 137 ] || [ "$option $status" = '--pty 129' ]
		got_all 6000
		nobody_is_left
	done
}

@test "SIGKILL of the supervisor, and a reader that never reads: the run ends" {
	start_in_flight -n "$WDRUN" -i 60 -k 300ms

	kill -KILL "$supervisor"
	finish

	[ "$status" -eq 137 ]
	tells_lost 6000
	nobody_is_left
}

# bats test_tags=smoke
@test "SIGKILL of the front: no process is left, whatever is on its way" {
	local option
	for option in -i60 --tee=copy --pty; do
		echo "$option"
		start_in_flight -w go "$WDRUN" "$option"

		kill -KILL "$front"
		wait_until is_dead "$target"
		wait_until is_dead "$supervisor"
		touch go
		finish

		[ "$status" -eq 137 ]
		wait_until nobody_is_left
	done
}
