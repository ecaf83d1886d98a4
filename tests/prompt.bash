# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034 # the shell at the prompt expands, tests read
# shellcheck disable=SC2154 # what helper.bash sets is read here
#
# For tests at a real prompt: an interactive shell in tmux, whose keys are
# pressed and whose screen is read.

# at_prompt [SHELL]: opens the terminal: 100 columns, and 39 rows beside tmux's
# own line. Sets tty to its name, shell to the PID of the shell at the prompt,
# and last to what the shell expands to the last status.
at_prompt() {
	local start=${1:-bash}
	need tmux "$start"
	last='$?'
	case $start in
	bash) start="exec bash --noprofile --rcfile '$PWD/profile'" ;;
	zsh) start="exec env ZDOTDIR='$PWD' zsh -d" ;;
	dash) start="exec env ENV='$PWD/profile' dash -i" ;;
	fish)
		mkdir -m 700 runtime
		start="exec env XDG_RUNTIME_DIR='$PWD/runtime' fish --no-config -C 'function fish_prompt
			echo \"prompt> \"; end'"
		last='$status'
		;;
	esac
	mkdir bin
	ln -s "$WDRUN" bin/wdrun
	cat >profile <<-'END'
		PS1='prompt> '
		HISTFILE=
	END
	cp profile .zshrc
	export PATH=$PWD/bin:$PROGRAMS:$PATH
	# tmux has the user's own shell run the command. Some that run the tests
	# ignore a signal: perf(1) SIGWINCH.
	SHELL=/bin/sh "$PROGRAMS/launch" --defaults tmux -S "$PWD/socket" \
		-f /dev/null new-session -d -x 100 -y 40 "$start" 3>&- 4>&-
	wait_until shows '^prompt>$'
	shell=$(tmux -S socket display -p '#{pane_pid}')
	tty=$(tmux -S socket display -p '#{pane_tty}')
}

# Prints the PIDs of the fronts.
fronts() {
	local pid
	local -
	set +T
	for pid in $(leftovers); do
		[ "/proc/$pid/exe" -ef "$WDRUN" ] || continue
		look_at "$pid"
		[ "/proc/$process_parent/exe" -ef "$WDRUN" ] || echo "$pid"
	done
}

one_front() {
	front=$(fronts)
	[[ $front =~ ^[0-9]+$ ]]
}

teardown() {
	close_prompt
	common_teardown
}

close_prompt() {
	[ -e "$BATS_TEST_TMPDIR/socket" ] || return 0
	screen | grep . || true # shown where the test failed
	tmux -S "$BATS_TEST_TMPDIR/socket" kill-server || true
	wait_until nobody_is_left || true
}

# enter TEXT: types a line.
enter() {
	tmux -S socket send-keys -l -- "$1"
	tmux -S socket send-keys Enter
}

# press KEY...: presses C-c and the like.
press() {
	tmux -S socket send-keys "$@"
}

# Sets rows to the lines of the screen, without blanks at their ends.
read_screen() {
	local -
	set +T
	local text row
	text=$(tmux -S socket capture-pane -p -J)
	mapfile -t rows <<<"$text"
	for row in "${!rows[@]}"; do
		rows[row]=${rows[row]%"${rows[row]##*[! ]}"}
	done
}

screen() {
	local rows
	read_screen
	printf '%s\n' "${rows[@]}"
}

# shows REGEX: a line of the screen matches. The typed line is on the screen as
# well, so look for what only the running command prints.
shows() {
	local -
	set +T
	local rows row
	read_screen
	for row in "${rows[@]}"; do
		[[ ! $row =~ $1 ]] || return 0
	done
	return 1
}

# Waits until the screen shows `ready PID`. Sets ready to that PID.
see_ready() {
	wait_until shows '^ready ([0-9]+)$'
	ready=${BASH_REMATCH[1]}
}

# wipe REGEX: clears the screen, until nothing on it matches.
wipe() {
	enter clear
	wait_until no shows "$1"
}

# The prompt is back, and the terminal echoes and reads lines.
usable() {
	enter 'printf "usable%d\n" 42'
	wait_until shows '^usable42$'
	screen | grep -qF 'printf "usable%d'
}

# Writes the script note_sizes, which notes its window's size in the file size
# whenever that changes. (Its loop has no `read -t`: one that ends while a trap
# runs keeps bash from running that trap again.)
note_sizes() {
	cat >note_sizes <<-'END'
		trap 'stty size </dev/tty >size' WINCH
		echo "ready $$"
		while :; do sleep 0.05; done
	END
}

# interrupted_unless CONDITION: presses Ctrl-C once more where CONDITION is not
# true yet. bash does not stop a script if Ctrl-C hits a child that is about to
# exit by itself.
interrupted_unless() {
	"$@" && return
	press C-c
	return 1
}

no_front() {
	[ -z "$(fronts)" ]
}

# last_is STATUS: that is what the prompt says of the last command.
last_is() {
	enter "echo last=$last"
	wait_until shows "^last=[0-9]"
	shows "^last=$1\$"
}
