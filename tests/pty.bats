#!/usr/bin/env bats
#
# --pty where no terminal is about: a command gets one, and its output is the
# caller's, byte for byte.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

# bats test_tags=smoke
@test "stdout and stderr are a terminal, and stdin is what it was" {
	complete bash -c 'echo input | "$WDRUN" --pty sh -c "
		[ -t 0 ] || echo no; [ -t 1 ] && [ -t 2 ] && echo yes; cat
		echo error >&2"'
	[ "$output" = $'no\nyes\ninput\nerror' ]
	[ -z "$stderr" ]

	echo secret >input
	complete sh -c '"$WDRUN" --pty sh -c "read x; echo length \${#x}" <input'
	[ "$output" = "length 6" ]
}

@test "it is the command's controlling terminal, in the supervisor's session, 24 by 80" {
	complete setsid -w "$WDRUN" --pty sh -c 'echo words >/dev/tty
		stty size </dev/tty
		ps -o sid=,pgid=,tpgid= -p $$ | xargs; echo $PPID $$ $$'

	[ "$(sed -n 1p out)" = words ]
	[ "$(sed -n 2p out)" = '24 80' ]
	[ "$(sed -n 3p out)" = "$(sed -n 4p out)" ]
}

# bats test_tags=smoke
@test "output comes through with every byte, in order, and no carriage return" {
	complete bash -c '"$WDRUN" --pty "$PROGRAMS/pattern" write 1 5000000 |
		"$PROGRAMS/pattern" check 1 5000000; echo "${PIPESTATUS[0]}"'
	[ "$output" = $'same\n0' ]

	complete "$WDRUN" --pty printf 'a\nb\tc\r\n\n'
	[ "$(od -c <out)" = "$(printf 'a\nb\tc\r\n\n' | od -c)" ]

	complete "$WDRUN" --pty bash -c 'for ((i = 1; i <= 1000; i += 2)); do
		echo $i; echo $((i + 1)) >&2; done'
	cmp out <(seq 1000)
	[ -z "$stderr" ]
}

# bats test_tags=smoke
@test "the status is the command's: exit, signal, not found" {
	complete "$WDRUN" --pty sh -c 'exit 42'
	[ "$status" -eq 42 ]
	complete "$WDRUN" --pty sh -c 'kill -TERM $$'
	[ "$status" -eq 143 ]
	complete "$WDRUN" --pty ./nothing
	[ "$status" -eq 127 ]
	[ "$(wc -l <err)" -eq 1 ]
}

@test "ls shows colours and less pages, in a pipeline and in \$(...)" {
	need less
	mkdir directory
	seq 1000 >numbers
	export TERM=xterm LESS=
	complete bash -c '"$WDRUN" --pty ls --color=auto --ignore="*[!y]" | cat
		x=$("$WDRUN" --pty ls --color=auto --ignore="*[!y]")
		printf "%s\n" "$x"'
	[ "$(grep -c $'\e\[.*directory' out)" -eq 2 ]

	complete bash -c '
		"$WDRUN" --pty -t 60 -u numbers --until-grace=0 less numbers |
			cat >first
		x=$("$WDRUN" --pty -t 60 -u numbers --until-grace=0 \
			less numbers); echo "$?"; printf "%s\n" "$x" >second'
	# less shows a screen of 24 lines, and the file's name in its prompt.
	[ "$output" = 0 ]
	for page in first second; do
		grep -q numbers "$page"
		grep -q 23 "$page"
		run ! grep -q 24 "$page"
	done
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

@test "a command has its terminal also where the caller has no stdout or stderr" {
	complete "$PROGRAMS/launch" --close 1 --close 2 "$WDRUN" --pty sh -c '
		[ -t 1 ] && [ -t 2 ] && echo into nothing && exit 3'

	[ "$status" -eq 3 ]
}

@test "a reader that has gone hangs up who ignores SIGPIPE, and nobody who writes nothing" {
	complete bash -c '"$WDRUN" --pty -t 200 "$PROGRAMS/launch" \
			--ignore PIPE yes | head -n 1
		echo "${PIPESTATUS[*]}"'
	# SIGHUP, or an error of write(2), whichever comes first
	[[ $output =~ ^y$'\n'(129|1)' 0'$ ]]
	[ -z "$stderr" ]

	start bash -c '"$WDRUN" --pty sh -c "echo first
			until [ -e go ]; do sleep 0.02; done; exit 3" </dev/null |
		{ read -r x; echo "$x"; exec <&-; : >gone; }; echo "${PIPESTATUS[0]}"'
	wait_until test -e gone
	touch go
	finish
	[ "$output" = $'first\n3' ]
	[ -z "$stderr" ]
}

@test "the terminal stays for survivors until they are stopped" {
	mkfifo pipe
	start "$WDRUN" --pty --idle-after-exit=60 --max-after-exit=60 sh -c '
		{ read -r word <pipe
		[ -t 1 ] && echo "$word" >/dev/tty; exec sleep 1000; } & 
		echo $$ >target; exit 5'
	wait_until test -s target
	wait_until is_zombie "$(<target)"
	echo "still here" >pipe
	wait_until grep -qx 'still here' out

	kill -TERM "$started"
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
	wait_until nobody_is_left
}

@test "no message is lost where other processes write to the terminal" {
	# The kernel lets one process at a time write to a terminal; a write
	# without waiting then fails.
	complete "$WDRUN" --pty bash -c '
		until [ -e over ]; do echo x; done &
		for i in {1..60}; do "$WDRUN" --nope; done
		: >over
		wait'

	[ "$status" -eq 0 ]
	[ "$(grep -c -- "--nope" out)" -eq 60 ]
}

@test "bad values and combinations: 125, one line, and no file is made" {
	local -a cases=(
		'-i x' '-i -1' '-i 1,5' '--idle-timeout=' '--until=' '-u'
		'--until-grace=x -u DONE' '--until-grace=1'
		'--until-grace=-1 -u DONE' '--idle-unless-busy'
		'--idle-unless-busy --until=DONE' '--idle-unless-busy=1 -i 1'
		'--tee' '--tee=' '--pty=yes' '--pty --foreground'
		'--tee=no/such/directory/file' '--tee=.' ''
	)
	local case arguments
	for case in "${cases[@]}"; do
		echo "--- $case"
		read -ra arguments <<<"$case"
		# COMMAND must not take the place of a missing argument.
		case $case in
		-u | --tee | '') ;;
		*) arguments+=(touch ran) ;;
		esac
		complete "$WDRUN" --tee=copy "${arguments[@]}"

		[ "$status" -eq 125 ]
		[ "$(wc -l <err)" -eq 1 ]
		only_messages
		[ ! -s out ]
		[ ! -e ran ]
		[ ! -e copy ]
	done
}
