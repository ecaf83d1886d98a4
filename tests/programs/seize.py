#!/usr/bin/env python3
"""seize PID: stops the process as a debugger does, prints `ready PID`, and holds it until
it ends."""
import ctypes
import os
import sys

PTRACE_ATTACH = 16

pid = int(sys.argv[1])
ctypes.CDLL(None).ptrace(PTRACE_ATTACH, pid, 0, 0)
os.waitpid(pid, 0)
print('ready', pid, flush=True)
os.waitpid(pid, 0)
