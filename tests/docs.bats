#!/usr/bin/env bats
#
# Manual, README and --help say the same, can be read, and the commands that README
# and manual show do what they say: each is run here as it is written. A new command
# is run as well, and has to end with 0.
#
# Each command runs in a directory of its own, which is also $HOME. Programs that
# are not installed, or do not belong to wdrun, are replaced by scripts that note
# their arguments in the file ran.
#
# bats file_tags=words
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

manual=$root/man/wdrun.1
readme=$root/README.md

# section NAME: prints the lines of that section of the manual, without mdoc's
# escapes.
section() {
	sed -n "/^\.Sh $1\$/,/^\.Sh /p" "$manual" |
		sed -e 's/\\-/-/g' -e "s/\\\\(aq/'/g" -e 's/\\(dq/"/g'
}

options_in_help() {
	"$WDRUN" --help | sed -nE 's/^ +((-[a-zA-Z], )?--[a-z-]+).*/\1/p' | sort
}

@test "the manual has the options of --help, their defaults, and the statuses of the README" {
	local number
	options_in_help >of-help
	[ "$(wc -l <of-help)" -ge 31 ]
	# Lines like ".It Fl t Ar DUR , Fl -timeout Ns = Ns Ar DUR".
	section OPTIONS | sed -nE -e 's/^\.It Fl (-[a-z-]+).*/-\1/p' \
		-e 's/^\.It Fl ([a-zA-Z])( Ar [A-Z]+)? , Fl (-[a-z-]+).*/-\1, -\3/p' |
		sort | diff of-help -

	# Each option with an argument has a default; but --cancel is never without one.
	section OPTIONS | awk '/^\.(It|Ss)/ {
			if (option != "")
				print option
			option = /Ns = Ns/ && !/Fl -cancel / ? $0 : ""
		}
		/^Default:/ { option = "" }' | diff /dev/null -
	"$WDRUN" --help | sed -nE \
		's/^ .*--([a-z-]+)=[^ ]+ .*\(([A-Za-z0-9]+)\)$/\1 \2/p' >of-help
	[ "$(wc -l <of-help)" -ge 10 ]
	section OPTIONS | awk '/^\.It / { sub(/.*Fl -/, ""); name = $1 }
		/^Default:$/ { getline; print name, $2 }' >of-manual
	grep -Fxf of-manual of-help | diff of-help -

	section 'EXIT STATUS' | sed -nE 's/^\.It ([0-9]+)$/\1/p' >of-manual
	[ "$(wc -l <of-manual)" -ge 7 ]
	while read -r number; do
		grep -qE "^\| $number " "$readme"
	done <of-manual
	"$WDRUN" --help | sed -n '/^Status:/,/^More:/p' | grep -oE '\<[0-9]+\>' >of-help
	[ "$(wc -l <of-help)" -ge 5 ]
	run ! grep -vxFf of-manual of-help
}

# In less, which man(1) starts, a reader searches for /^ *-t.
@test "a reader finds each option, the README's promises, and the version in the changelog" {
	local option promise version
	version=$("$WDRUN" --version)
	grep -m 1 '^## ' "$root/CHANGELOG.md" |
		grep -qxE "## ${version#wdrun } \\([0-9]{4}-[0-9]{2}-[0-9]{2}\\)"

	need mandoc
	mandoc -Tascii -O width=78 "$manual" | col -b >page
	options_in_help | tr -d , | tr ' ' '\n' >names
	[ "$(wc -l <names)" -ge 40 ]
	while read -r option; do
		grep -qE "^ *(-., )?(-. [A-Z]+, )?$option( [A-Z]+)?([ =,]|\$)" page
	done <names

	sed -nE 's/^- \*\*([^*]+)\.\*\*.*/\1/p' "$readme" | tr -d '`' >promises
	[ "$(wc -l <promises)" -eq 6 ]
	sed -n '/^DESCRIPTION/,/^EXAMPLES/p' page >description
	while read -r promise; do
		grep -qixE "[[:blank:]]*$promise" description
	done <promises
}

@test "what the manual says of setsid(1), killall(1) and pkill(1) is so" {
	section LIMITS | grep -qF '.Ql setsid -w'
	complete "$WDRUN" --idle-after-exit=never --max-after-exit=never \
		setsid sh -c 'touch later; exit 3'
	[ "$status" -eq 0 ]
	[ -e later ]
	complete "$WDRUN" setsid -w sh -c 'exit 3'
	[ "$status" -eq 3 ]

	start "$WDRUN" sleep 1000
	await_watchers
	[ "$(cat "/proc/$front/comm" "/proc/$supervisor/comm")" = $'wdrun\nwd-supervisor' ]
	cmp "/proc/$front/cmdline" "/proc/$supervisor/cmdline"
	kill "$front"
	finish
}

# Writes each command of README and manual into a file of its own below shown/:
# of the README the blocks of shell, and lines of indented blocks.
take_examples() {
	mkdir shown
	awk '
		function new() { file = sprintf("shown/readme-%02d", ++n) }
		/^```/ { fence = fence == "" ? $0 : "" }
		/^```sh$/ { new(); next }
		fence == "```sh" { print >file }
		fence == "" && /^    [^ #]/ && !in_item { new(); print substr($0, 5) >file }
		/^[^ ]/ { in_item = /^- / }
	' "$readme"
	sed -e 's/\\-/-/g' -e "s/\\\\(aq/'/g" -e 's/\\(dq/"/g' -e 's/\\&//g' \
		-e 's/\\e/\\/g' "$manual" | awk '
		function new() { file = sprintf("shown/manual-%02d", ++n) }
		/^\.Bd -literal/ { new(); next }
		/^\.Ed/ { file = "" }
		file != "" && /^$/ { new(); next } # the next example of the block
		file != "" && !/^# / { print >file }'
}

# tell EXAMPLE: sets before and after (commands in the same directory). Fails where another
# test runs the example. That the command was run, its status says.
tell() {
	before=: after=:
	case $1 in
	make | 'make '[a-z]* | 'SHELL '* | 'wdrun: '* | 'mkfifo replies'*) return 1 ;;
	'wdrun -l db.lock '*)
		before='wdrun -l db.lock sleep 0.4 3>&- & wait_until test -s db.lock' ;;
	'wdrun --pty --no-stdin ls '*)
		before='mkdir directory'
		after='grep -q $'\''\e\[.*directory'\'' out' ;;
	'make -j8 SHELL=wdrun '*) after='grep -qx built out' ;;
	'wdrun -t 1h --report=job.json ./job') after='grep -q "\"status\":0" job.json' ;;
	'wdrun --pty --no-stdin -t 30m '*) after='cmp agent.log out && grep -q result out' ;;
	'out=$(wdrun ./deploy)') after='grep -qx deployed variable' ;;
	'while read -r host; do'*)
		before="printf '%s\\n' one two >hosts"
		after='diff ran - <<<"ssh one uptime"$'\''\n'\''"ssh two uptime"' ;;
	'wdrun -i 5m --idle-unless-busy --tee=build.log make') after='grep -qx built build.log' ;;
	'wdrun -t 60 ./job'*)
		after='grep -qx done out
			JOB_STATUS=3 run_example 0 <"$example" && grep -qx failed out
			JOB_STATUS=124 run_example 0 <"$example" && grep -qx "took too long" out' ;;
	'xargs -n 1 -P 16 '*)
		before='echo picture >files'
		after='grep -qx "convert picture" ran' ;;
	'wdrun -n nightly '*) # a user types one line after the other
		text=${text/&/&until_listed}
		after='[[ $text == *--cancel* ]] || wdrun --cancel nightly' ;;
	'wdrun --cancel=nightly '*)
		before='nightly & until_listed'
		after='no wdrun --cancel nightly' ;;
	'wdrun --list '*)
		before='nightly & until_listed'
		after='[[ $text == *--json* ]] ||
				diff <(sed "s/.*# //" "$example") <(head -n 1 out | tr -s " ")
			grep -q nightly out && wdrun --cancel nightly' ;;
	esac
}

# stand_in NAME [LINE...]: writes a program that notes its arguments, then runs
# LINEs.
stand_in() {
	printf '%s\n' '#!/bin/bash' 'echo "${0##*/} $*" >>"$HOME/ran"' \
		"${@:2}" >"$1"
	chmod +x "$1"
}

# run_example STATUS: runs the commands of stdin in this directory, and writes
# their $out into a file.
run_example() {
	{
		cat
		echo 'status=$?; echo "${out-}" >variable; exit "$status"'
	} >typed
	complete bash typed
	[ "$status" -eq "$1" ]
}

# Fills a directory with what an example may need.
fill_directory() {
	local name
	mkdir bin
	ln -s "$WDRUN" bin/wdrun
	printf '%s\n' 'all:;@echo built' 'check:;@echo checked' >Makefile
	for name in review.sh backup convert poll.sh review-poll.sh bin/rsync bin/server; do
		stand_in "$name"
	done
	stand_in job 'exit "${JOB_STATUS:-0}"'
	stand_in deploy 'sleep 1000 &' 'echo deployed'
	stand_in build.sh 'echo BUILD SUCCESSFUL'
	stand_in nightly.sh 'sleep 1000'
	stand_in bin/until_listed 'until wdrun --list | grep nightly.*running' \
		'do sleep 0.05; done'
	stand_in bin/ssh '/bin/cat >/dev/null' # ssh reads stdin, too
	stand_in bin/claude '[ -t 1 ] || exit 3' \
		'echo '\''{"type":"result","subtype":"success"}'\'
}

# A run on record.
nightly() {
	wdrun -n nightly sleep 1000 3>&-
}

# walk FILE: runs one example. In a shell of its own, since an example may
# change the shell.
walk() {
	local text before after example=$PWD/$1
	text=$(<"$example")
	tell "$text" || return 0
	cp -a filled "dir-${1##*/}"
	cd "dir-${1##*/}" || return
	export HOME=$PWD XDG_STATE_HOME=$PWD/.local/state
	export PATH=$PWD/bin:$PATH TERM=xterm task='the task'
	unset WDRUN_REGISTRY MAKEFLAGS MAKELEVEL LS_COLORS
	case $text in
	'ENTRYPOINT '*) text=$(jq -r @sh <<<"${text#ENTRYPOINT }") ;;
	'* * * * * '*) # cron runs it by sh in an almost empty environment
		text=$(sed -e 's,^[* ]*,,' -e 's,/srv/review,.,' -e 's,/run/lock/,,' "$example")
		text="env -i HOME=. PATH='$PATH' WDRUN_TEST='$WDRUN_TEST' sh -c '$text'"
		after='[ ! -s out ] && [ ! -s err ]' ;;
	esac
	eval "$before"
	run_example 0 <<<"$text"
	eval "$after"
}

@test "the examples of README and manual end as they say, and do what they say" {
	local file text
	local -A seen
	need jq
	take_examples
	mkdir filled
	(cd filled && fill_directory)
	for file in shown/*; do
		text=$(<"$file")
		[ -z "${seen["$text"]-}" ] || continue
		seen["$text"]=yes
		printf '%s\n' "=== $file" "$text"
		(walk "$file")
	done
	[ "$(echo dir-* | wc -w)" -ge 25 ]
}

# without_numbers FILE...: replaces PIDs and times, and sorts the lines: two
# streams have no common order.
without_numbers() {
	sed -E -e 's/[0-9]+/N/g' -e 's/ +$//' "$@" | sort
}

# The times must not be over before the commands are there. In the demonstration, they are
# there under timeout sooner than they have to be under wdrun.
@test "the demonstration, and the example of a diagnosis, print what the README shows" {
	local limit
	sed -n '/^<!-- demo -->$/,/^```$/p' "$readme" | sed '1,2d;$d' >expected
	[ "$(wc -l <expected)" -ge 10 ]
	for limit in 1 10; do
		sed -e "s/-k 1 2 /-k 30 $limit /" \
			-e "s/-t 2 -k 1 /-t $((2 * limit)) -k 30 /" "$root/tests/demo" >demo
		complete bash demo "$WDRUN"
		[ "$status" -eq 0 ]
		(($(grep -c 'still running: [0-9]' out) < 2)) || break
	done
	diff <(without_numbers expected) <(without_numbers out err)
	[ "$(tail -n 1 out)" = '    still running: nothing' ]

	sed -n '/^<!-- run: 124 -->$/,/^| part/p' "$readme" >example
	ln -s "$WDRUN" wdrun
	for limit in 1 20; do
		rm -f replies
		PATH=$PWD:$PATH complete bash -c "$(sed -n "s/ -t 1 / -t $limit /p" example)"
		[ "$status" -eq 124 ]
		! grep -q ' cat replies .*opening' err || break
	done
	diff <(grep '^wdrun: ' example | without_numbers) <(without_numbers err)
}
