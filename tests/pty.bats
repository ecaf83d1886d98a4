#!/usr/bin/env bats
#
# --pty where no terminal is about: a command gets one, and its output is the
# caller's, byte for byte.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load bounds

# bats test_tags=smoke
@test "stdout and stderr are the controlling terminal, 24 by 80; stdin and status are as ever" {
	directly --pty sh -c '[ -t 0 ] || echo no; [ -t 1 ] && [ -t 2 ] && echo yes
		read -r x; echo "$x"; echo error >&2; echo words >/dev/tty
		stty size </dev/tty
		read -r _ _ _ _ group session _ front _ </proc/$$/stat
		[ "$session" = $PPID ] && [ "$group $front" = "$$ $$" ] && exit 42' \
		<<<input
	[ "$output" = $'no\nyes\ninput\nerror\nwords\n24 80' ]
	[ -z "$stderr" ]
	[ "$status" -eq 42 ]

	directly --pty printf 'a\nb\tc\r\n\n.'
	[ "$output" = $'a\nb\tc\r\n\n.' ]

	# Where the caller has no stdout or stderr it has its terminal too.
	status=0
	"$WDRUN" --pty sh -c '[ -t 1 ] && [ -t 2 ] && echo into nothing &&
		exit 3' >&- 2>&- || status=$?
	[ "$status" -eq 3 ]
}

@test "a reader that has gone hangs up nobody who writes nothing" {
	mkfifo go
	"$WDRUN" --pty sh -c 'echo first; read -r x <go; exit 3' 2>err |
		{ read -r x; exec <&-; echo "$x" >go; [ "$x" = first ]; } || true
	[ "${PIPESTATUS[0]}" -eq 3 ]
	[ ! -s err ]
}

@test "the terminal stays for survivors, also where they are let go, without a SIGHUP" {
	mkfifo pipe
	gives 5 directly --pty --survivors=leave sh -c '{ trap "echo hup >>how" HUP
		read -r word <pipe; [ -t 1 ] && echo "$word" >>how; } & exit 5'
	echo here >pipe
	wait_until nobody_is_left
	take how
	[ "$taken" = here ]
}

@test "no message is lost where other processes write to the terminal" {
	# The kernel lets one process at a time write to a terminal; a write
	# without waiting then fails.
	"$WDRUN" --pty bash -c 'until [ -e over ]; do echo x; done &
		for i in {1..20}; do "$WDRUN" --nope; done; : >over; wait' >out
	[ "$(grep -c -- --nope out)" -eq 20 ]
}
