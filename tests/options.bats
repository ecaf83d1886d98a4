#!/usr/bin/env bats
#
# The command line: what is accepted, and that a mistake is told in one line
# before anything is run, created or locked.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

setup() {
	common_setup
	export HOME=$PWD XDG_STATE_HOME=$PWD/state
	unset WDRUN_REGISTRY
	: >out
	: >err
}

# run_now ARG...: runs wdrun ARG... in the foreground. Sets status, output and
# stderr, which are in the files out and err.
run_now() {
	local -
	set +T
	status=0
	"$WDRUN" "$@" >out 2>err </dev/null 3>&- || status=$?
	take out
	output=$taken
	take err
	stderr=$taken
	echo "--- $status: wdrun ${*@Q}: $stderr"
}

# refused WORD... -- ARG...: wdrun ARG... gives 125, and one line that has each
# WORD; nothing is printed, run or made.
refused() {
	local -
	set +T
	local words=() before
	while [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	before=(./.* ./*)
	run_now "${@:2}"

	[ "$status" -eq 125 ]
	[ -z "$output" ]
	[[ $stderr != *$'\n'* ]]
	has_message "${words[@]}"
	is_same_directory ./.* ./*
}

# No name has come to those in before.
is_same_directory() {
	[ "$*" = "${before[*]}" ]
}

# each_refused: the same for each line of stdin: `WORD... | ARG...`, which are
# words of the shell. The command is `touch ran`.
each_refused() {
	local -
	set +T
	local row row_words row_arguments
	while IFS= read -ru 9 row; do
		eval "row_words=(${row%%' |'*}) row_arguments=(${row#*'| '})"
		refused "${row_words[@]}" -- "${row_arguments[@]}" touch ran
	done 9<&0
}

# accepted ARG...: with these options `echo ran` is run, and nothing is told.
accepted() {
	run_now "$@" echo ran
	[ "$status" -eq 0 ]
	[ "$output" = ran ]
	[ ! -s err ]
}

# bats test_tags=smoke
@test "a bad duration is refused by each option that takes one, and named" {
	local option value
	for option in --timeout --kill-after --idle-after-exit \
		--max-after-exit --idle-timeout --until-grace --heartbeat; do
		for value in 5x '' -1; do
			refused "$option" "'$value'" -- "$option=$value" touch ran
		done
	done
	# Also what strtod(3) takes for a number.
	for value in inf nan 0x10 1e3 '1 s' ' 1' '1 ' . .s 1..5 1.5.2 1,5 s ms \
		+1 1sm 5S 1h30 1hm 1h,30m 5secs nevers Never '1 0' 5$'\n'; do
		refused --timeout "${value%$'\n'}" -- --timeout="$value" touch ran
	done
}

@test "durations: ms s m h d w, sec and min, several together, decimals, bare seconds, never" {
	local value
	for value in 1h30m 90min 1000sec 2w 1w2d.5h 1.5h30m infinity 900000ms \
		15m 1d 900 900.5 900. .5h never 00900 900.123456789123456789; do
		accepted -t "$value" -k "$value"
	done
	# Too long for a clock.
	for value in 99999999999999999999 1000000000000d 9223372036854775807 \
		9223372037s 99999999999999999999.5h; do
		accepted -t "$value"
	done
	for value in 20ms=20ms .02=20ms 0.0004m=24ms 0.00001h=36ms 0.0000005d=43 \
		0.0000001w=60 0.0001min10ms0.01sec=26ms; do
		run_now -t "${value%=*}" sleep 1000
		[ "$status" -eq 124 ]
		has_message "${value#*=}"
	done
}

@test "signals have names with and without SIG, in any case, and numbers" {
	local value number
	for value in USR2=12 SIGUSR2=12 usr2=12 SigUsr2=12 12=12 RTMIN=34 \
		RTMIN+1=35 SIGRTMIN+2=36 RTMAX-1=63 RTMAX=64 40=40; do
		number=${value#*=}
		status=0
		# Blocked, so that it waits until the command takes it.
		"$PROGRAMS/launch" --block "$number" --block CONT "$WDRUN" \
			-t 10ms -k 60 -s "${value%=*}" "$PROGRAMS/sigcount" 2 \
			>out 2>err 3>&- || status=$?
		echo "$value: $status"
		[ "$status" -eq 124 ]
		grep -qx "got $number" out
	done
	for value in FOO '' 0 65 -1 SIG SIGFOO 15x TERMINATE RTMIN+99 RTMAX+1 \
		RTMIN-1 99999999999 ' TERM'; do
		refused --signal "'$value'" -- --signal="$value" touch ran
	done
}

@test "a value that cannot be is refused, and named with its option" {
	local text
	printf -v text '%01025d' 0
	mkdir directory
	mkfifo fifo
	ln -s loop loop

	refused --until 1025 -- --until="$text" touch ran
	accepted --until="${text%0}"
	refused --name -- --name="${text%"${text:256}"}" touch ran
	each_refused <<-'EOF'
		--survivors maybe kill wait leave | --survivors=maybe
		--survivors | --survivors=
		--until | --until=
		--tee | --tee=
		--tee no/such/file No\ such\ file | --tee=no/such/file
		--tee directory Is\ a\ directory | --tee=directory
		--tee loop | --tee=loop
		--tee fifo | --tee=fifo
		--tee - ./- | --tee=-
		--report | --report=
		--report - ./- | --report=-
		--lock | --lock=
		--cleanup | --cleanup=
		--name | --name=
		--registry | --registry=
		--lock-wait soon | -l lock --lock-wait=soon
		--lock-exit 256 | -l lock --lock-exit=256
		--lock-exit -1 | -l lock --lock-exit=-1
		--lock 16 | -l{a..q}
		--cleanup 16 | -c{a..q}
	EOF
	accepted --report=./-
	accepted --tee=./-
	[ -s ./- ]
	# A device that cannot be opened is no FIFO.
	complete setsid -w "$WDRUN" --tee=/dev/tty touch ran
	[ "$status" -eq 125 ]
	has_message --tee /dev/tty "No such device"
	[ ! -e ran ]
}

# bats test_tags=smoke
@test "an option that does not exist, lacks its value or takes none is refused, and named" {
	each_refused <<-'EOF'
		no-such-option | --no-such-option
		frobnicate --help | --frobnicate
		timout | --timout
		--t | --t
		imeout | -timeout 5
		imeout=5 | -q -timeout=5
		=5 | -t=5
		Z | -Z
		'' | $'-\351'
		'' | -日
		--日 | --日
		quiet | --quiet=yes
	EOF
	refused timeout DUR -- --timeout
	refused t DUR -- -t
	refused l FILE -- -q -l

	run_now -u -timeout echo -timeout # two arguments
	[ "$status" -eq 0 ]
	[ "$output" = -timeout ]
}

@test "options that exclude each other, or need another one, are refused" {
	each_refused <<-'EOF'
		--foreground --setsid | --foreground --setsid
		--foreground --setsid | --setsid -f
		--pty --foreground | --foreground --pty
		--pty --foreground | --no-stdin --pty -f
		--idle-unless-busy --idle-timeout | --idle-unless-busy
		--until-grace --until | --until-grace=5
		--until-grace --until | -i 5 -t 5 --until-grace=never
		--lock-wait --lock | --lock-wait=1
		--lock-exit --lock | --lock-exit=1
		--json --list | --json
	EOF
	local options
	for options in '--idle-unless-busy -i 900' '-i 900 --idle-unless-busy' \
		'--until-grace=900 -u text' '-u text --until-grace=900' \
		'-w 1 -E 7 -l lock' '--pty --setsid' '--setsid --pty'; do
		# shellcheck disable=SC2086 # these are words
		accepted $options
	done
}

# bats test_tags=smoke
@test "where one option is a mistake the others have made, locked and opened nothing" {
	local all=(--tee=copy --report=report --lock=lock --cleanup=left
		--name=job --registry=runs)
	refused --timeout 5x -- "${all[@]}" --timeout=5x touch ran
	refused --until-grace -- "${all[@]}" --until-grace=5 touch ran
	refused -- "${all[@]}"

	# What cannot be opened is found out before a lock is taken.
	run_now -l lock --report=report --tee=no/such/file touch ran
	[ "$status" -eq 125 ]
	[ "$(echo *)" = "err out" ]
}

@test "no command is a mistake" {
	refused --help --
	refused -- -t 5
	refused -- -t 5 --
}

@test "options end at the first operand, and at --" {
	run_now echo -t x --help
	[ "$output" = "-t x --help" ]

	run_now -t 100 -- echo -- -t 7
	[ "$output" = "-- -t 7" ]

	printf '#!/bin/sh\necho dashed\n' >-dashed
	chmod +x ./-dashed
	PATH=$PWD:$PATH run_now -- -dashed
	[ "$output" = dashed ]
}

@test "a value may be joined, apart, long or short, and the last one counts" {
	local options
	for options in '-t900' '-t 900' '--timeout=900' '--timeout 900' \
		'-t1ms -t900' '-pqt900' '-t 1ms --timeout=never' -vq; do
		# shellcheck disable=SC2086 # these are words
		run_now $options sh -c 'sleep 0.02; echo ran'
		[ "$status" -eq 0 ]
		[ "$output" = ran ]
		[ ! -s err ]
	done
	run_now -qv echo ran
	[ -s err ]
}

@test "--list, --cancel and --reap run nothing, and go with no other option" {
	local mode
	for mode in --list --reap --cancel=nobody; do
		refused touch -- "$mode" touch ran
		refused "${mode%=*}" -- "$mode" -t 5
	done
	refused -- --list --reap
	refused --json --list -- --reap --json
	refused --list -- --list --lock=lock
}

@test "output that has no place to go cannot be read: an error" {
	local option
	for option in --idle-timeout=5 --until=text --tee=copy; do
		complete sh -c '"$WDRUN" "$1" touch ran >&- 2>&-' sh "$option"
		[ "$status" -eq 125 ]
		[ ! -e ran ]
		[ ! -e copy ]
	done
}

@test "what a message quotes is printable UTF-8: C0, C1 and broken bytes become ?" {
	local text
	for text in $'\e' $'\a' $'\177' $'\302\233' $'\302\200' $'\302\237' \
		$'\233' $'\200' $'\377' $'\303' $'\342\202' $'\300' $'\370'; do
		run_now "./no-${text}[2J-such"
		[ "$status" -eq 127 ]
		[[ $stderr =~ "'./no-"\?+"[2J-such'" ]]
		[[ $stderr != *"$text"* ]]
	done
	for text in café Größe € 日本 😀 $'\302\240'; do
		run_now "./no-$text-such"
		has_message "'./no-$text-such'"
	done
}

# bats test_tags=smoke
@test "every option is taken, and --help names it, on stdout, in 39 lines of 60 columns" {
	local option letter name
	run_now --help true
	[ "$status" -eq 0 ]
	[ ! -s err ]
	[ "$(wc -l <out)" -le 39 ]
	[ "$(wc -L <out)" -le 60 ]
	mv out help
	for option in h,help V,version v,verbose ,list ,json ,cancel ,reap \
		,idle-unless-busy ,until-grace w,lock-wait E,lock-exit \
		t,timeout=never i,idle-timeout=never u,until=text k,kill-after=never \
		s,signal=TERM p,preserve-status/ ,idle-after-exit=never \
		,max-after-exit=never ,survivors=leave ,die-with-parent/ \
		f,foreground/ ,setsid/ ,pty/ ,tee=copy ,no-stdin/ ,heartbeat=never \
		,report=report l,lock=lock c,cleanup=left n,name=name \
		,registry=runs q,quiet/; do
		letter=${option%%,*} option=--${option#*,}
		name=${option%%[=/]*}
		grep -qE -- "^ *${letter:+-$letter, }$name(=| )" help
		[ "$name" = "$option" ] || accepted "${option%/}"
	done
	# None is missing in this list.
	[ "$(grep -oE -- '^ {6}--[a-z-]+|, --[a-z-]+' help | wc -l)" -eq 33 ]
}

@test "--version is one line on stdout, and --help that cannot be written an error" {
	local option
	for option in -V --version '--version true'; do
		# shellcheck disable=SC2086 # these are words
		run_now $option
		[ "$status" -eq 0 ]
		[ ! -s err ]
		[[ $output =~ ^wdrun\ [0-9]+\.[0-9]+[^$'\n']*$ ]]
	done
	complete sh -c '"$WDRUN" --help >/dev/full'
	[ "$status" -eq 125 ]
}

@test "--no-stdin gives the command an empty stdin" {
	printf 'one\ntwo\n' >lines
	complete bash -c 'while read -r line; do
		"$WDRUN" --no-stdin cat; echo "$line"; done <lines'

	[ "$output" = $'one\ntwo' ]
}
