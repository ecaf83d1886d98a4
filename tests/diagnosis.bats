#!/usr/bin/env bats
#
# Why a command hung: at a stop by --timeout or --idle-timeout, wdrun prints the
# tree, with what each process waits for. DESIGN, section 7.

load helper

# The options of a stop whose first signal changes nothing: where wdrun is woken
# late it signals first and then looks, and sees the same.
stop=(-s URG -k 300ms)

# shown <<END: each line is a row, `WORDS | COMMAND`. All COMMANDs of a shell's
# hang side by side, in one run, which --idle-timeout ends once each COMMAND has
# said `ready PID` (`say` does). A line of the diagnosis has WORDS, in which PID is
# that PID, HERE this directory, and * anything; else as for grep(1).
shown() {
	local rows row words
	mapfile -t rows
	late hang LIMIT
	head -n 20 out err
	[ "$status" -eq 124 ]
	for row in "${!rows[@]}"; do
		says_ready "said$row"
		words=${rows[row]%% | *}
		words=${words/#PID/ $ready}
		words=${words//PID/$ready}
		words=${words//HERE/$PWD}
		echo "to be shown: $words"
		grep "^wdrun:  .*${words//\*/.*}" err
	done
}

# Lets all rows hang, with this limit. The run is not silent until all are ready.
hang() {
	export -f pause say says_ready
	status=0
	"$WDRUN" -i "$1" "${stop[@]}" bash -c '
		for command; do
			file=said$((count++))
			: >"$file"
			eval "$command" >"$file" 2>&1 &
		done
		for file in said*; do until says_ready "$file"; do echo .; pause 0.05; done; done
		echo "ready $ready"
		wait' - "${rows[@]#* | }" >out 2>err 3>&- 4>&- || status=$?
}

say() {
	echo "ready $BASHPID"
}

# bats test_tags=smoke,tree
@test "a stop shows the tree, each process below its parent, with its state, age and wait" {
	mkfifo requests
	gives 124 complete_late "$WDRUN" -t LIMIT "${stop[@]}" bash -c '
		echo "ready $$"; cat requests; true'
	[[ $stderr =~ wdrun:\ +$ready\ bash\ -c\ .*\ \[S\ [0-9]+s[^]]*\]:\ waiting\ for\ child\ ([0-9]+)$'\n'(.*) ]]
	[[ ${BASH_REMATCH[2]} =~ ^wdrun:\ \ \ \ +${BASH_REMATCH[1]}\ cat\ requests\ \[S\ [0-9]+s[^]]*\]:\ opening ]]
}

# bats test_tags=slow
@test "of a process that reads, writes, opens or locks, a stop names the file, and the process at the other end" {
	need flock
	mkfifo unwritten unread
	exec 7< <(exec sleep 1000)
	other=$!
	flock -F lock sleep 1000 3>&- &
	holder=$!
	wait_until no flock -n lock true
	shown <<-END
		reading fd 0 (pipe from *) | say; sleep 1000 | cat
		writing fd 1 (pipe to *) | say; yes | sleep 1000
		PID cat unwritten *opening a FIFO that nobody opens for writing: 'unwritten' | say; exec cat unwritten
		PID tar cf unread *opening a FIFO that nobody opens for reading: 'unread' | say; exec tar cf unread lock
		PID *reading fd 0 (pipe) | say; exec cat <&7
		PID *waiting for a lock on fd * (HERE/lock), held by $holder sleep 1000 | say; exec flock lock true
		waiting for a lock on fd * (HERE/record), held by *block record | block record & exec block record
		waiting for a lock on fd * (HERE/ofd), held by *block ofd | block ofd & exec block ofd
	END
	kill "$other" "$holder"
	wait "$holder" || true
}

# bats test_tags=smoke,slow,calls
@test "a stop tells if a process waits for a child, a signal, a time, a lock or events, computes, or is stopped" {
	# Of an event loop a stop tells what that waits for, not its own plumbing.
	mkfifo keys
	exec 8<>keys
	cat >sigwait <<-'END'
		import os, signal, time
		signal.signal(signal.SIGCHLD, lambda *_: None)
		os.fork() or time.sleep(1000)
		signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
		print("ready", os.getpid(), flush=True)
		signal.sigwait([signal.SIGUSR1])
	END
	shown <<-'END'
		PID sleep 1000 *: sleeping | say; exec sleep 1000
		PID *waiting for child * | say; sleep 1000; true
		PID *waiting for its children *, * | say; sleep 1000 & sleep 1000 & wait
		PID *waiting for a signal | exec block signal
		PID *: waiting for a signal | exec python3 sigwait
		PID *waiting for a signal*threads | exec block leaderless
		PID *: waiting for a lock that no other thread can release (futex) | exec block futex
		PID *: waiting for a lock, or another process (futex) | exec block shared
		PID *: waiting for a lock (futex)$ | exec block handler
		PID *\[R *, cpu *]: on CPU | for _ in {1..300000}; do :; done; say; while :; do :; done
		PID *\[T *]: stopped | say; kill -STOP $BASHPID
		PID *: wants to read the terminal, in the background | say; kill -TTIN $BASHPID
		PID *waiting for a signal$ | exec block go
		PID \[python3] \[D *]: waiting for its child to execute or exit | exec block vfork
		PID *another thread (futex) | exec block threads
		PID *on CPU*1 of its 2 threads | exec block busy
		PID *waiting for fd 0* | exec block keys <keys
		PID *waiting for fd 3 (pipe from PID) | exec block own
		PID *waiting for events | exec block timerfd
	END
}

# bats test_tags=slow
@test "of several threads, a stop shows one that waits for another process, and counts those with the same wait" {
	shown <<-'END'
		PID *: waiting for fd * (UDP 127.0.0.1:* -> 127.0.0.1:53), in 1 of its 3 threads | exec block query
		PID *: waiting for fd * (TCP 127.0.0.1:*, established with PID), in 1 of its 4 threads | exec block watch
		PID *: waiting for fd * (TCP 127.0.0.1:*, established with PID), in * of its 5 threads | exec block plumbing
		PID *: reading fd * (pipe from *), in 1 of its 2 threads; sleeping, in 1 of its 2 threads | exec block orders
		PID *: waiting for child *, in 1 of its 3 threads | exec block two
		PID *: waiting for fd * (TCP [^,]*, established with PID)$ | exec block server
		PID *: reading fd 50 (pipe), in 1 of its 2 threads | exec block unshared
		PID *]: on CPU, in 1 of its 2 threads | exec block main
		PID *: waiting for a lock, or another thread*(futex), in 1 of its 3 threads; sleeping, in 1 of its 3 threads | exec block limit
	END
}

# bats test_tags=slow
@test "a stop names the peer, message queue, pipe, pidfd, socket or child that a process waits for" {
	shown <<-'END'
		PID *: reading fd * (TCP 127.0.0.1:*, established with [1-9]*) | exec block peer
		PID *: reading fd * (FIFO HERE/answers from [1-9]*) | exec block fifo
		PID *waiting for fd 3 (pipe from *) | exec block poll
		PID *waiting for fd 3 (pipe from *) | exec block select
		PID *waiting for fd 3 (pipe from *) | exec block epoll
		PID *waiting for a connection on fd * (TCP listening on 127.0.0.1:*) | exec python3 -c 'import os, socket; server = socket.create_server(("127.0.0.1", 0)); print("ready", os.getpid(), flush=True); server.accept()'
		PID *reading fd 0 (UDP 127.0.0.1:* 127.0.0.1:53) | say; exec cat </dev/udp/127.0.0.1/53
		PID *: copying fd 3 (pipe*) to fd * (pipe*) | exec block splice
		PID *: waiting for message queue fd * (/wdrun-*) | exec block queue
		PID *: waiting for fd 5 (pidfd [1-9]*) | exec block pidfd
		PID *: waiting to write fd [0-9]* (TCP [^,]*, established with PID) | exec block full
		PID *: waiting for fd 60 (TCP [^,]*, established with PID)$ | exec block disarmed
		PID *: waiting for fd [0-9]* (Unix socket with *), * (TCP *, established), * and other descriptors | exec block crowd
		PID *: waiting for child * | exec block stopped
		PID *: waiting for a lock on fd * (HERE/bytes), held by [1-9]* | exec block bytes
		block stopped \[S *: waiting for fd * (TCP 127.0.0.1:* | exec block stopped
	END
	# By whom the lock is held: the process in the next line, its child.
	[[ $(<err) =~ held\ by\ ([0-9]+)\ python3\ [^$'\n']*bytes[$'\n']wdrun:\ +([0-9]+) ]]
	[ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]
}

# bats test_tags=slow
@test "a stop says that a command reads the caller's standard input, and which option helps, or writes to a stuck reader" {
	words="(standard input, from the caller (--no-stdin gives none))"
	exec 7< <(exec sleep 1000)
	other=$!
	complete "$WDRUN" -t 300ms cat <&7
	has_message ": reading fd 0 $words"
	kill "$other"
	python3 -c 'import os, socket, subprocess
ours, theirs = socket.socketpair()
subprocess.run([os.environ["WDRUN"], "-t", "300ms", "cat"], stdin=theirs)
subprocess.run([os.environ["WDRUN"], "-t", "2", "yes"], stdout=theirs)' 2>err
	grep -F ": reading fd 0 $words" err
	grep -F ": writing fd 1 (Unix socket to the reader of wdrun's output)" err
}

# bats test_tags=slow
@test "a stop names the path of a file in a file system that hangs" {
	need_mounts /dev/fuse
	complete unshare --mount bash -c '
		mkdir mnt
		hung_fs "$PWD/mnt" >server & server=$!
		until grep -qs ready server; do sleep 0.1; done
		kill -USR1 "$server"
		until grep -q hung server; do sleep 0.1; done
		"$WDRUN" -t 60 -u ready --until-grace=1 -k 300ms python3 -c "import os, threading; os.fork() or os.statvfs(\"mnt\"); threading.Thread(target=threading.Event().wait, daemon=True).start(); print(\"ready\", flush=True); os.stat(\"mnt/one\")"
		kill -KILL "$server"'
	has_message ": looking at a file: 'mnt/one'" && has_message ": looking at a file system: 'mnt'"
}

# bats test_tags=slow
@test "a stop names the holder of a lock, even if it is another user's process, or has inherited it in a container" {
	need_other_user
	need_unshare --pid --fork --mount-proc
	give_to_all
	: >lock
	flock -F lock sleep 1000 3>&- &
	holder=$!
	wait_until no flock -n lock true
	complete "${as_nobody[@]}" ./wdrun -t 300ms flock lock true
	has_message 'waiting for a lock on fd ' "/lock), held by $holder sleep 1000"
	kill "$holder"
	wait "$holder" || true
	complete_late unshare --pid --fork --mount-proc sh -c '(flock 9; sleep 1000 & exit) 9>job; exec "$@"' - \
		"$WDRUN" -i LIMIT "${stop[@]}" sh -c 'echo "ready $$"; flock job true; :'
	grep ' flock job true .*, held by [0-9]* sleep 1000$' err
}

# bats test_tags=slow
@test "a stop tells memory of 100 MiB or more; the report tells that of each process" {
	gives 0 complete "$WDRUN" --report=report -u ready --until-grace=1s "${stop[@]}" block large
	[ "$(grep -cE '\[S [^,]*(, cpu [^,]*)?, 1[5-9][0-9] MiB\]: waiting for a signal' err)" -eq 1 ]
	[ "$(grep -oE '"rss_kb":1[5-9][0-9]{4},' report | wc -l)" -eq 1 ]
	[ "$(grep -o '"rss_kb":[1-9][0-9]*,' report | wc -l)" -eq 2 ]
}

# bats test_tags=slow
@test "a process with 20,000 descriptors leaves enough time to describe the others" {
	complete_late "$WDRUN" -i LIMIT "${stop[@]}" block descriptors
	[ "$(grep -cE 'block descriptors \[S [0-9]+s' err)" -eq 2 ]
	grep -E 'block descriptors \[S .*: reading fd ' err
}

# bats test_tags=slow
@test "of a tree that is too large, a stop shows the oldest processes without children, and their ancestors" {
	mkfifo answers never go
	export -f has_line_count pause
	complete_late "$WDRUN" -i LIMIT "${stop[@]}" bash -c '
		exec 7<>go
		: >old >young
		for i in {1..20}; do
			echo .
			if ((i == 18)); then
				( (echo >>old; read -r <answers); :) &
			else
				(read -r <&7; (echo >>young; read -r <never); :) &
			fi
		done
		until [ -s old ]; do echo .; pause 0.02; done
		printf "\n%.0s" {1..19} >&7
		until has_line_count 19 young; do echo .; pause 0.02; done
		echo "ready $$"
		wait'
	grep -A 1 '^wdrun: \{5\}[0-9]' err | grep "^wdrun: \{7\}[0-9]* bash .*: 'answers'$"
	[ "$(grep -cE '^wdrun:  +[0-9]+ .*\[' err)" -eq 32 ]
}

# bats test_tags=slow
@test "what wdrun may not read of a process is left out, not guessed" {
	need_other_user
	give_to_all block
	gives 124 complete_late "${as_nobody[@]}" ./wdrun -i LIMIT "${stop[@]}" bash -c './block secret | tee /dev/stderr | cat; true'
	[[ $stderr =~ wdrun:\ +[0-9]+\ [^$'\n']*block\ secret\ \[[RS]\ [0-9]+s[^]]*\]$'\n' ]]
	[[ $stderr =~ \ tee\ /dev/stderr\ \[S\ [^$'\n']*\]:\ reading\ fd\ 0\ \(pipe\)$'\n' ]]
}

# bats test_tags=slow
@test "arguments are quoted for a shell, and cannot control the terminal; a script keeps its name" {
	export long wide
	printf -v long 'x%.0s' {1..4096}
	printf -v wide '\xc3\xa9%.0s' {1..1000}
	printf -v path 'directory/%.0s' {1..120}
	mkdir -p "$path"
	echo 'echo "ready $$"; sleep 1000; true' >"${path}vite"
	shown <<-END
		PID 'a b e \[31m???'\\\\''xx*xx... \[S *]: sleeping | say; exec -a $'a\nb\te\e[31m\x9b\xc2\x9b\''"\$long" sleep 1000
		PID éé*é...é*é 1000 \[S *]: sleeping | say; exec -a "\$wide" sleep 1000
		PID xé*é...é*é 1000 \[S *]: sleeping | say; exec -a "x\$wide" sleep 1000
		PID node directory/*...*/vite build 'a b' \[S * | exec -a /opt/bin/node bash ${path}vite build 'a b'
	END
	mapfile -t lines <err
	LC_ALL=C
	[ "${#lines[2]}" -le 300 ]
	[[ ${lines[2]} != *[^\ -~]* ]]
	[[ ${lines[3]}${lines[4]} != *'?'* ]]
}

# bats test_tags=slow
@test "a stop shows that the reader of the output is stuck, and which survivor holds the output open" {
	mkfifo fifo
	exec 7<>fifo
	complete_late sh -c 'exec "$WDRUN" --until=x -t LIMIT -s URG -k 300ms sh -c "
		echo ready 1 >&8; exec yes" 8>&1 >&7'
	grep "yes \[S .*: writing fd 1 (pipe to the reader of wdrun's output)$" err
	# The other one has the end for reading alone.
	: | "$WDRUN" --idle-after-exit=1 bash -c '
		sleep 1001 <&0 >/dev/null 2>&1 & exec 3>&1; sleep 1000 2>/dev/null & exit 0' \
		>/proc/self/fd/0 2>err 3>&- || true
	grep " sleep 1000 \[S .*: sleeping, holding the output open, fd 1,3$" err
	grep " sleep 1001 \[S .*: sleeping$" err
}

# bats test_tags=slow
@test "of many processes, a stop shows 32 and the number of the rest; a cancel shows none" {
	gives 124 complete_late "$WDRUN" -i LIMIT "${stop[@]}" crowd 33
	[ "$(head -n 33 err | grep -cE '^wdrun:  +[0-9]+ .*\[S')" -eq 32 ]
	[ "$(sed -n '34s/[^0-9]//gp' err)" -eq 2 ]

	underway sh -c 'echo "ready $$"; exec sleep 1000'
	ended_by TERM 143
	[[ $stderr != *sleeping* ]]
}

# bats test_tags=slow
@test "a late stop shows the tree as it hung, and after the grace period which processes are killed" {
	underway -t 1 -k 100ms bash -c 'trap "" TERM; echo "ready $$"; exec sleep 1000'
	kill -STOP "$supervisor"
	pause 1.5
	kill -CONT "$supervisor"
	gives 124 finish
	has_message 'with SIGTERM:'
	has_message "$ready sleep 1000 [S"
	has_message "killing 1 process: $ready [sleep]"
}

# bats test_tags=slow
@test "the supervisor, an ancestor of the tree, is the process that reads /proc for a diagnosis" {
	need_strace
	complete_late strace -f -qq -e trace=openat -o trace "$WDRUN" -t LIMIT \
		sh -c 'echo "ready $PPID"; sleep 1000; :'
	[ "$(sed -n 's/^\([0-9]*\) .*syscall".*/\1/p' trace | sort -u)" = "$ready" ]
}

# bats test_tags=programs
@test "a stop tells what hangs in node, asyncio, make -j without a token, Popen.wait, tail -f, and a prompt" {
	need make node python3 script sqlite3
	mkfifo jobserver keys
	exec 8<>jobserver 9<>keys
	export HOME=$PWD
	echo ready 1 >log
	printf 'all: a b\na b:\n\t+@echo ready 1; sleep 1000\n' >Makefile
	# After a garbage collection, V8 has a timer of 8 seconds of its own.
	shown <<-'END'
		PID node -e * \[S *]: waiting for events | exec node -e 'setTimeout(() => {}, 1000000); console.log("ready", process.pid)'
		PID *asyncio* \[S *]: waiting for events | exec python3 -c 'import asyncio, os; print("ready", os.getpid(), flush=True); asyncio.run(asyncio.sleep(1000))'
		PID node *]: waiting for fd * (TCP listening on 127.0.0.1:*) | exec node -e 'require("http").createServer().listen(0, "127.0.0.1", () => console.log("ready", process.pid))'
		PID node *]: waiting for child * | exec node -e 'require("child_process").spawn("sleep", ["1000"], { stdio: "inherit" }).on("spawn", () => console.log("ready", process.pid))'
		PID node *]: waiting for fd * (Unix socket with *)* | exec node -e 'require("child_process").spawn("cat").on("spawn", () => console.log("ready", process.pid))'
		make *]: \(waiting for\|reading\) fd 8 (FIFO HERE/jobserver) | MAKEFLAGS='-j2 --jobserver-auth=8,8' exec make
		head -c 1000000 /dev/zero \[S *]: writing fd 1 (pipe to *)* | exec python3 -c 'import os, subprocess; p = subprocess.Popen(["head", "-c", "1000000", "/dev/zero"], stdout=subprocess.PIPE); print("ready", os.getpid(), flush=True); p.wait()'
		tail -f log *]: \(waiting for\|reading\) fd * (inotify) | tail -f log | cat
		sqlite3 \[S *]: \(reading\|waiting for\) fd 0 (terminal /dev/pts/*) | echo '.print "\nready 1 ."' >keys; exec script -qfc sqlite3 typescript <keys
	END
	grep ' cat \[S .*\]: reading fd 0 (Unix socket with ' err
	grep ' python3 .*Popen.*\]: waiting for child ' err
}

# Programs that say nothing are ready when the server has all; curl(1) wakes up each second.
are_connected() {
	until (($(grep -c accepted server) >= 4)); do pause 0.1; done
	pause 0.5 && say
}

# bats test_tags=programs
@test "if curl, git or ssh waits for a server or daemon that does not answer, a stop names it" {
	need curl git python3 ssh
	export -f are_connected
	# It accepts connections, prints a line for each, and says nothing to them.
	python3 -c 'import os, select, socket
unix, tcp = socket.socket(socket.AF_UNIX), socket.socket()
unix.bind(os.getcwd() + "/docker.sock")
tcp.bind(("127.0.0.1", 0))
unix.listen(); tcp.listen()
print("ready", os.getpid(), tcp.getsockname()[1], flush=True)
clients = []
while True:
    for server in select.select([unix, tcp], [], [])[0]:
        clients.append(server.accept())
        print("accepted", flush=True)' >server 3>&- &
	await_ready server
	read -r _ _ port <server
	connection="(TCP 127.0.0.1:* 127.0.0.1:$port, established)"
	shown <<-END
		curl -s http://127.0.0.1:$port/ *]: waiting for fd * $connection | curl -s http://127.0.0.1:$port/ & are_connected; wait
		git clone *]: reading fd * $connection | git clone git://127.0.0.1:$port/x x & are_connected; wait
		ssh *]: reading fd * $connection | ssh -o BatchMode=yes -p $port 127.0.0.1 true & are_connected; wait
		curl *]: waiting for fd * (Unix socket to HERE/docker.sock) | curl -s --unix-socket docker.sock http://localhost/ & are_connected; wait
	END
	end_leftovers
}

explain() {
	directly "$WDRUN" --explain="$1" "${@:2}"
	mapfile -t lines <out
}

@test "--explain shows the tree of a process that runs without wdrun, and touches nothing" {
	mkfifo requests
	sh -c 'cat requests; :' 3>&- &
	process=$!
	wait_until first_child "$process"
	wait_until is_idle "$child"
	what='FIFO that nobody opens for writing'
	gives 0 explain "$process"
	[ "$(<"/proc/$child/wchan")" != 0 ] || what='file' # x86 before Linux 5.16
	[[ ${lines[0]} =~ ^\ \ "$process sh -c 'cat requests; :' [S "[0-9]+s"]: waiting for child $child"$ ]]
	[[ ${lines[1]} =~ ^\ {4}"$child cat requests [S "[0-9]+s"]: opening a $what: 'requests'"$ ]]
	[ "${#lines[@]}" -eq 2 ]
	[ ! -s err ]
	gives 0 explain "$process" --json
	[[ $output =~ ^\[\{\"pid\":"$process",\"ppid\":$$,.*,\{\"pid\":"$child",.*\"waiting_for\":\"opening\ a\ "$what".*\}\]$ ]]
	kill -0 "$process" "$child"
	kill "$process" "$child"
	wait "$process" || true
	gives 1 explain "$process"
	has_message 'no such process'
	bash -c 'printf wd-supervisor >/proc/$$/comm; : >named; read -r _ <requests' 3>&- &
	wait_until [ -e named ]
	gives 0 explain "$!" # the name of a supervisor alone hides nobody
	kill "$!"
	gives 1 explain 0
}

@test "--explain shows the command of a run on record, by its name or ID" {
	underway -n nightly sh -c 'echo "id $WDRUN_ID"; echo "ready $$"; sleep 1000; :'
	id=$(sed -n 's/^id //p' out)
	cp out said
	for run in nightly "$id"; do
		gives 0 explain "$run"
		[[ ${lines[0]} =~ ^\ \ "$ready sh -c "[^$'\n']*"waiting for child" ]]
		[[ ${lines[1]} =~ ^\ {4}[0-9]+" sleep 1000 [S "[0-9]+s"]: sleeping"$ ]]
	done
	gives 1 explain weekly
	has_message "no run 'weekly'"
	ended_by TERM 143
	start "$WDRUN" --lock=l "$WDRUN" -n waiter --lock=l --lock-wait=never true
	wait_until bash -c '"$WDRUN" --list 2>&1 | grep -q "waiter.*waiting"'
	explain waiter
	[[ $output =~ wdrun\ -n\ waiter\ [^$'\n']*waiting\ for ]]
	ended_by TERM 143
}

# bats test_tags=slow
@test "--explain of another user's process shows what can be read, and that root sees more" {
	need_other_user
	give_to_all
	sleep 1000 3>&- &
	process=$!
	wait_until is_idle "$process"
	gives 0 directly "${as_nobody[@]}" ./wdrun --explain="$process"
	[[ $output =~ ^\ \ "$process sleep 1000 [S "[0-9]+"s]"$ ]]
	has_message 'root sees more'
	kill "$process"
	wait "$process" || true
}
