#!/usr/bin/env -S python3 -IS
"""unreaped: has one worker after the other, which computes for 0.1 s. The kernel reaps
them: their CPU time is in no process any more."""
import os
import signal
import time

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(40):
    if os.fork() == 0:
        while time.process_time() < 0.1:
            pass
        os._exit(0)
    time.sleep(0.1)
