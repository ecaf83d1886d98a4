#!/usr/bin/env bats
#
# What wdrun says of real programs that hang, each in the way of a report from an
# agent, a CI or a test runner.
#
# bats file_tags=programs
# shellcheck disable=SC2016,SC2154

load helper
load diagnosis

# Starts a server that accepts connections, a line for each in the file server,
# and says nothing to them. Sets port.
start_silent_server() {
	need python3
	rm -f server
	python3 -c 'import os, socket, sys
s = socket.socket(socket.AF_UNIX if sys.argv[1:] else socket.AF_INET)
s.bind(sys.argv[1] if sys.argv[1:] else ("127.0.0.1", 0))
s.listen()
print("ready", os.getpid(), s.getsockname()[-1], flush=True)
clients = []
while True:
    clients.append(s.accept())
    print("accepted", flush=True)' "$@" >server 3>&- &
	await_ready server
	read -r _ _ port <server
}

@test "java: a thread that computes, and threads that wait for one another" {
	need java
	need javac
	cat >Hang.java <<-'END'
		public class Hang {
			static void both(Object first, Object second) {
				synchronized (first) {
					try { Thread.sleep(200); } catch (Exception e) {}
					synchronized (second) {}
				}
			}
			public static void main(String[] words) {
				Object a = new Object(), b = new Object();
				System.out.println("ready " + ProcessHandle.current().pid());
				if (words.length == 0) for (long i = 0;; i++) {}
				new Thread(() -> both(a, b)).start();
				both(b, a);
			}
		}
	END
	javac Hang.java
	# A thread of the VM's own wakes up twenty times a second.
	shown <<-'END'
		PID java Hang \[S *cpu *]: on CPU* threads* | exec java Hang
		PID java Hang 2 \[S *]: @(waiting for *another thread*\(futex\)*|on CPU, in 1 of its * threads \(VM *) | exec java Hang 2
	END
}

@test "python: a thread that computes while the main thread sleeps, and a lock that was held at a fork" {
	need python3
	shown <<-'END'
		PID *]: on CPU*1 of its 2 threads* | exec python3 -c 'import os, threading, time; threading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start(); print("ready", os.getpid(), flush=True); time.sleep(1000)'
		PID *]: waiting for *another process (futex) | exec python3 -c 'import os, threading; l = threading.Lock(); l.acquire(); child = os.fork(); child == 0 and (print("ready", os.getpid(), flush=True), l.acquire()); os.wait()'
	END
}

@test "an event loop on a timer: node, asyncio" {
	need node python3
	# After a garbage collection, V8 has a timer of 8 seconds of its own.
	shown <<-'END'
		PID node -e * \[S *]: waiting for events*timer within @(16m*|8)s | exec node -e 'setTimeout(() => {}, 1000000); console.log("ready", process.pid)'
		PID *asyncio* \[S *]: waiting for events*timer within 16m*s | exec python3 -c 'import asyncio, os; print("ready", os.getpid(), flush=True); asyncio.run(asyncio.sleep(1000))'
	END
}

@test "node: a server that a test runner left open, its child, and its child's output" {
	need node
	shown <<-'END'
		PID node *]: waiting for fd * (TCP listening on 127.0.0.1:*) | exec node -e 'require("http").createServer().listen(0, "127.0.0.1", () => console.log("ready", process.pid))'
		PID node *]: waiting for child * | exec node -e 'require("child_process").spawn("sleep", ["1000"], { stdio: "inherit" }).on("spawn", () => console.log("ready", process.pid))'
		PID node *]: waiting for fd * (Unix socket with *)* | exec node -e 'require("child_process").spawn("cat").on("spawn", () => console.log("ready", process.pid))'
		cat \[S *]: reading fd 0 (Unix socket with *) | exec node -e 'require("child_process").spawn("cat").on("spawn", () => console.log("ready", process.pid))'
	END
}

# are_connected NUMBER: these programs say nothing; they are ready when the
# server has so many connections.
are_connected() {
	until (($(wc -l <server) > $1)); do pause 0.1; done
	say
}

@test "a registry, a repository, a host, a daemon that never answers: curl, git, ssh" {
	local connection
	need curl git ssh
	export -f are_connected
	start_silent_server
	connection="(TCP 127.0.0.1:* 127.0.0.1:$port, established)"
	shown <<-END
		curl -s http://127.0.0.1:$port/ *]: waiting for fd * $connection | curl -s http://127.0.0.1:$port/ & are_connected 3; wait
		git clone *]: reading fd * $connection | git clone git://127.0.0.1:$port/x x & are_connected 3; wait
		ssh *]: reading fd * $connection | ssh -o BatchMode=yes -p $port 127.0.0.1 true & are_connected 3; wait
	END
	end_leftovers
	start_silent_server "$PWD/docker.sock"
	shown <<-'END'
		curl *]: waiting for fd * (Unix socket to HERE/docker.sock) | curl -s --unix-socket "$PWD/docker.sock" http://localhost/ & are_connected 1; wait
	END
	end_leftovers
}

@test "make -j whose jobserver has no token left" {
	need make
	mkfifo jobserver
	exec 8<>jobserver
	printf 'all: a b\na b:\n\t+@echo ready 1; sleep 1000\n' >Makefile
	shown <<-'END'
		make *]: @(waiting for|reading) fd 8 (FIFO HERE/jobserver) | MAKEFLAGS='-j2 --jobserver-auth=8,8' exec make
	END
	exec 8<&-
}

@test "npm run waits for its script" {
	need npm
	export HOME=$PWD npm_config_update_notifier=false # nor the network
	echo '{"scripts": {"x": "echo ready 1; sleep 1000; true"}}' >package.json
	shown <<-'END'
		npm run x *]: waiting for child * | exec npm run x
		sleep 1000 *: sleeping | exec npm run x
	END
}

@test "a prompt on the terminal: sqlite3" {
	need script sqlite3
	mkfifo keys
	exec 9<>keys
	shown <<-'END'
		sqlite3 \[S *]: @(reading|waiting for) fd 0 (terminal /dev/pts/*) | echo '.print "\nready 1 ."' >keys; exec script -qfc sqlite3 typescript <keys
	END
	exec 9>&-
}

@test "pytest's way: Popen.wait with stdout=PIPE; tail -f; a nested timeout" {
	need python3
	echo ready 1 >log
	shown <<-'END'
		head -c 1000000 /dev/zero \[S *]: writing fd 1 (pipe to *)* | exec python3 -c 'import os, subprocess; p = subprocess.Popen(["head", "-c", "1000000", "/dev/zero"], stdout=subprocess.PIPE); print("ready", os.getpid(), flush=True); p.wait()'
		PID *]: waiting for child * | exec python3 -c 'import os, subprocess; p = subprocess.Popen(["head", "-c", "1000000", "/dev/zero"], stdout=subprocess.PIPE); print("ready", os.getpid(), flush=True); p.wait()'
		tail -f log *]: @(waiting for|reading) fd * (inotify) | tail -f log | cat
		timeout 900 sleep 1000 *]: waiting for child * | say; exec timeout 900 sleep 1000
	END
}
