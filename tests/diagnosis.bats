#!/usr/bin/env bats
#
# Why a command hung: before a stop by --timeout or --idle-timeout, wdrun prints
# the tree, with what each process is blocked in.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

# The command has the test programs in PATH: their full names would be too long
# for a line of the diagnosis.
setup() {
	common_setup
	PATH=$PROGRAMS:$PATH
}

# Writes the functions for the command: `job NAME COMMAND...` starts COMMAND in
# the background, and `await_blocked` prints something until all jobs are
# blocked, then `ready`, so that the silence of --idle-timeout begins there.
write_jobs() {
	cat >jobs.bash <<-'END'
		# Keeps the script's own shells from being counted as the
		# programs that they execute.
		declare -A pids
		job() {
			local name=$1
			shift
			"$@" &
			pids[$name]=$!
		}
		# Sets calls: the system call that each process below PID is
		# blocked in.
		look_below() {
			local below pid call
			read -ra below <"/proc/$1/task/$1/children"
			for pid in "${below[@]}"; do
				read -r call <"/proc/$pid/syscall"
				calls+="$pid $call;"
				look_below "$pid"
			done
		} 2>/dev/null
		await_blocked() {
			local before quiet=0
			until ((quiet >= 3)); do
				read -rt 0.05 <>never
				echo .
				before=$calls calls=''
				look_below $$
				[[ $calls = "$before" && $calls != *running* ]] &&
					((++quiet)) || quiet=0
			done
			declare -p pids >pids
			echo "ready $$"
		}
	END
	cat jobs.bash - >script
}

# told NAME: prints the line of that job.
told() {
	grep -E "^wdrun: +${pids[$1]} " err
}

# tells NAME WORDS: the line of that job ends with WORDS.
tells() {
	local line
	line=$(told "$1") || echo "no line of $1, PID ${pids[$1]}"
	[[ $line == *"s]: $2" ]] || {
		echo "$1: $line"
		echo "is not: $2"
		return 1
	}
}

# The time of wdrun's look at the tree is bounded: on a slow machine it tells
# less, and the test is repeated with a longer limit.
tells_of_the_jobs() {
	local -A pids
	local holder=''
	complete "$WDRUN" -i "$limit" -k 200ms bash ./script
	[ "$status" -eq 124 ] && grep -q '^ready' out || return
	# shellcheck disable=SC1091 # it was written by the script
	source ./pids

	# script(1) may have written its own line before.
	script=$(sed -n 's/^wdrun:   \([0-9]*\) .*/\1/p; T; q' err)
	[ ! -e lock-is-shown ] || holder=", held by $script"
	tells sleep 'sleeping' &&
		tells lock "waiting for a lock on fd 3 ($PWD/lockfile)$holder" &&
		tells read "opening a FIFO that nobody opens for writing: 'unwritten'" &&
		tells write "opening a FIFO that nobody opens for reading: 'unread'" &&
		tells fifo "reading fd 0 (FIFO $PWD/open)" &&
		told shell | grep -E 's\]: waiting for child [0-9]+$' &&
		told several | grep -E 's\]: waiting for its children [0-9]+, [0-9]+$' &&
		tells futex 'waiting for a lock, or another process (futex)' &&
		tells threads 'waiting for a lock, or another thread (futex)' &&
		told socket | grep -E "s\\]: reading fd [0-9]+ \\(Unix socket with ${pids[socket]}\\)\$" &&
		told accept | grep -E 's\]: waiting for a connection on fd [0-9]+ \(Unix socket listening on @[0-9a-f]+\)$' &&
		tells itself "reading fd 3 (pipe from ${pids[itself]})" &&
		tells signal 'waiting for a signal' &&
		told vfork | grep -E '\[D [0-9]+s\]: uninterruptible \([a-z_]+\)$' &&
		cat <(told record) <(told record2) >records &&
		[[ $(<records) == *": waiting for a lock on fd "?" ($PWD/record), held by ${pids[record]}"* ||
			$(<records) == *": waiting for a lock on fd "?" ($PWD/record), held by ${pids[record2]}"* ]] ||
		return

	# What these wait for follows from their neighbours in the tree.
	grep -A 2 "^wdrun: *${pids[pipeline]} " err >group &&
		grep -E "cat \[S [0-9]+s\]: reading fd 0 \(pipe from [0-9]+\)$" group &&
		grep -A 2 "^wdrun: *${pids[full]} " err >group &&
		grep -E "yes \[S [0-9]+s\]: writing fd 1 \(pipe to [0-9]+\): the pipe is full$" \
			group
}

@test "each process is shown with what it is blocked in, in words" {
	mkfifo unwritten unread open never
	: >lockfile
	write_jobs <<-'END'
		exec 8<>open 9>lockfile
		flock 9
		# In a PID namespace, /proc/locks has no row of a lock if the
		# process that took the lock, here flock, is dead.
		! grep -q ":$(stat -c %i lockfile) 0 EOF" /proc/locks ||
			: >lock-is-shown
		# The program block has its pipe on descriptors 3 and 4.
		job sleep sleep 1000
		job lock flock lockfile true
		job read cat unwritten
		job write bash -c 'echo >unread'
		job fifo bash -c 'exec cat <&8'
		job shell bash -c 'sleep 1000; true'
		job several bash -c 'sleep 1000 & sleep 1000 & wait'
		job pipeline bash -c 'sleep 1000 | cat; true'
		job full bash -c 'yes | sleep 1000; true'
		for kind in futex threads socket accept signal vfork itself; do
			job "$kind" block "$kind"
		done
		job record block record
		job record2 block record
		job terminal bash -c 'SHELL=$BASH exec script -qc cat typescript <&8'
		await_blocked
		wait
	END
	with_more_time tells_of_the_jobs
}

tells_of_a_strangers_pipe() {
	complete bash -c 'exec 7< <(exec sleep 1000)
		"$WDRUN" -t "$1" bash -c "cat; true" <&7 7<&-
		kill "$!"' - "$limit"
	grep -E 'cat \[S .*s\]: reading fd 0 \(pipe that nobody in the tree writes\)$' err
}

@test "a pipe whose writer is not in the tree is shown as such" {
	with_more_time tells_of_a_strangers_pipe
}

tells_of_the_stopped() {
	complete "$WDRUN" -t "$limit" bash -c 'sleep 1000 & kill -STOP $!
		while :; do :; done'
	[ "$status" -eq 124 ] &&
		grep -E '^wdrun:   [0-9]+ bash -c .* \[R [0-9]+s.*\]: on CPU$' err &&
		grep -E '^wdrun:     [0-9]+ .* \[T [0-9]+s\]: stopped$' err
}

@test "a stopped process, and a computing one, are shown as such" {
	with_more_time tells_of_the_stopped
}

tells_of_a_hung_file() {
	complete_with_hung_fs '"$WDRUN" -t "$limit" -k 300ms bash -c "exec 3<mnt/file
			hang_fs
			exec block inherited"
		kill -KILL $server'
	grep -q '^ready' out &&
		grep -E "block inherited \[[SD] [0-9]+s\]: .*reading fd 3 \($PWD/mnt/file\)$" err
}

@test "a process in a file system that hangs is shown with its file" {
	export limit
	with_more_time tells_of_a_hung_file
}

is_quoted() {
	local quoted=$' $\'a\\nb\\te\\x1b[31m???\\\'xx'
	complete "$WDRUN" -t "$limit" bash -c 'exec -a "$1" sleep 1000' - \
		$'a\nb\te\e[31m\x9b\xc2\x9b\''"$long"
	[[ $(tail -n 1 err) == *"$quoted"*'x... [S '*'s]: sleeping' ]]
}

@test "arguments are quoted as for a shell, and cannot control the terminal" {
	local long
	long=$(printf 'x%.0s' {1..4096})
	with_more_time is_quoted

	[ "$(wc -l <err)" -eq 2 ]
	only_messages
	[ "$(wc -L <err)" -le 1100 ]
	run ! grep -qP '[^\x20-\x7e]' err
}

is_not_cut_within_a_character() {
	complete "$WDRUN" -t "$limit" bash -c 'exec -a "$1" sleep 1000' - "$name"
	[[ $stderr == *$'\xc3\xa9... [S '* ]]
}

@test "a name of many bytes is not cut within a character" {
	local name
	name=$(printf '\xc3\xa9%.0s' {1..1000})
	with_more_time is_not_cut_within_a_character
	name=x$name
	with_more_time is_not_cut_within_a_character
	run ! grep -qF '?' err
}

is_as_wide_as_the_terminal() {
	complete script -qc 'stty cols 80
		"$WDRUN" -t "$limit" bash -c "exec -a \$long sleep 1000"' typescript
	tr -d '\r' <out | grep '^wdrun:   ' >line
	[[ $(<line) == *'x... [S '*'s]: sleeping' ]]
}

@test "at a terminal a line is no longer than that is wide" {
	local long
	need script
	long=$(printf 'x%.0s' {1..200})
	export long limit
	with_more_time is_as_wide_as_the_terminal

	[ "$(wc -L <line)" -le 80 ]
	[ "$(wc -L <line)" -ge 70 ]
}

tells_of_a_crowd() {
	complete "$WDRUN" -i "$limit" crowd 299
	# Beside other programs the list may end early: "at least 195 processes".
	grep -q '^ready' out &&
		[ "$(tail -n 1 err)" = "wdrun:   and 268 more" ] &&
		[ "$(grep -cE '^wdrun:   +[0-9]+ .*: waiting for a signal$' err)" -eq 32 ]
}

@test "of hundreds of processes it shows 32, and the number of the rest" {
	with_more_time tells_of_a_crowd

	[ "$status" -eq 124 ]
	[ "$(wc -l <err)" -eq 34 ]
}

tells_of_the_secret() {
	complete setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$WDRUN" -t "$limit" bash -c './block secret | cat; true'
	[ "$status" -eq 124 ] &&
		grep -E '^wdrun:     [0-9]+ .*block secret \[S [0-9]+s\]$' err &&
		# The other end of the pipe may belong to a process that may not
		# be read, so the line must not say that nobody has it.
		grep -E ' cat \[S .*\]: reading fd 0 \(pipe\)$' err
}

@test "what may not be read of a process is left out" {
	need_other_user
	chmod 777 .
	cp "$PROGRAMS/block" . # its directory may be below /root
	with_more_time tells_of_the_secret
}

tells_in_time() {
	# The path of the FIFO is read by process_vm_readv.
	complete "$PROGRAMS/deny" hang:process_vm_readv -- \
		"$WDRUN" -t "$limit" bash -c 'cat unwritten & sleep 1000; true'
	[ "$status" -eq 124 ] &&
		grep -E '^wdrun:     [0-9]+ \[cat\] \[S .*s\]: opening a FIFO whose other end nobody opens$' err &&
		grep -E '^wdrun:     [0-9]+ sleep 1000 \[[St] .*s\]' err &&
		grep -E '^wdrun:   [0-9]+ bash -c ' err
}

@test "a process that cannot be read in time is shown in short, and those behind it in full" {
	mkfifo unwritten
	with_more_time tells_in_time
}

# ends_after_the_look STATUS END: the command does END when it sees a second child
# of the supervisor: the reader, which hangs with cat.
ends_after_the_look() {
	complete "$PROGRAMS/deny" hang:process_vm_readv -- \
		"$WDRUN" -t "$limit" --report=report bash -c '
			cat unwritten & cat=$!
			until [ "$(wc -w <"/proc/$PPID/task/$PPID/children")" -gt 1 ]; do
				sleep 0.01
			done
			eval "$1"' - "$2"
	[ "$status" -eq "$1" ]
}

ends_after_the_look_at_last() {
	[ -e "/proc/$$/task/$$/children" ] || skip "the kernel lists no children"
	mkfifo unwritten
	with_more_time ends_after_the_look "$@"

	grep -q '"tree":null' report
	nobody_is_left
}

@test "a command that ends between the look at it and its timeout is not told of" {
	ends_after_the_look_at_last 3 'kill "$cat"; wait; exit 3'
	[ -z "$stderr" ]
}

@test "kill -9 of the supervisor between the look and the timeout leaves no tree in the report" {
	ends_after_the_look_at_last 137 'kill -KILL "$PPID"; sleep 1000'
}

@test "only stops at a timeout show the tree, and not with --quiet" {
	complete "$WDRUN" -q -t 300ms sleep 1000
	[ -z "$stderr" ]
	complete "$WDRUN" --until=x --until-grace=100ms sh -c 'echo x; exec sleep 1000'
	[ "$(wc -l <err)" -eq 1 ]
	start "$WDRUN" sleep 1000
	await_watchers
	kill -TERM "$started"
	finish
	[ -z "$stderr" ]
}

@test "what was not seen is not shown: unused entries, reused numbers, missing files" {
	mkdir directory
	mkfifo directory/fifo
	write_jobs <<-'END'
		for kind in many nothing time wide reused sleep directory \
			sendfile child poll select epoll own; do
			job "$kind" "$PROGRAMS/block" "$kind"
		done
		await_blocked
		wait
	END
	with_more_time tells_what_was_seen
}

tells_what_was_seen() {
	local -A pids
	complete "$WDRUN" -i "$limit" bash ./script
	[ "$status" -eq 124 ] && grep -q '^ready' out || return
	# shellcheck disable=SC1091 # it was written by the script
	source ./pids

	for kind in many wide poll select epoll; do
		told "$kind" | grep -E 's\]: waiting for fd 3 \(pipe from [0-9]+\)$' ||
			return
	done
	tells own 'waiting for events of its own' &&
		tells nothing 'waiting for a signal' &&
		tells time 'sleeping' &&
		tells reused 'waiting for input or output' &&
		tells sleep 'sleeping' &&
		tells directory 'opening a FIFO that nobody opens for writing' &&
		told sendfile | grep -E "s\]: moving data from fd [0-9]+ \\($(realpath "$PROGRAMS/block")\\) to fd [0-9]+ \\(pipe to ${pids[sendfile]}\\)$" &&
		told child | grep -E 's\]: waiting for child [0-9]+$'
}

tells_of_the_leaderless() {
	complete "$WDRUN" -i "$limit" bash -c '"$PROGRAMS/block" leaderless | cat; true'
	[ "$status" -eq 124 ] &&
		grep -E ' \[Z [0-9]+s\]: its main thread has exited, waiting for a signal, in 1 of its 2 threads$' err &&
		grep -E ' cat \[S .*s\]: reading fd 0 \(pipe\)$' err
}

tells_of_many_writers() {
	complete "$WDRUN" -i "$limit" bash -c '
		{ for _ in 1 2 3 4 5; do sleep 1000 & done; wait; } | cat; true'
	grep -E ' cat \[S .*s\]: reading fd 0 \(pipe from ([0-9]+, ){3}[0-9]+ and other processes\)$' err
}

@test "where an unreadable process may have the other end of a pipe, nobody is not said" {
	with_more_time tells_of_the_leaderless
	with_more_time tells_of_many_writers
}

tells_no_strange_pid() {
	complete "$WDRUN" -i "$limit" unshare --pid --fork "$PROGRAMS/block" child
	grep -E ' unshare .*: waiting for child [0-9]+$' err &&
		grep -E '^wdrun:     [0-9]+ .*block child .*: waiting for a child$' err
}

@test "the PID of a child in another PID namespace is not shown as a PID of this one" {
	need_root
	need_unshare --pid --fork
	with_more_time tells_no_strange_pid
}

shows_no_direction() {
	complete "$WDRUN" -t "$limit" bash -c 'exec -a "$1" sleep 1000' - \
		$'a\xe2\x80\x8bb\xe2\x80\xaec\xe2\x81\xa6d\xe2\x80\xa8e\xe2\x80\x8a\xe2\x80\x90\xe2\x80\xb0\xe2\x81\xa5\xe2\x81\xaa'
	[[ $stderr == *$' a???b???c???d???e\xe2\x80\x8a\xe2\x80\x90\xe2\x80\xb0?????? 1000 [S '* ]]
}

@test "no argument changes the direction of a message's text, or is invisible in it" {
	with_more_time shows_no_direction
}
