#!/usr/bin/env bats
#
# What the command writes, where wdrun has to read it: every byte comes through,
# in order, to the same place, as if the command had written there itself. (At a
# terminal: pty.bats. After the command's end: drain.bats.)
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

# Prints lines to both streams in turns, as fast as it can.
in_turns='for ((i = 1; i <= 1000; i += 2)); do
	echo $i; echo $((i + 1)) >&2; done'

# A command that does `read -r _ <gate` waits until the test does `echo >&6`.
make_gate() {
	mkfifo gate
	exec 6<>gate
}

# held_by_others FILE PID: a process of this test other than PID has FILE, named
# as by readlink(1), open.
held_by_others() {
	local pid
	for pid in $(leftovers); do
		((pid != $2)) || continue
		! find "/proc/$pid/fd" -type l -printf '%l\n' 2>/dev/null |
			grep -qxF "$1" || return 0
	done
	return 1
}

# --- every byte, in order ----------------------------------------------------

# bats test_tags=smoke
@test "every byte comes through a pipe, in order, and the status is the command's" {
	local row
	while read -ra row; do # bytes, options
		echo "${row[*]}"
		complete bash -c '"$WDRUN" "${@:2}" sh -c "
				\"\$PROGRAMS/pattern\" write 1 $1; exit 7" |
			"$PROGRAMS/pattern" check 1 "$1"
			echo "${PIPESTATUS[0]}"' - "${row[@]}"

		[ "$output" = $'same\n7' ]
		[ -z "$stderr" ]
	done <<-'END'
		20000000 -i 60
		10000000 --until=nothing --tee=copy
		3000000 --pty
	END
	[ "$("$PROGRAMS/pattern" check 1 10000000 <copy)" = same ]
}

@test "every byte comes through into a file, and is appended to one" {
	complete sh -c '"$WDRUN" -i 60 "$PROGRAMS/pattern" write 2 5000000 >file
		echo "$?"; exec "$WDRUN" -i 60 echo last >>file'

	[ "$output" = 0 ]
	[ "$status" -eq 0 ]
	[ "$(head -c 5000000 file | "$PROGRAMS/pattern" check 2 5000000)" = same ]
	[ "$(tail -c +5000001 file)" = last ]
}

@test "every byte comes through a socket, also to a slow reader" {
	complete "$PROGRAMS/sip" -s "$WDRUN" -i 60 sh -c '
		"$PROGRAMS/pattern" write 4 1000000; exit 7'
	[ "$status" -eq 7 ]
	[ "$("$PROGRAMS/pattern" check 4 1000000 <out)" = same ]

	complete "$PROGRAMS/sip" -s -c 1024 -p 10 "$WDRUN" --tee=copy sh -c '
		"$PROGRAMS/pattern" write 4 20000; exit 7'
	[ "$status" -eq 7 ]
	[ "$("$PROGRAMS/pattern" check 4 20000 <out)" = same ]
	cmp copy out
}

@test "what a terminal's output is captured to has no carriage returns of the terminal" {
	complete "$WDRUN" --pty sh -c 'printf "a\nb\tc\r\n\n"; echo error >&2'

	cmp out <(printf 'a\nb\tc\r\n\nerror\n')
	[ -z "$stderr" ]
}

@test "stdout and stderr come through at the same time, each by itself" {
	complete bash -c '"$WDRUN" -i 60 "$PROGRAMS/pattern" \
			write 6 5000000 7 4000000 \
			2> >("$PROGRAMS/pattern" check 7 4000000 >second) |
		"$PROGRAMS/pattern" check 6 5000000'
	[ "$output" = same ]
	wait_until grep -qx same second

	complete "$WDRUN" -u nothing "$PROGRAMS/pattern" \
		write 6 5000000 7 4000000
	[ "$status" -eq 0 ]
	[ "$("$PROGRAMS/pattern" check 6 5000000 <out)" = same ]
	[ "$("$PROGRAMS/pattern" check 7 4000000 <err)" = same ]
}

# bats test_tags=smoke
@test "the order of both streams is kept where stderr goes to where stdout goes" {
	local row
	mkfifo fifo
	seq 1000 >expected
	for row in \
		'-i 60 bash -c "$0" 2>&1 | cat >seen' \
		'-i 60 bash -c "$0" >seen 2>&1' \
		'--tee=copy bash -c "$0" >>seen 2>&1' \
		'-i 60 bash -c "$0" >>seen 2>>seen' \
		'-u nothing bash -c "$0" >fifo 2>fifo | cat fifo >seen' \
		'--pty bash -c "$0" >seen'; do
		echo "$row"
		rm -f seen
		complete bash -c "\"\$WDRUN\" $row" "$in_turns"

		[ "$status" -eq 0 ]
		cmp seen expected
	done
	cmp copy expected
}

@test "what other processes write into the same file is not overwritten" {
	complete sh -c '{ echo before; "$WDRUN" -i 60 echo within
		echo after; } >file'
	[ "$(<file)" = $'before\nwithin\nafter' ]

	complete sh -c '"$WDRUN" -i 60 sh -c "
		echo one; echo two >>file; echo three" >>file'
	[ "$(wc -l <file)" -eq 6 ]
}

# --- as if the command had written there itself ------------------------------

@test "with none of these options the descriptors are the caller's own" {
	complete "$WDRUN" -t 60 sh -c '[ /proc/$$/fd/1 -ef out ] &&
		[ /proc/$$/fd/2 -ef err ] && exit 3'

	[ "$status" -eq 3 ]
}

@test "the command has stdin and its other descriptors as without wdrun" {
	echo input >input
	local script='exec 9<input
		"$@" bash -c "cat <&9; cat; ls /proc/\$\$/fd" <input'
	complete bash -c "$script" bash env
	local without=$output

	complete bash -c "$script" bash "$WDRUN" -i 60

	[ "$output" = "$without" ]
	[[ $output == $'input\ninput\n0\n1\n'*9* ]]
}

@test "the status is the command's, whatever looks at the output" {
	local option
	: >file
	for option in -i60 --tee=copy --pty; do
		echo "$option"
		complete "$WDRUN" "$option" sh -c 'kill -SEGV $$'
		[ "$status" -eq 139 ]
		complete "$WDRUN" "$option" sh -c 'kill -KILL $$'
		[ "$status" -eq 137 ]
		complete "$WDRUN" "$option" ./file
		[ "$status" -eq 126 ]
		complete "$WDRUN" "$option" ./no-such-command
		[ "$status" -eq 127 ]
		[ "$(wc -l <err)" -eq 1 ]
	done
}

# --- readers that go away ----------------------------------------------------

# bats test_tags=smoke
@test "yes | head -1 ends yes by SIGPIPE, whatever looks at the output" {
	local option
	for option in -i60 --tee=/dev/null --until=nothing; do
		echo "$option"
		complete bash -c '"$WDRUN" -t 200 "$0" yes | head -n 1
			echo "${PIPESTATUS[*]}"' "$option"

		[ "$output" = $'y\n141 0' ]
		[ -z "$stderr" ]
	done

	# A terminal may be hung up instead.
	complete bash -c '"$WDRUN" -t 200 --pty yes | head -n 1
		echo "${PIPESTATUS[*]}"'
	[[ $output == $'y\n'@(141|129)' 0' ]]

	complete "$PROGRAMS/sip" -s -e "$WDRUN" -t 200 -i 60 yes
	[ "$status" -eq 141 ]
	[ -z "$stderr" ]
}

@test "a command that ignores SIGPIPE gets an error instead" {
	complete bash -c '"$WDRUN" -i 60 -t 200 "$PROGRAMS/launch" \
			--ignore PIPE yes | head -n 1
		echo "${PIPESTATUS[*]}"'

	[ "$output" = $'y\n1 0' ]
	[ "$(wc -l <err)" -eq 1 ] # that of yes
	run ! grep -q '^wdrun' err
}

@test "a reader that goes away while the command is silent: its next write ends it" {
	local row
	make_gate
	for row in 'echo first | head -n 1' ': | :'; do
		echo "$row"
		rm -f said
		start bash -c '"$WDRUN" -t 200 -i 100 bash -c "
				$0; echo ready \$\$ >said; read -r _ <gate
				echo second; : >survived" |
			$1; echo "${PIPESTATUS[0]}"' "${row% | *}" "${row#* | }"
		wait_until says_ready said
		wait_until no held_by_others \
			"$(readlink "/proc/$ready/fd/1")" "$ready"

		echo >&6
		finish

		[ "$(tail -n 1 out)" = 141 ]
		[ ! -e survived ]
	done
}

@test "a FIFO whose reader leaves can be read by another" {
	mkfifo fifo
	make_gate
	start bash -c '"$WDRUN" -i 60 sh -c "echo one
		read -r _ <gate; echo two; exit 4" >fifo'
	[ "$(head -n 1 fifo)" = one ]
	pause 0.2 # time in which wdrun may notice

	cat fifo >second 3>&- &
	wait_until test "/proc/$!/fd/3" -ef fifo
	echo >&6
	finish
	wait_until is_dead "$!"

	[ "$status" -eq 4 ]
	[ "$(<second)" = two ]
	[ -z "$stderr" ]
}

# bats test_tags=smoke
@test "the reader sees the end when the command closes its output" {
	local option
	make_gate
	for option in -i60 --tee=copy; do
		start bash -c '"$WDRUN" "$0" sh -c "echo hello; exec >&-
				read -r _ <gate; exit 4" |
			{ cat; echo "end"; }
			echo "${PIPESTATUS[0]}"' "$option"

		wait_until grep -qx end out
		echo >&6
		finish
		[ "$output" = $'hello\nend\n4' ]
	done
}

# --- readers that do not read ------------------------------------------------

# bats test_tags=smoke
@test "a reader that is stuck on stdout blocks it, loses nothing, and does not hold up stderr" {
	start "$PROGRAMS/sip" -w go "$WDRUN" -i 60 sh -c '
		{ "$PROGRAMS/pattern" write 8 3000000; : >over; } &
		echo word >&2; wait'
	wait_until grep -qx word err
	pause 0.3 # time for all to be written, if something took it
	[ ! -e over ]

	touch go
	finish

	[ "$status" -eq 0 ]
	[ -e over ]
	[ "$("$PROGRAMS/pattern" check 8 3000000 <out)" = same ]
	[ "$stderr" = word ]
}

@test "no flag of the caller's descriptors changes, during the run or after it, and nothing is lost" {
	local row
	# dd makes the file description that it shares with wdrun non-blocking.
	local script='exec 7>&1 8>"$1"
		[ "$2" = wait ] || dd if=/dev/null oflag=nonblock status=none
		grep ^flags /proc/self/fdinfo/7 >&8
		"$WDRUN" "$3" sh -c "\"\$PROGRAMS/pattern\" write 1 300000
			grep ^flags /proc/self/fdinfo/7 >&8"
		grep ^flags /proc/self/fdinfo/7 >&8'
	for row in 'wait -i60' 'nonblock -i60' 'nonblock --until=nothing' \
		'nonblock --pty' '-s wait -i60' '-s nonblock -i60'; do
		echo "$row"
		# shellcheck disable=SC2086 # words
		complete "$PROGRAMS/sip" ${row%%[wn]*} sh -c "$script" - \
			flags ${row#-s }

		[ "$("$PROGRAMS/pattern" check 1 300000 <out)" = same ]
		[ -z "$stderr" ]
		[ "$(wc -l <flags)" -eq 3 ]
		[ "$(uniq flags | wc -l)" -eq 1 ]
		[[ $(head -n 1 flags) == *40?? ]] || [[ $row != *nonblock* ]]
	done
}

# --- descriptors that are closed, or cannot be written -----------------------

# bats test_tags=smoke
@test "a standard descriptor that is closed stays closed, and the others come through" {
	local fd option
	for fd in 0 1 2; do
		for option in -i60 --tee=copy; do
			echo "$fd $option"
			rm -f closed copy
			complete "$PROGRAMS/launch" --close "$fd" "$WDRUN" \
				"$option" sh -c '[ -e /proc/$$/fd/$0 ] || : >closed
					echo words; echo error >&2; exit 3' "$fd"

			[ "$status" -eq 3 ]
			[ -e closed ]
			[ "$fd" -eq 1 ] || [ "$output" = words ]
			[ "$fd" -eq 2 ] || grep -qx error err
			[ "$option" = -i60 ] || [ "$fd" -eq 2 ] ||
				grep -qx error copy
		done
	done
}

@test "where stdout and stderr are closed there is no output to be read: 125, and nothing runs" {
	local option
	for option in -i60 --until=x --tee=copy; do
		complete "$PROGRAMS/launch" --close 1 --close 2 \
			"$WDRUN" "$option" touch ran

		[ "$status" -eq 125 ]
		[ ! -e ran ]
		[ ! -e copy ]
	done

	# A terminal is there all the same.
	complete "$PROGRAMS/launch" --close 0 --close 1 --close 2 \
		"$WDRUN" --pty sh -c '[ -t 1 ] && [ -t 2 ] && exit 3'
	[ "$status" -eq 3 ]
}

@test "a descriptor that is open for reading only stays what it is" {
	complete sh -c '"$WDRUN" -i 60 sh -c "
		[ /proc/\$\$/fd/1 -ef /dev/null ] && : >same; echo x" \
		1</dev/null'

	[ -e same ]
	[ "$status" -ne 0 ]
	[ "$(wc -l <err)" -eq 1 ] # the shell's own message
}

# bats test_tags=smoke
@test "output that cannot be written is told once, and does not change the status" {
	[ -c /dev/full ] || skip "there is no /dev/full"
	local row
	# A full disk, and a file that may not grow.
	for row in \
		'-i 60 sh -c "echo one; sleep 0.1; echo two" >/dev/full' \
		'-u nothing "$PROGRAMS/pattern" write 1 500000 >/dev/full' \
		'-i 60 "$PROGRAMS/pattern" write 1 500000 >file'; do
		echo "$row"
		complete bash -c "ulimit -f 64; \"\$WDRUN\" $row"

		[ "$status" -eq 0 ]
		has_message stdout
		[ "$(wc -l <err)" -eq 1 ]
	done
	cmp file <("$PROGRAMS/pattern" write 1 65536)

	complete sh -c '"$WDRUN" -i 60 sh -c "echo one >&2; exit 6" 2>/dev/full'
	[ "$status" -eq 6 ]
}

# --- what wdrun leaves alone -------------------------------------------------

@test "a reader of another descriptor of the caller's sees the end when the command closes it" {
	local cat
	mkfifo other
	make_gate
	cat other >seen 3>&- &
	cat=$!
	start "$WDRUN" -i 60 --tee=copy sh -c 'echo words >&7; exec 7>&-
		read -r _ <gate; exit 4' 7>other

	wait_until is_dead "$cat"
	[ "$(<seen)" = words ]
	echo >&6
	finish
	[ "$status" -eq 4 ]
}

@test "only the command is in the caller's directory, so that it can be unmounted" {
	local pid
	start "$WDRUN" -i 60 --tee=copy "$PROGRAMS/sigcount"
	await_ready

	for pid in $(leftovers); do
		((pid == ready)) || wait_until test "/proc/$pid/cwd" -ef /
	done
	kill -TERM "$started"
	finish
	[ "$status" -eq 7 ]
}
