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

# run_now ARG...: runs wdrun ARG... in the foreground.
run_now() {
	echo "--- wdrun ${*@Q}"
	directly "$WDRUN" "$@"
}

# refused WORD... -- ARG...: wdrun ARG... gives 125, and one line that has each
# WORD; nothing is printed, run or made.
refused() {
	local words=() before after
	while [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	before=(./.* ./*)
	run_now "${@:2}"
	after=(./.* ./*)

	[ "$status" -eq 125 ]
	[ -z "$output" ]
	[[ $stderr != *$'\n'* ]]
	has_message "${words[@]}"
	[ "${after[*]}" = "${before[*]}" ]
}

# each_refused: the same for each line of stdin: `WORD... | ARG...`, which are
# words of the shell. The command is `touch ran`.
each_refused() {
	local row row_words row_arguments
	while IFS= read -ru 9 row; do
		eval "row_words=(${row%%' |'*}) row_arguments=(${row#*'| '})"
		refused "${row_words[@]}" -- "${row_arguments[@]}" touch ran
	done 9<&0
}

# accepted ARG...: with these options the command is run, and nothing is told.
accepted() {
	run_now "$@" echo ran
	[ "$status" -eq 0 ]
	[ "$output" = ran ]
	[ ! -s err ]
}

# bats test_tags=slow
@test "durations: ms s m h d w, sec and min, several together, decimals, bare seconds, never; a bad one is refused, and named" {
	local option value
	for option in --kill-after --idle-after-exit --max-after-exit \
		--idle-timeout --until-grace --heartbeat; do
		refused "$option" "'5x'" -- "$option=5x" touch ran
	done
	for value in 5x '' -1 nan 1e 0x '1 s' '1 ' . .s 1..5 1.5.2 1,5 s \
		ms 1sm 5S 1h30 1hm 1h,30m 5secs nevers Never '1 0' 5$'\n'; do
		refused --timeout "'${value%$'\n'}" -- --timeout="$value" touch ran
	done

	# The last ones are too long for a clock.
	local -a values
	while read -ra values; do
		accepted -t "${values[0]}" -k "${values[1]}" -i "${values[2]}" \
			--idle-after-exit "${values[3]}" --max-after-exit "${values[4]}"
	done <<-'EOF'
		1h30m 90min 1000sec 2w 1w2d.5h
		1.5h30m infinity 900000ms 15m 1d
		900 900.5 900. .5h never
		1e3 900.123456789123456789 9223372037s 1000000000000d 99999999999999999999.5h
		99999999999999999999 99999999999999999999 9223372036854775807 900 900
	EOF
	for value in .02=20ms 0.0004m=24ms 0.00001h=36ms 0.0000005d=43 \
		0.0000001w=60 0.0001min10ms0.01sec=26ms; do
		run_now -t "${value%=*}" sleep 1000
		[ "$status" -eq 124 ]
		has_message "${value#*=}"
	done
}

# bats test_tags=slow
@test "signals have names with and without SIG, in any case, and numbers" {
	local value number
	for value in SIGUSR2=12 usr2=12 12=12 RTMIN=34 RTMIN+1=35 SIGRTMAX-1=63 \
		RTMAX=64; do
		number=${value#*=}
		# Blocked, so that it waits until the command takes it.
		directly "$PROGRAMS/launch" --block "$number" --block CONT "$WDRUN" \
			-t 10ms -k 60 -s "${value%=*}" "$PROGRAMS/sigcount" 2
		[ "$status" -eq 124 ]
		[[ $'\n'$output$'\n' == *$'\n'"got $number"$'\n'* ]]
	done
	for value in FOO '' 0 65 -1 SIG SIGFOO 15x TERMINATE RTMIN+99 RTMAX+1 \
		RTMIN-1 99999999999 ' TERM'; do
		refused --signal "'$value'" -- --signal="$value" touch ran
	done
}

# bats test_tags=slow
@test "a value that cannot be is refused, and named with its option" {
	local text
	printf -v text '%01025d' 0
	mkdir directory
	mkfifo fifo
	ln -s loop loop

	refused --until 1024 -- --until="$text" touch ran
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
		--lock - ./- | --lock=-
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
	accepted --tee=./-
	accepted --report=./-
	[ -s ./- ]
	# A device that cannot be opened is no FIFO.
	complete setsid -w "$WDRUN" --tee=/dev/tty touch ran
	[ "$status" -eq 125 ]
	has_message --tee /dev/tty "No such device"
	[ ! -e ran ]

	# Output that has no place to go cannot be read.
	for text in --idle-timeout=5 --until=text --tee=copy; do
		complete sh -c 'exec "$WDRUN" "$1" touch ran >&- 2>&-' sh "$text"
		[ "$status" -eq 125 ]
		[ ! -e ran ]
		[ ! -e copy ]
	done
}

# bats test_tags=smoke
@test "an option that does not exist, lacks its value, takes none or excludes another one is refused, and named" {
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
		--foreground --setsid | --foreground --setsid
		--foreground --setsid | --setsid -f
		--pty --foreground | --foreground --pty
		--pty --foreground | --no-stdin --pty -f
		--list | --list
		--reap | --reap
		--cancel | --cancel=nobody
	EOF
	refused -- --list --reap
	refused timeout DUR -- --timeout
	refused t DUR -- -t
	refused l FILE -- -q -l

	# With values that look like options.
	run_now -u -timeout --idle-unless-busy -i 900 --until-grace=900 -w 1 -E 7 \
		-l lock --setsid --pty echo -timeout
	[ "$status" -eq 0 ]
	[[ $output == -timeout* ]]
}

@test "where one option is a mistake the others have made, locked and opened nothing; no command is a mistake" {
	local all=(--tee=copy --report=report --lock=lock --cleanup=left
		--name=job --registry=runs)
	refused --timeout 5x -- "${all[@]}" --timeout=5x touch ran
	refused --setsid -- "${all[@]}" --foreground --setsid touch ran
	refused -- "${all[@]}"

	# What cannot be opened is found out before a lock is taken.
	run_now -l lock --report=report --tee=no/such/file touch ran
	[ "$status" -eq 125 ]
	[ "$(echo *)" = "err out" ]

	# No command is one, too.
	refused --help --
	refused -- -t 5
	refused -- -t 5 --
}

@test "options end at the first operand, and at --; a value may be joined, apart, long or short, and the last one counts" {
	run_now echo -t x --help
	[ "$output" = "-t x --help" ]

	run_now -t 100 -- echo -- -t 7
	[ "$output" = "-- -t 7" ]

	printf '#!/bin/sh\necho dashed\n' >-dashed
	chmod +x ./-dashed
	PATH=$PWD:$PATH run_now -- -dashed
	[ "$output" = dashed ]

	local options
	for options in '-t1ms -t900' '--timeout 1ms --timeout=900' \
		'-pqt900' '-t 1ms --timeout never -vq'; do
		# shellcheck disable=SC2086 # these are words
		run_now $options sleep 0.02
		[ "$status" -eq 0 ]
		[ ! -s err ]
	done
	run_now -qv true
	[ -s err ]
}

@test "what a message quotes is printable UTF-8: C0, C1 and broken bytes become ?" {
	local text='' bad expected=''
	for bad in $'\e' $'\a' $'\177' $'\302\233' $'\302\200' $'\302\237' \
		$'\233' $'\200' $'\377' $'\303' $'\342\202' $'\300' $'\370'; do
		text+="[2J$bad" expected+='\[2J\?+'
	done
	run_now "./no-${text}[2J-such"
	[ "$status" -eq 127 ]
	[[ $stderr =~ \'\./no-$expected\[2J-such\' ]]
	text="café Größe € 日本 😀 "$'\302\240'
	run_now "./no-$text-such"
	has_message "'./no-$text-such'"
}

# bats test_tags=smoke
@test "every option is taken, and --help names it, on stdout, in 39 lines of 60 columns; --version is one line" {
	local option letter name text help line long=() short=() count=0
	run_now --help true
	[ "$status" -eq 0 ]
	[ ! -s err ]
	text=$'\n'$output$'\n'
	mapfile -t help <out
	[ "${#help[@]}" -le 39 ]
	for line in "${help[@]}"; do
		[ "${#line}" -le 60 ]
		[[ ! $line =~ (^\ {6}|,\ )--[a-z-]+ ]] || ((++count))
	done
	[ "$count" -eq 33 ] # None is missing in this list.
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
		[[ $text =~ $'\n'\ *${letter:+-$letter, }${name}[=\ $'\n'] ]]
		case $name in
		"$option" | --foreground) ;;
		--tee) accepted "$option" ;; # not with a terminal
		*)
			long+=("${option%/}")
			[ -z "$letter" ] || short+=("-$letter${option#"$name"}")
			;;
		esac
	done
	need_pty
	accepted "${long[@]}"
	accepted "${short[@]//[=\/]/}" -f

	for option in -V '--version true'; do
		# shellcheck disable=SC2086 # these are words
		run_now $option
		[ "$status" -eq 0 ]
		[ ! -s err ]
		[[ $output =~ ^wdrun\ [0-9]+\.[0-9]+[^$'\n']*$ ]]
	done
	for option in --help --version; do
		status=0
		"$WDRUN" "$option" >/dev/full 2>err || status=$?
		[ "$status" -eq 125 ]
	done
}
