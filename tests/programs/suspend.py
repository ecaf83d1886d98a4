#!/usr/bin/env -S python3 -IS
"""suspend job|self|key: prints "ready PID", suspends its job or itself by SIGTSTP, or
itself by SIGSTOP on Ctrl-Z, as su(1) and top(1) do; and prints "back"."""
import os
import signal
import sys

job, stop = (0 if sys.argv[1] == 'job' else os.getpid()), signal.SIGTSTP
if sys.argv[1] == 'key':
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})
print('ready', os.getpid(), flush=True)
if sys.argv[1] == 'key':
    signal.sigwait({signal.SIGTSTP})
    stop = signal.SIGSTOP
os.kill(job, stop)
print('back', flush=True)
