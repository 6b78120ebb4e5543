/** Checks the permissions and restarts of docs/examples/sallyport.service. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { run } from '../../src/cli/run.ts';
import { terminalHere } from '../support/command.ts';

const unit = readFileSync(new URL('../../docs/examples/sallyport.service', import.meta.url), 'utf8');

function settings(name: string): string[] {
  return [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);
}

/** The groups of `systemd-analyze syscall-filter` that contain the call. */
const GROUPS_OF: Readonly<Record<string, readonly string[]>> = {
  setpriority: ['@system-service', '@resources'],
  sched_setaffinity: ['@system-service', '@resources'],
};

/** Each line adds to the list of allowed calls, or removes from it (systemd.exec(5)). */
function isAllowed(call: string): boolean {
  let allowed = false;
  for (const line of settings('SystemCallFilter')) {
    const names = line.replace(/^~/, '').split(' ');
    if ([call, ...(GROUPS_OF[call] ?? [])].some((name) => names.includes(name))) allowed = !line.startsWith('~');
  }
  return allowed;
}

describe('the systemd unit', () => {
  it('restarts after every end, except with invalid settings', async () => {
    const status = await run(['serve'], terminalHere({ SALLYPORT_PORT: 'http' }));
    assert.deepEqual(settings('RestartPreventExitStatus'), [String(status)]);
    assert.deepEqual(settings('Restart'), ['always']);
  });

  it('reads its certificate again on reload', () => {
    assert.deepEqual(settings('ExecReload'), ['/bin/kill -HUP $MAINPID']);
  });

  it('may lower the priority of a thread, but not change other resources', () => {
    assert.equal(isAllowed('setpriority'), true);
    assert.equal(isAllowed('sched_setaffinity'), false);
  });
});
