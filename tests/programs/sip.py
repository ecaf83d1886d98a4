#!/usr/bin/env -S python3 -IS
"""sip [-c BYTES] [-p MS] [-w FILE] [-n] [-e] [-l] COMMAND [ARG]...: reads what COMMAND
writes to stdout, slowly, through a pipe that holds one page (two, if wdrun carries the
output). What it gets it writes to its own stdout, and it ends with COMMAND's code, or 128
plus the signal that COMMAND died by.

    -c BYTES  takes at most BYTES at a time
    -p MS     pauses MS milliseconds before it takes anything
    -w FILE   takes nothing until there is FILE
    -n        takes nothing until COMMAND is dead, and then what is there
    -e        takes something once, and closes its end
    -l        fails if what it takes at once does not end with a newline
"""
import contextlib
import fcntl
import getopt
import os
import signal
import subprocess
import sys
import time

PAGE_SIZE = 4096
F_SETPIPE_SZ = 1031

signal.alarm(900)  # LIFE_SECONDS of bounded.h
options, command = getopt.getopt(sys.argv[1:], 'c:p:w:nel')
options = dict(options)
reader, writer = os.pipe()
if fcntl.fcntl(writer, F_SETPIPE_SZ, PAGE_SIZE) != PAGE_SIZE:
    sys.exit('sip: the pipe is larger')
process = subprocess.Popen(command, stdout=writer, close_fds=False)
os.close(writer)
if '-n' in options:
    process.wait()
    os.set_blocking(reader, False)  # survivors may still hold the pipe
while '-w' in options and not os.path.exists(options['-w']):
    time.sleep(0.01)
with contextlib.suppress(BlockingIOError), open(reader, 'rb', buffering=0) as pipe:
    while True:
        time.sleep(int(options.get('-p', 0)) / 1000)
        taken = os.read(reader, int(options.get('-c', 16 * PAGE_SIZE)))
        os.write(1, taken)
        if '-l' in options and taken and not taken.endswith(b'\n'):
            sys.exit(f'torn: {taken[-20:]}')
        if not taken or '-e' in options:
            break
status = process.wait()
sys.exit(status if status >= 0 else 128 - status)
