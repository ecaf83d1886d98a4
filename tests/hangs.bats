#!/usr/bin/env bats
#
# What wdrun says of real programs that hang, each in the way of a report from an
# agent, a CI or a test runner.
#
# bats file_tags=programs

load helper
load diagnosis

# Starts a server that accepts connections, at the TCP port `port` and at the
# Unix socket docker.sock, a line for each in the file server, and says nothing.
start_silent_server() {
	need python3
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
}

@test "event loops: node and asyncio; make -j without a token; Popen.wait; tail -f; a prompt" {
	need make node python3 script sqlite3
	mkfifo jobserver keys
	exec 8<>jobserver 9<>keys
	export HOME=$PWD
	echo ready 1 >log
	printf 'all: a b\na b:\n\t+@echo ready 1; sleep 1000\n' >Makefile
	# After a garbage collection, V8 has a timer of 8 seconds of its own.
	shown <<-'END'
		PID node -e * \[S *]: waiting for events*timer within @(16m*|8)s | exec node -e 'setTimeout(() => {}, 1000000); console.log("ready", process.pid)'
		PID *asyncio* \[S *]: waiting for events*timer within 16m*s | exec python3 -c 'import asyncio, os; print("ready", os.getpid(), flush=True); asyncio.run(asyncio.sleep(1000))'
		PID node *]: waiting for fd * (TCP listening on 127.0.0.1:*) | exec node -e 'require("http").createServer().listen(0, "127.0.0.1", () => console.log("ready", process.pid))'
		PID node *]: waiting for child * | exec node -e 'require("child_process").spawn("sleep", ["1000"], { stdio: "inherit" }).on("spawn", () => console.log("ready", process.pid))'
		PID node *]: waiting for fd * (Unix socket with *)* | exec node -e 'require("child_process").spawn("cat").on("spawn", () => console.log("ready", process.pid))'
		cat \[S *]: reading fd 0 (Unix socket with *)
		make *]: @(waiting for|reading) fd 8 (FIFO HERE/jobserver) | MAKEFLAGS='-j2 --jobserver-auth=8,8' exec make
		head -c 1000000 /dev/zero \[S *]: writing fd 1 (pipe to *)* | exec python3 -c 'import os, subprocess; p = subprocess.Popen(["head", "-c", "1000000", "/dev/zero"], stdout=subprocess.PIPE); print("ready", os.getpid(), flush=True); p.wait()'
		PID *]: waiting for child *
		tail -f log *]: @(waiting for|reading) fd * (inotify) | tail -f log | cat
		sqlite3 \[S *]: @(reading|waiting for) fd 0 (terminal /dev/pts/*) | echo '.print "\nready 1 ."' >keys; exec script -qfc sqlite3 typescript <keys
	END
	exec 8<&- 9>&-
}

# are_connected NUMBER: these programs say nothing; they are ready when the
# server has so many connections.
are_connected() {
	local lines=()
	until ((${#lines[@]} > $1)); do
		mapfile -t lines <server
		pause 0.1
	done
	say
}

@test "a registry, a repository, a host, a daemon that never answers: curl, git, ssh" {
	need curl git ssh
	export -f are_connected
	start_silent_server
	connection="(TCP 127.0.0.1:* 127.0.0.1:$port, established)"
	shown <<-END
		curl -s http://127.0.0.1:$port/ *]: waiting for fd * $connection | curl -s http://127.0.0.1:$port/ & are_connected 4; wait
		git clone *]: reading fd * $connection | git clone git://127.0.0.1:$port/x x & are_connected 4; wait
		ssh *]: reading fd * $connection | ssh -o BatchMode=yes -p $port 127.0.0.1 true & are_connected 4; wait
		curl *]: waiting for fd * (Unix socket to HERE/docker.sock) | curl -s --unix-socket docker.sock http://localhost/ & are_connected 4; wait
	END
	end_leftovers
}
