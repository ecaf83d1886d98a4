#!/usr/bin/env -S python3 -IS
"""hold_lockf FILE [FD COMMAND...]: locks FILE by fcntl(2), and prints `ready PID` and
lives on; or executes COMMAND, which inherits the locked file as FD and as stdin."""
import fcntl
import os
import sys
import time

opened = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
if len(sys.argv) > 2:
    fd = fcntl.fcntl(opened, fcntl.F_DUPFD, int(sys.argv[2]))
    os.dup2(fd, 0)
    os.close(opened)  # from now on each close(2) drops the lock
    fcntl.lockf(fd, fcntl.LOCK_EX)
    os.execv(sys.argv[3], sys.argv[3:])
fcntl.lockf(opened, fcntl.LOCK_EX)
print('ready', os.getpid(), flush=True)
time.sleep(900)  # LIFE_SECONDS of bounded.h
