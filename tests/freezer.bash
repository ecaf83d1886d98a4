# For tests of processes that not even SIGKILL ends: a frozen process. Load this
# file after helper; its teardown replaces that of helper.

freezers=/sys/fs/cgroup/freezer

# Skips the test where no process can be frozen.
need_freezer() {
	[ -w "$freezers/cgroup.procs" ] || skip "no cgroup-v1 freezer here"
}

# freeze PID: from now on the process does nothing, and no signal ends it.
freeze() {
	mkdir "$freezers/wdrun-test-$1"
	frozen+=("$1")
	echo "$1" >"$freezers/wdrun-test-$1/cgroup.procs"
	echo FROZEN >"$freezers/wdrun-test-$1/freezer.state"
	wait_until grep -q FROZEN "$freezers/wdrun-test-$1/freezer.state"
}

# thaw PID: the process continues, and has to end by a signal that it got
# meanwhile.
thaw() {
	echo THAWED >"$freezers/wdrun-test-$1/freezer.state"
	wait_until is_dead "$1"
	wait_until rmdir "$freezers/wdrun-test-$1" 2>/dev/null
}

teardown() {
	local pid
	# What a failed test has left frozen, no signal ends.
	for pid in "${frozen[@]}"; do
		[ -d "$freezers/wdrun-test-$pid" ] || continue
		kill -KILL "$pid" || true
		thaw "$pid" || true
	done
	common_teardown
}
