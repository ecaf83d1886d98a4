#!/usr/bin/env -S python3 -IS
"""hung_file FILE: once the server of FILE, whose output is in `server`, hangs: a child
waits for a page of FILE in one of two threads, one polls FILE, one opens it."""
import mmap
import os
import select
import sys
import threading
import time

file = os.open(sys.argv[1], os.O_RDONLY)
mapped = mmap.mmap(file, 0, prot=mmap.PROT_READ)
with open('opened', 'w', encoding='ascii') as mark:
    mark.write('opened')
while True:
    with open('server', encoding='ascii') as output:
        if 'hung' in output.read():
            break
    time.sleep(0.02)
if os.fork() == 0:
    threading.Thread(target=lambda: mapped[0]).start()
    time.sleep(1000)
if os.fork() == 0:
    poll = select.poll()
    poll.register(file)
    while True:
        poll.poll()
if os.fork() == 0:
    os.open(sys.argv[1], os.O_RDONLY | os.O_TRUNC)
time.sleep(1000)
