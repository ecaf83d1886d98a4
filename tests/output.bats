#!/usr/bin/env bats
#
# What the command writes, where wdrun has to read it: every byte comes through,
# in order, to the same place, as if the command had written there itself. (At a
# terminal: pty.bats. After the command's end: drain.bats.)
#
# shellcheck disable=SC2016,SC2094,SC2154

load helper

# is_held_by_others FILE PID: a process of this test other than PID has FILE
# open.
is_held_by_others() {
	local pid fd
	for pid in $(leftovers); do
		((pid != $2)) || continue
		for fd in "/proc/$pid/fd"/*; do
			[ ! "$fd" -ef "$1" ] || return 0
		done
	done
	return 1
}

# --- every byte, in order ----------------------------------------------------

# bats test_tags=smoke
@test "every byte of both streams comes through a pipe, a file, a socket, with the command's status" {
	local bytes options
	while read -r bytes options; do
		echo "$bytes $options"
		# shellcheck disable=SC2086 # words
		"$WDRUN" $options "$PROGRAMS/pattern" write 1 "$bytes" 2>err |
			"$PROGRAMS/pattern" check 1 "$bytes"
		[ "${PIPESTATUS[*]}" = "0 0" ]
		[ ! -s err ]
	done <<-'END'
		20000000 -i 60
		10000000 --until=nothing --tee=copy
		3000000 --pty
	END
	"$PROGRAMS/pattern" check 1 10000000 <copy

	# Both streams at the same time, each by itself.
	"$WDRUN" -u nothing "$PROGRAMS/pattern" \
		write 6 5000000 7 4000000 2>second |
		"$PROGRAMS/pattern" check 6 5000000
	"$PROGRAMS/pattern" check 7 4000000 <second

	"$WDRUN" -i 60 "$PROGRAMS/pattern" write 2 5000000 >file
	"$PROGRAMS/pattern" check 2 5000000 <file
}

@test "the order of both streams is kept where they go to the same place, and nothing there is overwritten" {
	local row expected seen
	# shellcheck disable=SC2034 # the rows have it
	local in_turns='for ((i = 1; i <= 1000; i += 2)); do
		echo $i; echo $((i + 1)) >&2; done'
	expected=({1..1000})
	mkfifo fifo
	for row in \
		'-i 60 bash -c "$in_turns" 2>&1 | cat >seen' \
		'--tee=copy bash -c "$in_turns" >>seen 2>>seen' \
		'-u nothing bash -c "$in_turns" >fifo 2>fifo | cat fifo >seen' \
		'--pty bash -c "$in_turns" >seen'; do
		echo "$row"
		rm -f seen
		eval "\"\$WDRUN\" $row"

		mapfile -t seen <seen
		[ "${seen[*]}" = "${expected[*]}" ]
	done
	mapfile -t seen <copy
	[ "${seen[*]}" = "${expected[*]}" ]

	# What other processes write there.
	{
		echo before
		"$WDRUN" -i 60 echo within
		echo after
	} >file
	"$WDRUN" -i 60 sh -c 'echo one; echo two >>file; echo three' >>file
	has_line_count 6 file
}

# --- as if the command had written there itself ------------------------------

@test "stdin, and the descriptors above the output, are those that it has without wdrun" {
	local without script='read -r line <&9; read -r word
		echo "$line $word" /proc/self/fd/*'
	echo input >input
	bash -c "$script" <input 9<input >without
	"$WDRUN" -i 60 bash -c "$script" <input 9<input >within
	take without
	[[ $taken == 'input input '*/9* ]]
	without=$taken
	take within
	[ "$taken" = "$without" ]

	# A descriptor for reading only: the error is the shell's.
	status=0
	"$WDRUN" -i 60 sh -c '[ /proc/$$/fd/1 -ef /dev/null ] && : >same
		echo x' 1</dev/null 2>err || status=$?
	[ -e same ]
	[ "$status" -ne 0 ]
	has_line_count 1 err
}

# --- readers that go away ----------------------------------------------------

# bats test_tags=slow
@test "a reader that goes away ends the command by SIGPIPE at its next write, but a FIFO can be read by another" {
	local option row line script
	for option in -i60 --tee=/dev/null --until=nothing --pty; do
		echo "$option"
		"$PROGRAMS/launch" --defaults "$WDRUN" -t 200 "$option" yes \
			2>err | read -r _
		# A terminal may be hung up instead.
		[[ "$option ${PIPESTATUS[*]}" == @(*' 141'|'--pty 129')' 0' ]]
		[ ! -s err ]
	done
	complete "$PROGRAMS/sip" -s -e "$WDRUN" -t 200 -i 60 yes
	[ "$status" -eq 141 ]
	[ -z "$stderr" ]

	# A command that ignores SIGPIPE gets an error, and tells it.
	"$PROGRAMS/launch" --ignore PIPE "$WDRUN" -i 60 -t 200 yes 2>err |
		read -r _
	[ "${PIPESTATUS[*]}" = "1 0" ]
	has_line_count 1 err
	run ! has_message ''

	# The command is silent while its reader goes away.
	mkfifo gate fifo
	exec 6<>gate
	for row in 'echo first' :; do
		echo "$row"
		rm -f said
		script="$row"'; echo "ready $$" >said
			read -r _ <gate; echo second; : >survived'
		set -- "$WDRUN" -t 200 -i 100 sh -c "$script"
		if [ "$row" = : ]; then
			start bash -c '"$@" | :; exit "${PIPESTATUS[0]}"' - "$@"
		else
			start "$PROGRAMS/sip" -e "$@"
		fi
		wait_until says_ready said
		wait_until no is_held_by_others "/proc/$ready/fd/1" "$ready"

		echo >&6
		finish

		[ "$status" -eq 141 ]
		[ ! -e survived ]
	done

	start sh -c 'exec "$WDRUN" -i 60 sh -c "echo one
		read -r _ <gate; echo two; exit 4" >fifo'
	read -rt "$PATIENCE" line <fifo
	[ "$line" = one ]
	pause 0.2 # time in which wdrun may notice
	exec 7<fifo
	echo >&6
	read -rt "$PATIENCE" line <&7
	exec 7<&-
	finish
	[ "$line" = two ]
	[ "$status" -eq 4 ]
	[ -z "$stderr" ]
}

@test "readers see the end when the command closes a descriptor" {
	local option text other
	mkfifo fifo other gate
	exec 6<>gate
	for option in -i60 --tee=copy; do
		start sh -c 'exec "$WDRUN" "$0" sh -c "
			echo \$\$; echo words >&7; exec >&- 7>&-
			read -r _ <gate; exit 4" >fifo 7>other' "$option"
		{
			read -rd '' -t "$PATIENCE" text || [ "$?" -eq 1 ]
			read -rd '' -t "$PATIENCE" other <&8 || [ "$?" -eq 1 ]
		} <fifo 8<other
		[[ $text =~ ^[0-9]+$ ]]
		[ "$other" = words ]

		is_alive "$text"
		echo >&6
		finish
		[ "$status" -eq 4 ]
	done
}

# --- readers that do not read ------------------------------------------------

# bats test_tags=slow
@test "a stuck reader of stdout blocks it and not stderr, nothing is lost, and no flag of the caller's descriptors changes" {
	local row lines script
	start "$PROGRAMS/sip" -w go "$WDRUN" -i 60 sh -c '
		{ "$PROGRAMS/pattern" write 8 3000000; : >over; } &
		echo word >&2; wait'
	wait_until test -s err
	pause 0.3 # time for all to be written, if something took it
	[ ! -e over ]
	touch go
	finish
	[ "$status" -eq 0 ]
	[ -e over ]
	"$PROGRAMS/pattern" check 8 3000000 <out
	[ "$stderr" = word ]

	# dd makes the file description that it shares with wdrun non-blocking.
	script='tell() {
			mapfile -t lines </proc/self/fdinfo/7
			echo "${lines[1]}" >&8
		}
		export -f tell
		exec 7>&1 8>flags
		[ "$1" = wait ] || dd if=/dev/null oflag=nonblock status=none
		tell
		"$WDRUN" "$2" bash -c "\"\$PROGRAMS/pattern\" write 1 300000; tell"
		tell'
	for row in 'wait -i60' 'nonblock --pty' '-s wait -i60' \
		'-s nonblock --until=nothing'; do
		echo "$row"
		# shellcheck disable=SC2086 # words
		complete "$PROGRAMS/sip" ${row%%[wn]*} bash -c "$script" - \
			${row#-s }

		"$PROGRAMS/pattern" check 1 300000 <out
		[ -z "$stderr" ]
		mapfile -t lines <flags
		[ "${#lines[@]}" -eq 3 ]
		[ "${lines[0]}" = "${lines[1]}" ]
		[ "${lines[0]}" = "${lines[2]}" ]
		[[ ${lines[0]} == *40?? ]] || [[ $row != *nonblock* ]]
	done
}

# --- descriptors that are closed, or cannot be written -----------------------

# bats test_tags=smoke
@test "a standard descriptor that is closed stays closed, the others come through; both outputs closed: 125" {
	local fd option
	while read -r fd option; do
		echo "$fd $option"
		rm -f closed copy
		complete "$PROGRAMS/launch" --close "$fd" "$WDRUN" "$option" \
			sh -c '[ -e /proc/$$/fd/$0 ] || : >closed
				echo words; echo error >&2; exit 3' "$fd"

		[ "$status" -eq 3 ]
		[ -e closed ]
		[ "$fd" -eq 1 ] || [ "$output" = words ]
		[ "$fd" -eq 2 ] || [[ $'\n'$stderr == *$'\nerror' ]]
		[ "$option" = -i60 ] || { take copy && [[ $taken == *error* ]]; }
	done <<-'END'
		0 -i60
		1 -i60
		1 --tee=copy
		2 -i60
	END

	rm -f copy
	for option in -i60 --tee=copy; do
		status=0
		"$WDRUN" "$option" touch ran >&- 2>&- || status=$?
		[ "$status" -eq 125 ]
		[ ! -e ran ]
		[ ! -e copy ]
	done
}

@test "output that cannot be written is told once, and does not change the status" {
	[ -c /dev/full ] || skip "there is no /dev/full"
	local row
	# A full disk, and a file that may not grow.
	for row in '-i 60 sh -c "echo one; sleep 0.1; echo two" >/dev/full' \
		'-u nothing "$PROGRAMS/pattern" write 1 500000 >/dev/full' \
		'-i 60 "$PROGRAMS/pattern" write 1 500000 >file'; do
		echo "$row"
		complete bash -c "ulimit -f 64; exec \"\$WDRUN\" $row"

		[ "$status" -eq 0 ]
		has_message stdout
		has_line_count 1 err
	done
	"$PROGRAMS/pattern" check 1 65536 <file

	status=0
	"$WDRUN" -i 60 sh -c 'echo one >&2; exit 6' 2>/dev/full || status=$?
	[ "$status" -eq 6 ]
}
