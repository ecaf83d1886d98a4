# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2154 # what helper.bash sets is read here, the
# tests read what is set here, and a script of bash -c expands itself
#
# For tests of limits that have to be sat out.

beside_names=() beside_pids=()

# beside NAME FUNCTION ARG...: starts FUNCTION, which makes a run and its
# assertions, in the background, in a directory NAME of its own.
beside() {
	mkdir "$1"
	beside_names+=("$1")
	(
		cd "$1" || exit
		shift
		"$@"
	) >"$1/log" 2>&1 3>&- &
	beside_pids+=("$!")
}

# Waits for all that beside has started, and fails if one of them has failed.
together() {
	local i failed=0
	for i in "${!beside_pids[@]}"; do
		wait "${beside_pids[i]}" && continue
		failed=1
		echo "--- ${beside_names[i]}"
		cat "${beside_names[i]}/log"
	done
	return "$failed"
}

# directly OPTION... COMMAND...: a run for its status and its output only.
# Sets what finish sets.
directly() {
	status=0
	"$WDRUN" "$@" >out 2>err 3>&- || status=$?
	take_output
}

# The program is ready, or the run has ended before.
is_ready_or_over() {
	says_ready out || is_dead "$started"
}

# For the commands of runs: notes the present time, in microseconds, in the file
# moment, just before what counts.
note() {
	echo "${EPOCHREALTIME//[!0-9]/}" >moment
}
export -f note

# has_passed SECONDS: so much time has passed since the moment that was noted. A
# slow machine makes it more, never less.
has_passed() {
	local now=${EPOCHREALTIME//[!0-9]/} moment
	moment=$(<moment)
	echo "$(((now - moment) / 1000)) ms after the moment"
	((now - moment >= $1 * 1000000))
}

# part LIMIT PERCENT: prints that part of LIMIT seconds, for sleep(1).
part() {
	local hundredths=$(($1 * $2))
	printf '%d.%02d\n' $((hundredths / 100)) $((hundredths % 100))
}

# For the commands of runs: waits until the process is a zombie.
await_zombie() {
	local stat
	until read -r stat <"/proc/$1/stat" && [[ $stat == *") Z "* ]]; do
		pause 0.02
	done
}
export -f pause await_zombie

# reported TEXT: the file report has this piece of JSON.
reported() {
	local text
	read -rd '' text <report || true
	[[ $text == *"$1"* ]]
}

# with_hung_fs SCRIPT: starts SCRIPT where $PWD/mnt is a file system that hangs
# after `hang_fs`. The process $server serves it.
with_hung_fs() {
	need_mounts
	[ -z "$( (: <>/dev/fuse) 2>&1)" ] || skip "/dev/fuse cannot be opened"
	mkdir -p mnt
	start unshare --mount bash -c 'mount --make-rprivate /
		"$PROGRAMS/hung_fs" "$PWD/mnt" >server & server=$!
		until [ -s server ]; do pause 0.02; done
		: <mnt/file # the kernel has cached that a close sends no request
		hang_fs() {
			kill -USR1 "$server"
			until [[ $(<server) == *hung* ]]; do pause 0.02; done
		}
		export -f hang_fs
		export server
		'"$1"
	await_ready server
}
