#!/usr/bin/env bats
#
# Promise 6 at a prompt: a run is a job as any other. Ctrl-Z, fg, bg and kill %1
# work, a pipeline and a script are one job with it, the clocks stand still
# while the terminal has stopped it, and in the background it leaves the
# terminal alone.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # the shell at the
# prompt expands; terminal.bash sets and reads

load helper
load terminal

# bats test_tags=smoke
@test "Ctrl-Z stops the job, and fg continues it" {
	local mode
	at_prompt
	for mode in "${modes[@]}"; do
		run_in "$mode" 'wdrun MODE repl'
		stop_job
		continue_job
		answer 'back again'
		wait_until shows '^you said back again$'
		press C-c
		wait_until shows 'interrupted 1$'
		press C-d
		last_is 0
		usable
	done
	# not the terminal's stdin; a group of its own
	for line in 'wdrun escape </dev/null' 'wdrun timeout 900 escape'; do
		run_in '' "$line"
		stop_job
		continue_job
		press C-c
		last_is 130
		is_dead "$ready"
	done
}

@test "Ctrl-Z stops a script, and a pipeline, around a command, and fg continues it" {
	local mode line
	at_prompt
	printf '%s\n' 'wdrun $mode escape' 'echo "went on"' >script
	for mode in "${modes[@]}"; do
		for line in "mode='MODE' bash script" 'yes | wdrun MODE escape' \
			'wdrun MODE escape | cat'; do
			run_in "$mode" "$line"
			stop_job
			continue_job
			press C-c
			last_is 130
			is_dead "$ready"
		done
	done
}

# bats test_tags=smoke
@test "with --pty, Ctrl-C and Ctrl-Z are for the other commands of a pipeline too" {
	at_prompt
	for line in 'escape | wdrun --pty cat' 'escape | wdrun --pty -i 60 cat' \
		'wdrun --pty escape | wdrun --pty cat'; do
		echo "--- $line"
		enter "$line"
		wait_until shows '^ready [0-9]+$'
		[[ ${BASH_REMATCH[0]} =~ [0-9]+ ]]
		ready=${BASH_REMATCH[0]}
		wait_until has_keys
		press C-z
		wait_until is_stopped "$ready"
		usable
		enter fg
		wait_until no is_stopped "$ready"
		wait_until has_keys
		press C-c
		last_is 130
		wait_until is_dead "$ready"
		usable
	done
}

@test "Ctrl-Z stops the job, and bg continues it until it wants to read" {
	at_prompt
	# It forks nothing: a child stopped between vfork(2) and execve(2) keeps
	# its parent from stopping, with and without wdrun.
	mkfifo pipe
	cat >late <<-'END'
		echo "ready $$"
		exec 9<>pipe
		until [ -e go ]; do read -rt 0.05 -u 9; done
		read -r x
		echo "you said $x"
	END
	run_in '' 'wdrun bash late'
	stop_job
	enter bg
	wait_until no is_stopped "$ready"
	touch go
	wait_until is_stopped "$ready"
	wait_until is_stopped "$front"
	usable
	continue_job
	answer 'at last'
	wait_until shows '^you said at last$'
	usable
}

@test "a job that is stopped ends with kill %1, and when its command is killed from elsewhere" {
	local way
	at_prompt
	for way in job target; do
		write_family
		run_in '' 'wdrun -k 300ms --idle-after-exit=300ms sh family'
		await_family
		stop_job
		case $way in
		job) enter 'kill %1' ;;
		target) kill -KILL "$target" ;;
		esac
		wait_until is_dead "$escapee"
		run_is_over
		usable
	done
}

@test "a job whose command, or which as a whole, is stopped and continued from elsewhere goes on" {
	at_prompt
	run_in '' 'wdrun escape'
	stop_job
	kill -CONT "$target"
	wait_until no is_stopped "$target"
	wait_until no is_stopped "$front"
	kill -TERM "$front"
	run_is_over

	enter 'wdrun escape >ready &'
	await_ready ready
	find_run
	enter 'kill -STOP %1'
	wait_until is_stopped "$ready"
	wait_until is_stopped "$front"
	enter fg
	wait_until no is_stopped "$ready"
	wait_until no is_stopped "$front"
	kill -TERM "$front"
	usable
}

@test "a command that stops itself stops the job, and fg continues both" {
	at_prompt
	for has_own in '' --pty; do
		enter "PS1='inner> ' wdrun $has_own bash --norc --noprofile"
		wait_until shows 'inner> $'
		answer 'echo "ready $$"'
		see_ready
		answer 'suspend -f'
		wait_until is_stopped "$ready"
		wait_until is_stopped "$front"
		usable
		continue_job
		answer 'echo inner$((20 + 3))'
		wait_until shows '^inner23$'
		answer exit
		usable
	done

	enter "wdrun --pty sh -c 'kill -STOP \$\$; echo \"went on\"; exit 3'"
	usable
	run ! shows '^went on'
	enter fg
	wait_until shows '^went on$'
	last_is 3
	usable
}

@test "job control within works: Ctrl-Z belongs to the shell that runs there" {
	local mode
	at_prompt
	for mode in '' --pty; do
		enter "PS1='inner> ' wdrun $mode bash --norc --noprofile"
		wait_until shows 'inner> $'
		answer repl
		see_ready
		press C-z
		wait_until is_stopped "$ready"
		no is_stopped "$front"
		: >log
		wait_until answers_inner
		answer fg
		wait_until no is_stopped "$ready"
		answer through
		wait_until shows '^you said through$'
		press C-d
		wait_until shows '^bye$'
		answer exit
		usable
	done
}

# The inner shell is at its prompt.
answers_inner() {
	shows 'inner> $' && return
	press Enter
	return 1
}

@test "in a nested run Ctrl-C that a command survives cancels nothing, and Ctrl-Z stops all" {
	at_prompt
	has_own=1
	enter 'wdrun -k 200ms sh -c "wdrun --pty repl; exit"'
	see_ready
	wait_until has_keys
	press C-c
	wait_until shows 'interrupted 1$'
	# longer than the kill-after time that Ctrl-C must not have started
	"$WDRUN" -q -t 500ms sleep 1000 || true
	answer hello
	wait_until shows '^you said hello$'
	stop_job
	continue_job
	press C-d
	usable
	no_wdrun
}

# --- the clocks --------------------------------------------------------------

@test "the clocks stand still while a terminal has stopped the job, and go on after it" {
	local option
	for limit in 1 20; do # until each job was stopped within the limit
		at_prompt
		jobs=()
		for option in "-t $limit" "-i $limit" "--pty -t $limit"; do
			enter "wdrun $option repl"
			see_ready
			[[ $option == -t* ]] || wait_until has_keys_or_is_over
			press C-z
			wait_until is_stopped_or_dead "$ready"
			is_stopped "$ready" || break
			jobs+=("$ready")
		done
		((${#jobs[@]} < 3)) || break
		close_terminal
		wait_until nobody_is_left
	done
	((${#jobs[@]} == 3))

	# A clock that is the same, and starts later, runs out.
	"$WDRUN" -q -t "$limit" sleep 1000 || true
	"$WDRUN" -q -t 300ms sleep 1000 || true
	for job in 0 1 2; do
		is_stopped "${jobs[job]}"
		enter "fg %$((job + 1))"
		last_is 124
		is_dead "${jobs[job]}"
	done
	usable
}

has_keys_or_is_over() {
	has_keys || is_dead "$ready"
}

is_stopped_or_dead() {
	is_stopped "$1" || is_dead "$1"
}

@test "a command that stops itself, or its process group, stops no clock" {
	local who option
	at_prompt
	for option in '' --pty; do
		for who in '$$' 0; do
			enter "wdrun -t 500ms $option sh -c 'kill -TSTP $who; wait'"
			wait_until prompted
			run_is_over
			usable
		done
	done
}

@test "vi's own Ctrl-Z stops the job, a script around it, and with --pty the clock" {
	local vi
	vi=$(command -v vim.tiny || command -v vi) || skip "no vi is installed"
	at_prompt
	printf '%s\n' "wdrun --pty -t \"\$1\" $vi -u NONE -i NONE -N file" \
		'echo "status=$?"' >script
	for limit in 1 20; do # until the job is stopped within the limit
		enter "bash script $limit"
		wait_until shows '~|status='
		press C-z
		wait_until prompted
		shows 'status=' || break
	done
	run ! shows 'status='
	usable

	"$WDRUN" -q -t "$limit" sleep 1000 || true
	"$WDRUN" -q -t 300ms sleep 1000 || true
	no no_wdrun
	enter fg
	wait_until shows 'status=124$'
	usable
}

@test "a command that stops itself when it is asked to end is killed in time" {
	at_prompt
	printf '%s\n' 'trap "kill -TSTP \$\$" TERM; : >trapped' \
		'while :; do sleep .1; done' >script
	for limit in 1 20; do # until the command was ready for the signal within the limit
		enter "wdrun -t $limit -k 300ms bash script"
		wait_until prompted
		run_is_over
		[ ! -e trapped ] || break
	done
	[ -e trapped ]
	usable
}

# --- in the background -------------------------------------------------------

# bats test_tags=smoke
@test "a job in the background leaves the terminal alone, prints nothing, and fg brings it back" {
	local line
	at_prompt
	enter 'wdrun sh -c "exit 42" & wait $!'
	last_is 42
	run ! grep -q wdrun: log

	for line in 'wdrun escape </dev/null >ready &' 'wdrun --pty repl >ready &'; do
		: >ready
		enter "$line"
		await_ready ready
		find_run
		usable
		usable
		no has_keys
		run ! grep -q said ready
		is_alive "$ready"
		enter fg
		case $line in
		*repl*)
			wait_until has_keys
			answer 'at last'
			wait_until grep -qx 'you said at last' ready
			press C-d
			last_is 0
			;;
		*)
			has_no_terminal "$ready"
			wait_until is_in_foreground "$front"
			has_own=
			stop_job
			continue_job
			press C-c
			last_is 130
			is_dead "$ready"
			;;
		esac
		usable
	done
}

@test "in the background of another session, or PID namespace, --pty takes nothing either" {
	local how
	at_prompt
	for how in setsid 'setsid -w' 'unshare --pid --fork --mount-proc'; do
		case $how in
		unshare*) $how true 2>/dev/null || continue ;;
		esac
		echo "--- $how"
		: >ready
		enter "$how wdrun --pty sh -c 'echo \"ready \$\$\" >ready; exec sleep 1000' >/dev/null 2>&1 &"
		await_ready ready
		usable
		usable
		no has_keys
		for pid in $(leftovers); do
			[ ! "/proc/$pid/exe" -ef "$WDRUN" ] || kill -KILL "$pid" || true
		done
		wait_until no_wdrun
		enter wait
	done
}

@test "lines of a --pty in the background, or after bg, begin at the margin" {
	at_prompt
	mkfifo pipe
	cat >lines <<-'END'
		echo "ready $$" >ready
		exec 9<>pipe
		until [ -e go ]; do read -rt 0.05 -u 9; done
		printf 'line\nanother\n'
	END
	for option in --pty --tee=copy; do
		touch go
		enter "wdrun $option bash lines & wait"
		wait_until prompted
		grep -q $'^line\r' log
	done

	rm -f go ready
	enter 'wdrun --pty bash lines'
	wait_until test -s ready
	await_ready ready
	find_run
	has_own=1
	wait_until has_keys
	stop_job
	enter bg
	wait_until no is_stopped "$ready"
	touch go
	wait_until grep -q another log
	grep -q $'line\r' log
	answer ''
	usable
}

# --- other shells ------------------------------------------------------------

# bats test_tags=programs
@test "Ctrl-C, Ctrl-Z, fg and the terminal's modes are the same in zsh, dash and fish" {
	local name mode line
	need zsh dash fish
	cat >ask <<-'END'
		echo asking >asking
		read -r x </dev/tty
		echo "you said <$x>"
		cat
	END
	for name in zsh dash fish; do
		echo "=== $name"
		at_prompt "$name"
		for mode in '' --pty '-i 60'; do
			run_in "$mode" 'wdrun MODE repl'
			press C-c
			wait_until shows 'interrupted 1$'
			stop_job
			continue_job
			answer hello
			wait_until shows '^you said hello$'
			press C-d
			last_is 0
		done
		for line in 'yes | wdrun escape' 'yes | wdrun --pty escape' \
			'wdrun timeout 900 escape'; do
			enter "$line"
			see_ready
			[[ $line != *--pty* ]] || wait_until has_keys
			press C-c
			last_is 130
			is_dead "$ready"
		done
		rm -f asking
		enter 'echo data | wdrun bash ask'
		wait_until test -s asking
		answer hello
		wait_until shows '^you said <hello>'
		wait_until shows '^data'
		usable
		close_terminal
		wait_until nobody_is_left
	done
}

# bats test_tags=programs
@test "SIGKILL of the front restores the modes for a shell that does not do so itself" {
	at_prompt dash
	run_in --pty 'wdrun MODE repl'
	kill -KILL "$front"
	run_is_over
	usable
}
