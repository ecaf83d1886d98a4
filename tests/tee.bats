#!/usr/bin/env bats
#
# --tee: a live copy of the output, which never puts the run at risk. (options.bats has
# what is refused.)

load helper
load bounds

# bats test_tags=smoke
@test "the copy is the output, of survivors and a terminal too, and runs side by side append it" {
	pids=()
	gives 3 directly --tee=copy --idle-after-exit=60 --max-after-exit=60 ticker 20 2 3
	[ "$output$stderr" = $'tick 1\ntick 2\ndone' ]
	cmp copy out
	directly --pty --tee=copy sh -c 'echo one; echo two >&2'
	[ "$(<copy)" = $'tick 1\ntick 2\ndone\none\ntwo' ]

	# A pipe gets the whole copy.
	"$WDRUN" --tee=>(pattern check 1 3000000 >verdict) pattern write 1 3000000 >bytes
	pattern check 1 3000000 <bytes
	wait_until grep -q same verdict

	for i in 1 2 3; do
		"$WDRUN" --tee=lines bash -c 'for i in {1..300}; do
			echo "line $i of $0"; done' "$i" >/dev/null 3>&- &
		pids+=("$!")
	done
	wait "${pids[@]}"
	[ "$(grep -cxE 'line [0-9]+ of [1-3]' lines)" -eq 900 ]
}

@test "the copy comes at once, a part of a line too, and before the output" {
	# The command continues only after its piece was seen in the copy; the
	# first is more than the reader's pipe holds.
	complete sip -w go "$WDRUN" -t 200 --tee=copy bash -c '
		pattern write 1 30000
		until pattern check 1 30000 <copy >/dev/null; do
			sleep 0.01
		done
		echo >go
		for piece in one two; do
			printf "\n%s" "$piece"
			until mapfile -t lines <copy &&
				[[ ${lines[*]: -1} == "$piece" ]]; do sleep 0.01; done
		done
		exit 4'
	[ "$status" -eq 4 ]
	cmp copy out
}

@test "a stream that goes to the file of --tee already is not copied a second time" {
	script='echo one; echo two >&2'
	ln -s log link
	# With --pty all output is on stdout: stderr is no copy.
	for row in '--tee=link sh -c "$script" 2>>log >out' \
		'--tee=log sh -c "$script" >>log 2>&1' \
		'--pty --tee=log sh -c "$script" 2>>log >out'; do
		echo "$row"
		echo old >log
		eval "\"\$WDRUN\" $row"
		[ "$(sort log)" = $'old\none\ntwo' ]
	done
}

@test "the file is made as the umask says, before anything runs" {
	umask 027
	directly --tee=copy sh -c 'stat -c %a copy; cd /; exec echo hello'
	[ "$(<copy)" = $'640\nhello' ]
}

# bats test_tags=slow
@test "a copy that cannot be written is told once; a stuck reader of it holds up no timeout" {
	[ -c /dev/full ] || skip "there is no /dev/full"
	# Both streams have it.
	gives 4 directly --tee=/dev/full sh -c 'echo one; echo two >&2
		sleep 0.1; echo one; echo two >&2; exit 4'
	[ "$output" = $'one\none' ]
	has_message --tee /dev/full
	has_line_count 3 err

	# A reader that goes away ends the copy alone.
	mkfifo gate fifo
	exec 6<>gate 7<>fifo
	start "$WDRUN" -t 200 --tee=fifo sh -c 'echo one; read -r _ <gate
		echo two; sleep 0.1; echo three; exit 4' 7>&-
	read -rt "$PATIENCE" line <&7
	[ "$line" = one ]
	exec 7>&-
	echo >&6
	gives 4 finish
	[ "$output" = $'one\ntwo\nthree' ]
	has_message --tee "'fifo'"
	has_line_count 1 err

	exec 7<>fifo
	gives 124 directly -t 500ms -k 300ms --tee=fifo pattern write 1 3000000 7>&-
	exec 7>&-
	[[ $(pattern check 1 3000000 <out) == 'the end at '* ]]
}
