#!/usr/bin/env bats
#
# What the command writes, where wdrun has to read it: every byte comes through,
# in order, to the same place, as if the command had written there itself. (At a
# terminal: pty.bats. After the command's end: drain.bats.)
#
# shellcheck disable=SC2016,SC2094,SC2154

load helper

# bats test_tags=smoke
@test "every byte of both streams comes through a pipe, a file, with the command's status" {
	local bytes options
	while read -r bytes options; do
		echo "$bytes $options"
		head -c "$bytes" /dev/urandom >sent
		# shellcheck disable=SC2086 # words
		"$WDRUN" $options cat sent 2>err | cmp - sent
		[ "${PIPESTATUS[*]}" = "0 0" ]
		[ ! -s err ]
	done <<-'END'
		3000000 --pty
		10000000 --until=nothing --tee=copy
	END
	cmp copy sent

	# Both streams at the same time, each by itself.
	head -c 4000000 /dev/urandom >other
	"$WDRUN" -i 60 sh -c 'cat sent & cat other >&2; wait' >first 2>second
	cmp first sent
	cmp second other
}

@test "both streams keep their order where they go to one place; nothing is overwritten" {
	local row expected seen
	# shellcheck disable=SC2034 # the rows have it
	local in_turns='for ((i = 1; i <= 1000; i += 2)); do
		echo $i; echo $((i + 1)) >&2; done'
	expected=({1..1000})
	mkfifo fifo
	for row in \
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

# --- readers that go away ----------------------------------------------------

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

# bats test_tags=slow
@test "a reader that goes away ends the command by SIGPIPE at its next write" {
	local option
	for option in -i60 --tee=/dev/null --pty; do
		echo "$option"
		env --default-signal "$WDRUN" -t 200 "$option" yes \
			2>err | read -r _
		# A terminal may be hung up instead.
		[[ "$option ${PIPESTATUS[*]}" == @(*' 141'|'--pty 129')' 0' ]]
		[ ! -s err ]
	done

	# A command that ignores SIGPIPE gets an error, and tells it.
	env --ignore-signal=PIPE "$WDRUN" -i 60 -t 200 yes 2>err |
		read -r _
	[ "${PIPESTATUS[*]}" = "1 0" ]
	has_line_count 1 err
	run ! has_message ''

	# The command is silent while its reader goes away.
	mkfifo gate
	exec 6<>gate
	start "$PROGRAMS/sip" -e "$WDRUN" -t 200 -i 100 sh -c 'echo first
		echo "ready $$" >said; read -r _ <gate; echo second; : >survived'
	wait_until says_ready said
	wait_until no is_held_by_others "/proc/$ready/fd/1" "$ready"
	echo >&6
	gives 141 finish
	[ ! -e survived ]
}

@test "readers see the end when the command closes a descriptor" {
	local text other
	mkfifo fifo other gate
	exec 6<>gate
	start sh -c 'exec "$WDRUN" -i60 sh -c "
		echo \$\$; echo words >&7; exec >&- 7>&-
		read -r _ <gate; exit 4" >fifo 7>other'
	{
		read -rd '' -t "$PATIENCE" text || [ "$?" -eq 1 ]
		read -rd '' -t "$PATIENCE" other <&8 || [ "$?" -eq 1 ]
	} <fifo 8<other
	[ "$other" = words ]
	is_alive "$text"
	echo >&6
	gives 4 finish
}

# --- readers that do not read ------------------------------------------------

# bats test_tags=slow
@test "a stuck reader of stdout blocks it and not stderr, and nothing is lost" {
	head -c 3000000 /dev/urandom >sent
	start "$PROGRAMS/sip" -w go "$WDRUN" -i 60 sh -c '
		{ cat sent; : >over; } &
		echo word >&2; wait'
	wait_until test -s err
	pause 0.3 # time for all to be written, if something took it
	[ ! -e over ]
	touch go
	gives 0 finish
	cmp out sent
	[ "$stderr" = word ]
}

# --- descriptors that are closed, or cannot be written -----------------------

# bats test_tags=smoke
@test "a stdout that is closed stays closed, and stderr comes through; both closed: 125" {
	local option
	gives 3 complete sh -c 'exec "$@" >&-' sh "$WDRUN" --tee=copy \
		sh -c '[ -e /proc/$$/fd/1 ] || : >closed; echo error >&2; exit 3'
	[ -e closed ]
	[ "$stderr" = error ]
	take copy
	[ "$taken" = error ]

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
	head -c 500000 /dev/urandom >sent
	# A full disk, and a file that may not grow.
	for row in '-i 60 sh -c "echo one; sleep 0.1; echo two" >/dev/full' \
		'-u nothing cat sent >file'; do
		echo "$row"
		gives 0 complete bash -c "ulimit -f 64; exec \"\$WDRUN\" $row"

		has_message stdout
		has_line_count 1 err
	done
	cmp -n 65536 file sent
	[ "$(stat -c %s file)" -eq 65536 ]
}
