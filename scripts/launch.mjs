/** Runs a .ts file with the project's Node in place of this process, as far as a parent process can. */

import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { projectNode } from './install.mjs';

/** Node 22 still calls type stripping an experiment, on stderr, at every start. */
const NODE_FLAGS = ['--disable-warning=ExperimentalWarning'];

/** Passes stdio, working directory and signals on, and ends as the child ends: same exit code, or same signal. */
export function launch(file, args) {
  const child = spawn(projectNode(), [...NODE_FLAGS, file, ...args], { stdio: 'inherit' });
  const forward = (signal) => {
    // At a terminal Ctrl-C reaches the child by itself; a second one would read as "stop at once".
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
