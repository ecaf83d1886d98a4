#!/usr/bin/env bats
#
# What the command writes, where wdrun has to read it: every byte comes through,
# in order, to the same place, as if the command had written there itself. (At a
# terminal: pty.bats. After the command's end: drain.bats.)
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load relays

# Much more bytes than any pipe holds.
MANY=60000000

relay_count_is() {
	[ "$(relays_of "$front" | wc -l)" -eq "$1" ]
}

# --- every byte, in order ----------------------------------------------------

@test "60 MB come through from pipe to pipe, with the command's status" {
	complete bash -c '"$WDRUN" -i 60 sh -c "
			\"\$PROGRAMS/pattern\" write 1 $0; exit 7" |
		"$PROGRAMS/pattern" check 1 "$0"; echo "${PIPESTATUS[0]}"' \
		"$MANY"

	[ "$output" = $'same\n7' ]
	[ -z "$stderr" ]
}

@test "60 MB come through into a file, and are appended to one" {
	complete sh -c '"$WDRUN" -i 60 "$PROGRAMS/pattern" write 2 "$0" >file' \
		"$MANY"
	[ "$status" -eq 0 ]
	[ "$("$PROGRAMS/pattern" check 2 "$MANY" <file)" = same ]

	printf 'first\n' >file
	complete sh -c '"$WDRUN" -i 60 "$PROGRAMS/pattern" write 3 20000000 >>file'
	[ "$status" -eq 0 ]
	[ "$(head -n 1 file)" = first ]
	[ "$(tail -c +7 file | "$PROGRAMS/pattern" check 3 20000000)" = same ]
}

@test "30 MB come through where each byte is looked at, and into a copy" {
	complete bash -c 'set -o pipefail
		"$WDRUN" --tee=copy -u "no such text" "$PROGRAMS/pattern" write 5 "$0" |
		"$PROGRAMS/pattern" check 5 "$0"' 30000000

	[ "$status" -eq 0 ]
	[ "$output" = same ]
	[ "$("$PROGRAMS/pattern" check 5 30000000 <copy)" = same ]
}

@test "stdout and stderr come through at the same time, each by itself" {
	complete bash -c '"$WDRUN" -i 60 "$PROGRAMS/pattern" \
			write 6 20000000 7 15000000 \
			2> >("$PROGRAMS/pattern" check 7 15000000 >second) |
		"$PROGRAMS/pattern" check 6 20000000'

	[ "$output" = same ]
	wait_until grep -qx same second
}

@test "stdout and stderr come through at the same time into two files" {
	complete "$WDRUN" -u 'no such text' "$PROGRAMS/pattern" \
		write 6 10000000 7 9000000

	[ "$status" -eq 0 ]
	[ "$("$PROGRAMS/pattern" check 6 10000000 <out)" = same ]
	[ "$("$PROGRAMS/pattern" check 7 9000000 <err)" = same ]
}

# Prints lines to both streams in turns, as fast as it can.
in_turns='for ((i = 1; i <= 1000; i += 2)); do
	echo $i; echo $((i + 1)) >&2; done'

@test "the order is kept where stderr goes to where stdout goes: a pipe" {
	complete bash -c '"$WDRUN" -i 60 bash -c "$0" 2>&1 | cat' "$in_turns"

	cmp out <(seq 1000)
}

@test "the order is kept where stderr goes to where stdout goes: a file" {
	complete bash -c '"$WDRUN" -i 60 bash -c "$0" >file 2>&1' "$in_turns"
	cmp file <(seq 1000)

	complete bash -c '"$WDRUN" --tee=copy bash -c "$0" >>file 2>&1' \
		"$in_turns"
	cmp file <(seq 1000; seq 1000)
	cmp copy <(seq 1000)
}

@test "the order is kept where both were opened by the same name" {
	mkfifo fifo
	cat fifo >seen 3>&- &
	complete bash -c '"$WDRUN" -i 60 bash -c "$0" >fifo 2>fifo' "$in_turns"

	seq 1000 >expected
	wait_until cmp -s seen expected
}

@test "what other processes write into the same file is not overwritten" {
	complete sh -c '{ echo before; "$WDRUN" -i 60 echo within
		echo after; } >file'
	[ "$(cat file)" = $'before\nwithin\nafter' ]

	complete sh -c '"$WDRUN" -i 60 sh -c "
		echo one; echo two >>file; echo three" >>file'
	[ "$(wc -l <file)" -eq 6 ]
}

# --- as if the command had written there itself ------------------------------

@test "with none of these options the descriptors are the caller's own" {
	complete sh -c 'readlink /proc/$$/fd/1 /proc/$$/fd/2
		exec "$WDRUN" -t 60 readlink /proc/self/fd/1 /proc/self/fd/2'

	[ "$(sort -u out | wc -l)" -eq 2 ]
	[[ $output == *"/out"*"/err"* ]]
}

@test "the command has stdin and its other descriptors as without wdrun" {
	echo input >input
	local script='exec 9<input
		"$@" bash -c "cat <&9; cat; ls /proc/\$\$/fd" <input'
	complete bash -c "$script" bash env
	local without=$output

	complete bash -c "$script" bash "$WDRUN" -i 60

	[ "$output" = "$without" ]
	[[ $output == $'input\ninput\n0\n1\n'*9* ]]
}

@test "yes | head -1 ends yes by SIGPIPE, whatever looks at the output" {
	local option
	for option in -i60 --tee=/dev/null --until=nothing --pty; do
		complete bash -c '"$WDRUN" -t 200 "$0" yes | head -n 1
			echo "${PIPESTATUS[*]}"' "$option"

		echo "$option"
		[ "$output" = $'y\n141 0' ]
		[ -z "$stderr" ]
	done
}

@test "a command that ignores SIGPIPE gets an error instead" {
	complete bash -c '"$WDRUN" -i 60 -t 200 "$PROGRAMS/launch" \
			--ignore PIPE yes | head -n 1
		echo "${PIPESTATUS[*]}"'

	[ "$output" = $'y\n1 0' ]
	[[ $stderr == *"Broken pipe"* ]]
	run ! grep -q '^wdrun' err
}

@test "a reader that goes away while the command is silent: its next write ends it" {
	start bash -c '"$WDRUN" -i 60 sh -c "echo first
			until [ -e go ]; do sleep 0.02; done
			echo second; : >survived; sleep 1000" | head -n 1
		echo "${PIPESTATUS[*]}"'
	wait_until grep -qx first out
	wdrun_of "$started"
	wait_until relay_count_is 1 # the relay of stderr

	touch go
	finish

	[ "$output" = $'first\n141 0' ]
	[ ! -e survived ]
}

@test "a reader that goes away before there is any output is noticed as well" {
	start bash -c '"$WDRUN" -i 60 sh -c "
			until [ -e go ]; do sleep 0.02; done
			echo first; : >survived; sleep 1000" | :
		echo "${PIPESTATUS[*]}"'
	wait_until wdrun_of "$started"
	wait_until grep -q sigtimedwait "/proc/$front/wchan" # wdrun has started all that it starts
	wait_until relay_count_is 1

	touch go
	finish

	[ "$output" = "141 0" ]
	[ ! -e survived ]
}

@test "a FIFO whose reader leaves can be read by another" {
	mkfifo fifo
	start bash -c '"$WDRUN" -i 60 sh -c "echo one
		until [ -e go ]; do sleep 0.02; done; echo two; exit 4" >fifo'
	[ "$(head -n 1 fifo)" = one ]
	sleep 0.2 # time in which the relay may notice

	exec 6<fifo
	cat <&6 >second 3>&- &
	exec 6<&-
	touch go
	finish
	wait_until grep -qx two second

	[ "$status" -eq 4 ]
	[ "$(cat second)" = two ]
	[ -z "$stderr" ]
}

@test "a file of the kernel's for which poll(2) reports an error gets the output" {
	need_root
	need_unshare --uts
	# The file takes the first line, ignores what is written at another
	# offset, and poll(2) reports an error after each change.
	complete unshare --uts sh -c '"$WDRUN" -i 60 sh -c "echo first; sleep 0.1
		echo second; sleep 0.1; echo third; exit 4" >/proc/sys/kernel/hostname
		echo "$? $(uname -n)"'

	[ "$output" = "4 first" ]
}

@test "a reader that does not read blocks the command, and loses nothing" {
	start "$PROGRAMS/sip" -w go "$WDRUN" -i 60 sh -c '
		"$PROGRAMS/pattern" write 8 3000000; echo over >over'
	wait_until writer_is_blocked
	[ ! -e over ]

	touch go
	finish

	[ "$status" -eq 0 ]
	[ "$("$PROGRAMS/pattern" check 8 3000000 <out)" = same ]
	[ -e over ]
}

# A process of the command's sleeps in write(2).
writer_is_blocked() {
	local pid
	for pid in $(leftovers); do
		[ "/proc/$pid/exe" -ef "$PROGRAMS/pattern" ] &&
			grep -q pipe_w "/proc/$pid/wchan" && return
	done
	return 1
}

@test "a pipe that the caller has made non-blocking loses nothing, and stays so" {
	local option
	for option in -i60 --until=nothing; do
		# dd sets a flag of the file description that it shares with
		# wdrun.
		complete bash -c '{
			dd if=/dev/null oflag=nonblock status=none
			"$WDRUN" "$0" "$PROGRAMS/pattern" write 1 2000000
			grep "^flags" /proc/self/fdinfo/7 7>&1 >&2
			} | { sleep 0.2; "$PROGRAMS/pattern" check 1 2000000; }' \
			"$option"

		[ "$output" = same ]
		[[ $stderr == flags:*04001 ]]
	done
}

@test "a reader that is stuck on stdout does not hold up stderr" {
	start "$PROGRAMS/sip" -w go "$WDRUN" -i 60 sh -c '
		"$PROGRAMS/pattern" write 8 5000000 & echo word >&2; wait'
	wait_until writer_is_blocked

	wait_until grep -qx word err
	touch go
	finish
	[ "$status" -eq 0 ]
}

@test "the reader sees the end when the command closes its output" {
	start bash -c '"$WDRUN" -i 60 sh -c "echo hello; exec >&-
			until [ -e go ]; do sleep 0.02; done; exit 4" |
		{ cat; echo "end"; }
		echo "${PIPESTATUS[0]}"'

	wait_until grep -qx end out
	[ ! -e go ]
	touch go
	finish
	[ "$output" = $'hello\nend\n4' ]
}

@test "a descriptor that is closed is closed for the command too" {
	local fd
	for fd in 1 2; do
		complete "$PROGRAMS/launch" --close "$fd" "$WDRUN" \
			-i 60 sh -c '[ ! -e "/proc/$$/fd/$0" ] && : >"closed$0"; exit 3' "$fd"
		[ "$status" -eq 3 ]
		[ -e "closed$fd" ]
	done
}

@test "where one of both is closed the other comes through" {
	complete "$PROGRAMS/launch" --close 1 "$WDRUN" -i 60 \
		"$PROGRAMS/launch" --defaults sh -c 'echo words >&2'
	[ "$stderr" = words ]

	complete "$PROGRAMS/launch" --close 2 "$WDRUN" -i 60 echo words
	[ "$output" = words ]
}

@test "a descriptor that is open for reading only stays what it is" {
	complete sh -c '"$WDRUN" -i 60 sh -c "
		[ /proc/\$\$/fd/1 -ef /dev/null ] && : >same; echo x" \
		1</dev/null'

	[ -e same ]
	[ "$status" -ne 0 ]
	[ "$(wc -l <err)" -eq 1 ] # the shell's own message
}

@test "where both are closed there is no output to be read: an error" {
	local option
	for option in -i60 --until=x --tee=copy; do
		complete "$PROGRAMS/launch" --close 1 --close 2 \
			"$WDRUN" "$option" touch ran

		[ "$status" -eq 125 ]
		[ ! -e ran ]
		[ ! -e copy ]
	done
	# No message can be printed without stderr; strace shows the text.
	need strace
	complete strace -f -qq -s 200 -e trace=write -o trace "$PROGRAMS/launch" \
		--close 1 --close 2 "$WDRUN" -i 60 true
	grep -q 'neither stdout nor stderr is open for writing: there is no output' trace
}

@test "a full disk is reported once, and does not change the status" {
	complete sh -c '"$WDRUN" -i 60 sh -c "
		echo one; echo two; sleep 0.1; echo three; exit 0" >/dev/full'
	[ "$status" -eq 0 ]
	[ "$stderr" = "wdrun: cannot write to stdout: No space left on device; what cannot be written is lost" ]

	complete sh -c '"$WDRUN" -u nothing "$PROGRAMS/pattern" \
		write 1 2000000 >/dev/full'
	[ "$status" -eq 0 ]
	[ "$(wc -l <err)" -eq 1 ]

	complete sh -c '"$WDRUN" -i 60 sh -c "echo one >&2; exit 6" 2>/dev/full'
	[ "$status" -eq 6 ]
}

# The error of the first datagram stays until the next is sent.
@test "a relay sleeps where the reader of datagrams is gone" {
	need python3
	complete python3 -c 'import os, select, socket, subprocess, sys, time
there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
there.bind(("127.0.0.1", 0))
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.connect(there.getsockname())
there.close()
run = subprocess.Popen([os.environ["WDRUN"], "-i", "1h", "sh", "-c",
                        "echo lost; exec sleep 1000"], stdout=here)
poll = select.poll()
poll.register(here, 0)
poll.poll()  # the error of the datagram
def states():
    path = f"/proc/{run.pid}/task/{run.pid}/children"
    for child in open(path).read().split():
        if open(f"/proc/{child}/comm").read() == "wd-relay\n":
            yield open(f"/proc/{child}/stat").read().rsplit(")", 1)[1].split()[0]
end = time.monotonic() + 30
while "R" in (seen := list(states())) and time.monotonic() < end:
    time.sleep(0.02)
print("asleep" if "R" not in seen else seen)
run.terminate()
run.wait()
'

	[ "$output" = asleep ]
}

@test "a file of a hung file system holds neither the start nor a stop" {
	with_hung_fs 'exec 5>>mnt/file
		hang_fs
		"$WDRUN" -i 60 -t 1 -k 300ms sh -c "echo words; sleep 1000" >&5 5>&-
		echo "status $?"
		kill -KILL $server'
	finish

	grep -qx 'status 124' out
	nobody_is_left
}

@test "a file that may not grow is reported once, and does not change the status" {
	complete bash -c 'ulimit -f 64
		"$WDRUN" -i 60 "$PROGRAMS/pattern" write 1 500000 >file'

	[ "$status" -eq 0 ]
	[ "$stderr" = "wdrun: cannot write to stdout: File too large; what cannot be written is lost" ]
	[ "$(wc -c <file)" -eq 65536 ]
	head -c 65536 file | cmp - <("$PROGRAMS/pattern" write 1 65536)
}

# --- what wdrun holds, and leaves alone --------------------------------------

@test "no flag of the caller's descriptors changes, during the run or after it" {
	local before during
	exec 7> >(cat >/dev/null)
	exec 8> >(cat >/dev/null)
	before=$(grep -h '^flags' /proc/$$/fdinfo/{7,8})
	start "$WDRUN" --tee=/dev/null -i 60 sh -c 'echo "ready $$" >&9
		echo x; until [ -e go ]; do sleep 0.02; done' 9>ready_file \
		1>&7 2>&8
	exec 9>&-
	touch go
	finish
	during=$(grep -h '^flags' /proc/$$/fdinfo/{7,8})
	exec 7>&- 8>&-
	wait_until nobody_is_left # both cats

	[ "$before" = "$during" ]
}

@test "only the relay holds the caller's output" {
	local pipe
	start bash -c '"$WDRUN" -i 60 "$PROGRAMS/sigcount" | cat'
	await_ready
	wdrun_of "$started"
	supervisor=$(supervisor_of "$front")
	wait_until has_cat_pipe
	wait_until relay_count_is 2

	# Each process closes what it inherited when it begins its work, which
	# may be after the command has begun.
	wait_until no holds "$pipe" "$front"
	wait_until no holds "$pipe" "$supervisor"
	run ! holds "$pipe" "$(children_of "$supervisor")"
	wait_until one_relay_holds "$pipe"
	holds "$pipe" "$(relays_of "$front" | head -n 1)"
	kill -TERM "$front"
	finish
}

# Sets pipe to the pipe that cat, the reader in the pipeline, reads.
has_cat_pipe() {
	local pid name
	for pid in $(children_of "$started"); do
		{ read -r name <"/proc/$pid/comm"; } 2>/dev/null || continue
		[ "$name" != cat ] || pipe=$(readlink "/proc/$pid/fd/0")
	done
	[[ $pipe == pipe:* ]]
}

one_relay_holds() {
	[ "$(relays_of "$front" | while read -r pid; do
		holds "$1" "$pid" && echo "$pid"; done | wc -l)" -eq 1 ]
}

# holds FILE PID: PID has FILE open.
holds() {
	find "/proc/$2/fd" -type l -printf '%l\n' | grep -qxF "$1"
}

@test "wdrun's processes hold none of the caller's other descriptors" {
	local pid
	exec 7>held
	start "$WDRUN" -i 60 --tee=copy "$PROGRAMS/sigcount"
	exec 7>&-
	await_ready
	front=$started
	supervisor=$(supervisor_of "$front")

	wait_until relay_count_is 2
	for pid in "$front" "$supervisor" $(relays_of "$front"); do
		wait_until no holds "$PWD/held" "$pid"
	done
	holds "$PWD/held" "$(children_of "$supervisor")"

	kill -TERM "$front"
	finish
	[ "$status" -eq 7 ]
}

@test "wdrun's processes hold no directory, so that a file system can be unmounted" {
	local pid
	start "$WDRUN" -i 60 "$PROGRAMS/sigcount"
	await_ready
	front=$started

	for pid in "$front" $(children_of "$front"); do
		wait_until test "/proc/$pid/cwd" -ef /
	done
	kill -TERM "$front"
	finish
}

@test "a relay that is killed is reported, and the run goes on" {
	start bash -c '"$WDRUN" -i 60 sh -c "echo hello
			until [ -e go ]; do sleep 0.02; done; exit 3" | cat
		echo "${PIPESTATUS[0]}"'
	wait_until grep -qx hello out
	wdrun_of "$started"
	wait_until relay_count_is 2

	kill -KILL "$(relays_of "$front" | head -n 1)"
	wait_until relay_count_is 1
	touch go
	finish

	[ "$(tail -n 1 out)" = 3 ]
	[ "$stderr" = "wdrun: the relay of stdout was killed: output may be lost" ]
}

@test "the death of a relay is no signal to the command, but a SIGURG is one" {
	start "$WDRUN" -i 60 "$PROGRAMS/sigcount" 2
	await_ready
	kill -URG "$started"
	wait_until grep -qx 'got 23' out
	front=$started
	wait_until relay_count_is 2

	kill -KILL "$(relays_of "$started" | tail -n 1)" # that of stderr
	wait_until grep -q 'the relay of stderr was killed' err
	kill -USR1 "$started"
	finish

	[ "$status" -eq 7 ]
	[ "$(grep '^got' out)" = $'got 23\ngot 10' ]
}

@test "a command that cannot be run is reported, as without these options" {
	complete "$WDRUN" -i 60 --tee=copy ./no-such-command
	[ "$status" -eq 127 ]
	[ "$(wc -l <err)" -eq 1 ]

	: >file
	complete "$WDRUN" --pty ./file
	[ "$status" -eq 126 ]
}

@test "a death by a signal is a death by that signal, with a relay too" {
	complete "$WDRUN" -i 60 sh -c 'kill -SEGV $$'
	[ "$status" -eq 139 ]

	complete "$WDRUN" --pty sh -c 'kill -KILL $$'
	[ "$status" -eq 137 ]
}
