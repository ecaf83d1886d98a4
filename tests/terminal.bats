#!/usr/bin/env bats
#
# At a real prompt: an interactive bash in tmux, whose keys are pressed and
# whose screen is read. A command whose stdin is the terminal behaves as without
# wdrun, and the terminal is usable after whatever goes wrong.
#
# Starts first: its tests take long, one after the other.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load prompt

setup() {
	common_setup
	at_prompt
}

# enter_late CONDITION LINE: types LINE, which makes the file CONDITION when it
# is ready. LIMIT in LINE is a time that has to pass after that, on a machine of
# any speed. Returns when LINE is over. Sets limit.
enter_late() {
	rm -f "$1" after
	for limit in 0.7 4 30; do
		wipe '^status='
		enter "${2//LIMIT/$limit}; : >after"
		wait_until test -e after
		[ ! -e "$1" ] || return 0
		rm after
	done
	return 1
}

@test "a command reads a line from the terminal" {
	enter 'wdrun sh -c '\''read x; echo "you said <$x>"'\'
	wait_until target_runs
	enter 'hello there'

	wait_until shows '^you said <hello there>$'
	usable
}

@test "the command's status reaches the prompt" {
	enter 'wdrun sh -c "exit 42"; echo "status=$?"'
	wait_until shows '^status=42$'
}

@test "a password prompt on /dev/tty does not echo, and reads" {
	enter 'wdrun bash -c '\''read -rsp "Pass""word: " p </dev/tty; echo; echo "length=${#p}"'\'
	wait_until shows '^Password:'
	enter 'secret7'

	wait_until shows '^length=7$'
	run ! shows secret7
	usable
}

@test "a password prompt on /dev/tty works in a command whose stdin is not the terminal" {
	enter 'echo data | wdrun -f bash -c '\''read -rsp "Pass""word: " p </dev/tty; echo; echo "length=${#p}"'\'
	wait_until shows '^Password:'
	enter 'secret7'

	wait_until shows '^length=7$'
	usable
}

@test "vi edits a file" {
	local vi
	vi=$(command -v vim.tiny || command -v vi) || skip "no vi is installed"
	echo first >file
	enter "wdrun $vi -u NONE -N file"
	wait_until shows '^~'
	press o
	enter 'second'
	press Escape
	enter ':wq'

	wait_until grep -qx second file
	wait_until no one_front
	usable
}

@test "less pages, from a file and at the end of a pipe" {
	need less
	seq 1000 >numbers
	enter 'LESS= wdrun less numbers'
	wait_until shows '^39$'
	press G
	wait_until shows '^1000$'
	press q
	wait_until no one_front

	enter 'clear; wdrun seq 2000 | LESS= less'
	wait_until shows '^39$'
	press G
	wait_until shows '^2000$'
	press q
	usable

	enter 'clear; seq 3000 | LESS= wdrun -f less'
	wait_until shows '^39$'
	press G
	wait_until shows '^3000$'
	press q
	usable
}

@test "Ctrl-C ends a command, and is its death" {
	enter 'wdrun sleep 1000; echo "status=$?"'
	wait_until target_runs
	press C-c

	wait_until shows '^prompt>$'
	wait_until no one_front
	enter 'echo "last=$?"'
	wait_until shows '^last=130$'
}

# The target is executed: front and supervisor exist before it.
target_runs() {
	one_front && has_target
}

@test "a REPL survives Ctrl-C, as often as it is pressed" {
	enter 'wdrun -k 200ms repl; echo "status=$?"'
	wait_until shows '^ready [0-9]+$'
	press C-c
	wait_until shows 'interrupted 1$'
	press C-c
	wait_until shows 'interrupted 2$'
	press C-c
	wait_until shows 'interrupted 3$'
	press C-c
	wait_until shows 'interrupted 4$'

	# Longer than the kill-after time that Ctrl-C must not have started.
	"$WDRUN" -q -t 500ms sleep 1000 || true
	enter 'hello'
	wait_until shows '^you said hello$'
	press C-d
	wait_until shows '^status=0$'
	usable
}

# A process of the test is sleep(1).
sleep_runs() {
	local pid name
	for pid in $(leftovers); do
		{ read -r name <"/proc/$pid/comm"; } 2>/dev/null || continue
		[ "$name" != sleep ] || return 0
	done
	return 1
}

@test "an interactive bash and a python below wdrun survive Ctrl-C" {
	need python3
	enter 'wdrun -k 200ms python3 -q'
	wait_until shows '^>>>'
	press C-c
	wait_until shows '^KeyboardInterrupt$'
	enter 'print(6 * 7)'
	wait_until shows '^42$'
	press C-d
	wait_until no one_front

	enter 'clear; PS1="inner> " wdrun bash --norc --noprofile'
	wait_until shows '^inner>'
	enter 'sleep 1000'
	wait_until sleep_runs
	press C-c
	enter 'echo inner$((20 + 3))'
	wait_until shows '^inner23$'
	enter 'exit'
	wait_until no one_front
	usable
}

@test "a script that is stopped by Ctrl-C stops at the wdrun line" {
	printf '%s\n' '#!/bin/bash' 'echo "script $((1 + 1))"' \
		'wdrun sleep 1000' 'echo "went on $((1 + 1))"' >script
	chmod +x script
	enter './script; echo "status=$?"'
	wait_until target_runs
	press C-c

	wait_until shows '^prompt>$'
	wait_until no one_front
	run ! shows '^went on 2'
	usable
}

@test "Ctrl-Z stops the job, and fg continues it" {
	enter 'wdrun repl; echo "status=$?"'
	see_ready
	press C-z
	wait_until shows 'Stopped'
	wait_until is_stopped "$ready"
	usable

	enter 'fg'
	wait_until no is_stopped "$ready"
	enter 'back again'
	wait_until shows '^you said back again$'
	press C-d
	wait_until shows '^bye$'
	usable
}

@test "Ctrl-Z stops the job also where the front is slow to read its signals" {
	need strace
	enter 'wdrun repl'
	see_ready
	one_front
	# The terminal's signal and the supervisor's signal arrive while the
	# front is busy, and merge into one.
	strace -qq -o /dev/null -e inject=rt_sigtimedwait:delay_enter=300000 \
		-p "$front" 3>&- &
	wait_until is_traced "$front"
	kill -WINCH "$front" # ends the first wait; the next one is delayed
	press C-z

	wait_until shows 'Stopped'
	usable
}

is_traced() {
	grep -q '^TracerPid:.*[1-9]' "/proc/$1/status"
}

@test "Ctrl-Z stops the job, and bg continues it until it wants to read" {
	# The loop forks nothing: a child stopped between vfork(2) and execve(2)
	# keeps its parent from stopping, with and without wdrun.
	mkfifo pipe
	enter 'wdrun bash -c '\''echo "ready $$"; exec 9<>pipe; until [ -e go ]; do read -rt 0.05 -u 9; done; read x; echo "you said $x"'\'
	see_ready
	press C-z
	wait_until shows 'Stopped'
	enter 'bg'
	wait_until no is_stopped "$ready"

	touch go # the command now reads from the terminal, in the background: SIGTTIN
	wait_until is_stopped "$ready"
	usable
	enter 'fg'
	wait_until no is_stopped "$ready"
	enter 'at last'
	wait_until shows '^you said at last$'
	usable
}

@test "a job that is stopped can be ended with kill %1" {
	enter 'wdrun -k 300ms escape fork setsid stubborn'
	see_ready
	press C-z
	wait_until shows 'Stopped'

	enter 'kill %1'
	wait_until is_dead "$ready"
	usable
}

# stopped_job COMMAND: types COMMAND, and presses Ctrl-Z when it is ready. Sets
# ready, front, supervisor and target.
stopped_job() {
	enter "$1"
	see_ready
	one_front
	has_target
	press C-z
	wait_until shows 'Stopped'
	wait_until is_stopped "$target"
}

@test "a stopped job whose command is killed from elsewhere ends" {
	stopped_job 'wdrun --idle-after-exit=300ms escape fork setsid'

	kill -KILL "$target"

	wait_until is_dead "$ready"
	wait_until no one_front
	usable
}

@test "a stopped job whose command is continued from elsewhere is continued" {
	mkfifo pipe
	stopped_job 'wdrun bash -c '\''echo "ready $$"; exec 9<>pipe; until [ -e go ]; do read -rt 0.05 -u 9; done; exit 5'\'
	touch go

	kill -CONT "$target"

	wait_until no one_front
	usable
}

@test "suspend in a bash below wdrun stops the job, and fg continues it" {
	enter 'PS1="inner> " wdrun bash --norc --noprofile'
	wait_until shows '^inner>'
	enter 'suspend'
	wait_until shows 'Stopped'
	usable

	enter 'clear; fg'
	enter 'echo inner$((20 + 3))'
	wait_until shows '^inner23$'
	enter 'exit'
	wait_until no one_front
	usable
}

@test "the clocks stand still while the job is stopped" {
	local limit
	for limit in 0.7 4 30; do # until the job is stopped within the limit
		wipe '^ready'
		enter "wdrun -t $limit repl"
		see_ready
		press C-z
		wait_until is_stopped_or_dead "$ready"
		! is_stopped "$ready" || break
		wait_until no one_front
	done

	# A clock with the same time runs out meanwhile, and its effect would
	# show.
	"$WDRUN" -q -t "$limit" sleep 1000 || true
	"$WDRUN" -q -t 0.3 sleep 1000 || true
	is_alive "$ready"
	run ! shows 'timed out'

	enter 'fg'
	wait_until is_dead "$ready"
	wait_until shows 'timed out'
	usable
}

is_stopped_or_dead() {
	is_stopped "$1" || is_dead "$1"
}

@test "Ctrl-C ends a command whose stdin is not the terminal" {
	enter 'wdrun escape fork setsid </dev/null; echo "status=$?"'
	see_ready
	press C-c

	wait_until is_dead "$ready"
	wait_until no one_front
	enter 'echo "last=$?"'
	wait_until shows '^last=130$'
}

@test "Ctrl-Z and fg work for a command whose stdin is not the terminal" {
	enter 'wdrun escape </dev/null'
	see_ready
	press C-z
	wait_until shows 'Stopped'
	wait_until is_stopped "$ready"
	usable

	enter 'fg'
	wait_until no is_stopped "$ready"
	press C-c
	wait_until is_dead "$ready"
	usable
}

@test "a job in the background prints nothing and ends" {
	enter 'wdrun sh -c "exit 42" & wait $!; echo "status=$?"'
	wait_until shows '^status=42$'
	usable
}

@test "wdrun cmd | cat: a pipeline is one job, and Ctrl-C ends it" {
	enter 'wdrun repl | cat; echo "status=$?"'
	see_ready
	enter 'through'
	wait_until shows '^you said through$'
	press C-d
	wait_until shows '^status=0$'

	wipe '^ready'
	enter 'wdrun escape | cat'
	see_ready
	press C-c
	wait_until is_dead "$ready"
	usable
}

@test "the window's size is that of the terminal, and a change is noticed" {
	note_sizes
	enter 'wdrun bash note_sizes'
	wait_until shows '^ready [0-9]+$'
	tmux -S socket resize-window -x 90 -y 35

	wait_until grep -qsx '35 90' size
	wait_until interrupted_unless no one_front
	usable
}

@test "SIGKILL of wdrun while vi runs leaves a usable terminal" {
	local vi
	vi=$(command -v vim.tiny || command -v vi) || skip "no vi is installed"
	enter "wdrun $vi -u NONE -N file"
	wait_until shows '^~'
	one_front

	kill -KILL "$front"

	wait_until no one_front
	usable_again
}

@test "SIGKILL of the supervisor while vi runs leaves a usable terminal" {
	local vi
	vi=$(command -v vim.tiny || command -v vi) || skip "no vi is installed"
	enter "wdrun $vi -u NONE -N file"
	wait_until shows '^~'
	one_front

	kill -KILL "$(children_of "$front")"

	wait_until no one_front
	usable_again
}

# vi may have left text on the screen before the prompt.
usable_again() {
	press Enter
	enter 'clear'
	wait_until shows '^prompt>$'
	enter 'stty -a | grep -ow -e icanon -e echo | xargs'
	wait_until shows '^(icanon echo|echo icanon)$'
	usable
}

@test "a raw-mode program that times out leaves the modes as they were" {
	enter 'stty -g >before'
	wait_until test -s before
	enter_late is_raw 'wdrun -t LIMIT sh -c "stty raw -echo; echo raw >is_raw; sleep 1000"; stty -g >modes'

	cmp before modes
	usable
}

@test "a raw-mode program that is cancelled leaves the modes as they were" {
	enter 'stty -g >before'
	wait_until test -s before
	enter 'wdrun sh -c "stty raw -echo; echo raw >is_raw; sleep 1000"; stty -g >after'
	wait_until test -s is_raw
	one_front
	kill -TERM "$front"
	wait_until test -s after

	cmp before after
	usable
}

@test "a raw-mode job of a script with job control leaves the modes as they were" {
	printf '%s\n' 'set -m' \
		'sh -c "stty raw -echo; echo raw >is_raw; sleep 1000"' >script
	enter 'stty -g >before'
	wait_until test -s before
	enter_late is_raw 'wdrun -t LIMIT -k 300ms bash script; stty -g >modes'

	cmp before modes
	usable
}

@test "a script can read from the terminal after the timeout of an interactive shell" {
	local limit
	for limit in 0.7 4 30; do # until the prompt appeared within the limit
		printf '%s\n' "wdrun -t $limit -k 300ms bash --norc --noprofile -i" \
			'echo "status=$?"; read -r line; echo "you said <$line>"' >script
		wipe '^status='
		enter 'PROMPT_COMMAND=": >prompted" sh script'
		wait_until shows '^status=124$'
		[ ! -e prompted ] || break
		enter 'too early'
		wait_until shows '^you said <too early>$'
	done
	[ -e prompted ]
	enter 'hello'

	wait_until shows '^you said <hello>$'
	usable
}

@test "a command that changes the modes by itself keeps its change" {
	enter 'stty -g >before; wdrun stty -ixon; stty -g >after'
	wait_until test -s after

	run ! cmp before after
	usable
}

@test "closing the terminal ends the whole run" {
	enter 'wdrun -k 300ms escape fork setsid stubborn'
	see_ready

	tmux -S socket kill-server

	wait_until is_dead "$ready"
	wait_until nobody_is_left
}

@test "--setsid takes the terminal away, --foreground keeps it" {
	enter 'wdrun --setsid sh -c "ps -o tty= -p \$\$ >tty; (: </dev/tty) || echo none >>tty"'
	wait_until grep -qsx none tty

	enter 'wdrun --foreground true </dev/null; wdrun -f sh -c ": </dev/tty && echo some >own" </dev/null'
	wait_until grep -qsx some own
	usable
}

@test "at the terminal, processes that left the session die by a timeout as well" {
	enter_late said 'wdrun -t LIMIT -k 300ms sh -c '\''escape -x 0 fork setsid stubborn >new; mv new said; sleep 1000'\''; echo "status=$?"'
	ready=$(sed -n 's/^ready //p' said)

	wait_until shows '^status=124$'
	is_dead "$ready"
	usable
}

@test "a timeout does not signal the shell's other jobs, or the shell" {
	enter 'sleep 1000 & wdrun -t 500ms sleep 1001; echo "status=$?"'
	wait_until shows '^status=124$'

	enter 'clear; jobs'
	wait_until shows 'Running +sleep 1000'
}

@test "a timeout in a script does not signal the script that shares the group" {
	printf '%s\n' '#!/bin/bash' 'sleep 1000 & other=$!' \
		'wdrun -t 500ms -k 300ms escape stubborn' \
		'echo "status=$?"' 'kill -0 $other && echo "other lives $((1+1))"' \
		'kill $other' >script
	chmod +x script
	enter './script'

	wait_until shows '^status=124$'
	wait_until shows '^other lives 2$'
	usable
}

@test "a job that kill -STOP stopped is continued by one fg" {
	enter 'wdrun repl &'
	wait_until shows 'ready [0-9]+$'
	ready=$(screen | sed -n 's/.*ready //p')
	enter 'kill -STOP %1'
	wait_until is_stopped "$ready"
	one_front
	wait_until is_stopped "$front"
	enter 'fg; echo over'

	wait_until no is_stopped "$ready"
	wait_until no is_stopped "$front"
	run ! shows '^over$'
	kill -TERM "$front"
	wait_until shows '^over$'
	usable
}

@test "a command that stops itself when it is asked to end is killed in time" {
	local limit
	printf '%s\n' 'trap "kill -TSTP \$\$" TERM; : >trapped' \
		'while :; do sleep .1; done' >script
	for limit in 0.5 4 30; do # until the command was ready for the signal within the limit
		wipe 'timed out'
		enter "wdrun -t $limit -k 500ms bash script"
		wait_until shows 'timed out'
		[ ! -e trapped ] || break
		wait_until no front_is_there
	done

	# The shell sees that its job has stopped; the kill-after time goes on.
	wait_until shows 'killing [12] process'
	wait_until no front_is_there
	usable
}

front_is_there() {
	[ -n "$(fronts)" ]
}

# Prints the screen with its attributes, as escape sequences.
painted() {
	tmux -S socket capture-pane -p -e
}

# stops_in PAINT COMMAND: at the prompt, COMMAND stops a run, and the first line
# of the message, alone, begins with PAINT. On a busy machine there is no second
# line.
stops_in() {
	enter "clear; $2; echo over$((++round))"
	wait_until shows "^over$round\$"
	[[ $(painted) =~ ([^$'\n']*)wdrun:\ timed\ out\ [^$'\n']*$'\n'([^$'\n']*)(wdrun:\ \ |over) ]]
	[ "${BASH_REMATCH[1]}" = "$1" ]
	[[ ${BASH_REMATCH[2]} == '' || ${BASH_REMATCH[2]} == $'\e[0m'* ]]
}

@test "the first line of a stop is bold and red at a terminal, but never with NO_COLOR or TERM=dumb" {
	local round=0
	stops_in $'\e[1m\e[31m' 'wdrun -t .2 sleep 1000'
	stops_in $'\e[1m\e[31m' 'NO_COLOR= wdrun -t .2 sleep 1000'
	stops_in '' 'NO_COLOR=1 wdrun -t .2 sleep 1000'
	stops_in '' 'TERM=dumb wdrun -t .2 sleep 1000'
	stops_in '' '(unset TERM; wdrun -t .2 sleep 1000)'
	stops_in '' 'wdrun -t .2 sleep 1000 2>file; cat file'

	ln -s "$WDRUN" bin/timeout
	enter 'clear; timeout -v .2 sleep 1000; echo over'
	wait_until shows '^over$'
	[[ $(painted) == *$'\n''timeout: sending signal TERM'* ||
		$(painted) == 'timeout: sending signal TERM'* ]]
}
