#!/usr/bin/env bash
#
# One step of a CI job: runs a command, makes sure that the step ends, and says
# why it did.
#
#     - name: Integration tests
#       run: exec examples/ci-step.sh make check
#     - uses: actions/upload-artifact@v4
#       if: always()
#       with: { name: step-log, path: step.log }
#
# A test that leaves a server in the background holds the step's output open: the
# runner waits for hours, until the job's own limit, and then says "cancelled".
# With wdrun the step ends with its command, or in time, and a message names what
# hung.
#
# On a cancel, the runner signals the step's shell alone. So the step says exec,
# as this script does: wdrun takes the shell's place and PID, gets the signal, and
# passes it on to the command, which has 9 s to clean up: the runner waits 10.
#
# stdout is what the command printed; stderr has the messages. The status is the
# command's own; 124 if it took too long, or was silent while none of its
# processes was busy.
#
# The environment can change these:
#
#     STEP_TIMEOUT  limit on the step (20m)
#     STEP_SILENCE  limit on silence (5m)
#     STEP_LOG      a copy of the output is appended to this file (step.log)
#     STEP_REPORT   how it ended, as JSON, is in this file (step.json)
#     WDRUN         the watchdog (wdrun)
set -u

if (($# == 0)); then
	echo "usage: ${0##*/} COMMAND [ARG]..." >&2
	exit 2
fi

report=${STEP_REPORT:-step.json}
rm -f "$report"
exec "${WDRUN:-wdrun}" --no-stdin \
	--tee="${STEP_LOG:-step.log}" --report="$report" \
	--timeout="${STEP_TIMEOUT:-20m}" --kill-after=9s \
	--idle-timeout="${STEP_SILENCE:-5m}" --idle-unless-busy \
	-- "$@"
