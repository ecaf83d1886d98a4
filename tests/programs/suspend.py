#!/usr/bin/env -S python3 -IS
"""suspend job|self|key: prints "ready PID", suspends its job or itself by SIGTSTP, or
itself by SIGSTOP on Ctrl-Z, as su(1) and top(1) do; and prints "back"."""
import os
import signal
import sys


def stop_oneself(*_):
    os.kill(os.getpid(), signal.SIGSTOP)


signal.signal(signal.SIGTSTP, stop_oneself if sys.argv[1] == 'key' else signal.SIG_DFL)
print('ready', os.getpid(), flush=True)
if sys.argv[1] == 'key':
    signal.pause()
else:
    os.kill(0 if sys.argv[1] == 'job' else os.getpid(), signal.SIGTSTP)
print('back', flush=True)
