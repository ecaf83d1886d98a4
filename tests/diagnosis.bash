# shellcheck shell=bash
# shellcheck disable=SC2154
#
# For tests of what wdrun says of a command that hangs. Load this file after
# helper.

# looked_late COMMAND...: complete_late, where wdrun must also have had the time
# to look at each process (on a busy machine it says less). Not an assertion.
looked_late() {
	late look "$@"
}

look() {
	complete "$@"
	is_whole err || : >out
}

# is_whole FILE: the tree is there, and no process in it has its name and its
# state alone. One in state D may.
is_whole() {
	grep -q '^wdrun:  ' "$1" &&
		no grep -qE '^wdrun:  .* \[[RSTZ]\]$' "$1"
}

# shown <<END: each line is a row, `WORDS | COMMAND`. All COMMANDs of a shell's
# hang side by side, each in a run of its own, which --idle-timeout ends once
# COMMAND has said `ready PID` (`say` does). A line of the diagnosis has WORDS, a
# pattern, in which PID is that PID and HERE this directory.
shown() {
	local -
	set +T
	local here=$PWD row rows words failed=0
	mapfile -t rows
	late hang LIMIT
	for row in "${!rows[@]}"; do
		words=${rows[row]%% | *}
		says_ready "row$row/said"
		if has_line "row$row/err" &&
			grep -qx 'status 124' "row$row/status"; then continue; fi
		echo "not shown: $words"
		cat "row$row"/*
		failed=1
	done
	return "$failed"
}

# Lets all rows hang, with this limit, and says `ready` in out where all did.
hang() {
	local row jobs=()
	export -f pause say says_ready
	for row in "${!rows[@]}"; do
		mkdir -p "row$row"
		hang_by "$1" "row$row" "${rows[row]#* | }" 3>&- &
		jobs+=("$!")
	done
	wait "${jobs[@]}"
	: >out
	for row in "${!rows[@]}"; do
		says_ready "row$row/said" && is_whole "row$row/err" || return 0
	done
	echo ready 1 >out
}

# The run is not silent until COMMAND is ready.
# shellcheck disable=SC2016
hang_by() {
	local status=0
	: >"$2/said"
	"$WDRUN" -i "$1" -k 300ms bash -c '
		eval "$2" >"$1/said" 2>&1 &
		until says_ready "$1/said"; do echo .; pause 0.1; done
		echo "ready $ready"
		wait' - "$2" "$3" >"$2/out" 2>"$2/err" || status=$?
	echo "status $status" >"$2/status"
}

say() {
	echo "ready $BASHPID"
}

has_line() {
	local line pattern=${words/#PID/ $ready}
	pattern=${pattern//PID/$ready}
	pattern=${pattern//HERE/$here}
	while IFS= read -r line; do
		# shellcheck disable=SC2053 # it is a pattern
		[[ $line != "wdrun:  "*$pattern* ]] || return 0
	done <"$1"
	return 1
}
