#!/usr/bin/env bats
#
# Promise 6 at a prompt: a command that shares the terminal, or has one of its
# own, reads keys, asks for passwords, pages, edits and is interrupted as
# without wdrun; and the terminal is usable after whatever goes wrong.

load helper
load terminal

# bats test_tags=smoke
@test "a command reads what is typed and handles Ctrl-C; Ctrl-Z, fg, status and file flags are as without wdrun" {
	at_prompt
	before=$(flags)
	for mode in "${modes[@]}"; do
		run_in "$mode" 'wdrun MODE -k 200ms repl'
		[ "$(flags)" = "$before" ]
		for count in 1 2 3 4; do
			press C-c
			wait_until shows "interrupted $count\$"
		done
		# longer than the kill-after time that none of them has started
		[ -n "$mode" ] || pause 0.5
		stop_job
		continue_job
		reads 'back again'
		reads_no_more
		[ "$(flags)" = "$before" ]
	done
	usable

	# A launcher passes the key on, which has come to its whole job.
	for mode in '' --pty; do
		run_in "$mode" 'launcher wdrun MODE -k 200ms repl'
		press C-c
		wait_until shows 'interrupted 1$'
		pause 0.5 # longer than the kill-after time, as above
		reads_no_more
	done
}

# Prints the flags of what the shell has open.
flags() {
	grep flags: "/proc/$shell/fdinfo"/[012]
}

# bats test_tags=slow
@test "vi edits a file, and less pages, alone, in a pipeline, and with options that read its output" {
	vi=$(command -v vim.tiny || command -v vi) || skip "no vi is installed"
	need less
	at_prompt
	for mode in '' --pty; do
		: >file
		enter "wdrun $mode $vi -u NONE -i NONE -N file"
		wait_until shows '~'
		press i second Enter Escape :wq Enter
		wait_until prompted
		grep -qsx second file
	done

	seq 1000 >numbers
	enter 'export LESS='
	for line in 'wdrun less numbers' 'wdrun -u nothing less numbers' \
		'wdrun seq 1000 | less' 'seq 1000 | wdrun less' \
		'seq 1000 | wdrun --pty less'; do
		enter "$line"
		wait_until shows '(^|[^0-9])39$'
		press G
		wait_until shows '(^|[^0-9])1000$'
		press q
	done
	usable
}

@test "Ctrl-C ends a command by SIGINT, and so the script or loop around it ends, too" {
	at_prompt
	echo 'wdrun $mode escape; echo "went on"' >script
	for mode in "${modes[@]}"; do
		run_in "$mode" "mode='MODE' bash script"
		interrupt_job
	done
	# not the terminal's stdin, a group of its own
	for line in 'wdrun escape fork setsid </dev/null' 'wdrun timeout 900 escape'; do
		run_in '' "$line"
		interrupt_job
	done
	enter 'while :; do echo turn; yes | wdrun escape; done'
	see_ready
	press C-c
	usable
	is_dead "$ready"
}

# bats test_tags=slow
@test "after a stop, the terminal has its former modes and screen, and then the stop is told; but a pager, or a script that has the run in the background, keeps its modes" {
	at_prompt
	printf '%s\n' 'trap "" TERM; stty raw -echo; printf "\33[?1049hTUI" >/dev/tty; echo "ready $$" >ready; exec sleep 1000' >raw
	echo 'old=$(stty -g); trap "stty $old; exit" TERM; stty raw; printf TUI >/dev/tty; echo "ready $$" >ready; while :; do sleep 0.1; done' >relay
	echo 'set -m; sh raw' >with_job_control
	echo 'stty -echo; echo; echo "ready $$" >ready; exec escape' >prompt
	echo 'read -r x; exec 3<>/dev/tty; stty raw <&3; echo "ready $$" >paging; exec sleep 1000' >pager
	echo 'wdrun sh -c "sh prompt >next; :" & . ./pager <next' >asks
	echo ': | wdrun sh -c "echo; echo ready \$\$ >ready; exec escape" >next & . ./pager <next' >serves
	mkfifo checked next
	for row in 'TERM front wdrun -k 1ms sh raw' 'TERM front wdrun --pty -k 1ms sh raw' \
		'TERM front wdrun -k 1ms bash with_job_control' 'TERM front x=$(wdrun -k 1ms sh raw)' \
		'TERM front wdrun sh relay' 'TERM front wdrun --pty sh relay' 'KILL front wdrun sh raw' 'KILL supervisor wdrun sh raw' 'KILL supervisor wdrun --pty sh raw' \
		'TERM front sleep 1000 & wdrun sh prompt; kill $!' 'TERM front : | wdrun sh -c "stty -echo </dev/tty; . ./prompt"' 'TERM front : | wdrun sh -c "exec 3</dev/tty; stty -echo <&3; . ./prompt" | cat'; do
		read -r signal watcher line <<<"$row"
		# A script without job control changes no modes itself.
		echo "$line; read x <checked; stty -g >after" >script
		noted ready 'sh script'
		kill "-$signal" "${!watcher}"
		wait_until is_gone "$front"
		wait_until is_gone "$supervisor"
		echo >checked
		wait_until prompted
		cmp modes after
		[[ $line == *prompt* || $(<log) == *TUI*'[?1049h'*'[?1049l'*'[r'*wdrun:\ *ing* ]]
	done
	no grep -q 1049 log
	for line in 'wdrun sh prompt | sh pager' 'sh asks' 'sh serves'; do
		noted ready "$line"
		await_ready paging
		kill -TERM "$front"
		wait_until is_dead "$front"
		stty -a -F "$tty" | grep -q -e -icanon
		kill -KILL "$ready"
		wait_until prompted
		: >paging
	done
}

# A program that notes the size of its terminal, and each change.
note_sizes='trap "stty size </dev/tty >size" WINCH; stty size </dev/tty >size
echo "ready $$" >noting; sleep 1000 & while :; do wait; done'

# bats test_tags=slow
@test "the window has the size of the terminal, and a change reaches the command, even while the job is stopped, in the background, or waits for a lock" {
	rows=40
	at_prompt
	echo "$note_sizes" >note_sizes
	for line in 'wdrun bash note_sizes' 'wdrun -i 60 bash note_sizes' \
		'wdrun --pty bash note_sizes </dev/null | cat'; do
		noted noting "$line"
		grep -qsx "$rows 100" size
		stty rows $((--rows)) -F "$tty"
		wait_until grep -qsx "$rows 100" size
		[[ $line != *'-i 60'* ]] || {
			has_own=1
			wait_until has_keys
			stop_job
			stty rows $((--rows)) -F "$tty"
			continue_job
			wait_until grep -qsx "$rows 100" size
		}
		kill -TERM "$front"
	done
	noted noting 'wdrun -i 60 bash note_sizes &'
	grep -qx "$rows 100" size
	stty rows $((--rows)) -F "$tty"
	wait_until grep -qsx "$rows 100" size
	enter fg
	has_own=1
	wait_until has_keys
	press C-c
	wait_until prompted

	rm noting size
	exec 9>held
	flock 9
	enter 'wdrun -n late --registry=registry -w 1m -l held -i 60 bash note_sizes'
	wait_until eval '"$WDRUN" --list --registry=registry | grep -q waiting'
	stty rows $((--rows)) -F "$tty"
	exec 9>&-
	wait_until grep -qsx "$rows 100" size
	pause 0.3 # bash reaps stty(1), which the key was not for
	press C-c
	wait_until prompted
	usable
}

# A command that has a child in a session of its own, which ignores all signals.
family='escape -x 0 fork setsid stubborn >child; exec escape >ready'

# bats test_tags=tree
@test "a terminal that goes away ends the run and its tree, unless the run ignores SIGHUP" {
	echo "$family" >family
	for option in '' --tee=copy; do
		: >ready
		# shellcheck disable=SC2086 # no option, or one
		open_terminal wdrun -k 300ms $option sh family
		await_ready ready
		close_terminal
	done
	at_prompt
	noted ready 'wdrun -k 300ms --pty sh family'
	close_terminal

	: >ready
	open_terminal wdrun -k 20 sh -c 'trap ": >TERM" TERM; trap ": >HUP" HUP; echo "ready $$" >ready
		until [ -e closed ]; do sleep 0.1; done; : >clean'
	await_ready ready
	find_run
	for signal in TERM HUP; do # as systemd(1) ends a session
		kill "-$signal" "$front"
		wait_until test -e "$signal"
	done
	kill -KILL "$terminal"
	wait_until has_no_terminal "$front"
	touch closed
	wait_until test -e clean
	: >ready
	open_terminal sh -c 'trap "" HUP; exec wdrun escape >ready'
	await_ready ready
	find_run
	kill -KILL "$terminal"
	wait_until has_no_terminal "$front"
	is_alive "$ready"
	kill -TERM "$front"
	wait_until nobody_is_left
}

@test "--setsid takes the terminal away, --foreground keeps it; a command may change the terminal's modes" {
	at_prompt
	end 'wdrun --setsid sh -c "(: </dev/tty) || echo none"' '^none$'
	end 'wdrun --foreground sh -c ": </dev/tty && echo some" </dev/null' '^some$'
	usable
	# beside a process that waits in a read of the terminal
	echo 'cat </dev/tty & until grep -q "State:.S" /proc/$!/status; do :; done; wdrun sh -c "echo some >/dev/tty" </dev/null; kill $!' >script
	end 'sh script' '^some'
	end 'wdrun stty -ixon; stty -g >after'
	no cmp -s modes after
}

# bats test_tags=slow
@test "a stop signals no other process of the job; Ctrl-C while survivors are left ends them" {
	at_prompt
	echo "$family" >family
	echo 'sleep 1000 & wdrun -k 300ms sh family; kill "$!" && echo "other lived"' >script
	noted ready 'sh script'
	kill -TERM "$front"
	wait_until prompted
	shows '^other lived$'
	read -r _ ready <child
	is_dead "$ready"
	usable

	for mode in '' --pty; do
		: >first
		run_in '' "wdrun $mode -k 300ms --survivors=wait sh -c 'setsid escape & echo \$\$ >first'"
		wait_until test -s first
		wait_until is_gone "$(<first)"
		wait_until no has_keys
		pause 0.3 # a key in the first 250 ms was for the command
		press C-c
		wait_until is_dead "$ready"
		[ -z "$mode" ] || last_is 0
		usable
	done
}

# bats test_tags=slow
@test "a terminal that goes away ends only those background runs that read or write it" {
	at_prompt
	noted ready "wdrun sh -c 'trap \"echo >hup; exit\" HUP; echo ready \$\$ >ready; sleep 1000' </dev/null &>null &"
	close_terminal
	[ -e hup ] # of its shell, which signals groups
	at_prompt
	noted ready "wdrun -i 60 sh -c 'echo ready \$\$ >ready; cat; while echo x; do sleep 0.1; done' & disown"
	close_terminal

	# its output goes elsewhere, as does a copy; or it heeds no error
	for line in '--pty sh loop >log' '--tee=copy sh loop' '-i 60 sh loop'; do
		echo 'echo "ready $$" >ready; while :; do echo x; echo >beat; sleep 0.1; done 2>/dev/null' >loop
		at_prompt
		noted ready "wdrun $line & disown"
		kill -KILL "$terminal"
		wait_until has_no_terminal "$front"
		pause 0.3 # time to see it
		rm -f beat copy
		wait_until test -s beat
		[[ $line != *copy* ]] || wait_until is_alive "$ready"
		kill -TERM "$front"
		wait_until nobody_is_left
	done
}
