#!/usr/bin/env python3
"""subprocess.run() with a timeout that is kept.

    run.py SECONDS COMMAND [ARG]...

subprocess.run(..., capture_output=True, timeout=5) kills the process that it
has started and no other: a shell dies, its children run on. And it reads until
everyone has closed the pipe, so that a command which was done at once, and left
a server behind, counts as timed out; communicate() after kill() waits for good.
With wdrun nothing is left, and only what took too long has timed out.

stdout is what the command printed. The status is the command's own, 128+N after
a death by signal N, 124 if it took too long. WDRUN in the environment is the
watchdog (wdrun).
"""

import os
import subprocess
import sys

TIMED_OUT = 124


def run(command, timeout, **options):
    """As subprocess.run(); raises TimeoutExpired with what was printed."""
    watchdog = [os.environ.get("WDRUN", "wdrun"), f"--timeout={timeout}"]
    done = subprocess.run([*watchdog, "--", *command], **options)
    if done.returncode == TIMED_OUT:
        raise subprocess.TimeoutExpired(
            command, timeout, done.stdout, done.stderr
        )
    done.args = command
    return done


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: run.py SECONDS COMMAND [ARG]...")
    seconds, *command = sys.argv[1:]
    try:
        done = run(command, seconds, stdout=subprocess.PIPE)
    except subprocess.TimeoutExpired as late:
        sys.stdout.buffer.write(late.stdout)
        return TIMED_OUT
    sys.stdout.buffer.write(done.stdout)
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


if __name__ == "__main__":
    sys.exit(main())
