#!/usr/bin/env bats
#
# A registry is a directory of this user's own: where it is, who may read it, and
# what becomes of other things that are in it or in its place.
#
# shellcheck disable=SC2016,SC2154,SC2030,SC2031

load helper
load orphans

# makes_it_at DIRECTORY [NAME=VALUE]...: a run makes its registry at DIRECTORY,
# and no other user can read the registry or the entry.
makes_it_at() {
	local directory=$1
	shift
	complete env -u WDRUN_REGISTRY "$@" bash -c '
		umask 0; exec "$WDRUN" --name=a -- sh -c \
		"stat -c \"%a %F\" \"\$1\" \"\$1\"/*.run" - "$0"' "$directory"
	[ "$status" -eq 0 ]
	[ "$output" = $'700 directory\n600 regular file' ]
	[ -z "$(ls -A "$directory")" ]
}

# bats test_tags=smoke,slow
@test "the registry is where the manual says, and made for this user alone" {
	makes_it_at "$PWD/a/b" XDG_STATE_HOME="$PWD/x" WDRUN_REGISTRY=a/b
	makes_it_at "$PWD/state/wdrun" XDG_STATE_HOME="$PWD/state"
	makes_it_at "$PWD/home/.local/state/wdrun" XDG_STATE_HOME='' \
		HOME="$PWD/home"
	makes_it_at "$PWD/home2/.local/state/wdrun" XDG_STATE_HOME=relative \
		HOME="$PWD/home2"
	[ ! -e x ]
	[ ! -e relative ]

	mkdir -m 700 own
	ln -s own link
	complete "$WDRUN" --registry=link -- bash -c 'ls own/*.run'
	[ "$status" -eq 0 ]
	[ -z "$(ls -A registry)" ]

	# What is refused for another reason has not made one.
	complete "$WDRUN" --registry=new --tee=/ touch ran
	does_not_run --tee
	[ ! -e new ]
}

# does_not_run VALUE...: the run ended with 125 before it began, and a message
# has these values.
does_not_run() {
	[ "$status" -eq 125 ]
	[ ! -e ran ]
	has_message "$@"
	only_messages
}

@test "where no default registry can be told, or root would make it in another user's home, a run does not begin" {
	local home homes=(-uHOME HOME= HOME=relative)
	mkdir home # which sudo may have kept as HOME
	if ((EUID == 0)); then
		chown 65534 home
		homes+=(HOME="$PWD/home")
	fi
	for home in "${homes[@]}"; do
		complete env -u WDRUN_REGISTRY -u XDG_STATE_HOME "$home" \
			"$WDRUN" --name=a touch ran
		does_not_run
	done
	[ ! -e relative ]
	[ -z "$(ls -A home)" ]
}

# is_no_registry PLACE: all refuse PLACE, and a run has not begun.
is_no_registry() {
	local mode
	for mode in --list --reap --cancel=job; do
		complete "$WDRUN" "$mode" --registry="$1"
		does_not_run "$1"
		[ -z "$output" ]
	done
	complete "$WDRUN" --registry="$1" touch ran
	does_not_run "$1"
}

# bats test_tags=slow
@test "what others can write or own, or is no directory, is no registry" {
	local place places=(theirs everyones sticky link file fifo file/below)
	mkdir -m 770 theirs
	mkdir -m 777 everyones
	mkdir -m 1777 sticky
	ln -s everyones link
	touch file
	mkfifo fifo
	mkdir -m 700 foreign
	if ((EUID == 0)); then
		chown 65534 foreign
		places+=(foreign)
	fi
	for place in "${places[@]}"; do is_no_registry "$place"; done
}

# bats test_tags=slow
@test "a registry that cannot be read is a failure, and not an empty one; no run starts where it cannot be written" {
	local mode words as=()
	if ((EUID == 0)); then
		need_other_user
		as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
		chmod 755 . .. ../..
		cp "$WDRUN" wdrun
		WDRUN=$PWD/wdrun
		chown 65534 "$WDRUN_REGISTRY"
	fi
	while read -r mode words; do
		chmod "$mode" "$WDRUN_REGISTRY"
		# shellcheck disable=SC2086
		complete "${as[@]}" "$WDRUN" $words
		[ -z "$output" ]
		does_not_run
	done <<-END
		500 --name=a echo ran
		000 --list
		600 --list
		300 --list
		300 --reap
		300 --cancel=a
	END
	chmod 700 "$WDRUN_REGISTRY"
}

# The processes of its entry could not be told from those of the other namespace.
@test "where /proc is of another PID namespace, no run is put on record or executed, and none is reaped" {
	need_unshare --pid --fork
	orphan --name=lost -- "$PROGRAMS/escape" fork setsid
	complete unshare --pid --fork bash -c '"$WDRUN" --name=here touch ran
		echo "status $?"; "$WDRUN" --reap; echo "status $?"'
	[ "$output" = $'status 125\nstatus 125' ]
	[ ! -e ran ]
	[ "$(ids)" = "$id" ]
	spares "$ready"
}

# Prints what could change of all files, but of the entry of the run $id.
all_others() {
	find "$WDRUN_REGISTRY" -mindepth 1 ! -name "$id.run" \
		-printf '%p %M %U %s %i %T@ %l\n' | sort
}

# bats test_tags=smoke,slow
@test "a file that is no entry of this user is ignored and left alone, and --reap names it, but for hidden files" {
	local before name
	begin healthy -- "$PROGRAMS/sigcount"
	umask 077
	pushd "$WDRUN_REGISTRY"
	for name in ../entry 77777-{1,2}.run; do cp "$id.run" "$name"; done
	chmod 620 77777-1.run
	((EUID != 0)) || chown 65534 77777-2.run
	((EUID == 0)) || rm 77777-2.run
	ln -s ../entry 77777-3.run
	mkfifo 77777-4.run .fifo
	mkdir 77777-5.run
	truncate -s 1T 77777-6.run
	echo "an installer" | tee 77777-7.run installer-1.2.run \
		77777-a.run.bak >1-1.RUN
	touch .run .nfs000000000001
	popd
	before=$(all_others)
	complete "$WDRUN" --list
	[ "$status" -eq 0 ]
	[[ $output == NAME*$'\n'healthy\ * ]]
	has_line_count 2 out
	[ ! -s err ]
	for name in 77777-{1..7}; do
		complete "$WDRUN" --cancel="$name"
		[ "$status" -ne 0 ]
	done
	complete "$WDRUN" --reap
	[ "$status" -eq 0 ]
	only_messages
	for name in 77777-{1,3,4,5,6,7}.run installer-1.2.run 77777-a.run.bak \
		1-1.RUN; do
		has_message "'$name'"
	done
	no grep -qF "'." err
	complete "$WDRUN" --name=next echo started
	[ "$output" = started ]
	[ ! -s err ]
	is_unharmed "$ready"
	end "$front"
	diff <(all_others) - <<<"$before"
	forge name=lost
	complete "$WDRUN" --reap
	has_message "$id" lost
	is_off_the_record
}

# is_not_recorded WORD...: where a file may not have more than 1 KiB, a run with
# these options and this command is not put on record, and ends before its command
# is executed; its report says so.
is_not_recorded() {
	local reader
	[ -p pipe ] || mkfifo pipe
	cat pipe >report 3>&- &
	reader=$!
	complete bash -c 'ulimit -f 1
		exec "$WDRUN" --name=a --lock=lock --report=/dev/fd/9 "$@"' - "$@" 9>pipe
	wait "$reader"
	does_not_run
	grep -q '"outcome":"not executed"' report
	[ ! -e lock ]
	[ -z "$(ids)" ]
}

# bats test_tags=slow
@test "a command is not executed where the run cannot be put on record, and the report says so" {
	local name directory
	printf -v name '%0250d' 0
	is_not_recorded touch ran "$name$name$name$name"
	# The target, too, adds its part.
	directory=$PWD/$name/$name/$name
	is_not_recorded --cleanup="$directory/$name" touch ran
}
