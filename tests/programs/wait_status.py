#!/usr/bin/env -S python3 -IS
"""wait_status COMMAND [ARG]...: runs COMMAND and prints what waitpid(2) says of it, and of
each orphan that comes here: `exit N`, `signal N` or `signal N core`."""
import contextlib
import os
import signal
import sys

signal.alarm(900)  # LIFE_SECONDS of bounded.h
ignored = signal.SIGPIPE, signal.SIGXFSZ  # by Python
os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, setsigdef=ignored)
with contextlib.suppress(ChildProcessError):
    while True:
        status = os.waitpid(-1, 0)[1]
        if os.WIFEXITED(status):
            print('exit', os.WEXITSTATUS(status), flush=True)
        else:
            print('signal', os.WTERMSIG(status), *['core'] * os.WCOREDUMP(status), flush=True)
