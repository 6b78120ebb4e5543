/** Runs the project's Node in place of this process, as far as a parent process can. */

import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { projectNode } from './install.mjs';

/** Node 22 still calls type stripping an experiment, on stderr, at every start. */
const NODE_FLAGS = ['--disable-warning=ExperimentalWarning'];

/**
 * At most `max` restarts within `withinMs`, each after a pause, and none of a program that ran for less than `runningMs`: it could not
 * start.
 */
export const RESTARTS = { max: 5, withinMs: 600_000, pauseMs: 1000, runningMs: 5000 };

/**
 * `args` are options of Node, a file and its arguments. Passes stdio, working directory and signals on, and ends as the child ends: same
 * exit code, or same signal. With `restarts`, a child that exits with code 1 is started again within these limits.
 */
export function launch(args, { restarts = null } = {}) {
  const restartedAt = [];
  let child = null;
  let pause = null;
  const forward = (signal) => {
    if (child === null) {
      clearTimeout(pause);
      end(null, signal);
      return;
    }
    // At a terminal Ctrl-C also reaches the child; a second one would read as "stop immediately".
    if (signal === 'SIGINT' && process.stdin.isTTY) return;
    child.kill(signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  const end = (code, signal) => {
    for (const name of signals) process.off(name, forward);
    if (signal === null) process.exit(code);
    process.kill(process.pid, signal);
    process.exitCode = 128 + constants.signals[signal];
  };
  const mayRestart = (code, startedAt) => {
    const now = performance.now();
    if (restarts === null || code !== 1 || now - startedAt < restarts.runningMs) return false;
    restartedAt.push(now);
    return restartedAt.filter((at) => now - at < restarts.withinMs).length <= restarts.max;
  };
  const run = () => {
    const startedAt = performance.now();
    child = spawn(projectNode(), [...NODE_FLAGS, ...args], { stdio: 'inherit' });
    child.on('error', (error) => {
      process.stderr.write(`${error.message}\n`);
      process.exitCode = 1;
    });
    child.on('exit', (code, signal) => {
      child = null;
      if (!mayRestart(code, startedAt)) return end(code, signal);
      process.stderr.write('The service failed; starting it again.\n');
      pause = setTimeout(run, restarts.pauseMs);
    });
  };
  for (const signal of signals) process.on(signal, forward);
  run();
}
