#!/usr/bin/env -S python3 -IS
"""wait_status COMMAND [ARG]...: runs COMMAND and prints what waitpid(2) says of it:
`exit N`, `signal N` or `signal N core`."""
import os
import signal
import sys

signal.alarm(900)  # LIFE_SECONDS of bounded.h
ignored = signal.SIGPIPE, signal.SIGXFSZ  # by Python
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, setsigdef=ignored)
status = os.waitpid(pid, 0)[1]
if os.WIFEXITED(status):
    print('exit', os.WEXITSTATUS(status))
else:
    print('signal', os.WTERMSIG(status), *['core'] * os.WCOREDUMP(status))
