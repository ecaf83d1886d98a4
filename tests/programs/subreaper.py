#!/usr/bin/env -S python3 -IS
"""subreaper COMMAND...: executes COMMAND as the reaper of its orphans, in the process
group of its parent."""
import ctypes
import os
import sys

PR_SET_CHILD_SUBREAPER = 36

ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
os.setpgid(0, os.getppid())
os.execvp(sys.argv[1], sys.argv[1:])
