#!/usr/bin/env python3
"""subprocess.run() with a timeout that is kept.

    run.py SECONDS COMMAND [ARG]...

subprocess.run(..., capture_output=True, timeout=5) kills the process that it
has started and no other: a shell dies, and its children go on. And it reads
until every process has closed the pipe, so that a command which ended at once,
and left a server behind, counts as timed out; communicate() after kill() waits
without a limit. With wdrun no process is left, and only a command that took too
long has timed out.

When this program is killed, also by SIGKILL, the command ends with it.

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
    """The report tells a timeout from a command that ends with 124 itself."""
    try:
        with open(report, "rb") as file:
            how = json.load(file)
    except (OSError, ValueError):  # a usage error; or wdrun was killed
        return False
    return how["outcome"] == "stopped" and how["reason_code"] == "timeout"


def run(command, timeout=None, check=False, **options):
    """As subprocess.run(), for a COMMAND that is a list of words. Raises
    TimeoutExpired with what was printed."""
    # 0 would be no timeout.
    limit = "never" if timeout is None else max(timeout, 1e-9)
    with tempfile.TemporaryDirectory() as directory:
        report = os.path.join(directory, "report")
        watchdog = [
            os.environ.get("WDRUN", "wdrun"),
            "--die-with-parent",
            f"--timeout={limit}",
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
