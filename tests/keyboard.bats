#!/usr/bin/env bats
#
# At a prompt, a command that has a terminal of its own, by --pty or because its
# output has to be seen: the caller's terminal is given back on every way out,
# who may type is clear, and the output goes where it was sent.

load helper
load terminal

# run_script LINE...: runs LINEs in a shell without job control, which changes
# no modes: what is left is what wdrun leaves. Notes the modes after them.
run_script() {
	: >after
	printf '%s\n' "$@" 'stty -g >after' >script
	enter 'sh script'
}

@test "the terminal is given back at the end, and after SIGKILL of supervisor or front" {
	at_prompt
	mkfifo checked
	for way in exit supervisor front; do
		run_script 'wdrun --pty repl' 'echo over' 'read x <checked'
		see_ready
		wait_until has_keys
		if [ "$way" = exit ]; then press C-d; else kill -KILL "${!way}"; fi
		# After the death of the front, the supervisor does that.
		wait_until no has_keys
		wait_until is_dead "$front"
		wait_until is_dead "$supervisor"
		is_dead "$ready"
		wait_until shows '^over$'
		echo >checked
		usable
		cmp modes after
	done
}

@test "the terminal is given back when nobody reads the command's output any more" {
	at_prompt
	run_script "wdrun --pty -k 0 sh -c 'trap \"\" HUP; while :; do echo x; sleep 0.1; done' |
		{ head -n 1; echo >gone; }"
	wait_until test -e gone
	wait_until no has_keys
	press C-c
	wait_until prompted
	usable
}

# bats test_tags=slow
@test "the command's terminal has the caller's modes and size, and each stream goes where the caller sent it" {
	at_prompt
	for mode in -icanon icanon; do
		run_script "stty $mode; stty -g >before" \
			'wdrun --pty sh -c "stty -g >within; echo one; echo two"'
		wait_until prompted
		shows '^one$'
		shows '^two$'
		cmp before within
		cmp before after
	done

	end 'wdrun --no-stdin bash -c "sigcount 1 >child & until [ -s child ]; do sleep 0.1; done; stty cols 99 <$(tty); wait; cat child"; stty cols 100' '^got 28$'
	end 'GPG_TTY=x wdrun -i 60 sh -c '\''[ "$GPG_TTY" = "$(tty)" ] && [ -t 1 ] && [ -t 2 ] && stty size <&1'\' '^40 100$'

	# A copy has the program's bytes.
	end 'wdrun --tee=copy sh -c "echo one; echo two; printf \"three\\r\\n\" >&2"' '^three$'
	has_text copy $'one\ntwo\nthree\r'
	rm copy
	end 'wdrun --tee=copy sh -c "stty -onlcr; printf \"four\\r\\nfive\\n\""' '^four$'
	has_text copy $'four\r\nfive'
	end 'wdrun --tee=copy sh -c "echo words; echo error >&2; [ -t 2 ] || echo no >&2" 2>err' '^words$'
	no shows '^error'
	has_text err $'error\nno'
	usable
}

# bats test_tags=slow
@test "the command gets the keys even if its output goes elsewhere, and Ctrl-C as a character if it reads that" {
	at_prompt
	enter 'wdrun --pty --no-stdin sh -c '\''[ -t 1 ] && ! [ -t 0 ] && echo "ready $$"; exec sleep 1000'\'
	see_ready
	no has_keys
	interrupt_job

	noted answers 'wdrun --pty repl >answers'
	wait_until has_keys
	answer hello
	wait_until grep -qsx 'you said hello' answers
	reads_no_more
	take answers
	[[ $taken != *$'\r'* ]]

	# a terminal that controls another session, as below su(1)
	noted answers 'setsid -w wdrun --pty repl >answers'
	answer hello
	wait_until grep -qsx 'you said hello' answers
	reads_no_more

	# a command that reads Ctrl-C as a character
	echo 'stty raw -echo </dev/tty; echo raw; exec dd bs=1 count=2 of=typed status=none </dev/tty' >raw
	noted ready 'sh -c "echo ready \$\$ >ready; exec sleep 1000" | wdrun --pty sh raw'
	wait_until shows '^raw$'
	wait_until has_keys
	press C-c C-z
	wait_until test -s typed
	kill -KILL "$ready"
	usable
	has_text typed $'\003\032'
}

@test "Ctrl-D reaches the command, even before its start, or in mid-line after another program has ended the raw mode" {
	at_prompt
	noted ready "wdrun --pty sh -c 'echo ready \$\$ >ready; cat >typed; echo'"
	wait_until has_keys
	stty sane -F "$tty"
	answer line
	wait_until grep -qsx line typed
	press part C-d
	wait_until grep -qsx part typed
	reads_no_more

	need script # types a Ctrl-D at once, as its stdin is at its end
	gives 0 complete timeout "$PATIENCE" script -qec 'sleep 0.5; "$WDRUN" --pty cat' /dev/null
}

# bats test_tags=slow
@test "a run without input in the background of a script leaves the keys to the script" {
	at_prompt
	mkfifo fifo
	cat >script <<-'END'
		exec 7<>fifo 8<fifo 7>&-
		wdrun --pty sh -c 'echo >one; exec sleep 1000' </dev/null &
		wdrun --pty sh -c 'echo >two; exec sleep 1000' <&8 &
		until [ -s one ] && [ -s two ]; do sleep 0.05; done
		sleep 0.3 # time to take the keys
		echo question; read -r line; echo "got $line"; kill %1 %2
	END
	enter 'bash script'
	wait_until shows '^question$'
	no has_keys
	answer words
	wait_until shows '^got words$'
	usable
}

@test "lines of output, and messages, end with one CR LF on any terminal, even if another run, or the caller, has put it into raw mode" {
	at_prompt
	run_script 'stty raw -echo' 'wdrun --tee=copy sh -c "echo one; echo two" </dev/null' 'wdrun ./none' 'stty sane' 'wdrun --tee=copy printf "three\nfour\r" </dev/null' 'wdrun ./none'
	wait_until prompted
	[ "$(grep -cxE $'(one|two|three)\r' log)" -eq 3 ]
	[ "$(grep -c $'none.*[^\r]\r$' log)" -eq 2 ]
	has_text copy $'one\ntwo\nthree\nfour'
}

# in_script SIGNAL COMMAND: runs COMMAND in a script, which notes SIGNAL in the file caught.
in_script() {
	printf '%s\n' "trap 'echo >caught' $1" "$2" 'echo "status $?"' >script
	rm -f caught
	enter 'bash script'
	see_ready
	wait_until has_keys
}

@test "a script around a command gets the signal of Ctrl-C and Ctrl-\, too, but no other signal of the command" {
	at_prompt
	for key in INT:C-c QUIT:$'\034'; do
		in_script "${key%:*}" "env --default-signal wdrun --setsid sleep 1000 & wdrun -i 60 sh -c 'trap \"exit 2\" ${key%:*}; echo \"ready \$\$\"; while :; do sleep 0.05; done'"
		press "${key#*:}"
		wait_until shows 'status 2$'
		wait_until test -e caught
		no shows cancelled
	done
	in_script INT "wdrun --pty wdrun -i 60 sh -c 'echo \"ready \$\$\"; exec sleep 1000'"
	press C-c
	wait_until shows 'status 130$'
	wait_until test -e caught
	# what the command reads as a character, and a signal that is no key
	in_script INT "wdrun -i 60 sh -c 'stty -isig; echo \"ready \$\$\"; head -n 1; kill -INT \$\$'"
	press C-c Enter
	wait_until shows '^status 130$'
	[ ! -e caught ]
}
