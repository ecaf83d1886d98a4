#!/usr/bin/env -S python3 -IS
"""subreaper COMMAND...: executes COMMAND as the reaper of its orphans, in the process
group that its parent leads, if it leads one."""
import ctypes
import os
import sys

PR_SET_CHILD_SUBREAPER = 36

libc = ctypes.CDLL(None)
libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
libc.setpgid(0, os.getppid())
os.execvp(sys.argv[1], sys.argv[1:])
