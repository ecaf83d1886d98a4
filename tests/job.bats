#!/usr/bin/env bats
#
# Promise 6 at a prompt: a run is a job as any other. Ctrl-Z, fg, bg and kill %1 work, a
# pipeline and a script are one job with it, the clocks stand still while the terminal has
# stopped it, and in the background it leaves the terminal alone.

load helper
load terminal
load bounds

@test "Ctrl-Z stops a script and a pipeline around a command, and fg continues it" {
	at_prompt
	echo 'wdrun $mode escape; echo "went on"' >script
	for row in ': wdrun timeout 900 escape </dev/null' ': wdrun sh -c "escape; :"' "--pty: mode='MODE' bash script" \
		': yes | wdrun MODE escape' '-i 60: wdrun MODE escape | cat' \
		'--pty: wdrun --pty escape | wdrun MODE cat'; do
		run_in "${row%%: *}" "${row#*: }"
		wait_until shell_has_executed
		stop_job
		kill -CONT "$front" # alone: the run continues its own
		wait_until no is_stopped "$ready"
		continue_job
		wait_until has_foreground "$front"
		press C-c # of two runs either has the keys
		usable
		is_dead "$ready"
	done
}

@test "with a terminal of its own, what a child of the command writes before it stops comes before the prompt" {
	at_prompt
	for mode in --pty '-i 60'; do
		run_in "$mode" 'wdrun MODE pager'
		press C-z
		wait_until is_stopped "$front"
		wait_until shows 'put back'
		continue_job
		press q
		usable
	done
}

# The front alone is left then, and delivers to a reader that is stuck.
@test "Ctrl-Z stops a job whose command has ended, while the reader has not yet taken all output" {
	at_prompt
	enter "wdrun -i 60 sh -c 'echo \$PPID >pid; head -c 900000 /dev/zero' | sleep 1000"
	wait_until test -s pid
	wait_until is_dead "$(<pid)"
	press C-z
	usable
	enter 'kill %1'
	usable
}

@test "Ctrl-Z does not stop the rest of the job if the command dies before wdrun has stopped, too" {
	at_prompt
	echo '(trap "" TSTP; sleep 1000) & echo "ready $$" >ready; wait' >script
	noted ready 'wdrun --pty --idle-after-exit=0 sh script | sigcount >counted'
	wait_until has_keys
	[ "/proc/$front/cwd" -ef . ] # tmux(1) shows that
	seized "$front" . # where it looks whether the command's whole group has stopped
	press C-z
	wait_until grep -q held seized
	kill -KILL "$target"
	wait_until is_dead "$supervisor"
	kill "$!" # the debugger
	wait_until is_gone "$front"
	await_ready counted
	kill -PWR "$ready" # it is handled after SIGTSTP
	wait_until has_lines 1 'got 30' counted
	has_lines 0 'got 20' counted
	kill "$ready"
	usable
}

@test "kill %1 ends a job that is stopped" {
	at_prompt
	run_in '' 'wdrun -k 300ms sh -c "escape -x 0 fork setsid stubborn >child; exec escape"'
	stop_job
	enter 'kill %1'
	wait_until is_dead "$front"
	: >log
	press Enter # the run's last message may stand behind the prompt
	usable
}

# bats test_tags=slow
@test "job control works in a shell that wdrun runs, and a command that stops itself stops the job" {
	at_prompt
	for has_own in '' --pty; do
		enter "PS1='inner> ' wdrun $has_own bash --norc --noprofile"
		wait_until shows 'inner> $'
		answer repl
		see_ready
		: >log
		press C-z
		wait_until shows 'inner> $'
		is_stopped "$ready"
		no is_stopped "$front"
		answer fg
		wait_until no is_stopped "$ready"
		reads through
		: >log
		press C-d
		wait_until shows '^bye$'
		wait_until shows 'inner> $'

		: >log
		answer 'echo "ready $$"'
		see_ready
		answer 'suspend -f'
		see_stop
		continue_job
		answer 'echo inner$((20 + 3))'
		wait_until shows '^inner23$'
		answer exit
		usable
	done
}

@test "a command's kill 0 is for its job, and does not cancel the run; a key that ends the command spares its survivors" {
	at_prompt
	printf '%s\n' 'sigcount & trap "" TERM INT; kill 0; kill -INT 0; wait' \
		'echo "cleaned up"; exit 3' >script
	for watcher in '' wdrun; do
		enter "$watcher bash script"
		wait_until shows '^cleaned up'
		last_is 3
	done

	enter 'wdrun -n own sh -c "wdrun --cancel own; exec sleep 1000"'
	last_is 143

	echo '
import subprocess, signal
signal.signal(signal.SIGINT, signal.SIG_DFL)
subprocess.Popen("exec sigcount 2 >counted", shell=True).wait()' >launcher
	: >counted
	enter 'wdrun python3 launcher; echo ended'
	await_ready counted
	press C-c
	wait_until has_lines 1 'got 2' counted
	is_alive "$ready"
	kill -USR1 "$ready"
	wait_until prompted
	has_lines 1 'got 2' counted
	has_lines 1 'got 10' counted
	need strace
	# The supervisor is held up while the command is started.
	enter 'strace -qqfo trace -e trace=vfork -e inject=vfork:delay_exit=100000 wdrun sh -c "trap \"\" TERM; kill 0; sleep 0.3; exit 3"'
	wait_until prompted
	no shows 'wdrun: cancelled'
	last_is 3
}

# bats test_tags=slow
@test "the clocks stand still if a program stops its job on Ctrl-Z, but not if it waits for the terminal" {
	at_prompt
	for row in '-t 2s suspend job' '-t 2s suspend self </dev/null' '-i 2s suspend job' '-t 2s -i 60 suspend key'; do
		enter "wdrun -n job $row"
		see_ready
		[[ $row != *key ]] || press C-z
		wait_until is_stopped "$front"
		"$WDRUN" -q -t 2.5s sleep 1000 || true # a clock that runs out later
		"$WDRUN" --list | grep -q ' stopped '
		enter fg
		wait_until shows '^back'
		last_is 0
	done

	for program in 'stty echo' 'bash -c "read x </dev/tty"'; do
		enter "wdrun -t 1s $program & echo \$! >pid"
		wait_until test -s pid
		wait_until is_dead "$(<pid)"
		wait_until shows 'stopped: wants to .* the terminal, in the background$'
		press Enter # the message stands behind the prompt
		enter 'wait $!'
		last_is 124
		: >pid
	done
}

# bats test_tags=slow
@test "the clocks stand still while a terminal has stopped the job, and go on after it" {
	for limit in 1 20; do # until each job was stopped within the limit
		at_prompt
		jobs=()
		for option in "-t $limit" "-i $limit"; do
			enter "wdrun $option repl"
			see_ready
			[[ $option == -t* ]] || wait_until eval 'has_keys || is_dead "$ready"'
			press C-z
			wait_until eval 'is_stopped "$ready" || is_dead "$ready"'
			is_stopped "$ready" || break
			jobs+=("$ready")
		done
		((${#jobs[@]} < 2)) || break
		close_terminal
	done
	((${#jobs[@]} == 2))

	# A clock that is the same, and starts later, runs out.
	"$WDRUN" -q -t "$limit" sleep 1000 || true
	"$WDRUN" -q -t 300ms sleep 1000 || true
	for job in 0 1; do
		is_stopped "${jobs[job]}"
		enter "fg %$((job + 1))"
		last_is 124
		is_dead "${jobs[job]}"
	done
	usable
}

# bats test_tags=slow
@test "a job in the background leaves the terminal alone, and fg gives it the terminal again" {
	at_prompt
	end 'wdrun sh -c "exit 42" & wait $!'
	no shows 'wdrun:'
	last_is 42

	noted ready 'wdrun escape </dev/null >ready &'
	usable
	is_alive "$ready"
	enter fg
	has_no_terminal "$ready"
	wait_until has_foreground "$front"
	has_own=
	stop_job
	continue_job
	interrupt_job

	noted ready 'wdrun --pty repl >ready &'
	usable
	no has_keys
	no grep 'you said' ready
	is_alive "$ready"
	enter fg
	wait_until has_keys
	answer 'at last'
	wait_until grep -q 'you said at last' ready
	reads_no_more
	usable

	# Of another session it could take the keys, if it is faster than the shell.
	noted ready "setsid wdrun --pty sh -c 'echo \"ready \$\$\" >ready; exec sleep 1000' &>/dev/null &"
	for _ in {1..8}; do usable; done
	no has_keys
	kill -TERM "$front"
	wait_until is_dead "$front"
	# To a PID namespace, the groups of prompt and job both have the number 0.
	need_unshare --pid --fork --mount-proc
	enter 'unshare --pid --fork --mount-proc env --default-signal wdrun sh -c "echo here; exec sleep 1000"'
	wait_until shows '^here$'
	press C-z
	end bg
	first_child "$shell" && first_child "$child"
	kill -TERM "$child"
	wait_until is_dead "$child"
	stty -a -F "$tty" | grep -q -e -icanon
}

# bats test_tags=slow
@test "bg continues a job until it wants to read, and fg lets it" {
	at_prompt
	for watcher in '' wdrun; do
		: >pid
		enter "$watcher sh -c 'echo \$\$ >pid; cat; echo'"
		wait_until test -s pid
		wait_until first_child "$(<pid)"
		wait_until grep -qx cat "/proc/$child/comm" # see below
		press C-z
		wait_until is_stopped "$child"
		usable
		enter bg
		wait_until eval 'enter jobs; wait_until prompted; shows "Stopped.* sh -c"'
		enter fg
		wait_until no is_stopped "$child"
		press C-c
		wait_until is_dead "$child"
		usable
	done
	# It forks nothing: a child stopped between vfork(2) and execve(2) keeps
	# its parent from stopping, with and without wdrun.
	printf '%s\n' 'echo "ready $$"; until [ -e go ]; do :; done' \
		'read -r x; echo "you said $x"' >late
	run_in '' 'wdrun bash late'
	stop_job
	enter bg
	wait_until no is_stopped "$ready"
	: >go
	see_stop
	continue_job
	reads 'at last'
	usable
}

# bats test_tags=programs
@test "Ctrl-C, Ctrl-Z, fg and the terminal's modes are the same in zsh, dash and fish" {
	need zsh dash fish
	for name in zsh dash fish; do
		at_prompt "$name"
		for mode in '' --pty; do
			run_in "$mode" 'wdrun MODE repl'
			press C-c
			wait_until shows 'interrupted 1$'
			stop_job
			continue_job
			reads hello
			reads_no_more
		done
		run_in '' 'wdrun timeout 900 escape'
		interrupt_job
		usable
		close_terminal
	done
}
