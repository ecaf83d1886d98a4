#!/usr/bin/env bats
#
# The command line: what is accepted, and that a mistake is told in one line
# before anything is run, created or locked.

load helper
load bounds

setup() {
	common_setup
	export HOME=$PWD XDG_STATE_HOME=$PWD/state
	unset WDRUN_REGISTRY
	touch out err
}

# refused WORDS ARG...: wdrun ARG... gives 125, and one line that has each of WORDS;
# nothing is printed, run or made.
refused() {
	local words before=(./.* ./*) after
	read -ra words <<<"$1"
	gives 125 wdrun_directly "${@:2}"
	[ -z "$output" ]
	has_line_count 1 err
	has_message "${words[@]}"
	after=(./.* ./*)
	[ "${after[*]}" = "${before[*]}" ]
}

# accepted ARG...: with these options the command is run, and nothing is told.
accepted() {
	gives 0 wdrun_directly "$@" echo ran
	[ "$output$stderr" = ran ]
}

# unit/duration.c has what is a duration.
# bats test_tags=slow
@test "durations have units, signals have names or numbers; any other value is refused, and a message names it" {
	for option in --timeout --kill-after --idle-after-exit --max-after-exit \
		--idle-timeout --until-grace --heartbeat; do
		refused "$option '5x'" "$option=5x" touch ran
	done
	for value in '' -1 '1 s' 1h30 5$'\n'; do refused "--timeout '$value" --timeout="$value" touch ran; done
	accepted -t 1h30m -k 90min -i .5h --idle-after-exit 900 --max-after-exit never
	accepted -t 99999999999999999999 -k 9223372037s -i 1w2d --idle-after-exit infinity
	gives 124 wdrun_directly -t 0.0001min10ms0.004sec sleep 1000
	has_message 20ms

	for value in SIGUSR2=12 usr2=12 12=12 RTMIN=34 RTMIN+1=35 SIGRTMAX-1=63 RTMAX=64; do
		number=${value#*=}
		# Blocked, so that it waits until the command takes it.
		gives 124 complete env --block-signal="$number,CONT" \
			"$WDRUN" -t 10ms -k 60 -s "${value%=*}" sigcount 2
		grep -qx "got $number" out
	done
	for value in FOO '' 0 EXIT 65 -1 SIG 15x TERMINATE RTMIN+99 RTMAX+1 RTMIN-1 ' TERM'; do
		refused "--signal '$value'" --signal="$value" touch ran
	done
}

# bats test_tags=smoke
@test "a mistake is refused, a message names its option, and no other option has created a file" {
	printf -v text '%01025d' 0
	mkdir directory
	mkfifo fifo

	refused '--until 1024' --until="$text" touch ran
	accepted --until="${text%0}"
	for text in survivors until tee report lock cleanup name registry; do
		refused "--$text" "--$text=" touch ran
	done
	while IFS= read -ru 9 row; do
		echo "$row"
		eval "refused \"\${row%% | *}\" ${row#* | } touch ran"
	done 9<<-'EOF'
		--timeout 5x | --tee=copy --report=report --lock=lock --name=job --timeout=5x
		--tee no/such/file | -l lock --tee=no/such/file
		--survivors maybe kill wait leave | --survivors=maybe
		--tee directory Is a directory | --tee=directory
		--tee fifo | --tee=fifo
		--tee - ./- | --tee=-
		--lock - ./- | --lock=-
		--report - ./- | --report=-
		--lock-wait soon | -l lock --lock-wait=soon
		--lock-exit 256 | -l lock --lock-exit=256
		--lock 16 | -l{a..q}
		--cleanup 16 | -c{a..q}
		no-such-option --help | --no-such-option
		--t | --t
		imeout=5 | -q -timeout=5
		=5 | -t=5
		--help | $'-\351'
		--日 | --日
		quiet | --quiet=yes
		--foreground --setsid | --foreground --setsid
		--pty --foreground | --no-stdin --pty -f
		--list | --list
		--cancel | --cancel=nobody
	EOF
	refused '' --list --reap
	refused 't DUR' -t
	refused 'l FILE' -q -l
	refused --help
	refused '' -t 5 --

	accepted --tee=./-
	accepted --report=./-
	# A device that cannot be opened is no FIFO.
	gives 125 complete setsid -w "$WDRUN" --tee=/dev/tty touch ran
	has_message --tee /dev/tty "No such device"
	[ ! -e ran ]
	# A command without output is silent.
	gives 124 complete sh -c 'exec "$WDRUN" -i 0.2 sleep 1000 >&- 2>&-'
}

@test "options end at COMMAND or --; a value may be joined or apart; of two values the last counts" {
	wdrun_directly echo -t x --help
	[ "$output" = "-t x --help" ]
	wdrun_directly -t 100 -- echo -- -t 7
	[ "$output" = "-- -t 7" ]
	ln -s "$(type -P echo)" ./-dashed
	[ "$(PATH=$PWD:$PATH "$WDRUN" -- -dashed x)" = x ]
	# With values that look like options.
	wdrun_directly -u -timeout --idle-unless-busy -i 900 --until-grace=900 -w 1 -E 7 \
		-l lock --setsid --pty echo -timeout
	[[ $output == -timeout* ]]
	for options in '-t1ms -t900' '--timeout 1ms --timeout=900' \
		'-pqt900' '-t 1ms --timeout never -vq'; do
		# shellcheck disable=SC2086 # these are words
		gives 0 wdrun_directly $options sleep 0.02
		[ ! -s err ]
	done
	wdrun_directly -qv true
	[ -s err ]
}

@test "what a message quotes is printable UTF-8: control characters and broken bytes become ?" {
	text='' expected=''
	for bad in $'\e' $'\a' $'\177' $'\302\233' $'\302\200' $'\302\237' \
		$'\233' $'\200' $'\377' $'\303' $'\342\202' $'\300' $'\370'; do
		text+="[2J$bad" expected+='\[2J\?+'
	done
	gives 127 wdrun_directly "./no-${text}[2J-such"
	[[ $stderr =~ \'\./no-$expected\[2J-such\' ]]
	text="café Größe € 日本 😀 "$'\302\240'
	wdrun_directly "./no-$text-such"
	has_message "'./no-$text-such'"
}

# The rows that make --help make the options, too; docs.bats holds the manual against it.
# bats test_tags=smoke
@test "every option works in its long and short form; --help has at most 44 lines of 60 columns" {
	need_pty
	accepted --timeout=never --idle-timeout=never --until=text --kill-after=never \
		--signal=TERM --preserve-status --idle-after-exit=never --max-after-exit=never \
		--survivors=leave --die-with-parent --setsid --pty --no-stdin --heartbeat=never \
		--report=report --lock=lock --cleanup=left --name=name --registry=runs --quiet
	accepted -t never -i never -u text -k never -s TERM -p -f -l lock -c left -n name -q
	accepted --tee=copy --foreground

	wdrun_directly -V true
	[[ $output =~ ^wdrun\ [0-9]+\.[0-9]+[^$'\n']*$ ]]
	gives 0 wdrun_directly -h true
	[ ! -s err ]
	[ "$(wc -l <out)" -le 44 ]
	[ -z "$(awk 'length > 60' out)" ]
	for words in '--help >/dev/full' '--version >&-' "--explain=$$ >&-"; do
		gives 125 complete bash -c "\"\$WDRUN\" $words"
	done
}
