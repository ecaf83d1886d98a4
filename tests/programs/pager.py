#!/usr/bin/env -S python3 -IS
"""pager: prints `ready PID` of a child, which reads keys as less(1) does below man(1):
before it stops, it writes, a moment later. Ends at `q`."""
import os
import signal
import time
import tty


def stop(*_):
    time.sleep(0.05)
    print('put back', flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)


if os.fork():
    os.wait()
else:
    signal.alarm(900)  # LIFE_SECONDS of bounded.h
    signal.signal(signal.SIGTSTP, stop)
    tty.setcbreak(0)
    print('ready', os.getpid(), flush=True)
    while os.read(0, 1) != b'q':
        pass
