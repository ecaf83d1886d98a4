#!/usr/bin/env node
//
// child_process with a timeout that is kept.
//
//     run.mjs SECONDS COMMAND [ARG]...
//
// execFile(..., { timeout: 5000 }) sends SIGTERM to the process that it has
// started and to no other: a shell dies, and its children go on; a process that
// ignores SIGTERM is waited for without a limit. So is, after spawn(), each process
// that has the pipe open ("close"). With wdrun the promise resolves in time, and no
// process is left, also where Node itself is killed.
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

// Reads from the report how the command ended. Node has no names for real-time
// signals, and reports "status 0" for a death by one; and a command may end with
// 124 itself.
function ending(file, status, signal) {
	let report;

	try {
		report = JSON.parse(readFileSync(file, "utf8"));
	} catch {
		// A usage error, or wdrun itself was killed.
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
			report.outcome === "stopped" && report.reason_code === "timeout",
	};
}

// Resolves to { status, signal, stdout, timedOut }, the status as a shell has it.
// stderr is the caller's, with wdrun's messages about what it stopped. Rejects if
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

// Also when started under the name of a symlink.
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
