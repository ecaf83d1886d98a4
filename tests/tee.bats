#!/usr/bin/env bats
#
# --tee: a live copy of the output, which never puts the run at risk.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

@test "the copy is the same as the output: both streams, any bytes, no output" {
	complete "$WDRUN" --tee=copy sh -c '
		echo one; echo two >&2; echo three; exit 3'

	[ "$status" -eq 3 ]
	[ "$output" = $'one\nthree' ]
	[ "$stderr" = two ]
	[ "$(sort copy)" = $'one\nthree\ntwo' ]

	complete "$WDRUN" --tee=bytes "$PROGRAMS/pattern" write 1 1000000
	[ "$("$PROGRAMS/pattern" check 1 1000000 <bytes)" = same ]
	cmp bytes out

	complete "$WDRUN" --tee=empty true
	[ -f empty ]
	[ ! -s empty ]
}

@test "the copy is appended" {
	echo before >copy
	complete "$WDRUN" --tee=copy echo first
	complete "$WDRUN" --tee=copy echo second

	[ "$(cat copy)" = $'before\nfirst\nsecond' ]
}

@test "runs side by side append to one file without overwriting a line" {
	local i pids=()
	for i in {1..4}; do
		"$WDRUN" --tee=copy bash -c 'for i in {1..300}; do
			echo "line $i of $0"; done' "$i" >/dev/null 3>&- &
		pids+=("$!")
	done
	wait "${pids[@]}"

	[ "$(wc -l <copy)" -eq 1200 ]
	run ! grep -qvxE 'line [0-9]+ of [1-4]' copy
}

@test "tail -f of the copy sees each line at once" {
	: >copy
	tail -n +1 -f copy >seen 3>&- &
	local tail=$!

	# The command continues only after its line was seen in the copy.
	complete "$WDRUN" -t 200 --tee=copy bash -c '
		for i in {1..5}; do
			echo "line $i"
			until grep -qsx "line $i" seen; do sleep 0.01; done
		done'
	kill "$tail"
	wait "$tail" || true

	[ "$status" -eq 0 ]
	[ "$(wc -l <seen)" -eq 5 ]
}

@test "the copy has a part of a line at once" {
	complete "$WDRUN" -t 200 --tee=copy sh -c 'printf dots...
		until grep -qs "dots\.\.\.$" copy; do sleep 0.01; done; echo'

	[ "$status" -eq 0 ]
}

@test "the copy comes before the output: who follows it waits for no reader" {
	start "$PROGRAMS/sip" -w go "$WDRUN" --tee=copy sh -c '
		"$PROGRAMS/pattern" write 1 30000
		until [ "$(wc -c <copy)" -eq 30000 ]; do sleep 0.01; done
		: >whole; exit 4'
	wait_until grep -q . copy
	wait_until seen_last_of_chunk

	touch go
	finish

	[ "$status" -eq 4 ]
	[ -e whole ]
	cmp copy out
}

# The copy has more than the stuck reader has room for.
seen_last_of_chunk() {
	[ "$(wc -c <copy)" -gt 4096 ] && [ ! -s out ]
}

@test "the file is relative to the caller's directory" {
	mkdir below
	complete "$WDRUN" --tee=copy sh -c 'cd below; sleep 0.1; echo hello'

	[ "$(cat copy)" = hello ]
	[ ! -e below/copy ]
}

@test "the file is created as the umask says, before anything runs" {
	complete sh -c 'umask 027; exec "$WDRUN" --tee=copy sh -c "
		[ -f copy ] && stat -c %a copy"'
	[ "$output" = 640 ]
	[ "$(stat -c %a copy)" = 640 ]

	complete sh -c 'umask 0; exec "$WDRUN" --tee=other true'
	[ "$(stat -c %a other)" = 666 ]
	[ ! -s other ]
}

@test "a file that cannot be opened is an error, and nothing runs" {
	local file
	mkdir directory
	for file in no/such/file directory /proc/version/x; do
		complete "$WDRUN" --tee="$file" touch ran

		[ "$status" -eq 125 ]
		[ "$(wc -l <err)" -eq 1 ]
		[[ $stderr == "wdrun: --tee: cannot open '$file': "* ]]
		[ ! -e ran ]
	done
}

@test "a FIFO without a reader is an error at once, without a wait" {
	mkfifo fifo
	complete "$WDRUN" --tee=fifo touch ran

	[ "$status" -eq 125 ]
	[[ $stderr == "wdrun: --tee: cannot open 'fifo': "* ]]
	[ ! -e ran ]
}

@test "/dev/tty without a terminal: the message says what is wrong" {
	complete setsid -w "$WDRUN" --tee=/dev/tty touch ran

	[ "$status" -eq 125 ]
	[[ $stderr == "wdrun: --tee: cannot open '/dev/tty': No such device"* ]]
	[ ! -e ran ]
}

@test "a FIFO with a reader gets the whole copy" {
	mkfifo fifo
	"$PROGRAMS/pattern" check 1 3000000 <fifo >verdict 3>&- &
	local reader=$!
	wait_until opens_fifo "$reader"

	complete "$WDRUN" --tee=fifo "$PROGRAMS/pattern" write 1 3000000
	wait "$reader"

	[ "$status" -eq 0 ]
	[ "$(cat verdict)" = same ]
	[ -z "$stderr" ]
}

# opens_fifo PID: PID waits in open(2) for a writer.
opens_fifo() {
	grep -q -e partner -e fifo "/proc/$1/wchan"
}

@test "a stream that goes to the file of --tee already is not copied a second time" {
	echo old >log
	complete bash -c 'x=$("$WDRUN" --tee=log sh -c "echo one; echo two >&2; \
		exit 3" 2>>log); echo "$? $x"'
	[ "$output" = '3 one' ]
	[ -z "$stderr" ]
	[ "$(head -n 1 log)" = old ]
	[ "$(sort log)" = $'old\none\ntwo' ]

	ln -s log link # another name, the other stream
	complete sh -c '"$WDRUN" --tee=link sh -c "echo three; echo four >&2" >>log'
	[ "$status" -eq 0 ]
	[ "$stderr" = four ]
	[ "$(sort log)" = $'four\nold\none\nthree\ntwo' ]

	complete sh -c '"$WDRUN" --tee=both sh -c "echo five; echo six >&2" \
		>>both 2>&1'
	[ "$status" -eq 0 ]
	[ -z "$output$stderr" ]
	[ "$(<both)" = $'five\nsix' ]

	complete sh -c '"$WDRUN" --tee=/dev/null echo hello >/dev/null'
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
}

@test "with --pty, whose output is all on stdout, stderr in the file of --tee is no copy" {
	complete sh -c '"$WDRUN" --pty --tee=log sh -c "echo one; echo two >&2" \
		2>>log'
	[ "$status" -eq 0 ]
	[ "$(sort log)" = $'one\ntwo' ]
}

@test "a copy on a full disk is given up, reported once, and the run goes on" {
	complete "$WDRUN" --tee=/dev/full bash -c '
		for i in {1..50}; do echo "$i"; done; sleep 0.1; echo more; exit 4'

	[ "$status" -eq 4 ]
	[ "$(wc -l <out)" -eq 51 ]
	[ "$stderr" = "wdrun: --tee: cannot write to '/dev/full': No space left on device; the copy ends here" ]
}

@test "where both streams have the copy, its end is reported once" {
	complete sh -c '"$WDRUN" --tee=/dev/full bash -c "
		echo one; echo two >&2; sleep 0.1; echo one; echo two >&2" \
		2>&1 >second | cat'

	[ "$(grep -c '^wdrun: --tee:' out)" -eq 1 ]
	[ "$(grep -cx two out)" -eq 2 ]
	[ "$(grep -cx one second)" -eq 2 ]
}

@test "a full disk on both sides is reported for each; on one side, the copy is complete" {
	complete sh -c '"$WDRUN" --tee=/dev/full sh -c "echo one; exit 4" \
		>/dev/full'

	[ "$status" -eq 4 ]
	[ "$(wc -l <err)" -eq 2 ]
	grep -q '^wdrun: --tee: cannot write' err
	grep -q '^wdrun: cannot write to stdout' err

	complete sh -c '"$WDRUN" --tee=copy sh -c "echo one; echo two" >/dev/full'
	[ "$status" -eq 0 ]
	[ "$(cat copy)" = $'one\ntwo' ]
}

@test "a copy that may not grow is given up" {
	complete bash -c '(ulimit -f 64; exec "$WDRUN" --tee=copy \
		"$PROGRAMS/pattern" write 1 300000) | cat'

	[ "$("$PROGRAMS/pattern" check 1 300000 <out)" = same ]
	[ "$stderr" = "wdrun: --tee: cannot write to 'copy': File too large; the copy ends here" ]
	head -c "$(wc -c <copy)" out | cmp - copy
}

@test "a reader of the copy that goes away ends the copy alone" {
	mkfifo fifo
	head -n 1 <fifo >first 3>&- &
	local reader=$!
	wait_until opens_fifo "$reader"

	start "$WDRUN" -t 200 --tee=fifo sh -c 'echo one
		until [ -e gone ]; do sleep 0.02; done
		echo two; sleep 0.1; echo three; exit 4'
	wait_until is_dead "$reader"
	touch gone
	finish
	wait "$reader"

	[ "$status" -eq 4 ]
	[ "$output" = $'one\ntwo\nthree' ]
	[ "$(cat first)" = one ]
	[ "$stderr" = "wdrun: --tee: cannot write to 'fifo': Broken pipe; the copy ends here" ]
}

@test "a reader of the copy that is stuck does not hold the run" {
	mkfifo fifo
	exec 7<>fifo
	start "$WDRUN" -t 60 --tee=fifo sh -c '
		"$PROGRAMS/pattern" write 1 3000000; exit 4' 7>&-
	finish
	exec 7>&-

	[ "$status" -eq 4 ]
	[ "$("$PROGRAMS/pattern" check 1 3000000 <out)" = same ]
	[[ $stderr == "wdrun: --tee: cannot write to 'fifo': "*"; the copy ends here" ]]
	[ "$(wc -l <err)" -eq 1 ]
}

@test "a slow reader of the copy holds up no stop, and no output is lost in silence" {
	mkfifo fifo
	exec 7<>fifo
	"$PROGRAMS/pattern" write 1 65536 >&7 # the pipe is full
	# Slow, but not so slow that the copy is given up.
	bash -c 'until [ -e over ]; do sleep 0.3; head -c 4096; done' \
		<fifo >/dev/null 3>&- 7>&- &
	local reader=$! limit
	for limit in 0.5 5 50; do # until the command has written everything within the limit
		complete "$WDRUN" -t $limit -k 300ms --tee=fifo sh -c '
			"$PROGRAMS/pattern" write 2 60000; : >written
			exec sleep 1000' 7>&-
		[ ! -e written ] || break
	done
	: >over
	wait "$reader"
	exec 7>&-

	[ "$status" -eq 124 ]
	cmp out <(head -c "$(wc -c <out)" <("$PROGRAMS/pattern" write 2 60000))
	run ! grep -q relay err
	lost=$(sed -n 's/^wdrun: \([0-9]*\) bytes of output are lost: .*/\1/p' err)
	(($(wc -c <out) + ${lost:-0} == 60000))
}

@test "a copy on a file system that hangs holds up no stop" {
	with_hung_fs '"$WDRUN" --tee=mnt/file -t 1 -k 300ms bash -c "hang_fs
			echo words; exec sleep 1000"
		echo "status $?"
		kill -KILL $server'
	finish

	grep -qx 'status 124' out
	nobody_is_left
}

@test "what survivors write is in the copy" {
	complete "$WDRUN" --tee=copy --idle-after-exit=60 --max-after-exit=60 \
		"$PROGRAMS/ticker" 100 4 3

	[ "$status" -eq 3 ]
	cmp copy out
	[ "$(wc -l <copy)" -eq 5 ]
}

@test "the copy of a terminal's output is that output, without carriage returns" {
	complete bash -c 'x=$("$WDRUN" --pty --tee=copy sh -c "echo one; echo two")
		printf "%s\n" "$x" >captured'

	[ "$(od -c <copy)" = "$(printf 'one\ntwo\n' | od -c)" ]
	cmp copy captured
}

@test "--tee alone is not in the way of a command with a closed stdout" {
	complete "$PROGRAMS/launch" --close 1 "$WDRUN" --tee=copy \
		sh -c 'echo words >&2; exit 4'

	[ "$status" -eq 4 ]
	[ "$(cat copy)" = words ]
}
