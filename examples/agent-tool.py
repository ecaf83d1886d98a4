#!/usr/bin/env python3
"""The shell tool of a coding agent: runs one command, and returns JSON.

    echo '{"command": "npm test", "timeout": 120}' | agent-tool.py

A model starts servers, watchers and commands that wait for input. A timeout of
subprocess's kills the shell and leaves what the shell has started, which holds
the ports and files that the next call needs; and nobody knows what hung. With
wdrun the call returns in time, nothing of it is left, and the model is told why.

The request, on stdin: command, a line for bash; timeout, seconds (120);
idle_timeout, seconds without output, work not counted (30); max_output, bytes
(20000). The answer, on stdout: status, null if it was stopped; stopped, a truth
value; output, stdout and stderr as they came, less the middle if it is too
long; omitted, how many bytes that were; notes, what wdrun had to do.

WDRUN in the environment is the watchdog (wdrun).
"""

import json
import os
import subprocess
import sys
import tempfile

TIMED_OUT = 124  # of wdrun, which says so; or of the command, which does not


def read_ends(stream, limit):
    """Reads all of it, and keeps its two ends: output, and bytes omitted."""
    head, tail, omitted = b"", b"", 0
    while chunk := stream.read1(65536):
        room = limit // 2 - len(head)
        head, tail = head + chunk[:room], tail + chunk[room:]
        excess = max(0, len(tail) - (limit - limit // 2))
        tail, omitted = tail[excess:], omitted + excess
    gap = b"\n... %d bytes omitted ...\n" % omitted if omitted else b""
    return (head + gap + tail).decode(errors="replace"), omitted


def run(command, timeout=120, idle_timeout=30, max_output=20000):
    watchdog = [
        os.environ.get("WDRUN", "wdrun"),
        "--die-with-parent",
        "--no-stdin",
        f"--timeout={timeout}",
        f"--idle-timeout={idle_timeout}",
        "--idle-unless-busy",
        "--kill-after=2s",
    ]
    # stderr is wdrun's alone: the command's goes where its stdout goes.
    shell = ["--", "bash", "-c", 'exec 2>&1; eval "$1"', "bash", command]
    with tempfile.TemporaryFile() as notes:
        with subprocess.Popen(
            watchdog + shell, stdout=subprocess.PIPE, stderr=notes
        ) as process:
            output, omitted = read_ends(process.stdout, max_output)
        notes.seek(0)
        told = notes.read().decode(errors="replace").splitlines()
    stopped = process.returncode == TIMED_OUT and bool(told)
    return {
        "status": None if stopped else process.returncode,
        "stopped": stopped,
        "output": output,
        "omitted": omitted,
        "notes": told,
    }


if __name__ == "__main__":
    json.dump(run(**json.load(sys.stdin)), sys.stdout)
    print()
