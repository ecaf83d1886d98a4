#!/usr/bin/env bats
#
# At the end of a run its locks, files and registry entry are removed. Trouble
# with one of these neither delays the end nor changes the status: promises 2, 3
# and 5.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load freezer

end_by_itself() {
	mkdir end && cd end || return
	with_hung_fs '"$WDRUN" --lock="$PWD/ok.lock" --cleanup="$PWD/mnt/file" \
			bash -c "hang_fs; exit 3"
		echo "status $?"
		[ -e ok.lock ] || echo gone
		kill -KILL $server'
	finish

	grep -qx 'status 3' out
	grep -qx gone out
	[[ $stderr == *"file system"* ]]
	only_messages
}

be_killed() {
	mkdir kill && cd kill || return
	late complete_with_hung_fs '"$WDRUN" -t LIMIT -k 300ms \
			--cleanup="$PWD/mnt/file" \
			bash -c "hang_fs; exec \"\$PROGRAMS/escape\" fork setsid stubborn"
		echo "status $?"
		kill -KILL $server'

	grep -qx 'status 124' out
	is_dead "$ready"
}

# Both at the same time, since each waits for bounds of 5 s.
@test "a file to clean up on a hung file system delays neither the end nor a kill, and keeps no lock held" {
	need_mounts
	end_by_itself 3>&- &
	local other=$!
	(be_killed)
	wait "$other"
	nobody_is_left
}

# An impatient user, who sees wdrun hang.
@test "a front that is killed while a file system hangs the end does not keep another lock" {
	with_hung_fs '"$WDRUN" --lock="$PWD/ok.lock" --cleanup="$PWD/mnt/file" \
			bash -c "hang_fs; echo \$\$ >target" &
		front=$!
		until [ -s target ] && [ ! -e "/proc/$(cat target)" ]; do
			sleep 0.02
		done
		kill -KILL "$front"
		wait "$front"
		SECONDS=0
		while [ -e ok.lock ] && ((SECONDS < 100)); do sleep 0.02; done
		[ -e ok.lock ] || echo gone
		kill -KILL $server'
	finish

	grep -qx gone out
	wait_until nobody_is_left
}

@test "a lock file on a file system that hangs at the start can be interrupted" {
	with_hung_fs 'kill -USR1 "$server"
		until grep -q hung server; do sleep 0.02; done
		"$WDRUN" --lock="$PWD/mnt/other" touch ran &
		until [ "/proc/$!/exe" -ef "$WDRUN" ] &&
			grep -q "^State:.[SD]" "/proc/$!/status"; do sleep 0.02; done
		kill -TERM $!
		status=0
		wait $! || status=$?
		echo "status $status"
		kill -KILL $server'
	finish

	grep -qx 'status 143' out
	[ ! -e ran ]
}

says() {
	[ "$(cat "$1" 2>/dev/null)" = "$2" ]
}

@test "a front that is killed leaves the lock to the supervisor, until the tree is dead" {
	start "$WDRUN" --lock=run.lock "$PROGRAMS/escape" fork setsid
	await_ready
	await_watchers
	says run.lock "$front"
	freeze "$ready"

	kill -KILL "$front"
	wait_until says run.lock "$supervisor"
	is_alive "$ready"
	run -75 "$WDRUN" --lock=run.lock true

	thaw "$ready"
	finish
	wait_until test ! -e run.lock
}

@test "a run with an unkillable process stays on record with its lock file, until --reap" {
	start "$WDRUN" --registry="$PWD/registry" -k 100ms \
		--cleanup=pid.lock "$PROGRAMS/escape" fork setsid
	await_ready
	echo "$ready" >pid.lock
	freeze "$ready"

	kill -TERM "$started"
	finish
	[ "$status" -eq 143 ]
	is_alive "$ready"
	[ -e pid.lock ]
	"$WDRUN" --list --registry="$PWD/registry" | grep -q orphaned

	thaw "$ready"
	wait_until "$WDRUN" --reap --registry="$PWD/registry"
	[ ! -e pid.lock ]
	[ "$("$WDRUN" --list --registry="$PWD/registry" | wc -l)" -eq 0 ]
}

@test "a run that cannot start leaves neither lock nor entry" {
	complete "$WDRUN" --lock=run.lock --registry="$PWD/registry" ./absent
	[ "$status" -eq 127 ]
	[ ! -e run.lock ]
	[ -z "$(ls registry)" ]

	complete bash -c 'ulimit -u 1; exec setpriv --reuid 65534 --clear-groups \
		"$1" --lock=/tmp/wdrun-$$.lock true' - "$WDRUN"
	[ "$status" -ne 0 ]
	[ -z "$(find /tmp -maxdepth 1 -name "wdrun-$started.lock")" ]
}

@test "a registry that cannot be written gives 125, and nothing is run" {
	need_root
	mkdir -m 0700 registry
	mount -t tmpfs -o size=4k,nr_inodes=1,mode=0700 none registry 2>why ||
		skip "$(<why)"
	complete "$WDRUN" --registry="$PWD/registry" --lock=run.lock touch ran
	umount registry

	[ "$status" -eq 125 ]
	[ ! -e ran ]
	[ ! -e run.lock ]
	only_messages
}

@test "an entry is written before the command is executed, and removed at the end" {
	complete "$WDRUN" --name=early --registry="$PWD/registry" sh -c \
		'cat registry/*.run; echo "$WDRUN_ID"; ls registry/*.run'
	[ "$status" -eq 0 ]
	grep -qx 'name early' out
	grep -qx end out
	id=$(sed -n 's/^id //p' out)
	grep -qx "$id" out
	grep -qx "registry/$id.run" out
	[ -z "$(ls -A registry)" ]
}
