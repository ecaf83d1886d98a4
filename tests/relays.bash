# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # they share variables with the tests
#
# For tests that look at the processes of a run that has relays.

# supervisor_of FRONT: prints the PID of its supervisor.
supervisor_of() {
	local pid
	for pid in $(children_of "$1"); do
		[ "$(<"/proc/$pid/comm")" != wd-supervisor ] || echo "$pid"
	done
}

# relays_of FRONT: prints the PIDs of the relays of its output and its input.
relays_of() {
	local pid
	for pid in $(children_of "$1"); do
		[ "$(<"/proc/$pid/comm")" != wd-relay ] || echo "$pid"
	done
}

# wdrun_of PID: sets front to the wdrun that is a child of PID.
wdrun_of() {
	local pid
	front=''
	for pid in $(children_of "$1"); do
		[ ! "/proc/$pid/exe" -ef "$WDRUN" ] || front=$pid
	done
	[ -n "$front" ]
}

# Sets front, supervisor and target of the wdrun that runs below the process
# that was started.
await_run_below() {
	wait_until wdrun_of "$started"
	wait_until has_watched_target
}

has_watched_target() {
	supervisor=$(supervisor_of "$front")
	[ -n "$supervisor" ] || return
	target=$(children_of "$supervisor" | head -n 1)
	[ -n "$target" ] &&
		no cmp -s "/proc/$supervisor/cmdline" "/proc/$target/cmdline"
}

target_runs() {
	one_front && has_watched_target
}
