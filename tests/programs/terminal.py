#!/usr/bin/env -S python3 -IS
"""terminal KEYS LOG COMMAND [ARG]...: a terminal of 40 lines by 100 columns, whose
session COMMAND leads. What is written to the FIFO KEYS is typed; what the terminal gets
to show is appended to LOG, so that a test may empty it. Prints `ready PID NAME`: COMMAND,
and the terminal. That goes away when this process is killed, or when nobody has it open
any more.
"""
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios

signal.alarm(900)  # LIFE_SECONDS of bounded.h
keys = os.open(sys.argv[1], os.O_RDWR)  # open for writing too, the FIFO has no end
log = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('4H', 40, 100, 0, 0))
pid = os.fork()
if pid == 0:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in 0, 1, 2:
        os.dup2(slave, fd)
    os.execvp(sys.argv[3], sys.argv[3:])
print('ready', pid, os.ttyname(slave), flush=True)
os.close(slave)
while True:
    for fd in select.select([master, keys], [], [])[0]:
        try:
            taken = os.read(fd, 4096)
        except OSError:  # EIO: nobody has it open
            sys.exit()
        while taken:
            taken = taken[os.write(log if fd == master else master, taken):]
