#!/usr/bin/env bats
#
# --tee: a live copy of the output, which never puts the run at risk.
#
# shellcheck disable=SC2016,SC2154

load helper
load bounds

# has_text FILE TEXT: a newline at the end of FILE does not count.
has_text() {
	take "$1"
	[ "$taken" = "$2" ]
}

# bats test_tags=smoke
@test "the copy is the output, of survivors and a terminal too, and runs side by side append it" {
	local i pids=()
	gives 3 complete "$WDRUN" --tee=copy --idle-after-exit=60 --max-after-exit=60 \
		sh -c '(for i in 1 2; do sleep 0.02; echo "tick $i"; done) & exit 3'
	[ "$output" = $'tick 1\ntick 2' ]
	[ -z "$stderr" ]
	has_text copy "$output"

	directly --pty --tee=copy sh -c 'echo one; echo two >&2'
	has_text copy $'tick 1\ntick 2\none\ntwo'

	# A pipe gets the whole copy.
	head -c 3000000 /dev/urandom >sent
	"$WDRUN" --tee=>(cmp - sent && : >same) cat sent | cmp - sent
	wait_until test -e same

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
	head -c 30000 /dev/urandom >sent
	complete "$PROGRAMS/sip" -w go "$WDRUN" -t 200 --tee=copy bash -c '
		cat sent
		until cmp -s sent copy; do sleep 0.01; done
		echo >go
		for piece in one two; do
			printf "\n%s" "$piece"
			until mapfile -t lines <copy &&
				[[ ${lines[*]: -1} == "$piece" ]]; do sleep 0.01; done
		done
		exit 4'

	cmp copy out
	[ "$status" -eq 4 ]
}

@test "a stream that goes to the file of --tee already is not copied a second time" {
	local row
	# shellcheck disable=SC2034 # the rows have it
	local script='echo one; echo two >&2'
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

@test "the file is made as the umask says, before anything runs; else 125, and it is named" {
	local file
	mkdir below
	(
		umask 027
		exec "$WDRUN" --tee=copy sh -c 'stat -c %a copy; cd below
			exec echo hello' >out
	)
	has_text copy $'640\nhello'

	mkfifo fifo # without a reader: no wait for one
	for file in no/such/file below fifo; do
		echo "$file"
		gives 125 directly --tee="$file" touch ran
		has_line_count 1 err
		has_message --tee "'$file'"
		[ ! -e ran ]
	done
}

# bats test_tags=slow
@test "a copy that cannot be written is told once; a stuck reader of it holds up no timeout" {
	[ -c /dev/full ] || skip "there is no /dev/full"
	local line
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
	head -c 3000000 /dev/urandom >sent
	gives 124 complete "$WDRUN" -t 500ms -k 300ms --tee=fifo cat sent 7>&-
	exec 7>&-
	cmp -n "$(stat -c %s out)" out sent
	[ "$(stat -c %s out)" -lt 3000000 ]
}
