# For tests of what wdrun says of a command that hangs. Load this file after
# helper.

# The options of a stop whose first signal changes nothing: where wdrun is woken
# late it signals first and then looks, and sees the same.
stop=(-s URG -k 300ms)

# shown <<END: each line is a row, `WORDS | COMMAND`. All COMMANDs of a shell's
# hang side by side, in one run, which --idle-timeout ends once each COMMAND has
# said `ready PID` (`say` does). A line of the diagnosis has WORDS, a pattern, in
# which PID is that PID and HERE this directory. The COMMAND of a row that has
# none is that of the row before.
shown() {
	local here=$PWD row rows words commands=() failed=0 said
	mapfile -t rows
	for row in "${rows[@]}"; do
		[[ $row == *" | "* ]] || row=
		commands+=("${row#* | }")
	done
	late hang LIMIT
	show_output
	[ "$status" -eq 124 ]
	for row in "${!rows[@]}"; do
		words=${rows[row]%% | *}
		[ ! -e "said$row" ] || said=said$row
		says_ready "$said"
		if has_line err; then continue; fi
		echo "not shown: ${words/#PID/$ready}"
		failed=1
	done
	return "$failed"
}

# Lets all rows hang, with this limit. The run is not silent until all are ready.
hang() {
	export -f pause say say_when says_ready
	status=0
	"$WDRUN" -i "$1" "${stop[@]}" bash -c '
		for command; do
			file=said$((count++))
			[ -n "$command" ] || continue
			: >"$file"
			eval "$command" >"$file" 2>&1 &
		done
		for file in said*; do
			until says_ready "$file"; do echo .; pause 0.05; done
		done
		echo "ready $ready"
		wait' - "${commands[@]}" >out 2>err 3>&- 4>&- || status=$?
}

say() {
	echo "ready $BASHPID"
}

# say_when FILE: for a COMMAND that another row starts.
say_when() {
	until says_ready "$1"; do pause 0.05; done
	echo "ready $ready"
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
