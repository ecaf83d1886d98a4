# For tests at a terminal: an interactive shell whose keys are pressed, and
# programs/terminal, which notes what the terminal shows. Conditions are states
# of processes, files, and, where it is the subject, what is shown.

# at_prompt [SHELL]: opens the terminal. Sets terminal to the process that it
# goes away with, shell to the PID of the shell, and tty to its name.
at_prompt() {
	local command
	need "${1:-bash}"
	last='$?'
	[ "${1-}" != fish ] || last='$status'
	printf '%s\n' "PS1='prompt> '" HISTFILE= | tee profile >.zshrc
	case ${1:-bash} in
	bash) command=(bash --noprofile --rcfile profile) ;;
	zsh) command=(env ZDOTDIR="$PWD" zsh -d) ;;
	dash) command=(env ENV="$PWD/profile" dash -i) ;;
	fish)
		mkdir -pm 700 runtime
		command=(env XDG_RUNTIME_DIR="$PWD/runtime" fish --no-config -C '
			function fish_prompt; echo -n "prompt> "; end')
		;;
	esac
	open_terminal "${command[@]}"
	end 'stty -g >modes'
}

# open_terminal COMMAND...: opens a terminal whose session COMMAND leads.
open_terminal() {
	[ -e bin ] || { mkdir bin && ln -s "$WDRUN" bin/wdrun; }
	[ -p keys ] || mkfifo keys
	echo 'set enable-bracketed-paste off' >inputrc
	: >log
	: >opened
	PATH=$PWD/bin:$PROGRAMS:$PATH INPUTRC=$PWD/inputrc TERM=linux \
		"$PROGRAMS/terminal" keys log "$@" >opened 3>&- 4>&- &
	terminal=$!
	disown # bash says nothing of its death
	await_ready opened
	shell=$ready
	exec 4<>keys
	read -r _ _ tty <opened
}

# Ends what is left on it, too.
close_terminal() {
	kill -KILL "$terminal"
	wait_until nobody_is_left
}

teardown() {
	if [ -n "${terminal-}" ]; then
		take log # shown where the test failed
		taken=${taken//$'\e'/^[}
		echo "--- the terminal: ${taken:0:3000}"
		close_terminal 2>/dev/null || true
	fi
	common_teardown
}

# --- keys --------------------------------------------------------------------

declare -gA keys=([C-c]=$'\003' [C-d]=$'\004' [C-z]=$'\032' [Escape]=$'\033' [Enter]=$'\r')

# press KEY...: presses C-c and the like, or types text.
press() {
	local key
	for key; do printf %s "${keys[$key]-$key}" >&4; done
}

# answer TEXT: types a line, to a program that reads.
answer() {
	press "$1" Enter
}

# enter LINE: types a line at the prompt. What was shown before is forgotten, so
# that what is shown is of this line.
enter() {
	wait_until prompted
	echo "--- $1"
	: >log
	answer "$1"
}

# end LINE [REGEX]: enters LINE, and waits for its end. It has shown REGEX.
end() {
	enter "$1"
	wait_until prompted
	[ -z "${2-}" ] || shows "$2"
}

# noted FILE LINE: enters LINE, and waits until a command in it has noted `ready
# PID` in FILE. Sets ready, and what find_run sets.
noted() {
	: >"$1"
	enter "$2"
	await_ready "$1"
	find_run
}

# --- what is seen ------------------------------------------------------------

# The prompt is the last that is shown, but for escape sequences.
prompted() {
	local shown LC_ALL=C
	IFS= read -rd '' shown <log || true
	((${#shown} < 200)) || shown=${shown: -200}
	[[ $shown =~ (^|.*[^a-z])prompt\>\ ($'\r'|$'\e'\[[?0-9;]*[A-Za-z])*$ ]]
}

# shows REGEX: a line matches. The typed line is one too, so look for what only
# the running command prints.
shows() {
	local rows row
	mapfile -t rows <log
	for row in "${rows[@]//$'\r'/}"; do [[ ! $row =~ $1 ]] || return 0; done
	return 1
}

# Waits until `ready PID` is shown. Sets ready, and what find_run sets.
see_ready() {
	wait_until shows 'ready ([0-9]+)$'
	ready=${BASH_REMATCH[1]}
	find_run
}

# Sets target, supervisor and front of the run that $ready is in, or front to $ready.
find_run() {
	local pid=$ready
	front=$ready
	until look_at "$pid" && [ "/proc/$process_parent/exe" -ef "$WDRUN" ]; do
		((process_parent > 1)) || return 0
		pid=$process_parent
	done
	target=$pid
	supervisor=$process_parent
	look_at "$supervisor"
	front=$process_parent
}

# The prompt is back, and a program finds the modes of the terminal as they were before.
usable() {
	end 'stty -g >modes.now'
	cmp modes modes.now
}

# last_is STATUS: the prompt is back, and that was the command's status.
last_is() {
	: >last
	end "echo $last >last"
	[ "$(<last)" = "$1" ]
}

# --- runs --------------------------------------------------------------------

# How a run may be at the terminal: sharing it, and with one of its own.
modes=('' --pty '-i 60' --tee=copy)

# run_in MODE LINE: types LINE with MODE for MODE, waits until the command is
# ready and, where it has a terminal of its own (in a pipeline, only --pty gives
# it one), has the keys.
run_in() {
	enter "${2/MODE/$1}"
	see_ready
	has_own=$1
	[[ $1 == --pty || $2 != *'|'* ]] || has_own=
	[ -z "$has_own" ] || wait_until has_keys
}

# wdrun carries the keys to a terminal of the command's own. A prompt reads keys
# as well, but leaves this mode.
has_keys() {
	stty -a -F "$tty" | grep -q -e -isig
}

# has_no_terminal PID: also once the terminal is gone.
has_no_terminal() {
	local stat tty
	read -r stat <"/proc/$1/stat"
	read -r _ _ _ _ tty _ <<<"${stat##*) }"
	[ "$tty" = 0 ]
}

# has_foreground PID: its process group is in the foreground of its terminal.
has_foreground() {
	local stat group foreground
	read -r stat <"/proc/$1/stat"
	read -r _ _ group _ _ foreground _ <<<"${stat##*) }"
	[ "$group" = "$foreground" ]
}

# Each process that the shell has forked runs its program. A fork of an interactive
# shell ignores Ctrl-Z until then.
shell_has_executed() {
	local children child
	read -ra children <"/proc/$shell/task/$shell/children" || true # it has no newline
	for child in "${children[@]}"; do
		no cmp -s "/proc/$shell/cmdline" "/proc/$child/cmdline" || return 1
	done
}

# The job has stopped, and the prompt is usable.
see_stop() {
	wait_until is_stopped "$ready"
	wait_until is_stopped "$front"
	usable
}

# Ctrl-Z stops the job.
stop_job() {
	press C-z
	see_stop
}

# fg continues it.
continue_job() {
	enter fg
	wait_until no is_stopped "$ready"
	wait_until no is_stopped "$front"
	[ -z "$has_own" ] || wait_until has_keys
}

# reads TEXT: programs/repl reads and answers.
reads() {
	answer "$1"
	wait_until shows "^you said $1\$"
}

# Its input ends, and it exits with 0.
reads_no_more() {
	press C-d
	last_is 0
}

# Ctrl-C is the command's death.
interrupt_job() {
	press C-c
	last_is 130
	is_dead "$ready"
}
