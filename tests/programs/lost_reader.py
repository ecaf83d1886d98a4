#!/usr/bin/env -S python3 -IS
"""lost_reader KIND COMMAND...: reads the first output of COMMAND, by a socket or a
terminal, and closes its end. Prints how COMMAND has ended: Popen.returncode."""
import os
import socket
import subprocess
import sys

if sys.argv[1] == 'socket':
    ours, its = (end.detach() for end in socket.socketpair())
else:
    ours, its = os.openpty()
run = subprocess.Popen(sys.argv[2:], stdout=its)
os.close(its)
os.read(ours, 100)
assert run.poll() is None
os.close(ours)
print(run.wait())
