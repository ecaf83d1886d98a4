#!/usr/bin/env bats
#
# What the command writes, where wdrun has to read it: every byte comes through,
# in order, to the same place, as if the command had written there itself; the
# terminal of --pty where no terminal is about; and the copy of --tee, which never
# puts the run at risk. (After the command's end: drain.bats.)

load helper
load bounds

# bats test_tags=smoke
@test "every byte of both streams reaches a pipe or a file, and the command's status stands" {
	head -c 5000000 /dev/urandom >sent
	for options in '--until=nothing --tee=copy' --pty; do
		# shellcheck disable=SC2086 # words
		"$WDRUN" $options cat sent 2>err | cmp - sent
		[ "${PIPESTATUS[*]}" = "0 0" ]
		[ ! -s err ]
	done
	cmp copy sent

	head -c 4000000 /dev/urandom >other
	"$WDRUN" -i 60 sh -c 'cat sent & cat other >&2; wait' >first 2>second
	cmp first sent
	cmp second other
}

@test "if both streams go to one file, they keep their order, and nothing is overwritten" {
	in_turns='for ((i = 1; i <= 1000; i += 2)); do
		echo $i; echo $((i + 1)) >&2; done'
	expected=({1..1000})
	mkfifo fifo
	for row in '--tee=copy bash -c "$in_turns" >>seen 2>>seen' \
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

	sh -c 'echo before; "$WDRUN" -i 60 echo within; echo after' >file
	"$WDRUN" -i 60 sh -c 'echo one; echo two >>file; echo three' >>file
	has_line_count 6 file
}

# bats test_tags=slow
@test "a reader that goes away ends the command by SIGPIPE at its next write" {
	for option in -i60 --tee=/dev/null --pty; do
		echo "$option"
		env --default-signal "$WDRUN" -t 200 "$option" yes 2>err | read -r _
		# A terminal may be hung up instead.
		[[ "$option ${PIPESTATUS[*]}" == @(*' 141'|'--pty 129')' 0' ]]
		[ ! -s err ]
	done
	# A command that ignores SIGPIPE gets an error, and tells it.
	env --ignore-signal=PIPE "$WDRUN" -i 60 -t 200 yes 2>err | read -r _
	[ "${PIPESTATUS[*]}" = "1 0" ]
	has_line_count 1 err
	no has_message ''
	mkfifo gate
	exec 6<>gate
	start sip -e "$WDRUN" -t 200 -i 100 sh -c 'echo first
		echo "ready $$" >said; read -r _ <gate; echo second; : >survived'
	wait_until says_ready said
	pipe=$(stat -Lc %i "/proc/$ready/fd/1")
	wait_until eval '[ "$(find /proc/[0-9]*/fd -lname "pipe:?$pipe?" | wc -l)" -eq 1 ]' 2>/dev/null
	echo >&6
	gives 141 finish
	[ ! -e survived ]
}

@test "a reader sees the end of file when the command closes the descriptor" {
	mkfifo fifo other gate
	exec 6<>gate
	start sh -c 'exec "$WDRUN" -i60 sh -c "
		echo \$\$; echo words >&7; exec >&- 7>&-
		read -r _ <gate; exit 4" >fifo 7>other'
	# shellcheck disable=SC2094 # two FIFOs
	{
		read -rd '' -t "$PATIENCE" text || [ "$?" -eq 1 ]
		read -rd '' -t "$PATIENCE" other <&8 || [ "$?" -eq 1 ]
	} <fifo 8<other
	[ "$other" = words ]
	is_alive "$text"
	echo >&6
	gives 4 finish
}

# bats test_tags=slow
@test "a stuck reader of stdout blocks stdout but not stderr, and nothing is lost" {
	head -c 3000000 /dev/urandom >sent
	start sip -w go "$WDRUN" -i 60 sh -c '
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

# bats test_tags=smoke
@test "a program that does not wait for room in its pipe, such as Node, loses no output up to 1 MiB" {
	for redirection in '' '2>&1'; do
		eval '"$WDRUN" -i 60 python3 -c "import os
os.set_blocking(1, False)
os.write(1, bytes(1 << 20))" >out '"$redirection"
		[ "$(stat -c %s out)" -eq $((1 << 20)) ]
	done
	wdrun_directly -i 60 python3 -c 'import fcntl
for fd in 1, 2: print(fcntl.fcntl(fd, 1032)) # F_GETPIPE_SZ'
	[ "$output" = $'1048576\n65536' ]
	# A caller that waits before it reads: lines of which one fits into a page.
	gives 0 complete python3 -c 'import subprocess as s, sys; caller = s.Popen(sys.argv[1:], stdout=s.PIPE)
sys.exit(caller.wait(20) or len(caller.stdout.read()) != 65100)' \
		"$WDRUN" -i 60 bash -c 'for i in {1..31}; do printf "%2099s\n"; done'
}

@test "lines stay whole, even if the reader is slow and others write to the same pipe" {
	# Its pipe holds one page: a write that was cut would show.
	for row in '"$WDRUN" -i 60 bash lines' '"$WDRUN" -i 60 bash lines 2>&1' \
		'"$WDRUN" --tee=/dev/fd/9 bash lines 9>&1 >/dev/null'; do
		echo "$row"
		echo 'for i in {1..3000}; do echo "line $i"; done' >lines
		gives 0 complete sip -l -p 1 sh -c "$row"
		printf 'line %d\n' {1..3000} | cmp - out
	done
}

@test "a message begins on a line of its own, even if wdrun has just carried a part of a line to the same place" {
	for redirection in '>log 2>&1' '>/dev/null 2>log' '2>&1 | cat >log'; do
		echo "$redirection"
		eval '"$WDRUN" -t 500ms --tee=copy sh -c "printf part; printf part >&2
			exec sleep 1000" '"$redirection" || true
		grep -qxE '(part){1,2}' log
		grep -q '^wdrun: timed out' log
		[ "$(<copy)" = partpart ]
		rm copy
	done
	gives 124 complete "$WDRUN" -t 500ms -i 60 sh -c 'printf part; echo line >&2; exec sleep 1000'
	[ "$output" = part ]
	[ "$(head -n 2 err | cut -c1-6)" = $'line\nwdrun:' ]
}

@test "a closed stdout stays closed, and stderr is carried" {
	gives 3 complete sh -c 'exec "$@" >&-' sh "$WDRUN" --tee=copy \
		sh -c '[ -e /proc/$$/fd/1 ] || : >closed; echo error >&2; exit 3'
	[ -e closed ]
	[ "$stderr" = error ]
	[ "$(<copy)" = error ]
}

@test "if output cannot be written, one message says so, the command runs on, and a status of 0 becomes 125" {
	head -c 500000 /dev/urandom >sent
	for row in '125 -i 60 sh -c "echo one; sleep 0.1; echo two" >/dev/full' \
		'125 --pty sh -c "cat sent; : >ended" >/dev/full' \
		'125 -u two --until-grace=0 sh -c "echo one; echo two; exec escape" >/dev/full' \
		'7 --tee=copy sh -c "cat sent; exit 7" >/dev/full' \
		'125 -u nothing cat sent >file'; do
		echo "$row"
		gives "${row%% *}" complete bash -c "[[ '$row' != *'>file' ]] || ulimit -f 64
			exec \"\$WDRUN\" -q --report=report ${row#* }"
		has_message stdout
		has_line_count 1 err
		grep -q "\"status\":${row%% *}," report
	done
	[ -e ended ]
	cmp sent copy
	cmp -n 65536 file sent
	[[ $(stat -c %s file) -eq 65536 && $(<report) == *'"relayed":65536,"undelivered":434464}'* ]]
}

@test "after a write error nothing more is written, even if there is space again" {
	need prlimit
	mkfifo gate
	exec 6<>gate
	start sh -c 'ulimit -Sf 1; exec "$WDRUN" -i 60 sh -c "
		seq 999; echo ready \$\$ >&2; read -r _ <gate; echo more" >file' 6>&-
	await_ready err
	wait_until has_message stdout
	prlimit --pid "$started" --fsize=unlimited
	echo >&6
	gives 125 finish
	[ "$(stat -c %s file)" -le 1024 ]
	no grep -q more file
}

@test "trouble with stderr or the copy, or a reader that is gone, changes no status" {
	gives 0 complete sh -c 'exec "$WDRUN" --tee=/dev/full sh -c "
		echo text; echo error >&2" 2>/dev/full'
	[ "$output" = text ]
	env --ignore-signal=PIPE "$WDRUN" -i 60 bash -c '
		while echo text; do :; done; exit 0' 2>err | :
	[ "${PIPESTATUS[0]}" -eq 0 ]
	no has_message ''
}

# --- --pty -------------------------------------------------------------------

# bats test_tags=smoke
@test "with --pty, stdout and stderr are a controlling terminal of 24 by 80; stdin and status are as without it" {
	gives 42 wdrun_directly --pty sh -c '[ -t 0 ] || echo no; [ -t 1 ] && [ -t 2 ] && echo yes
		read -r x; echo "$x"; echo error >&2; echo words >/dev/tty
		stty size </dev/tty
		read -r _ _ _ _ group session _ front _ </proc/$$/stat
		[ "$session" = $PPID ] && [ "$group $front" = "$$ $$" ] && exit 42' <<<input
	[ "$output$stderr" = $'no\nyes\ninput\nerror\nwords\n24 80' ]
	wdrun_directly --pty printf 'a\nb\tc\r\n\n.'
	[ "$output" = $'a\nb\tc\r\n\n.' ]
	# Where the caller has no stdout or stderr it has its terminal too.
	gives 3 complete sh -c 'exec "$WDRUN" --pty sh -c "
		[ -t 1 ] && [ -t 2 ] && echo into nothing && exit 3" >&- 2>&-'
}

@test "with --pty, a reader that is gone hangs up a job that writes, even if its leader is dead, but no command that is silent" {
	mkfifo go
	"$WDRUN" --pty sh -c 'echo first; read -r x <go; exit 3' 2>err |
		{ read -r x; exec <&-; echo "$x" >go; [ "$x" = first ]; } || true
	[ "${PIPESTATUS[0]}" -eq 3 ]
	[ ! -s err ]
	"$WDRUN" --pty -t 20 bash -mc 'true | { while echo; do sleep 0.02; done; sleep 1000; }; :' | head -n 1 || true
	[ "${PIPESTATUS[0]}" -eq 0 ]
}

@test "with --pty --survivors=leave, survivors keep their terminal, and get no SIGHUP" {
	mkfifo pipe
	gives 5 wdrun_directly --pty --survivors=leave sh -c '{ trap "echo hup >>how" HUP
		read -r word <pipe; [ -t 1 ] && echo "$word" >>how; } & exit 5'
	echo here >pipe
	wait_until nobody_is_left
	[ "$(<how)" = here ]
}

@test "with --pty, a survivor can set the modes of its terminal, even while a stop ends it" {
	gives 3 wdrun_directly --pty --idle-after-exit=100ms -k 100 sh -c '
		(trap "stty -echo </dev/tty && : >set; exit" TERM
		: >ready; while :; do sleep 0.05; done) &
		until [ -e ready ]; do sleep 0.02; done; exit 3'
	[ -e set ]
}

@test "no message is lost while other processes write to the same terminal" {
	# A write to a terminal without waiting fails while another process writes.
	"$WDRUN" --pty bash -c 'until [ -e over ]; do echo x; done &
		for i in {1..20}; do "$WDRUN" --nope; done; : >over; wait' >out
	[ "$(grep -c -- --nope out)" -eq 20 ]
}

# --- --tee -------------------------------------------------------------------

# bats test_tags=smoke
@test "the copy has all output, of survivors and a terminal, too; it is appended, and made with the umask's mode" {
	umask 027
	wdrun_directly --tee=made sh -c 'stat -c %a made; cd /; exec echo hello'
	[ "$(<made)" = $'640\nhello' ]
	gives 3 wdrun_directly --tee=copy --idle-after-exit=60 --max-after-exit=60 \
		sh -c '(for i in 1 2; do sleep 0.02; echo "tick $i"; done) & exit 3'
	[ "$output$stderr" = $'tick 1\ntick 2' ]
	cmp copy out
	wdrun_directly --pty --tee=copy sh -c 'echo one; echo two >&2'
	[ "$(<copy)" = $'tick 1\ntick 2\none\ntwo' ]

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

@test "the copy is written at once, even a part of a line, and before the output" {
	# The first piece is more than the reader's pipe holds.
	seq 9999 | head -c 30000 >sent # text: bash reads what comes behind
	gives 4 complete sip -w go "$WDRUN" -t 200 --tee=copy bash -c '
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
}

@test "the copy in a FIFO with a slow reader is whole when the reader of the output goes away" {
	mkfifo fifo
	exec 7<>fifo
	exec 8<fifo 7>&-
	seq 30000 >sent # more than a FIFO holds
	start sip -e "$WDRUN" -t 200 --tee=fifo sh -c 'echo "ready $$" >said
		dd if=sent bs=1M status=none; while sleep 0.02; do echo more; done'
	await_ready said
	wait_until is_dead "$ready" # of SIGPIPE
	cat <&8 >copied
	gives 141 finish
	cmp -n "$(stat -c %s sent)" sent copied
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

# bats test_tags=slow
@test "if the copy cannot be written, one message says so; a stuck reader of the copy delays no timeout" {
	gives 4 wdrun_directly --tee=/dev/full sh -c 'echo one; echo two >&2
		sleep 0.1; echo one; echo two >&2; exit 4'
	[ "$output" = $'one\none' ]
	has_message --tee /dev/full
	has_line_count 3 err

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
	gives 124 wdrun_directly -t 500ms -k 300ms --tee=fifo cat sent 7>&-
	cmp -n "$(stat -c %s out)" out sent
	[ "$(stat -c %s out)" -lt 3000000 ]
}
