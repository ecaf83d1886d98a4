#!/usr/bin/env python3
"""The shell tool of a coding agent: runs one command, and returns JSON.

    echo '{"command": "npm test", "timeout": 120}' | agent-tool.py

A model starts servers, watchers and commands that wait for input. The timeout of
subprocess kills the shell and leaves what the shell has started, which holds the
ports and files that the next call needs; and nothing says what hung. With wdrun
the call returns in time, no process of it is left, and the model is told why.

The request, on stdin: command, a line for bash; timeout, seconds (120);
idle_timeout, seconds in which the command neither prints nor works (30), both
from 0.001 to 1000000; max_output, bytes (20000). The answer, on stdout: status,
128+N after a death by signal N, null if the command was stopped; stopped, true
or false; reason, why it or what it left behind was stopped, as wdrun's report
has it ("timeout", "survivors-idle"), else null; hung, what each process waited
for then; output, stdout and stderr as they came, without the middle if they are
too long; omitted, the number of bytes left out. An invalid request has an
answer with error only, which says why, to the model. All this is in wdrun's
report; none of its messages is read.

WDRUN in the environment is the watchdog (wdrun).
"""

import json
import os
import subprocess
import sys
import tempfile

DEFAULTS = {"timeout": 120, "idle_timeout": 30, "max_output": 20000}


def check(request):
    """Raises ValueError for an invalid request: a model makes mistakes."""
    if not isinstance(request, dict):
        raise ValueError("the request is no JSON object")
    if not isinstance(request.get("command"), str):
        raise ValueError("command has to be a string")
    if unknown := request.keys() - DEFAULTS.keys() - {"command"}:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
    for key in ("timeout", "idle_timeout"):
        value = request.get(key, DEFAULTS[key])
        # A bool is an int in Python; NaN is in no range.
        if type(value) not in (int, float) or not 0.001 <= value <= 1e6:
            raise ValueError(f"{key} has to be a number, 0.001 to 1000000")
    limit = request.get("max_output", 0)
    if type(limit) is not int or limit < 0:
        raise ValueError("max_output has to be an integer, 0 or more")


def read_ends(stream, limit):
    """Reads everything, keeps both ends; returns these and the bytes omitted."""
    head, tail, omitted = b"", b"", 0
    while chunk := stream.read1(65536):
        room = limit // 2 - len(head)
        head, tail = head + chunk[:room], tail + chunk[room:]
        excess = max(0, len(tail) - (limit - limit // 2))
        tail, omitted = tail[excess:], omitted + excess
    gap = b"\n... %d bytes omitted ...\n" % omitted if omitted else b""
    return (head + gap + tail).decode(errors="replace"), omitted


def run(report, command, timeout, idle_timeout, max_output):
    """Runs the request; wdrun writes to REPORT how the command ended."""
    watchdog = [
        os.environ.get("WDRUN", "wdrun"),
        "--quiet",
        "--die-with-parent",
        "--no-stdin",
        f"--report={report}",
        f"--timeout={timeout}",
        f"--idle-timeout={idle_timeout}",
        "--idle-unless-busy",
        "--kill-after=2s",
    ]
    # One pipe for both keeps their order.
    shell = ["--", "bash", "-c", 'exec 2>&1; eval "$1"', "bash", command]
    with subprocess.Popen(watchdog + shell, stdout=subprocess.PIPE) as process:
        output, omitted = read_ends(process.stdout, max_output)
    try:
        with open(report, "rb") as file:
            how = json.load(file)
    except (OSError, ValueError):
        raise OSError("the watchdog was killed") from None
    # The report tells a timeout from a command that ends with 124 itself.
    stopped = how["outcome"] == "stopped"
    hung = [
        {key: process[key] for key in ("pid", "command", "waiting_for")}
        for process in how["tree"] or []
    ]
    return {
        "status": None if stopped else how["status"],
        "stopped": stopped,
        "reason": how["reason_code"],
        "hung": hung,
        "output": output,
        "omitted": omitted,
    }


def answer(text):
    try:
        request = json.loads(text)
        check(request)
        with tempfile.TemporaryDirectory() as directory:
            report = os.path.join(directory, "report")
            return run(report, **{**DEFAULTS, **request})
    except (OSError, RecursionError, ValueError) as why:
        return {"error": str(why)}


if __name__ == "__main__":
    json.dump(answer(sys.stdin.buffer.read()), sys.stdout)
    print()
