#!/usr/bin/env bats
#
# The commands that README and manual show do what they say: each is run here as
# it is written, but for those that docs.bats runs, and for the few for which
# `never` says why they are not run. A new command in README or manual is run as
# well, and has to end with 0 unless `tell` says something else.
#
# Each command runs in a directory of its own, which is also $HOME. Programs
# that are not installed, or do not belong to wdrun, are replaced by scripts
# that note their arguments in the file ran.
#
# Starts first: its tests take long, one after the other.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

unset PREFIX DESTDIR TIMEOUT_LINK # perf(1) sets the first
manual=$root/man/wdrun.1
readme=$root/README.md

# --- what they show ----------------------------------------------------------

# Writes each command of the README into a file of its own below shown/: blocks
# of shell, and lines of indented blocks. docs.bats runs the blocks after `<!--
# run: N -->`.
take_readme() {
	awk '
		function new() { file = sprintf("shown/readme-%02d", ++n) }
		/^<!-- run: / { marked = 1; next }
		/^```(sh|bash)$/ {
			in_block = 1
			if (!marked)
				new()
			next
		}
		/^```/ {
			in_block = !in_block
			marked = 0
			file = ""
			next
		}
		in_block { if (file != "") print >file; next }
		/^    [^ #]/ && !in_item { new(); print substr($0, 5) >file; file = "" }
		/^[^ ]/ { in_item = /^- / }
	' "$readme"
}

# The same for the manual, without mdoc's escapes.
take_manual() {
	sed -e 's/\\-/-/g' -e "s/\\\\(aq/'/g" -e 's/\\(dq/"/g' -e 's/\\&//g' \
		-e 's/\\e/\\/g' "$manual" | awk '
		function new() { file = sprintf("shown/manual-%02d", ++n) }
		/^\.Dl / { new(); print substr($0, 5) >file; file = "" }
		/^\.Bd -literal/ { new(); next }
		/^\.Ed/ { file = "" }
		file != "" && /^$/ { new(); next } # the next example of the block
		file != "" && !/^# / { print >file }'
}

# Prints the commands that appear within a sentence: "`make bench`", ".Ql
# killall -9 wdrun".
named_in_passing() {
	local what='(wdrun|make|man|kill|killall|pkill|unshare|sudo|export) [^`]*'
	{
		tr -s '\n ' ' ' <"$readme" | sed 's/```[^`]*```//g' |
			grep -oE '`'"$what"'`' | tr -d '`'
		sed -n 's/^\.Ql //p' "$manual" | sed 's/\\-/-/g' |
			grep -E "^$what" | sed 's/ \([Nn]o .*\|[.,)]*\)$//'
	} | sort -u
}

# Writes those of them that run as they are below shown/, too. Commands that are
# to stop processes do not run but where a test asks for them by name.
take_in_passing() {
	local name n=0
	named_in_passing >names
	while read -r name; do
		! elsewhere "$name" >/dev/null || continue
		case $name in
		wdrun* | export*)
			n=$((n + 1))
			echo "$name" >"shown/passing-$n"
			;;
		esac
	done <names
}

# --- what they are to do -----------------------------------------------------

# never EXAMPLE: says why the example is not run, or fails.
never() {
	case $1 in
	'make test '*) echo "is what runs this" ;;
	'make bench') echo "takes minutes, on a machine that does nothing else" ;;
	'man wdrun' | 'man ./man/wdrun.1')
		echo "docs.bats reads the page, and man(1) need not be there" ;;
	*…* | *...*) echo "stands for many" ;;
	'kill -9' | 'kill -TSTP' | 'kill %1' | 'kill 0' | 'unshare --kill-child')
		echo "is no whole command" ;;
	'wdrun 1') echo "is a line of a file" ;;
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
	make | 'make install'* | 'make demo'* | 'make dist '*) echo tree ;;
	'killall -9 wdrun' | 'pkill -9 -f wdrun' | 'pkill -f wdrun')
		echo namespace ;;
	'wdrun --list '* | 'wdrun --cancel=nightly '* | 'wdrun --reap'* | \
		'wdrun -n nightly -t 2h ./nightly.sh &'*) echo record ;;
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
		before='hold db.lock'
		ran='backup ' ;;
	'wdrun --pty --no-stdin ls --color=auto | less -R')
		before='mkdir directory'
		after='grep -q $'\''\e\[.*directory'\'' out' ;;
	'wdrun -t 20m -i 5m -- make check') after='grep -qx checked out' ;;
	'wdrun --pty --no-stdin -t 30m -u '*)
		ran='claude -p the task'
		after='cmp agent.log out && grep -q result out' ;;
	'make -j8 SHELL=wdrun '*) after='grep -qx built out' ;;
	"wdrun -u 'BUILD SUCCESSFUL' "*)
		ran='build.sh '
		after='grep -qx "BUILD SUCCESSFUL" out' ;;
	'wdrun -t 1h --report=job.json ./job')
		ran='job '
		after='grep -q "\"status\":0" job.json' ;;
	'wdrun --pty --no-stdin -t 30m -i 10m --idle-unless-busy '*)
		ran='claude -p review PR 1052 --output-format stream-json --verbose'
		after='cmp agent.log out && grep -q result out' ;;
	'wdrun -t 30m -- make check') after='grep -qx checked out' ;;
	'wdrun -t 5m -s INT -k 10s ./integration-tests')
		ran='integration-tests ' ;;
	'out=$(wdrun ./deploy)')
		ran='deploy '
		after='grep -qx deployed variable' ;;
	'wdrun --survivors=leave ./start-server')
		ran='start-server '
		after='[ -n "$(leftovers)" ] && end_leftovers' ;;
	'while read -r host; do'*)
		before="printf '%s\\n' one two >hosts"
		ran=$'ssh one uptime\nssh two uptime' ;;
	'wdrun -t 1h --survivors=wait ./build.sh')
		ran='build.sh '
		after='[ -e built ]' ;;
	'wdrun -i 1m -t 2h -- rsync -av --progress host:/data .')
		ran='rsync -av --progress host:/data .' ;;
	'wdrun -i 5m --idle-unless-busy --tee=build.log make')
		after='grep -qx built build.log' ;;
	'wdrun -t 60 ./job'*)
		ran='job '
		after='grep -qx done out
			JOB_STATUS=3 again 0 && grep -qx failed out
			JOB_STATUS=124 again 0 && grep -qx "took too long" out' ;;
	'xargs -n 1 -P 16 wdrun -t 1m ./convert <files')
		before='echo picture >files'
		ran='convert picture' ;;
	"wdrun -t 1m bash -c 'a && b'") ran=$'a \nb ' ;;
	'ENTRYPOINT '*) ran='server ' ;;
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

# hold FILE: holds the lock FILE for a moment.
hold() {
	"$WDRUN" --lock="$1" sleep 0.4 3>&- &
	wait_until test -s "$1"
}

# is_held FILE COMMAND...: runs COMMAND while this shell holds FILE with its
# PID.
is_held() {
	echo $$ >"$1"
	"${@:2}"
}

# again STATUS: runs the example once more.
again() {
	run_example "$1" <"$example"
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

# enter_directory NAME: makes the directory for an example, and enters it.
enter_directory() {
	mkdir -p "$1/bin" && cd "$1" || return
	export HOME=$PWD XDG_STATE_HOME=$PWD/.local/state
	export PATH=$PWD/bin:$PATH TERM=xterm task='the task'
	unset WDRUN_REGISTRY MAKEFLAGS MAKELEVEL LS_COLORS
	ln -s "$WDRUN" bin/wdrun
	printf '%s\n' 'all:;@echo built' 'check:;@echo checked' >Makefile

	local name
	for name in review.sh backup integration-tests poll.sh convert; do
		stand_in "$name"
	done
	stand_in job 'exit "${JOB_STATUS:-0}"'
	stand_in deploy 'sleep 1000 &' 'echo deployed'
	stand_in start-server 'sleep 1000 &' 'echo listening'
	stand_in build.sh '(sleep 0.3; touch built) &' 'echo BUILD SUCCESSFUL'
	stand_in nightly.sh 'sleep 1000'
	stand_in bin/ssh 'cat >/dev/null' # ssh reads stdin, too
	for name in rsync server a b; do
		stand_in "bin/$name"
	done
	stand_in bin/claude '[ -t 1 ] || exit 3' \
		'echo '\''{"type":"result","subtype":"success"}'\'
}

# as_typed EXAMPLE: prints it for a shell; the line for a container is a list.
as_typed() {
	case $1 in
	'ENTRYPOINT '*) jq -r @sh <<<"${1#ENTRYPOINT }" ;;
	*) echo "$1" ;;
	esac
}

# walk FILE: runs one example. In a shell of its own, since an example may
# change the shell.
walk() {
	local text wanted ran before after example=$PWD/$1
	text=$(<"$example")
	tell "$text"
	enter_directory "dir-${1##*/}"
	eval "$before"
	run_example "$wanted" <<<"$(as_typed "$text")"
	[ -z "$ran" ] || diff ran - <<<"$ran"
	eval "$after"
}

# taken KIND: prints the files of the examples for which elsewhere prints KIND.
taken() {
	local file
	mkdir -p shown
	take_readme
	take_manual
	take_in_passing
	for file in shown/*; do
		if [ "$(elsewhere "$(<"$file")" || echo here)" = "$1" ] &&
			! never "$(<"$file")" >/dev/null; then
			echo "$file"
		fi
	done
}

# --- the walk ----------------------------------------------------------------

@test "the examples of README and manual end as they say, and do what they say" {
	local file
	need jq
	taken here >files
	[ "$(grep -c readme files)" -ge 5 ]
	[ "$(grep -c manual files)" -ge 10 ]

	while read -r file; do
		echo "=== $file" && cat "$file"
		(walk "$file")
	done <files
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
	local line=$1
	complete unshare --mount bash -c '
		mount --make-rprivate / && mount -t tmpfs none /run &&
			mount -t tmpfs none /srv || exit 99
		mkdir -p /run/lock /srv/review && cp review-poll.sh /srv/review
		exec env -i HOME="$HOME" LOGNAME=me SHELL=/bin/sh \
			WDRUN_TEST="$WDRUN_TEST" \
			PATH="$HOME/bin:/usr/bin:/bin" sh -c "$1"' - \
		"${line#'* * * * * '}"
}

@test "the lines for cron run as cron runs them" {
	local file
	need_mounts
	taken cron >files
	[ "$(wc -l <files)" -ge 3 ]

	while read -r file; do
		(
			line=$(<"$file")
			echo "=== $line"
			enter_directory "dir-${file##*/}"
			stand_in review-poll.sh
			as_cron "$line"
			[ "$status" -eq 0 ]
			[ -z "$output$stderr" ]
			[[ $line == *"./$(<ran)" || $line == *"./$(tr -d ' ' <ran)" ]]
		)
	done <files
}

# killall and pkill find processes by name, so they run in a PID namespace
# without other processes of that name.
@test "killall finds one of the two processes of wdrun, pkill -f both" {
	local by
	need_root
	need pkill killall
	need_unshare --pid --fork --mount-proc
	enter_directory home
	for by in 'killall -9 wdrun' 'pkill -9 -f wdrun' 'pkill -f wdrun'; do
		named_in_passing | grep -qxF "$by"
		echo "=== $by"
		printf '%s\n' 'wdrun -n nightly sleep 1000 >said 2>&1 &' \
			'until wdrun --list | grep -q running; do sleep 0.05; done' \
			'[ $$ -eq 1 ] && cd / && # where no path tells where this is' \
			"$by" 'wait $!' 'echo "status $?"' \
			'while pgrep -f wdrun; do sleep 0.05; done >/dev/null' \
			'wdrun --list | grep -c orphaned' \
			'wdrun --reap' 'pgrep -x sleep' >script
		# The supervisor may end before pkill finds it.
		for _ in {1..20}; do
			complete unshare --pid --fork --mount-proc bash <script
			[[ $by == 'pkill -9'* && $output == *0 ]] || break
		done
		case $by in
		killall*) # the supervisor ends the run
			[ "$output" = $'status 137\n0' ]
			grep -q '^wdrun: the front (PID [0-9]*) was killed' said ;;
		'pkill -9'*)
			[ "$output" = $'status 137\n1' ]
			[[ $stderr == *"wdrun: run "*"(nightly): "* ]] ;;
		*)
			[ "$output" = $'status 143\n0' ] ;;
		esac
	done
}

# --- runs on record ----------------------------------------------------------

# typed_with TEXT: prints the file of the example that begins with TEXT.
typed_with() {
	local file
	for file in shown/*; do
		[[ $(<"$file") != "$1"* ]] || echo "$PWD/$file"
	done | head -n 1
}

nightly_is_listed() {
	wdrun --list | grep -q '^nightly '
}

# A user types the lines of the manual one after the other.
@test "the commands for runs on record show a run, stop it, and clean up" {
	local list json cancel reap lines
	need jq
	taken record >files
	list=$(typed_with 'wdrun --list  ')
	json=$(typed_with 'wdrun --list --json')
	cancel=$(typed_with 'wdrun --cancel=')
	reap=$(typed_with 'wdrun --reap')
	mapfile -t lines <"$(typed_with 'wdrun -n nightly')"
	[ "${#lines[@]}" -eq 3 ]
	[ "$(wc -l <files)" -eq 6 ]
	enter_directory home

	start bash -c "${lines[0]} wait \$!"
	nightly=$started
	wait_until nightly_is_listed
	wait_until grep -q nightly ran
	run_example 0 <<<"${lines[1]}"
	[[ $output == *nightly*running*./nightly.sh* ]]
	run_example 0 <<<"${lines[2]}"
	wait_until is_dead "$nightly"
	wait "$nightly" || [ $? -eq 143 ]

	wdrun -n nightly sleep 1000 3>&- &
	nightly=$!
	wait_until nightly_is_listed
	run_example 0 <"$list"
	diff <(sed 's/.*# //' "$list") <(head -n 1 out | tr -s ' ')
	run_example 0 <"$json"
	jq -e '.[0].name == "nightly" and length == 1' out
	run_example 0 <"$cancel"
	wait_until is_dead "$nightly"
	run_example 1 <"$cancel"
	run_example 0 <"$reap"
	[ -z "$output$stderr" ]
}

# --- this tree ---------------------------------------------------------------

# Makes a copy of the source tree in which everything is built, with the wdrun
# that is tested.
copy_tree() {
	cp -a "$root"/{Makefile,watchdog.[ch],src,man,README.md,CHANGELOG.md} \
		"$root"/{examples,completions} .
	mkdir tests
	cp -a "$root"/tests/{demo,install-tools,run} tests
	(cd "$root" && find src -type d) | sed "s,^,build/default/," | xargs mkdir -p
	make --touch wdrun >/dev/null
	install -m 755 "$WDRUN" build/default/wdrun
	install -m 755 "$WDRUN" wdrun
}

# Replaces PIDs and times, and sorts the lines: two streams have no common order.
without_numbers() {
	sed -E -e 's/[0-9]+/N/g' -e 's/ +$//' "$1" | sort
}

# shows_demo FILE: runs `make demo`, which prints what the README shows. On a slow
# machine, its two seconds may be too short.
shows_demo() {
	sed -n '/^<!-- demo -->$/,/^```$/p' "$readme" | sed '1,2d;$d' >expected
	[ "$(wc -l <expected)" -ge 10 ]
	for _ in {1..5}; do
		run_example 0 <"$1"
		cat err out | grep -v '^install-tools: ' >printed
		diff <(without_numbers expected) <(without_numbers printed) >changed &&
			return
	done
	cat changed
	return 1
}

# makes_archive FILE: runs `make dist`, whose archive can be checked and used, and
# is the same each time.
makes_archive() {
	local version archive
	# The build that is tested stands in the tree.
	if grep -q INTERP <(readelf -lW wdrun); then
		run_example 2 <"$1"
		return
	fi
	version=$(wdrun --version)
	run_example 0 <"$1"
	(cd build/dist && sha256sum --check SHA256SUMS)
	archive=$(echo build/dist/"wdrun-${version#wdrun }-linux-"*.tar.gz)
	tar -xzf "$archive"
	(cd wdrun-*/bin && [ "$(./wdrun --version)" = "$version" ])
	cmp man/wdrun.1 wdrun-*/share/man/man1/wdrun.1
	[ "$(find wdrun-*/share -type f | wc -l)" -eq 4 ]
	run ! grep -q INTERP <(readelf -lW wdrun-*/bin/wdrun)

	cp build/dist/SHA256SUMS first
	touch man/wdrun.1 completions/_wdrun
	run_example 0 <"$1"
	cmp first build/dist/SHA256SUMS
}

@test "make, make demo, make dist and make install do what the README says" {
	local file text
	taken tree >files
	[ "$(wc -l <files)" -eq 4 ]
	(
		enter_directory tree
		rm Makefile
		copy_tree
		while read -r file; do
			text=$(<"../$file")
			echo "=== $text"
			case $text in
			'make install '*)
				# The second form comes first, since every user
				# can run it.
				[[ $text == *'# or PREFIX=$HOME/.local' ]]
				run_example 0 <<<"make install ${text#*# or }"
				[ "$(.local/bin/wdrun --version)" = "$(wdrun --version)" ]
				cmp man/wdrun.1 .local/share/man/man1/wdrun.1 ;;
			'make dist '*)
				makes_archive "../$file" ;;
			'make demo '*)
				shows_demo "../$file"
				[ "$(grep -c 'still running: [0-9]' out)" -ge 1 ]
				[ "$(tail -n 1 out)" = '    still running: nothing' ] ;;
			*)
				run_example 0 <"../$file"
				[ -x wdrun ] ;;
			esac
		done <../files
	)
}

# The /usr/local of a mount namespace.
@test "make install of root does what the README says" {
	local file
	need_mounts
	taken tree >files
	file=$(xargs grep -l "^make install " <files)
	(
		enter_directory tree
		rm Makefile
		copy_tree
		complete unshare --mount bash -c '
			mount --make-rprivate / &&
				mount -t tmpfs none /usr/local &&
				. "$1" && /usr/local/bin/wdrun --version' \
			- "../$file"
		[ "$status" -eq 0 ]
	)
}
