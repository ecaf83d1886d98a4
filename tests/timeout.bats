#!/usr/bin/env bats
#
# Under the name timeout: what coreutils 9 and POSIX.1-2024 say of timeout. A
# row of `twin` runs ours, and where the system has GNU's 9, this as well: both
# have to end, print and complain alike, but for the words about wrong arguments.
# Deliberate differences are tested with ours alone.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154

load helper

setup_file() {
	local system version
	cd "$BATS_FILE_TMPDIR" || return
	mkdir ours gnu
	ln -s "$WDRUN" ours/timeout
	mkfifo pipe
	# For bash as the command, without a child that a signal could reach:
	# `nap` waits a moment, and `hit` sends a signal to the first timeout,
	# once it sleeps (GNU's is not ready for a signal before that). The
	# moment is not short, since a read -t that ends while a trap runs keeps
	# bash from running that trap again. SIGALRM is the timeout: `hit ALRM`
	# is one that comes when the command is ready for it.
	cat >tools <<-'EOF'
		exec 9<>"${BASH_ENV%/*}/pipe"
		parent=$PPID
		until timeout=$parent && read -r stat <"/proc/$timeout/stat" &&
			read -r _ parent _ <<<"${stat##*) }" &&
			! [ "/proc/$parent/exe" -ef "/proc/$timeout/exe" ]; do :; done
		nap() { read -rt 0.1 -u 9; }
		hit() {
			until read -r stat <"/proc/$timeout/stat" &&
				[[ ${stat##*) } == S* ]]; do nap; done
			kill "-$1" "$timeout"
		}
		hit_when() { # WORD SIGNAL: once the stat of the command has the word
			until read -r stat <"/proc/$$/stat" && [[ $stat == *"$1"* ]]; do nap; done
			hit "$2"
		}
	EOF
	system=$(type -P timeout) || return 0
	version=$("$system" --version 2>&1)
	[[ $version == *"GNU coreutils"*" 9."* ]] || return 0
	ln -s "$system" gnu/timeout
	export HAS_GNU=gnu
}

setup() {
	common_setup
	export LC_ALL=C BASH_ENV=$BATS_FILE_TMPDIR/tools
	unset WDRUN_REGISTRY
	ours=$BATS_FILE_TMPDIR/ours/timeout
	launched=()
	told_by=()
	input=/dev/null
}

# under WHO ARG...: runs timeout ARG... of WHO, started by the words of launched.
# The last line of the output is its status; where this might be a death, status,
# in told_by, says which.
under() {
	local status=0
	PATH=$BATS_FILE_TMPDIR/$1:$PATH "$PROGRAMS/launch" --defaults \
		"${told_by[@]}" "${launched[@]}" timeout "${@:2}" >"$1.out" 2>"$1.err" <"$input" 3>&- ||
		status=$?
	((${#told_by[@]})) || echo "exit $status" >>"$1.out"
}

# shown ARG...: sets output and stderr to those of ours, and shows them.
shown() {
	take ours.out
	output=$taken
	take ours.err
	stderr=$taken
	printf '%s\n' "--- timeout $*" "$output" "$stderr"
}

ours() {
	under ours "$@"
	shown "$@"
}

# alike ARG...: GNU's printed the same as ours; where nothing was run, the same on
# stdout.
alike() {
	shown "$@"
	[ -n "${HAS_GNU-}" ] || return 0
	take gnu.out
	printf '%s\n' "--- GNU's" "$taken"
	[ "$taken" = "$output" ]
	take gnu.err
	[[ $taken == "$stderr" || $output == *[\ \|]125* ]]
}

# twin RESULT ARG...: `timeout ARG...` prints RESULT, whose "status N" is what a
# shell shows, be it an exit or a death.
twin() {
	local told_by=()
	[[ $1 != *signal* && $1 != *"exit 1"[3-9]? ]] || told_by=("$PROGRAMS/status")
	if [ -n "${HAS_GNU-}" ]; then
		under gnu "${@:2}" &
		under ours "${@:2}"
		wait "$!"
	else
		under ours "${@:2}"
	fi
	alike "${@:2}"
	[ "$output" = "${1/status/exit}" ]
}

# each_is STATUS ARG...: `timeout ARG...` exits with STATUS for each line of
# stdin, which takes the place of {}.
each_is() {
	local wanted=$1 who line lines status
	shift
	mapfile -t lines
	for who in ours ${HAS_GNU-}; do
		for line in "${lines[@]}"; do
			status=0
			PATH=$BATS_FILE_TMPDIR/$who:$PATH \
				timeout "${@/\{\}/"$line"}" 3>&- </dev/null || status=$?
			echo "$line|$status"
		done >"$who.out" 2>"$who.err"
	done
	alike "$@"
	[ "$output" = "$(printf "%s|$wanted\n" "${lines[@]}")" ]
}

# told LINE...: what it said on stderr.
told() {
	local IFS=$'\n'
	[ "$stderr" = "$*" ]
}

# run_ours ARG...: starts ours with a program that says `ready PID`, without
# waiting for the end.
run_ours() {
	start "$ours" "$@"
	await_ready
}

# sent SIGNAL STATUS: it gets the signal, and ends so.
sent() {
	kill "-$1" "$started"
	finish
	[ "$status" -eq "$2" ]
}

# --- as GNU's ----------------------------------------------------------------

# bats test_tags=slow
@test "timeout: durations and signals are what GNU's takes, 0 and what is too long for a clock mean no timeout" {
	local options=() word
	for word in 99 100.34 .5m 50. +100 ' 100' 90s 2m 3h 1d 1e2s 2.34e+5d 0x100 0x.8h 0X1p-1h \
		1E2 inf Infinity infs 1e400 0.0 0e9 0x0 -0.0 9223372036854775808d; do
		options+=(-k "$word")
	done
	for word in TERM term SIGTERM sigterm 15 HUP USR1 SIGPIPE RTMIN RTMIN+1 RTMAX-2 rtmax; do
		options+=(-s "$word")
	done
	twin "exit 0" "${options[@]}" -- 100 true
	told
	twin "exit 0" 0 timeout 9223372036854775808 timeout 18446744073709551616d timeout 1e4932 \
		timeout 0s timeout 100000000000000000000000000e-24 sleep 0.03
	told
	printf '%s\n' .02s 0.0004m .00001h 3e-7d 0x.1 0x1p-5 | each_is 124 {} sleep 1000
	told
	printf '%s\n' '' . s -1 -inf nan 1S 1ss '1 ' 1e 1e+ 0x 1,5 1_0 |
		each_is 125 -- {} true
	each_is 125 --kill-after={} 100 true <<<invalid
	printf '%s\n' '' FOO SIG 65 -1 TERM1 | each_is 125 --signal={} .1 true
	ours --signal=137 .1 true # GNU's takes the status of a death for its signal
	[ "$output" = "exit 125" ]
	# What is not 0 is not taken for 0, however small.
	for word in 1e-5000 0x1p-9999 0.$(printf '%0500d' 1); do
		ours "$word" sleep 1000
		[ "$output" = "exit 124" ]
	done
}

@test "timeout: a timeout is 124, whatever the command makes of the signal, or with --preserve-status its status" {
	twin "exit 124" .1 sh -c 'kill -STOP $$'
	told
	twin $'bye\nexit 124' --kill-after=1000 1000 bash -c 'trap "echo bye; exit 3" TERM
		hit ALRM; while :; do nap; done'
	# Without --kill-after the command is waited for.
	twin $'done\nexit 124' 1000 bash -c 'trap "" TERM; hit ALRM; nap; nap; echo done'
	twin $'done\nexit 124' -k 0 -s 0 1000 bash -c 'hit ALRM; nap; nap; echo done'

	twin "status 143" --preserve-status .02 sleep 1000
	twin "exit 3" --preserve-status 1000 bash -c 'trap "exit 3" TERM
		hit ALRM; while :; do nap; done'
	twin "signal 15" --preserve-status 100 "$PROGRAMS/die" TERM
	# As POSIX.1-2024 has the options.
	told_by=("$PROGRAMS/status")
	ours -fpv -k 5 -s INT .02 sleep 1000
	[ "$output" = "signal 2" ]
}

# bats test_tags=smoke,slow
@test "timeout: where SIGKILL was needed it dies by it, 137 for a shell; --verbose tells each signal" {
	local row
	twin "signal 9" --preserve-status -s9 .02 sleep 1000
	twin "status 137" --foreground -s0 -k .05 .02 sleep 1000
	twin "status 137" --foreground --preserve-status --signal=KILL .02 sleep 1000
	twin "signal 9" -v -k .05 1000 bash -c 'trap "" TERM; hit ALRM; sleep 1000'
	told "timeout: sending signal TERM to command 'bash'" \
		"timeout: sending signal KILL to command 'bash'"
	# As GNU's since 9.10: before that, it said EXIT.
	told_by=("$PROGRAMS/status")
	ours --verb -s0 -k .05 .02 sleep 1000
	[ "$output" = "signal 9" ]
	told "timeout: sending signal 0 to command 'sleep'" \
		"timeout: sending signal KILL to command 'sleep'"
	told_by=()
	for row in 'sigterm TERM' 'sigpipe PIPE'; do
		twin "exit 124" -v -s "${row% *}" .02 sleep 1000
		told "timeout: sending signal ${row#* } to command 'sleep'"
	done
	# GNU's says RTMIN+2.
	ours -v -s rtmin+2 .02 sleep 1000
	told "timeout: sending signal 36 to command 'sleep'"
}

# bats test_tags=slow
@test "timeout: its own failures are 125, 126 or 127, and told" {
	local options
	for options in --bogus -z -k --kill-after --foreground=1 '-vz 1 true'; do
		# shellcheck disable=SC2086
		twin "exit 125" $options
		[[ $stderr == "timeout: "* ]]
	done
	# GNU's prints only "Try ..." here.
	for options in '' 1 '-k 1' '-- 1'; do
		# shellcheck disable=SC2086
		ours $options
		[ "$output" = "exit 125" ]
		[[ $stderr == "timeout: missing operand"* ]]
		[[ $stderr != *$'\n'* ]]
	done

	twin "exit 127" 100 no_such_command
	told "timeout: failed to run command 'no_such_command': No such file or directory"
	twin "exit 127" 100 ''
	twin "exit 126" 100 .
	twin "exit 126" 100 /etc/passwd/x
	twin "exit 126" 100 /etc/passwd
	told "timeout: failed to run command '/etc/passwd': Permission denied"
}

# bats test_tags=slow
@test "timeout: options end at DURATION, arguments and input reach the command, whose own end is returned" {
	local status
	printf 'input ' >input
	input=input
	twin $'input -k|--help||a b|\nexit 0' -- 100 env -- \
		sh -c 'cat; printf "%s|" "$@"; echo' sh -k --help '' 'a b'
	twin "exit 4" --verb --sig TERM --kill 5 --pres --fore 100 sh -c 'exit 4'
	told
	for status in 124 125 126 127 137 255; do
		twin "exit $status" 100 sh -c "exit $status"
	done
	twin "signal 13" 100 "$PROGRAMS/die" PIPE
	twin "signal 9" 100 "$PROGRAMS/die" KILL
	twin "signal 11" 100 sh -c 'ulimit -c 0; kill -SEGV $$'
}

# bats test_tags=slow
@test "timeout: a signal to it reaches the command, and what this survives ends nothing: the timeout and --kill-after stand" {
	local signal
	for signal in HUP INT QUIT TERM; do
		# After bash: bash ignores SIGQUIT.
		twin "signal $(kill -l $signal)" -v 100 bash -c \
			"ulimit -c 0; hit_when '(sleep)' $signal & exec sleep 1000"
		told "timeout: sending signal $signal to command 'bash'"
	done
	twin "signal 15" 100 bash -c 'hit_when ") T " TERM & kill -STOP $$'
	# Like a daemon that reads its configuration again.
	twin "exit 4" 100 bash -c 'trap n=4 HUP; hit HUP; until ((n)); do nap; done; exit $n'
	# One that is not terminating, any number of times.
	ours 100 bash -c 'trap "n=1" USR1; for i in 1 2 3 4 5; do
		n=0; hit USR1; until ((n)); do :; done; done; exit 5'
	[ "$output" = "exit 5" ]
	# GNU timeout signals its child and then the group.
	twin "exit 124" -v 1000 bash -c 'trap "trap : INT; n=1" INT; trap "exit 3" TERM
		hit INT; until ((n)); do nap; done; hit ALRM; while :; do nap; done'
	told "timeout: sending signal INT to command 'bash'" \
		"timeout: sending signal TERM to command 'bash'"
	twin "signal 9" -v -k .1 1000 bash -c 'trap "" INT; hit INT; sleep 1000'
	told "timeout: sending signal INT to command 'bash'" \
		"timeout: sending signal KILL to command 'bash'"
	# A timeout that runs another one. Ours sends SIGALRM directly to the
	# innermost command, too.
	twin $'int\nexit 124' -s ALRM 1000 timeout -s INT 900 bash -c '
		trap "" ALRM; trap "echo int; exit" INT
		hit ALRM; while :; do nap; done'
}

# --- on purpose otherwise ----------------------------------------------------

# bats test_tags=slow
@test "timeout: what outlives a command that exits is left; a timeout, SIGKILL and with --kill-after a signal leave nothing, with that or 5 s for escapees" {
	local who steps
	for who in ours ${HAS_GNU-}; do
		under "$who" 100 "$PROGRAMS/escape" -x 3 fork
		take "$who.out"
		[ "${taken##*$'\n'}" = "exit 3" ]
		await_ready "$who.out"
		is_alive "$ready"
		kill -KILL "$ready"
	done
	[ ! -s ours.err ]

	while read -r signal status steps; do
		# shellcheck disable=SC2086
		run_ours ${steps/escape/"$PROGRAMS/escape"}
		sent "$signal" "$status"
		[ -z "$stderr" ]
		is_dead "$ready"
	done <<-'END'
		ALRM 124 -k .1 100 escape setsid stubborn
		ALRM 124 100 escape fork setsid root closed
		ALRM 124 100 escape stopped
		ALRM 124 -f 100 escape fork
		ALRM 124 100 escape setsid stubborn
		TERM 143 -k .1 100 escape setsid stubborn
	END
	# Without --kill-after it is passed on to all, and nothing more.
	run_ours 100 "$PROGRAMS/escape" setsid fork
	sent TERM 143
	[ -z "$stderr" ]
	wait_until is_dead "$ready"

	run_ours 100 "$PROGRAMS/escape" fork
	sent KILL 137
	wait_until is_dead "$ready"

	ours 100 sh -c 'sleep 1000 & kill -KILL $PPID; exec sleep 1000'
	[[ $stderr == "timeout: "* ]]
	nobody_is_left
}

# bats test_tags=slow
@test "timeout: the timeout works where the caller ignores or blocks signals, or has other children, and a signal that was ignored on entry does not reach the command" {
	launched=("$PROGRAMS/launch" --ignore TERM --ignore CHLD --block ALRM)
	twin "exit 7" 100 sh -c 'exit 7'
	twin "exit 124" .02 sleep 1000
	launched=("$PROGRAMS/launch" --ignore USR1)
	twin "exit 124" -s USR1 .02 sleep 1000
	launched=(sh -c 'sleep .1 & exec "$@"' sh)
	twin "exit 124" .2 sleep 1000

	# So POSIX.1-2024 ("ASYNCHRONOUS EVENTS" and XCU 1.4), GNU's since 9.10
	# and busybox. GNU's before that sends HUP, INT, QUIT and TERM to the
	# command, which dies of it, also under nohup.
	local signal ignored=() signals=(1 2 3 12 15)
	for signal in "${signals[@]}"; do ignored+=(--ignore "$signal"); done
	start "$PROGRAMS/launch" "${ignored[@]}" "$ours" -s ALRM 100 "$PROGRAMS/sigcount" 1
	await_ready
	for signal in "${signals[@]}"; do kill "-$signal" "$started"; done
	sent RTMIN 7
	[ "$output" = "ready $ready"$'\ngot 34' ]

	launched=("$PROGRAMS/launch" --ignore 1 --ignore 2 --ignore 15)
	ours 100 grep SigIgn /proc/self/status
	[[ $output == *0003$'\n'"exit 0" ]]
}

@test "timeout: each name that ends with timeout works, and is timeout in its messages" {
	local name status
	for name in timeout wdrun-timeout gtimeout; do
		ln -s "$WDRUN" $name
		status=0
		./$name -z 2>err || status=$?
		[ "$status" -eq 125 ]
		take err
		[[ $taken == "timeout: "*"'-z'"* ]]
		status=0
		"$PWD/$name" .02 sleep 1000 || status=$?
		[ "$status" -eq 124 ]
	done
	ln -s "$WDRUN" timeout2
	status=0
	./timeout2 -t .02 sleep 1000 || status=$?
	[ "$status" -eq 124 ]
	ours --help
	for name in '-f,' --foreground '-k,' --kill-after= '-p,' --preserve-status '-s,' \
		--signal= '-v,' --verbose --help --version 'exit 0'; do
		[[ $output == *"$name"* ]]
	done
	ours --version
	[[ $output == "timeout (wdrun) "*$'\nexit 0' ]]
	told
}
