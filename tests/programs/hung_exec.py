#!/usr/bin/env -S python3 -IS
"""hung_exec FILE SERVER: opens FILE of the hung_fs SERVER, whose output is in `server`,
has it hang, and executes a program. The kernel then closes FILE, and waits for the
server, with a lock held that a read of this process's `stat` needs (Linux from 2026)."""
import os
import signal
import sys
import time

os.open(sys.argv[1], os.O_RDONLY)  # close-on-exec: PEP 446
os.kill(int(sys.argv[2]), signal.SIGUSR1)
while True:
    with open('server', encoding='ascii') as output:
        if 'hung' in output.read():
            break
    time.sleep(0.02)
os.execlp('sleep', 'sleep', '1000')
