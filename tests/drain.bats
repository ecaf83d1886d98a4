#!/usr/bin/env bats
#
# After the command's end its output is still on its way. It is delivered, however slow
# the reader, and no reader, survivor or process outside the tree holds back the status.

load helper

setup() {
	common_setup
	need python3
}

# "${reader[@]}" SIP-OPTION... COMMAND...: programs/sip reads what COMMAND writes; what
# it gets is in the file seen. On descriptor 9, the file out, a command says that it is ready.
reader=(sh -c 'exec 9>&1; exec sip "$@" >seen' -)

# writing BYTES [THEN]: makes the file sent of so many bytes, more than the reader's
# pipe holds, and sets script to one that writes them, says `ready PID`, and exits
# with 7, or does THEN.
writing() {
	head -c "$1" /dev/urandom >sent
	script="cat sent; echo \"ready \$\$\" >&9; ${2-exit 7}"
}

# start_read SIP-OPTION... COMMAND...: starts a run with that reader, and waits until its
# command is ready. Sets target and front.
start_read() {
	start "${reader[@]}" "$@"
	await_ready
	target=$ready
	first_child "$started"
	front=$child
}

# The reader has got the first bytes, and one message has the number of the others.
tells_lost() {
	local seen lost
	seen=$(stat -c %s seen)
	lost=$(($(stat -c %s sent) - seen))
	((lost > 0))
	cmp -n "$seen" sent seen
	[ "$(grep -cE "^wdrun: (.* )?$lost " err)" -eq 1 ]
}

# --- readers that are slow, or stuck -----------------------------------------

# bats test_tags=slow
@test "a reader that comes late, or is slow, gets the whole output, including the last words of a stopped command" {
	# The bounds for survivors do not apply to a reader.
	set -- --idle-after-exit=100ms --max-after-exit=100ms
	writing 20000
	gives 7 complete "${reader[@]}" -c 1024 -p 8 "$WDRUN" --pty "$@" sh -c "$script"
	cmp sent seen
	[ -z "$stderr" ]

	start_read -w go "$WDRUN" -i 60 "$@" sh -c "$script"
	wait_until is_dead "$target"
	pause 0.4 # longer than the bounds for survivors
	is_alive "$front"
	touch go
	gives 7 finish
	cmp sent seen
	[ -z "$stderr" ]

	head -c 16384 /dev/urandom >sent
	script='trap "exec cat sent" TERM
		echo "ready $$" >&9; sleep 1000 & wait'
	gives 124 complete_late "${reader[@]}" -c 2048 -p 50 "$WDRUN" -i 60 \
		-t LIMIT -k 1000 sh -c "$script"
	cmp sent seen
}

@test "a reader that never reads delays the end no longer than --timeout" {
	writing 10000
	for option in -i60 --pty; do
		echo "$option"
		gives 7 complete_late "${reader[@]}" -n "$WDRUN" "$option" \
			-t LIMIT -k 300ms sh -c "$script"
		tells_lost
		has_line_count 1 err
	done
}

# bats test_tags=slow
@test "after a signal, a reader has time while it reads, but no longer than --kill-after, or until a third signal" {
	for row in '15000 -n wdrun -k 300ms' '32000 -c 1024 -p 80 wdrun -k never' \
		'60000 -c 2048 -p 300 wdrun -k never'; do
		echo "$row"
		read -ra options <<<"${row/wdrun/$WDRUN -i 60}"
		writing "${options[0]}"
		start_read "${options[@]:1}" sh -c "$script"
		wait_until no first_child "$front" # from now on it counts the signals
		kill -TERM "$front"
		[[ $row != 6* ]] || kill -INT "$front" # the reader would need 9 s
		[[ $row != 6* ]] || kill -QUIT "$front"
		gives 7 finish
		case $row in
		3*) cmp sent seen ;; # for longer than a reader that takes nothing
		*) tells_lost ;;
		esac
	done
}

# bats test_tags=slow
@test "after an -i stop, a reader that takes nothing does not delay the end; after --until, it has all the time" {
	writing 10000
	last_words='trap "cat sent; exit" TERM; echo "ready $$" >&9; sleep 1000 & wait'
	gives 124 complete_late "${reader[@]}" -n "$WDRUN" -i LIMIT -k 300ms sh -c "$last_words"
	tells_lost

	start_read -w go "$WDRUN" -u DONE --until-grace=500ms -k 300ms sh -c "echo DONE; $last_words"
	wait_until is_dead "$target"
	pause 2.5 # longer than a reader has after a failure
	is_alive "$front"
	touch go
	gives 0 finish
	tail -c 10000 seen | cmp - sent
}

@test "a full socket, or a stuck reader of the copy, does not delay the end; a message tells what was lost" {
	cat >socket <<-'END'
		import socket, subprocess, sys
		ours, theirs = socket.socketpair() # theirs takes nothing
		sys.exit(subprocess.call(sys.argv[1:], stdout=ours))
	END
	gives 124 complete python3 socket "$WDRUN" -q -t 1 -k 300ms -i 60 \
		sh -c "head -c 4000000 /dev/zero; exec sleep 1000"
	has_message lost
	mkfifo fifo
	exec 7<>fifo
	seq 30000 >sent # more than a pipe holds
	gives 124 complete "$WDRUN" -t 1 -k 300ms --tee=fifo sh -c 'cat sent; exec sleep 1000'
	lost=$(sed -n "s/^wdrun: --tee: \([0-9]*\) bytes .*'fifo'.*/\1/p" err)
	copied=$(($(stat -c %s sent) - lost)) # whole lines
	((copied > 65000 && copied <= 65536))
	cmp sent out
}

# --- survivors and strangers -------------------------------------------------

# bats test_tags=smoke,tree
@test "\$(wdrun ...) returns even if a survivor holds the output open, or floods it" {
	complete bash -c 'x=$("$WDRUN" -s URG -k 100ms -i 60 --idle-after-exit=200ms \
		sh -c "setsid sleep 1000 & echo hi; exit 3"); echo "$? $x"'
	[ "$output" = "3 hi" ]
	has_message sleep "fd 1"
	nobody_is_left

	gives 3 complete_late "${reader[@]}" -n "$WDRUN" -i 60 -t LIMIT \
		--max-after-exit=200ms -k 300ms sh -c '
			yes & echo "ready $$" >&9; exit 3'
}

@test "a run ends even if a process outside the tree holds the output open, or floods it" {
	mkfifo go
	# The reader is slower, and the pipe is larger than what wdrun takes at
	# once, so there is always more to read.
	cat >flood <<-'END'
		import fcntl, os
		fcntl.fcntl(1, 1031, 1 << 20) # F_SETPIPE_SZ
		while True: os.write(1, bytes(65536))
	END
	for row in '-i60 sleep 1000' '-i60 python3 flood' '--pty yes'; do
		echo "$row"
		start_read -p 2 "$WDRUN" "${row%% *}" \
			--max-after-exit=never --idle-after-exit=never sh -c '
			echo "ready $$" >&9; read -r _ <go; exit 3'
		# shellcheck disable=SC2086 # words
		${row#* } >"/proc/$target/fd/1" 2>/dev/null 3>&- &
		outsider=$!
		wait_until test "/proc/$outsider/fd/1" -ef "/proc/$target/fd/1"
		[[ $row == *sleep* ]] || wait_until test -s seen
		echo >go
		wait_until is_dead "$front"
		kill -KILL "$outsider" 2>/dev/null || true
		gives 3 finish
		[ -z "$stderr" ]
	done
}

@test "--survivors=leave: the run returns at once; the reader gets later output, and then the end of file" {
	mkfifo gate fifo
	exec 6<>gate
	start sh -c 'exec 3>&1 4>&1 5>&1 6>&1 7>&1 8>&1 9>&1; exec "$WDRUN" --tee=copy --survivors=leave sh -c "
		echo first; (read -r _ <gate; echo last) & exit 5" >fifo' 6>&-
	exec 7<fifo
	gives 5 finish
	[ -z "$stderr" ]
	read -rt "$PATIENCE" text <&7
	[ "$text" = first ]
	echo >&6
	read -rd '' -t "$PATIENCE" text <&7 || [ "$?" -eq 1 ]
	[ "$text" = last ]
	has_text copy $'first\nlast'
	wait_until nobody_is_left
}

@test "--survivors=leave: if no process can stay behind, what the command wrote is delivered before the end" {
	need_strace
	writing 20000 'sleep 1000 & echo "$PPID" >supervisor; exit 7'
	start "${reader[@]}" -w go strace -qq -o trace -e inject=clone:error=EAGAIN:when=2 \
		"$WDRUN" -i 60 --survivors=leave sh -c "$script"
	wait_until test -s supervisor
	wait_until is_gone "$(<supervisor)"
	touch go
	gives 7 finish
	cmp sent seen
	end_leftovers
}

@test "after SIGKILL of the supervisor, output that was written is delivered" {
	writing 10000 'exec sleep 1000'
	for option in -i60 --pty; do
		echo "$option"
		rm -f go
		start_read -w go "$WDRUN" "$option" sh -c "$script"
		look_at "$target"
		kill -KILL "$process_parent"
		touch go
		gives 137 finish
		cmp sent seen
		nobody_is_left
	done
}
