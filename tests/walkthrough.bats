#!/usr/bin/env bats
#
# The commands that README and manual show do what they say: each is run here as
# it is written, but for the few for which `never` says why not. A new command
# is run as well, and has to end with 0 unless `tell` says something else. In the
# README, `<!-- run: STATUS -->` before a block of shell says that it ends with
# STATUS; the block of text after it is what is printed, digits apart.
#
# Each command runs in a directory of its own, which is also $HOME. Programs
# that are not installed, or do not belong to wdrun, are replaced by scripts
# that note their arguments in the file ran.
#
# bats file_tags=words
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

unset PREFIX DESTDIR TIMEOUT_LINK # perf(1) sets the first
manual=$root/man/wdrun.1
readme=$root/README.md

# --- what they show ----------------------------------------------------------

# Writes each command of README and manual into a file of its own below shown/:
# of the README the blocks of shell, and lines of indented blocks. .status and
# .expected beside a file are what a marked block ends with, and prints.
take_blocks() {
	awk '
		function new() { file = sprintf("shown/readme-%02d", ++n) }
		/^<!-- run: / { status = $3; next }
		/^```sh$/ {
			fenced = 1
			new()
			if ((marked = status != ""))
				print status >(file ".status")
			status = ""
			next
		}
		/^```text$/ {
			fenced = 1
			file = marked ? sprintf("shown/readme-%02d.expected", n) : ""
			marked = 0
			next
		}
		/^```/ { fenced = 0; next }
		fenced { if (file != "") print >file; next }
		/^    [^ #]/ && !in_item { new(); print substr($0, 5) >file; next }
		/^[^ ]/ { in_item = /^- /; marked = 0 }
	' "$readme"
	sed -e 's/\\-/-/g' -e "s/\\\\(aq/'/g" -e 's/\\(dq/"/g' -e 's/\\&//g' \
		-e 's/\\e/\\/g' "$manual" | awk '
		function new() { file = sprintf("shown/manual-%02d", ++n) }
		/^\.Bd -literal/ { new(); next }
		/^\.Ed/ { file = "" }
		file != "" && /^$/ { new(); next } # the next example of the block
		file != "" && !/^# / { print >file }'
}

# The same for the commands within a sentence: "`make bench`", ".Ql killall -9
# wdrun". Commands that are to stop processes run but where a test asks for them
# by name.
take_in_passing() {
	local name n=10 what='(wdrun|make|man|kill|killall|pkill|unshare|sudo|export) [^`]*'
	{
		tr -s '\n ' ' ' <"$readme" | sed 's/```[^`]*```//g' |
			grep -oE '`'"$what"'`' | tr -d '`'
		sed -n 's/^\.Ql //p' "$manual" | sed 's/\\-/-/g' |
			grep -E "^$what" | sed 's/ \([Nn]o .*\|[.,)]*\)$//'
	} | sort -u >names
	while read -r name; do
		! elsewhere "$name" >/dev/null || continue
		case $name in
		wdrun* | export*) n=$((n + 1)) && echo "$name" >"shown/passing-$n" ;;
		esac
	done <names
}

# taken KIND: prints the files of the examples for which elsewhere prints KIND,
# each example once.
taken() {
	local file text
	local -A seen
	mkdir -p shown
	take_blocks
	take_in_passing
	for file in shown/*[0-9]; do
		text=$(<"$file")
		if [ -z "${seen["$text"]-}" ] && ! never "$text" >/dev/null &&
			[ "$(elsewhere "$text" || echo here)" = "$1" ]; then
			echo "$file"
		fi
		seen["$text"]=yes
	done
}

# --- what they are to do -----------------------------------------------------

# never EXAMPLE: says why the example is not run, or fails.
never() {
	case $1 in
	'make test '* | 'make check') echo "is what runs this" ;;
	'man wdrun' | 'man ./man/wdrun.1')
		echo "docs.bats reads the page, and man(1) need not be there" ;;
	*…* | *...*) echo "stands for many" ;;
	'kill -9' | 'kill %1' | 'kill 0' | 'unshare --kill-child' | 'unshare --pid')
		echo "is no whole command" ;;
	'wdrun: '*) echo "is what wdrun prints" ;;
	'make install TIMEOUT_LINK='*) echo "timeout.bats does it" ;;
	'SHELL '*) echo "is a part of a makefile, which examples.bats runs" ;;
	*) return 1 ;;
	esac
}

# elsewhere EXAMPLE: prints which of the later tests runs the example, or fails.
elsewhere() {
	case $1 in
	'* * * * * '*) echo cron ;;
	make | 'make install'* | 'make demo'* | 'make dist '* | 'make deb '*)
		echo tree ;;
	'killall -9 wdrun' | 'pkill -9 -f wdrun' | 'pkill -f wdrun')
		echo namespace ;;
	*) return 1 ;;
	esac
}

# tell EXAMPLE: sets wanted (the status), ran (the stand-ins that run, in this
# order), before and after (commands in the same directory).
tell() {
	wanted=0 ran='' before=: after=:
	case $1 in
	'wdrun -t 30m -- ./review.sh') ran='review.sh ' ;;
	'wdrun -l db.lock -l disk.lock -w 1m -E 99 ./backup')
		before='wdrun -l db.lock sleep 0.4 3>&- & wait_until test -s db.lock'
		ran='backup ' ;;
	'wdrun --pty --no-stdin ls --color=auto | less -R')
		before='mkdir directory'
		after='grep -q $'\''\e\[.*directory'\'' out' ;;
	'wdrun -t '*' -- make check') after='grep -qx checked out' ;;
	'make -j8 SHELL=wdrun '*) after='grep -qx built out' ;;
	"wdrun -u 'BUILD SUCCESSFUL' "*)
		ran='build.sh '
		after='grep -qx "BUILD SUCCESSFUL" out' ;;
	'wdrun -t 1h --report=job.json ./job')
		ran='job '
		after='grep -q "\"status\":0" job.json' ;;
	'wdrun --pty --no-stdin -t 30m '*)
		after='grep -q "^claude -p" ran && cmp agent.log out && grep -q result out' ;;
	'out=$(wdrun ./deploy)')
		ran='deploy '
		after='grep -qx deployed variable' ;;
	'wdrun --survivors=leave ./start-server')
		ran='start-server '
		after='[ -n "$(leftovers)" ] && end_leftovers' ;;
	'while read -r host; do'*)
		before="printf '%s\\n' one two >hosts"
		ran=$'ssh one uptime\nssh two uptime' ;;
	'wdrun -i 1m -t 2h -- rsync -av --progress host:/data .')
		ran='rsync -av --progress host:/data .' ;;
	'wdrun -i 5m --idle-unless-busy --tee=build.log make')
		after='grep -qx built build.log' ;;
	'wdrun -t 60 ./job'*)
		ran='job '
		after='grep -qx done out
			JOB_STATUS=3 run_example 0 <"$example" && grep -qx failed out
			JOB_STATUS=124 run_example 0 <"$example" && grep -qx "took too long" out' ;;
	'xargs -n 1 -P 16 wdrun -t 1m ./convert <files')
		before='echo picture >files'
		ran='convert picture' ;;
	"wdrun -t 1m bash -c 'a && b'") ran=$'a \nb ' ;;
	'ENTRYPOINT '*) ran='server ' ;;
	'wdrun -n nightly '*) # a user types one line after the other
		text=${text/&/&until_listed}
		after='[[ $text == *--cancel* ]] || wdrun --cancel nightly' ;;
	'wdrun --cancel=nightly '*)
		before='nightly & until_listed'
		after='no wdrun --cancel nightly' ;;
	'wdrun --list --json '*)
		before='nightly & until_listed'
		after='jq -e ".[0].name == \"nightly\"" out && wdrun --cancel nightly' ;;
	'wdrun --list '*)
		before='nightly & until_listed'
		after='diff <(sed "s/.*# //" "$example") <(head -n 1 out | tr -s " ")
			wdrun --cancel nightly' ;;
	'export -f name')
		before='name() { echo called; } && export -f name'
		after='wdrun bash -c name | grep -qx called' ;;
	'export WDRUN_REGISTRY='*)
		after='eval "$text" && wdrun wdrun --list | grep "wdrun --list"' ;;
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

	for name in review.sh backup convert bin/rsync bin/server bin/a bin/b; do
		stand_in "$name"
	done
	stand_in job 'exit "${JOB_STATUS:-0}"'
	stand_in deploy 'sleep 1000 &' 'echo deployed'
	stand_in start-server 'sleep 1000 &' 'echo listening'
	stand_in build.sh 'echo BUILD SUCCESSFUL'
	stand_in nightly.sh 'sleep 1000'
	stand_in bin/until_listed 'until wdrun --list | grep nightly.*running' \
		'do sleep 0.05; done'
	stand_in bin/ssh '/bin/cat >/dev/null' # ssh reads stdin, too
	stand_in bin/claude '[ -t 1 ] || exit 3' \
		'echo '\''{"type":"result","subtype":"success"}'\'
}

# enter_directory NAME: makes the directory for an example, and enters it. All of
# them are copies of one.
enter_directory() {
	local filled=$BATS_TEST_TMPDIR/filled
	[ -e "$filled" ] || (mkdir "$filled" && cd "$filled" && fill_directory)
	cp -a "$filled" "$1"
	cd "$1" || return
	export HOME=$PWD XDG_STATE_HOME=$PWD/.local/state
	export PATH=$PWD/bin:$PATH TERM=xterm task='the task'
	unset WDRUN_REGISTRY MAKEFLAGS MAKELEVEL LS_COLORS
}

# A run on record.
nightly() {
	wdrun -n nightly sleep 1000 3>&-
}

# without_numbers FILE...: replaces PIDs and times, and sorts the lines: two
# streams have no common order.
without_numbers() {
	sed -E -e 's/[0-9]+/N/g' -e 's/ +$//' "$@" | sort
}

# run_marked: runs a block that prints the tree of a command that hangs in cat.
# Its time must not be over before cat is there.
run_marked() {
	local limit ended
	stand_in bin/cat 'date +%s%N >started' 'exec /bin/cat "$@"'
	for limit in 2 20; do
		rm -f replies
		run_example "$wanted" <<<"${text/-t 1 /-t $limit }"
		ended=$(stat -c %.9Y err)
		((${ended/./} - $(<started) < limit * 500000000)) || break
	done
	diff <(without_numbers "$example.expected") <(without_numbers out err)
}

# walk FILE: runs one example. In a shell of its own, since an example may
# change the shell.
walk() {
	local text wanted ran before after example=$PWD/$1
	text=$(<"$example")
	tell "$text"
	[[ $text != ENTRYPOINT* ]] || text=$(jq -r @sh <<<"${text#ENTRYPOINT }")
	enter_directory "dir-${1##*/}"
	eval "$before"
	if [ -e "$example.expected" ]; then
		wanted=$(<"$example.status")
		run_marked
	else
		run_example "$wanted" <<<"$text"
	fi
	[ -z "$ran" ] || diff ran - <<<"$ran"
	eval "$after"
}

# --- the walk ----------------------------------------------------------------

@test "the examples of README and manual end as they say, and do what they say" {
	local file
	need jq
	taken here >files
	[ "$(grep -c readme files)" -ge 8 ]
	[ "$(grep -c manual files)" -ge 10 ]
	[ -n "$(find shown -name "*.expected")" ]

	while read -ru 9 file; do
		echo "=== $file" && cat "$file"
		(walk "$file")
	done 9<files
}

@test "the commands within sentences of README and manual are known to a test" {
	local name
	mkdir shown
	take_in_passing
	[ "$(wc -l <names)" -ge 8 ]

	while read -r name; do
		never "$name" || elsewhere "$name" ||
			grep -qxF "$name" shown/passing-* || {
			echo "say in never() or elsewhere(), or run: $name"
			return 1
		}
	done <names
}

# --- with others on the machine, or none -------------------------------------

# as_cron LINE: runs LINE as cron does: by sh, in the home directory, with an
# almost empty environment. /srv and /run belong to this mount namespace.
as_cron() {
	complete unshare --mount bash -c '
		mount --make-rprivate / && mount -t tmpfs none /run &&
			mount -t tmpfs none /srv || exit 99
		mkdir -p /run/lock /srv/review && cp review-poll.sh /srv/review
		exec env -i HOME="$HOME" LOGNAME=me SHELL=/bin/sh \
			WDRUN_TEST="$WDRUN_TEST" \
			PATH="$HOME/bin:/usr/bin:/bin" sh -c "$1"' - \
		"${1#'* * * * * '}"
}

@test "the lines for cron run as cron runs them" {
	local file
	need_mounts
	taken cron >files
	[ "$(wc -l <files)" -ge 3 ]

	while read -ru 9 file; do
		(
			line=$(<"$file")
			echo "=== $line"
			enter_directory "dir-${file##*/}"
			stand_in review-poll.sh
			stand_in poll.sh
			as_cron "$line"
			[ "$status" -eq 0 ]
			[ -z "$output$stderr" ]
			[[ $line == *"./$(tr -d ' ' <ran)" ]]
		)
	done 9<files
}

# killall and pkill find processes by name, so they run in a PID namespace
# without other processes of that name. What pkill kills first must not end what
# it kills next: both are stopped before.
@test "killall finds one of the two processes of wdrun, pkill -f both" {
	local by
	need_root
	need pkill killall
	need_unshare --pid --fork --mount-proc
	mkdir shown
	take_in_passing
	enter_directory home
	for by in 'killall -9 wdrun' 'pkill -9 -f wdrun' 'pkill -f wdrun'; do
		grep -qxF "$by" ../names
		echo "=== $by"
		printf '%s\n' 'wdrun -n nightly sleep 1000 >said 2>&1 &' \
			'until wdrun --list | grep -q running; do sleep 0.05; done' \
			'[ $$ -eq 1 ] && cd / && # where no path tells where this is' \
			"$by" 'wait $!' 'echo "status $?"' \
			'while pgrep -f wdrun; do sleep 0.05; done >/dev/null' \
			'wdrun --list | grep -c orphaned' \
			'wdrun --reap' 'pgrep -x sleep' >script
		complete unshare --pid --fork --mount-proc bash <script
		[ "$status" -eq 1 ] # no sleep is left
		case $by in
		killall*) # the supervisor ends the run
			[ "$output" = $'status 137\n0' ]
			[ -s said ] ;;
		'pkill -9'*) # which may find that the supervisor has ended
			[[ $output == $'status 137\n'[01] ]] ;;
		*)
			[ "$output" = $'status 143\n0' ] ;;
		esac
	done
}

# --- this tree ---------------------------------------------------------------

# Makes a copy of the source tree in which everything is built, with the wdrun
# that is tested.
copy_tree() {
	cp -a "$root"/{Makefile,watchdog.[ch],src,man,README.md,CHANGELOG.md} \
		"$root"/{examples,completions} .
	mkdir tests
	cp -a "$root/tests/demo" tests
	(cd "$root" && find src -type d) | sed "s,^,build/default/," | xargs mkdir -p
	make --touch wdrun >/dev/null
	install -m 755 "$WDRUN" build/default/wdrun
	install -m 755 "$WDRUN" wdrun
}

# shows_demo FILE: runs `make demo`, which prints what the README shows. Its
# times must not be over before review.sh is there: under timeout it is there
# sooner than it has to be under wdrun.
shows_demo() {
	local limit
	sed -n '/^<!-- demo -->$/,/^```$/p' "$readme" | sed '1,2d;$d' >expected
	[ "$(wc -l <expected)" -ge 10 ]
	cp tests/demo as-it-is
	for limit in 1 10; do
		sed -e "s/-k 1 2 /-k 30 $limit /" \
			-e "s/-t 2 -k 1 /-t $((2 * limit)) -k 30 /" as-it-is >tests/demo
		run_example 0 <"$1"
		(($(grep -c 'still running: [0-9]' out) < 2)) || break
	done
	diff <(without_numbers expected) <(without_numbers out err)
	[ "$(tail -n 1 out)" = '    still running: nothing' ]
}

# makes_archive FILE: runs `make dist`, whose archive can be checked and used, and
# is the same each time.
makes_archive() {
	if grep -q INTERP <(readelf -lW wdrun); then # not from the build of glibc
		run_example 2 <"$1"
		return
	fi
	run_example 0 <"$1"
	(cd build/dist && sha256sum --check SHA256SUMS)
	tar -xzf build/dist/wdrun-*-linux-*.tar.gz
	cmp wdrun wdrun-*/bin/wdrun
	cmp man/wdrun.1 wdrun-*/share/man/man1/wdrun.1
	[ "$(find wdrun-*/share -type f | wc -l)" -eq 4 ]

	mv build/dist/SHA256SUMS first
	touch man/wdrun.1 completions/_wdrun
	run_example 0 <"$1"
	cmp first build/dist/SHA256SUMS
}

# makes_package FILE: the same of `make deb`.
makes_package() {
	if ! type -P dpkg-deb || grep -q INTERP <(readelf -lW wdrun); then
		run_example 2 <"$1"
		return
	fi
	run_example 0 <"$1"
	dpkg-deb -x build/deb/wdrun_*.deb root
	cmp wdrun root/usr/bin/wdrun
	cmp man/wdrun.1 <(gzip -dc root/usr/share/man/man1/wdrun.1.gz)
	sha256sum build/deb/wdrun_*.deb >first
	touch man/wdrun.1
	run_example 0 <"$1"
	sha256sum --check first
}

# installs FILE: the second form first, since every user can run it; then that of
# root, in the /usr/local of a mount namespace.
installs() {
	local text
	text=$(<"$1")
	[[ $text == *'# or PREFIX=$HOME/.local' ]]
	run_example 0 <<<"make install ${text#*# or }"
	[ "$(.local/bin/wdrun --version)" = "$(wdrun --version)" ]
	cmp man/wdrun.1 .local/share/man/man1/wdrun.1

	if ((EUID != 0)) || ! unshare --mount true; then return; fi
	complete unshare --mount bash -c 'mount --make-rprivate / &&
		mount -t tmpfs none /usr/local &&
		. "$1" && /usr/local/bin/wdrun --version' - "$1"
	[ "$status" -eq 0 ]
}

@test "make, make demo, make dist, make deb and make install do what the README says" {
	local file
	taken tree >files
	[ "$(wc -l <files)" -eq 5 ]
	enter_directory tree
	rm Makefile
	copy_tree
	while read -ru 9 file; do
		file=../$file
		echo "=== $(<"$file")"
		case $(<"$file") in
		'make install '*) installs "$file" ;;
		'make dist '*) makes_archive "$file" ;;
		'make deb '*) makes_package "$file" ;;
		'make demo '*) shows_demo "$file" ;;
		*)
			run_example 0 <"$file"
			[ -x wdrun ] ;;
		esac
	done 9<../files
}
