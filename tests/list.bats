#!/usr/bin/env bats
#
# `wdrun --list` shows what runs and what is left of runs, to people and to
# programs, whatever files the registry has.
#
# shellcheck disable=SC2016,SC2154,SC2030,SC2031

load helper
load orphans
load prompt

setup() {
	common_setup
	make_registry
}

# run_on_record OPTION... -- COMMAND...: starts a run and waits until its
# COMMAND is executed, which is after the run was put on record. Sets front,
# supervisor and target.
run_on_record() {
	start "$WDRUN" "$@"
	await_watchers
}

list() {
	complete "$WDRUN" --list "$@"
}

# shows_state NAME STATE: --list shows the run NAME in STATE.
shows_state() {
	"$WDRUN" --list --json |
		jq -e --arg name "$1" --arg state "$2" \
			'.[] | select(.name == $name) | .state == $state'
}

end() {
	kill -TERM "$front"
	wait "$front" || true
}

# --- what is listed ----------------------------------------------------------

@test "--list shows which runs there are, since when, for how long still, and their commands" {
	run_on_record --name=nightly -t 1h -- sleep 1000
	first=$front
	run_on_record --name=daily -- sleep 1001

	run --separate-stderr "$WDRUN" --list
	kill "$first" "$front"
	wait "$first" "$front" || true

	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 3 ]
	[[ ${lines[0]} =~ ^NAME\ +ID\ +STATE\ +AGE\ +LEFT\ +COMMAND$ ]]
	[[ ${lines[1]} =~ ^nightly\ +$first\ +running\ +[0-9]+s\ +59m..s\ +sleep\ 1000$ ]]
	[[ ${lines[2]} =~ ^daily\ +$front\ +running\ +[0-9]+s\ +-\ +sleep\ 1001$ ]]
	[ "${#lines[2]}" -eq "${#lines[1]}" ]
	[ -z "${stderr-}" ]
}

@test "a run is on record before its command is executed" {
	complete "$WDRUN" --name=itself -- "$WDRUN" --list --json

	[ "$(jq -r '.[0].name' out)" = itself ]
	[ "$(jq '.[0] | .state == "running" and .pid == '"$started" out)" = true ]
}

# lists_nothing DIRECTORY: --list has shown no run, and said where it looked.
lists_nothing() {
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	[ "$stderr" = "wdrun: no runs on record in $1 (--name or --registry puts a run there)" ]
}

@test "a run that is over is not listed" {
	complete "$WDRUN" --name=over true

	list

	lists_nothing "$WDRUN_REGISTRY"
	[ -z "$(ls "$WDRUN_REGISTRY")" ]
}

@test "where there is no run, --list says where it looked, and --json prints an empty array" {
	list
	lists_nothing "$WDRUN_REGISTRY"

	list -q
	[ "$status" -eq 0 ]
	[ -z "$output$stderr" ]

	list --json
	[ "$status" -eq 0 ]
	[ "$output" = '[]' ]
	[ -z "$stderr" ]

	list --registry=nowhere
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	[ "$stderr" = "wdrun: registry 'nowhere': No such file or directory" ]
	[ ! -e nowhere ]

	WDRUN_REGISTRY=nowhere list
	lists_nothing nowhere
	XDG_STATE_HOME=$PWD/state WDRUN_REGISTRY='' list
	lists_nothing "$PWD/state/wdrun"
	[ ! -e nowhere ] && [ ! -e state ]
}

@test "a registry that cannot be read is a failure, and not an empty one" {
	need_root
	need setpriv
	forge
	chmod 755 . ..
	cp "$WDRUN" wdrun
	chown nobody "$WDRUN_REGISTRY"
	for mode in 000 300 600; do
		chmod "$mode" "$WDRUN_REGISTRY"
		for option in --list --reap --cancel=name; do
			complete setpriv --reuid=nobody --clear-groups ./wdrun \
				"$option"
			[ "$status" -eq 125 ]
			[ -z "$output" ]
			only_messages
			grep -q 'Permission denied$' err
		done
	done
	chmod 700 "$WDRUN_REGISTRY"
}

@test "a run that is being stopped is listed as stopping" {
	mkfifo fifo
	start "$WDRUN" --name=slow -k never bash -c \
		'trap "" TERM; echo "ready $$"; read -r x <>fifo' 3>&-
	await_watchers
	await_ready
	shows_state slow running

	kill -TERM "$front"

	wait_until shows_state slow stopping
	kill -KILL "$ready"
	finish
}

@test "a run whose supervisor was killed is not listed as running" {
	run_on_record --name=hurt -- "$PROGRAMS/escape" stubborn
	await_ready
	kill -STOP "$front"
	wait_until is_stopped "$front"
	kill -KILL "$supervisor"
	wait_until is_dead "$supervisor"

	shows_state hurt stopping

	kill -CONT "$front"
	finish
	[ -z "$(ls "$WDRUN_REGISTRY")" ]
}

@test "a run both of whose watchers were killed is listed as orphaned" {
	orphan --name=lost -- "$PROGRAMS/escape" fork setsid

	shows_state lost orphaned

	wait_until "$WDRUN" --reap -q
	is_dead "$ready"
	run ! shows_state lost orphaned
}

# wait_for_lock OPTION...: starts a run that waits for the lock of another run,
# and waits until it is on record. Sets front, and holder, the other run's front.
wait_for_lock() {
	run_on_record --name=holder --lock=lock -- sleep 1000
	holder=$front
	start "$WDRUN" --name=second --lock=lock "$@" -- sleep 1001
	front=$started
	wait_until shows_state second waiting
}

end_holder() {
	kill -TERM "$holder"
	wait "$holder" || true
}

@test "a run that waits for a lock is listed as waiting, with the time that it waits" {
	wait_for_lock --lock-wait=1h -t 1
	list
	[[ ${output##*$'\n'} =~ ^second\ +$front\ +waiting\ +[0-9]+s\ +59m..s\ +sleep\ 1001$ ]]
	"$WDRUN" --list --json | jq -e '.[1] | .pid == '"$front"' and .target == null and
		(.locks | length) == 1 and .cleanup == []'

	end
	wait_until no shows_state second waiting
	shows_state holder running
	end_holder
	[ -z "$(ls "$WDRUN_REGISTRY")" ]
}

@test "a run that gets its lock is listed as running" {
	wait_for_lock --lock-wait=1h
	end_holder
	wait_until shows_state second running
	end
	[ -z "$(ls "$WDRUN_REGISTRY")" ]
}

@test "a run that waits for a lock in vain is not left on record" {
	run_on_record --name=holder --lock=lock -- sleep 1000
	holder=$front
	complete "$WDRUN" --name=second --lock=lock --lock-wait=200ms -- touch ran
	[ "$status" -eq 75 ]
	shows_state holder running
	[ "$(ids | wc -l)" -eq 1 ]
	end_holder
	[ ! -e ran ]
}

@test "a run that waits for a lock in vain is not left on record where it cannot fork at the end" {
	need strace
	export ASAN_OPTIONS=detect_leaks=0 # which does not work under strace
	run_on_record --name=holder --lock=lock -- sleep 1000
	holder=$front
	complete strace -qq -o trace -e trace=clone -e inject=clone:error=ENOMEM:when=2 \
		"$WDRUN" --name=second --lock=lock --lock-wait=200ms -- touch ran
	[ "$status" -eq 75 ]
	grep -q INJECTED trace
	[ "$(ids | wc -l)" -eq 1 ]
	shows_state holder running
	end_holder
	[ ! -e ran ]
}

# The first clone(2) is for the helper that puts the run on record. Where there is
# fork(2), the watchers are forked by it.
@test "a run that has waited for a lock and cannot start its watchers is not left on record" {
	need strace
	export ASAN_OPTIONS=detect_leaks=0 # which does not work under strace
	run_on_record --name=holder --lock=lock -- sleep 1000
	holder=$front
	start strace -qq -o trace -e trace=clone,fork -e inject=fork:error=EAGAIN \
		-e inject=clone:error=EAGAIN:when=2+ \
		"$WDRUN" --name=second --lock=lock --lock-wait=1h -- touch ran
	wait_until shows_state second waiting
	end_holder
	finish

	[ "$status" -eq 125 ]
	[[ $stderr == *"cannot start the supervisor: "* ]]
	[ ! -e ran ]
	[ -z "$(ls "$WDRUN_REGISTRY")" ]
}

@test "a run that was killed while it wrote its second entry leaves neither entry" {
	wait_for_lock --lock-wait=1h
	id=$(ids | grep "^$front-")
	: >"$WDRUN_REGISTRY/.$id.$(</proc/sys/kernel/random/boot_id).$(
		stat -Lc %i /proc/self/ns/pid).new"
	end

	[ "$(find "$WDRUN_REGISTRY" -type f | wc -l)" -eq 1 ]
	end_holder
	[ -z "$(ls -A "$WDRUN_REGISTRY")" ]
}

# The start times in its entry would be those of other processes.
@test "a run where /proc is of another PID namespace is not put on record" {
	need_unshare --pid --fork
	complete unshare --pid --fork bash -c '"$WDRUN" --name=here touch ran
		echo "status $?"'

	[ "$output" = "status 125" ]
	[[ $stderr == *"no /proc of this PID namespace"* ]]
	[ ! -e ran ]
	[ -z "$(ls "$WDRUN_REGISTRY")" ]
}

@test "--cancel ends the wait for a lock, and leaves the holder of the lock alone" {
	wait_for_lock --lock-wait=1h
	run "$WDRUN" --cancel=second
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	status=0
	wait "$front" || status=$?
	[ "$status" -eq 143 ]
	[ "$(ids | wc -l)" -eq 1 ]
	shows_state holder running
	end_holder
}

@test "SIGKILL of a run that waits for a lock leaves an entry that --reap removes, and the lock" {
	wait_for_lock --lock-wait=1h --cleanup=made
	kill -KILL "$front"
	wait "$front" || true
	: >made
	shows_state second orphaned
	run --separate-stderr "$WDRUN" --reap
	[ "$status" -eq 0 ]
	[[ $stderr == *'(second): found no process to kill' ]]
	[ -e made ]
	[ "$(head -n 1 lock)" = "$holder" ]
	shows_state holder running
	end_holder
}

@test "a run in another PID namespace is listed as elsewhere" {
	forge name=inside pidns=4711 front="$$ $(start_of $$)"

	shows_state inside elsewhere

	list
	[[ ${output##*$'\n'} =~ ^inside\ +[0-9]+\ +elsewhere\  ]]
}

@test "a run whose start times come from another clock is listed as elsewhere" {
	forge name=apart timens=4711 front="$$ $(start_of $$)"

	shows_state apart elsewhere
}

@test "a run from before the last boot is not listed" {
	forge boot=11111111-2222-3333-4444-555555555555

	reboot
	complete "${rebooted[@]}" "$WDRUN" --list

	lists_nothing "$WDRUN_REGISTRY"
}

@test "a process that got the PID of a dead watcher does not keep its run alive" {
	forge name=lost front="$$ 1" supervisor="$$ 2"

	shows_state lost orphaned
}

@test "the runs are listed in the order of their start" {
	forge id=5-30 name=third
	forge id=1111111-10 name=first
	forge id=7-20 name=second
	forge id=3-100000000000000 name=last

	"$WDRUN" --list --json | jq -e 'map(.name) ==
		["first", "second", "third", "last"]'
}

@test "thousands of runs on record are all listed" {
	forge name=one
	awk -v dir="$WDRUN_REGISTRY" '{ line[NR] = $0 } END {
		for (i = 1; i <= 4000; i++) {
			file = sprintf("%s/77-%x.run", dir, i)
			for (n = 1; n <= NR; n++)
				print (line[n] ~ /^id / ? sprintf("id 77-%x", i) \
					: line[n]) >file
			close(file)
		}
	}' "$WDRUN_REGISTRY/$id.run"

	[ "$("$WDRUN" --list | grep -c ' orphaned ')" -eq 4001 ]
	[ "$("$WDRUN" --list --json | jq 'map(.id) | unique | length')" -eq 4001 ]
}

@test "a run that ends while --list reads it is not shown as orphaned" {
	need strace
	run_on_record --name=short -- sleep 1000
	entry=$(ids).run
	# The leak check of the sanitizers traces the process, which strace does
	# already.
	strace -E ASAN_OPTIONS=detect_leaks=0 -o trace \
		-P "$WDRUN_REGISTRY/$entry" -e inject=read:signal=STOP:when=1 \
		"$WDRUN" --list >listed 3>&- &
	strace=$!
	wait_until is_stopped_with "$strace" "$entry"

	end
	[ -z "$(ids)" ]
	kill -CONT "$looking"
	wait "$strace"

	[ ! -s listed ]
}

# is_stopped_with PID FILE: the child of PID is stopped, and has FILE open. Sets
# looking to the child.
is_stopped_with() {
	looking=$(children_of "$1" 2>/dev/null) || return
	is_traced_stop "$looking" &&
		find "/proc/$looking/fd" -lname "*/$2" 2>/dev/null | grep -q .
}

# Whether strace has seen the stop.
is_traced_stop() {
	look_at "$1"
	[[ $process_state == [Tt] ]] && grep -q 'stopped by SIGSTOP' trace
}

@test "without descriptors to look with, --list shows no run as dead" {
	run_on_record --name=alive -- sleep 1000
	for descriptors in {3..12}; do
		bash -c 'ulimit -n "$1"; exec "$WDRUN" --list' - "$descriptors" \
			>>lists 2>>errors || true # the loader may lack a descriptor too
	done
	end

	grep -q '^alive  .*  running ' lists
	run ! grep -v -e ' running ' -e '^NAME ' lists
	grep -q '^wdrun: cannot read the registry: ' errors
}

# --- the table ---------------------------------------------------------------

@test "on a terminal the table fits its width, and can be read on 80 and 40 columns" {
	forge name="$(printf 'n%.0s' {1..200})" arg="$(printf 'é%.0s' {1..400})"
	forge name=nightly arg=sleep started="$(($(date +%s) * 1000000000))"
	at_prompt
	for width in 100 80 61; do
		show_list_at "$width"
		[[ ${lines[0]} =~ ^NAME\ +ID\ +STATE\ +AGE\ +LEFT\ +COMMAND$ ]]
		[[ ${lines[1]} =~ ^n{$((width / 4))}\ +[0-9]+\ \ orphaned\ .*é{8} ]]
		[[ ${lines[2]} =~ ^nightly\ +[0-9]+\ \ orphaned\ +[0-9]+s\ +-\ +sleep$ ]]
		[ "${lines[3]}" = "at$width=0" ]
	done

	show_list_at 40
	[[ ${lines[0]} =~ ^NAME\ +ID\ +STATE\ +LEFT$ ]]
	[ "${lines[1]}" = '  COMMAND' ]
	[[ ${lines[2]} =~ ^n{10}\ \ [0-9]+\ \ orphaned\ \ -$ ]]
	[[ ${lines[3]} =~ ^\ \ é{38}$ ]]
	[[ ${lines[4]} =~ ^nightly\ +[0-9]+\ \ orphaned\ \ -$ ]]
	[ "${lines[5]}" = '  sleep' ]
	[ "${lines[6]}" = at40=0 ]
}

# show_list_at WIDTH: sets lines to what the list is on such a terminal.
show_list_at() {
	tmux -S socket resize-window -x "$1" -y 40
	wait_until pane_is "$1"
	enter "clear; wdrun --list; echo at$1=\$?"
	wait_until shows "^at$1=0\$"

	mapfile -t lines < <(screen)
	[ "$(screen | LC_ALL=C.UTF-8 wc -L)" -le "$1" ]
}

# tmux tells the terminal its new size a while later.
pane_is() {
	[[ $(stty -F "$tty" size) == *" $1" ]]
}

@test "where stdout is no terminal, nothing of the table is cut" {
	long=$(printf 'n%.0s' {1..255})
	forge name="$long" arg="$(printf 'a%.0s' {1..1000})"

	list

	[[ ${output#*$'\n'} =~ ^$long\ \ [0-9]+\ \ orphaned\ .*\ a{1000}$ ]]
}

@test "a name that is not text cannot control the terminal" {
	run_on_record --name=$'a\e[31m\n\xff\xc2\x9bb' -- \
		sh -c 'exec sleep 1000' $'x\ty'

	list_output=$("$WDRUN" --list)
	end

	[[ $list_output == *$'\n''a?[31m????b  '*'  running '* ]]
	[[ $list_output == *'  sh -c exec sleep 1000 x?y' ]]
	[ "$(wc -l <<<"$list_output")" -eq 2 ]
}

@test "what a command has too much of is left out, and the list says so" {
	mapfile -t many < <(seq 100000 104999)
	run_on_record --name=many -- sleep 1000 "${many[@]}"

	list_output=$("$WDRUN" --list)
	is_cut=$("$WDRUN" --list --json | jq '.[0].command_is_cut')
	end

	[[ $list_output == *' sleep 1000 100000 100001 100002 '*... ]]
	[ "$is_cut" = true ]
}

# --- JSON --------------------------------------------------------------------

@test "--json tells all that is on record" {
	run_on_record --name=nightly -t 1h --lock=run.lock --cleanup=a.lock \
		--cleanup=b.lock -- sh -c 'exec sleep 1000' ''
	"$WDRUN" --list --json >json
	end

	jq -e --arg pwd "$PWD" --argjson pid "$front" \
		--argjson supervisor "$supervisor" --argjson target "$target" '
		length == 1 and (.[0] |
		(.id | test("^\($pid)-[0-9a-f]+$")) and .name == "nightly" and
		.state == "running" and .pid == $pid and
		.supervisor == $supervisor and .target == $target and
		(.started - now | fabs) < 60 and
		.age >= 0 and .age < 60 and .left > 3500 and .left <= 3600 and
		.directory == $pwd and .command == ["sh", "-c", "exec sleep 1000", ""] and
		.command_is_cut == false and
		(.locks | length == 1 and (.[0] | endswith("run.lock"))) and
		(.cleanup | length == 2 and (.[1] | endswith("b.lock"))))' json
}

@test "--json has null for a missing name and a missing time" {
	run_on_record --registry="$WDRUN_REGISTRY" -- sleep 1000
	"$WDRUN" --list --json >json
	end

	jq -e '.[0] | .name == null and .left == null' json
}

@test "--json is JSON whatever bytes a name and a command have" {
	long=$(printf 'a%.0s' {1..4096})
	local nasty=$'"quoted" \\ back\nnew\tline\e\x7f \xff\xc3 \xed\xa0\x80 \xc3\xa9 \xf0\x9f\x90\xa2'
	run_on_record --name="$nasty" -- sh -c 'exec sleep 1000' \
		"$nasty" "$long" last
	"$WDRUN" --list --json >json
	end

	iconv -f UTF-8 -t UTF-8 json >/dev/null
	jq -e '.[0].name ==
		"\"quoted\" \\ back\nnew\tline\u001b\u007f \ufffd\ufffd \ufffd\ufffd\ufffd é 🐢"' json
	jq -e '.[0] | .command[3] == .name and .command[5] == "last" and
		(.command[4] | test("^a{1024}$")) and .command_is_cut' json
}

# --list needs more descriptors for each record that it reads, and fewer for the
# record of a run elsewhere: so it fails after the first record.
@test "--json is whole; or nothing, and a failure, where a record cannot be read" {
	forge id=1-10 name=apart pidns=4711
	forge id=2-20 name=here
	failures=0
	for descriptors in {3..12}; do
		status=0
		bash -c 'ulimit -n "$1"; exec "$WDRUN" --list --json' - \
			"$descriptors" >json 2>err || status=$?
		if [ "$status" -eq 0 ]; then
			jq -e 'map(.name) == ["apart", "here"]' json
		else
			[ "$status" -eq 125 ] || [ "$status" -eq 127 ]
			[ ! -s json ]
			[ -s err ]
			failures=$((failures + 1))
		fi
	done

	((failures > 0 && failures < 10))
}

# --- a hostile registry ------------------------------------------------------

# is_refused FILE TEXT: --list says of FILE, in one line, that it is TEXT, shows
# the other run, and leaves FILE.
is_refused() {
	list
	[ "$status" -eq 0 ]
	[[ $output == NAME\ *COMMAND$'\n'"healthy "* ]]
	[[ $output != *$'\n'*$'\n'* ]]
	[ "$stderr" = "wdrun: registry: '$1' cannot be used: $2" ]
	[ -e "$WDRUN_REGISTRY/$1" ] || [ -L "$WDRUN_REGISTRY/$1" ]

	list --json
	[[ $output == $'[\n{"id":'*'"name":"healthy",'*$'}\n]' ]]
	[[ $output != *$'\n'*$'\n'*$'\n'* ]]
	rm -rf "${WDRUN_REGISTRY:?}/$1"
}

@test "a file in the registry that is not an entry is reported in a line, and left alone" {
	forge name=healthy
	local bad=$WDRUN_REGISTRY/9-9.run
	cp "$WDRUN_REGISTRY/$id.run" entry
	sed 's/^id .*/id 9-9/' entry >other

	ln -s "$PWD/other" "$bad"
	is_refused 9-9.run "a symbolic link"
	mkfifo "$bad"
	is_refused 9-9.run "not a regular file"
	mkdir "$bad"
	is_refused 9-9.run "a directory"
	truncate -s 1T "$bad"
	is_refused 9-9.run "too large for an entry"
	head -c 20000 /dev/urandom >"$bad"
	is_refused 9-9.run "not a complete entry"
	: >"$bad"
	is_refused 9-9.run "not a complete entry"
	head -n -1 other >"$bad"
	is_refused 9-9.run "not a complete entry"
	sed 's/^front .*/front 1/' other >"$bad"
	is_refused 9-9.run "not a complete entry"
	cp entry "$bad"
	is_refused 9-9.run "not a complete entry"
	sed 's/^wdrun 1$/wdrun 2/' other >"$bad"
	is_refused 9-9.run "written by another version of wdrun"
	cp other "$bad" && chmod 620 "$bad"
	is_refused 9-9.run "not this user's own, or others can write it"
}

@test "another user's file in the registry is reported in a line, and left alone" {
	need_root
	forge name=healthy
	sed 's/^id .*/id 9-9/' "$WDRUN_REGISTRY/$id.run" >"$WDRUN_REGISTRY/9-9.run"
	chown nobody "$WDRUN_REGISTRY/9-9.run"

	is_refused 9-9.run "not this user's own, or others can write it"
}

@test "a hidden file that is not named as an entry is ignored" {
	touch "$WDRUN_REGISTRY"/{.notes,.run,.1-1.new,.nfs000000000001}
	mkfifo "$WDRUN_REGISTRY/.fifo"

	list

	lists_nothing "$WDRUN_REGISTRY"
}

# is_no_registry WHAT TEXT: --list and a run refuse WHAT with TEXT, and the run
# has not begun.
is_no_registry() {
	list --registry="$1"
	[ "$status" -eq 125 ]
	[ -z "$output" ]
	[[ $stderr == "wdrun: registry '"*"$2"* && $stderr != *$'\n'* ]]

	complete "$WDRUN" --registry="$1" -- touch has-run
	[ "$status" -eq 125 ]
	[[ $stderr == "wdrun: registry '"*"$2"* ]]
	[ ! -e has-run ]
}

@test "a registry that others can write is refused, for a run before it begins" {
	mkdir -m 770 theirs
	mkdir -m 777 everyones
	mkdir -m 1777 sticky
	ln -s everyones link

	is_no_registry theirs 'can be written by others'
	is_no_registry everyones 'can be written by others'
	is_no_registry sticky 'can be written by others'
	is_no_registry link 'can be written by others'
}

@test "another user's registry is refused" {
	need_root
	mkdir -m 700 theirs
	chown nobody theirs

	is_no_registry theirs 'belongs to user'
}

@test "a file or a FIFO is no registry" {
	touch file
	mkfifo fifo
	ln -s nowhere dangling

	is_no_registry file 'Not a directory'
	is_no_registry fifo 'Not a directory'
	is_no_registry file/below 'Not a directory'

	complete "$WDRUN" --registry=dangling -- touch has-run
	[ "$status" -eq 125 ]
	[ ! -e has-run ]
	[ ! -e nowhere ]
}

@test "a link leads to a registry that is this user's own" {
	ln -s "$WDRUN_REGISTRY" link

	complete "$WDRUN" --registry=link -- "$WDRUN" --list --json

	[ "$(jq length out)" -eq 1 ]
}

# --- where it is -------------------------------------------------------------

# makes_it_at DIRECTORY [NAME=VALUE]...: a run makes its registry at DIRECTORY,
# and no other user can read the registry or the entry.
makes_it_at() {
	local directory=$1
	shift
	complete env -u WDRUN_REGISTRY "$@" bash -c '
		umask 027; exec "$WDRUN" --name=a -- sh -c \
		"stat -c \"%a %F\" \"\$1\" \"\$1\"/*.run" - "$0"' "$directory"
	[ "$status" -eq 0 ]
	[ "$output" = $'700 directory\n600 regular file' ]
	[ "$(stat -c %a "${directory%/*}")" = 700 ]
	[ -z "$(ls "$directory")" ]
}

@test "the registry is where the manual says, and made for this user alone" {
	makes_it_at "$PWD/a/b" XDG_STATE_HOME="$PWD/x" WDRUN_REGISTRY=a/b
	makes_it_at "$PWD/state/wdrun" XDG_STATE_HOME="$PWD/state"
	makes_it_at "$PWD/home/.local/state/wdrun" XDG_STATE_HOME='' \
		HOME="$PWD/home"
	makes_it_at "$PWD/home2/.local/state/wdrun" XDG_STATE_HOME=relative \
		HOME="$PWD/home2"
	[ ! -e x ]
	[ ! -e relative ]

	complete env -u HOME -u XDG_STATE_HOME -u WDRUN_REGISTRY \
		"$WDRUN" --name=a true
	[ "$status" -eq 125 ]
	[[ $stderr == "wdrun: no registry: "* ]]
}

@test "an entry is readable for its owner whatever the umask" {
	start bash -c 'umask 777; exec "$WDRUN" --name=a sleep 1000' 3>&-
	await_watchers

	[ "$(stat -c %a "$WDRUN_REGISTRY"/*.run)" = 600 ]
	end
}

@test "where a file cannot be linked, an entry is renamed into place" {
	complete "$PROGRAMS/deny" linkat -- "$WDRUN" --name=a -- bash -c '
		ls -A "$WDRUN_REGISTRY"; "$WDRUN" --list --json | jq -r ".[].state"'
	mapfile -t lines <out

	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 2 ]
	[[ ${lines[0]} =~ ^[0-9]+-[0-9a-f]+\.run$ ]]
	[ "${lines[1]}" = running ]
	[ -z "$(ls -A "$WDRUN_REGISTRY")" ]
}

# --- stdout ------------------------------------------------------------------

@test "a list that cannot be written is a failure" {
	forge
	for option in '' --json; do
		status=0
		"$WDRUN" --list $option >/dev/full 2>err || status=$?
		[ "$status" -eq 125 ]
		[ "$(<err)" = "wdrun: cannot write to stdout: No space left on device" ]
	done
}
