/** Runs every shell command of README.md and docs/, in order, next to a running service. Each must succeed. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { FirstCredentials } from '../../src/data/data-folder.ts';
import type { DeliveryView } from '../../src/webhooks/deliveries.ts';
import { cleanUp } from '../support/cleanup.ts';
import { type Credentials, type Page, tokenFor } from '../support/client.ts';
import { sallyportJson, serve } from '../support/command.ts';
import { until } from '../support/dispatching.ts';
import { commandsIn, filledIn, type Typed, type, typeUntilItSpeaks } from '../support/documented-commands.ts';
import { startHttpsServer } from '../support/https-server.ts';
import { only, sharedCertificates } from '../support/journey.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The pages whose commands run here, each with the commands to run first. */
const RUN_HERE: Readonly<Record<string, readonly string[]>> = {
  'README.md': [],
  'docs/start.md': [],
  'docs/portal.md': [],
  'docs/protect-an-api.md': [],
  'docs/api-catalogue.md': ['user create --user-name shop --permission orders:view'],
  'docs/receive-webhooks.md': [],
  'docs/security.md': [],
  'docs/send-webhooks.md': [],
};

/** Commands that do not run here, by page and their first words, and the test that covers them or the reason. */
const ELSEWHERE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'README.md': {
    'npm start': 'runs until it is stopped: test/cli/serve.test.ts',
    'npm test': 'runs this test',
  },
  'docs/runtimes.md': { 'deno run ': 'test/package/deno.slow.test.ts, on Deno' },
  'docs/receive-webhooks.md': {
    'npm run build:receiver': 'test/receiver/package.test.ts',
    'npm pack ./dist/sallyport-receiver': 'test/receiver/package.test.ts',
    'npm install ./sallyport-receiver': 'test/receiver/package.test.ts, from its tarball',
  },
  'docs/embedding.md': {
    'npm run build': 'test/package/sallyport.slow.test.ts',
    'npm pack ./dist/sallyport': 'test/package/sallyport.slow.test.ts',
    'npm install ./sallyport': 'test/package/sallyport.slow.test.ts, from its tarball',
    'export SALLYPORT_DATA': 'test/e2e/embedding-*.test.ts',
    'npx sallyport ': 'test/e2e/embedding-*.test.ts',
  },
  'docs/security.md': { 'sallyport audit verify --head': 'test/cli/audit.test.ts' },
  'docs/planning.md': { 'npx openapi-typescript ': 'needs another package' },
  'docs/operate.md': {
    'npm run build:binary': 'test/binary.slow.test.ts',
    'sallyport ': 'test/docs/operate.test.ts: runs the drill and checks the words of the others',
    'runuser -u sallyport -- sallyport ': 'needs a system account; test/docs/operate.test.ts checks its words',
    'mkdir ': 'test/docs/operate.test.ts',
    'cp ': 'test/docs/operate.test.ts',
    'rm ': 'test/docs/operate.test.ts',
    'useradd ': 'needs a separate system',
    'RENEWED_LINEAGE=': 'needs certbot and its files',
    'install ': 'needs a separate system',
    'systemctl ': 'needs a separate system',
    'journalctl ': 'needs a separate system',
    'docker ': 'needs a container engine',
    'set -a': 'needs a separate system',
    'ls ': 'needs a separate system',
    'litestream ': 'needs a program that Debian does not have',
    'runuser -u sallyport -- litestream ': 'needs a program that Debian does not have',
  },
};

for (const [page, preparations] of Object.entries(RUN_HERE)) {
  test(`every command of ${page} succeeds`, async (t) => {
    const desk = await prepareDesk(t);
    for (const preparation of preparations) await sallyportJson(preparation.split(' '), { env: desk.env });
    const commands = commandsIn(page).filter(({ text }) => reasonOf(page, text) === null);
    assert.ok(commands.length > 0);
    for (const { text, line } of commands) {
      await desk.ready(text);
      let { status, stdout, stderr } = await desk.run(text);
      if (text.includes('/forward-auth')) {
        // Within a second, a server notices rules that a command wrote.
        await until('the rule is known', async () => {
          if (status !== 0) ({ status, stdout, stderr } = await desk.run(text));
          return status === 0;
        });
      }
      assert.equal(status, 0, `${page}:${line}: ${text}\n${stderr}${stdout}`);
      desk.remember(text, stdout);
    }
  });
}

describe('the commands of the documentation', () => {
  it('all run here, or have a reason not to', () => {
    const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)];
    const markdown = pages.filter((name) => name.endsWith('.md'));
    const loose = markdown
      .filter((page) => RUN_HERE[page] === undefined)
      .flatMap((page) =>
        commandsIn(page)
          .filter(({ text }) => reasonOf(page, text) === null)
          .map(({ text, line }) => `${page}:${line}: ${text}`),
      );
    assert.deepEqual(loose, []);
  });

  it('have no reason for a command that does not exist', () => {
    for (const [page, reasons] of Object.entries(ELSEWHERE)) {
      const texts = commandsIn(page).map(({ text }) => text);
      for (const start of Object.keys(reasons))
        assert.ok(
          texts.some((text) => text.startsWith(start)),
          `${page}: ${start}`,
        );
    }
  });
});

function reasonOf(page: string, text: string): string | null {
  return Object.entries(ELSEWHERE[page] ?? {}).find(([start]) => text.startsWith(start))?.[1] ?? null;
}

type Desk = {
  readonly env: Readonly<Record<string, string>>;
  /** Waits for the state that the page describes before a command. */
  ready(text: string): Promise<void>;
  /** Runs a command with its placeholders replaced. A server is stopped after its first output. */
  run(text: string): Promise<Typed>;
  /** Keeps the ids and credentials that a command printed, for the placeholders of the following commands. */
  remember(text: string, stdout: string): void;
};

/** Starts a service and a receiver that answers 200, in a folder with the files that the pages name. */
async function prepareDesk(t: TestContext): Promise<Desk> {
  const cwd = mkdtempSync(join(tmpdir(), 'documented-'));
  cleanUp(t, () => rmSync(cwd, { recursive: true, force: true }));
  const { ca, server } = sharedCertificates();
  const receiver = await startHttpsServer(server);
  cleanUp(t, receiver.close);
  receiver.answer(({ url }, response) => {
    const token = JSON.stringify({ access_token: 'of-the-customer', token_type: 'Bearer', expires_in: 3600 });
    response.setHeader('Content-Type', 'application/json').end(url === '/token' ? token : '');
  });
  writeFileSync(join(cwd, 'ca.pem'), ca);
  copyFileSync(join(root, 'test/vectors/pgp/curve25519.public.asc'), join(cwd, 'customer.asc'));
  writeFileSync(join(cwd, 'secret.txt'), 'a secret that was agreed upon');
  const base = {
    SALLYPORT_DATA: join(cwd, 'data'),
    SALLYPORT_CA_FILE: join(cwd, 'ca.pem'),
    SALLYPORT_EGRESS_ALLOW: '127.0.0.0/8,::1/128',
  };
  const first = await sallyportJson<FirstCredentials>(['init'], { env: base });
  const { announcement, end } = await serve(t, base.SALLYPORT_DATA, { env: base });
  const env = { ...base, SALLYPORT_PUBLIC_URL: announcement.url };
  const token = await tokenFor(announcement.url, first);
  const known: Record<string, string> = {
    'http://127.0.0.1:8080': announcement.url,
    'https://hooks.example.com': receiver.origin,
    'https://login.example.com': receiver.origin,
    'https://localhost:9443': receiver.origin,
    '<secret>': Buffer.alloc(32, 7).toString('base64'),
    '<api key>': '0123456789abcdef0123456789abcdef',
    '~/.local/state/sallyport/listen/certificate.pem': base.SALLYPORT_CA_FILE,
  };
  /** A reader has the first credentials, and the credentials and the token that the page's commands printed last. */
  let registered: Credentials | null = null;
  let printedToken: string | null = null;
  const callerOf = (text: string): Credentials =>
    /introspect|applications:manage|"scope":"all"/.test(text) || registered === null ? first : registered;
  return {
    env,
    run: (text) => {
      const { clientId, clientSecret } = callerOf(text);
      const credentials = { 'spc_…': clientId, 'sps_…': clientSecret, 'spt_…': printedToken ?? token };
      const command = filledIn(text, { ...known, ...credentials }).replaceAll('curl -s ', 'curl -s --fail-with-body ');
      const running = command.replace(/sallyport (listen|serve)/, 'exec sallyport $1 --port 0');
      if (running === command) return type(command, cwd, env);
      // Another server needs a folder of its own.
      const folder = command.includes('serve') ? join(cwd, 'another') : base.SALLYPORT_DATA;
      return typeUntilItSpeaks(running, cwd, { ...env, SALLYPORT_DATA: folder });
    },
    ready: async (text) => {
      if (text === 'sallyport rotate-master-key') await end('SIGTERM');
      if (!text.includes('<delivery id>')) return;
      const { items } = await sallyportJson<Page<DeliveryView>>(['deliveries', 'list'], { env });
      const id = only(items.slice(0, 1)).id;
      known['<delivery id>'] = id;
      if (!text.startsWith('sallyport deliveries replay')) return;
      await until('the delivery is settled', async () => {
        const { state } = await sallyportJson<DeliveryView>(['deliveries', 'show', id], { env });
        return state !== 'pending';
      });
    },
    remember: (text, stdout) => {
      const [, resource] = /sallyport (\w+) create/.exec(text) ?? [];
      const [id] = /\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b/.exec(stdout) ?? [];
      if (resource !== undefined && id !== undefined) known[`<${resource} id>`] = id;
      const [clientId] = /\bspc_\w+/.exec(stdout) ?? [];
      const [clientSecret] = /\bsps_\w+/.exec(stdout) ?? [];
      // Not the first credentials of a service that a page starts, which has another folder here.
      if (resource === 'application' && clientId !== undefined && clientSecret !== undefined)
        registered = { clientId, clientSecret };
      printedToken = /"access_token":"(\w+)"/.exec(stdout)?.[1] ?? printedToken;
    },
  };
}
