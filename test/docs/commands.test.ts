/** Types every shell command of README.md and docs/, in order, beside a running service: each must do what it is for. */
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
import { commandsIn, filledIn, type, typeUntilItSpeaks } from '../support/documented-commands.ts';
import { startHttpsServer } from '../support/https-server.ts';
import { only, sharedCertificates } from '../support/journey.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The pages whose commands are typed here, each with what has to be there before the first one. */
const TYPED: Readonly<Record<string, readonly string[]>> = {
  'README.md': [],
  'docs/start.md': [],
  'docs/portal.md': [],
  'docs/protect-an-api.md': [],
  'docs/api-catalogue.md': ['user create --user-name shop --permission orders:view'],
  'docs/receive-webhooks.md': [],
  'docs/security.md': [],
  'docs/send-webhooks.md': [],
};

/** Commands that are not typed here, by page and how they begin, and what holds them true instead. */
const ELSEWHERE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'README.md': {
    'npm start': 'runs until it is ended: test/cli/serve.test.ts',
    'npm test': 'is what runs this',
    'deno run ': 'test/package/deno.slow.test.ts, on a Deno of its own',
  },
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
  'docs/planning.md': { 'npx openapi-typescript ': 'needs a package of others' },
  'docs/operate.md': {
    'npm run build:binary': 'test/binary.slow.test.ts',
    'sallyport ': 'test/docs/operate.test.ts: the drill is typed, the rest is checked word by word',
    'runuser -u sallyport -- sallyport ': 'needs a system account; checked word by word in test/docs/operate.test.ts',
    'mkdir ': 'test/docs/operate.test.ts',
    'cp ': 'test/docs/operate.test.ts',
    'rm ': 'test/docs/operate.test.ts',
    'useradd ': 'needs a system of its own',
    'RENEWED_LINEAGE=': 'needs certbot and its files',
    'install ': 'needs a system of its own',
    'systemctl ': 'needs a system of its own',
    'journalctl ': 'needs a system of its own',
    'docker ': 'needs a container engine',
    'set -a': 'needs a system of its own',
    'ls ': 'needs a system of its own',
    'litestream ': 'needs a program that Debian does not have',
    'runuser -u sallyport -- litestream ': 'needs a program that Debian does not have',
  },
};

for (const [page, preparations] of Object.entries(TYPED)) {
  test(`every command of ${page} does what it is for`, async (t) => {
    const desk = await prepareDesk(t);
    for (const preparation of preparations) await sallyportJson(preparation.split(' '), { env: desk.env });
    const commands = commandsIn(page).filter(({ text }) => reasonOf(page, text) === null);
    assert.ok(commands.length > 0);
    for (const { text, line } of commands) {
      await desk.ready(text);
      const command = filledIn(text, desk.placeholders(text)).replaceAll('curl -s ', 'curl -s --fail-with-body ');
      const running = command.replace(/sallyport (listen|serve)/, 'exec sallyport $1 --port 0');
      const { status, stdout, stderr } =
        running === command
          ? await type(command, desk.cwd, desk.env)
          : await typeUntilItSpeaks(running, desk.cwd, { ...desk.env, SALLYPORT_DATA: join(desk.cwd, 'another') });
      assert.equal(status, 0, `${page}:${line}: ${text}\n${stderr}${stdout}`);
      desk.remember(text, stdout);
    }
  });
}

describe('the commands of the documentation', () => {
  it('are all typed here, or held true elsewhere', () => {
    const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)];
    const markdown = pages.filter((name) => name.endsWith('.md'));
    const loose = markdown
      .filter((page) => TYPED[page] === undefined)
      .flatMap((page) =>
        commandsIn(page)
          .filter(({ text }) => reasonOf(page, text) === null)
          .map(({ text, line }) => `${page}:${line}: ${text}`),
      );
    assert.deepEqual(loose, []);
  });

  it('are not said to be held elsewhere where there are none', () => {
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
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  placeholders(text: string): Readonly<Record<string, string>>;
  /** Brings about what the page says must be so before a command. */
  ready(text: string): Promise<void>;
  /** Notes the ids and credentials that a command printed, for the placeholders of those that follow. */
  remember(text: string, stdout: string): void;
};

/** A service, a receiver that it trusts and that answers 200, and a folder with the files that the pages name. */
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
  /** What a reader has: the first credentials, and those and the token that the page's commands printed last. */
  let registered: Credentials | null = null;
  let printedToken: string | null = null;
  const callerOf = (text: string): Credentials =>
    /introspect|applications:manage|"scope":"all"/.test(text) || registered === null ? first : registered;
  return {
    cwd,
    env,
    placeholders: (text) => {
      const { clientId, clientSecret } = callerOf(text);
      return { ...known, 'spc_…': clientId, 'sps_…': clientSecret, 'spt_…': printedToken ?? token };
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
      const [, thing] = /sallyport (\w+) create/.exec(text) ?? [];
      const [id] = /\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b/.exec(stdout) ?? [];
      if (thing !== undefined && id !== undefined) known[`<${thing} id>`] = id;
      const [clientId] = /\bspc_\w+/.exec(stdout) ?? [];
      const [clientSecret] = /\bsps_\w+/.exec(stdout) ?? [];
      // Not those of a service that a page starts: it has another folder here.
      if (thing === 'application' && clientId !== undefined && clientSecret !== undefined)
        registered = { clientId, clientSecret };
      printedToken = /"access_token":"(\w+)"/.exec(stdout)?.[1] ?? printedToken;
    },
  };
}
