#!/usr/bin/env bats
#
# The command line: what is accepted, and that a mistake is reported before
# anything is run.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

# refused OPTION VALUE ARGUMENT...: wdrun ARGUMENT... refuses in one line that
# names OPTION and VALUE, and runs and makes nothing.
refused() {
	local option=$1 value=$2 before
	shift 2
	: >>out
	: >>err
	before=$(echo .* *)
	complete "$WDRUN" "$@" touch ran

	[ "$status" -eq 125 ]
	[ "$(echo .* *)" = "$before" ]
	says_one_thing
	[[ $stderr == *"$option"*"$value"* ]]
}

# There is one message of one line, and no other output.
says_one_thing() {
	[ -z "$output" ]
	[[ $stderr == 'wdrun: '* && $stderr != *$'\n'* ]]
}

# Refused in one line, before anything is run or made.
told_off() {
	complete "$WDRUN" "$@"
	[ "$status" -eq 125 ]
	[ "$(ls -A)" = $'err\nout' ]
	says_one_thing
}

# partner_of OPTION: prints the option without which OPTION is an error.
partner_of() {
	case $1 in
	--idle-unless-busy) echo --idle-timeout=never ;;
	--until-grace=*) echo --until=text ;;
	--lock-wait=* | --lock-exit=*) echo --lock=lock ;;
	esac
}

@test "a bad duration is refused by each option, named with what is accepted" {
	local option
	for option in --timeout --kill-after --idle-after-exit \
		--max-after-exit --idle-timeout --until-grace --heartbeat; do
		refused "$option" "'5x'" "$option=5x"
		[[ $stderr == *250ms* && $stderr == *1h30m* && $stderr == *never* ]]
		[[ $stderr == *'units ms, s, m, h, d, w'* ]]
		refused "$option" "''" "$option="
		refused "$option" "'-1'" "$option=-1"
	done
}

@test "what strtod(3) takes for a number is refused as a duration all the same" {
	local value
	for value in inf nan 0x10 1e3 '1 s' ' 1' '1 ' . .s 1..5 1.5.2 1,5 s ms \
		+1 1sm 5S 5M 1h30 1hm 1h,30m 5secs nevers Never '1 0' $'5\n'; do
		refused --timeout "${value%$'\n'}" --timeout="$value"
	done
}

@test "durations: ms s m h d w, sec and min, several together, decimals, bare seconds, never" {
	local value
	for value in 1h30m 90min 1000sec 2w 1w2d.5h 1.5h30m infinity 900000ms 900s 15m 1h 1d 900 900.5 900. 0.5h .5h never \
		1.5m 0.25d 00900 900.123456789123456789; do
		complete "$WDRUN" -t "$value" -k "$value" echo ran
		[ "$status" -eq 0 ]
		[ "$output" = ran ]
		[ -z "$stderr" ]
	done
}

@test "a duration that is too long for a clock means never" {
	local value
	for value in 99999999999999999999 1000000000000d 9223372036854775807 \
		9223372037s 99999999999999999999.5h; do
		complete "$WDRUN" -t "$value" echo ran
		[ "$status" -eq 0 ]
		[ "$output" = ran ]
		[ -z "$stderr" ]
	done
}

@test "each unit is what it says" {
	complete "$WDRUN" -t 200ms sleep 1000
	[ "$status" -eq 124 ]
	complete "$WDRUN" -t .2 sleep 1000
	[ "$status" -eq 124 ]
	complete "$WDRUN" -t 0.004m sleep 1000
	[ "$status" -eq 124 ]
	complete "$WDRUN" -t 0.00007h sleep 1000
	[ "$status" -eq 124 ]
	complete "$WDRUN" -t 0.000003d sleep 1000
	[ "$status" -eq 124 ]
	complete "$WDRUN" -t 0.0000004w sleep 1000
	[ "$status" -eq 124 ]
	complete "$WDRUN" -t 0.0001min100ms0.1sec sleep 1000
	[ "$status" -eq 124 ]
}

@test "signal names: with and without SIG, in any case, and numbers" {
	local value
	for value in USR2 SIGUSR2 usr2 sigusr2 SigUsr2 12; do
		complete_late "$WDRUN" -t LIMIT -k 60 -s "$value" \
			"$PROGRAMS/sigcount" 2
		grep -qx 'got 12' out # the other signal is CONT
	done
}

@test "real-time signals are counted as kill(1) counts them" {
	local value
	for value in RTMIN RTMIN+1 SIGRTMIN+2 RTMAX-1 RTMAX 40; do
		complete_late "$WDRUN" -t LIMIT -k 60 -s "$value" \
			"$PROGRAMS/sigcount" 2
		[ "$value" = 40 ] || value=$(kill -l "$value")
		grep -qx "got $value" out
	done
}

@test "a bad signal is refused, named with what is accepted" {
	local value
	for value in FOO '' 0 65 -1 SIG SIGFOO 15x TERMINATE RTMIN+99 RTMAX+1 \
		RTMIN-1 99999999999 ' TERM'; do
		refused --signal "'$value'" --signal="$value"
		[[ $stderr == *TERM* ]]
	done
}

@test "a bad word for --survivors is refused, named with what is accepted" {
	refused --survivors "'maybe'" --survivors=maybe
	[[ $stderr == *kill* && $stderr == *wait* && $stderr == *leave* ]]
	refused --survivors "''" --survivors=
}

@test "an empty text for --until, and one that is too long to be found, is refused" {
	local text
	printf -v text '%01025d' 0
	refused --until "''" --until=
	[[ $stderr == *"1 to 1024 bytes"* ]]
	refused --until 'a value of 1025 bytes is not a text' --until="$text"
	[[ $stderr == *"1 to 1024 bytes"* ]]
	refused --until "''" -u ''

	complete "$WDRUN" --until="${text%0}" echo ran
	[ "$status" -eq 0 ]
	[ "$output" = ran ]
	[ -z "$stderr" ]
}

@test "a file for --tee is refused if it cannot be opened, and says why" {
	mkdir directory
	mkfifo fifo
	ln -s loop loop
	refused --tee "''" --tee=
	refused --tee "'no/such/file'" --tee=no/such/file
	[[ $stderr == *"No such file or directory" ]]
	refused --tee "'directory'" --tee=directory
	[[ $stderr == *"Is a directory" ]]
	refused --tee "'out/file'" --tee=out/file
	[[ $stderr == *"Not a directory" ]]
	refused --tee "'loop'" --tee=loop
	refused --tee "'fifo'" --tee=fifo
	[[ $stderr == *": it is a FIFO that nobody reads" ]]

	# /dev/tty gives the same error here, but is not a FIFO.
	complete setsid -w "$WDRUN" --tee=/dev/tty touch ran
	[ "$status" -eq 125 ]
	[ ! -e ran ]
	[[ $stderr == *"'/dev/tty': No such device or address" ]]
}

@test "a copy is not made where the rest is a mistake" {
	refused --timeout "'5x'" --tee=copy --timeout=5x
	refused --until-grace '' --tee=copy --until-grace=5

	complete "$WDRUN" --tee=copy
	[ "$status" -eq 125 ]
	[ ! -e copy ]
}

@test "an unknown option is refused" {
	refused no-such-option '' --no-such-option
	refused Z '' -Z
	refused "invalid option -- '?'" '' $'-\351'
	refused "invalid option -- '?'" '' -日
	refused "unrecognized option" "'--日'" --日
}

@test "a message is printable and cannot control the terminal: C0, C1 and bytes that are not UTF-8 become ?" {
	local control
	for control in $'\e' $'\a' $'\177' $'\302\233' $'\302\200' $'\302\237' \
		$'\233' $'\200' $'\377' $'\303' $'\342\202' $'\300' $'\370'; do
		complete "$WDRUN" "./no-${control}[2J-such"
		[ "$status" -eq 127 ]
		[[ $stderr =~ ^"wdrun: cannot run './no-"\?+"[2J-such'" ]]
	done
}

@test "a message leaves UTF-8 as it is" {
	local text
	for text in café Größe € 日本 😀 $'\302\240'; do
		complete "$WDRUN" "./no-$text-such"
		[[ $stderr == "wdrun: cannot run './no-$text-such'"* ]]
	done
}

@test "a long option that is misspelt is refused, with what may be meant" {
	local word
	for word in --timout --tiemout --timeoutt --imeout --timeaut=5; do
		refused "'$word'" "did you mean '--timeout'?" "$word"
	done
	refused "'--kil-after=5'" "did you mean '--kill-after'?" --kil-after=5
	refused "'--nostdin'" "did you mean '--no-stdin'?" --nostdin
	refused "'--frobnicate'" '' --frobnicate
	[[ $stderr != *'did you mean'* && $stderr == *'wdrun --help'* ]]
}

@test "an option that is short for several is refused, with all of them" {
	refused "'--t'" "; possibilities: '--timeout' '--tee' (" --t
	refused "'--idle=5'" "'--idle-timeout' '--idle-unless-busy' '--idle-after-exit' (" \
		--idle=5
}

@test "a long option with one dash is refused, with what is meant" {
	refused "'-timeout'" "did you mean '--timeout'?" -timeout 5
	refused "'-timeout=5'" "did you mean '--timeout=5'?" -q -timeout=5
	refused "'-name'" "did you mean '--name'?" -name job
	refused "'-tee=copy'" "did you mean '--tee=copy'?" -tee=copy

	complete "$WDRUN" -u -timeout echo -timeout # two arguments
	[ "$status" -eq 0 ]
	[ "$output" = -timeout ]
}

@test "a short option with = is refused, with what is meant" {
	refused "'=5'" "did you mean '-t 5'?" -t=5
	refused "'=TERM'" "did you mean '-s TERM'?" -s=TERM
	refused "'=5x'" "did you mean '-k 5x'?" -q -k=5x
}

@test "an option without its argument is refused, with what it takes" {
	told_off --timeout
	[[ $stderr == *"'--timeout'"*'(DUR;'* ]]
	told_off -t
	[[ $stderr == *"-- 't' (DUR;"* ]]
	told_off -q -l
	[[ $stderr == *"-- 'l' (FILE;"* ]]
}

@test "- is no file of --report or --tee, and is told how to be one" {
	local option
	for option in --report --tee; do
		refused "$option: '-'" "'./-'" "$option=-"
		complete "$WDRUN" "$option=./-" true
		[ "$status" -eq 0 ]
		[ -e ./- ]
		rm ./-
	done
}

@test "an argument for an option that takes none is refused" {
	refused quiet '' --quiet=yes
}

@test "--foreground with --setsid is refused" {
	refused --foreground --setsid --foreground --setsid
	refused '' '' -f --setsid
	refused '' '' --setsid -f
}

@test "--foreground with --pty is refused" {
	refused --pty --foreground --foreground --pty
	refused --pty --foreground --pty -f
	refused --pty --foreground --no-stdin --pty -f
}

@test "an option that has no meaning without another one is refused without it" {
	refused --idle-unless-busy --idle-timeout --idle-unless-busy
	refused --until-grace --until --until-grace=5
	refused --until-grace --until --until-grace=30s -t 5
	refused --until-grace --until -i 5 --until-grace=never
}

@test "the order of two options that belong together does not matter" {
	local options
	for options in '--idle-unless-busy -i 900' '-i 900 --idle-unless-busy' \
		'--until-grace=900 -u ran' '-u ran --until-grace=900' \
		'--pty --setsid' '--setsid --pty'; do
		# shellcheck disable=SC2086 # these are words
		complete "$WDRUN" $options echo ran
		[ "$status" -eq 0 ]
		[ "$output" = ran ]
		[ -z "$stderr" ]
	done
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

@test "no command is a mistake" {
	complete "$WDRUN"
	[ "$status" -eq 125 ]
	[[ $stderr == "wdrun: "* ]]

	complete "$WDRUN" -t 5
	[ "$status" -eq 125 ]

	complete "$WDRUN" -t 5 --
	[ "$status" -eq 125 ]
}

@test "options end at the first operand" {
	complete "$WDRUN" echo -t x --help
	[ "$status" -eq 0 ]
	[ "$output" = "-t x --help" ]
}

@test "-- ends the options, and only the first one does" {
	complete "$WDRUN" -t 100 -- echo -- -t 7
	[ "$output" = "-- -t 7" ]

	printf '#!/bin/sh\necho dashed\n' >-dashed
	chmod +x ./-dashed
	PATH=$PWD:$PATH complete "$WDRUN" -- -dashed
	[ "$output" = dashed ]
}

@test "a value may be joined, apart, long or short, and the last one counts" {
	local options
	for options in '-t900' '-t 900' '--timeout=900' '--timeout 900' \
		'-t1ms -t900' '-pqt900' '-t 1ms --timeout=never'; do
		# shellcheck disable=SC2086 # these are words
		complete "$WDRUN" $options echo ran
		[ "$status" -eq 0 ]
		[ "$output" = ran ]
	done
}

@test "--help fits 40 lines with the prompt, and 60 columns, and goes to stdout" {
	complete "$WDRUN" --help
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[ "$(wc -l <out)" -le 39 ]
	[ "$(wc -L <out)" -le 60 ]
	cp out long

	complete "$WDRUN" -h
	cmp out long
}

@test "--help says what stands in the parentheses, and each unit of DUR" {
	complete "$WDRUN" --help
	grep -qF '(): the default' out
	run ! grep -q '(repeatable)' out
	grep '^(): ' out >units
	for unit in ms s m h d w; do
		grep -qw "$unit" units
	done
}

@test "--help names every option" {
	local option
	complete "$WDRUN" --help
	for option in -t --timeout -i --idle-timeout --idle-unless-busy \
		-u --until --until-grace -k --kill-after -s --signal -p \
		--preserve-status --idle-after-exit --max-after-exit \
		--survivors --die-with-parent -f --foreground --setsid --pty \
		--tee --no-stdin --heartbeat --report -l --lock -w --lock-wait -E --lock-exit \
		-c --cleanup -n --name --registry --list --json --cancel \
		--reap -q --quiet -v --verbose -h --help -V \
		--version; do
		grep -qE -- "(^|[ ,])$option([ ,=]|\$)" out
	done
}

@test "every option that --help names is taken" {
	local option partner
	complete "$WDRUN" --help
	mapfile -t options < <(sed -nE 's/^  .{4}(--[a-z=A-Z|-]+).*/\1/p' out)
	[ "${#options[@]}" -ge 20 ]

	for option in "${options[@]}"; do
		case $option in
		--help | --version | --list | --json | --cancel=* | --reap)
			continue
			;;
		--*=CODE) option=${option%CODE}75 ;;
		--*=NAME) option=${option%NAME}name ;;
		--*=DIR) option=${option%DIR}$PWD/registry ;;
		--*=DUR) option=${option%DUR}never ;;
		--*=SIG) option=${option%SIG}TERM ;;
		--*=TEXT) option=${option%TEXT}text ;;
		--report=FILE) option=--report=report ;;
		--*=FILE) option=${option%FILE}file ;;
		--*=*'|'*) option=${option%%'|'*} ;;
		--*=*) echo "unknown to this test: $option" && return 1 ;;
		esac
		partner=$(partner_of "$option")
		complete env XDG_STATE_HOME="$PWD/state" "$WDRUN" \
			${partner:+"$partner"} "$option" true
		[ "$status" -eq 0 ]
	done
}

@test "--list, --cancel and --reap run nothing, and go with no other option" {
	local mode
	for mode in --list --reap --cancel=nobody; do
		told_off "$mode" touch ran
		[[ $stderr == *"take no COMMAND"*"'touch'"* ]]
		told_off "$mode" -t 5
		[[ $stderr == *"--list, --cancel or --reap"* ]]
	done
	told_off --list --reap
	[[ $stderr == *"only one"* ]]
	told_off --json touch ran
	told_off --reap --json
	[[ $stderr == *"--json"*"--list"* ]]
}

@test "locks, names and registries that cannot exist are refused" {
	local option
	for option in --lock= --cleanup= --name= --registry=; do
		told_off "$option" touch ran
		[[ $stderr == "wdrun: ${option%=}: "* ]]
	done
	told_off --name="$(printf '%0256d' 0)" touch ran
	told_off --lock-wait=1 touch ran
	told_off --lock-exit=1 touch ran
	told_off -l x --lock-wait=soon touch ran
}

@test "--version is one line, on stdout" {
	complete "$WDRUN" --version
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[[ $output =~ ^wdrun\ [0-9]+\.[0-9]+[^$'\n']*$ ]]

	complete "$WDRUN" -V
	[[ $output =~ ^wdrun\ [0-9] ]]
}

@test "--help and --version count though more options follow" {
	complete "$WDRUN" --version true
	[ "$status" -eq 0 ]
	[[ $output == wdrun* ]]
}

@test "an output that cannot be written is an error of --help" {
	complete sh -c '"$WDRUN" --help >/dev/full'
	[ "$status" -eq 125 ]
}

@test "--no-stdin gives the command an empty stdin" {
	printf 'one\ntwo\n' >lines
	complete bash -c 'while read -r line; do
		"$WDRUN" --no-stdin cat; echo "$line"; done <lines'

	[ "$output" = $'one\ntwo' ]
}
