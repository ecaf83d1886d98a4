#!/usr/bin/env bats
#
# Containers and unusual machines: wdrun as PID 1, without /proc or with that of
# another PID namespace, beside processes that may not be seen, and with some that cannot be killed.

load helper

container=(unshare --pid --fork --mount-proc)
escape=(escape fork setsid stubborn)

@test "as PID 1 wdrun has the command's status, forwards signals, and reaps; under another PID 1 no zombie is left" {
	need nsenter
	need_unshare "${container[@]:1}"
	complete wait_status "${container[@]}" "$WDRUN" sh -c 'kill -TERM $$'
	[ "$output" = "exit 143" ]
	[ ! -s err ]

	start_run "${container[@]}" "$WDRUN" sigcount
	kill -USR1 "$front"
	wait_until grep -qx 'got 10' out
	nsenter --target "$front" --pid sh -c 'sleep 1000 & echo $!' >orphan 3>&-
	no has_children 1 "$front"
	nsenter --target "$front" --pid kill -KILL "$(<orphan)"
	wait_until has_children 1 "$front"
	ended_by TERM 7 "$front"

	# This PID 1 reaps nothing but its own child: it and bash are all there is.
	complete "${container[@]}" wait_status bash -c '
		"$WDRUN" true; "$WDRUN" -t 100ms sleep 1000
		pids=(/proc/[0-9]*); exit ${#pids[@]}'
	[ "$output" = "exit 2" ]
}

# bats test_tags=tree,slow
@test "in a PID namespace, a timeout and SIGKILL of the supervisor end the tree" {
	need_unshare "${container[@]:1}"
	gives 124 complete_late "${container[@]}" "$WDRUN" -t LIMIT -k 100ms "${escape[@]}"
	nobody_is_left
	start_run "${container[@]}" "$WDRUN" "${escape[@]}"
	kill -KILL "$supervisor"
	gives 137 finish
	wait_until nobody_is_left
}

@test "survivors in a process group of another PID namespace get the first signal" {
	need_unshare "${container[@]:1}"
	gives 3 complete "${container[@]}" "$WDRUN" --foreground --idle-after-exit=300ms -k 20 sh -c '
		(trap "echo got 15; exit" TERM; echo ready 1; while :; do sleep 0.1; done) & exit 3'
	[[ $output == *'got 15' ]]
}

# wdrun stays outside there, and its first child is PID 1.
@test "under unshare --pid without --fork nothing is run, and a message says why" {
	need_unshare --pid
	gives 125 complete unshare --pid "$WDRUN" touch ran
	has_message --fork
	[ ! -e ran ]
	gives 125 complete unshare --pid --fork unshare --pid "$WDRUN" -l lock --report=report touch ran
	has_message --fork
	[ ! -e ran ]
	[ ! -e lock ]
	[ -s report ]
}

@test "if --die-with-parent cannot watch a caller in another PID namespace, nothing is run, and a message says why" {
	need_unshare --pid --fork
	gives 125 complete unshare --pid --fork "$WDRUN" --die-with-parent touch ran
	has_message --die-with-parent 'another PID namespace'
	[ ! -e ran ]
}

@test "after the death of the command, survivors that die leave no zombies" {
	underway --survivors=wait bash -c '
		for _ in {1..10}; do escape --live & done
		jobs -p >orphans; echo "ready $$"; exit 3'
	mapfile -t orphans <orphans
	wait_until is_gone "$ready"

	# One SIGCHLD can stand for many deaths, also shortly after another.
	kill -KILL "${orphans[0]}"
	pause 0.02
	kill -KILL "${orphans[@]:1:8}"
	wait_until has_children 1 "$supervisor"
	kill -KILL "${orphans[9]}"
	gives 3 finish
}

# bats test_tags=smoke,slow
@test "without /proc a command keeps its status; a timeout ends its process group, and a message says what is missing" {
	unmounted='mount -t tmpfs none /proc; exec "$WDRUN" "$@"'
	need_mounts
	gives 42 complete unshare --mount sh -c "$unmounted" - -t 60 sh -c 'exit 42'
	gives 124 complete_late unshare --mount sh -c "$unmounted" - -t LIMIT -k 100ms \
		escape stubborn
	has_message /proc
	is_dead "$ready"
	nobody_is_left
}

# In the inner namespace the supervisor becomes PID 2, and unrelated processes
# get the numbers that children of kthreadd have outside. A wdrun that took the
# outer /proc/2 for its supervisor would kill them.
# bats test_tags=slow
@test "with the /proc of another PID namespace no unrelated process gets a signal" {
	need_unshare --pid --fork
	[ -w /proc/sys/kernel/ns_last_pid ] || skip "PIDs cannot be chosen"
	grep -qsx kthreadd /proc/2/comm || skip "no kthreadd here"
	complete_late unshare --pid --fork bash -c '
		next=/proc/sys/kernel/ns_last_pid
		echo 2 >$next
		for _ in {3..10}; do escape --live & done
		echo 99 >$next
		bash -c "echo 1 >$next; exec \"\$WDRUN\" -t LIMIT -k 100ms escape stubborn"
		echo "status $?"
		echo $(jobs -rp) live'
	[[ $output == *$'\nstatus 124\n3 4 5 6 7 8 9 10 live' ]]
	wait_until nobody_is_left
}

# bash gives the foreground to its job, which kills bash, and exits: so its number stays there.
@test "with --pty, whoever has the number of a dead foreground group is not hung up when the reader is gone" {
	need_unshare --pid --fork --mount-proc
	[ -w /proc/sys/kernel/ns_last_pid ] || skip "PIDs cannot be chosen"
	executable job 'bash -mc "sh -c \"echo \\\$\\\$ >group; kill -KILL \\\$PPID\"; :"
		echo line; until [ -e taken ]; do sleep 0.02; done; while echo line; do sleep 0.02; done'
	complete unshare --pid --fork --mount-proc bash -c '
		"$WDRUN" --pty ./job 2>err | head -n 1 &
		until [ -s group ]; do sleep 0.02; done; group=$(<group)
		while kill -0 "$group"; do sleep 0.02; done 2>/dev/null
		echo $((group - 1)) >/proc/sys/kernel/ns_last_pid
		setsid sleep 1000 &
		: >taken; wait %1; kill "$group" && echo "$((group - $!)) alive"'
	[[ $output == *$'\n0 alive' ]]
}

# bats test_tags=slow
@test "the whole tree is found even if the kernel does not list children (CONFIG_PROC_CHILDREN)" {
	need nsenter
	need_mounts
	unshare --mount bash -c 'mount -t tmpfs none "/proc/$$/task"' 2>error || skip "$(<error)"
	for signal in TERM KILL; do
		start_run unshare --mount "$WDRUN" -k 100ms "${escape[@]}"
		# As if CONFIG_PROC_CHILDREN were missing.
		nsenter --mount="/proc/$supervisor/ns/mnt" \
			mount -t tmpfs none "/proc/$supervisor/task"
		kill -s "$signal" "$front"
		finish
		wait_until nobody_is_left # the supervisor included
		is_dead "$ready"
	done
}

# bats test_tags=slow
@test "if /proc hides processes, a daemon that is not dumpable dies all the same, and so does a setuid command" {
	need_mounts
	need_other_user
	give_to_all escape
	hidden=(unshare --mount sh -c 'mount --make-rprivate / &&
		mount -t proc -o hidepid=2 proc /proc && exec "$@"'
		- "${as_nobody[@]}" "$WDRUN" -k 100ms)
	gives 3 complete "${hidden[@]}" --idle-after-exit=300ms \
		./escape -x 3 fork setsid fork undumpable
	says_ready out
	is_dead "$ready"

	chmod u+s escape
	gives 124 complete_late "${hidden[@]}" -t LIMIT ./escape
	is_dead "$ready"
	nobody_is_left
}

# bats test_tags=slow
@test "at the user's limit of processes, a fork bomb is ended, and no new command is executed" {
	user=$((60000 + $$ % 5000)) # no other test uses it at the same time
	as_user=(setpriv --reuid "$user" --regid "$user" --clear-groups ./wdrun)
	need prlimit
	need_other_user
	give_to_all bomb
	gives 125 directly prlimit --nproc=1 "${as_user[@]}" --report=/dev/stdout true
	grep -q '"outcome":"not executed","reason":"cannot fork for .true.: Resource temporarily unavailable"' out
	start prlimit --nproc=40 "${as_user[@]}" -k 100ms ./bomb
	await_ready
	ended_by TERM 137 # the bomb ignores SIGTERM
	nobody_is_left
}

# A process of root stands for all that SIGKILL does not end, as in state D.
# bats test_tags=slow
@test "a process that SIGKILL does not end is named, waited for up to a limit, and kept on record until --reap" {
	need_other_user
	give_to_all escape
	chmod u+s escape
	directly "${as_nobody[@]}" ./escape -x 0 root-user
	says_ready out || skip "no setuid on this file system"
	end_leftovers

	as_nobody+=("$WDRUN")
	export WDRUN_REGISTRY=$PWD/registry
	start_run "${as_nobody[@]}" --report=report -k 100ms --cleanup=pid.lock \
		./escape fork setsid root-user
	echo "$ready" >pid.lock
	ended_by TERM 143
	has_message "$ready" escape
	only_messages
	grep -q "\"left\":\[{\"pid\":$ready,.*\"command\":\".*escape" report
	is_alive "$ready"
	[ -e pid.lock ]
	wait_until eval '[[ $("${as_nobody[@]}" --list) == *orphaned* ]]'

	kill -KILL "$ready"
	wait_until "${as_nobody[@]}" --reap
	[ ! -e pid.lock ]
	[ -z "$("${as_nobody[@]}" --list)" ]

	# Where the front is killed, the supervisor holds the lock.
	start_run "${as_nobody[@]}" --lock=run.lock ./escape fork setsid root-user
	grep -qx "$front" run.lock
	kill -KILL "$front"
	await "$front"
	is_alive "$ready"
	gives 75 complete "${as_nobody[@]}" --lock=run.lock true
	kill -KILL "$ready"
	wait_until test ! -e run.lock
}

# It has 400 MiB in small pages, and the lowest priority, on the processor of a busy
# process of its session. That goes on for longer than wdrun waits for a process that
# is not dying, and then leaves it all processors.
# bats test_tags=slow
@test "wdrun waits for a process that is slow to die because it gets no processor" {
	start_run "$WDRUN" -f -k 100ms python3 -c '
import mmap, os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
memory = mmap.mmap(-1, 400 << 20)
memory.madvise(mmap.MADV_NOHUGEPAGE)
for at in range(0, len(memory), mmap.PAGESIZE):
    memory[at] = 1
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
print("ready", os.getpid(), flush=True)
signal.pause()'
	python3 -c '
import os, sys, time
processors = os.sched_getaffinity(0)
os.sched_setaffinity(0, {max(processors)})
print("busy", flush=True)
end = time.monotonic() + 7
while time.monotonic() < end:
    pass
os.sched_setaffinity(int(sys.argv[1]), processors)' "$target" >hog 2>&1 3>&- &
	hog=$!
	wait_until grep -q busy hog
	ended_by TERM 137
	is_dead "$target"
	await "$hog"
}

# Without privilege, the kernel takes one such write in 100 ms.
# bats test_tags=slow
@test "if the kernel refuses the nice value of a session for now, wdrun tries again" {
	need_other_user
	[ -e /proc/self/autogroup ] || skip "this kernel has no autogroup (CONFIG_SCHED_AUTOGROUP)"
	give_to_all sigcount
	start_run "${as_nobody[@]}" nice -n 7 sh -c 'echo 0 >/proc/self/autogroup 2>/dev/null; exec "$0" ./sigcount' "$WDRUN"
	wait_until grep -q " nice $(nice -n 7 nice)$" "/proc/$target/autogroup"
	ended_by TERM 7
}
