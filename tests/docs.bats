#!/usr/bin/env bats
#
# Manual, README and --help say the same, can be read, and the commands that README
# and manual show do what they say: each is run here as it is written. A new command
# is run as well, and has to end with 0.
#
# Each command runs in a directory of its own, which is also $HOME. Programs that
# are not installed, or do not belong to wdrun, are replaced by scripts that note
# their arguments in the file ran.
# bats file_tags=words

load helper

manual=$root/man/wdrun.1
readme=$root/README.md

# section NAME: prints the lines of that section of the manual, without mdoc's escapes.
section() {
	sed -n "/^\.Sh $1\$/,/^\.Sh /p" "$manual" |
		sed -e 's/\\-/-/g' -e "s/\\\\(aq/'/g" -e 's/\\(dq/"/g' -e 's/\\&//g' -e 's/\\e/\\/g'
}

options_in_help() {
	"$WDRUN" --help | sed -nE 's/^ +((-[a-zA-Z], )?--[a-z-]+).*/\1/p' | sort
}

@test "the manual has the options of --help, their defaults, and the statuses of the README" {
	options_in_help >of-help
	[ "$(wc -l <of-help)" -ge 31 ]
	# Lines like ".It Fl t Ar DUR , Fl -timeout Ns = Ns Ar DUR".
	section OPTIONS | sed -nE -e 's/^\.It Fl (-[a-z-]+).*/-\1/p' \
		-e 's/^\.It Fl ([a-zA-Z])( Ar [A-Z]+)? , Fl (-[a-z-]+).*/-\1, -\3/p' |
		sort | diff of-help -

	# Each option with an argument has a default; but these are never without one.
	section OPTIONS | awk '/^\.(It|Ss)/ {
			if (option != "")
				print option
			option = /Ns = Ns/ && !/Fl -(cancel|explain) / ? $0 : ""
		}
		/^Default:/ { option = "" }' | diff /dev/null -
	"$WDRUN" --help | sed -nE 's/^ .*--([a-z-]+)=[^ ]+ .*\(([A-Za-z0-9]+)\)$/\1 \2/p' >of-help
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
	no grep -vxFf of-manual of-help
}

# In less, which man(1) starts, a reader searches for /^ *-t.
@test "a reader finds each option, the README's promises, and the version in the changelog" {
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
	gives 3 complete "$WDRUN" setsid sh -c 'exit 3'
	gives 0 complete "$WDRUN" --pty --idle-after-exit=never --max-after-exit=never \
		setsid sh -c 'touch later; exit 3'
	[ -e later ]
	gives 3 complete "$WDRUN" --pty setsid -w sh -c 'exit 3'

	underway escape
	[ "$(cat "/proc/$front/comm" "/proc/$supervisor/comm")" = $'wdrun\nwd-supervisor' ]
	[ "$(tr -d '\0' <"/proc/$supervisor/cmdline")" = wd-supervisor ]
	grep -qa escape "/proc/$front/cmdline"
	ended_by TERM 143
}

# Writes each command of README and manual into a file of its own below shown/:
# of the README the blocks of shell, and lines of indented blocks.
take_examples() {
	mkdir shown
	awk '/^```/ { fence = fence == "" ? $0 : ""; n++; next }
		fence == "```sh" { print >("shown/readme-" n) }
		fence == "" && /^    [^ #]/ && !in_item { print substr($0, 5) >("shown/readme-" ++n) }
		/^[^ ]/ { in_item = /^- / }' <(sed -e :a -e '/\\$/{N;s/\\\n *//;ba' -e '}' "$readme")
	section EXAMPLES | sed '/^[.#]/d' | awk -v RS= '{ print >("shown/manual-" NR) }'
}

# tell EXAMPLE: sets before and after, commands in the same directory. A row of the table
# is `BEGINNING @ BEFORE @ AFTER`. Fails where another test runs the example. That the
# command was run, its status says.
tell() {
	local row
	before=: after=:
	case $1 in
	make | 'make '[a-z]* | 'SHELL '* | 'mkfifo replies'*) return 1 ;;
	esac
	while IFS= read -r row; do
		[[ $row =~ ^(.*)\ @\ (.*)\ @\ (.*)$ && $1 == "${BASH_REMATCH[1]}"* ]] || continue
		before=${BASH_REMATCH[2]} after=${BASH_REMATCH[3]}
	done <<'END'
rm -f log; @ sed -i 's,^exit,until [ -e "$HOME/done" ]; do sleep 0.1; done; &,' bin/server @ >done
wdrun -l db.lock @ wdrun -l db.lock sleep 0.4 3>&- & wait_until test -s db.lock @ :
wdrun --pty --no-stdin ls @ mkdir directory @ grep -q $'\e\[.*directory' out
wdrun --no-stdin -t 30m @ : @ [[ $text != *--tee* ]] || cmp agent.log out && grep -q result out
exec wdrun -t 20m @ : @ grep -qx checked out
wdrun -t 1h -s QUIT @ : @ grep -q '"status":0' job.json
wdrun -i 5m --idle-unless-busy @ : @ grep -qx built build.log
wdrun -t 60 ./job @ : @ grep -qx done out && fails_with 3 failed && fails_with 124 'took too long'
make -j8 SHELL=wdrun @ : @ grep -qx built out
out= @ : @ grep -qx deployed variable
while read @ printf '%s\n' one two >hosts @ diff ran - <<<$'ssh one uptime\nssh two uptime'
wdrun -n nightly @ text=${text/&/&until_listed} @ [[ $text == *--cancel* ]] || wdrun --cancel nightly
wdrun --cancel=nightly @ wdrun -n nightly ./nightly.sh 3>&- & until_listed @ no wdrun --cancel nightly
wdrun --list @ wdrun -n nightly ./nightly.sh 3>&- & until_listed @ is_list && grep -q nightly out && wdrun --cancel nightly
ENTRYPOINT @ text=$(jq -r @sh <<<"${text#ENTRYPOINT }") @ :
* * * * * @ text=$(as_cron) @ [ ! -s out ] && [ ! -s err ]
END
}

# fails_with STATUS TEXT: where its job ends so, the example says that.
fails_with() {
	JOB_STATUS=$1 run_example 0 <"$example" && grep -qx "$2" out
}

# The README has the columns of the list beside the command.
is_list() {
	[[ $text == *--json* ]] || diff <(sed 's/.*# //' "$example") <(head -n 1 out | tr -s ' ')
}

# Prints the command of the example as cron runs it: by sh, in an almost empty environment.
as_cron() {
	echo "env -i HOME=. PATH=/usr/bin:/bin WDRUN_TEST='$WDRUN_TEST' sh -c '"
	sed -e 's,^[* ]*,,' -e 's,/srv/review,.,' -e 's,/usr/local/bin,bin,' "$example"
	echo "'"
}

# stand_in NAME [LINE...]: writes a program that notes its arguments, then runs LINEs.
stand_in() {
	executable "$1" 'echo "${0##*/} $*" >>"$HOME/ran"' "${@:2}"
}

# run_example STATUS: runs the commands of stdin in this directory, and writes
# their $out into a file.
run_example() {
	{
		cat
		echo 'status=$?; echo "${out-}" >variable; exit "$status"'
	} >typed
	gives "$1" complete bash typed
}

# Fills a directory with what the examples may need.
fill_directory() {
	mkdir -p filled/bin
	cd filled || return
	ln -s "$WDRUN" bin/wdrun
	printf '%s\n' 'all:;@echo built' 'check:;@echo checked' >Makefile
	for name in review.sh backup convert poll.sh review-poll.sh start-server server-test \
		bin/{rsync,tmux,npx}; do stand_in "$name"; done
	for name in job bin/server; do stand_in "$name" 'echo listening on 80' 'exit "${JOB_STATUS:-0}"'; done
	stand_in deploy 'sleep 1000 &' 'echo deployed'
	stand_in build.sh 'echo BUILD SUCCESSFUL'
	stand_in nightly.sh 'sleep 1000'
	stand_in bin/until_listed 'until wdrun --list | grep nightly.*running; do sleep 0.05; done'
	stand_in bin/ssh '/bin/cat >/dev/null' # ssh reads stdin, too
	stand_in bin/claude '[ ! -t 1 ] || exit 3' '! read -r _ || exit 4' \
		'echo '\''{"type":"result","subtype":"success","is_error":false}'\'
}

# walk FILE: runs one example. In a shell of its own, since an example may change the shell.
walk() {
	local text before after example=$PWD/$1
	text=$(<"$example")
	tell "$text" || return 0
	cp -a filled "dir-${1##*/}"
	cd "dir-${1##*/}" || return
	export HOME=$PWD XDG_STATE_HOME=$PWD/.local/state
	export PATH=$PWD/bin:$PATH TERM=xterm task='the task'
	unset WDRUN_REGISTRY MAKEFLAGS MAKELEVEL LS_COLORS
	eval "$before"
	run_example 0 <<<"$text"
	eval "$after"
}

@test "the examples of README and manual do what they say, and end with the status that they say" {
	need jq
	take_examples
	(fill_directory)
	for file in shown/*; do
		printf '%s\n' "=== $file" "$(<"$file")"
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
	sed -n '/^<!-- demo -->$/,/^```$/p' "$readme" | sed '1,2d;$d' >expected
	[ "$(wc -l <expected)" -ge 10 ]
	for limit in 1 10; do
		sed -e "s/-k 1 2 /-k 30 $limit /" \
			-e "s/-t 2 -k 1 /-t $((2 * limit)) -k 30 /" "$root/tests/demo" >demo
		gives 0 complete bash demo "$WDRUN"
		(($(grep -c 'still running: [0-9]' out) < 2)) || break
	done
	diff <(without_numbers expected) <(without_numbers out err)
	[ "$(tail -n 1 out)" = '    still running: nothing' ]

	sed -n '/^<!-- run: 124 -->$/,/^| part/p' "$readme" >example
	ln -s "$WDRUN" wdrun
	for limit in 1 20; do
		rm -f replies
		PATH=$PWD:$PATH gives 124 complete bash -c "$(sed -n "s/ -t 1 / -t $limit /p" example)"
		! grep -q ' cat replies .*opening' err || break
	done
	diff <(grep '^wdrun: ' example | without_numbers) <(without_numbers err)
}
