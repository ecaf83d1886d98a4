#!/usr/bin/env bats
#
# completions/: each shell offers the options of wdrun and their values, and
# then what the shell offers for COMMAND. The tests ask the shells themselves.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load orphans
load prompt

completions=$root/completions

setup() {
	common_setup
	mkdir path some-directory
	ln -s "$WDRUN" path/wdrun
	: >some-file
	PATH=$PWD/path:$PATH
	export HOME=$PWD
}

# Prints "t timeout=" or " setsid" for each option of --help.
options_in_help() {
	"$WDRUN" --help |
		sed -nE 's/^ +(-([a-zA-Z]), )?--([a-z-]+=?).*/\2 \3/p' | sort
}

options_for_bash() {
	grep -oE "^	(\[-[a-zA-Z]\]=[^ ]* )?\[--[a-z-]+\]=.*" "$1" |
		sed -E -e "s/^	(\[-([a-zA-Z])\][^ ]+ )?\[--([a-z-]+)\](=)(''$)?/\2 \3\4\5/" \
			-e "s/=''$//; s/=.*/=/" | sort
}

options_for_zsh() {
	sed -nE "s/^	['\"](.*[{)'])?(-([a-zA-Z])\+?,)?--([a-z-]+=?)[[}].*/\3 \4/p" \
		"$1" | sort
}

options_for_fish() {
	sed -nE -e 's/^complete .* -s ([a-zA-Z]) -l ([a-z-]+) -[rx] .*/\1 \2=/p;t' \
		-e 's/^complete .* -l ([a-z-]+) -[rx] .*/ \1=/p;t' \
		-e 's/^complete .* -s ([a-zA-Z]) -l ([a-z-]+) .*/\1 \2/p;t' \
		-e 's/^complete .* -l ([a-z-]+) .*/ \1/p' "$1" | sort
}

# Prints the options by which the fish completion finds the first word of
# COMMAND.
options_fish_parses() {
	sed -n '/argparse -s/,/-- /p' "$1" | tr -s ' ' '\n' |
		sed -nE -e '/^argparse$|^-/d' \
			-e 's/^(([a-zA-Z])\/)?([a-z-]+=?)$/\2 \3/p' | sort
}

@test "the shells complete the options of --help, all of them and no other" {
	options_in_help >of-help
	[ "$(wc -l <of-help)" -ge 31 ]

	diff of-help <(options_for_bash "$completions/wdrun.bash")
	run ! grep -vE "^	\[-.\]=([a-z']+) \[--[a-z-]+\]=\1$" \
		<(grep -E '^	\[-.\]' "$completions/wdrun.bash")
	diff of-help <(options_for_zsh "$completions/_wdrun")
	diff of-help <(options_for_fish "$completions/wdrun.fish")
	diff of-help <(options_fish_parses "$completions/wdrun.fish")
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
# line of stdin, and compares the answers with the part after it.
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

@test "bash completes options, values and COMMAND, also without bash-completion" {
	expect bash <<-END
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
	expect bash /usr/share/bash-completion/bash_completion <<-'END'
		wdrun --ti:--timeout=
		wdrun -pt5 -l a=b -- wdru:wdrun
		wdrun --until=a:b -pt 5 ls --alm:--almost-all
		wdrun ls some:some-directory some-file
		wdrun -- wdrun -t 5 --su:--survivors=
	END
}

@test "bash at a prompt completes names of files, after = as well" {
	mv some-file 'my file'
	at_prompt
	enter ". '$completions/wdrun.bash'; clear; echo sourced"
	# Types only after bash reads keys: before that, the terminal itself
	# acts on the last of these characters.
	wait_until shows '^sourced$'
	wait_until shows '^prompt>$'
	enter $'wdrun --tee=my\t cat /etc/hostn\t; wdrun --registry=some\t\x7f --li\t; echo $?'
	wait_until shows '^0$'

	cmp 'my file' /etc/hostname
	shows 'no runs on record in some-directory'
}

@test "zsh completes options, values and COMMAND" {
	expect zsh <<-END
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

@test "fish completes options, values and COMMAND" {
	expect fish <<-END
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

@test "the shells complete IDs and names of the runs on record" {
	local ids others=$PWD/others
	make_registry
	for name in nightly 'a "name"'; do
		"$WDRUN" -n "$name" sleep 1000 3>&- &
	done
	"$WDRUN" -n nobody --registry="$others" sleep 1000 3>&- &
	wait_until eval '[ "$(wdrun --list | grep -c running)" -eq 2 ]'
	wait_until eval 'wdrun --list --registry="$others" | grep running'
	ids=$(wdrun --list --json | jq -r '.[].id' | sort | paste -sd ' ')
	sed 's/_$/ /' >lines <<-END
		wdrun --cancel n
		wdrun --cancel_
		wdrun --registry=$others --cancel n
		wdrun --registry $others -q --cancel n
	END
	cat >expected <<-END
		nightly
		$ids nightly
		nobody
		nobody
	END

	for shell in bash zsh fish; do
		"ask_$shell"
		diff expected answers
	done
	for id in $ids; do
		wdrun --cancel="$id"
	done
	wdrun --registry="$others" --cancel=nobody
}

# Names of directories that a shell has to quote, and names that a shell would
# expand when Enter is pressed, but not on TAB.
@test "the shells find a registry by a quoted name, and execute nothing on TAB" {
	local directory
	printf '%s\n' '#!/bin/sh' ": >'$PWD/ran'" >path/xyzzy
	chmod +x path/xyzzy
	for directory in 'a;xyzzy' 'b c' "d'e"; do
		mkdir -m 700 "$directory"
		"$WDRUN" -n "in-${directory::1}" --registry="$directory" \
			sleep 1000 3>&- &
	done
	for directory in 'a;xyzzy' 'b c' "d'e"; do
		wait_until eval 'wdrun --list --registry="$directory" | grep running'
	done
	cat >lines <<-'END'
		wdrun --registry=a\;xyzzy --cancel=i
		wdrun --registry=b\ c --cancel=i
		wdrun --registry "b c" -q --cancel i
		wdrun --registry ~/b\ c --cancel i
		wdrun --registry="d'e" --cancel=i
		wdrun --registry=d\'e --cancel=i
		wdrun --registry="$(xyzzy)" --cancel=i
		wdrun --registry=`xyzzy` --cancel=i
		wdrun --registry=$(xyzzy) --cancel=i
		`xyzzy`/wdrun --cancel=i
	END

	for shell in bash zsh fish; do
		"ask_$shell"
		sed 's/.*=//' answers | diff - <(printf '%s\n' in-a in-b in-b in-b \
			in-d in-d '' '' '' '')
		[ ! -e ran ]
	done
	for directory in 'a;xyzzy' 'b c' "d'e"; do
		wdrun --registry="$directory" --cancel="in-${directory::1}"
	done
}

@test "bash at a prompt completes a run's name behind an opening quote" {
	make_registry
	"$WDRUN" -n 'night $ly' sleep 1000 3>&- &
	wait_until eval 'wdrun --list | grep running'
	at_prompt
	enter ". '$completions/wdrun.bash'; clear"
	enter $'wdrun --cancel="nig\t; echo "quoted $?"'
	wait_until shows '^quoted 0$'
	wait "$!" || true

	"$WDRUN" -n 'night $ly' sleep 1000 3>&- &
	wait_until eval 'wdrun --list | grep running'
	enter $'wdrun --cancel \'nig\t; echo "single $?"'
	wait_until shows '^single 0$'
	wait "$!" || true
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

@test "make install puts the completions where the shells look, uninstall removes them" {
	local make=(make --no-print-directory -f "$root/Makefile" -o wdrun
		DESTDIR="$PWD/destination" PREFIX=/usr)
	ln -s "$WDRUN" wdrun
	ln -s "$root/man" "$root/completions" .

	"${make[@]}" install
	cd destination/usr/share
	cmp bash-completion/completions/wdrun "$completions/wdrun.bash"
	cmp zsh/site-functions/_wdrun "$completions/_wdrun"
	cmp fish/vendor_completions.d/wdrun.fish "$completions/wdrun.fish"

	cd ../../..
	"${make[@]}" uninstall
	[ -z "$(find destination -type f)" ]
}

# install_to DESTDIR PREFIX TARGET [VARIABLE]...
install_to() {
	[ -L wdrun ] || ln -s "$WDRUN" wdrun
	[ -L man ] || ln -s "$root/man" "$root/completions" .
	complete env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make \
		--no-print-directory -f "$root/Makefile" -o wdrun \
		DESTDIR="$1" PREFIX="$2" "${@:3}"
}

@test "make install and uninstall take a directory with blanks and signs" {
	local destination
	mkdir bystander
	for destination in 'de st' 'a;touch ran' '$(touch ran)' 'x &&* bystander'; do
		destination=${destination//\$/\$\$} # as make expects a dollar sign
		install_to "$PWD/$destination" '/u s r' install TIMEOUT_LINK=timeout
		[ "$status" -eq 0 ]
		destination=${destination//\$\$/\$}
		cmp "$destination/u s r/bin/wdrun" "$WDRUN"
		[ "$(readlink "$destination/u s r/bin/timeout")" = wdrun ]
		[ "$(find "$destination" -type f | wc -l)" -eq 5 ]

		install_to "$PWD/${destination//\$/\$\$}" '/u s r' uninstall
		[ "$status" -eq 0 ]
		[ -z "$(find "$destination" ! -type d)" ]
	done
	[ ! -e ran ]
	[ -d bystander ]
}

@test "make uninstall removes nothing beside a directory with blanks" {
	mkdir -p some de/usr/bin
	: >de/usr/bin/timeout
	: >some/file
	install_to "$PWD/some/file $PWD/de" /usr uninstall

	[ -e some/file ]
	[ -e de/usr/bin/timeout ]
}

@test "make install refuses, in a line, a directory with a quote" {
	local target
	for target in install uninstall; do
		install_to "$PWD/d'e; touch ran; '" /usr "$target"
		[ "$status" -eq 2 ]
		[ "$(grep -c . err)" -eq 1 ]
		[[ $stderr == *"DESTDIR, PREFIX and TIMEOUT_LINK: no quote"* ]]
	done
	[ ! -e ran ]
}

@test "zsh finds the completion below ~/.local by the line of the README" {
	local line
	line=$(grep -o 'fpath=([^)]*)' "$root/README.md")
	install_to '' "$PWD/.local" install
	[ "$status" -eq 0 ]

	no zsh -f -c 'autoload +X _wdrun'
	zsh -f -c "$line; autoload +X _wdrun"
}
