# shellcheck shell=bash
#
# For tests of what does not even die of SIGKILL: a process that is frozen. Load
# this behind helper, whose teardown it takes the place of.

freezers=/sys/fs/cgroup/freezer
frozen=()

# Skips the test where nothing can be frozen. For tests that start something
# first; freeze does it as well.
need_freezer() {
	[ -w "$freezers/cgroup.procs" ] || skip "no cgroup-v1 freezer here"
}

# freeze PID: from now on it does nothing, and dies of no signal.
freeze() {
	need_freezer
	mkdir "$freezers/wdrun-test-$1"
	frozen+=("$1")
	echo "$1" >"$freezers/wdrun-test-$1/cgroup.procs"
	echo FROZEN >"$freezers/wdrun-test-$1/freezer.state"
	wait_until grep -q FROZEN "$freezers/wdrun-test-$1/freezer.state"
}

# thaw PID: it goes on, which it has to end by, of what was sent to it meanwhile.
thaw() {
	echo THAWED >"$freezers/wdrun-test-$1/freezer.state"
	wait_until is_dead "$1"
	wait_until rmdir "$freezers/wdrun-test-$1" 2>/dev/null
}

# What a test has left frozen, as it failed: nobody else can end that.
thaw_all() {
	local pid
	for pid in "${frozen[@]}"; do
		[ -d "$freezers/wdrun-test-$pid" ] || continue
		kill -KILL "$pid" || true
		thaw "$pid" || true
	done
}

teardown() {
	thaw_all
	common_teardown
}
