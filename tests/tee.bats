#!/usr/bin/env bats
#
# --tee: a live copy of the output, which never puts the run at risk.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

# --- what is in the copy -----------------------------------------------------

# bats test_tags=smoke
@test "the copy is the same as the output, and is appended" {
	complete "$WDRUN" --tee=copy sh -c '
		echo one; echo two >&2; echo three; exit 3'
	[ "$status" -eq 3 ]
	[ "$output" = $'one\nthree' ]
	[ "$stderr" = two ]
	[ "$(sort copy)" = $'one\nthree\ntwo' ]

	complete "$WDRUN" --tee=copy echo four
	[ "$(wc -l <copy)" -eq 4 ]
	[ "$(tail -n 1 copy)" = four ]

	complete "$WDRUN" --tee=bytes "$PROGRAMS/pattern" write 1 1000000
	[ "$("$PROGRAMS/pattern" check 1 1000000 <bytes)" = same ]
	cmp bytes out

	complete "$WDRUN" --tee=empty true
	[ -f empty ]
	[ ! -s empty ]
}

@test "the copy of a terminal's output is that output, without carriage returns" {
	complete bash -c 'x=$("$WDRUN" --pty --tee=copy sh -c "
			echo one; echo two >&2")
		printf "%s\n" "$x" >captured'

	cmp copy <(printf 'one\ntwo\n')
	cmp captured copy
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

@test "the copy has each piece at once, a part of a line too" {
	# The command continues only after its piece was seen in the copy.
	complete "$WDRUN" -t 200 --tee=copy bash -c '
		for i in {1..5}; do
			printf "%s" "line $i"
			until grep -qsx "line $i" copy; do sleep 0.01; done
			echo
		done'

	[ "$status" -eq 0 ]
	[ "$(wc -l <copy)" -eq 5 ]
}

@test "the copy comes before the output: who follows it waits for no reader" {
	start "$PROGRAMS/sip" -w go "$WDRUN" --tee=copy sh -c '
		"$PROGRAMS/pattern" write 1 30000; : >written; exit 4'
	wait_until test -e written
	wait_until cmp -s copy <("$PROGRAMS/pattern" write 1 30000)
	[ ! -s out ]

	touch go
	finish

	[ "$status" -eq 4 ]
	cmp copy out
}

@test "what survivors write is in the copy" {
	complete "$WDRUN" --tee=copy --idle-after-exit=60 --max-after-exit=60 \
		"$PROGRAMS/ticker" 50 4 3

	[ "$status" -eq 3 ]
	[ "$(wc -l <copy)" -eq 5 ]
	cmp copy out
}

# bats test_tags=smoke
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

	# With --pty all output is on stdout: stderr is no copy.
	complete sh -c '"$WDRUN" --pty --tee=pty sh -c "echo one; echo two >&2" \
		2>>pty'
	[ "$status" -eq 0 ]
	[ "$(<pty)" = $'one\ntwo' ]

	complete sh -c '"$WDRUN" --tee=/dev/null echo hello >/dev/null'
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
}

# --- the file ----------------------------------------------------------------

@test "the file is the caller's, made as the umask says, before anything runs" {
	mkdir below
	complete sh -c 'umask 027; exec "$WDRUN" --tee=copy sh -c "
		stat -c %a copy; cd below; echo hello"'
	[ "$output" = $'640\nhello' ]
	cmp copy out
	[ ! -e below/copy ]

	complete sh -c 'umask 0; exec "$WDRUN" --tee=other true'
	[ "$(stat -c %a other)" = 666 ]
}

@test "a file that cannot be opened: 125, one line with its name, and nothing runs" {
	local file
	mkdir directory
	mkfifo fifo # without a reader: no wait for one
	for file in no/such/file directory /proc/version/x fifo /dev/tty; do
		echo "$file"
		complete setsid -w "$WDRUN" --tee="$file" touch ran

		[ "$status" -eq 125 ]
		[ "$(wc -l <err)" -eq 1 ]
		has_message --tee "'$file'"
		[ ! -e ran ]
	done
}

@test "a FIFO and a pipe get the whole copy" {
	mkfifo fifo
	complete bash -c '"$PROGRAMS/pattern" check 1 3000000 <fifo >verdict & exec 7>fifo
		"$WDRUN" --tee=fifo "$PROGRAMS/pattern" write 1 3000000
		echo $? >status; exec 7>&-; wait'
	[ "$(<status)" -eq 0 ]
	[ "$(<verdict)" = same ]
	[ -z "$stderr" ]

	complete bash -c '"$WDRUN" --tee=>("$PROGRAMS/pattern" check 1 3000000 >verdict2) \
		"$PROGRAMS/pattern" write 1 3000000'
	[ "$status" -eq 0 ]
	wait_until grep -qx same verdict2
	[ -z "$stderr" ]
}

# --- a copy that cannot be written -------------------------------------------

@test "a copy that cannot be written is told once, and the run goes on" {
	[ -c /dev/full ] || skip "there is no /dev/full"
	complete "$WDRUN" --tee=/dev/full bash -c '
		for i in {1..50}; do echo "$i"; done; sleep 0.1; echo more; exit 4'
	[ "$status" -eq 4 ]
	[ "$(wc -l <out)" -eq 51 ]
	has_message --tee /dev/full
	[ "$(wc -l <err)" -eq 1 ]

	# Both streams have it.
	complete sh -c '"$WDRUN" --tee=/dev/full bash -c "
		echo one; echo two >&2; sleep 0.1; echo one; echo two >&2"'
	[ "$output" = $'one\none' ]
	[ "$(grep -cx two err)" -eq 2 ]
	[ "$(grep -c /dev/full err)" -eq 1 ]

	# The output cannot be written either; and it alone.
	complete sh -c '"$WDRUN" --tee=/dev/full sh -c "echo one; exit 4" \
		>/dev/full'
	[ "$status" -eq 4 ]
	has_message --tee /dev/full
	has_message stdout
	[ "$(wc -l <err)" -eq 2 ]
	complete sh -c '"$WDRUN" --tee=whole sh -c "echo one; echo two" >/dev/full'
	[ "$status" -eq 0 ]
	[ "$(<whole)" = $'one\ntwo' ]

	# A file that may not grow.
	complete bash -c '(ulimit -f 64; exec "$WDRUN" --tee=copy \
		"$PROGRAMS/pattern" write 1 300000) | cat'
	[ "$("$PROGRAMS/pattern" check 1 300000 <out)" = same ]
	has_message --tee "'copy'"
	[ "$(wc -l <err)" -eq 1 ]
	cmp copy <(head -c "$(wc -c <copy)" out)
}

@test "a reader of the copy that goes away ends the copy alone" {
	mkfifo fifo gate
	exec 6<>gate
	head -n 1 <fifo >first 3>&- 6>&- &
	local reader=$!
	exec 7>fifo # there is a reader now

	start "$WDRUN" -t 200 --tee=fifo sh -c 'echo one; read -r _ <gate
		echo two; sleep 0.1; echo three; exit 4' 7>&-
	wait_until is_dead "$reader"
	exec 7>&-
	echo >&6
	finish

	[ "$status" -eq 4 ]
	[ "$output" = $'one\ntwo\nthree' ]
	[ "$(<first)" = one ]
	has_message --tee "'fifo'"
	[ "$(wc -l <err)" -eq 1 ]
}

@test "a reader of the copy that is stuck does not hold the run beyond --timeout" {
	mkfifo fifo
	exec 7<>fifo
	complete "$WDRUN" -t 500ms -k 300ms --tee=fifo sh -c '
		"$PROGRAMS/pattern" write 1 3000000; exec sleep 1000' 7>&-
	exec 7>&-

	[ "$status" -eq 124 ]
	cmp out <(head -c "$(wc -c <out)" \
		<("$PROGRAMS/pattern" write 1 3000000))
	only_messages
}
