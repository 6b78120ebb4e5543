/** Runs the shell commands of README.md and docs/, in order, next to a running service. Each must succeed. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { FirstCredentials } from '../../src/data/data.ts';
import type { DeliveryView } from '../../src/webhooks/deliveries.ts';
import { challengeAnswer } from '../../src/wire/challenge.ts';
import { challengeHeader } from '../../src/wire/challenge-answer.ts';
import { cleanUp } from '../support/cleanup.ts';
import { type Credentials, type Page, tokenFor } from '../support/client.ts';
import { sallyportJson, serve } from '../support/command.ts';
import { until } from '../support/dispatching.ts';
import { commandsIn, filledIn, type Typed, type, typeUntilOutput } from '../support/documented-commands.ts';
import { JOURNEYS, reasonOf } from '../support/documented-journeys.ts';
import { startHttpsServer } from '../support/https-server.ts';
import { only } from '../support/journey.ts';
import { sharedCertificates } from '../support/tls.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

for (const { pages, prepare = [] } of JOURNEYS) {
  test(`every command of ${pages.join(', ')} succeeds`, async (t) => {
    const desk = await prepareDesk(t);
    for (const text of prepare) await typeOn(desk, text, 'a preparation');
    for (const page of pages) {
      const commands = commandsIn(page).filter(({ text }) => reasonOf(page, text) === null);
      assert.ok(commands.length > 0, page);
      for (const { text, line } of commands) await typeOn(desk, text, `${page}:${line}`);
    }
  });
}

async function typeOn(desk: Desk, text: string, where: string): Promise<void> {
  await desk.ready(text);
  let { status, stdout, stderr } = await desk.run(text);
  if (text.includes('/forward-auth')) {
    // Within a second, a server notices rules that a command wrote.
    await until('the rule is known', async () => {
      if (status !== 0) ({ status, stdout, stderr } = await desk.run(text));
      return status === 0;
    });
  }
  assert.equal(status, 0, `${where}: ${text}\n${stderr}${stdout}`);
  desk.remember(text, stdout);
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
  const { ca, server, client } = sharedCertificates();
  const receiver = await startHttpsServer(server);
  cleanUp(t, receiver.close);
  /** The signing secrets that the commands printed, by path: the customer has them. */
  const secrets: Record<string, string> = {};
  receiver.answer(({ url, headers }, response) => {
    const secret = secrets[url];
    const challenge = headers[challengeHeader];
    if (secret !== undefined && typeof challenge === 'string')
      response.setHeader(challengeHeader, challengeAnswer({ secret, pathAndQuery: url, token: challenge }));
    const token = JSON.stringify({ access_token: 'of-the-customer', token_type: 'Bearer', expires_in: 3600 });
    response.setHeader('Content-Type', 'application/json').end(url === '/token' ? token : '');
  });
  writeFileSync(join(cwd, 'ca.pem'), ca);
  copyFileSync(join(root, 'test/vectors/pgp/curve25519.public.asc'), join(cwd, 'customer.asc'));
  writeFileSync(join(cwd, 'certificate.json'), JSON.stringify({ clientCertificate: client }));
  writeFileSync(join(cwd, 'secret.txt'), 'a secret that was agreed upon');
  const base = {
    SALLYPORT_DATA: join(cwd, 'data'),
    SALLYPORT_CA_FILE: join(cwd, 'ca.pem'),
    SALLYPORT_EGRESS_ALLOW: '127.0.0.0/8,::1/128',
    SALLYPORT_CUSTOMER_EGRESS_ALLOW: '127.0.0.0/8,::1/128',
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
    // Nothing happens meanwhile, so it would wait as long.
    'wait=30': 'wait=1',
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
      return typeUntilOutput(running, cwd, { ...env, SALLYPORT_DATA: folder });
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
      const [, resource] = /(?:sallyport | http\S*\/v1\/)(\w+?)(?: create|s -H .* -d )/.exec(text) ?? [];
      const [id] = /\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b/.exec(stdout) ?? [];
      if (resource !== undefined && id !== undefined) known[`<${resource} id>`] = id;
      const [, path] = /endpoint create .*hooks\.example\.com(\S+)/.exec(text) ?? [];
      const [, secret] = /^secret +(\S+)$/m.exec(stdout) ?? [];
      if (path !== undefined && secret !== undefined) secrets[path] = secret;
      const [clientId] = /\bspc_\w+/.exec(stdout) ?? [];
      const [clientSecret] = /\bsps_\w+/.exec(stdout) ?? [];
      // Not the first credentials of a service that a page starts, which has another folder here.
      if (resource === 'application' && clientId !== undefined && clientSecret !== undefined)
        registered = { clientId, clientSecret };
      printedToken = /"access_token":"(\w+)"/.exec(stdout)?.[1] ?? printedToken;
    },
  };
}
