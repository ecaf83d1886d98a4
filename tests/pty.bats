#!/usr/bin/env bats
#
# --pty: a command gets a terminal where there is none, and at a terminal it
# sees no difference. Also: at a terminal, options that read the output take
# nothing of the terminal away.
#
# shellcheck disable=SC2016,SC2034,SC2030,SC2031,SC2154

load helper
load prompt
load relays

# --- without a terminal ------------------------------------------------------

# The kernel lets one process at a time write to a terminal; a write without
# waiting then fails.
@test "no message is lost where other processes write to the terminal" {
	complete "$WDRUN" --pty bash -c '
		for i in 1 2; do
			until [ -e over ]; do echo x; done &
		done
		for i in {1..300}; do "$WDRUN" --nope; done
		: >over
		wait'

	[ "$status" -eq 0 ]
	[ "$(grep -c -- "--nope" out)" -eq 300 ]
}

@test "stdout and stderr are a terminal, and stdin is what it was" {
	complete bash -c 'echo input | "$WDRUN" --pty sh -c "
		[ -t 0 ] || echo no; [ -t 1 ] && [ -t 2 ] && echo yes; cat
		echo error >&2"'

	[ "$output" = $'no\nyes\ninput\nerror' ]
	[ -z "$stderr" ]
}

@test "it is the command's controlling terminal, in the supervisor's session" {
	complete "$WDRUN" --pty sh -c 'echo words >/dev/tty
		ps -o sid=,pgid=,tpgid= -p $$ | xargs; echo $PPID $$ $$'

	[ "$(sed -n 1p out)" = words ]
	[ "$(sed -n 2p out)" = "$(sed -n 3p out)" ]
}

@test "binary output comes through with every byte, and no carriage return" {
	complete bash -c '"$WDRUN" --pty "$PROGRAMS/pattern" write 1 5000000 |
		"$PROGRAMS/pattern" check 1 5000000; echo "${PIPESTATUS[0]}"'

	[ "$output" = $'same\n0' ]

	complete "$WDRUN" --pty printf 'a\nb\tc\r\n\n'
	[ "$(od -c <out)" = "$(printf 'a\nb\tc\r\n\n' | od -c)" ]
}

@test "the window is 24 by 80 where no terminal is about" {
	complete "$PROGRAMS/launch" --defaults setsid -w \
		"$WDRUN" --pty sh -c 'stty size </dev/tty'

	[ "$output" = "24 80" ]
}

@test "the status is the command's: exit, signal, not found" {
	complete "$WDRUN" --pty sh -c 'exit 42'
	[ "$status" -eq 42 ]
	complete "$WDRUN" --pty sh -c 'kill -TERM $$'
	[ "$status" -eq 143 ]
	complete "$WDRUN" --pty ./nothing
	[ "$status" -eq 127 ]
	[ "$(wc -l <err)" -eq 1 ]
}

@test "ls --color=auto shows colours, in a pipeline and in \$(...)" {
	mkdir directory
	export TERM=xterm
	complete bash -c 'ls --color=auto | cat
		"$WDRUN" --pty ls --color=auto --ignore="*[!y]" | cat
		x=$("$WDRUN" --pty ls --color=auto --ignore="*[!y]")
		printf "%s\n" "$x"'

	run ! grep -q $'\e' <(head -n 1 out)
	[ "$(grep -c $'\e\[.*directory' out)" -eq 2 ]
}

@test "python3 -i is interactive, in a pipeline and in \$(...)" {
	need python3
	export PYTHONSTARTUP='' TERM=dumb
	complete bash -c '
		echo "import sys; print(sys.stdout.isatty(), 6 * 7)" |
			"$WDRUN" --pty python3 -i | cat
		x=$(echo "import sys; print(sys.stderr.isatty(), 6 * 7)" |
			"$WDRUN" --pty python3 -i)
		printf "%s\n" "$x"'

	[ "$(grep -c 'True 42' out)" -eq 2 ]
	[ "$(grep -c '>>> ' out)" -ge 2 ]
	[ -z "$stderr" ]
}

@test "less pages, in a pipeline and in \$(...)" {
	need less
	export TERM=xterm LESS=
	seq 1000 >numbers
	complete bash -c '
		"$WDRUN" --pty -t 60 -u "numbers" --until-grace=0 \
			less numbers | cat >first
		x=$("$WDRUN" --pty -t 60 -u "numbers" --until-grace=0 \
			less numbers); echo "$?"; printf "%s\n" "$x" >second
		less numbers | cat >third'

	# less shows a screen of 24 lines, and the file's name in its prompt.
	[ "$output" = 0 ]
	grep -q numbers first
	grep -q numbers second
	grep -q 23 first
	run ! grep -q 24 first
	cmp numbers third
}

@test "both streams come in the order in which they were written" {
	complete "$WDRUN" --pty bash -c 'for ((i = 1; i <= 1000; i += 2)); do
		echo $i; echo $((i + 1)) >&2; done'

	cmp out <(seq 1000)
	[ -z "$stderr" ]
}

@test "a command has its terminal also where the caller has no stdout or stderr" {
	complete "$PROGRAMS/launch" --close 1 --close 2 "$WDRUN" --pty sh -c '
		[ -t 1 ] && [ -t 2 ] && echo into nothing && exit 3'

	[ "$status" -eq 3 ]
}

@test "a command that ignores SIGPIPE is hung up when its reader has gone" {
	complete bash -c '"$WDRUN" --pty -t 200 "$PROGRAMS/launch" \
			--ignore PIPE yes | head -n 1
		echo "${PIPESTATUS[*]}"'

	# SIGHUP, or an error of write(2), whichever comes first.
	[[ $output =~ ^y$'\n'(129|1)' 0'$ ]]
	[ -z "$stderr" ]
}

@test "a reader that has gone does not affect a command that writes nothing" {
	start bash -c '"$WDRUN" --pty sh -c "echo first
			until [ -e go ]; do sleep 0.02; done; exit 3" </dev/null |
		head -n 1; echo "${PIPESTATUS[0]}"'
	wait_until grep -qx first out
	wait_until no has_child "$started" head

	touch go
	finish

	[ "$output" = $'first\n3' ]
	[ -z "$stderr" ]
}

# has_child PID NAME: PID has a living child of that name.
has_child() {
	local pid name
	for pid in $(children_of "$1"); do
		{ read -r name <"/proc/$pid/comm"; } 2>/dev/null || continue
		[ "$name" != "$2" ] || no is_alive "$pid" || return 0
	done
	return 1
}

@test "the terminal stays for survivors until they are stopped" {
	mkfifo pipe
	start "$WDRUN" --pty --idle-after-exit=60 --max-after-exit=60 sh -c '
		{ read -r word <pipe
		[ -t 1 ] && echo "$word" >/dev/tty; exec sleep 1000; } & exit 5'
	front=$started
	wait_until has_watched_target
	wait_until is_zombie "$target"
	echo "still here" >pipe
	wait_until grep -qx 'still here' out

	kill -TERM "$front"
	finish
	[ "$status" -eq 5 ]
	nobody_is_left
}

@test "survivors that are let go get no SIGHUP, and keep the terminal" {
	mkfifo pipe
	complete "$WDRUN" --pty --survivors=leave sh -c '
		{ trap "echo hup >>how" HUP; read -r word <pipe
		[ -t 1 ] && echo "$word" >>how; } & exit 5'
	[ "$status" -eq 5 ]

	echo here >pipe
	wait_until grep -qs here how
	[ "$(cat how)" = here ]
}

@test "stdin from a file is not the terminal's, and is not echoed" {
	echo secret >input
	complete sh -c '"$WDRUN" --pty sh -c "read x; echo length \${#x}" <input'

	[ "$output" = "length 6" ]
}

@test "bad values and combinations: 125, one line, and no file is made" {
	local -a cases=(
		'-i x' '-i -1' '-i 1,5' '--idle-timeout='
		'--until=' '-u' '--until-grace=x -u DONE' '--until-grace=1'
		'--until-grace=-1 -u DONE' '--idle-unless-busy'
		'--idle-unless-busy --until=DONE' '--idle-unless-busy=1 -i 1'
		'--tee' '--tee=' '--pty=yes' '--pty --foreground'
		'--tee=no/such/directory/file' '--tee=.'
	)
	local case arguments
	for case in "${cases[@]}"; do
		read -ra arguments <<<"$case"
		# Where the test is about a missing argument, COMMAND must not
		# take its place.
		case ${arguments[0]} in
		-u | --tee) complete "$WDRUN" --tee=copy "${arguments[@]}" ;;
		*) complete "$WDRUN" --tee=copy "${arguments[@]}" touch ran ;;
		esac

		echo "$case"
		[ "$status" -eq 125 ]
		[ "$(wc -l <err)" -eq 1 ]
		only_messages
		[ ! -s out ]
		[ ! -e ran ]
		[ ! -e copy ]
	done
	complete "$WDRUN" --tee=copy
	[ "$status" -eq 125 ]
	[ ! -e copy ]
}

# --- at a terminal -----------------------------------------------------------

modes() {
	stty -g -F "$tty"
}

is_raw() {
	[[ $(stty -a -F "$tty") == *-icanon* ]]
}

is_cooked() {
	no is_raw
}

# Sets front to the wdrun that runs at the prompt, or in a script at the prompt.
one_front() {
	local child
	for child in $(children_of "$shell"); do
		front=$child
		[ "/proc/$child/exe" -ef "$WDRUN" ] || wdrun_of "$child"
		return
	done
	return 1
}

no_wdrun() {
	no one_front
}

# run_script LINE...: runs LINEs in a shell without job control, which changes
# no modes: what is left is what wdrun leaves. Notes the modes before and after.
run_script() {
	printf '%s\n' 'stty -g >before' "$1" 'echo "status=$?"' "${@:2}" \
		'stty -g >after' >script
	enter 'sh script'
}

# start_raw_script LINE...: runs a script with a run that the test will end,
# then LINEs.
start_raw_script() {
	run_script "wdrun --pty -k 300ms sh -c 'echo \"ready \$\$\"; exec sleep 1000'" "$@"
	see_ready
	wait_until is_raw
	wait_until one_front
	supervisor=$(supervisor_of "$front")
	relay=$(relays_of "$front" | sed -n 1p)
	keyboard=$(relays_of "$front" | sed -n 2p)
}

restored() {
	[ "$(modes)" = "$(cat before)" ]
}

@test "the window's size is that of the terminal, in a pipeline too" {
	at_prompt
	enter 'stty size >own; wdrun --pty stty size >first; wdrun --pty stty size | cat >second; wdrun --pty sh -c "stty size </dev/tty" </dev/null >third; echo over$((1 + 1))'
	wait_until shows '^over2$'

	grep -qx '[0-9]* 100' own
	cmp own first
	cmp own second
	cmp own third
}

@test "the command notices that the window's size has changed" {
	at_prompt
	note_sizes
	enter 'wdrun --pty bash note_sizes'
	wait_until shows '^ready [0-9]+$'
	tmux -S socket resize-window -x 90 -y 35

	wait_until grep -qsx '35 90' size
	wait_until interrupted_unless no_wdrun
	usable
}

@test "also where the size has changed while the job was stopped" {
	at_prompt
	note_sizes
	enter 'wdrun --pty bash note_sizes'
	see_ready
	press C-z
	wait_until shows 'Stopped'
	wait_until is_stopped "$ready"
	tmux -S socket resize-window -x 90 -y 35
	wait_until has_size '35 90'
	enter fg

	wait_until grep -qsx '35 90' size
	wait_until interrupted_unless no_wdrun
	usable
}

has_size() {
	[ "$(stty size -F "$tty")" = "$1" ]
}

@test "in a pipeline too, and where stdin is something else" {
	at_prompt
	note_sizes
	enter 'wdrun --pty bash note_sizes </dev/null | cat'
	wait_until shows '^ready [0-9]+$'
	tmux -S socket resize-window -x 91 -y 33

	wait_until grep -qsx '33 91' size
	wait_until interrupted_unless no_wdrun
	usable
}

@test "what is typed is read, and Ctrl-C and Ctrl-D do what they do" {
	at_prompt
	enter 'wdrun --pty repl; echo "status=$?"'
	wait_until shows '^ready [0-9]+$'
	enter 'hello'
	wait_until shows '^you said hello$'
	press C-c
	wait_until shows 'interrupted 1$'
	press C-c
	wait_until shows 'interrupted 2$'
	press C-d

	wait_until shows '^status=0$'
	usable
}

@test "Ctrl-C ends a command, and is its death" {
	at_prompt
	enter 'wdrun --pty sh -c '\''echo "ready $$"; exec sleep 1000'\'
	wait_until shows '^ready [0-9]+$'
	press C-c
	wait_until no_wdrun

	enter 'echo "last=$?"'
	wait_until shows '^last=130$'
	usable
}

@test "a REPL, a password and vi work, with a bound on silence as well" {
	local vi
	need python3
	vi=$(command -v vim.tiny || command -v vi) || skip "no vi is installed"
	at_prompt
	enter 'wdrun --pty -i 60 python3 -q'
	wait_until shows '^>>>'
	press C-c
	wait_until shows '^KeyboardInterrupt$'
	enter '6 * 7'
	wait_until shows '^42$'
	press C-d
	wait_until no_wdrun

	enter 'clear; wdrun --pty bash -c '\''read -rsp "Pass""word: " p </dev/tty; echo; echo "length=${#p}"'\'
	wait_until shows '^Password:'
	enter 'secret7'
	wait_until shows '^length=7$'
	run ! shows secret7
	wait_until no_wdrun

	enter "clear; wdrun --pty -i 60 $vi -u NONE -N file"
	wait_until shows '^~'
	press i
	enter 'second'
	press Escape
	enter ':wq'
	wait_until grep -qx second file
	wait_until no_wdrun
	usable
}

@test "the terminal is restored at a normal end, and new lines start at the left margin" {
	at_prompt
	run_script 'wdrun --pty sh -c "stty -a >within; printf \"one\ntwo\n\""'
	wait_until test -s after

	cmp before after
	grep -q ' icanon' within # the pseudo-terminal starts with the caller's modes
	wait_until shows '^one$'
	wait_until shows '^two$'
	usable
}

@test "the terminal is restored after a timeout" {
	local limit
	at_prompt
	# The run has to last until wdrun has set the terminal to raw mode; on a
	# slow machine that needs a longer limit.
	printf '%s\n' "until stty -a -F $tty | grep -q -- -icanon; do sleep 0.02; done" \
		': >was_raw' 'exec repl' >in_raw
	for limit in 0.7 3 15 60; do
		rm -f before after
		run_script "wdrun --pty -t $limit -k 300ms sh in_raw"
		wait_until test -s after
		[ ! -e was_raw ] || break
	done

	[ -e was_raw ]
	wait_until shows '^status=124$'
	cmp before after
	usable
}

@test "the terminal is restored after a signal" {
	at_prompt
	start_raw_script :
	kill -TERM "$front"
	wait_until test -s after

	cmp before after
	usable
}

@test "the terminal is restored after SIGKILL of the supervisor, or of the relay" {
	local victim
	at_prompt
	for victim in supervisor relay; do
		rm -f before after
		enter 'clear'
		start_raw_script :
		kill -KILL "${!victim}"
		wait_until test -s after

		cmp before after
		is_dead "$ready"
	done
	usable
}

@test "the terminal is restored after SIGKILL of the front" {
	at_prompt
	start_raw_script 'until [ -e checked ]; do sleep 0.02; done'
	kill -KILL "$front"

	# The relay that restores the modes is no child that the script waits
	# for.
	wait_until restored
	wait_until is_dead "$ready"
	touch checked
	wait_until no_wdrun
	usable
}

@test "SIGKILL of the relay of stdin: a message says so, the modes are restored, Ctrl-C ends the run" {
	at_prompt
	start_raw_script :
	kill -KILL "$keyboard"
	wait_until shows 'the relay of stdin was killed: what is typed does not reach'
	wait_until restored
	is_alive "$ready"

	press C-c
	wait_until is_dead "$ready"
	wait_until no_wdrun
	usable
}

@test "SIGKILL of the front while it and the relay of stdin are stopped leaves no process" {
	at_prompt
	start_raw_script 'until [ -e checked ]; do sleep 0.02; done'
	kill -STOP "$front" "$keyboard"
	kill -KILL "$front"

	wait_until is_dead "$ready"
	wait_until is_dead "$keyboard"
	wait_until restored
	touch checked
	wait_until no_wdrun
	usable
}

@test "a stop gives the terminal back, and fg takes it again" {
	at_prompt
	enter 'wdrun --pty repl; echo "status=$?"'
	see_ready
	wait_until is_raw
	wait_until one_front

	kill -TSTP "$front"
	wait_until shows 'Stopped'
	wait_until is_stopped "$ready"
	usable

	enter 'fg'
	wait_until no is_stopped "$ready"
	wait_until is_raw
	enter 'back again'
	wait_until shows '^you said back again$'
	press C-d
	wait_until no_wdrun
	usable
}

# Starts a run that has the terminal, in a shell that does not restore modes.
start_at_dash() {
	need dash
	at_prompt
	enter 'PS1="dash> " exec dash -i'
	wait_until shows '^dash>'
	enter 'stty -g >before; wdrun --pty repl; echo "status=$?"'
	wait_until shows '^ready [0-9]+$'
	wait_until is_raw
	wait_until one_front
}

@test "a stop restores the modes for a shell that does not do so itself" {
	start_at_dash
	kill -TSTP "$front"
	wait_until shows 'Stopped'
	wait_until restored
	enter 'fg'
	wait_until is_raw
	press C-d
	wait_until no_wdrun
	restored
	usable
}

@test "SIGKILL of the front restores the modes for a shell that does not do so itself" {
	start_at_dash
	kill -KILL "$front"

	wait_until restored
	wait_until no_wdrun
	usable
}

@test "job control within works: Ctrl-Z belongs to the shell that runs there" {
	at_prompt
	enter 'PS1="inner> " wdrun --pty bash --norc --noprofile'
	wait_until shows '^inner>'
	enter 'repl'
	see_ready
	press C-z
	wait_until shows 'Stopped'
	wait_until is_stopped "$ready"
	# What is typed before bash has given the terminal's modes back to the
	# program would be read in bash's own mode.
	enter 'fg'
	wait_until no is_stopped "$ready"
	enter 'through'
	wait_until shows '^you said through$'
	press C-d
	wait_until shows '^bye$'
	enter 'exit'
	wait_until no_wdrun
	usable
}

@test "a command that stops itself stops the job, and fg continues both" {
	at_prompt
	enter 'wdrun --pty sh -c '\''kill -STOP $$; echo "went on"; exit 3'\''; echo "status=$?"'
	wait_until shows 'Stopped'
	no is_wdruns
	usable
	enter 'fg'
	wait_until shows '^went on$'
	wait_until no_wdrun
	usable

	enter 'clear; PS1="inner> " wdrun --pty bash --norc --noprofile'
	wait_until shows '^inner>'
	enter 'suspend -f'
	wait_until shows 'Stopped'
	usable
	enter 'fg'
	enter 'echo inner$((20 + 3))'
	wait_until shows 'inner23$'
	enter 'exit'
	wait_until no_wdrun
	usable
}

@test "in the background it takes neither the terminal nor what is typed" {
	at_prompt
	enter 'wdrun --pty repl &'
	wait_until shows 'ready [0-9]+$'
	ready=$(screen | sed -n 's/.*ready //p')

	usable
	usable
	run ! shows '^you said'
	is_alive "$ready"

	enter 'fg'
	wait_until is_raw
	enter 'at last'
	wait_until shows '^you said at last$'
	press C-d
	wait_until no_wdrun
	usable
}

stays_away() {
	enter "$1 wdrun --pty sh -c 'echo \"ready \$\$\" >ready; exec sleep 1000' >/dev/null 2>&1 &"
	await_ready ready

	usable
	usable
	no is_wdruns
}

# wdrun has set the terminal for --pty. A prompt reads keys as well, but keeps
# this mode.
is_wdruns() {
	[[ $(stty -a -F "$tty") == *-isig* ]]
}

stays_away_and_ends() {
	echo "$1"
	rm -f ready; : >ready
	enter clear
	stays_away "$1"
	wait_until end_background
}

@test "in the background of another session it takes nothing either" {
	at_prompt
	stays_away_and_ends 'setsid'
	stays_away_and_ends 'setsid -w'
}

@test "in the background of another PID namespace it takes nothing either" {
	need_root
	need_unshare --pid --fork --mount-proc
	at_prompt
	stays_away_and_ends 'unshare --pid --fork --mount-proc'
}

end_background() {
	local pid
	for pid in $(leftovers); do
		[ "/proc/$pid/exe" -ef "$WDRUN" ] && kill -KILL "$pid"
	done
	for pid in $(leftovers); do
		[ ! "/proc/$pid/exe" -ef "$WDRUN" ] || return
	done
}

@test "--no-stdin leaves the terminal alone" {
	at_prompt
	enter 'wdrun --pty --no-stdin sh -c '\''[ -t 1 ] && ! [ -t 0 ] && echo "ready $$"; exec sleep 1000'\'
	wait_until shows '^ready [0-9]+$'
	wait_until one_front

	is_cooked
	press C-c
	wait_until no_wdrun
	usable
}

@test "where only the output goes elsewhere the terminal can still be typed at" {
	at_prompt
	enter 'wdrun --pty repl >answers; echo "status=$?"'
	wait_until grep -qs '^ready' answers
	wait_until is_raw
	enter 'hello'
	wait_until grep -qx 'you said hello' answers
	press C-d
	wait_until shows '^status=0$'

	run ! grep -q $'\r' answers
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
	wait_until test -s after

	cmp before after
	usable
}

@test "with a bound on silence stdout and stderr are still a terminal" {
	at_prompt
	enter 'wdrun -i 60 sh -c '\''[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && stty size <&1 && echo "all ""three"'\'
	wait_until shows '^all three$'
	shows '^[0-9]+ 100$'

	enter 'clear; wdrun -i 60 sh -c '\''[ -t 2 ] && ! [ -t 1 ] && echo "only ""this"'\'' | cat'
	wait_until shows '^only this$'
	usable
}

@test "vi works with a bound on silence, and follows the window" {
	local vi
	vi=$(command -v vim.tiny || command -v vi) || skip "no vi is installed"
	at_prompt
	enter "wdrun -i 60 $vi -u NONE -N file"
	wait_until shows '^~'
	tmux -S socket resize-window -x 90 -y 20
	press i
	enter 'second'
	press Escape
	wait_until has_lines 20
	enter ':wq'

	wait_until grep -qx second file
	wait_until no_wdrun
	usable
}

# has_lines COUNT: vi says that its window has COUNT lines, now or once it has
# noticed the change.
has_lines() {
	enter ':set lines?'
	shows "lines=$1\$"
}

@test "Ctrl-C and Ctrl-Z work with a bound on silence" {
	at_prompt
	enter 'wdrun -i 60 repl; echo "status=$?"'
	see_ready
	press C-c
	wait_until shows 'interrupted 1$'
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

@test "the silence of a job that is stopped does not count" {
	local limit
	at_prompt
	for limit in 700ms 5s 30s; do # until the run is stopped within the limit
		wipe '^ready'
		enter "wdrun -i $limit repl"
		see_ready
		press C-z
		wait_until is_stopped_or_dead "$ready"
		! is_stopped "$ready" || break
		wait_until no_wdrun
	done

	"$WDRUN" -q -t "$limit" sleep 1000 || true
	"$WDRUN" -q -t 300ms sleep 1000 || true # by now the time of the stopped run would be over too
	is_alive "$ready"
	run ! shows 'no output'

	enter 'fg'
	wait_until shows "no output for $limit"
	wait_until is_dead "$ready"
	usable
}

is_stopped_or_dead() {
	is_stopped "$1" || is_dead "$1"
}

@test "no flag of the terminal changes, during the run or after it" {
	local before option
	at_prompt
	before=$(grep -h '^flags' "/proc/$shell/fdinfo/"{0,1,2})
	for option in --pty '-i 60' --tee=copy; do
		wipe '^ready' # the last one's
		enter "wdrun $option repl"
		wait_until shows '^ready [0-9]+$'
		[ "$(grep -h '^flags' "/proc/$shell/fdinfo/"{0,1,2})" = "$before" ]
		press C-d
		wait_until no_wdrun
		[ "$(grep -h '^flags' "/proc/$shell/fdinfo/"{0,1,2})" = "$before" ]
	done
	usable
}

@test "closing the terminal ends the whole run" {
	at_prompt
	enter 'wdrun --pty -k 300ms escape fork setsid stubborn'
	see_ready

	tmux -S socket kill-server

	wait_until is_dead "$ready"
	wait_until nobody_is_left
}

@test "a terminal that goes away where SIGHUP is ignored: cat ends, no process is left" {
	at_prompt
	enter 'trap "" HUP; wdrun --pty cat >file; : >ended'
	wait_until is_raw
	enter 'some words'
	wait_until grep -qsx 'some words' file

	tmux -S socket kill-server

	wait_until nobody_is_left
}

@test "much output at a terminal comes in order, to its end" {
	at_prompt
	enter 'wdrun --pty seq 20000; wdrun -i 60 seq 30000; echo over$((1 + 1))'
	wait_until shows '^over2$'

	screen | grep -x '[0-9]*' | cmp - <(seq 30000 | tail -n \
		"$(screen | grep -cx '[0-9]*')")
	usable
}
