#!/usr/bin/env bats
#
# What wdrun says of real programs that hang, each in the way of a report from an
# agent, a CI or a test runner. No line may be wrong.
#
# Starts first: its tests take long, one after the other.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

# The programs are slow to start, all the more beside one another.
with_time() {
	local limit
	for limit in 2 10 50 120; do
		if "$@"; then return; fi
	done
	return 1
}

tells() {
	complete "$WDRUN" -t "$limit" "${@:2}"
	[ "$status" -eq 124 ] && grep -E "$1" err
}

# says PATTERN COMMAND...: a line of the diagnosis of COMMAND matches PATTERN.
says() {
	with_time tells "$@"
}

# Starts a server that accepts connections, and never says anything. Sets server
# and port, its number, or, with the argument PATH, listens there.
start_silent_server() {
	python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX if sys.argv[1:] else socket.AF_INET)
s.bind(sys.argv[1] if sys.argv[1:] else ("127.0.0.1", 0))
s.listen()
open("port", "w").write("ready %s" % s.getsockname()[-1])
clients = []
while True: clients.append(s.accept())' "$@" 3>&- &
	server=$!
	wait_until grep -qs '^ready' port
	port=$(<port)
	port=${port#ready }
}

stop_server() {
	kill "$server"
	wait "$server" || true
}

@test "java that computes: a thread on a CPU" {
	need java
	need javac
	cat >Spin.java <<-'END'
		public class Spin {
			public static void main(String[] words) {
				for (long i = 0;; i++) {}
			}
		}
	END
	javac Spin.java
	says ' java Spin \[S .*s, cpu .*s\]: on CPU, in 1 of its [0-9]+ threads$' java Spin
}

@test "java that sleeps, and java in a deadlock: all its threads wait for another one" {
	need java
	need javac
	cat >Wait.java <<-'END'
		public class Wait {
			static void both(Object first, Object second) {
				synchronized (first) {
					try { Thread.sleep(200); } catch (Exception e) {}
					synchronized (second) {}
				}
			}
			public static void main(String[] words) throws Exception {
				Object a = new Object(), b = new Object();
				if (words.length == 0) Thread.sleep(1000000);
				new Thread(() -> both(a, b)).start();
				both(b, a);
			}
		}
	END
	javac Wait.java
	says ' java Wait \[S .*\]: waiting for a lock, another thread or a timeout \(futex\), in all its [0-9]+ threads$' java Wait
	says ' java Wait 2 \[S .*\]: waiting for a lock, another thread or a timeout \(futex\), in all its [0-9]+ threads$' java Wait 2
}

@test "python with a thread that computes, while the main thread sleeps" {
	says ' \[S .*\]: on CPU, in 1 of its 2 threads$' python3 -c '
import threading, time
def compute():
    while True: pass
threading.Thread(target=compute).start()
time.sleep(1000)'
}

@test "python that sleeps only for moments spins" {
	says ' \[[SR] .*, cpu .*\]: (spinning: it sleeps only for moments|on CPU)$' python3 -c '
import time
while True:
    for _ in range(50000): pass
    time.sleep(0.00001)'
}

@test "an event loop on a timer: node, asyncio" {
	need node
	# After a garbage collection, V8 has a timer of 8 seconds of its own.
	says ' node -e .* \[S .*\]: waiting for events: a timer within (16m[0-9]+|8)s$' \
		node -e 'setTimeout(() => {}, 1000000)'
	says ' \[S .*\]: waiting for events: a timer within 16m[0-9]+s$' \
		python3 -c 'import asyncio; asyncio.run(asyncio.sleep(1000))'
}

@test "an event loop on a timerfd says when that expires" {
	says ' \[S .*\]: waiting for events: a timer in 16m[0-9]+s$' "$PROGRAMS/block" timerfd
}

@test "a process that a timer wakes does not wait only for a process that waits for it" {
	says ' waiting for fd [0-9]+ \(pipe from [0-9]+\)$' python3 -c '
import ctypes, os, select, subprocess, sys
libc = ctypes.CDLL(None)
there, back = os.pipe(), os.pipe()
child = subprocess.Popen(["cat"], stdin=there[0], stdout=back[1])
os.close(there[0])
os.close(back[1])
timer = libc.timerfd_create(1, 0o2000000)
libc.timerfd_settime(timer, 0, (ctypes.c_long * 4)(0, 0, 1000, 0), None)
epoll = select.epoll()
epoll.register(timer, select.EPOLLIN)
epoll.register(back[0], select.EPOLLIN)
epoll.poll()'
	run ! grep 'wait only for' err
}

@test "a test runner with a server left open: node listens" {
	need node
	says ' \[S .*\]: waiting for fd [0-9]+ \(TCP listening on 127.0.0.1:[0-9]+\)$' \
		node -e 'require("http").createServer().listen(0, "127.0.0.1")'
}

@test "a registry, a repository, a host that never answer: curl, git, ssh" {
	need curl
	need git
	need ssh
	start_silent_server
	to="\\(TCP 127.0.0.1:[0-9]+ -> 127.0.0.1:$port, established\\)"
	says " curl -s http://127.0.0.1:$port/ \\[S .*\\]: waiting for fd [0-9]+ $to\$" \
		curl -s "http://127.0.0.1:$port/"
	says " git clone .* \\[S .*\\]: reading fd [0-9]+ $to\$" \
		git clone "git://127.0.0.1:$port/x" x
	says " ssh .* \\[S .*\\]: reading fd [0-9]+ $to\$" \
		ssh -o BatchMode=yes -p "$port" 127.0.0.1 true
	stop_server
}

@test "a daemon that never answers on its Unix socket" {
	need curl
	start_silent_server "$PWD/docker.sock"
	says " curl .* \\[S .*\\]: waiting for fd [0-9]+ \\(Unix socket to $PWD/docker.sock\\)\$" \
		curl -s --unix-socket "$PWD/docker.sock" http://localhost/
	stop_server
}

@test "IPv6, UDP and netlink sockets" {
	says ' \[S .*\]: reading fd [0-9]+ \(TCP \[::1\]:[0-9]+ -> \[::1\]:[0-9]+, established\)$' python3 -c '
import socket
s = socket.socket(socket.AF_INET6)
s.bind(("::1", 0))
s.listen()
socket.create_connection(s.getsockname()[:2]).recv(1)'
	says ' \[S .*\]: reading fd 3 \(UDP 127.0.0.1:[0-9]+ -> 127.0.0.1:53\)$' python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("127.0.0.1", 53))
s.recv(1)'
	says ' \[S .*\]: reading fd 3 \(netlink socket of protocol 0\)$' python3 -c '
import socket
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
s.bind((0, 0))
s.recv(1)'
}

@test "a socket of another network namespace" {
	need_root
	need_unshare --net
	says ' \[S .*\]: waiting for a connection on fd 3 \(TCP listening on \*:4711\)$' \
		unshare -n -- python3 -c '
import socket
s = socket.socket()
s.bind(("", 4711))
s.listen()
s.accept()'
}

@test "a command that reads the stdin that an agent left open" {
	mkfifo stdin
	exec 9<>stdin
	start_with_stdin() {
		complete "$WDRUN" -t "$limit" cat <stdin
		grep -E " cat \\[S .*\\]: reading fd 0 \\(FIFO $PWD/stdin\\)\$" err
	}
	with_time start_with_stdin
	exec 9>&-
}

@test "an editor that git has opened, with a thread beside the one that waits for keys" {
	mkfifo stdin
	exec 9<>stdin
	edits() {
		complete "$WDRUN" -t "$limit" "$PROGRAMS/block" keys <stdin
		grep -E ' block keys \[S .*\]: waiting for fd 0$' err
	}
	with_time edits
	exec 9>&-
}

@test "make -j whose jobserver has no token left" {
	mkfifo jobserver
	exec 8<>jobserver
	printf 'all: a b\na b:\n\t+sleep 1000\n' >Makefile
	says " make \\[S .*\\]: (waiting for|reading) fd 8 \\(FIFO $PWD/jobserver\\)\$" \
		env MAKEFLAGS='-j2 --jobserver-auth=8,8' make
	exec 8>&-
}

@test "a prompt on the terminal: sqlite3" {
	need script
	need sqlite3
	mkfifo keys
	exec 9<>keys
	asks() {
		complete script -qc "$WDRUN -t $limit sqlite3" /dev/null <keys
		grep -E 'sqlite3 \[S .*\]: (reading|waiting for) fd 0 \(terminal /dev/pts/[0-9]+\)' out
	}
	with_time asks
	exec 9>&-
}

@test "subprocess.Popen.wait with stdout=PIPE: both wait only for each other" {
	says '^wdrun:   [0-9]+ and [0-9]+ wait only for each other$' python3 -c '
import subprocess
subprocess.Popen(["head", "-c", "1000000", "/dev/zero"], stdout=subprocess.PIPE).wait()'
	grep -E ' head -c 1000000 /dev/zero \[S .*\]: writing fd 1 \(pipe to [0-9]+\): the pipe is full$' err
}

@test "who answers is not stuck: two processes that talk to each other" {
	complete "$WDRUN" -t 2 bash -c '
		coproc cat
		while echo line >&"${COPROC[1]}" && read -r _ <&"${COPROC[0]}"; do :; done'
	run ! grep 'wait only for' err
}

@test "a pipe whose writer is its reader" {
	says '^wdrun:   [0-9]+ waits only for itself$' python3 -c '
import os
os.read(os.pipe()[0], 1)'
}

@test "a lock that another build holds: who, and what that one waits for" {
	flock lock sleep 1000 3>&- &
	holder=$!
	wait_until no flock -n lock true
	says " flock lock true \\[S .*\\]: waiting for a lock on fd 3 \\($PWD/lock\\), held by $holder flock lock sleep 1000: waiting for child [0-9]+\$" \
		flock lock true
	pkill -P "$holder"
	wait "$holder" || true
}

@test "a lock that the parent holds, which waits for its child" {
	says '^wdrun:   [0-9]+ and [0-9]+ wait only for each other$' python3 -c '
import fcntl, os
f = open("lock", "w")
fcntl.lockf(f, fcntl.LOCK_EX)
if os.fork() == 0: fcntl.lockf(f, fcntl.LOCK_EX)
os.wait()'
	grep -E ': waiting for a lock on fd 3 \(.*/lock\), held by [0-9]+$' err
}

@test "a shell and a nested timeout wait for their children" {
	says " sh -c 'sleep 1000 & wait' \\[S .*\\]: waiting for child [0-9]+\$" \
		sh -c 'sleep 1000 & wait'
	says " sh -c .* \\[S .*\\]: waiting for its children [0-9]+, [0-9]+\$" \
		sh -c 'sleep 1000 & sleep 1000 & wait'
	says ' timeout 900 sleep 1000 \[S .*\]: waiting for child [0-9]+$' \
		timeout 900 sleep 1000
}

@test "npm's way: node waits for its child, or for its child's output" {
	need node
	says ' node -e .* \[S .*\]: waiting for child [0-9]+$' node -e '
		require("child_process").spawn("sleep", ["1000"], { stdio: "inherit" })'
	says ' node -e .* \[S .*\]: waiting for fd [0-9]+ \(Unix socket with [0-9]+\)' node -e '
		require("child_process").spawn("cat")'
	grep -E ' cat \[S .*\]: reading fd 0 \(Unix socket with [0-9]+\)$' err
}

@test "tail -f after its reader has exited waits for changes of files" {
	: >log
	says ' tail -f log \[S .*\]: (waiting for|reading) fd [0-9]+ \(inotify\)' sh -c 'tail -f log | cat'
}

@test "a pool of threads that are forked while a lock is held" {
	says ': waiting for a lock, or another process \(futex\)$' python3 -c '
import os, threading
lock = threading.Lock()
lock.acquire()
if os.fork() == 0: lock.acquire()
os.wait()'
}

@test "the target that has exited is no finding" {
	for limit in 0.1 0.2 0.3; do
		complete "$WDRUN" -t "$limit" sleep "$limit"
		run ! grep -E 'dead|\[Z' err
	done
}

is_long() {
	complete "$WDRUN" -t "$limit" bash -c 'exec -a /opt/very/long/path/bin/node sleep 1000'
	[[ $(tail -n 1 err) =~ ^wdrun:\ \ \ [0-9]+\ node\ 1000\ \[S ]]
}

@test "the name of a script is not cut, its path is, and neither where there is room" {
	need node
	local long=/tmp/x
	long=$PWD/$(printf 'directory/%.0s' {1..20})
	mkdir -p "$long"
	echo 'setTimeout(() => {}, 1000000)' >"${long}vite"
	with_time is_long
	says " node ${long}vite build --mode 'a b' \\[S " node "${long}vite" build --mode 'a b'

	need script
	export long
	is_cut() {
		complete script -qc 'stty cols 80
			"$WDRUN" -t "$limit" node "${long}vite" build' typescript
		tr -d '\r' <out | grep -E '^wdrun:   [0-9]+ node /[^ /]+/\.\.\./vite'
	}
	export limit=2
	with_time is_cut
}

# A tracer that is slow takes away the time for the diagnosis.
is_traced_in_time() {
	for _ in {1..20}; do
		complete nice -n -20 strace -f -qq --seccomp-bpf -e trace=write \
			-e signal=none -o trace \
			"$WDRUN" -t 1 bash -c 'sleep 1000 | sleep 1000; true'
		if [ "$(grep -c '^wdrun: ' err)" -eq 4 ]; then return; fi
	done
	return 1
}

tells_at_a_prompt() {
	tmux -L "hangs$$" -f /dev/null new-session -d -x 100 -y 20 \
		"printf 'Password: '; '$WDRUN' -t $limit sleep 1000
		printf over; sleep 1000" 3>&-
	wait_until shows_end
	tmux -L "hangs$$" kill-server
	grep ' sleep 1000 \[' screen
}

shows_end() {
	tmux -L "hangs$$" capture-pane -p >screen
	grep -q '^over' screen
}

@test "the diagnosis is one write, and begins on a line of its own at a terminal" {
	need strace
	is_traced_in_time
	[ "$(grep -c 'write(.*"wdrun: timed out' trace)" -eq 1 ]
	[ "$(grep -c 'write(.*"wdrun: ' trace)" -eq 1 ]

	need tmux
	with_time tells_at_a_prompt
	grep -x 'Password:' screen
	grep '^wdrun: timed out' screen
	[ "$(sed -n '2s/^\(wdrun: timed\).*/\1/p' screen)" = 'wdrun: timed' ]
}
