#!/usr/bin/env python3
"""seize PID [FILE [SECONDS]]: stops the process as a debugger does, prints `ready PID`,
and holds it until it ends, or for SECONDS; with FILE, from its next call with a path that
ends so."""
import ctypes
import os
import sys
import time

PTRACE_ATTACH, PTRACE_DETACH, PTRACE_SYSCALL = 16, 17, 24


def second_argument(pid):
    """The text at the second argument of the process's system call, as openat(2) has it."""
    with open(f'/proc/{pid}/syscall', encoding='ascii') as call, \
            open(f'/proc/{pid}/mem', 'rb', 0) as memory:
        try:
            memory.seek(int(call.read().split()[2], 16))
            return memory.read(64).partition(b'\0')[0].decode()
        except (IndexError, OSError, OverflowError, UnicodeDecodeError):
            return ''


pid = int(sys.argv[1])
ptrace = ctypes.CDLL(None).ptrace
ptrace(PTRACE_ATTACH, pid, 0, 0)
os.waitpid(pid, 0)
print('ready', pid, flush=True)
while sys.argv[2:] and not second_argument(pid).endswith(sys.argv[2]):
    ptrace(PTRACE_SYSCALL, pid, 0, 0)
    os.waitpid(pid, 0)
if sys.argv[3:]:
    time.sleep(float(sys.argv[3]))
    ptrace(PTRACE_DETACH, pid, 0, 0)
else:
    os.waitpid(pid, 0)
