/** Walks through the pages about moving from another sender: their programs export from a server with its API, their commands import. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cleanUp } from '../support/cleanup.ts';
import type { Page } from '../support/command-folder.ts';
import { commandsIn, type } from '../support/documented-commands.ts';
import { outpostExport, svixExport } from '../support/exports.ts';
import { importing } from '../support/imports.ts';
import { only } from '../support/journey.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

type Answers = (request: IncomingMessage, url: URL) => unknown;

/** A server that answers JSON to requests with this token, and 404 without an answer. */
async function startApi(t: TestContext, token: string, answers: Answers): Promise<string> {
  const server = createServer((request, response) => {
    const isKnown = request.headers.authorization === `Bearer ${token}`;
    const answer = isKnown ? answers(request, new URL(String(request.url), 'http://localhost')) : undefined;
    response.statusCode = isKnown ? (answer === undefined ? 404 : 200) : 401;
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUp(t, () => new Promise((resolve) => server.close(resolve)));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Pages of one item each, as a list of Svix. */
function svixPage(items: readonly { readonly id?: string; readonly name?: string }[], url: URL): unknown {
  const at = Number(url.searchParams.get('iterator') ?? 0);
  return { data: items.slice(at, at + 1), iterator: String(at + 1), done: at + 1 >= items.length };
}

test('the page about Svix exports everything with its program, and its commands import it', async (t) => {
  const here = await importing(t);
  const { applications, eventTypes } = svixExport({ url: here.url });
  const { endpoints, ...application } = only(applications);
  const { secret, headers, ...endpoint } = only(endpoints.data);
  const all = [application, { ...application, id: 'app_2', uid: 'acct_2', name: 'Second' }];
  const url = await startApi(t, 'sk_test', (_, asked) => {
    const [, app, part] = /^\/api\/v1\/app\/(\w+)\/endpoint(?:\/ep_\w+\/(\w+))?$/.exec(asked.pathname) ?? [];
    if (part === 'secret') return secret;
    if (part === 'headers') return headers;
    if (asked.pathname === '/api/v1/app') return svixPage(all, asked);
    if (app !== undefined && part === undefined) return svixPage(app === 'app_2' ? [] : [endpoint], asked);
    const isTypes = asked.pathname === '/api/v1/event-type' && asked.searchParams.get('with_content') === 'true';
    return isTypes ? svixPage([...eventTypes, { name: 'order.paid' }], asked) : undefined;
  });
  await walk(here, 'docs/how-to/move-from-svix.md', 'export-svix.mjs', { SVIX_URL: url, SVIX_TOKEN: 'sk_test' });
  assert.equal((await here.json<Page>(['customer', 'list'])).items.length, 2);
  const kinds = (await here.json<Page>(['event-type', 'list', '--limit', '200'])).items.map(({ name }) => name);
  assert.ok(
    ['order.created', 'order.paid'].every((name) => kinds.includes(name)),
    String(kinds),
  );
  assert.equal(only((await here.json<Page>(['webhook', 'list'])).items).state, 'started');
});

test('the page about Outpost exports everything with its program, and its commands import it', async (t) => {
  const here = await importing(t);
  const { tenants, topics } = outpostExport({ config: { url: here.url } });
  const { destinations, ...tenant } = only(tenants.models);
  const others = [{ ...tenant, id: 'acct 2/ä' }];
  const url = await startApi(t, 'key', (_, { pathname, searchParams }) => {
    if (pathname === '/api/v1/topics') return topics;
    if (pathname === '/api/v1/tenants')
      return searchParams.get('next') === 'second'
        ? { models: others, pagination: { next: null } }
        : { models: [tenant], pagination: { next: 'second' } };
    if (pathname === `/api/v1/tenants/${tenant.id}/destinations`) return destinations;
    return pathname === '/api/v1/tenants/acct%202%2F%C3%A4/destinations' ? [] : undefined;
  });
  const env = { OUTPOST_URL: `${url}/api/v1`, OUTPOST_KEY: 'key' };
  await walk(here, 'docs/how-to/move-from-outpost.md', 'export-outpost.mjs', env);
  assert.equal((await here.json<Page>(['customer', 'list'])).items.length, 2);
  assert.equal(only((await here.json<Page>(['webhook', 'list'])).items).state, 'started');
});

/** Saves the page's program under its name, and types the page's commands in the folder where it is. */
async function walk(
  { dataDir }: Awaited<ReturnType<typeof importing>>,
  page: string,
  program: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const cwd = dirname(dataDir);
  const [, text = ''] = /\n```js\n([\s\S]*?)```/.exec(readFileSync(join(root, page), 'utf8')) ?? [];
  writeFileSync(join(cwd, program), text);
  for (const { text: command, line } of commandsIn(page)) {
    const running = command.replace(/^node /, `'${process.execPath}' `);
    const { status, stdout, stderr } = await type(running, cwd, { ...env, SALLYPORT_DATA: dataDir });
    assert.equal(status, 0, `${page}:${line}: ${command}\n${stderr}${stdout}`);
  }
}
