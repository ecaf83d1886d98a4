#!/usr/bin/env bats
#
# Under the name timeout: what coreutils 9 and POSIX.1-2024 say of timeout, in rows,
# which GNU's 9.1 has passed, too; and the differences that are on purpose.

load helper
load bounds

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return
	ln -s "$WDRUN" timeout
	# For bash as the command, without a child that a signal could reach:
	# `hit SIGNAL [WORD]` sends a signal to the first timeout, once the stat of
	# the command has WORD. The pause is not short, since a read -t that ends
	# while a trap runs keeps bash from running that trap again. `hit ALRM` is
	# a timeout that comes when the command is ready for it.
	cat >tools <<-'EOF'
		parent=$PPID
		until timeout=$parent && read -r stat <"/proc/$timeout/stat" &&
			read -r _ parent _ <<<"${stat##*) }" &&
			! [ "/proc/$parent/exe" -ef "/proc/$timeout/exe" ]; do :; done
		hit() {
			until read -r stat <"/proc/$$/stat" && [[ $stat == *"${2-}"* ]]; do pause 0.1; done
			kill "-$1" "$timeout"
		}
	EOF
}

setup() {
	common_setup
	export LC_ALL=C BASH_ENV=$BATS_FILE_TMPDIR/tools PATH=$BATS_FILE_TMPDIR:$PROGRAMS:$PATH
	unset WDRUN_REGISTRY
	launched=() told_by=()
}

# ours ARG...: runs `timeout ARG...`, started by the words of launched. The last line of
# output is its status; where this might be a death, wait_status, in told_by, says which.
ours() {
	complete "${told_by[@]}" "${launched[@]}" timeout "$@"
	((${#told_by[@]})) || output+=${output:+$'\n'}"exit $status"
}

# as_gnu RESULT ARG...: `timeout ARG...` prints RESULT, and says nothing where it has run
# the command and has no -v.
as_gnu() {
	local told_by=()
	[[ $1 != *signal* ]] || told_by=(wait_status)
	ours "${@:2}"
	[ "$output" = "$1" ]
	[[ " $* " == *" -v "* || $1 == *12[567] ]] || [ -z "$stderr" ]
}

# told LINE...: what it said on stderr.
told() {
	local IFS=$'\n'
	[ "$stderr" = "$*" ]
}

# --- as GNU's ----------------------------------------------------------------

# bats test_tags=slow
@test "timeout: durations and signals are those of GNU; 0, or more than a clock can hold, means no timeout" {
	for word in 99 100.34 .5m 50. +100 ' 100' 2m 3h 1d 1e2s 2.34e+5d 0x.8h 0X1p-1h inf infs \
		1e400 0.0 0x0 -0.0 9223372036854775808d; do
		options+=(-k "$word")
	done
	for word in TERM term SIGTERM 15 HUP SIGPIPE RTMIN RTMIN+1 RTMAX-2 rtmax IOT cld \
		SIGPOLL EXIT sigexit; do
		options+=(-s "$word")
	done
	as_gnu "exit 0" "${options[@]}" -- 100 true
	as_gnu "exit 0" 0 timeout 18446744073709551616d timeout 1e4932 timeout 0s \
		timeout 100000000000000000000000000e-24 sleep 0.03
	for word in .02s 0.0004m 3e-7d 0x.1; do as_gnu "exit 124" "$word" sleep 1000; done
	for word in '' . s -1 -inf nan 1S 1ss '1 ' 1e 0x 1,5 ' -1e-10000'; do
		as_gnu "exit 125" -- "$word" true
		[[ $stderr == *"'$word'"* && $stderr != *--* ]] # no option was given
	done
	for word in '' FOO SIG 65 -1; do as_gnu "exit 125" --signal="$word" .1 true; done
	as_gnu "exit 125" --kill-after=invalid 100 true
}

@test "timeout: a timeout gives 124, however the command ends, or with -p the command's status" {
	as_gnu "exit 124" .1 sh -c 'kill -STOP $$'
	as_gnu $'bye\nexit 124' --kill-after=1000 1000 bash -c 'trap "echo bye; exit 3" TERM
		hit ALRM; while :; do pause 0.1; done'
	as_gnu $'done\nexit 124' 1000 bash -c 'trap "" TERM; hit ALRM; pause 0.1; pause 0.1; echo done'
	as_gnu $'done\nexit 124' -k 0 -s 0 1000 bash -c 'hit ALRM; pause 0.1; pause 0.1; echo done'
	told_by=(wait_status)
	as_gnu "exit 143" --preserve-status .02 sleep 1000
	ours -fpv -k 5 -s INT .02 sleep 1000
	[ "$output" = "exit 130" ]
}

# bats test_tags=smoke,slow
@test "timeout: if SIGKILL was needed, it dies by SIGKILL; --verbose tells each signal" {
	as_gnu "signal 9" --preserve-status -s9 .02 sleep 1000
	as_gnu "signal 9" --foreground -s0 -k .05 .02 sleep 1000
	as_gnu "signal 9" -v -k .05 1000 bash -c 'trap "" TERM; hit ALRM; sleep 1000'
	told "timeout: sending signal TERM to command 'bash'" \
		"timeout: sending signal KILL to command 'bash'"
	as_gnu "exit 124" -v -s sigpipe .02 sleep 1000
	told "timeout: sending signal PIPE to command 'sleep'"
	# GNU's says EXIT before 9.10, and RTMIN+2.
	ours --verb -s0 -k .05 .02 sleep 1000
	told "timeout: sending signal 0 to command 'sleep'" \
		"timeout: sending signal KILL to command 'sleep'"
	ours -v -s rtmin+2 .02 sleep 1000
	told "timeout: sending signal 36 to command 'sleep'"
}

# bats test_tags=slow
@test "timeout: its own failures give 125, 126 or 127, and a message; else the status is the command's" {
	for options in --bogus -z -k --foreground=1 '-vz 1 true'; do
		# shellcheck disable=SC2086
		as_gnu "exit 125" $options
		[[ $stderr == "timeout: "* ]]
	done
	for options in '' 1 '-k 1'; do
		# shellcheck disable=SC2086
		ours $options
		[ "$output" = "exit 125" ]
		[[ $stderr == "timeout: missing operand"* ]]
	done
	as_gnu "exit 127" 100 no_such_command
	told "timeout: failed to run command 'no_such_command': No such file or directory"
	as_gnu "exit 126" 100 .
	as_gnu "exit 126" 100 /etc/passwd
	told "timeout: failed to run command '/etc/passwd': Permission denied"

	printf 'input ' >input
	launched=(sh -c 'exec "$@" <input' sh)
	as_gnu $'input -k|--help||a b|\nexit 0' -- 100 env -- \
		sh -c 'cat; printf "%s|" "$@"; echo' sh -k --help '' 'a b'
	as_gnu "exit 4" --verb --sig TERM --kill 5 --pres --fore 100 sh -c 'exit 4'
	# Short for one of its options, and for others of ours.
	as_gnu "exit 4" --p --s=TERM --k 5 --f --verbo 100 sh -c 'exit 4'
	for options in --v --ver --t=5 --l=lock; do as_gnu "exit 125" "$options" 100 true; done
	as_gnu "exit 124" 100 sh -c 'exit 124'
	as_gnu "signal 11" 100 sh -c 'ulimit -c 0; kill -SEGV $$'
}

# bats test_tags=slow
@test "timeout: a signal to it reaches the command; if the command survives it, the timeout comes in time" {
	for signal in HUP INT QUIT TERM; do
		# After bash: bash ignores SIGQUIT.
		as_gnu "signal $(kill -l $signal)" -v 100 bash -c \
			"ulimit -c 0; hit $signal '(sleep)' & exec sleep 1000"
		told "timeout: sending signal $signal to command 'bash'"
	done
	as_gnu "signal 15" 100 bash -c 'hit TERM ") T " & kill -STOP $$'
	as_gnu "exit 124" -v 1000 bash -c 'trap "n=1" INT; trap "exit 3" TERM
		hit INT; until ((n)); do pause 0.1; done; hit ALRM; while :; do pause 0.1; done'
	told "timeout: sending signal INT to command 'bash'" \
		"timeout: sending signal TERM to command 'bash'"
	as_gnu "signal 9" -v -k .1 1000 bash -c 'trap "" INT; hit INT; sleep 1000'
	# SIGALRM to a timeout that runs another goes directly to the innermost command, too.
	as_gnu $'int\nexit 124' -s ALRM 1000 timeout -s INT 900 bash -c '
		trap "" ALRM; trap "echo int; exit" INT
		hit ALRM; while :; do pause 0.1; done'
}

# --- on purpose otherwise ----------------------------------------------------

# sent SIGNAL STATUS ARG...: ours gets the signal when the command says `ready PID`,
# ends so, and that process ends.
sent() {
	start_run timeout "${@:3}"
	ended_by "$1" "$2"
	[ "$1" = KILL ] || [ -z "$stderr" ]
	wait_until is_dead "$ready"
}

# bats test_tags=slow
@test "timeout: processes that outlive the command live on; a timeout, or -k with a signal, leaves none" {
	ours 100 escape -x 3 fork
	[[ $output == *"exit 3" ]]
	await_ready
	is_alive "$ready"
	kill -KILL "$ready"
	[ ! -s err ]

	sent ALRM 124 -k .1 100 escape setsid stubborn
	sent ALRM 124 100 escape fork setsid root closed
	sent ALRM 124 -f 100 escape fork stopped
	sent ALRM 124 100 escape setsid stubborn # SIGKILL after 5 s
	sent TERM 143 -k .1 100 escape setsid stubborn
	# Without --kill-after it is passed on to all, and nothing more.
	sent TERM 143 100 escape setsid fork
	sent KILL 137 100 escape fork

	ours 100 sh -c 'sleep 1000 & kill -KILL $PPID; exec sleep 1000'
	[[ $stderr == "timeout: "* ]]
	nobody_is_left
}

# bats test_tags=slow
@test "timeout: it works even if the caller ignores or blocks signals, and ignored signals stay ignored" {
	launched=(env --ignore-signal="TERM,CHLD" --block-signal=ALRM)
	as_gnu "exit 124" .02 sleep 1000
	launched=(env --ignore-signal=USR1)
	as_gnu "exit 124" -s USR1 .02 sleep 1000
	launched=(sh -c 'sleep .1 & exec "$@"' sh)
	as_gnu "exit 124" .2 sleep 1000

	# So POSIX.1-2024 ("ASYNCHRONOUS EVENTS" and XCU 1.4), GNU's since 9.10
	# and busybox. GNU's before that sends HUP, INT, QUIT and TERM to the
	# command, which dies of it, also under nohup.
	start_run timeout -s USR1 100 sigcount
	for count in 1 2; do
		kill -ALRM "$started"
		wait_until has_lines "$count" 'got 10'
	done
	ended_by TERM 124
	start_run env --ignore-signal=1,12,15 timeout -s ALRM 100 sigcount 1
	for signal in 1 12 15 RTMIN; do kill "-$signal" "$started"; done
	gives 7 finish
	[ "$output" = "ready $ready"$'\ngot 34' ]
}

# bats test_tags=slow
@test "timeout: in the background of a script it leads a process group, and reacts to SIGINT" {
	for signal in INT QUIT TERM; do
		ours 900 sh -c "timeout 900 sh -c 'echo ready; exec sleep 1000' >ready & "'
			until [ -s ready ]; do pause 0.02; done
			rm ready
			kill -s "$1" -- "-$!" && wait "$!"' - "$signal"
		[ "$output" = "exit $((128 + $(kill -l "$signal")))" ]
	done
}

@test "timeout: each name that ends with timeout works; it has its own --help, and messages begin with that name" {
	for name in wdrun-timeout gtimeout; do
		ln -s "$WDRUN" $name
		gives 125 complete ./$name -z
		[[ $stderr == "$name: "*"'-z'"* ]]
		gives 124 complete "$PWD/$name" .02 sleep 1000
	done
	ln -s "$WDRUN" timeout2
	gives 124 complete ./timeout2 -t .02 sleep 1000
	ours --help
	[[ $output == "Usage: timeout "*-k,*-s,*-p,*-f,*-v,*--version*$'\nexit 0' ]]
	ours --version
	[[ $output == "timeout (wdrun, as GNU coreutils) "*$'\nexit 0' ]]
}
