/** Runs the documented commands for Deno, and every command of sallyport, in a fresh clone on the oldest and the newest Deno. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DENOS, programOf } from '../../scripts/runtimes/programs.ts';
import { GROUPS } from '../../src/cli/groups.ts';
import { cleanUp } from '../support/cleanup.ts';
import { testEndToEnd } from '../support/command-circle.ts';
import { creationOf } from '../support/command-folder.ts';
import { outpostExport, svixExport } from '../support/exports.ts';
import { newDatabase } from '../support/postgres.ts';
import { startReceiver } from '../support/receiver.ts';
import { makeCertificates } from '../support/tls.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Runs commands one after another in one process, because starting Deno takes longer than most of them. Each line of its input has the
 * arguments of one, as JSON, and each line of its output what came of it.
 */
const SESSION = `
import './src/kernel/threads.ts';
import { createInterface } from 'node:readline';
import { run } from './src/cli/run.ts';
import { processTerminal } from './src/cli/terminal.ts';

for await (const line of createInterface({ input: process.stdin })) {
  const ended = { code: null, stdout: '', stderr: '' };
  const keep = (name) => async (text) => {
    ended[name] += text;
    return true;
  };
  ended.code = await run(JSON.parse(line), { ...processTerminal(), out: keep('stdout'), err: keep('stderr') });
  console.log(JSON.stringify(ended));
}
`;

for (const runtime of DENOS) {
  const { path, version } = programOf(runtime);
  describe(`a fresh clone on ${version}`, () => {
    let clone: Clone;
    before(() => {
      clone = freshClone(path);
    });
    beforeEach(() => rmSync(join(clone.folder, 'data'), { recursive: true, force: true }));
    after(() => rmSync(clone.place, { recursive: true, force: true }));

    it('starts with the task and with the command of docs/runtimes.md, and creates its data folder', async (t) => {
      const { folder, env } = clone;
      const command = readmeCommand();
      assert.equal(command[0], 'deno');
      for (const args of [['task', 'start'], command.slice(1)]) {
        const data = join(folder, 'data');
        rmSync(data, { recursive: true, force: true });
        const { url, end } = await started(t, spawn(path, args, { cwd: folder, env: { ...env, SALLYPORT_PORT: '0' } }));
        assert.equal((await fetch(`${url}/readyz`)).status, 200);
        assert.ok(readFileSync(join(data, 'sallyport.db')).length > 0);
        assert.deepEqual(await end(), { code: 0, signal: null });
      }
    });

    it('issues a token and delivers a webhook, with a CA file', async (t) => {
      const { folder, env } = clone;
      await testEndToEnd(t, { file: commandOf(folder, path), folder, env, isCheckout: true });
    });

    it('runs every command, and `listen` without options', { timeout: 400_000 }, async (t) => {
      assert.deepEqual(await runEveryCommand(t, clone, path), []);
    });
  });
}

type Clone = {
  /** Of the clone and the home folder. */
  readonly place: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
};

/** A clone of the commit with the packages of `deno install --prod` and an empty home folder. */
function freshClone(deno: string): Clone {
  const place = mkdtempSync(join(tmpdir(), 'clone-'));
  const folder = join(place, 'sallyport');
  const home = join(place, 'home');
  mkdirSync(home);
  execFileSync('git', ['clone', '--quiet', '--depth', '1', `file://${root}`, folder]);
  execFileSync(deno, ['install', '--quiet', '--prod'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  const env = { HOME: home, PATH: process.env.PATH ?? '', NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' };
  return { place, folder, env };
}

function readmeCommand(): string[] {
  const [, block = ''] =
    /^```sh\n(deno run [\s\S]*?)\n```/m.exec(readFileSync(`${root}/docs/runtimes.md`, 'utf8')) ?? [];
  return block.replaceAll(/ \\\n +/g, ' ').split(' ');
}

/** The arguments that a task gives Deno. */
function taskArguments(name: string): string[] {
  const { tasks } = JSON.parse(readFileSync(`${root}/deno.json`, 'utf8')) as {
    tasks: Readonly<Record<string, string>>;
  };
  return tasks[name]?.split(' ').slice(1) ?? assert.fail(`there is no task ${name}`);
}

/** A script that runs `sallyport` with the task. */
function commandOf(folder: string, deno: string): string {
  const file = join(folder, 'sallyport-on-deno');
  writeFileSync(file, `#!/bin/sh\nexec '${deno}' task --quiet sallyport "$@"\n`, { mode: 0o755 });
  return file;
}

type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };
type Run = (words: readonly string[]) => Promise<Ended>;

/** Runs commands in one process with the permissions of the task. */
function startSession(t: TestContext, { folder, env }: Clone, deno: string): Run {
  const file = 'session.mjs';
  writeFileSync(join(folder, file), SESSION);
  const args = taskArguments('sallyport').map((word) => (word === 'src/main.ts' ? file : word));
  assert.ok(args.includes(file));
  const child = spawn(deno, args, { cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'] });
  cleanUp(t, () => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async (words) => {
    child.stdin.write(`${JSON.stringify(words)}\n`);
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`the process ended at: ${words.join(' ')}`);
    return JSON.parse(value) as Ended;
  };
}

/** Waits until a server prints its address. */
async function started(
  t: TestContext,
  child: ChildProcess,
  announcement: RegExp = /listens on (http:\S+)\n/,
): Promise<{
  readonly url: string;
  end(): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}> {
  cleanUp(t, () => void child.kill('SIGKILL'));
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  let output = '';
  const url = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        const [, found] = announcement.exec(output) ?? [];
        if (found !== undefined) resolve(found);
      });
    }
    void ended.then(([code]) => reject(new Error(`it ended with ${code}: ${output}`)));
  });
  return {
    url,
    end: async () => {
      child.kill('SIGTERM');
      const [code, signal] = await ended;
      return { code, signal };
    },
  };
}

/** Returns the commands that were not run. Two that end and the one that listens have processes of their own. */
async function runEveryCommand(t: TestContext, { env: base, ...clone }: Clone, deno: string): Promise<string[]> {
  const { folder } = clone;
  const file = commandOf(folder, deno);
  const home = base.HOME ?? '';
  const { ca, server } = makeCertificates();
  const receiver = await startReceiver(t, server);
  const hook = receiver.endpoint('/hook');
  const caFile = join(home, 'ca.pem');
  const keyFile = join(home, 'key.asc');
  const backup = join(home, 'backup.db');
  writeFileSync(caFile, ca);
  copyFileSync(join(root, 'test/vectors/pgp/curve25519.public.asc'), keyFile);
  const env = { ...base, SALLYPORT_CA_FILE: caFile, SALLYPORT_EGRESS_ALLOW: '127.0.0.1,::1' };
  const inSession = startSession(t, { ...clone, env }, deno);
  const alone: Run = async (words) => {
    const child = spawn(file, words, { cwd: folder, env });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, stdout, stderr };
  };
  const ran = new Set<string>();
  const ending = (name: string, args: readonly string[], by = inSession): Promise<Ended> => {
    ran.add(name);
    return by([...name.split(' '), ...args]);
  };
  const run = async (name: string, ...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await ending(name, args);
    assert.deepEqual([code, stderr], [0, ''], `${name}: ${stdout}`);
    return stdout;
  };
  const json = async <T = { readonly id: string }>(name: string, ...args: readonly string[]): Promise<T> =>
    JSON.parse(await run(name, ...args, '--json')) as T;
  const fields = ['--fields', '{"name":"changed"}'];

  await run('init');
  assert.equal((await ending('version', [], alone)).code, 0);
  await run('completion', 'bash');
  const user = await json('user create', '--user-name', 'billing', '--role', 'operator');
  await run('user update', user.id, '--fields', '{"displayName":"Billing"}');
  await run('user invite', user.id);
  await run('user list');
  await run('user show', user.id);
  const application = await json('application create', '--name', 'billing', '--user', user.id);
  await run('application update', application.id, ...fields);
  for (const verb of ['list', 'show', 'regenerate-secret', 'revoke-tokens', 'delete']) {
    await run(`application ${verb}`, ...(verb === 'list' ? [] : [application.id]));
  }
  await run('user delete', user.id);

  const customer = await json('customer create', '--name', 'shop');
  await run('customer update', customer.id, ...fields);
  for (const verb of ['list', 'usage', 'show', 'link', 'token', 'delete'])
    await run(`customer ${verb}`, ...(verb === 'list' ? [] : [customer.id]));

  const rule = { methods: ['GET'], path: '/shop/{id}', scope: 'shop:view' };
  const scopes = [{ name: 'shop:view', description: 'See the shop' }];
  const product = await json('product create', '--fields', JSON.stringify({ name: 'Shop', scopes, rules: [rule] }));
  await run('product update', product.id, ...fields);
  await run('product check', 'GET', '/shop/1');
  for (const verb of ['list', 'show', 'delete']) await run(`product ${verb}`, ...(verb === 'list' ? [] : [product.id]));

  await run('key import', keyFile, '--name', 'hr');
  await run('key update', 'hr', '--name', 'people');
  for (const verb of ['list', 'show', 'delete']) await run(`key ${verb}`, ...(verb === 'list' ? [] : ['people']));

  const [, , ...creation] = creationOf(hook);
  const endpoint = await json('endpoint create', ...creation);
  await run('endpoint update', endpoint.id, ...fields);
  for (const verb of ['list', 'show', 'verify'])
    await run(`endpoint ${verb}`, ...(verb === 'list' ? [] : [endpoint.id]));
  assert.equal(hook.challenges.length, 1, 'the verification reached a receiver that only the CA file vouches for');
  await run('event-type create', '--name', 'order.placed');
  await run('event-type update', 'order.placed', '--fields', '{"description":"An order"}');
  for (const verb of ['list', 'show']) await run(`event-type ${verb}`, ...(verb === 'list' ? [] : ['order.placed']));
  const webhook = await json('webhook create', '--name', 'w', '--endpoint', endpoint.id, '--event', 'order.*');
  await run('webhook update', webhook.id, ...fields);
  for (const verb of ['list', 'show', 'test', 'start'])
    await run(`webhook ${verb}`, ...(verb === 'list' ? [] : [webhook.id]));
  await hook.next();
  await run('webhook signature-preview', webhook.id, '--signature', '{"preset":"stripe"}');
  const publication = ['order.placed', '{"number":1}', '--subject', 'somebody'];
  const published = await json<{ events: { id: string }[] }>('event publish', ...publication);
  await run('event show', published.events[0]?.id ?? '');
  const { items } = await json<{ items: { id: string }[] }>('deliveries list');
  const delivery = items[0]?.id ?? '';
  await run('deliveries show', delivery);
  await run('event erase', '--subject', 'somebody');
  const { code, stderr } = await ending('deliveries replay', [delivery], alone);
  assert.deepEqual([code, /only a delivered, dead or pending one can be sent/.test(stderr)], [1, true], stderr);
  await run('webhook replay', webhook.id);
  for (const [verb, ...options] of [['waiting-keys'], ['give-up', '--ordering-key', 'order-17']]) {
    const refused = await ending(`webhook ${verb}`, [webhook.id, ...options]);
    assert.deepEqual([refused.code, /order/.test(refused.stderr)], [1, true], refused.stderr);
  }
  await run('webhook records', webhook.id);
  const pushed = await ending('webhook acknowledge', [webhook.id, '--through', '0']);
  assert.deepEqual([pushed.code, /pull/.test(pushed.stderr)], [1, true], pushed.stderr);
  for (const verb of ['stop', 'delete']) await run(`webhook ${verb}`, webhook.id);
  const bearer = (token: string): string => JSON.stringify({ method: 'bearer', token });
  await run('endpoint update', endpoint.id, '--fields', `{"authentication":${bearer('one')}}`);
  await run('endpoint rotate-authentication', endpoint.id, '--authentication', bearer('two'));
  for (const verb of ['rotate-secret', 'rotate-api-key', 'delete']) await run(`endpoint ${verb}`, endpoint.id);
  await run('event-type delete', 'order.placed');

  for (const [sender, exported] of [
    ['svix', svixExport()],
    ['outpost', outpostExport()],
  ] as const) {
    const exportFile = join(folder, `${sender}.json`);
    writeFileSync(exportFile, JSON.stringify(exported));
    await run(`import ${sender}`, exportFile, '--apply');
  }

  await run('audit verify');
  await run('backup', backup, '--with-master-key');
  await run('backup verify', backup);
  await run('restore', backup, '--force');
  await run('rotate-master-key');
  await run('doctor');

  const database = ['--database-url', await newDatabase(t)];
  await run('migrate', ...database);
  await ending('move', ['--to', database[1] ?? '']).then(({ code, stderr: told }) => assert.equal(code, 0, told));
  assert.equal(await run('instances', ...database, '--json'), '{"items":[]}\n');

  const listening = await started(
    t,
    spawn(file, ['listen', '--port', '0'], { cwd: folder, env }),
    /Listening on (https:\S+) /,
  );
  assert.ok(readFileSync(join(home, '.local/state/sallyport/listen/certificate.pem'), 'utf8').includes('CERT'));
  await listening.end();
  // Started by the first test.
  for (const name of ['listen', 'serve']) ran.add(name);
  const commands = (await Promise.all(GROUPS.map(({ load }) => load()))).flat().map(({ name }) => name);
  return commands.filter((name) => !ran.has(name));
}
