#!/usr/bin/env -S python3 -IS
"""repl: behaves at a terminal as an interpreter does: reads lines and answers, survives
Ctrl-C, counts it, and ends at the end of file."""
import itertools
import os
import signal
import sys

signal.alarm(900)  # LIFE_SECONDS of bounded.h
count = itertools.count(1)
signal.signal(signal.SIGINT, lambda *_: os.write(1, b'interrupted %d\n' % next(count)))
print('ready', os.getpid(), flush=True)
for line in sys.stdin:
    print('you said', line, end='', flush=True)
print('bye')
