#!/usr/bin/env bats
#
# completions/: each shell offers the options of wdrun and their values, and
# then what the shell offers for COMMAND. The tests ask the shells themselves.
#
# bats file_tags=words
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load terminal

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

# ask_bash [SOURCED...], ask_zsh, ask_fish: writes what the shell offers for
# each line of the file lines to the file answers, sorted, one line for each.
# Files SOURCED are read before the completion.
ask_bash() {
	cat >driver.bash <<-'END'
		# In a shell without readline, compopt fails; this one prints
		# what would be completed by readline.
		compopt() { case $* in *default* | *dirnames*) echo "$*" ;; esac; }
		for file; do . "$file"; done
		cut() {
			local rest=$1
			COMP_WORDS=()
			while [[ $rest =~ ^\ *([=:]+|([^=:\ \\\"]|\\.|\"[^\"]*\"?)+)(.*)$ ]]; do
				COMP_WORDS+=("${BASH_REMATCH[1]}")
				rest=${BASH_REMATCH[3]}
			done
			[[ $1 != *' ' ]] || COMP_WORDS+=('')
		}
		while IFS= read -r line; do
			before=${line%%^*} # ^ stands for the cursor
			cut "$before"
			COMP_POINT=${#before} COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
			COMP_LINE=${line/^/}
			cut "$COMP_LINE"
			_wdrun wdrun >options 2>errors
			[ ! -s errors ] || cat errors >&2
			{
				printf '%s\n' "${COMPREPLY[@]}"
				cat options
			} | sort -u | paste -sd ' ' | sed 's/^ //'
		done
	END
	bash --norc driver.bash "$@" "$completions/wdrun.bash" <lines >answers
}

ask_zsh() {
	cat >inner.zsh <<-'END'
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
		answer() {
			for BUFFER in "${(@f)$(<lines)}"; do
				found=()
				CURSOR=$#BUFFER
				zle list-choices
				print -r -- ${(uo)found}
			done >answers
			mv answers answered
		}
		zle -N answer
		bindkey '^X' answer
	END
	cat >outer.zsh <<-'END'
		zmodload zsh/zpty
		zpty inner zsh -f -i
		zpty -w inner 'source ./inner.zsh'
		zpty -w -n inner $'\x18'
		until [[ -e answered ]]; do
			zpty -r -t inner || sleep 0.02
		done >>screen
		zpty -d inner
	END
	completions=$completions zsh -f outer.zsh 3>&-
	mv answered answers
}

ask_fish() {
	fish -c 'source $argv[1]
		while read -l line
			set -l found (complete -C $line | string replace -r "\t.*" "" | sort -u)
			printf "%s\n" "$found"
		end' "$completions/wdrun.fish" <lines >answers 3>&-
}

# expect SHELL [ARGUMENT...]: asks SHELL for the part before the colon of each
# line of stdin, and compares the answers with the part after it. _ stands for a
# blank at the end.
expect() {
	local -
	set +T
	sed -E 's/^ *//' >expected
	sed -E 's/:[^:]*$//; s/_$/ /' expected >lines
	"ask_$1" "${@:2}"
	paste -d: lines answers | sed -E 's/ :([^:]*)$/_:\1/' | diff expected -
}

signals='ABRT ALRM BUS CHLD CONT FPE HUP ILL INT IO KILL PIPE PROF PWR QUIT RTMAX
RTMIN SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH
XCPU XFSZ'

# options SUFFIX: prints the long options of --help, with SUFFIX for the = of those
# that have a value.
options() {
	"$WDRUN" --help | sed -nE "s/^ +(-[a-zA-Z], )?(--[a-z-]+)(=?).*/\\2\\3/p" |
		sed "s/=\$/$1/" | sort | paste -sd ' '
}

@test "bash completes options, values and COMMAND, also without bash-completion" {
	expect bash <<-END
		wdrun --:$(options "=")
		wdrun --ti:--timeout=
		wdrun --lo:--lock-exit= --lock-wait= --lock=
		wdrun -q --js:--json
		wdrun --js^xx --list:--json
		wdrun --timeout=:10m 10s 1h 1m 1s never
		wdrun -t_:10m 10s 1h 1m 1s never
		wdrun -pqk1.5:-pqk1.5d -pqk1.5h -pqk1.5m -pqk1.5ms -pqk1.5s -pqk1.5w
		wdrun --idle-t 1.5:1.5d 1.5h 1.5m 1.5ms 1.5s 1.5w
		wdrun --survivors=:kill leave wait
		wdrun --signal=:${signals//$'\n'/ }
		wdrun -s SIGUS:SIGUSR1 SIGUSR2
		wdrun --tee=some:-o default
		wdrun -t 5 -l some:-o default
		wdrun --registry=some:-o dirnames
		wdrun --list --j:--json
		wdrun --list_:
		wdrun --timeout=5 wdru:wdrun
		wdrun -pt5 wdru:wdrun
		wdrun -pt5 -- wdru:wdrun
		wdrun --until=a:b -- wdru:wdrun
		wdrun ls --tim:-o bashdefault -o default
	END
}

@test "bash completes the arguments of COMMAND as bash-completion has it" {
	local loader=/usr/share/bash-completion/bash_completion
	[ -e "$loader" ] || skip "bash-completion is not installed"
	expect bash "$loader" <<-'END'
		wdrun --ti:--timeout=
		wdrun -pt5 -l a=b -- wdru:wdrun
		wdrun --until=a:b -pt 5 ls --alm:--almost-all
		wdrun ls some:some-directory some-file
		wdrun -- wdrun -t 5 --su:--survivors=
	END
}

# bats test_tags=programs
@test "zsh completes options, values and COMMAND" {
	need zsh
	expect zsh <<-END
		wdrun --:$(options '')
		wdrun --ti:--timeout
		wdrun --lo:--lock --lock-exit --lock-wait
		wdrun --foreground --se:
		wdrun --timeout=:never
		wdrun -pqk 1.5:d h m ms s w
		wdrun --survivors=:kill leave wait
		wdrun --signal=:${signals//$'\n'/ }
		wdrun -s SIGUS:USR1 USR2
		wdrun --tee=some:some-directory some-file
		wdrun -t 5 -l some:some-directory some-file
		wdrun --registry=some:some-directory
		wdrun --timeout=5 wdru:wdrun
		wdrun -pt5 -- wdru:wdrun
		wdrun --list wdru:
		wdrun ls --alm:--almost-all
		wdrun ls --surv:
		wdrun -t 5 -- wdrun -t 5 --su:--survivors
	END
}

# bats test_tags=programs
@test "fish completes options, values and COMMAND" {
	need fish
	expect fish <<-END
		wdrun --:$(options '')
		wdrun --ti:--timeout
		wdrun --lo:--lock --lock-exit --lock-wait
		wdrun -t_:10m 10s 1h 1m 1s never
		wdrun -pqk 1.5:1.5d 1.5h 1.5m 1.5ms 1.5s 1.5w
		wdrun -s_:${signals//$'\n'/ }
		wdrun --survivors w:wait
		wdrun --tee some:some-directory/ some-file
		wdrun -t 5 -l some:some-directory/ some-file
		wdrun --registry some:some-directory/
		wdrun --timeout=5 wdru:wdrun
		wdrun -pt5 -- wdru:wdrun
		wdrun --list wdru:
		wdrun ls --alm:--almost-all
		wdrun ls --surv:
		wdrun -t 5 -- wdrun -t 5 --su:--survivors
	END
}

@test "wdrun takes what is offered: each signal, duration and word" {
	local value
	for value in $signals SIGUSR1; do
		wdrun --signal="$value" true
	done
	for value in 10m 1s never 1.5ms 1.5s 1.5m 1.5h 1.5d 1.5w; do
		wdrun --kill-after="$value" true
	done
	for value in kill wait leave; do
		wdrun --survivors="$value" true
	done
}

# record NAME DIRECTORY: starts a run of that name on record there.
record() {
	"$WDRUN" -n "$1" --registry="$2" sleep 1000 3>&- &
	wait_until is_running "$@"
}

is_running() {
	wdrun --list --registry="$2" | grep -F "$1" | grep running
}

# Names of directories that a shell has to quote, and names that a shell would
# expand when Enter is pressed, but not on TAB.
# bats test_tags=programs
@test "the shells complete IDs and names of runs on record, and execute nothing on TAB" {
	need zsh fish jq
	local ids directory shell
	printf '%s\n' '#!/bin/sh' ": >'$PWD/ran'" >path/xyzzy
	chmod +x path/xyzzy
	export WDRUN_REGISTRY=$PWD/registry
	mkdir -m 700 registry 'a;xyzzy' 'b c' "d'e"
	record nightly registry
	record 'a "name"' registry
	for directory in 'a;xyzzy' 'b c' "d'e"; do
		record "in-${directory::1}" "$directory"
	done
	ids=$(wdrun --list --json | jq -r '.[].id' | sort | paste -sd ' ')
	sed 's/_$/ /' >lines <<-'END'
		wdrun --cancel n
		wdrun --cancel_
		wdrun --registry=a\;xyzzy --cancel=i
		wdrun --registry b\ c --cancel i
		wdrun --registry "b c" -q --cancel i
		wdrun --registry ~/b\ c --cancel i
		wdrun --registry="d'e" --cancel=i
		wdrun --registry=d\'e --cancel=i
		wdrun --registry="$(xyzzy)" --cancel=i
		wdrun --registry=`xyzzy` --cancel=i
		wdrun --registry=$(xyzzy) --cancel=i
		`xyzzy`/wdrun --cancel=i
	END
	printf '%s\n' nightly "$ids nightly" in-a in-b in-b in-b in-d in-d \
		'' '' '' nightly >expected

	for shell in bash zsh fish; do
		echo "--- $shell"
		"ask_$shell"
		sed 's/.*=//' answers | diff <(head -n 11 expected) <(head -n 11 -)
		[ ! -e ran ]
	done
	end_leftovers
}

@test "bash at a prompt completes names of files after =, and of runs after a quote" {
	local quoted
	mv some-file 'my file'
	at_prompt
	enter ". '$completions/wdrun.bash'"
	enter $'wdrun --tee=my\t cat /etc/hostn\t'
	last_is 0
	cmp 'my file' /etc/hostname
	enter $'wdrun --registry=some\t\x7f -n x ls some\t >entries'
	last_is 0
	grep -q '\.run$' entries

	enter "export WDRUN_REGISTRY='$PWD/registry'"
	for quoted in '="' " '"; do
		record 'night $ly' registry
		enter "wdrun --cancel${quoted}nig"$'\t'
		last_is 0
		wait_until is_dead "$!"
	done
}

# --- make install ------------------------------------------------------------

# install_to DESTDIR PREFIX TARGET [VARIABLE]...
install_to() {
	[ -L wdrun ] || ln -s "$WDRUN" "$root/man" "$root/completions" .
	complete env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make \
		--no-print-directory -f "$root/Makefile" -o wdrun \
		DESTDIR="$1" PREFIX="$2" "${@:3}"
}

@test "make install puts each file where it is looked for, uninstall removes no other" {
	local destination made
	mkdir -p bystander
	for destination in there 'de st' 'a;touch ran' '$(touch ran)' 'x &&* bystander'; do
		made="$PWD/${destination//\$/\$\$}" # as make expects a dollar sign
		mkdir -p "$destination/u s r/bin"
		: >"$destination/u s r/bin/other-timeout"
		install_to "$made" '/u s r' install TIMEOUT_LINK=timeout
		[ "$status" -eq 0 ]
		(
			cd "$destination/u s r"
			cmp bin/wdrun "$WDRUN"
			[ "$(readlink bin/timeout)" = wdrun ]
			cd share
			cmp man/man1/wdrun.1 "$root/man/wdrun.1"
			cmp bash-completion/completions/wdrun "$completions/wdrun.bash"
			cmp zsh/site-functions/_wdrun "$completions/_wdrun"
			cmp fish/vendor_completions.d/wdrun.fish "$completions/wdrun.fish"
		)
		install_to "$made" '/u s r' uninstall
		[ "$status" -eq 0 ]
		[ "$(find "$destination" ! -type d)" = "$destination/u s r/bin/other-timeout" ]
	done
	[ ! -e ran ]
	[ -d bystander ]
}

@test "make install refuses, in a line, a directory with a quote" {
	local target
	for target in install uninstall; do
		install_to "$PWD/d'e; touch ran; '" /usr "$target"
		[ "$status" -eq 2 ]
		[ "$(grep -c . err)" -eq 1 ]
		[[ $stderr == *DESTDIR*PREFIX*TIMEOUT_LINK*quote* ]]
	done
	[ ! -e ran ]
}

# bats test_tags=programs
@test "zsh finds the completion below ~/.local by the line of the README" {
	need zsh
	local line
	line=$(grep -o 'fpath=([^)]*)' "$root/README.md")
	install_to '' "$PWD/.local" install
	[ "$status" -eq 0 ]

	no zsh -f -c 'autoload +X _wdrun'
	zsh -f -c "$line; autoload +X _wdrun"
}
