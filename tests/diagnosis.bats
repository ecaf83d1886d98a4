#!/usr/bin/env bats
#
# Why a command hung: before a stop by --timeout or --idle-timeout, the tree is
# told as a tree, with what each process is blocked in.
#
# shellcheck disable=SC2016,SC2154

load helper

# The functions of what runs under wdrun: `job NAME COMMAND...` in the background,
# and `settle`, which says something until each of them hangs, so that the
# silence begins there.
write_jobs() {
	cat >jobs.bash <<-'END'
		# Shells of the script are not to be mistaken for what they execute.
		declare -A pids
		job() {
			local name=$1
			shift
			"$@" &
			pids[$name]=$!
		}
		calls() {
			local pid
			for pid in "${pids[@]}"; do
				cat "/proc/$pid/comm" "/proc/$pid/syscall"
			done 2>&1
		}
		settle() {
			local before=none now
			until now=$(calls) && [ "$now" = "$before" ]; do
				before=$now
				echo .
				sleep 0.2
			done
			declare -p pids >pids
		}
	END
	cat jobs.bash - >script
}

# told NAME: the line of that job.
told() {
	grep -E "^wdrun: +${pids[$1]} " err
}

# tells NAME WORDS: its line ends with these.
tells() {
	local line
	line=$(told "$1") || echo "no line of $1, PID ${pids[$1]}"
	[[ $line == *"s]: $2" ]] || {
		echo "$1: $line"
		echo "is not: $2"
		return 1
	}
}

@test "each process is told with what it is blocked in, in words" {
	local -A pids
	mkfifo unwritten unread open
	: >lockfile
	write_jobs <<-'END'
		exec 8<>open 9>lockfile
		flock 9
		# The pipe of a block program is on 3 and 4.
		job sleep sleep 1000
		job lock flock lockfile true
		job read cat unwritten
		job write bash -c 'echo >unread'
		job fifo bash -c 'exec cat <&8'
		job shell bash -c 'sleep 1000; true'
		job several bash -c 'sleep 1000 & sleep 1000 & wait'
		job pipeline bash -c 'sleep 1000 | cat; true'
		job full bash -c 'yes | sleep 1000; true'
		for kind in futex threads socket accept poll select epoll signal \
			vfork itself; do
			job "$kind" "$PROGRAMS/block" "$kind"
		done
		job record "$PROGRAMS/block" record
		job record2 "$PROGRAMS/block" record
		job terminal bash -c 'exec script -qc cat typescript <&8'
		settle
		wait
	END
	start "$WDRUN" -i 700ms bash ./script
	finish
	[ "$status" -eq 124 ]
	# shellcheck disable=SC1091 # it was written by the script
	source ./pids

	tells sleep 'sleeping'
	tells lock "waiting for a lock on fd 3 ($PWD/lockfile)"
	tells read "opening a FIFO that nobody writes: 'unwritten'"
	tells write "opening a FIFO that nobody reads: 'unread'"
	tells fifo "reading fd 0 (FIFO $PWD/open)"
	told shell | grep -E 's\]: waiting for child [0-9]+$'
	tells several 'waiting for a child'
	tells futex 'waiting for a lock, or another process (futex)'
	tells threads 'waiting for a lock, or another of its 5 threads (futex)'
	told socket | grep -E 's\]: reading fd [0-9]+ \(socket\)$'
	told accept | grep -E 's\]: waiting for a connection on fd [0-9]+ \(socket\)$'
	tells poll "waiting for fd 3 (pipe from ${pids[poll]})"
	tells select "waiting for fd 3 (pipe from ${pids[select]})"
	tells epoll "waiting for fd 3 (pipe from ${pids[epoll]})"
	tells itself "reading fd 3 (pipe from ${pids[itself]})"
	tells signal 'waiting for a signal'
	told vfork | grep -E '\[D [0-9]+s\]: uninterruptible \([a-z_]+\)$'
	cat <(told record) <(told record2) >records
	[[ $(<records) == *": waiting for a lock on fd "?" ($PWD/record)"* ]]

	# By what is around them in the tree.
	grep -A 2 "^wdrun: *${pids[pipeline]} " err >group
	grep -E "cat \[S [0-9]+s\]: reading fd 0 \(pipe from [0-9]+\)$" group
	grep -A 2 "^wdrun: *${pids[full]} " err >group
	grep -E "yes \[S [0-9]+s\]: writing fd 1 \(pipe to [0-9]+\): it is full$" \
		group
}

@test "a pipe whose writer is not in the tree is told as such" {
	# shellcheck disable=SC2094
	mkfifo caller
	exec 7<>caller
	start bash -c 'exec 7>&-
		sleep 0.9 | "$WDRUN" -t 500ms bash -c "cat; true"'
	finish

	grep -E 'cat \[S .*s\]: reading fd 0 \(pipe that nobody in the tree writes\)$' err
}

@test "a stopped process, and one that computes, are told as such" {
	complete "$WDRUN" -t 1 bash -c 'sleep 1000 & kill -STOP $!
		while :; do :; done'

	[ "$status" -eq 124 ]
	grep -E '^wdrun:   [0-9]+ bash -c .* \[R [0-9]+s\]: on CPU$' err
	grep -E '^wdrun:     [0-9]+ .* \[T [0-9]+s\]: stopped$' err
}

@test "a process in a file system that hangs is told with its file" {
	with_hung_fs '"$WDRUN" -t 1 -k 300ms bash -c "exec 3<mnt/file
			hang_fs
			exec \"\$PROGRAMS/block\" inherited"
		kill -KILL $server'
	finish

	grep -E "block inherited \[[SD] [0-9]+s\]: .*reading fd 3 \($PWD/mnt/file\)$" err
}

@test "arguments are shortened to 120 columns, and drive no terminal" {
	local long
	long=$(printf 'x%.0s' {1..4096})
	complete "$WDRUN" -t 700ms bash -c 'exec -a "$1" sleep 1000' - \
		$'a\nb\e[31m\x9b\xc2\x9b'"$long"

	[ "$(wc -l <err)" -eq 2 ]
	only_messages
	[ "$(wc -L <err)" -le 120 ]
	[ "$(tail -n 1 err | wc -c)" -ge 110 ]
	[[ $(tail -n 1 err) == *' a?b?[31m???xx'*'x... [S '*'s]: sleeping' ]]
	run ! grep -qP '[^\x20-\x7e]' err
}

@test "a name of many bytes is not cut within a character" {
	local name
	name=$(printf '\xc3\xa9%.0s' {1..200})
	complete "$WDRUN" -t 700ms bash -c 'exec -a "$1" sleep 1000' - "$name"
	[[ $stderr == *$'\xc3\xa9... [S '* ]]
	complete "$WDRUN" -t 700ms bash -c 'exec -a "$1" sleep 1000' - "x$name"
	[[ $stderr == *$'\xc3\xa9... [S '* ]]
	run ! grep -qF '?' err
}

@test "at a terminal a line is no longer than that is wide" {
	local long
	need script
	long=$(printf 'x%.0s' {1..200})
	export long
	start script -qc 'stty cols 80
		"$WDRUN" -t 1 bash -c "exec -a \$long sleep 1000"' typescript
	finish

	tr -d '\r' <out | grep '^wdrun:   ' >line
	[[ $(<line) == *'x... [S '*'s]: sleeping' ]]
	[ "$(wc -L <line)" -le 80 ]
	[ "$(wc -L <line)" -ge 70 ]
}

@test "of a thousand processes it tells 32, and how many there are besides" {
	start "$WDRUN" -i 1s "$PROGRAMS/crowd" 999
	finish

	[ "$status" -eq 124 ]
	[ "$(grep -cE '^wdrun:   +[0-9]+ .*: waiting for a signal$' err)" -eq 32 ]
	[ "$(tail -n 1 err)" = "wdrun:   and 968 more" ]
	[ "$(wc -l <err)" -eq 34 ]
}

@test "what may not be read of a process is left out" {
	need_root
	need setpriv
	chmod 777 .
	complete setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$WDRUN" -t 1 bash -c '"$PROGRAMS/block" secret | cat; true'

	[ "$status" -eq 124 ]
	grep -E '^wdrun:     [0-9]+ .*block secret \[S [0-9]+s\]$' err
	# Who has the other end may not be read, so it is not nobody.
	grep -E ' cat \[S .*\]: reading fd 0 \(pipe\)$' err
}

@test "a process that cannot be read in time does not cost the lines of others" {
	need strace
	mkfifo unwritten
	# What is held up is the look at the path of the FIFO.
	start strace -f -qq -o /dev/null \
		-e inject=process_vm_readv:delay_enter=2s \
		"$WDRUN" -t 1500ms bash -c 'cat unwritten & sleep 1000; true'
	finish

	[ "$status" -eq 124 ]
	grep -E '^wdrun:     [0-9]+ \[cat\] \[S .*s\]: opening a FIFO whose other end nobody opens$' err
	grep -E '^wdrun:     [0-9]+ sleep 1000 \[[St] .*s\]' err
	grep -E '^wdrun:   [0-9]+ bash -c ' err
}

@test "the tree is told by stops at a timeout alone, and not with --quiet" {
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

@test "what was not seen is not told: unused entries, numbers reused, what is not there" {
	local -A pids
	mkdir directory
	mkfifo directory/fifo
	write_jobs <<-'END'
		for kind in many nothing time wide reused sleep directory \
			sendfile child; do
			job "$kind" "$PROGRAMS/block" "$kind"
		done
		settle
		wait
	END
	start "$WDRUN" -i 700ms bash ./script
	finish
	[ "$status" -eq 124 ]
	# shellcheck disable=SC1091 # it was written by the script
	source ./pids

	tells many "waiting for fd 3 (pipe from ${pids[many]})"
	tells nothing 'waiting for a signal'
	tells time 'sleeping'
	tells wide "waiting for fd 3 (pipe from ${pids[wide]})"
	tells reused 'waiting for input or output'
	tells sleep 'sleeping'
	tells directory 'opening a FIFO that nobody writes'
	told sendfile | grep -E "s\]: moving data from fd [0-9]+ \\($(realpath "$PROGRAMS/block")\\) to fd [0-9]+ \\(pipe to ${pids[sendfile]}\\)$"
	told child | grep -E 's\]: waiting for child [0-9]+$'
}

@test "where somebody may have the other end of a pipe, it is not nobody" {
	start "$WDRUN" -i 700ms bash -c '"$PROGRAMS/block" leaderless | cat; true'
	finish
	[ "$status" -eq 124 ]
	grep -E ' \[Z [0-9]+s\]: its main thread has exited$' err
	grep -E ' cat \[S .*s\]: reading fd 0 \(pipe\)$' err

	start "$WDRUN" -i 700ms bash -c '
		{ for _ in 1 2 3 4 5; do sleep 1000 & done; wait; } | cat; true'
	finish
	grep -E ' cat \[S .*s\]: reading fd 0 \(pipe from ([0-9]+, ){3}[0-9]+ and others\)$' err
}

@test "the number of a child in another PID namespace is not told as one of this" {
	need_root
	need unshare
	start "$WDRUN" -i 700ms unshare --pid --fork "$PROGRAMS/block" child
	finish
	grep -E ' unshare .*: waiting for child [0-9]+$' err
	grep -E '^wdrun:     [0-9]+ .*block child .*: waiting for a child$' err
}

@test "no argument turns a message round, or hides in it" {
	complete "$WDRUN" -t 700ms bash -c 'exec -a "$1" sleep 1000' - \
		$'a\xe2\x80\x8bb\xe2\x80\xaec\xe2\x81\xa6d\xe2\x80\xa8e\xe2\x80\x8a\xe2\x80\x90\xe2\x80\xb0\xe2\x81\xa5\xe2\x81\xaa'
	[[ $stderr == *$' a???b???c???d???e\xe2\x80\x8a\xe2\x80\x90\xe2\x80\xb0\xe2\x81\xa5\xe2\x81\xaa 1000 [S '* ]]
}
