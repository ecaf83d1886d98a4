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
	local child
	mkfifo requests
	complete_late "$WDRUN" -t LIMIT "${stop[@]}" bash -c '
		echo "ready $$"; cat requests; true'
	[ "$status" -eq 124 ]
	mapfile -t lines <err
	[[ ${lines[3]} != 'wdrun:  '* ]]
	[[ ${lines[1]} =~ ^wdrun:\ \ +$ready\ bash\ -c\ .*\ \[S\ [0-9]+s\]:\ waiting\ for\ child\ ([0-9]+)$ ]]
	child=${BASH_REMATCH[1]}
	[[ ${lines[2]} =~ ^wdrun:\ \ \ \ +$child\ cat\ requests\ \[S\ [0-9]+s\]:\ opening\ a\ FIFO\ that\ nobody\ opens\ for\ writing ]]
}

# bats test_tags=slow
@test "a process that reads, writes, opens or locks is shown with its file, and who has the other end or the lock" {
	local other holder
	need flock
	mkfifo open unwritten unread
	exec 8<>open 7< <(exec sleep 1000)
	other=$!
	flock lock sleep 1000 3>&- &
	holder=$!
	wait_until no flock -n lock true
	shown <<-END
		reading fd 0 (pipe from *) | say; sleep 1000 | cat
		writing fd 1 (pipe to *) | say; yes | sleep 1000
		PID *reading fd 0 (FIFO HERE/open) | say; exec cat <open
		PID cat unwritten *opening a FIFO that nobody opens for writing: 'unwritten' | say; exec cat unwritten
		PID *opening a FIFO that nobody opens for reading: 'unread' | say; echo >unread
		PID *reading fd 0 (pipe that nobody in the tree writes) | say; exec cat <&7
		PID *waiting for a lock on fd * (HERE/lock), held by $holder flock lock sleep 1000 | say; exec flock lock true
		waiting for a lock on fd * (HERE/record), held by * block record | block record & exec block record
		PID *reading fd 3 (pipe from itself) | exec block itself
	END
	# Another process may hold a pipe, and alarm(2) cannot be seen: nobody can
	# know that this lasts for ever.
	run ! grep -qw only err
	kill "$other" "$(children_of "$holder")"
	wait "$holder" || true
	exec 7<&- 8<&-
}

# bats test_tags=smoke,slow
@test "a process that waits for another one, a signal, a time or a lock is shown as such; or that it computes, or is stopped" {
	shown <<-'END'
		PID sleep 1000 *: sleeping | say; exec sleep 1000
		PID *waiting for child * | say; sleep 1000; true
		PID *waiting for its children *, * | say; sleep 1000 & sleep 1000 & wait
		PID *waiting for child * | exec block child
		PID *waiting for a signal | exec block signal
		PID *waiting for a signal*threads | exec block leaderless
		PID *: waiting for * (futex) | exec block futex
		PID *\[R *, cpu *]: on CPU | say; while :; do :; done
		PID *\[T *]: stopped | say; kill -STOP $BASHPID
		PID *\[D *]: uninterruptible (*) | exec block vfork
	END
}

# bats test_tags=slow
@test "a process with threads is judged by one that computes, else by the most telling wait; an event loop by what it waits for, not its own plumbing" {
	mkfifo keys
	exec 8<>keys
	shown <<-'END'
		PID *another thread (futex) | exec block threads
		PID *on CPU*1 of its 2 threads | exec block busy
		PID *: sleeping | exec block sleep
		PID *waiting for fd 3 (pipe from *) | exec block poll
		PID *waiting for fd 3 (pipe from *) | exec block select
		PID *waiting for fd 3 (pipe from *) | exec block epoll
		PID *waiting for fd 0* | exec block keys <keys
		PID *: uninterruptible (*) | exec block vfork
		PID *waiting for events* | exec block own
		PID *waiting for events | exec block timerfd
	END
	exec 8<&-
}

# bats test_tags=slow
@test "a socket is shown by its ends and its state, a Unix socket by its path or who has its other end" {
	need python3
	cat >sockets <<-'END'
		import os, socket
		def client(name, family, address):
		    server = socket.socket(family)
		    server.bind(address)
		    server.listen()
		    address = server.getsockname()
		    act(name, lambda: connect(socket.socket(family), address))
		    return server
		def connect(client, address):
		    client.connect(address)
		    return client.recv
		def act(name, prepare):
		    if os.fork(): return
		    last = prepare()
		    with open(name, "w") as said: print("ready", os.getpid(), file=said)
		    last(1)
		servers = [client("ip4", socket.AF_INET, ("127.0.0.1", 0)),
		           client("ip6", socket.AF_INET6, ("::1", 0))]
		other = socket.socket()
		other.bind(("127.0.0.1", 0))
		other.listen()
		act("accept", lambda: lambda _: other.accept())
		act("unix", lambda: connect(socket.socket(socket.AF_UNIX), "socket"))
		act("udp", lambda: connect(socket.socket(type=socket.SOCK_DGRAM), ("127.0.0.1", 53)))
		os.wait()
	END
	python3 -c 'import os, socket; s = socket.socket(socket.AF_UNIX); s.bind(os.getcwd() + "/socket"); s.listen(); print("ready", os.getpid(), flush=True); c = s.accept(); c[0].recv(1)' >server 3>&- &
	await_ready server
	shown <<-'END'
		PID *reading fd * (Unix socket to HERE/socket) | say_when unix
		PID *waiting for a connection on fd * (TCP listening on 127.0.0.1:*) | say_when accept
		PID *reading fd * (TCP 127.0.0.1:* 127.0.0.1:*, established) | say_when ip4
		PID *reading fd * (TCP \[::1\]:* \[::1\]:*, established) | say_when ip6
		PID *reading fd * (UDP 127.0.0.1:* 127.0.0.1:53) | say_when udp
		PID *waiting for its children* | say; exec python3 "$PWD/sockets"
	END
	end_leftovers
}

# bats test_tags=slow
@test "what a process is in another namespace is not taken for what it is here" {
	need_root
	need_unshare --pid --fork --net
	need python3
	shown <<-'END'
		block child *waiting for a child | say; exec unshare --pid --fork block child
		PID *waiting for a connection on fd * (TCP listening on 0.0.0.0:*) | exec unshare --net python3 -c 'import os, socket; s = socket.socket(); s.bind(("", 0)); s.listen(); print("ready", os.getpid(), flush=True); s.accept()'
	END
}

# bats test_tags=slow
@test "what may not be read of a process is left out, not guessed" {
	need_other_user
	chmod 777 .
	cp "$PROGRAMS/block" "$WDRUN" . # their directories may be below /root
	complete_late setpriv --reuid=65534 --regid=65534 --clear-groups \
		./wdrun -i LIMIT "${stop[@]}" bash -c './block secret | tee /dev/stderr | cat; true'
	[ "$status" -eq 124 ]
	# The writer may be the process that may not be read.
	[[ $stderr =~ wdrun:\ +[0-9]+\ [^$'\n']*block\ secret\ \[S\ [0-9]+s\]$'\n' ]]
	[[ $stderr =~ \ tee\ /dev/stderr\ \[S\ [^$'\n']*\]:\ reading\ fd\ 0\ \(pipe\)$'\n' ]]
	[[ $stderr != *nobody* ]]
}

# bats test_tags=slow
@test "arguments are quoted as for a shell, and cannot control the terminal; of what is too long, no half a character is shown, and a script keeps its name" {
	local path
	export long wide
	printf -v long 'x%.0s' {1..4096}
	printf -v wide '\xc3\xa9%.0s' {1..1000}
	printf -v path 'directory/%.0s' {1..120}
	mkdir -p "$path"
	echo 'echo "ready $$"; sleep 1000; true' >"${path}vite"
	shown <<-END
		PID 'a b e \[31m???'xx*xx... \[S *]: sleeping | say; exec -a $'a\nb\te\e[31m\x9b\xc2\x9b\''"\$long" sleep 1000
		PID éé*é...é*é 1000 \[S *]: sleeping | say; exec -a "\$wide" sleep 1000
		PID xé*é...é*é 1000 \[S *]: sleeping | say; exec -a "x\$wide" sleep 1000
		PID node 1000 \[S * | say; exec -a /opt/very/long/path/bin/node sleep 1000
		PID node directory/*...*/vite build 'a b' \[S * | exec -a /opt/bin/node bash ${path}vite build 'a b'
	END
	mapfile -t lines <err
	local LC_ALL=C
	[ "${#lines[2]}" -le 300 ]
	[[ ${lines[2]} != *[^\ -~]* ]]
	[[ ${lines[3]}${lines[4]} != *'?'* ]]
}

# at_prompt LIMIT: a run at a terminal whose cursor is behind a prompt.
at_prompt() {
	rm -f out over
	tmux -L "wdrun$$" -f /dev/null new-session -d -x 80 -y 20 \
		"printf 'Password: '; '$WDRUN' -t $1 ${stop[*]} bash -c 'echo ready 1 >out
		exec sleep 1000'; printf over; echo >over; exec sleep 1000" 3>&-
	wait_until test -s over
	wait_until shows_end
	tmux -L "wdrun$$" kill-server
	wait_until nobody_is_left
}

shows_end() {
	tmux -L "wdrun$$" capture-pane -p >screen
	mapfile -t lines <screen
	[[ " ${lines[*]} " == *' over '* ]]
}

# bats test_tags=slow
@test "at a terminal the tree begins on a line of its own" {
	need tmux
	late at_prompt LIMIT

	[ "${lines[0]}" = Password: ]
	[[ ${lines[1]} == 'wdrun: '* ]]
	[[ ${lines[2]} =~ ^wdrun:\ \ +[0-9]+\ sleep\ 1000\ \[S\ .*s\]:\ sleeping$ ]]
}

# bats test_tags=slow
@test "a stuck reader of the output is shown as what the command waits for; of what outlived the command, who keeps its reader waiting" {
	mkfifo fifo
	exec 7<>fifo
	complete_late sh -c 'exec "$WDRUN" --until=x -t LIMIT -s URG -k 300ms sh -c "
		echo ready 1 >&8; exec yes" 8>&1 >&7'
	exec 7<&-
	grep "yes \[S .*: writing fd 1 (pipe to the reader of wdrun's output): the pipe is full$" err

	# One of the two has the end for reading alone.
	: | "$WDRUN" --idle-after-exit=1 bash -c '
		sleep 1001 <&0 >/dev/null 2>&1 & exec 3>&1; sleep 1000 2>/dev/null & exit 0' \
		>/proc/self/fd/0 2>err 3>&- || true
	grep " sleep 1000 \[S .*: sleeping, holding the output open, fd 1,3$" err
	grep " sleep 1001 \[S .*: sleeping$" err
}

# bats test_tags=slow
@test "of many processes a stop shows 32, and the number of the rest; a cancel none" {
	local line shown=0
	complete_late "$WDRUN" -i LIMIT "${stop[@]}" crowd 33
	[ "$status" -eq 124 ]
	mapfile -n 34 -t lines <err
	for line in "${lines[@]}"; do
		[[ ! $line =~ ^wdrun:\ \ +[0-9]+\ .*\[S ]] || ((++shown))
	done
	[ "$shown" -eq 32 ]
	[ "${lines[33]//[^0-9]/}" -eq 2 ]

	start "$WDRUN" sleep 1000
	await_watchers
	kill -TERM "$started"
	finish
	[ "$status" -eq 143 ]
	[[ $stderr != *$'\n'* ]]
	[[ $stderr != *sleeping* ]]
}
