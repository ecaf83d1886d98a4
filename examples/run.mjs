#!/usr/bin/env node
//
// child_process with a timeout that is kept.
//
//     run.mjs SECONDS COMMAND [ARG]...
//
// execFile(..., { timeout: 5000 }) sends SIGTERM to the process that it has
// started and to no other: a shell dies, its children run on; what ignores that
// signal is waited for, for good. So is, after spawn(), everyone who has the pipe
// ("close"). With wdrun the promise is settled in time, and nothing is left, also
// where Node itself is killed.
//
// stdout is what the command printed. The status is the command's own, 128+N
// after a death by signal N, 124 if it took too long. WDRUN in the environment is
// the watchdog (wdrun).

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import process, { argv, env, stdout } from "node:process";
import { fileURLToPath } from "node:url";

const FAILED = 125;

// How it ended, by wdrun's own word. Node has no name for a real-time signal, and
// says "status 0" of a death by one; and a command may end with 124 as well.
function ending(file, status, signal) {
	let report;

	try {
		report = JSON.parse(readFileSync(file, "utf8"));
	} catch {
		// Refused, which is told; or wdrun itself was killed.
		return {
			status: signal
				? 128 + constants.signals[signal]
				: status || FAILED,
			signal,
			timedOut: false,
		};
	}
	return {
		status: report.status,
		signal: report.signal,
		timedOut:
			report.outcome === "stopped" && report.reason === "timeout",
	};
}

// Resolves to { status, signal, stdout, timedOut }, the status as a shell has it;
// stderr is the caller's, and wdrun says there what it had to stop. Rejects if
// wdrun cannot be executed.
export async function run(command, timeout) {
	const directory = mkdtempSync(join(tmpdir(), "run-"));
	const report = join(directory, "report");

	try {
		const child = spawn(
			env.WDRUN ?? "wdrun",
			[
				"--die-with-parent",
				`--timeout=${timeout}`,
				`--report=${report}`,
				"--",
				...command,
			],
			{ stdio: ["ignore", "pipe", "inherit"] },
		);
		const chunks = [];

		child.stdout.on("data", (chunk) => chunks.push(chunk));
		const [status, signal] = await new Promise((resolve, reject) => {
			child.on("error", reject);
			child.on("close", (...how) => resolve(how));
		});
		return {
			...ending(report, status, signal),
			stdout: Buffer.concat(chunks),
		};
	} finally {
		rmSync(directory, { recursive: true });
	}
}

// Under the name of a symlink, too.
function isStarted() {
	try {
		const self = realpathSync(fileURLToPath(import.meta.url));
		return realpathSync(argv[1]) === self;
	} catch {
		return false; // argv[1] is no file
	}
}

if (isStarted()) {
	const [timeout, ...command] = argv.slice(2);
	if (command.length === 0) {
		console.error("usage: run.mjs SECONDS COMMAND [ARG]...");
		process.exit(2);
	}
	const done = await run(command, timeout);

	stdout.write(done.stdout);
	process.exitCode = done.status;
}
