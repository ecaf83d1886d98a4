# shellcheck shell=bash
#
# Completion of wdrun(1) for bash: its options and their values, then COMMAND
# with the completion that COMMAND has. bash-completion is used where it is
# loaded, and not needed.

# The kind of each option's value, empty without one: _wdrun_KIND completes the
# value. tests/completions.bats compares this with --help.
declare -gA _wdrun_options=(
	[-t]=duration [--timeout]=duration
	[-i]=duration [--idle-timeout]=duration
	[--idle-unless-busy]=''
	[-u]=text [--until]=text
	[--until-failure]=text
	[--until-grace]=duration
	[-k]=duration [--kill-after]=duration
	[-s]=signal [--signal]=signal
	[-p]='' [--preserve-status]=''
	[--idle-after-exit]=duration
	[--max-after-exit]=duration
	[--survivors]=survivors
	[--keep]=text
	[--die-with-parent]=''
	[--die-with-reader]=''
	[-f]='' [--foreground]=''
	[--setsid]=''
	[--pty]=''
	[--tee]=file
	[--report]=file
	[--heartbeat]=duration
	[--no-stdin]=''
	[-l]=file [--lock]=file
	[-w]=duration [--lock-wait]=duration
	[-E]=code [--lock-exit]=code
	[-c]=file [--cleanup]=file
	[-n]=text [--name]=text
	[--registry]=directory
	[--list]=''
	[--explain]=run
	[--json]=''
	[--cancel]=run
	[--reap]=''
	[-q]='' [--quiet]=''
	[-v]='' [--verbose]=''
	[-h]='' [--help]=''
	[-V]='' [--version]=''
)

# _wdrun_offer START WORD...: offers those words that begin with START.
_wdrun_offer() {
	local start=$1 word

	shift
	for word; do
		[[ $word != "$start"* ]] || COMPREPLY+=("$word")
	done
}

# --- values that begin with $1 -----------------------------------------------

# After a number its units, else common values.
_wdrun_duration() {
	if [[ $1 =~ ^([0-9]+\.?[0-9]*|\.[0-9]+) ]]; then
		local number=${BASH_REMATCH[0]}

		_wdrun_offer "$1" "$number"{ms,s,m,h,d,w}
	else
		_wdrun_offer "$1" 1s 10s 1m 10m 1h never
	fi
}

_wdrun_signal() {
	local names=(HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE
		ALRM TERM CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ
		VTALRM PROF WINCH IO PWR SYS RTMIN RTMAX)

	[[ $1 != SIG* ]] || names=("${names[@]/#/SIG}")
	_wdrun_offer "$1" "${names[@]}"
}

_wdrun_survivors() {
	_wdrun_offer "$1" kill wait leave
}

_wdrun_code() {
	_wdrun_offer "$1" 0 75
}

# readline completes these two kinds itself, with quotes and ~.
_wdrun_file() {
	compopt -o default 2>/dev/null
}

_wdrun_directory() {
	compopt -o dirnames 2>/dev/null
}

_wdrun_text() {
	:
}

# Sets plain to the value of the word $1. Fails where the shell would have to
# expand something for that, since TAB must not execute anything.
_wdrun_plain() {
	local rest=$1 quote='' char

	plain=''
	[[ $rest != *[\$\`]* ]] || return
	rest=${rest/#\~\//"$HOME/"}
	while [[ $rest ]]; do
		char=${rest:0:1}
		rest=${rest:1}
		case $quote$char in
		\' | \") quote=$char ;;
		"''" | '""') quote='' ;;
		\\ | \"\\)
			[[ ! $quote || $rest == [\"\\]* ]] || plain+=$char
			plain+=${rest:0:1}
			rest=${rest:1}
			;;
		*) plain+=$char ;;
		esac
	done
}

# Sets quoted to $1 as it has to be written, behind the opening quote if the word
# has one. Fails if that is not possible.
_wdrun_quote() {
	case $quote in
	\')
		quoted=$1
		[[ $1 != *\'* ]]
		;;
	\") quoted=${1//[\"\$\`\\]/\\&} ;;
	*) printf -v quoted %q "$1" ;;
	esac
}

# Offers IDs and names of the runs on record. A name that JSON has to escape is
# left out; the ID of its run is offered.
_wdrun_run() {
	local run quoted plain program

	_wdrun_plain "${words[0]}" || return
	program=$plain
	_wdrun_plain "$registry" || return
	while IFS= read -r run; do
		! _wdrun_quote "$run" || _wdrun_offer "$1" "$quoted"
	done < <("$program" ${plain:+--registry="$plain"} --list \
		--json 2>/dev/null | sed -nE 'h
			s/^\{"id":"([^"]*)".*/\1/p
			g
			s/^\{"id":"[^"]*","name":"([^"\\]+)".*/\1/p')
}

# --- the line ----------------------------------------------------------------

# Cuts the line up to the cursor into the words that the shell will see, since
# COMP_WORDS is cut at = and : as well. Sets words, and places: the index in
# COMP_WORDS at which each word begins.
_wdrun_split() {
	local rest=${COMP_LINE:0:COMP_POINT} blank part i

	words=() places=()
	for ((i = 0; i <= COMP_CWORD; i++)); do
		blank=${rest%%[![:space:]]*}
		rest=${rest#"$blank"}
		part=${COMP_WORDS[i]}
		((i < COMP_CWORD)) || part=$rest
		rest=${rest#"$part"}
		if ((i == 0)) || [[ $blank ]]; then
			words+=("$part")
			places+=("$i")
		else
			words[-1]+=$part
		fi
	done
}

# Sets option to the option that $1 is or abbreviates, and kind to the kind of its
# value.
_wdrun_look_up() {
	local name

	option=$1
	if [[ ! -v _wdrun_options[$option] ]]; then
		for name in "${!_wdrun_options[@]}"; do
			[[ $name != "$1"* ]] || option=$name
		done
	fi
	kind=${_wdrun_options[$option]-}
}

# The same for the last option of a cluster like -pt, or for the option whose value
# is the rest of the cluster. Sets has_value in the second case.
_wdrun_look_into() {
	local letters=${1#-}

	while [[ $letters ]]; do
		_wdrun_look_up "-${letters:0:1}"
		letters=${letters:1}
		[[ ! $kind ]] || break
	done
	has_value=$letters
}

# Goes over the words before the last word. Sets command to the index of COMMAND, if
# it is there; kind to the kind of value that the last word is, if it is a value;
# mode to an option that takes no COMMAND; registry.
_wdrun_walk() {
	local i option has_value

	for ((i = 1; i < ${#words[@]} - 1; i++)); do
		has_value=''
		case ${words[i]} in
		--)
			command=$((i + 1))
			return
			;;
		--*)
			_wdrun_look_up "${words[i]%%=*}"
			[[ ${words[i]} != *=* ]] || has_value=yes
			;;
		-?*) _wdrun_look_into "${words[i]}" ;;
		*)
			command=$i
			return
			;;
		esac
		case $option in
		--list | --explain | --reap | --cancel) mode=$option ;;
		--registry)
			registry=${words[i + 1]}
			[[ ! $has_value ]] || registry=${words[i]#*=}
			;;
		esac
		if [[ $kind && ! $has_value ]]; then
			((++i < ${#words[@]} - 1)) || return
		fi
		kind=''
	done
}

# Completes COMMAND or one of its arguments.
_wdrun_command() {
	local place=${places[command]}

	if declare -F _comp_command_offset >/dev/null; then
		_comp_command_offset "$place"
	elif declare -F _command_offset >/dev/null; then
		_command_offset "$place"
	elif ((command == ${#words[@]} - 1)); then
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -c -- "${words[command]}"
			compgen -d -- "${words[command]}")
	else
		compopt -o bashdefault -o default 2>/dev/null
	fi
}

# Completes the name of an option, or a value in the same word.
_wdrun_option() {
	local word=$1 option kind has_value names=("${!_wdrun_options[@]}") i

	if [[ $word == --*=* ]]; then
		_wdrun_look_up "${word%%=*}"
		[[ ! $kind ]] || _wdrun_value "$kind" "${word#*=}" "${word%%=*}="
		return
	elif [[ $word == -[!-]* ]]; then
		_wdrun_look_into "$word"
		if [[ $kind && $has_value ]]; then
			_wdrun_value "$kind" "$has_value" "${word%"$has_value"}"
			return
		fi
	fi
	case $mode in
	--list | --explain) names=(--json --registry --quiet --verbose) ;;
	?*) names=(--registry --quiet --verbose) ;;
	esac
	for i in "${!names[@]}"; do
		[[ ${names[i]} != --* || ! ${_wdrun_options[${names[i]}]} ]] ||
			names[i]+='='
	done
	_wdrun_offer "$word" "${names[@]}"
	[[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace 2>/dev/null
}

# _wdrun_value KIND START [BEFORE]: completes a value. readline replaces the text
# after an opening quote, or else after the last = or :, unless COMP_WORDBREAKS
# lacks these.
_wdrun_value() {
	local before=${3-} whole=${3-}$2 kept='' quote='' cut i

	if [[ $2 == [\"\']* ]]; then
		quote=${2:0:1}
		"_wdrun_$1" "${2:1}"
		return
	fi
	"_wdrun_$1" "$2"
	for cut in = :; do
		[[ $COMP_WORDBREAKS == *"$cut"* && ${whole#"$kept"} == *"$cut"* ]] ||
			continue
		kept=${whole%"$cut"*}$cut
	done
	for i in "${!COMPREPLY[@]}"; do
		COMPREPLY[i]=$before${COMPREPLY[i]}
		COMPREPLY[i]=${COMPREPLY[i]#"$kept"}
	done
}

_wdrun() {
	local words places command='' kind='' mode='' registry='' last

	COMPREPLY=()
	_wdrun_split
	_wdrun_walk
	last=${words[-1]}
	if [[ $command ]]; then
		_wdrun_command
	elif [[ $kind ]]; then
		_wdrun_value "$kind" "$last"
	elif [[ $last == -* ]]; then
		_wdrun_option "$last"
	elif [[ ! $mode ]]; then
		command=$((${#words[@]} - 1))
		_wdrun_command
	fi
}

complete -F _wdrun wdrun
