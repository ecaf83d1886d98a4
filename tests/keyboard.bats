#!/usr/bin/env bats
#
# At a prompt, a command that has a terminal of its own, by --pty or because its
# output has to be seen: the caller's terminal is given back on every way out,
# who may type is clear, and the output goes where it was sent.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # the shell at the
# prompt expands; terminal.bash sets and reads

load helper
load terminal

# run_script LINE...: runs LINEs in a shell without job control, which changes
# no modes: what is left is what wdrun leaves. Notes the modes before and after.
run_script() {
	rm -f before after
	printf '%s\n' 'stty -g >before' "$@" 'stty -g >after' >script
	enter 'sh script'
}

restored() {
	[ "$(stty -g -F "$tty")" = "$(<before)" ]
}

# bats test_tags=smoke
@test "the terminal is given back at the end, and after SIGKILL of the supervisor or the front" {
	local way
	at_prompt
	for way in exit supervisor front; do
		echo "--- $way"
		run_script "wdrun --pty repl" 'echo over' 'until [ -e checked ]; do sleep 0.02; done'
		see_ready
		wait_until has_keys
		case $way in
		exit) press C-d ;;
		*) kill -KILL "${!way}" ;;
		esac
		# After the death of the front, the supervisor does that.
		wait_until restored
		wait_until no_wdrun
		is_dead "$ready"
		wait_until shows '^over$'
		touch checked
		usable
		cmp before after
		rm checked
	done
}

@test "the command's terminal starts with the caller's modes, and new lines start at the margin" {
	at_prompt
	run_script 'wdrun --pty sh -c "stty -a >within; printf \"one\ntwo\n\""'
	wait_until prompted

	shows '^one$'
	shows '^two$'
	grep -q ' icanon' within
	cmp before after
}

@test "a stop from elsewhere gives the terminal back, and fg takes it again" {
	at_prompt
	run_in --pty 'wdrun MODE repl'
	kill -TSTP "$front"
	wait_until is_stopped "$ready"
	wait_until is_stopped "$front"
	usable
	continue_job
	answer 'back again'
	wait_until shows '^you said back again$'
	press C-d
	last_is 0
	usable
}

@test "two runs on one terminal leave it as it was, in a pipeline too" {
	at_prompt
	# The run that starts first ends first.
	run_script 'first="wdrun --pty sh -c \"touch one; until [ -e two ]; do sleep 0.02; done\""' \
		'second="wdrun --pty sh -c \"touch two; until [ -e over ]; do sleep 0.02; done\""' \
		'until_first() { until [ -e one ]; do sleep 0.02; done; }' \
		'{ eval "$first" </dev/tty; touch over; } & until_first; eval "$second"; wait' \
		'rm one two over' \
		'{ eval "$first"; touch over; } | { until_first; eval "$second" </dev/tty; }'
	usable

	cmp before after
}

@test "--no-stdin leaves the keys to the shell; where only the output goes elsewhere they are the command's" {
	at_prompt
	enter 'wdrun --pty --no-stdin sh -c '\''[ -t 1 ] && ! [ -t 0 ] && echo "ready $$"; exec sleep 1000'\'
	see_ready
	no has_keys
	press C-c
	last_is 130

	enter 'wdrun --pty repl >answers'
	wait_until grep -qs '^ready' answers
	wait_until has_keys
	answer hello
	wait_until grep -qx 'you said hello' answers
	press C-d
	last_is 0
	run ! grep -q $'\r' answers
	usable
}

@test "where the command reads Ctrl-C as a character, the job gets no signal" {
	at_prompt
	cat >raw <<-'END'
		stty raw -echo </dev/tty
		echo raw >state
		dd bs=1 count=2 </dev/tty >typed 2>/dev/null
		exec cat
	END
	: >ready
	enter 'escape >ready | wdrun --pty sh raw'
	await_ready ready
	wait_until grep -qs raw state
	wait_until has_keys
	press C-c C-z
	wait_until has_typed

	is_alive "$ready"
	no is_stopped "$ready"
}

has_typed() {
	[ "$(od -An -tx1 <typed)" = ' 03 1a' ]
}

@test "Ctrl-C at a shell with a terminal of its own, or for its job, is not for the caller's" {
	local caller
	at_prompt
	: >caller
	enter 'escape >caller | PS1="inner> " wdrun --pty bash --norc --noprofile -i </dev/tty'
	await_ready caller
	caller=$ready
	wait_until shows 'inner> $'
	answer escape
	wait_until shows '^ready [0-9]+$'
	press C-c
	wait_until shows '\^C'
	answer 'echo "still$((1 + 1))"'
	wait_until shows '^still2$'
	: >log
	press C-c
	wait_until shows '\^C'
	answer 'echo "still$((1 + 2))"'
	wait_until shows '^still3$'

	is_alive "$caller"
	answer exit
	wait_until no has_keys
	press C-c
	wait_until is_dead "$caller"
	usable
}

@test "with a bound on silence stdout and stderr are still terminals where they were" {
	at_prompt
	enter 'wdrun -i 60 sh -c '\''[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && stty size <&1 && echo "all three"'\'
	wait_until prompted
	shows '^all three$'
	shows '^40 100$'
	enter 'wdrun -i 60 sh -c '\''[ -t 2 ] && ! [ -t 1 ] && echo "only this"'\'' | cat'
	wait_until prompted
	shows '^only this$'
	usable
}

@test "a copy of what goes to the terminal has the program's bytes, and stderr goes where it was sent" {
	at_prompt
	enter 'wdrun --tee=copy sh -c "echo one; echo two; printf \"three\\r\\n\" >&2"'
	wait_until prompted
	shows '^three$'
	[ "$(od -c <copy)" = "$(printf 'one\ntwo\nthree\r\n' | od -c)" ]

	enter 'wdrun --tee=copy sh -c "echo words; echo error >&2; [ -t 2 ] || echo no >&2" 2>err'
	wait_until prompted
	shows '^words$'
	run ! shows '^error'
	[ "$(<err)" = $'error\nno' ]
}

@test "much output at a terminal comes in order, to its end" {
	local mode
	at_prompt
	for mode in --pty '-i 60'; do
		enter "wdrun $mode seq 20000"
		wait_until prompted
		tr -d '\r' <log | grep -x '[0-9]*' | cmp - <(seq 20000)
	done
}

@test "no flag of the terminal changes, during the run or after it" {
	local before mode
	at_prompt
	before=$(grep -h '^flags' "/proc/$shell/fdinfo/"{0,1,2})
	for mode in --pty '-i 60' --tee=copy; do
		run_in "$mode" 'wdrun MODE repl'
		[ "$(grep -h '^flags' "/proc/$shell/fdinfo/"{0,1,2})" = "$before" ]
		press C-d
		last_is 0
		[ "$(grep -h '^flags' "/proc/$shell/fdinfo/"{0,1,2})" = "$before" ]
	done
}
