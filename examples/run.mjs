#!/usr/bin/env node
//
// child_process with a timeout that is kept.
//
//     run.mjs SECONDS COMMAND [ARG]...
//
// execFile(..., { timeout: 5000 }) sends SIGTERM to the process that it has
// started and to no other: a shell dies, its children run on; what ignores that
// signal is waited for, for good. So is, after spawn(), everyone who has the pipe
// ("close"). With wdrun the promise is settled in time, and nothing is left.
//
// stdout is what the command printed. The status is the command's own, 128+N
// after a death by signal N, 124 if it took too long. WDRUN in the environment is
// the watchdog (wdrun).

import { spawn } from "node:child_process";
import { constants } from "node:os";
import process, { argv, env, stdout } from "node:process";
import { fileURLToPath } from "node:url";

const TIMED_OUT = 124;

// Resolves to { status, signal, stdout, timedOut }; stderr is the caller's, and
// wdrun says there what it had to stop. Rejects if wdrun cannot be executed.
export function run(command, timeout) {
	const child = spawn(
		env.WDRUN ?? "wdrun",
		[`--timeout=${timeout}`, "--", ...command],
		{ stdio: ["ignore", "pipe", "inherit"] },
	);
	const chunks = [];

	child.stdout.on("data", (chunk) => chunks.push(chunk));
	return new Promise((resolve, reject) => {
		child.on("error", reject);
		child.on("close", (status, signal) =>
			resolve({
				status,
				signal,
				stdout: Buffer.concat(chunks),
				timedOut: status === TIMED_OUT,
			}),
		);
	});
}

if (argv[1] === fileURLToPath(import.meta.url)) {
	const [timeout, ...command] = argv.slice(2);
	if (command.length === 0) {
		console.error("usage: run.mjs SECONDS COMMAND [ARG]...");
		process.exit(2);
	}
	const done = await run(command, timeout);

	stdout.write(done.stdout);
	process.exitCode = done.status ?? 128 + constants.signals[done.signal];
}
