# For tests of runs, and of limits that have to be sat out.

# wdrun_directly OPTION... COMMAND...: a run for its status and its output only.
# Sets what finish sets.
wdrun_directly() {
	directly "$WDRUN" "$@"
}

# has_lines NUMBER REGEX [FILE]: so many lines of FILE (out) are that.
has_lines() {
	[ "$(grep -cxE "$2" "${3:-out}")" -eq "$1" ]
}

# beside NAME FUNCTION ARG...: FUNCTION tests a run in the background, in a directory NAME.
beside() {
	mkdir "$1"
	(cd "$1" && "${@:2}") 3>&- &
	beside+=("$!")
}

# Waits for all that beside has started, and fails if one of them has failed.
together() {
	local pid failed=0
	for pid in "${beside[@]}"; do wait "$pid" || failed=1; done
	return "$failed"
}

# For the commands of runs: notes the present time, in microseconds, in the file
# moment, just before what counts.
note() {
	echo "${EPOCHREALTIME//[!0-9]/}" >moment
}

# has_passed SECONDS: so much time has passed since the moment that was noted. A
# slow machine makes it more, never less.
has_passed() {
	local now=${EPOCHREALTIME//[!0-9]/} moment
	moment=$(<moment)
	echo "$(((now - moment) / 1000)) ms after the moment"
	((now - moment >= $1 * 1000000))
}

# For the commands of runs: waits until there is something in FILE.
await_file() {
	until [ -s "$1" ]; do pause 0.02; done
}
export -f note pause await_file

# ends_after LIMIT STATUS ARGUMENT...: a run with these arguments ends with STATUS, LIMIT
# seconds after its command, $half seconds after its start, has noted the moment. Where the
# machine was slow, and the run ended earlier, late tries a longer limit.
ends_after() {
	rm -f moment
	half=$(($1 / 2)).5 gives "$2" complete "$WDRUN" "${@:3}"
	[ -s moment ] || return 0
	has_passed "$1" || return 0
	printf '\nready 1\n' >>out # for late
}

# reported TEXT: the file report has this piece of JSON.
reported() {
	grep -qF "$1" report
}
