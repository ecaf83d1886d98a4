#!/usr/bin/env bats
#
# At a real prompt: a command in the terminal's foreground job stays in that
# job, wherever its stdin comes from, and what needs to see the output of a
# command at the terminal gives it a terminal with a keyboard.
#
# Starts first: its tests take long, one after the other.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load prompt
load relays

# --- /dev/tty ----------------------------------------------------------------

# reads_terminal SHELL
reads_terminal() {
	at_prompt "$1"
	enter 'echo data | wdrun bash -c '\''read -rsp "Pass""word: " p </dev/tty; echo; echo "length=${#p}"; cat'\'
	wait_until shows '^Password:'
	enter 'secret7'
	wait_until shows '^length=7$'
	wait_until shows '^data$'
	run ! shows secret7

	enter 'wdrun bash -c '\''read -r x </dev/tty; echo "you said <$x>"'\'' </dev/null'
	wait_until target_runs
	enter 'hello'
	wait_until shows '^you said <hello>$'
	usable
}

@test "a password prompt on /dev/tty works wherever stdin comes from, in bash" {
	reads_terminal bash
}

@test "a password prompt on /dev/tty works wherever stdin comes from, in zsh" {
	reads_terminal zsh
}

@test "a password prompt on /dev/tty works wherever stdin comes from, in dash" {
	reads_terminal dash
}

@test "a password prompt on /dev/tty works wherever stdin comes from, in fish" {
	reads_terminal fish
}

# pages_behind COMMAND: a pager, which COMMAND ends with, reads keys behind a pipe.
pages_behind() {
	need less
	at_prompt
	enter "seq 3000 | LESS= $1"
	wait_until shows '^39$'
	press G
	wait_until shows '^3000$'
	press q
	wait_until no_front
	usable
}

@test "a pager at the end of a pipe pages" {
	pages_behind 'wdrun less'
}

@test "a command in the background whose stdin is not the terminal leaves it alone" {
	at_prompt
	enter 'wdrun sh -c "ps -o tty= -p \$\$ >tty; exec escape" </dev/null &'
	wait_until shows 'ready [0-9]+$'
	[ "$(cat tty)" = '?' ]
	ready=$(screen | sed -n 's/.*ready //p')
	usable

	enter fg
	wait_until shows '^wdrun'
	press C-z
	wait_until shows 'Stopped'
	wait_until is_stopped "$ready"
	enter 'clear; fg'
	wait_until no is_stopped "$ready"
	press C-c
	wait_until is_dead "$ready"
	wait_until no_front
	last_is 130
}

@test "at the end of a pipe a pager with --pty has keys, and its input" {
	pages_behind 'wdrun --pty --tee=log less'
}

# --- the terminal goes away --------------------------------------------------

@test "a terminal that goes away ends the run that was its only command, and the tree" {
	local option
	at_prompt
	for option in '' --pty --setsid --tee=log; do
		rm -f ready && : >ready
		tmux -S socket new-window \
			"exec wdrun $option sh -c 'escape fork setsid >ready; exec sleep 1000'" 3>&-
		await_ready ready
		wait_until target_runs

		tmux -S socket kill-window

		wait_until is_dead "$ready"
		wait_until no_front
	done
}

# has_no_terminal PID: field 7 of its stat says so, once the terminal is gone.
has_no_terminal() {
	local stat words
	read -r stat <"/proc/$1/stat"
	read -ra words <<<"${stat##*) }"
	[ "${words[4]}" = 0 ]
}

@test "a terminal that goes away does not end a run that ignores SIGHUP" {
	at_prompt
	: >ready
	tmux -S socket new-window \
		"trap '' HUP; exec wdrun sh -c 'escape >ready'" 3>&-
	await_ready ready
	wait_until target_runs
	tmux -S socket kill-window
	wait_until has_no_terminal "$front"

	is_alive "$ready"
	kill -TERM "$front"
	wait_until is_dead "$ready"
	wait_until no_front
}

# --- what has to see the output ----------------------------------------------

# stop_and_continue STOPPED: Ctrl-Z stops the job with --pty, which the shell
# tells as STOPPED, and leaves a usable prompt; fg continues the job.
stop_and_continue() {
	press C-z
	wait_until shows "$1"
	wait_until is_stopped "$ready"
	usable
	enter 'clear; fg'
	wait_until no is_stopped "$ready"
	wait_until is_wdruns
}

# pages OPTION SHELL
pages() {
	need less
	at_prompt "$2"
	seq 2000 >numbers
	enter "wdrun $1 less -# 1 numbers"
	wait_until shows '^39$'
	press Space
	wait_until shows '^78$'
	press C-c
	wait_until at_end
	press q
	wait_until no_front
	last_is 0
	usable
}

# Presses G until the last line is shown: less drops what was typed right behind
# Ctrl-C.
at_end() {
	shows '^2000$' && return
	press G
	return 1
}

@test "with --tee a pager is a pager, in bash" {
	pages --tee=log bash
	grep -q 2000 log
}

@test "with a bound on silence a pager is a pager, in zsh" {
	pages '-i 60' zsh
}

@test "with --until a pager is a pager, in dash" {
	pages '-u nothing' dash
}

@test "with --tee a pager is a pager, in fish" {
	pages --tee=log fish
}

@test "git log pages with --tee" {
	need git less
	at_prompt
	git init -q .
	for n in {1..40}; do
		git -c user.name=x -c user.email=x@y commit -q --allow-empty -m "commit $n"
	done
	enter 'LESS= wdrun --tee=log git log'
	wait_until shows 'commit 40'
	press G
	wait_until shows 'commit 1$'
	press q
	wait_until no_front
	usable
}

@test "a copy of what goes to the terminal has the program's own bytes" {
	at_prompt
	enter 'wdrun --tee=log sh -c "echo one; echo two; printf \"three\\r\\n\" >&2"'
	wait_until no_front
	wait_until shows '^three$'

	[ "$(od -c <log)" = "$(printf 'one\ntwo\nthree\r\n' | od -c)" ]
}

@test "at a terminal stderr goes where it was sent, with a copy too" {
	at_prompt
	enter 'wdrun --tee=log sh -c "echo words; echo error >&2; [ -t 2 ] || echo no >&2" 2>err'
	wait_until no_front
	wait_until shows '^words$'

	[ "$(cat err)" = $'error\nno' ]
	run ! shows '^error'
}

@test "Ctrl-Z stops a command that has a terminal of its own, and fg continues it" {
	local option
	at_prompt
	for option in --pty '-i 60' --tee=log; do
		enter "wdrun $option repl"
		see_ready
		wait_until target_runs
		press C-z
		wait_until shows 'Stopped'
		wait_until is_stopped "$ready"
		usable
		enter fg
		wait_until no is_stopped "$ready"
		enter 'back again'
		wait_until shows '^you said back again$'
		press C-c
		wait_until shows 'interrupted 1$'
		press C-d
		wait_until no_front
		usable
		enter clear
		wait_until no shows usable
	done
}

@test "what a command writes when Ctrl-Z stops it comes before what the shell writes" {
	need strace
	at_prompt
	enter 'wdrun --pty bash -c '\''trap "echo last words; kill -STOP \$\$" TSTP; echo "ready $$"; while :; do read -rt 0.05; done'\'
	see_ready
	wait_until target_runs
	strace -qq -o /dev/null -e inject=write:delay_enter=20000 \
		-p "$(relays_of "$front" | head -n 1)" 3>&- &
	wait_until is_traced "$(relays_of "$front" | head -n 1)"
	press C-z
	wait_until shows 'Stopped'
	wait_until shows '^(\^Z)?last words$'

	[ "$(screen | grep -o 'last words$\|Stopped')" = $'last words\nStopped' ]
	usable
}

is_traced() {
	grep -q '^TracerPid:.*[1-9]' "/proc/$1/status"
}

@test "Ctrl-C ends the survivors of a command that had a terminal of its own" {
	at_prompt
	enter 'wdrun --pty --survivors=wait sh -c "setsid escape & exit 0"'
	see_ready
	wait_until target_runs
	wait_until is_zombie "$target"
	wait_until cooked
	press C-c

	wait_until is_dead "$ready"
	wait_until no_front
	last_is 0
}

cooked() {
	[[ $(stty -a -F "$tty") != *-icanon* ]]
}

@test "lines of a --pty in the background begin at the margin, once" {
	local option
	at_prompt
	tmux -S socket pipe-pane "cat >'$PWD/bytes'"
	for option in --pty --tee=log; do
		: >bytes
		enter "wdrun $option sh -c 'echo line; echo another' & wait; echo 'over'here"
		wait_until shows '^overhere$'
		wait_until grep -q '^overhere' bytes

		grep -q $'^line\r$' bytes
		run ! grep -q $'\r\r' bytes
		enter clear
		wait_until no shows overhere
	done
}

@test "the lines of a command that bg continues begin at the margin, once" {
	at_prompt
	tmux -S socket pipe-pane "cat >'$PWD/bytes'"
	mkfifo pipe
	enter 'wdrun --pty bash -c '\''echo "ready $$"; exec 9<>pipe; until [ -e go ]; do read -rt 0.05 -u 9; done; echo line; echo another'\'
	see_ready
	press C-z
	wait_until shows 'Stopped'
	enter bg
	wait_until no is_stopped "$ready"
	: >bytes
	touch go
	wait_until no_front
	wait_until grep -q 'another' bytes

	run ! grep -q $'\r\r' bytes
	usable
}

# --- the other commands of the job -------------------------------------------

# wdrun reads the keys for a command that has a terminal of its own.
is_wdruns() {
	[[ $(stty -a -F "$tty") == *-isig* ]]
}

# pipeline_is_one_job SHELL
pipeline_is_one_job() {
	local left=10
	at_prompt "$1"
	while ((left-- > 0)); do
		wipe '^ready|^last'
		enter 'escape | wdrun --pty cat'
		see_ready
		wait_until is_wdruns
		press C-c
		wait_until is_dead "$ready"
		wait_until no_front
		last_is 130
	done

	wipe '^ready|^last'
	enter 'escape | wdrun --pty -i 60 cat'
	see_ready
	wait_until is_wdruns
	stop_and_continue '[Ss](topped|uspended)'
	press C-c
	wait_until is_dead "$ready"
	wait_until no_front
	usable
}

@test "Ctrl-C and Ctrl-Z are for a whole pipeline with --pty, in bash" {
	pipeline_is_one_job bash
}

@test "Ctrl-C and Ctrl-Z are for a whole pipeline with --pty, in zsh" {
	pipeline_is_one_job zsh
}

@test "Ctrl-C and Ctrl-Z are for a whole pipeline with --pty, in dash" {
	pipeline_is_one_job dash
}

@test "Ctrl-C and Ctrl-Z are for a whole pipeline with --pty, in fish" {
	pipeline_is_one_job fish
}

@test "two commands of a pipeline with --pty stop and end together, 10 times of 10" {
	local left=10
	at_prompt
	while ((left-- > 0)); do
		wipe '^ready|Stopped|^last'
		enter 'wdrun --pty escape | wdrun --pty cat'
		see_ready
		wait_until is_wdruns
		press C-z
		wait_until shows 'Stopped'
		wait_until is_stopped "$ready"
		enter fg
		wait_until no is_stopped "$ready"
		wait_until is_wdruns
		press C-c
		wait_until no_front
		is_dead "$ready"
	done
	usable
}

@test "Ctrl-C while a command gets its terminal is for the whole pipeline too" {
	need strace
	at_prompt
	: >ready
	enter 'escape >ready | strace -f -qq -o /dev/null -e inject=setpgid:delay_enter=3000000 wdrun --pty cat'
	await_ready ready
	wait_until relays_run
	"$WDRUN" -q -t 300ms sleep 1000 || true # the relay would read by now
	press C-c

	wait_until is_dead "$ready"
	wait_until no_front
	usable
}

relays_run() {
	one_front && [ "$(relays_of "$front" | wc -l)" = 2 ]
}

@test "Ctrl-C at a command with a terminal of its own ends the script, and Ctrl-Z stops it" {
	local option
	at_prompt
	for option in --pty '-i 60' --tee=log; do
		printf '%s\n' "wdrun $option escape" 'echo "went on $((1 + 1))"' >script
		enter 'bash script'
		see_ready
		wait_until is_wdruns
		stop_and_continue 'Stopped'
		press C-c

		wait_until no_front
		last_is 130
		run ! shows '^went on 2'
		wipe '^ready|^last|Stopped'
	done
}

@test "where the command reads Ctrl-C as a character, the job gets no signal" {
	at_prompt
	cat >raw <<-'END'
		stty raw -echo </dev/tty
		echo raw >state
		dd bs=1 count=2 </dev/tty >keys 2>/dev/null
		exec cat
	END
	: >ready
	enter 'escape >ready | wdrun --pty sh raw'
	await_ready ready
	wait_until grep -qs raw state
	wait_until is_wdruns
	press C-c C-z
	wait_until has_read_keys

	is_alive "$ready"
	no is_stopped "$ready"
}

has_read_keys() {
	[ "$(od -An -tx1 <keys)" = ' 03 1a' ]
}

@test "Ctrl-C at a shell with a terminal of its own, or for its job, is not for the caller's" {
	at_prompt
	: >ready
	enter 'escape >ready | PS1="inner> " wdrun --pty bash --norc --noprofile -i </dev/tty'
	await_ready ready
	wait_until shows '^inner>'
	enter 'sleep 1000; echo "inner$((20 + $?))"'
	wait_until sleep_runs
	press C-c
	wait_until no sleep_runs
	enter 'echo "still$((1 + 1))"'
	wait_until shows '^still2'
	wait_until shows '^inner>$'
	press C-c
	wait_until shows '^inner> \^C$'
	wait_until shows '^inner>$'
	enter 'echo "still$((1 + 2))"'
	wait_until shows '^still3'

	is_alive "$ready"
	enter exit
	wait_until no_front
	press C-c
	wait_until is_dead "$ready"
	usable
}

sleep_runs() {
	local pid
	for pid in $(leftovers); do
		[ "$(<"/proc/$pid/comm")" != sleep ] || return 0
	done 2>/dev/null
	return 1
}

@test "in a nested run, Ctrl-C that a command survives cancels nothing" {
	at_prompt
	enter 'wdrun -k 300ms sh -c "wdrun --pty repl; exit"'
	see_ready
	wait_until is_wdruns
	press C-c
	wait_until shows 'interrupted 1$'

	"$WDRUN" -q -t 500ms sleep 1000 || true
	enter 'hello'
	wait_until shows '^you said hello$'
	press C-z
	wait_until shows 'Stopped'
	wait_until is_stopped "$ready"
	usable
	enter fg
	wait_until no is_stopped "$ready"
	wait_until is_wdruns
	press C-d
	wait_until no_front
	usable
}

@test "vi's own Ctrl-Z stops the job, a script around it, and the clock" {
	local vi limit
	vi=$(command -v vim.tiny || command -v vi) || skip "no vi is installed"
	at_prompt
	for limit in 2 8 30; do # until the job is stopped within the limit
		printf '%s\n' "wdrun --pty -t $limit $vi -u NONE -N file" \
			'echo "status=$?"' >script
		enter 'clear; bash script'
		wait_until shows '^~|^status'
		press C-z
		wait_until shows 'Stopped|^status'
		shows '^status' || break
		usable
	done

	usable
	"$WDRUN" -q -t "$limit" sleep 1000 || true
	run ! shows '^status'
	one_front
	enter 'clear; fg'
	wait_until shows '^status=124$'
	wait_until no_front
	usable
}

# --- the clocks --------------------------------------------------------------

@test "a command that stops itself, or its process group, stops no clock" {
	local who option
	at_prompt
	for option in '' --pty; do
		for who in '$$' 0; do
			enter "wdrun -t 1 $option sh -c 'escape & kill -TSTP $who; wait'"
			wait_until shows 'timed out after 1s'
			wait_until no_front
			usable
			enter clear
			wait_until no shows 'timed out'
		done
	done
}

runs_or_is_over() {
	target_runs || is_dead "$ready"
}

@test "Ctrl-Z stops the clocks of a command that has a terminal of its own" {
	local limit
	at_prompt
	for limit in 0.7 4 30; do # until the job is stopped within the limit
		wipe '^ready'
		enter "wdrun --pty -t $limit repl"
		see_ready
		wait_until runs_or_is_over
		press C-z
		wait_until is_stopped_or_dead "$ready"
		! is_stopped "$ready" || break
		wait_until no_front
	done

	"$WDRUN" -q -t "$limit" sleep 1000 || true
	"$WDRUN" -q -t 0.3 sleep 1000 || true
	is_alive "$ready"
	run ! shows 'timed out'
	enter fg
	wait_until is_dead "$ready"
	wait_until shows 'timed out'
	usable
}

is_stopped_or_dead() {
	is_stopped "$1" || is_dead "$1"
}

# --- a terminal that nobody controls -----------------------------------------

@test "a command does not acquire a terminal that nobody controls" {
	need python3
	cat >caller.py <<-'END'
		import os, pty, subprocess, sys
		master, slave = pty.openpty()
		run = subprocess.run([os.environ['WDRUN'], 'bash', '-c',
		    'ps -o tty= -p $$; (sleep .3; echo late) & exit'],
		    stdin=slave, stdout=subprocess.PIPE, text=True)
		sys.stdout.write(run.stdout)
	END
	complete setsid -w python3 caller.py

	[ "$output" = $'?\nlate' ]
}
