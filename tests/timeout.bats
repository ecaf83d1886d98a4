#!/usr/bin/env bats
#
# Under the name timeout: what coreutils 9 and POSIX.1-2024 say of timeout. A
# row of `twin` runs ours, and where the system has GNU's 9, this as well: both
# have to end, print and complain alike. Deliberate differences are tested with
# ours alone.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154

load helper

setup_file() {
	local system
	system=$(type -P timeout) || return 0
	[[ $("$system" --version 2>&1) != *"GNU coreutils"*" 9."* ]] ||
		export GNU_TIMEOUT=$system
}

setup() {
	common_setup
	export LC_ALL=C
	unset WDRUN_REGISTRY
	mkdir ours
	ln -s "$WDRUN" ours/timeout
	if [ -n "${GNU_TIMEOUT-}" ]; then
		mkdir gnu
		ln -s "$GNU_TIMEOUT" gnu/timeout
	fi
	# For bash as the command, without a child that a signal could reach:
	# `nap` waits a moment, and `hit` sends a signal to timeout, once it
	# sleeps (GNU's is not ready for a signal before that). The moment is
	# not short, since a read -t that ends while a trap runs keeps bash from
	# running that trap again. SIGALRM is the timeout: `hit ALRM` is one
	# that comes when the command is ready for it.
	cat >tools <<-'EOF'
		exec 9<> <(:)
		nap() { read -rt 0.1 -u 9; }
		hit() {
			local stat
			until read -r stat <"/proc/$timeout/stat" &&
				[[ ${stat##*) } == S* ]]; do nap; done
			kill "-$1" "$timeout"
		}
		hit_when() { # STATE SIGNAL: once the command is in STATE
			until grep -q "$1" "/proc/$$/status"; do nap; done
			hit "$2"
		}
	EOF
}

# under WHO ARG...: runs timeout ARG... of WHO, started by the words of launched,
# in a directory of its own. $timeout is its PID. The last line of the output is
# what waitpid(2) says of it.
under() {
	local -
	set +T
	mkdir -p "$1.dir"
	(
		cd "$1.dir" || exit
		export PATH=$BATS_TEST_TMPDIR/$1:$PATH BASH_ENV=../tools
		exec "$PROGRAMS/launch" --defaults "$PROGRAMS/status" \
			"${launched[@]}" sh -c 'export timeout=$$; exec timeout "$@"' \
			sh "${@:2}" >"../$1.out" 2>"../$1.err" 3>&-
	)
}
launched=()

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

# alike ARG...: GNU's printed the same as ours, but for our hint in parentheses
# and for its second line of a message.
alike() {
	local -
	set +T
	shown "$@"
	[ -n "${GNU_TIMEOUT-}" ] || return 0
	cmp -s gnu.out ours.out || diff gnu.out ours.out
	cmp -s gnu.err ours.err ||
		diff <(complaints gnu.err) <(complaints ours.err)
}

complaints() {
	sed -E -e '/^Try .timeout --help/d' -e 's/^(timeout: .*) \([^()]*\)$/\1/' "$1"
}

# twin RESULT ARG...: `timeout ARG...` prints RESULT.
twin() {
	local -
	set +T
	if [ -n "${GNU_TIMEOUT-}" ]; then
		under gnu "${@:2}" &
		under ours "${@:2}"
		wait "$!"
	else
		under ours "${@:2}"
	fi
	alike "${@:2}"
	[ "$output" = "$1" ]
}

# told LINE...: what it said on stderr.
told() {
	local IFS=$'\n'
	[ "$stderr" = "$*" ]
}

# each_is STATUS ARG...: `timeout ARG...` exits with STATUS for each line of
# stdin, which takes the place of {}.
each_is() {
	local -
	set +T
	local who
	cat >lines
	for who in ours ${GNU_TIMEOUT:+gnu}; do
		PATH=$PWD/$who:$PATH bash -c 'while IFS= read -r line; do
			timeout "${@/\{\}/"$line"}" 3>&- </dev/null
			echo "$line|$?"
			done' bash "${@:2}" <lines >"$who.out" 2>"$who.err" 3>&-
	done
	alike "${@:2}"
	[ "$output" = "$(sed "s/\$/|$1/" lines)" ]
}

# --- as GNU's ----------------------------------------------------------------

# bats test_tags=smoke
@test "timeout: durations are what GNU's takes, 0 and what is too long for a clock mean no timeout" {
	printf '%s\n' 99 100.34 99.999999999 .5m 50. +100 ' 100' 90s 2m 3h 1d \
		1e2s 2.34e+5d 0x100 0x.8h 0x1P8 0X1p-1h 1E2 inf Infinity infs 1e400 0.0 0e9 0x0 \
		-0.0 999999999999999999999999999999 9223372036854775808d 0.5e1m |
		each_is 0 -- {} true
	printf '%s\n' 9223372036854775808 18446744073709551616d 1e4932 0 0s \
		100000000000000000000000000e-24 |
		each_is 0 {} sleep 0.03
	printf '%s\n' 0.02 .02s 2e-2 20e-3 0.0004m 0x.1000 0x1p-5 .00001h |
		each_is 124 {} sleep 1000
	[ -z "$stderr" ]
	printf '%s\n' '' . s -1 -inf nan never 1ms 1h30m 90min 2w 1S 42D 1ss '1 ' '1 s' 1e 1ee 1e+ \
		0x 0xs 1,5 1d0 invalid 1_0 --1 | each_is 125 -- {} true
	each_is 125 --kill-after={} 100 true <<<invalid
	# What is not 0 is not taken for 0, however small.
	local duration
	for duration in 1e-5000 1e-10 0x1p-9999 0.$(printf '%0500d' 1); do
		ours "$duration" sleep 1000
		[ "$output" = "exit 124" ]
	done
}

# bats test_tags=smoke
@test "timeout: a timeout is 124, whatever the command makes of the signal" {
	twin "exit 124" .02 sleep 1000
	twin "exit 124" --kill-after=1000 .02 sleep 1000
	twin "exit 124" .1 sh -c 'kill -STOP $$'
	told
	twin $'bye\nexit 124' 1000 bash -c 'trap "echo bye; exit 3" TERM
		hit ALRM; while :; do nap; done'
	# Without --kill-after the command is waited for.
	twin $'done\nexit 124' 1000 bash -c 'trap "" TERM; hit ALRM; nap; nap; echo done'
	twin $'done\nexit 124' -k 0 1000 bash -c 'trap "" TERM; hit ALRM; nap; nap; echo done'
	twin $'done\nexit 124' -s 0 1000 bash -c 'hit ALRM; nap; nap; echo done'
}

@test "timeout: --preserve-status gives the command's status as an exit status" {
	twin "exit 143" --preserve-status .02 sleep 1000
	twin "exit 130" --preserve-status -s INT .02 sleep 1000
	twin "exit 3" --preserve-status 1000 bash -c 'trap "exit 3" TERM
		hit ALRM; while :; do nap; done'
	twin "signal 15" --preserve-status 100 sh -c 'kill -TERM $$'
	twin "exit 4" --preserve-status 100 sh -c 'exit 4'
	# As POSIX.1-2024 has the options.
	ours -fp .02 sleep 1000
	[ "$output" = "exit 143" ]
	ours -fpv -k 5 -s INT .02 sleep 1000
	[ "$output" = "exit 130" ]
}

@test "timeout: where SIGKILL was needed it dies by it, or exits 137 in the foreground" {
	twin "signal 9" -s KILL .02 sleep 1000
	twin "signal 9" --preserve-status -s9 .02 sleep 1000
	twin "signal 9" -k .05 1000 bash -c 'trap "" TERM; hit ALRM; sleep 1000'
	twin "signal 9" -s0 -k .05 .02 sleep 1000
	twin "exit 137" --foreground -s0 -k .05 .02 sleep 1000
	twin "exit 137" --foreground --preserve-status --signal=KILL .02 sleep 1000
}

@test "timeout: signals have names, numbers, and the numbers of statuses" {
	printf '%s\n' TERM term SIGTERM sigterm 15 HUP USR1 143 SIGPIPE RTMIN RTMIN+1 \
		RTMAX-2 rtmax |
		each_is 124 --signal={} .02 sleep 1000
	printf '%s\n' '' FOO SIG 65 -1 TERM1 1x | each_is 125 --signal={} .1 true
}

@test "timeout: --verbose tells each signal that is sent, and nothing else" {
	local option signal
	for option in -v --verb; do
		twin "signal 9" $option -k .05 1000 bash -c 'trap "" TERM; hit ALRM; sleep 1000'
		told "timeout: sending signal TERM to command 'bash'" \
			"timeout: sending signal KILL to command 'bash'"
	done
	# As GNU's since 9.10: before that, it said EXIT.
	ours -v -s0 -k .05 .02 sleep 1000
	told "timeout: sending signal 0 to command 'sleep'" \
		"timeout: sending signal KILL to command 'sleep'"
	for signal in TERM RTMIN RTMIN+2 RTMAX; do
		twin "exit 124" -v -s $signal .02 sleep 1000
		told "timeout: sending signal $signal to command 'sleep'"
	done
	twin "exit 0" -v 100 true
	told
}

@test "timeout: its own failures are 125, and told as GNU's tells them" {
	local options
	for options in --bogus -z -k --kill-after --foreground=1 --signal '-k x 1 true' \
		'-vz 1 true'; do
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
		[ "$(wc -l <ours.err)" -eq 1 ]
	done
	ours --idle-timeout=1 1 true
	[ "$output" = "exit 125" ]
}

@test "timeout: 126 is a command that cannot be executed, 127 one not found" {
	twin "exit 127" 100 no_such_command
	told "timeout: failed to run command 'no_such_command': No such file or directory"
	twin "exit 127" 100 10 sleep 20
	twin "exit 127" 100 ./no/such
	twin "exit 127" 100 ''
	twin "exit 126" 100 .
	twin "exit 126" 100 /etc/passwd
	told "timeout: failed to run command '/etc/passwd': Permission denied"
	twin "exit 126" 100 /etc/passwd/x
}

@test "timeout: the command's own end is returned: status, signal, core" {
	local signal
	for signal in 0 1 2 124 125 126 127 137 255; do
		each_is "$signal" 100 sh -c 'exit {}' <<<"$signal"
	done
	for signal in 1 9 13; do
		twin "signal $signal" 100 sh -c "kill -$signal \$\$"
	done
	twin "signal 11" 100 sh -c 'ulimit -c unlimited; kill -SEGV $$'
}

@test "timeout: options end at DURATION, arguments and input reach the command" {
	twin '-k|--help||a b|exit 0' -- 100 printf '%s|' -k --help '' 'a b'
	twin $'1\nexit 0' 100 env -- sh -c 'cat; echo "$#"' -v x
	twin "exit 0" --sig TERM --kill 5 --pres --fore 100 true
}

# bats test_tags=smoke
@test "timeout: a signal to it reaches the command, whose end is then its own" {
	local signal
	for signal in HUP INT QUIT TERM; do
		# After bash: bash ignores SIGQUIT.
		twin "signal $(kill -l $signal)" -v 100 bash -c \
			"ulimit -c 0; hit_when Name.*sleep $signal & exec sleep 1000"
		told "timeout: sending signal $signal to command 'bash'"
	done
	twin $'got\nexit 5' 100 bash -c 'trap "echo got; exit 5" TERM; hit TERM
		while :; do nap; done'
	twin "signal 15" 100 bash -c 'hit_when State.*stopped TERM & kill -STOP $$'
	# One that is not terminating, and the same one any number of times.
	ours 100 bash -c 'trap "echo usr1; exit 4" USR1; hit USR1
		while :; do nap; done'
	[ "$output" = $'usr1\nexit 4' ]
	ours 100 bash -c 'trap "n=1" TERM; for i in 1 2 3 4 5; do
		n=0; hit TERM; until ((n)); do :; done; done; exit 4'
	[ "$output" = "exit 4" ]
}

@test "timeout: a signal that the command survives does not end it, the timeout and --kill-after stand" {
	# Like a daemon that reads its configuration again.
	twin "exit 4" 100 bash -c 'trap n=4 HUP; hit HUP; until ((n)); do nap; done; exit $n'
	# GNU timeout signals its child and then the group.
	twin "exit 124" -v 1000 bash -c 'trap "trap : INT; n=1" INT; trap "exit 3" TERM
		hit INT; until ((n)); do nap; done; hit ALRM; while :; do nap; done'
	told "timeout: sending signal INT to command 'bash'" \
		"timeout: sending signal TERM to command 'bash'"
	twin "signal 9" -v -k .1 1000 bash -c 'trap "" INT; hit INT; sleep 1000'
	told "timeout: sending signal INT to command 'bash'" \
		"timeout: sending signal KILL to command 'bash'"
	# With a trap: bash(1) forgets a SIGINT that comes between fork and exec.
	twin "exit 124" -s INT 0 bash -c 'trap "exit 3" INT; hit ALRM; until false; do nap; done'
}

@test "timeout: the timeout works where the caller ignores or blocks its signals, and with other children" {
	launched=("$PROGRAMS/launch" --ignore TERM --ignore CHLD --block ALRM)
	twin "exit 7" 100 sh -c 'exit 7'
	twin "exit 124" .02 sleep 1000
	launched=("$PROGRAMS/launch" --ignore USR1)
	twin "exit 124" -s USR1 .02 sleep 1000
	launched=(sh -c 'sleep .1 & exec "$@"' sh)
	twin "exit 124" .2 sh -c 'sleep 1000; echo foo'
}

@test "timeout: a timeout that runs another one forwards its signal" {
	# Ours sends SIGALRM directly to the innermost command, too.
	twin $'int\nexit 124' -s ALRM 1000 timeout -s INT 900 bash -c '
		trap "" ALRM; trap "echo int; exit" INT
		hit ALRM; while :; do nap; done'
	twin "exit 124" 1000 timeout 900 bash -c 'hit ALRM; exec sleep 800'
}

@test "timeout: survivors of a command that exits by itself are left" {
	local who
	for who in ours ${GNU_TIMEOUT:+gnu}; do
		under "$who" 100 "$PROGRAMS/escape" -x 3 fork
		[ "$(tail -n 1 "$who.out")" = "exit 3" ]
		await_ready "$who.out"
		is_alive "$ready"
		kill -KILL "$ready"
	done
	[ ! -s ours.err ]
}

# --- on purpose otherwise ----------------------------------------------------

@test "timeout: nothing survives a timeout, an escapee gets --kill-after, or 5 s without it" {
	local steps
	ln -s ours 5s
	under 5s -v 1000 bash -c '"$@"; hit ALRM; exec sleep 1000' bash \
		"$PROGRAMS/escape" -x 0 setsid stubborn 3>&- &
	local without=$!
	for steps in fork setsid 'setsid fork root closed' 'setsid stubborn' stopped; do
		# shellcheck disable=SC2086
		ours -k .1 1000 bash -c '"$@"; hit ALRM; exec sleep 1000' sh \
			"$PROGRAMS/escape" -x 0 $steps
		[ "$(tail -n 1 ours.out)" = "exit 124" ]
		told
		await_ready ours.out
		is_dead "$ready"
	done
	ours -f .1 sh -c 'sleep 1000 & sleep 1000'
	[ "$output" = "exit 124" ]

	wait_until is_dead "$without"
	[ "$(tail -n 1 5s.out)" = "exit 124" ]
	[ "$(wc -l <5s.err)" -eq 2 ]
	nobody_is_left
}

@test "timeout: a signal to it also ends the survivors, once the command has ended" {
	local options
	for options in '' '-k .1'; do
		# shellcheck disable=SC2086
		ours $options 100 bash -c '"$@"; hit TERM; sleep 1000; :' \
			sh "$PROGRAMS/escape" -x 0 setsid fork
		[ "$(tail -n 1 ours.out)" = "signal 15" ]
		told
		nobody_is_left
	done
}

@test "timeout: SIGKILL to it leaves nothing, and that of the supervisor is told" {
	ours 100 bash -c 'sleep 1000 & hit KILL; sleep 1000; :'
	[ "$output" = "signal 9" ]
	wait_until nobody_is_left

	ours 100 sh -c 'sleep 1000 & kill -KILL $PPID; exec sleep 1000'
	[[ $stderr == "timeout: "* ]]
	[ "$(wc -l <ours.err)" -eq 1 ]
	nobody_is_left
}

@test "timeout: a signal that was ignored on entry does not reach the command, all others do" {
	# So POSIX.1-2024 ("ASYNCHRONOUS EVENTS" and XCU 1.4), GNU's since 9.10
	# and busybox. GNU's before that sends HUP, INT, QUIT and TERM to the
	# command, which dies of it, also under nohup.
	local signal
	for signal in HUP INT QUIT TERM USR2; do
		launched=("$PROGRAMS/launch" --ignore "$signal")
		ours -s ALRM 100 bash -c "trap 'echo usr1; exit 4' USR1
			hit $signal; hit USR1; while :; do nap; done"
		[ "$output" = $'usr1\nexit 4' ]
		told
	done
	launched=("$PROGRAMS/launch" --ignore 1 --ignore 2 --ignore 15)
	ours 100 grep SigIgn /proc/self/status
	[[ $output == *0003$'\n'"exit 0" ]]

	PATH=$PWD/ours:$PATH complete bash -c '
		timeout 100 "$PROGRAMS/sigcount" 1 >got & timeout=$!
		until grep -q ready got; do read -rt 0.05 <> <(:); done
		kill -INT "$timeout"; kill -QUIT "$timeout"; kill -USR1 "$timeout"
		wait "$timeout"'
	grep -qx 'got 10' got
	run ! grep -qxE 'got (2|3)' got
}

@test "timeout: each name that ends with timeout works, and is timeout in its messages" {
	local name
	for name in timeout wdrun-timeout gtimeout; do
		ln -sf "$WDRUN" $name
		complete ./$name -z
		[ "$status" -eq 125 ]
		[[ $stderr == "timeout: "*"'z'"* ]]
		complete "$PWD/$name" .02 sleep 1000
		[ "$status" -eq 124 ]
	done
	for name in wdrun timeout2; do
		ln -sf "$WDRUN" $name
		complete ./$name -t .02 sleep 1000
		[ "$status" -eq 124 ]
	done
	ours --help
	for name in '-f,' --foreground '-k,' --kill-after= '-p,' --preserve-status '-s,' \
		--signal= '-v,' --verbose --help --version 'exit 0'; do
		[[ $output == *"$name"* ]]
	done
	ours --version
	[[ $output == "timeout (wdrun) "*$'\nexit 0' ]]
	told
}

@test "make install makes the link timeout where asked to, and replaces nothing" {
	need make
	# What make install needs, around the wdrun that is tested.
	mkdir tree
	ln -s "$root"/{Makefile,man,completions} "$WDRUN" tree
	install_to() {
		run make -C tree -o wdrun DESTDIR="$PWD/to" PREFIX=/usr "$@"
		echo "$output"
		[ "$status" -eq 0 ]
	}
	local bin=$PWD/to/usr/bin

	install_to install
	[ "$(ls "$bin")" = wdrun ]

	echo precious >"$bin/timeout"
	no install_to install TIMEOUT_LINK=timeout
	[ "$(<"$bin/timeout")" = precious ]
	install_to uninstall
	[ "$(ls "$bin")" = timeout ]
	rm "$bin/timeout"

	no install_to install TIMEOUT_LINK=nothing
	install_to install TIMEOUT_LINK=timeout
	install_to install TIMEOUT_LINK=timeout
	install_to install TIMEOUT_LINK=wdrun-timeout
	complete "$bin/timeout" .02 sleep 1000
	[ "$status" -eq 124 ]
	install_to uninstall
	[ -z "$(ls "$bin")" ]
}
