/** What docs/examples/sallyport.service allows the service, and how systemd is to treat its end. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { run } from '../../src/cli/run.ts';

const unit = readFileSync(new URL('../../docs/examples/sallyport.service', import.meta.url), 'utf8');

function settings(name: string): string[] {
  return [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);
}

/** The groups of `systemd-analyze syscall-filter` that have the call. */
const GROUPS_OF: Readonly<Record<string, readonly string[]>> = {
  setpriority: ['@system-service', '@resources'],
  sched_setaffinity: ['@system-service', '@resources'],
};

/** Each line adds to what the first allows, or takes away from it (systemd.exec(5)). */
function isAllowed(call: string): boolean {
  let allowed = false;
  for (const line of settings('SystemCallFilter')) {
    const names = line.replace(/^~/, '').split(' ');
    if ([call, ...(GROUPS_OF[call] ?? [])].some((name) => names.includes(name))) allowed = !line.startsWith('~');
  }
  return allowed;
}

describe('the systemd unit', () => {
  it('is not started again with settings that cannot be used, and with whatever else ends it', async () => {
    const quiet = { out: async () => true, err: async () => true, read: async () => null, isInteractive: false };
    const status = await run(['serve'], { ...quiet, env: { SALLYPORT_PORT: 'http' } });
    assert.deepEqual(settings('RestartPreventExitStatus'), [String(status)]);
    assert.deepEqual(settings('Restart'), ['always']);
  });

  it('has its certificate read again when it is reloaded', () => {
    assert.deepEqual(settings('ExecReload'), ['/bin/kill -HUP $MAINPID']);
  });

  it('lets the thread of large bodies lower its priority, and no more of what alters resources', () => {
    assert.equal(isAllowed('setpriority'), true);
    assert.equal(isAllowed('sched_setaffinity'), false);
  });
});
