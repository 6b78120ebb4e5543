/** Runs a .ts file with the project's Node, as if in place of this process. */

import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { projectNode } from './install.mjs';

/** Node 22 writes a warning about type stripping to stderr at every start. */
const NODE_FLAGS = ['--disable-warning=ExperimentalWarning'];

/** Passes on stdio, working directory and signals, and ends as the child ends: with the same exit code or signal. */
export function launch(file, args) {
  const child = spawn(projectNode(), [...NODE_FLAGS, file, ...args], { stdio: 'inherit' });
  const forward = (signal) => {
    // At a terminal, Ctrl-C reaches the child directly. A second signal would mean "stop immediately".
    if (signal === 'SIGINT' && process.stdin.isTTY) return;
    child.kill(signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, forward);
  child.on('error', (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    for (const name of signals) process.off(name, forward);
    if (signal === null) process.exit(code);
    process.kill(process.pid, signal);
    process.exitCode = 128 + constants.signals[signal];
  });
}
