import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import test, { type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cleanUp } from '../support/cleanup.ts';
import { baseEnvironment } from '../support/environment.ts';
import { temporaryFolder } from '../support/service.ts';

const DEMO = fileURLToPath(new URL('../../scripts/demo.ts', import.meta.url));

/** Runs the demo with its own temporary folder. `onText` is called with the whole stdout whenever it grows. */
async function runDemo(
  t: TestContext,
  args: readonly string[],
  onText: (text: string, kill: (signal: NodeJS.Signals) => void) => void = () => {},
): Promise<{ code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string; left: string[] }> {
  const folder = temporaryFolder(t);
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', DEMO, ...args], {
    env: { ...baseEnvironment(), TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  cleanUp(t, () => void child.kill('SIGTERM'));
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    onText(stdout, (signal) => void child.kill(signal));
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
    child.once('close', (...how) => resolve(how)),
  );
  return { code, signal, stdout, stderr, left: readdirSync(folder) };
}

/** The process ids printed so far: the receiver's, then the service's. */
function pidsIn(text: string): number[] {
  return [...text.matchAll(/^ +pid: (\d+)$/gm)].map(([, pid]) => Number(pid));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('the demo passes in every mode, prints one JSON object, and leaves nothing behind', async (t) => {
  const { code, stdout, stderr, left } = await runDemo(t, ['--json', '--all-modes']);
  assert.equal(code, 0, stdout + stderr);
  assert.equal(stderr, '');
  const { ok, error, steps } = JSON.parse(stdout) as {
    ok: boolean;
    error: string | null;
    steps: { step: string; ok: boolean; facts: Record<string, unknown> }[];
  };
  assert.deepEqual({ ok, error }, { ok: true, error: null });
  assert.deepEqual(
    steps.map(({ step }) => step),
    [
      'receiver',
      'service',
      'administrator',
      'user',
      'application',
      'token',
      'key',
      'endpoint',
      'webhook',
      'guard',
      'employee',
      'delivery',
      'signature',
      'payload',
      'attempt',
      'event-type',
      'plain',
      'gzip',
      'pgp',
      'pgp-gzip',
      'oauth',
      'standard-webhooks',
      'ordered',
      'stop',
    ],
  );
  assert.ok(steps.every((step) => step.ok));
  for (const { facts } of steps) if ('pid' in facts) assert.equal(isAlive(Number(facts.pid)), false);
  assert.deepEqual(left, []);
});

test('the text shows the headers as received and the decrypted JSON', async (t) => {
  const { code, stdout } = await runDemo(t, []);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /^ +authorization: HMAC-SHA256 SignedHeaders=x-content-sha256;date;x-tenant&Signature=\S{44}$/m);
  assert.match(stdout, /^ +x-content-encrypted: true$/m);
  assert.match(stdout, /^ +"eventType": "employee.created",$/m);
  assert.match(stdout, /All \d+ steps passed/);
  assert.equal(stdout.includes('\u001b'), false, 'colours are for terminals');
});

test('a step that fails ends the demo with status 1, says what failed, and leaves nothing behind', async (t) => {
  let killed = false;
  const { code, stdout, left } = await runDemo(t, [], (text) => {
    const [, service] = pidsIn(text);
    if (service === undefined || killed) return;
    killed = true;
    process.kill(service, 'SIGKILL');
  });
  assert.equal(code, 1, stdout);
  assert.match(stdout, /✗/);
  assert.match(stdout, /^Failed: \S+/m);
  for (const pid of pidsIn(stdout)) assert.equal(isAlive(pid), false);
  assert.deepEqual(left, []);
});

test('Ctrl-C ends the demo and its processes immediately and leaves nothing behind', async (t) => {
  let interrupted = false;
  const { signal, stdout, left } = await runDemo(t, [], (text, kill) => {
    if (pidsIn(text).length < 2 || interrupted) return;
    interrupted = true;
    kill('SIGINT');
  });
  assert.equal(signal, 'SIGINT', stdout);
  for (const pid of pidsIn(stdout)) assert.equal(isAlive(pid), false);
  assert.deepEqual(left, []);
});

test('--keep opens a portal with six days of three customers, signs in by its link, and leaves nothing behind', async (t) => {
  const visits: Promise<string>[] = [];
  const { code, stdout, stderr, left } = await runDemo(t, ['--keep'], (text, kill) => {
    if (visits.length > 0 || !text.includes('Ctrl-C ends the demo')) return;
    visits.push(
      visit(text).finally(() => {
        // Without a terminal the signal comes twice: to the process group, and from the parent.
        kill('SIGINT');
        setImmediate(() => kill('SIGINT'));
      }),
    );
  });
  assert.equal(code, 0, stdout + stderr);
  const [page = ''] = await Promise.all(visits);
  assert.match(page, /Anna Schmidt/);
  assert.match(stdout, /sign in at http:\/\/localhost:\d+ with the user name anna and the password \S{16}$/m);
  for (const problem of ['The receiver answered 500', 'Every attempt failed for 24 hours', 'used up their attempts'])
    assert.ok(page.includes(problem), problem);
  assert.equal(
    [...stdout.matchAll(/^ {2}(Acme Stores|Bolt Hardware|Cedar Books) +http:\S+\/portal-links\/\S+$/gm)].length,
    3,
  );
  const days = [...stdout.matchAll(/^ {2}day (\d) of 6: [\d,]+ events so far$/gm)].map(([, day]) => Number(day));
  assert.deepEqual(days, [1, 2, 3, 4, 5, 6]);
  assert.deepEqual(left, []);
});

/** The overview, as a browser that follows the link gets it. */
async function visit(text: string): Promise<string> {
  const [, door = ''] = /^ {2}(http:\/\/localhost:\d+\/[0-9a-f]{32})$/m.exec(text) ?? [];
  const { status, headers } = await fetch(door, { redirect: 'manual' });
  assert.equal(status, 303);
  const [cookie = ''] = (headers.get('set-cookie') ?? '').split(';');
  const page = await fetch(headers.get('location') ?? '', { headers: { cookie } });
  assert.equal(page.status, 200);
  return page.text();
}

test('unknown arguments are a usage error', async (t) => {
  const { code, stdout, stderr } = await runDemo(t, ['--colour']);
  assert.equal(code, 2);
  assert.equal(stdout, '');
  assert.match(stderr, /--colour[\s\S]*usage: npm run demo/);
});
