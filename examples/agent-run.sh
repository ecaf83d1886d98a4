#!/usr/bin/env bash
#
# Runs a coding agent for one task, and makes sure that it ends.
#
#     agent-run.sh "review PR 1052"
#
# stdout is what the agent printed, byte for byte; stderr is one line that says
# how the agent ended, and the messages of wdrun. The status is the agent's own;
# 0 if its result came (1 for an error), also where it hung afterwards; 124 if it
# took too long, or was silent while none of its processes was busy; 130 if it was
# cancelled, and ended with 0.
#
# The environment can change these:
#
#     AGENT          the agent (claude)
#     AGENT_LOG      a copy of the output is appended to this file (agent.log)
#     AGENT_REPORT   how it ended, as JSON, is in this file (agent.json)
#     AGENT_TIMEOUT  limit on the run (30m)
#     AGENT_SILENCE  limit on silence (10m)
#     AGENT_GRACE    time to exit once the result is there (30s)
#     WDRUN          the watchdog (wdrun)
#
# Sourced, it defines claude_run_with_watchdog and does nothing else.

# claude_run_with_watchdog COMMAND [ARG]...
#
# The agent gets no input (--no-stdin), for which it would wait; and no terminal,
# unless standard output is one: to that it would write escape sequences between the
# lines of JSON. An agent that is silent is stopped, unless it computes, reads or
# writes (--idle-unless-busy). If it prints its result and does not exit, it is
# stopped, with status 0, or 1 where the result is an error. All that it has
# started is dead when this function returns, also in the background, in a session
# of its own, or with the terminal open. When the shell that called this function
# is killed, the agent is stopped, too.
claude_run_with_watchdog() {
	"${WDRUN:-wdrun}" --no-stdin --die-with-parent \
		--tee="${AGENT_LOG:-agent.log}" \
		--report="${AGENT_REPORT:-agent.json}" \
		--timeout="${AGENT_TIMEOUT:-30m}" --kill-after=10s \
		--idle-timeout="${AGENT_SILENCE:-10m}" --idle-unless-busy \
		--until='"subtype":"success","is_error":false' \
		--until-failure='"type":"result","subtype":"error' \
		--until-grace="${AGENT_GRACE:-30s}" \
		-- "$@"
}

# shellcheck disable=SC2317 # reached where this file is sourced
[ "${BASH_SOURCE[0]}" = "$0" ] || return 0

set -uo pipefail
if (($# == 0)); then
	echo "usage: ${0##*/} PROMPT [AGENT OPTION]..." >&2
	exit 2
fi

log=${AGENT_LOG:-agent.log}
report=${AGENT_REPORT:-agent.json}
rm -f "$report" || exit 125 # it would be taken for this run's
status=0
claude_run_with_watchdog "${AGENT:-claude}" -p "$@" \
	--output-format stream-json --verbose || status=$?

# The report decides: claude -p exits with 0 after Ctrl-C, and an agent may end with
# 124 itself. In JSON, a quote within a text is escaped, so no text can look like this.
if grep -qs '"outcome":"stopped".*"reason_code":"cancelled"' "$report"; then
	echo "agent-run: cancelled (see $log)" >&2
	((status)) || status=130
elif [ "$status" -eq 0 ]; then
	echo "agent-run: complete" >&2
elif [ "$status" -eq 124 ] && grep -qs '"outcome":"stopped"' "$report"; then
	echo "agent-run: stopped without a result (see $log)" >&2
else
	echo "agent-run: failed with status $status (see $log)" >&2
fi
exit "$status"
