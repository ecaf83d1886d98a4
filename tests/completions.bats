#!/usr/bin/env bats
#
# completions/: each shell offers the options of wdrun and their values, and
# then what the shell offers for COMMAND. The tests ask the shells themselves.
# bats file_tags=words

load helper
load orphans

completions=$root/completions

setup() {
	common_setup
	mkdir path some-directory
	ln -s "$WDRUN" path/wdrun
	: >some-file
	PATH=$PWD/path:$PATH
	export HOME=$PWD
	unset WDRUN_REGISTRY
}

# --- asking ------------------------------------------------------------------

# ask_bash [SOURCED...], ask_zsh, ask_fish: writes what the shell offers for each line of
# the file lines to the file words. Files SOURCED are read before the completion.
ask_bash() {
	local line answer
	# Ctrl-Y notes the line, in which readline has inserted what it would offer.
	cat >profile <<-'END'
		bind -x '"\C-y": printf "%s\n" "$READLINE_LINE" >>answers; READLINE_LINE='
	END
	printf '. %q\n' "$@" "$completions/wdrun.bash" >>profile
	: >answers
	{ sed 's/$/\x1b*\x19/' lines | tr -d '\n' && echo exit; } |
		script -qec 'bash --noprofile --rcfile profile -i' screen >/dev/null 3>&-
	while IFS= read -r line && IFS= read -ru 8 answer; do
		[ "$answer" != "$line" ] || answer=
		echo "${answer#"${line%"${line##*[ =:]}"}"}"
	done <lines 8<answers >words && no grep 'command not found' screen
}

ask_zsh() {
	cat >.zshrc <<-'END'
		fpath=($completions $fpath)
		autoload -Uz compinit && compinit -C -d $BATS_FILE_TMPDIR/dump
		comppostfuncs=(say_nothing)
		say_nothing() { compstate[list]= compstate[insert]= }
		compadd() {
			local -a hits
			if (( ${@[(I)-[OAD]]} == 0 )); then
				builtin compadd -O hits "$@"
				found+=($hits)
			fi
			builtin compadd "$@"
		}
		zle-line-init() {
			for BUFFER in "${(@f)$(<lines)}"; do
				found=()
				CURSOR=$#BUFFER
				zle list-choices
				print -r -- $found
			done >words
			BUFFER=exit
			zle accept-line
		}
		zle -N zle-line-init
	END
	completions=$completions script -qec 'zsh -d -i' screen >/dev/null 3>&-
}

ask_fish() {
	fish -c 'source $argv[1]
		while read -l line
			echo (complete -C $line | string replace -r "\t.*" "")
		end' "$completions/wdrun.fish" <lines >words 3>&-
}

# expect SHELL [ARGUMENT...]: asks SHELL for the part before the last colon of each
# line of stdin, and compares the words that it offers, sorted, with the part after it.
# _ stands for a blank at the end.
expect() {
	local offered
	cat >rows
	sed -e 's/:[^:]*$//' -e 's/_$/ /' rows >lines
	"ask_$1" "${@:2}"
	while read -ra offered; do
		printf '%s\n' "${offered[@]}" | LC_ALL=C sort -u | paste -sd ' '
	done <words | paste -d : <(sed 's/:[^:]*$//' rows) - | diff rows -
}

signals='ABRT ALRM BUS CHLD CONT FPE HUP ILL INT IO KILL PIPE PROF PWR QUIT RTMAX
RTMIN SEGV STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH
XCPU XFSZ'

# options SUFFIX: prints the long options of --help, with SUFFIX for each "=".
options() {
	"$WDRUN" --help |
		sed -nE "s/^ +(-[a-zA-Z], )?(--[a-z-]+)(=?).*/\\2\\3/; T; s/=\$/$1/p; t; p" |
		LC_ALL=C sort | paste -sd ' '
}

@test "bash completes options, values and COMMAND, with and without bash-completion" {
	need script
	loader=/usr/share/bash-completion/bash_completion
	expect bash <<-END
		wdrun --:$(options "=")
		wdrun --lo:--lock-exit= --lock-wait= --lock=
		wdrun -t_:10m 10s 1h 1m 1s never
		wdrun -pqk1.5:-pqk1.5d -pqk1.5h -pqk1.5m -pqk1.5ms -pqk1.5s -pqk1.5w
		wdrun --survivors=:kill leave wait
		wdrun --signal=:${signals//$'\n'/ }
		wdrun --tee=some:some-directory some-file
		wdrun --list --j:--json
		wdrun --keep=:
		wdrun --until=a:b -- wdru:wdrun
		wdrun ls --tim:
	END
	# shellcheck disable=SC2046,SC2086 # they are words
	wdrun $(printf ' --signal=%s' $signals) true

	[ -e "$loader" ] || skip "bash-completion is not installed"
	expect bash "$loader" <<-'END'
		wdrun -pt5 -l a=b -- wdru:wdrun
		wdrun --until=a:b -pt 5 ls --alm:--almost-all
		wdrun ls some:some-directory some-file
		wdrun -- wdrun -t 5 --su:--survivors=
	END
}

# ask_for_runs [PREFIX]: rows for expect. Names of directories that a shell has to quote,
# and names that a shell would expand when Enter is pressed, but not on TAB.
ask_for_runs() {
	cat <<-END
		wdrun --cancel n:nightly
		wdrun --cancel_:$ids nightly
		wdrun --registry=a\\;xyzzy --cancel=i:${1}in-a
		wdrun --registry "b c" -q --cancel i:in-b
		wdrun --registry ~/b\\ c --cancel i:in-b
		wdrun --registry="d'e" --cancel=i:${1}in-d
		wdrun --registry="\$(xyzzy)" --cancel=i:
		wdrun --registry=\`xyzzy\` --cancel=i:
		\`xyzzy\`/wdrun --cancel=i:
	END
}

# Each shell is asked once: it takes longer to start than to answer.
# bats test_tags=programs
@test "zsh and fish complete the same; all complete IDs and names of runs, and execute nothing" {
	need zsh fish script
	executable path/xyzzy ": >'$PWD/ran'"
	export WDRUN_REGISTRY=$PWD/registry
	mkdir -m 700 registry
	begin nightly -- sigcount
	begin 'a "name"' -- sigcount
	for directory in 'a;xyzzy' 'b c' "d'e"; do
		begin "in-${directory::1}" --registry="$directory" -- sigcount
	done
	ids=$(ids | LC_ALL=C sort | paste -sd ' ')

	ask_for_runs | expect bash
	in_both="wdrun --:$(options '')
		wdrun --lo:--lock --lock-exit --lock-wait
		wdrun -pt5 -- wdru:wdrun
		wdrun --list wdru:
		wdrun ls --alm:--almost-all
		wdrun ls --surv:
		wdrun -t 5 -- wdrun -t 5 --su:--survivors"
	expect zsh <<-END
		$(ask_for_runs)
		wdrun --timeout=:never
		wdrun -pqk 1.5:d h m ms s w
		wdrun --survivors=:kill leave wait
		wdrun --signal=:${signals//$'\n'/ }
		wdrun --tee=some:some-directory some-file
		wdrun --registry=some:some-directory
		$in_both
	END
	expect fish <<-END
		$(ask_for_runs --cancel=)
		wdrun -t_:10m 10s 1h 1m 1s never
		wdrun -pqk 1.5:1.5d 1.5h 1.5m 1.5ms 1.5s 1.5w
		wdrun -s_:${signals//$'\n'/ }
		wdrun --survivors_:kill leave wait
		wdrun --tee some:some-directory/ some-file
		wdrun --registry some:some-directory/
		$in_both
	END
	[ ! -e ran ]
	end_leftovers
}
