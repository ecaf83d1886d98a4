#!/usr/bin/env bats
#
# Why a command hung: at a stop by --timeout or --idle-timeout, wdrun prints the
# tree, with what each process waits for. DESIGN, section 7. What it says of
# programs that users have is in hangs.bats.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load diagnosis

# The command has the test programs in PATH: their full names would be too long
# for a line of the diagnosis.
setup() {
	common_setup
	PATH=$PROGRAMS:$PATH
}

# bats test_tags=smoke,tree
@test "a stop shows the tree, each process below its parent, with its state, its age and its wait" {
	local child line='^wdrun:'
	mkfifo requests
	looked_late "$WDRUN" -t LIMIT bash -c '
		echo "ready $$"; cat requests; true'
	[ "$status" -eq 124 ]
	[ "$(wc -l <err)" -eq 3 ]
	grep -E "$line  +$ready bash -c .* \\[S [0-9]+s\\]: waiting for child [0-9]+$" err
	child=$(sed -n '2s/.* //p' err)
	grep -E "$line    +$child cat requests \\[S [0-9]+s\\]: opening a FIFO that nobody opens for writing" err
}

@test "a process that reads, writes or opens is shown with its file, and who has the other end" {
	local other
	mkfifo open unwritten unread
	mkdir directory
	mkfifo directory/fifo
	exec 8<>open 7< <(exec sleep 1000)
	other=$!
	shown <<-'END'
		reading fd 0 (pipe from *) | say; sleep 1000 | cat
		writing fd 1 (pipe to *) | say; yes | sleep 1000
		PID *reading fd 0 (FIFO HERE/open) | say; exec cat <open
		PID cat unwritten *opening a FIFO that nobody opens for writing: 'unwritten' | say; exec cat unwritten
		PID *opening a FIFO that nobody opens for reading: 'unread' | say; echo >unread
		PID *opening a FIFO that nobody opens for writing | exec block directory
		PID *reading fd 0 (pipe that nobody in the tree writes) | say; exec cat <&7
	END
	kill "$other"
	exec 7<&- 8<&-
}

# bats test_tags=smoke
@test "a process that waits for another one, a signal, a time or a lock is shown as such; or that it computes, or is stopped" {
	# One in state D may be shown by its name alone.
	shown <<-'END'
		PID sleep 1000 *: sleeping | say; exec sleep 1000
		PID *waiting for child * | say; sleep 1000; true
		PID *waiting for its children *, * | say; sleep 1000 & sleep 1000 & wait
		PID *waiting for child * | exec block child
		PID *waiting for a signal | exec block signal
		PID *: waiting for * (futex) | exec block futex
		PID *\[R *, cpu *]: on CPU | say; while :; do :; done
		PID *\[T *]: stopped | say; kill -STOP $BASHPID
		PID *\[D@(]| *]: uninterruptible (*)) | exec block vfork
	END
}

@test "a process with threads is judged by one that computes, else by the most telling wait" {
	shown <<-'END'
		PID *another thread (futex) | exec block threads
		PID *on CPU*1 of its 2 threads | exec block busy
		PID *: sleeping | exec block sleep
		PID *waiting for a signal*threads | exec block leaderless
	END
}

@test "an event loop is shown with what it waits for, which is not its own plumbing" {
	mkfifo keys
	exec 8<>keys
	shown <<-'END'
		PID *waiting for fd 3 (pipe from *) | exec block poll
		PID *waiting for fd 3 (pipe from *) | exec block many
		PID *waiting for fd 3 (pipe from *) | exec block select
		PID *waiting for fd 3 (pipe from *) | exec block wide
		PID *waiting for fd 3 (pipe from *) | exec block epoll
		PID *waiting for fd 0* | exec block keys <keys
		PID *waiting for events* | exec block own
		PID *waiting for events*timer*16m | exec block timerfd
		PID *waiting for a signal | exec block nothing
		PID *: sleeping | exec block time
	END
	exec 8<&-
}

# Writes the script connect: connect FAMILY ADDRESS has a server of its own, and
# waits for it to say something, or, with a further word, is the server.
write_connect() {
	need python3
	cat >connect <<-'END'
		import os, socket, sys
		family = getattr(socket, sys.argv[1])
		address = sys.argv[2] if family == socket.AF_UNIX else (sys.argv[2], 0)
		server = socket.socket(family)
		server.bind(address)
		server.listen()
		print("ready", os.getpid(), flush=True)
		if sys.argv[3:]: peer = server.accept()
		client = socket.socket(family)
		client.connect(server.getsockname())
		client.recv(1)
	END
}

@test "a socket is shown by its ends and its state, a Unix socket by its path or who has its other end" {
	write_connect
	python3 connect AF_UNIX "$PWD/socket" accept >server 3>&- &
	await_ready server
	shown <<-'END'
		PID *reading fd * (Unix socket with PID) | exec block socket
		PID *waiting for a connection on fd * (Unix socket listening on @*) | exec block accept
		PID *reading fd * (Unix socket to HERE/socket) | exec python3 -c 'import os, socket; s = socket.socket(socket.AF_UNIX); s.connect("socket"); print("ready", os.getpid(), flush=True); s.recv(1)'
		PID *waiting for a connection on fd * (TCP listening on 127.0.0.1:*) | exec python3 connect AF_INET 127.0.0.1 accept
		PID *reading fd * (TCP 127.0.0.1:* 127.0.0.1:*, established) | exec python3 connect AF_INET 127.0.0.1
		PID *reading fd * (TCP \[::1\]:* \[::1\]:*, established) | exec python3 connect AF_INET6 ::1
		PID *reading fd * (UDP 127.0.0.1:* 127.0.0.1:53) | exec python3 -c 'import os, socket; s = socket.socket(type=socket.SOCK_DGRAM); s.connect(("127.0.0.1", 53)); print("ready", os.getpid(), flush=True); s.recv(1)'
	END
	end_leftovers
}

@test "a lock is shown with its file and its holder, in the tree or not" {
	need flock
	flock lock sleep 1000 3>&- &
	holder=$!
	wait_until no flock -n lock true
	shown <<-END
		PID *waiting for a lock on fd 3 (HERE/lock), held by $holder flock lock sleep 1000 | say; exec flock lock true
		waiting for a lock on fd * (HERE/record), held by * | block record & exec block record
	END
	kill "$(children_of "$holder")"
	wait "$holder" || true
}

@test "what a process is in another namespace is not taken for what it is here" {
	need_root
	need_unshare --pid --fork --net
	write_connect
	shown <<-'END'
		block child *waiting for a child | say; exec unshare --pid --fork block child
		PID *waiting for a connection on fd * (TCP listening on \*:*) | exec unshare --net python3 connect AF_INET '' accept
	END
}

@test "what may not be read of a process is left out, not guessed" {
	need_other_user
	chmod 777 .
	cp "$PROGRAMS/block" "$WDRUN" . # their directories may be below /root
	looked_late setpriv --reuid=65534 --regid=65534 --clear-groups \
		./wdrun -i LIMIT bash -c './block secret | tee /dev/stderr | cat; true'
	[ "$status" -eq 124 ]
	grep -E '^wdrun: +[0-9]+ .*block secret \[S [0-9]+s\]$' err
	# The writer may be the process that may not be read.
	grep -E ' tee /dev/stderr \[S .*\]: reading fd 0 \(pipe\)$' err
	no grep nobody err
}

@test "arguments are quoted as for a shell, cut at a character's border, and cannot control the terminal" {
	export long wide
	printf -v long 'x%.0s' {1..4096}
	printf -v wide '\xc3\xa9%.0s' {1..1000}
	shown <<-'END'
		PID $'a\\nb\\te\\x1b\[31m???\\'xx*xx... \[S *]: sleeping | say; exec -a $'a\nb\te\e[31m\x9b\xc2\x9b\''"$long" sleep 1000
		PID éé*é... \[S *]: sleeping | say; exec -a "$wide" sleep 1000
		PID xé*é... \[S *]: sleeping | say; exec -a "x$wide" sleep 1000
	END
	[ "$(cat row?/err | wc -l)" -eq 9 ]
	[ "$(wc -L <row0/err)" -le 1100 ]
	run ! grep -qP '[^\x20-\x7e]' row0/err
	run ! grep -qF '?' row1/err row2/err
}

@test "a program is named without its directory, and of a long path the middle goes, not the script's name" {
	local long
	printf -v long 'directory/%.0s' {1..120}
	mkdir -p "$long"
	echo 'echo "ready $$"; sleep 1000; true' >"${long}vite"
	shown <<-END
		PID node 1000 \[S * | say; exec -a /opt/very/long/path/bin/node sleep 1000
		PID node directory/*/.../vite build 'a b' \[S * | exec -a /opt/bin/node bash ${long}vite build 'a b'
	END
}

# at_prompt LIMIT: a run at a terminal whose cursor is behind a prompt.
at_prompt() {
	rm -f out
	tmux -L "wdrun$$" -f /dev/null new-session -d -x 80 -y 20 \
		"printf 'Password: '; '$WDRUN' -t $1 bash -c 'echo ready 1 >out
		exec -a $long sleep 1000'; printf over; sleep 1000" 3>&-
	wait_until shows_end
	tmux -L "wdrun$$" kill-server
}

shows_end() {
	tmux -L "wdrun$$" capture-pane -p >screen
	grep -q '^over' screen || return
	is_whole screen || : >out
}

@test "at a terminal the tree begins on a line of its own, and no line is longer than that is wide" {
	local long
	need tmux
	printf -v long 'x%.0s' {1..200}
	late at_prompt LIMIT

	cat screen
	grep -x 'Password:' screen
	sed -n 2p screen | grep '^wdrun: '
	sed -n 3p screen | grep -E '^wdrun:  +[0-9]+ x+\.\.\. \[S .*s\]: sleeping$'
	sed -n 4p screen | grep -x over
}

@test "of many processes it shows 32, and the number of the rest" {
	looked_late "$WDRUN" -i LIMIT crowd 36
	[ "$status" -eq 124 ]
	[ "$(grep -cE '^wdrun:  +[0-9]+ .*\[S' err)" -eq 32 ]
	[ "$(tail -n 1 err | tr -cd 0-9)" -eq 5 ]
	[ "$(wc -l <err)" -eq 34 ]
}

@test "a cancel shows no tree, and with --quiet a timeout says nothing" {
	start "$WDRUN" sleep 1000
	await_watchers
	kill -TERM "$started"
	finish
	[ "$status" -eq 143 ]
	[ "$(wc -l <err)" -le 1 ]
	run ! grep sleeping err

	complete "$WDRUN" -q -t 300ms sleep 1000
	[ "$status" -eq 124 ]
	[ ! -s err ]
}
