#!/usr/bin/env bats
#
# Promise 6 at a prompt: a command that shares the terminal, or has one of its
# own, reads keys, asks for passwords, pages, edits and is interrupted as
# without wdrun; and the terminal is usable after whatever goes wrong.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # the shell at the
# prompt expands; terminal.bash sets and reads

load helper
load terminal

# bats test_tags=smoke
@test "a command reads what is typed, Ctrl-C that it handles ends nothing, and its status reaches the prompt" {
	local mode
	at_prompt
	for mode in "${modes[@]}"; do
		run_in "$mode" 'wdrun MODE -k 200ms repl'
		press C-c
		wait_until shows 'interrupted 1$'
		press C-c
		wait_until shows 'interrupted 2$'
		press C-c
		wait_until shows 'interrupted 3$'
		press C-c
		wait_until shows 'interrupted 4$'
		# longer than the kill-after time that none of them has started
		[ -n "$mode" ] || "$WDRUN" -q -t 500ms sleep 1000 || true
		answer hello
		wait_until shows '^you said hello$'
		press C-d
		last_is 0
		enter "wdrun $mode sh -c 'exit 42'"
		last_is 42
		usable
	done
}

@test "a password on /dev/tty is read without an echo, wherever stdin comes from" {
	local mode stdin
	at_prompt
	cat >ask <<-'END'
		read -rsp Password: p </dev/tty
		printf '\n%s\n' "length=${#p}"
		[ -t 0 ] || cat
	END
	for mode in '' -f --pty '-i 60'; do
		for stdin in '' 'echo data |' '</dev/null'; do
			# with -i, a command has a keyboard only where stdin is one
			[ "$mode$stdin" != '-i 60echo data |' ] || continue
			[ "$mode$stdin" != '-i 60</dev/null' ] || continue
			echo "--- $mode $stdin"
			if [ "$stdin" = '</dev/null' ]; then
				enter "wdrun $mode bash ask $stdin"
			else
				enter "$stdin wdrun $mode bash ask"
			fi
			wait_until shows '^Password:'
			answer secret7
			wait_until shows '^length=7$'
			[ "$stdin" != 'echo data |' ] || wait_until shows '^data$'
			run ! shows secret7
			usable
		done
	done
}

@test "vi edits a file, and follows the window" {
	local mode vi
	vi=$(command -v vim.tiny || command -v vi) || skip "no vi is installed"
	at_prompt
	for mode in '' --pty '-i 60'; do
		rm -f file
		enter "wdrun $mode $vi -u NONE -i NONE -N file"
		wait_until shows '~'
		resize 20 90
		wait_until has_lines 20
		press i
		answer second
		press Escape
		answer :wq
		usable
		grep -qx second file
		resize 40 100
	done
}

# has_lines COUNT: vi's window has COUNT lines, now or once it has noticed.
has_lines() {
	answer ':set lines?'
	shows "lines=$1"
}

@test "less pages, alone, in a pipeline, and behind what has to see its output" {
	local line
	need less
	at_prompt
	seq 1000 >numbers
	for line in 'wdrun less numbers' 'wdrun --pty less numbers' \
		'wdrun --tee=copy less numbers' 'wdrun -i 60 less numbers' \
		'wdrun -u nothing less numbers' 'wdrun seq 1000 | less' \
		'seq 1000 | wdrun less' 'seq 1000 | wdrun -f less' \
		'seq 1000 | wdrun --pty --tee=copy less'; do
		echo "--- $line"
		enter "LESS= ; export LESS; $line"
		wait_until shows '(^|[^0-9])39$'
		press G
		wait_until shows '(^|[^0-9])1000$'
		press q
		usable
	done
	grep -q 1000 copy
}

# bats test_tags=smoke
@test "Ctrl-C ends a command, and is its death" {
	local mode
	at_prompt
	for mode in "${modes[@]}"; do
		run_in "$mode" 'wdrun MODE escape'
		press C-c
		last_is 130
		is_dead "$ready"
		usable
	done
	# not the terminal's stdin, a group of its own, the end of a pipeline
	for line in 'wdrun escape fork setsid </dev/null' \
		'wdrun timeout 900 escape' 'yes | wdrun escape'; do
		run_in '' "$line"
		press C-c
		last_is 130
		is_dead "$ready"
		usable
	done
}

@test "Ctrl-C ends the script around a command, and the loop around a pipeline" {
	local mode
	at_prompt
	printf '%s\n' 'wdrun $mode escape' 'echo "went on"' >script
	for mode in "${modes[@]}"; do
		run_in "$mode" "mode='MODE' bash script"
		press C-c
		last_is 130
		is_dead "$ready"
		run ! shows '^went on'
	done
	enter 'while :; do echo turn; yes | wdrun escape; done'
	see_ready
	press C-c
	usable
	is_dead "$ready"
}

@test "an interactive bash, and a python, survive Ctrl-C" {
	local mode
	at_prompt
	for mode in '' --pty '-i 60'; do
		enter "PS1='inner> ' wdrun $mode bash --norc --noprofile"
		wait_until shows 'inner> $'
		answer escape
		see_ready
		press C-c
		wait_until is_dead "$ready"
		answer 'echo inner$((20 + 3))'
		wait_until shows '^inner23$'
		answer exit
		usable
	done
	command -v python3 >/dev/null || return 0
	for mode in '' '-i 60'; do
		enter "wdrun $mode python3 -q"
		wait_until shows '>>> $'
		press C-c
		wait_until shows '^KeyboardInterrupt'
		answer 'print(6 * 7)'
		wait_until shows '^42$'
		press C-d
		usable
	done
}

# in_script LINE: writes a script without job control, which changes no modes
# itself: it notes them, runs LINE, and notes them again.
in_script() {
	printf '%s\n' 'stty -g >before' "$1" 'stty -g >after' >script
	rm -f after
	cat >raw <<-'END'
		stty raw -echo
		echo "ready $$" >is_raw
		cat is_raw
		exec sleep 1000
	END
}

# bats test_tags=smoke
@test "a raw-mode program that is stopped leaves the modes as they were" {
	local mode
	at_prompt
	for mode in '' --pty '-i 60'; do
		echo "--- a timeout, $mode"
		in_script "wdrun -t \$1 -k 300ms $mode sh raw"
		enter_late is_raw 'sh script LIMIT'
		cmp before after

		echo "--- a signal, $mode"
		in_script "wdrun -k 300ms $mode sh raw"
		rm -f is_raw
		enter 'sh script'
		await_ready is_raw
		find_run
		kill -TERM "$front"
		wait_until prompted
		cmp before after
	done
	echo "--- a job of a script with job control"
	printf '%s\n' 'set -m' 'sh raw' >inner
	in_script 'wdrun -t $1 -k 300ms bash inner'
	enter_late is_raw 'sh script LIMIT'
	cmp before after
	usable
}

@test "SIGKILL of wdrun, or of its supervisor, leaves a usable terminal" {
	local mode victim
	at_prompt
	in_script ''
	for mode in '' --pty; do
		for victim in front supervisor; do
			echo "--- $victim, $mode"
			rm -f is_raw
			enter "wdrun $mode sh raw"
			await_ready is_raw
			find_run
			kill -KILL "${!victim}"
			run_is_over
			is_dead "$ready"
			usable
		done
	done
}

@test "a command that changes the modes by itself keeps its change" {
	at_prompt
	enter 'stty -g >before; wdrun stty -ixon; stty -g >after'
	wait_until prompted

	run ! cmp before after
	grep -q . after
}

@test "a script can read from the terminal after the timeout of an interactive shell" {
	at_prompt
	printf '%s\n' 'wdrun -t "$1" -k 300ms bash --norc --noprofile -i' \
		'echo "status=$?"; read -r line; echo "you said <$line>"' >script
	for limit in 1 20; do # until the inner prompt came within the limit
		enter "PROMPT_COMMAND=': >inner' sh script $limit"
		wait_until shows '^status=124$'
		answer hello
		wait_until shows '^you said <hello>$'
		usable
		[ ! -e inner ] || break
	done
	[ -e inner ]
}

# bats test_tags=smoke
@test "the window's size is that of the terminal, and a change is noticed" {
	local mode
	at_prompt
	enter 'for n in "" --pty "-i 60"; do wdrun $n stty size >s.1; wdrun $n sh -c "stty size </dev/tty" | cat >s.2; cat s.1 s.2; done >sizes; wdrun --pty sh -c "stty size </dev/tty" </dev/null >>sizes'
	wait_until prompted
	[ "$(sort -u sizes)" = '40 100' ]

	cat >note_sizes <<-'END'
		trap 'stty size </dev/tty >size' WINCH
		echo "ready $$" >noting
		while :; do sleep 0.05; done
	END
	for mode in '' --pty '-i 60' '</dev/null | cat'; do
		echo "--- $mode"
		rm -f size noting
		case $mode in
		*cat) enter "wdrun --pty bash note_sizes $mode" ;;
		*) enter "wdrun $mode bash note_sizes" ;;
		esac
		await_ready noting
		find_run
		resize 35 90
		wait_until grep -qsx '35 90' size
		kill -TERM "$front"
		usable
		resize 40 100
	done

	echo "--- while the job was stopped"
	rm -f size noting
	enter 'wdrun --pty bash note_sizes'
	await_ready noting
	find_run
	has_own=1
	wait_until has_keys
	stop_job
	resize 35 90
	continue_job
	wait_until grep -qsx '35 90' size
	kill -TERM "$front"
	usable
}

# bats test_tags=smoke,tree
@test "a terminal that goes away ends the run and the tree, in a job or as its only command" {
	local option
	for option in '' --pty --setsid --tee=copy; do
		echo "--- its only command, $option"
		write_family
		# shellcheck disable=SC2086 # no option, or one
		open_terminal wdrun -k 300ms $option sh family
		await_family
		close_terminal
		wait_until is_dead "$escapee"
		wait_until nobody_is_left
	done
	for option in '' --pty; do
		echo "--- a job, $option"
		at_prompt
		write_family
		enter "wdrun -k 300ms $option sh family"
		await_family
		close_terminal
		wait_until is_dead "$escapee"
		wait_until nobody_is_left
	done
}

@test "a terminal that goes away does not end a run that ignores SIGHUP, but its input ends" {
	open_terminal sh -c 'trap "" HUP; exec wdrun escape >ready'
	await_ready ready
	find_run
	close_terminal
	wait_until has_no_terminal "$front"
	is_alive "$ready"
	kill -TERM "$front"
	wait_until nobody_is_left

	open_terminal sh -c 'trap "" HUP; exec wdrun --pty cat >file'
	wait_until has_keys
	answer 'some words'
	wait_until grep -qsx 'some words' file
	close_terminal
	wait_until nobody_is_left
}

@test "--setsid takes the terminal away, --foreground keeps it" {
	at_prompt
	enter 'wdrun --setsid sh -c "(: </dev/tty) || echo none" >setsid'
	wait_until prompted
	[ "$(<setsid)" = none ]

	enter 'wdrun --foreground sh -c ": </dev/tty && echo some" </dev/null >long'
	wait_until prompted
	[ "$(<long)" = some ]
	usable
}

@test "a command does not acquire a terminal that nobody controls" {
	: >own
	mkfifo keys
	complete "$PROGRAMS/terminal" -n keys log "$WDRUN" bash -c '
		(: </dev/tty) 2>/dev/null || echo none >>own
		ps -o tty= -p $$ >>own
		(sleep 0.1; echo late >>own) & exit'
	wait_until nobody_is_left

	[ "$(xargs <own)" = 'none ? late' ]
}

@test "a timeout at a terminal ends who left the session, and signals no other job, shell or script" {
	at_prompt
	write_family
	enter 'sleep 1000 & echo "ready $!" >other'
	cat >script <<-'END'
		sleep 1000 &
		wdrun -t "$1" -k 300ms sh family
		echo "status=$?"
		kill -0 "$!" && echo "other lives"
		kill "$!"
	END
	enter_late target 'sh script LIMIT'
	shows '^status=124$'
	shows '^other lives$'
	await_ready escapee
	is_dead "$ready"
	await_ready other
	is_alive "$ready"
	usable
}

# bats test_tags=smoke
@test "Ctrl-C ends the wait for survivors, and the survivors; Ctrl-Z stops it, and fg goes on" {
	local mode
	at_prompt
	for mode in '' --pty; do
		for stop in '' and_stop; do
			run_in '' "wdrun $mode --survivors=wait sh -c 'setsid escape & echo \$\$ >target; exit 0'"
			wait_until is_zombie "$(<target)"
			wait_until no has_keys
			if [ "$mode$stop" = and_stop ]; then
				press C-z
				wait_until is_stopped "$front"
				usable
				enter fg
				wait_until no is_stopped "$front"
			fi
			press C-c
			wait_until is_dead "$ready"
			[ "$mode$stop" = and_stop ] || last_is 0
			usable
		done
	done
}
