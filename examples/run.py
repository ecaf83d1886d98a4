#!/usr/bin/env python3
"""subprocess.run() with a timeout that is kept.

    run.py SECONDS COMMAND [ARG]...

subprocess.run(..., capture_output=True, timeout=5) kills the process that it
has started and no other: a shell dies, its children run on. And it reads until
everyone has closed the pipe, so that a command which was done at once, and left
a server behind, counts as timed out; communicate() after kill() waits for good.
With wdrun nothing is left, and only what took too long has timed out.

Killed itself, be it by SIGKILL, it takes the command along.

stdout is what the command printed. The status is the command's own, 128+N after
a death by signal N, 124 if it took too long. WDRUN in the environment is the
watchdog (wdrun).
"""

import json
import os
import subprocess
import sys
import tempfile

TIMED_OUT = 124


def has_timed_out(report):
    """A command may end with 124 as well: the report tells them apart."""
    try:
        with open(report, "rb") as file:
            how = json.load(file)
    except (OSError, ValueError):  # refused, which is told; or killed
        return False
    return how["outcome"] == "stopped" and how["reason"] == "timeout"


def run(command, timeout=None, check=False, **options):
    """As subprocess.run(), of a COMMAND that is a list of words; raises
    TimeoutExpired with what was printed."""
    # In digits, as wdrun knows no 1e-05; and there, 0 is no timeout.
    endless = timeout in (None, float("inf"))
    bound = "never" if endless else f"{max(timeout, 1e-9):.9f}"
    with tempfile.TemporaryDirectory() as directory:
        report = os.path.join(directory, "report")
        watchdog = [
            os.environ.get("WDRUN", "wdrun"),
            "--die-with-parent",
            f"--timeout={bound}",
            f"--report={report}",
        ]
        done = subprocess.run([*watchdog, "--", *command], **options)
        late = has_timed_out(report)
    done.args = command
    if late:
        raise subprocess.TimeoutExpired(
            command, timeout, done.stdout, done.stderr
        )
    if check:
        done.check_returncode()
    return done


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: run.py SECONDS COMMAND [ARG]...")
    seconds, *command = sys.argv[1:]
    try:
        done = run(command, float(seconds), stdout=subprocess.PIPE)
    except ValueError as why:
        sys.exit(f"run.py: {why}")
    except subprocess.TimeoutExpired as late:
        sys.stdout.buffer.write(late.stdout)
        return TIMED_OUT
    sys.stdout.buffer.write(done.stdout)
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


if __name__ == "__main__":
    sys.exit(main())
