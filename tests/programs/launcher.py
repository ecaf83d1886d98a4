#!/usr/bin/env -S python3 -IS
"""launcher COMMAND...: runs COMMAND, and passes SIGINT on to it a moment later, as
launchers do that do not know that a key reaches the whole job."""
import signal
import subprocess
import sys
import time

command = subprocess.Popen(sys.argv[1:])
signal.signal(signal.SIGINT, lambda *_: (time.sleep(0.03), command.send_signal(signal.SIGINT)))
command.wait()
