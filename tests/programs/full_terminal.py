#!/usr/bin/env -S python3 -IS
"""full_terminal FD COMMAND [ARG]...: COMMAND has for its descriptor FD a terminal that
nobody reads any more. poll(2) calls it writable, but it has room for a few bytes only.
Ends as COMMAND does.
"""
import contextlib
import os
import pty
import select
import signal
import sys

signal.alarm(900)  # LIFE_SECONDS of bounded.h
master, slave = pty.openpty()
os.set_blocking(slave, False)
with contextlib.suppress(BlockingIOError):
    while True:
        os.write(slave, b'x')
while not select.select([], [slave], [], 0.05)[1]:
    os.read(master, 64)
os.write(slave, b'x' * 400)  # of 512 that have room then
os.set_blocking(slave, True)
os.set_inheritable(master, True)
os.dup2(slave, int(sys.argv[1]))
os.execvp(sys.argv[2], sys.argv[2:])
