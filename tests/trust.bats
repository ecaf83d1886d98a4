#!/usr/bin/env bats
#
# What wdrun does beside other users and their files: it judges what it has
# opened, not what a name says, works at the end where it began, and touches
# only what is its own. Each test has an attack in it. The user 65534 is the
# attacker where the tests run as root.
#
# shellcheck disable=SC2016,SC2154,SC2030,SC2031

load helper
load orphans
load locks

# The directory of a test is open to this user alone: what another user has to
# reach is in $public.
setup() {
	common_setup
	public=$(mktemp -d /tmp/wdrun-trust.XXXXXX)
	chmod 755 "$public"
}

teardown() {
	rm -rf "${public:?}"
	common_teardown
}

# Runs a command as another user, who is in no group of ours.
as_other=(setpriv --reuid=65534 --regid=65534 --clear-groups)

@test "what drives a terminal or turns text round is escaped in JSON, and replaced in messages" {
	local bad name
	need jq
	make_registry
	for bad in 0080 0085 009b 009f 061c 200b 200e 200f 2028 202a 202e 2060 \
		2066 2069 feff; do
		# shellcheck disable=SC2059
		printf -v name "a\\u$bad"b
		complete "$WDRUN" --report=report --name="$name" \
			"$WDRUN" --list --json
		[ "$status" -eq 0 ]
		[ "$(jq -r .name report)" = "$name" ]
		[ "$(jq -r '.[0].name' out)" = "$name" ]
		no grep -qF "${name:1:1}" report
		no grep -qF "${name:1:1}" out
		complete "$WDRUN" --lock="/nothing/$name" true
		no grep -qF "${name:1:1}" err
		grep -q 'a?*b' err
	done
}

@test "a dead process that another one traces, so that it cannot be reaped, is told as that" {
	need python3
	start "$WDRUN" -k 100ms "$PROGRAMS/sigcount"
	await_ready
	await_watchers
	hold python3 -c 'import ctypes, os, sys, time
seize = 0x4206
if ctypes.CDLL(None).ptrace(seize, int(sys.argv[1]), 0, 0) == 0:
    print("ready", os.getpid(), flush=True)
time.sleep(1000)' "$target"
	kill -TERM "$started"
	finish

	is_zombie "$target"
	no grep -q ' 0 processes' err
	grep -q "^wdrun: .*another process traces" err
	only_messages
	release
}
