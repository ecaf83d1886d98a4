#!/usr/bin/env bats
#
# Under the name timeout: what coreutils 9 and POSIX.1-2024 say of timeout.
# `twin` runs the system's timeout and ours, and both have to end, print and
# complain alike. Deliberate differences are tested with ours alone.
#
# Starts first: its tests take long, one after the other.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

setup() {
	common_setup
	export LC_ALL=C
	unset WDRUN_REGISTRY
	mkdir ours gnu
	ln -s "$WDRUN" ours/timeout
	ln -s /usr/bin/timeout gnu/timeout
	# For bash as the command, without a child that a signal could reach:
	# `nap` waits a moment, and `hit` sends a signal to timeout, once it
	# sleeps (GNU's is not ready for a signal before that). The moment is
	# not short, since a read -t that ends while a trap runs keeps bash from
	# running that trap again.
	cat >tools <<-'EOF_'
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
	EOF_
}

# complaints FILE: prints the messages in FILE, without our hint in parentheses,
# and without GNU's second line for the same.
complaints() {
	[ ! -s "$1" ] ||
		sed -E -e '/^Try .timeout --help/d' -e 's/^(timeout: .*) \([^()]*\)$/\1/' "$1"
}

is_gnu() {
	[[ $(/usr/bin/timeout --version) == *"GNU coreutils"*" 9."* ]] ||
		skip "the system's timeout is not that of coreutils 9"
}

# take_ours ARG...: sets output and stderr to those of ours, and shows them.
take_ours() {
	output=$(<ours.out) stderr=$(<ours.err)
	printf '%s\n' "timeout $*" "$output" "$stderr"
}

alike() {
	take_ours "$@"
	[ "$(<gnu.out)" = "$output" ] || diff gnu.out ours.out
	[ "$(<gnu.err)" = "$stderr" ] ||
		diff <(complaints gnu.err) <(complaints ours.err)
}

# under WHO LAUNCHER... -- ARG...: runs timeout ARG... of WHO, started by
# LAUNCHER, in a directory of its own. $timeout is its PID. The last line of the
# output is what waitpid(2) says of it.
under() {
	local -
	set +T
	local who=$1 launcher=()
	shift
	while [ "$1" != -- ]; do
		launcher+=("$1")
		shift
	done
	mkdir -p "$who.dir"
	(
		cd "$who.dir" || exit
		export PATH=$BATS_TEST_TMPDIR/$who:$PATH BASH_ENV=../tools
		exec "$PROGRAMS/launch" --defaults "$PROGRAMS/status" \
			"${launcher[@]}" sh -c 'export timeout=$$; shift; exec timeout "$@"' \
			sh "$@" >"../$who.out" 2>"../$who.err" 3>&-
	)
}

# twin_by LAUNCHER... -- ARG...: runs both, started by LAUNCHER.
twin_by() {
	run_both "$@"
	alike "$@"
}

run_both() {
	local -
	set +T
	under gnu "$@" &
	under ours "$@"
	wait "$!"
}

# twin_late ARG...: as twin, where LIMIT in ARGs is a time that has to pass
# after the command said `ready`: it gets longer until both commands did.
twin_late() {
	local -
	set +T
	local limit
	is_gnu
	for limit in 0.2 2 20; do
		run_both -- "${@//LIMIT/$limit}"
		[[ $(<gnu.out) != ready* || $(<ours.out) != ready* ]] || break
	done
	alike "${@//LIMIT/$limit}"
}

# ours_late ARG...: the same for ours.
ours_late() {
	local limit
	for limit in 0.2 2 20; do
		ours "${@//LIMIT/$limit}"
		[[ $output != ready* ]] || break
	done
}

twin() {
	is_gnu
	twin_by -- "$@"
}

ours() {
	under ours -- "$@"
	take_ours "$@"
}

# twin_each ARG...: runs `timeout ARG...` at once for each line of stdin, which
# takes the place of {}. Each line of the output has that line and the status.
twin_each() {
	local -
	set +T
	local who pids=()
	is_gnu
	cat >lines
	for who in gnu ours; do
		PATH=$PWD/$who:$PATH bash -c 'while IFS= read -r line; do
			timeout "${@/\{\}/"$line"}" 3>&- </dev/null
			echo "$line|$?"
			done' bash "$@" <lines >$who.out 2>$who.err 3>&- &
		pids+=("$!")
	done
	wait "${pids[@]}" # not for bats's own background process
	alike "$@"
}

# all_are STATUS: each line of ours ends with STATUS.
all_are() {
	[ -s ours.out ]
	run ! grep -v "|$1\$" ours.out
}

# --- as GNU's ----------------------------------------------------------------

@test "timeout: the durations are those of GNU's, and the same ones mean no timeout" {
	printf '%s\n' 99 100.34 99.999999999 .5m 50. +100 ' 100' 90s 2m 3h 1d \
		1e2s 2.34e+5d 0x100 0x.8h 0x1P8 0X1p-1h 1E2 inf Infinity infs 1e400 0 0.0 0e9 0x0 \
		-0.0 999999999999999999999999999999 9223372036854775808d 0.5e1m |
		twin_each -- {} true
	all_are 0

	printf '%s\n' '' . s -1 -inf nan never 1ms 1h30m 90min 2w 1S 42D 1ss '1 ' '1 s' 1e 1ee 1e+ \
		0x 0xs 1,5 1d0 invalid 1_0 --1 | twin_each -- {} true
	all_are 125
	twin_each --kill-after={} 100 true <<<invalid
	all_are 125
}

@test "timeout: a huge duration does not time out at once, 0 never does" {
	printf '%s\n' 9223372036854775808 18446744073709551616d 1e4932 0 0s \
		100000000000000000000000000e-24 |
		twin_each {} sleep 0.05
	all_are 0
}

@test "timeout: a duration counts, be it fractional, with an exponent or in hex" {
	printf '%s\n' 0.05 .05s 5e-2 50e-3 0.001m 0x.1 0x1p-4 .00001h |
		twin_each {} sleep 1000
	all_are 124
	[ -z "$stderr" ]
	twin 0x.1000 sleep 0.5
	[ "$output" = "exit 124" ]
}

@test "timeout: a timeout is 124, whatever the command makes of the signal" {
	twin .1 sleep 1000
	[ "$output" = "exit 124" ]
	twin_late LIMIT bash -c 'trap "echo bye; exit 3" TERM
		echo ready; while :; do nap; done'
	[ "$output" = $'ready\nbye\nexit 124' ]
	twin_late LIMIT bash -c 'trap "" TERM; echo ready; sleep LIMIT; sleep 1; echo done'
	[ "$output" = $'ready\ndone\nexit 124' ]
	twin 0.1 sh -c 'kill -STOP $$'
	[ "$output" = "exit 124" ]
	[ -z "$stderr" ]
}

@test "timeout: --preserve-status gives the command's status as an exit status" {
	twin --preserve-status .1 sleep 1000
	[ "$output" = "exit 143" ]
	twin --preserve-status -s INT .1 sleep 1000
	[ "$output" = "exit 130" ]
	twin_late --preserve-status LIMIT bash -c 'trap "exit 3" TERM
		echo ready; while :; do nap; done'
	[ "$output" = $'ready\nexit 3' ]
	twin --preserve-status 100 sh -c 'kill -TERM $$'
	[ "$output" = "signal 15" ]
	twin --preserve-status 100 sh -c 'exit 4'
	[ "$output" = "exit 4" ]
}

@test "timeout: where SIGKILL was needed it dies by it, or exits 137 in the foreground" {
	twin -s KILL .1 sleep 1000
	[ "$output" = "signal 9" ]
	twin --preserve-status -s9 .1 sleep 1000
	[ "$output" = "signal 9" ]
	twin_late -k .1 LIMIT bash -c 'trap "" TERM; echo ready; sleep 1000'
	[ "$output" = $'ready\nsignal 9' ]
	twin -s0 -k .1 .1 sleep 1000
	[ "$output" = "signal 9" ]
	twin --foreground -s0 -k .1 .1 sleep 1000
	[ "$output" = "exit 137" ]
	twin --foreground --preserve-status --signal=KILL .1 sleep 1000
	[ "$output" = "exit 137" ]
}

@test "timeout: without --kill-after, and with one of 0, the command is waited for" {
	twin_late -k 0 LIMIT bash -c 'trap "" TERM; echo ready; sleep LIMIT; sleep 1; echo done'
	[ "$output" = $'ready\ndone\nexit 124' ]
	twin_late -s 0 LIMIT sh -c 'echo ready; sleep LIMIT; sleep 1; echo done'
	[ "$output" = $'ready\ndone\nexit 124' ]
	twin --kill-after=1000 .1 sleep 1000
	[ "$output" = "exit 124" ]
}

@test "timeout: signals have names, numbers, and the numbers of statuses" {
	printf '%s\n' TERM term SIGTERM sigterm 15 HUP USR1 143 SIGPIPE RTMIN RTMIN+1 \
		RTMAX-2 rtmax |
		twin_each --signal={} .03 sleep 1000
	all_are 124
	printf '%s\n' '' FOO SIG 65 -1 TERM1 1x | twin_each --signal={} .1 true
	all_are 125
	grep -q "^timeout: 'FOO': invalid signal (" ours.err
}

@test "timeout: --verbose tells each signal that is sent, and nothing else" {
	local option signal
	for option in -v --verbose --verb; do
		twin_late $option -k .1 LIMIT bash -c 'trap "" TERM; echo ready; sleep 1000'
		[ "$stderr" = "timeout: sending signal TERM to command 'bash'
timeout: sending signal KILL to command 'bash'" ]
	done
	# As GNU's since 9.10: before that, it said EXIT.
	ours -v -s0 -k .1 .1 sleep 1000
	[ "$stderr" = "timeout: sending signal 0 to command 'sleep'
timeout: sending signal KILL to command 'sleep'" ]
	twin -v .1 sleep 1000
	[ "$stderr" = "timeout: sending signal TERM to command 'sleep'" ]
	for signal in RTMIN RTMIN+2 49 50 RTMAX-2 RTMAX; do
		twin -v -s $signal .1 sleep 1000
	done
	[ "$stderr" = "timeout: sending signal RTMAX to command 'sleep'" ]
	twin -v 100 true
	[ -z "$stderr" ]
}

@test "timeout: its own failures are 125, and told as GNU's tells them" {
	local options
	for options in --bogus -z -k --kill-after --foreground=1 --signal '-k x 1 true' \
		'-vz 1 true'; do
		# shellcheck disable=SC2086
		twin $options
		[ "$output" = "exit 125" ]
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
}

@test "timeout: 126 is a command that cannot be executed, 127 one not found" {
	twin 100 no_such_command
	[ "$output" = "exit 127" ]
	[ "$stderr" = "timeout: failed to run command 'no_such_command': No such file or directory" ]
	twin 100 ./no/such
	twin 100 ''
	[ "$output" = "exit 127" ]
	twin 100 .
	twin 100 /
	[ "$output" = "exit 126" ]
	twin 100 /etc/passwd
	[ "$stderr" = "timeout: failed to run command '/etc/passwd': Permission denied" ]
	twin 100 /etc/passwd/x
	[ "$output" = "exit 126" ]
}

@test "timeout: the command's own end is returned: status, signal, core" {
	local signal
	printf '%s\n' 0 1 2 124 125 126 127 137 255 | twin_each 100 sh -c 'exit {}'
	grep -q '^124|124$' ours.out
	for signal in 1 2 9 13 15; do
		twin 100 sh -c "kill -$signal \$\$"
		[ "$output" = "signal $signal" ]
	done
	twin 100 sh -c 'ulimit -c unlimited; kill -SEGV $$'
	[ "$output" = "signal 11" ]
}

@test "timeout: options end at DURATION, arguments and input reach the command" {
	twin -- 100 printf '%s|' -k --help '' 'a b'
	[ "$output" = '-k|--help||a b|exit 0' ]
	twin 100 env -- sh -c 'cat; echo "$#"' -v x
	twin --sig TERM --kill 5 --pres --fore 100 true
	[ "$output" = "exit 0" ]
}

@test "timeout: a signal to it reaches the command, whose end is then its own" {
	local signal
	for signal in HUP INT QUIT TERM; do
		# After bash: bash ignores SIGQUIT.
		twin -v 100 bash -c "ulimit -c 0; hit_when Name.*sleep $signal & exec sleep 1000"
		[ "$output" = "signal $(kill -l $signal)" ]
		[ "$stderr" = "timeout: sending signal $signal to command 'bash'" ]
	done
	twin 100 bash -c 'trap "echo got; exit 5" TERM; hit TERM
		while :; do nap; done'
	[ "$output" = $'got\nexit 5' ]
	twin 100 bash -c 'hit_when State.*stopped TERM & kill -STOP $$'
	[ "$output" = "signal 15" ]
}

@test "timeout: a signal that the command survives does not end it, and the timeout stands" {
	# Like a daemon that reads its configuration again.
	twin 100 bash -c 'trap n=4 HUP; hit HUP; until ((n)); do nap; done; exit $n'
	[ "$output" = "exit 4" ]
	# GNU timeout signals its child and then the group.
	twin_late -v LIMIT bash -c 'trap "trap : INT; ((n)) || echo ready" INT
		trap n=4 TERM; hit INT
		until ((n)); do nap; done; exit $n'
	[ "$output" = $'ready\nexit 124' ]
	[ "$stderr" = "timeout: sending signal INT to command 'bash'
timeout: sending signal TERM to command 'bash'" ]
}

@test "timeout: a signal to it starts --kill-after" {
	twin -v -k .2 1000 bash -c 'trap "" INT; hit INT; sleep 1000'
	[ "$output" = "signal 9" ]
	[ "$stderr" = "timeout: sending signal INT to command 'bash'
timeout: sending signal KILL to command 'bash'" ]
}

@test "timeout: SIGALRM is the timeout" {
	twin -v 1000 bash -c 'hit ALRM; while :; do nap; done'
	[ "$output" = "exit 124" ]
	[ "$stderr" = "timeout: sending signal TERM to command 'bash'" ]
	# With a trap: bash(1) forgets a SIGINT that comes between fork and exec.
	twin -s INT 0 bash -c 'trap "exit 3" INT; hit ALRM; until false; do nap; done'
	[ "$output" = "exit 124" ]
}

@test "timeout: the signal of the timeout works where the caller ignores or blocks" {
	is_gnu
	twin_by "$PROGRAMS/launch" --ignore 15 -- .1 sleep 1000
	[ "$output" = "exit 124" ]
	twin_by "$PROGRAMS/launch" --ignore 10 -- -s USR1 .1 sleep 1000
	[ "$output" = "exit 124" ]
	twin_by "$PROGRAMS/launch" --block 14 -- .1 sleep 1000
	[ "$output" = "exit 124" ]
	twin_by "$PROGRAMS/launch" --ignore 17 -- 100 sh -c 'exit 7'
	[ "$output" = "exit 7" ]
	twin_by "$PROGRAMS/launch" --ignore 17 -- .1 sleep 1000
	[ "$output" = "exit 124" ]
}

@test "timeout: children that existed before are not confused with the command" {
	is_gnu
	twin_by sh -c 'sleep .1 & exec "$@"' sh -- .3 sh -c 'sleep 1000; echo foo'
	[ "$output" = "exit 124" ]
}

@test "timeout: a timeout that runs another one forwards its signal" {
	# Ours sends SIGALRM directly to the innermost command, too.
	twin -s ALRM 1000 timeout -s INT 900 python3 -c '
import os, signal, sys, time
def end(*_):
	print("int")
	sys.exit()
signal.signal(signal.SIGALRM, signal.SIG_IGN)
signal.signal(signal.SIGINT, end)
outer = int(os.environ["timeout"])
while open(f"/proc/{outer}/stat").read().rsplit(")")[-1][1] != "S":
	time.sleep(0.01)
os.kill(outer, signal.SIGALRM)
while True:
	time.sleep(0.1)'
	[ "$output" = $'int\nexit 124' ]
	twin .2 timeout 900 sleep 800
	[ "$output" = "exit 124" ]
}

@test "timeout: survivors of a command that exits by itself are left" {
	local who
	is_gnu
	for who in gnu ours; do
		under $who -- 100 "$PROGRAMS/escape" -x 3 fork
		[ "$(tail -n 1 $who.out)" = "exit 3" ]
		await_ready $who.out
		is_alive "$ready"
		kill -KILL "$ready"
	done
	[ ! -s ours.err ]
}

# --- on purpose otherwise ----------------------------------------------------

@test "timeout: nothing survives a timeout, escapees of any kind included" {
	local steps
	for steps in fork setsid 'setsid fork root closed' 'setsid stubborn' stopped; do
		# shellcheck disable=SC2086
		ours_late -k .2 LIMIT sh -c '"$@"; exec sleep 1000' sh \
			"$PROGRAMS/escape" -x 0 $steps
		[ "$(tail -n 1 ours.out)" = "exit 124" ]
		[ -z "$stderr" ]
		nobody_is_left
	done
}

@test "timeout: survivors of a stopped command get 5 s without --kill-after" {
	ours_late -v LIMIT sh -c '"$@"; exec sleep 1000' sh \
		"$PROGRAMS/escape" -x 0 setsid stubborn

	[ "$(tail -n 1 ours.out)" = "exit 124" ]
	[ "$stderr" = "timeout: sending signal TERM to command 'sh'
timeout: sending signal KILL to what is left of command 'sh'" ]
	nobody_is_left
}

@test "timeout: a signal to it also ends the survivors, once the command has ended" {
	local options
	for options in '' '-k .1'; do
		# shellcheck disable=SC2086
		ours $options 100 bash -c '"$@"; hit TERM; sleep 1000; :' \
			sh "$PROGRAMS/escape" -x 0 setsid fork
		[ "$(tail -n 1 ours.out)" = "signal 15" ]
		nobody_is_left
	done
	[ -z "$stderr" ]
}

@test "timeout: a signal to it reaches a survivor of the command once" {
	ours -v 100 bash -c 'bash -c "trap \"echo got; n=1\" TERM; >trapped
			until ((n)); do nap; done; nap; nap" &
		until [ -e trapped ]; do nap; done; hit TERM; while :; do nap; done'
	[ "$output" = $'got\nsignal 15' ]
	[ "$stderr" = "timeout: sending signal TERM to command 'bash'" ]
}

@test "timeout: --foreground stops all that the command has started, too" {
	ours -f .2 sh -c 'sleep 1000 & sleep 1000'
	[ "$output" = "exit 124" ]
	nobody_is_left
}

@test "timeout: the short options of POSIX.1-2024 are there" {
	ours -fp .1 sleep 1000
	[ "$output" = "exit 143" ]
	ours -fpv -k 5 -s INT .1 sleep 1000
	[ "$output" = "exit 130" ]
}

@test "timeout: a duration that is not 0 is not taken for 0, however small" {
	local duration
	for duration in 1e-5000 1e-10 0x1p-9999 0.$(printf '%0500d' 1); do
		ours "$duration" sleep 1000
		[ "$output" = "exit 124" ]
	done
}

@test "timeout: all signals but that of the timeout stay as they were" {
	under ours "$PROGRAMS/launch" --ignore 1 --ignore 2 --ignore 15 -- \
		100 grep SigIgn /proc/self/status
	[[ $(cat ours.out) == *0003$'\n'"exit 0" ]]
}

@test "timeout: a terminating signal that was ignored on entry does not reach the command" {
	# What becomes of it, where timeout gets it but not as the signal of -s:
	#
	#	POSIX.1-2024	nothing: "ASYNCHRONOUS EVENTS" and XCU 1.4; the
	#			command inherits that it is ignored
	#	GNU >= 9.10	nothing; the command inherits that
	#	GNU < 9.10	HUP, INT, QUIT, TERM: it is sent to the command,
	#			which dies of it, also under nohup; all others as
	#			above
	#	busybox		nothing: timeout becomes the command by exec
	#
	# nohup ignores HUP; a shell ignores INT and QUIT in background jobs.
	local signal
	for signal in HUP INT QUIT TERM USR2; do
		under ours "$PROGRAMS/launch" --ignore "$signal" -- -s ALRM 100 bash -c \
			"trap 'echo usr1; exit 4' USR1; hit $signal; hit USR1
			while :; do nap; done"
		[ "$(<ours.out)" = $'usr1\nexit 4' ]
		[ ! -s ours.err ]
	done

	PATH=$PWD/ours:$PATH complete bash -c '
		timeout 100 "$PROGRAMS/sigcount" 1 >got & timeout=$!
		until grep -q ready got; do read -rt 0.05 <> <(:); done
		kill -INT "$timeout"; kill -QUIT "$timeout"; kill -USR1 "$timeout"
		wait "$timeout"'
	grep -qx 'got 10' got
	run ! grep -qxE 'got (2|3)' got
}

@test "timeout: a signal that is not terminating is forwarded and does not end it" {
	ours 100 bash -c 'trap "echo usr1; exit 4" USR1; hit USR1
		while :; do nap; done'
	[ "$output" = $'usr1\nexit 4' ]
}

@test "timeout: each signal is forwarded, the same signal any number of times" {
	ours 100 bash -c 'trap "n=1" TERM; for i in 1 2 3 4 5; do
		n=0; hit TERM; until ((n)); do :; done; done; exit 4'
	[ "$output" = "exit 4" ]
}

@test "timeout: SIGKILL to it leaves nothing, and that of the supervisor is reported" {
	ours 100 bash -c 'sleep 1000 & hit KILL; sleep 1000; :'
	[ "$output" = "signal 9" ]
	wait_until nobody_is_left

	ours 100 sh -c 'sleep 1000 & kill -KILL $PPID; exec sleep 1000'
	[[ $stderr == "timeout: the supervisor (PID "*") was killed"* ]]
	[ "$(wc -l <ours.err)" -eq 1 ]
	nobody_is_left
}

@test "timeout: each name that ends with timeout works, without the options of wdrun" {
	local name
	for name in timeout wdrun-timeout gtimeout; do
		ln -sf "$WDRUN" $name
		complete ./$name -z
		[ "$status" -eq 125 ]
		[ "$stderr" = "timeout: invalid option -- 'z' (see timeout --help)" ]
		complete "$PWD/$name" .1 sleep 1000
		[ "$status" -eq 124 ]
	done
	for name in wdrun timeout2; do
		ln -sf "$WDRUN" $name
		complete ./$name -t .1 sleep 1000
		[ "$status" -eq 124 ]
	done
	ours --idle-timeout=1 1 true
	[ "$output" = "exit 125" ]
}

@test "timeout: --help names each option, --version wdrun" {
	local option
	ours --help
	for option in '-f,' --foreground '-k,' --kill-after= '-p,' --preserve-status '-s,' \
		--signal= '-v,' --verbose --help --version 'exit 0'; do
		[[ $output == *"$option"* ]]
	done
	ours --version
	[[ $output == "timeout (wdrun) "*$'\nexit 0' ]]
	[ -z "$stderr" ]
}

@test "make install makes the link timeout where asked to, and replaces nothing" {
	install_to() {
		run make -C "$root" -o wdrun DESTDIR="$PWD/to" PREFIX=/usr "$@"
	}
	[ -e "$root/wdrun" ] || ln -s "$WDRUN" "$root/wdrun"
	local bin=$PWD/to/usr/bin

	install_to install
	[ "$status" -eq 0 ]
	[ "$(ls "$bin")" = wdrun ]

	echo precious >"$bin/timeout"
	install_to install TIMEOUT_LINK=timeout
	[ "$status" -ne 0 ]
	[ "$(cat "$bin/timeout")" = precious ]
	install_to uninstall
	[ "$(ls "$bin")" = timeout ]
	rm "$bin/timeout"

	install_to install TIMEOUT_LINK=nothing
	[ "$status" -ne 0 ]
	install_to install TIMEOUT_LINK=timeout
	install_to install TIMEOUT_LINK=timeout
	[ "$status" -eq 0 ]
	install_to install TIMEOUT_LINK=wdrun-timeout
	complete "$bin/timeout" .1 sleep 1000
	[ "$status" -eq 124 ]
	install_to uninstall
	[ -z "$(ls "$bin")" ]
}
