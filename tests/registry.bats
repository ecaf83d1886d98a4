#!/usr/bin/env bats
#
# A registry is a directory of this user's own: where it is, who may read it, and
# what becomes of other things that are in it or in its place. --list shows what is
# on record, to people and to programs.
#
# Runs in a PID namespace of its own: other tests' processes are not its subject.

load helper
load orphans

# makes_it_at DIRECTORY [NAME=VALUE]...: a run makes its registry at DIRECTORY,
# and no other user can read the registry or the entry.
makes_it_at() {
	complete env -u WDRUN_REGISTRY "${@:2}" bash -c '
		umask 0; exec "$WDRUN" --name=a -- sh -c \
		"stat -c \"%a %F\" \"\$1\" \"\$1\"/*.run" - "$0"' "$1"
	[ "$output" = $'700 directory\n600 regular file' ]
	[ -z "$(ls -A "$1")" ]
}

# does_not_run VALUE...: the run ended with 125 before it began, and a message has these values.
does_not_run() {
	[ "$status" -eq 125 ]
	[ ! -e ran ]
	[ -z "$output" ]
	has_message "$@"
	only_messages
}

# bats test_tags=smoke,slow
@test "the registry is where the manual says, and private to its user; without a registry no run on record begins" {
	homes=(-uHOME HOME= HOME=relative)
	makes_it_at "$PWD/a/b" XDG_STATE_HOME="$PWD/x" WDRUN_REGISTRY=a/b
	makes_it_at "$PWD/state/wdrun" XDG_STATE_HOME="$PWD/state"
	makes_it_at "$PWD/home/.local/state/wdrun" XDG_STATE_HOME='' HOME="$PWD/home"
	makes_it_at "$PWD/home2/.local/state/wdrun" XDG_STATE_HOME=relative HOME="$PWD/home2"
	mkdir -m 700 own
	ln -s own link
	gives 0 complete "$WDRUN" --registry=link -- bash -c 'ls own/*.run'
	mkdir home3 # which sudo may have kept as HOME
	if ((EUID == 0)); then
		chown 65534 home3
		homes+=(HOME="$PWD/home3" XDG_STATE_HOME="$PWD/home3"{,/.local/state})
	fi
	for home in "${homes[@]}"; do
		complete env -u WDRUN_REGISTRY -u XDG_STATE_HOME "$home" "$WDRUN" --name=a touch ran
		does_not_run "\$HOME"
	done
	# What is refused for another reason has not made one.
	complete "$WDRUN" --registry=new --tee=/ touch ran
	does_not_run --tee
	[ -z "$(ls -d x relative new registry/* home3/* 2>/dev/null)" ]
}

# bats test_tags=slow
@test "a run, --list and --reap refuse a registry that others own or may write, or that cannot be read" {
	places=(everyones sticky link file fifo file/below) as=()
	mkdir -m 777 everyones
	mkdir -m 1777 sticky
	ln -s everyones link
	touch file
	mkfifo fifo
	if ((EUID == 0)); then
		mkdir -m 700 foreign
		chown 65534 foreign
		places+=(foreign)
	fi
	for place in "${places[@]}"; do
		for mode in --list --reap --cancel=job 'touch ran'; do
			# shellcheck disable=SC2086 # they are words
			complete "$WDRUN" --registry="$place" $mode
			does_not_run "$place"
		done
	done
	if ((EUID == 0)); then
		need_other_user
		give_to_all
		as=("${as_nobody[@]}")
		chown 65534 "$WDRUN_REGISTRY"
	fi
	for mode in '500 touch ran' '000 --list' '300 --list' '300 --reap' '300 --cancel=a' \
		'500 --registry=registry/a/b touch ran'; do
		chmod "${mode%% *}" "$WDRUN_REGISTRY"
		# shellcheck disable=SC2086 # they are words
		complete "${as[@]}" "$WDRUN" ${mode#* }
		does_not_run
	done
	has_message a/b 'Permission denied'
	chmod 700 "$WDRUN_REGISTRY"
	"${as[@]}" install -m 000 /dev/null "$WDRUN_REGISTRY/1-a.run" # an entry keeps nobody from a run
	gives 0 complete "${as[@]}" "$WDRUN" --name=job true
	has_message "cannot read '$WDRUN_REGISTRY/1-a.run'"
}

# The processes of its entry could not be told from those of the other namespace.
@test "with the /proc of another PID namespace, no run on record begins, and none is reaped" {
	need_unshare --pid --fork
	orphan --name=lost -- escape fork setsid
	complete unshare --pid --fork bash -c '"$WDRUN" --name=here touch ran
		echo "status $?"; "$WDRUN" --reap; echo "status $?"'
	[ "$output" = $'status 125\nstatus 125' ]
	[ ! -e ran ]
	[ "$(ids)" = "$id" ]
	spares "$ready"
}

# bats test_tags=smoke,slow
@test "a file that is no entry of this user is left alone" {
	begin healthy -- sigcount
	umask 077
	pushd "$WDRUN_REGISTRY"
	cp "$id.run" ../entry
	ln -s ../entry 77777-2.run
	mkfifo 77777-3.run .fifo
	mkdir 77777-4.run
	echo "an installer" | tee 77777-6.run installer-1.2.run 77777-a.run.bak >.nfs000001
	if ((EUID == 0)); then
		cp ../entry 77777-7.run
		chown 65534 77777-7.run
	fi
	popd
	all=(ls -lAni --full-time -I "$id.run" "$WDRUN_REGISTRY")
	before=$("${all[@]}")
	complete "$WDRUN" --list
	[[ $output == NAME*$'\n'healthy\ * ]]
	has_line_count 2 out
	[ ! -s err ]
	for name in 77777-{1..7}; do no "$WDRUN" --cancel="$name"; done
	gives 0 complete "$WDRUN" --reap
	[ ! -s err ]
	complete "$WDRUN" --name=next echo started
	[ "$output$stderr" = started ]
	is_unharmed "$ready"
	end "$front"
	diff <("${all[@]}") - <<<"$before"
}

# bats test_tags=slow
@test "if the run cannot be put on record, the command is not executed, and the report says so" {
	printf -v name '%0250d' 0
	# The entry may not have more than 1 KiB. The target, too, adds its part.
	for row in "touch ran $name$name$name$name" \
		"--cleanup=$PWD/$name/$name/$name/$name touch ran"; do
		rm -f report
		complete bash -c "ulimit -f 1; exec \"\$WDRUN\" --name=a --lock=lock \
			--report=/dev/fd/9 $row" 9> >(cat >report)
		does_not_run
		wait_until grep -q '"outcome":"not executed"' report
		[ ! -e lock ]
		[ -z "$(ids)" ]
	done
}

# bats test_tags=slow
@test "--reap names an entry that it cannot read, since it is of another version or half written" {
	for text in 'wdrun 3\0host a b 1\0' 'wdrun 4\0host a'; do
		forge
		# shellcheck disable=SC2059 # it is a format
		printf "$text" >"$WDRUN_REGISTRY/$id.run"
		gives 0 complete "$WDRUN" --reap
		has_line_count 1 err
		has_message "$WDRUN_REGISTRY/$id.run"
		[ "$(ids)" = "$id" ]
		gives 0 complete "$WDRUN" --reap --quiet
		[ ! -s err ]
		rm "$WDRUN_REGISTRY/$id.run"
	done
}

# --- --list ------------------------------------------------------------------

list() {
	gives 0 complete "$WDRUN" --list "$@"
	mapfile -t lines <out
}

# bats test_tags=smoke
@test "--list shows the runs, by their PID, with name, ID, state, age, time left and command" {
	begin nightly -t 1h -- sigcount 9
	for age in 4 8 1 6 3 9 2 7 5; do # as no directory has them
		forge name="run$age" watcher="$age 1" started=1700000000000000000
	done
	cp -r "$WDRUN_REGISTRY" before
	no "$WDRUN" --list <&- >&- # not into an entry
	diff -r "$WDRUN_REGISTRY" before
	list
	end "$front"
	[ ! -s err ]
	[ "${lines[*]%% *}" = "NAME $(echo run{1..9}) nightly" ]
	[[ ${lines[0]} =~ ^NAME\ +ID\ +STATE\ +AGE\ +LEFT\ +COMMAND$ ]]
	[[ ${lines[1]} =~ ^run1\ +[0-9]+\ +orphaned\ +[0-9]+d.*\ sleep$ ]]
	[[ ${lines[10]} =~ ^nightly\ +$front\ +running\ +[0-9]+s\ +5.m..s\ +sigcount\ 9$ ]]
}

# bats test_tags=slow
@test "a run is on record from its start to its end, also while it waits for a lock" {
	complete "$WDRUN" --name=itself -- "$WDRUN" --list
	[[ $output =~ itself\ +$started\ +running\  ]]
	[ -z "$(ids)" ]
	wait_for_lock -t 1m
	list
	[[ $output =~ second\ +$front\ +waiting\ +[0-9]+s\ +5.m..s\  ]]
	end "$holder"
	wait_until is_listed second running
	gives 75 complete "$WDRUN" --name=third --lock=lock --lock-wait=200ms -- touch ran
	[ "$(ids | wc -l)" -eq 1 ]
	end "$front"
	[ -z "$(ids)" ]
}

@test "if no run is on record, --list says so on stderr, and --json prints an empty array" {
	for place in "$WDRUN_REGISTRY" nowhere; do
		list --registry="$place"
		[ -z "$output" ]
		has_message "$place"
		list --json --registry="$place"
		[ "$output$stderr" = '[]' ]
		gives 0 complete "$WDRUN" --reap --registry="$place"
		[ -z "$output" ]
	done
	[ ! -e nowhere ]
	list -q
	[ -z "$output$stderr" ]
}

# bats test_tags=slow
@test "--list cuts its lines to the width of a terminal, and fails if they cannot be written" {
	begin nightly -- sigcount 9 {1..200}
	for width in 40 120; do
		complete env -u WDRUN_REGISTRY "$WDRUN" --pty --no-stdin -- sh -c '
			stty cols "$1" </dev/tty; exec "$WDRUN" --list --registry="$2"' \
			- "$width" "$WDRUN_REGISTRY"
		[[ $output == *$'\n'nightly* ]]
		[ "$(wc -L <out)" -eq "$width" ]
	done
	for option in --list --json; do
		gives 125 directly sh -c '"$WDRUN" --list "$1" >/dev/full' - "$option"
		has_message stdout
	done
	end "$front"
}

# bats test_tags=smoke
@test "--list prints no control characters of a name; --json is valid and complete, whatever the bytes are" {
	nasty=$'"quoted" \\ back\nnew\tline\e \xff\xc3 é 🐢 \xc2\x9b'
	begin "$nasty" -t 1h -- sigcount 9 '' "$nasty" last
	"$WDRUN" --list >list
	"$WDRUN" --list --json >json
	end "$front"
	has_line_count 2 list
	LC_ALL=C no grep -q $'[\x01-\x1f\x7f\x9b]' list
	grep -qF '"quoted" \ back?new?line? ?? é 🐢 ?? ' list
	need jq
	jq -e --arg id "$id" --argjson pid "$front" '
		length == 1 and (.[0] |
		.id == $id and .state == "running" and .pid == $pid and
		.age >= 0 and .left > 3000 and .left <= 3600 and
		.name == "\"quoted\" \\ back\nnew\tline\u001b \ufffd\ufffd é 🐢 \ufffd\ufffd" and
		.command == ["sigcount", "9", "", .name, "last"])' json

	underway --registry="$WDRUN_REGISTRY" -- sigcount 9 {100000..104999}
	"$WDRUN" --list --json >json
	"$WDRUN" --list >list
	end "$started"
	jq -e '.[0] | .name == null and .left == null and
		.command[2:] == [range(100000; 105000) | tostring]' json
	grep -q ' 9 100000 100001 ' list
	[ "$(wc -c <list)" -lt 10000 ]
}
