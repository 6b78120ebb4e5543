/** Two instances behind a real nginx and a real Caddy, with the configurations of docs/how-to/run-on-postgresql.md. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, type TestContext } from 'node:test';
import { cleanUp } from '../support/cleanup.ts';
import { createClient, EDGE, succeeded, tokenFor } from '../support/client.ts';
import { onInstances } from '../support/instances.ts';
import { type RunningProxy, startCaddyWith, startNginxWith } from '../support/proxies.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { type ServiceProcess, spawnService, startedFolder } from '../support/service.ts';

repeatsInSlowTier('postgres', 'pgbouncer');

const PAGE = readFileSync(new URL('../../docs/how-to/run-on-postgresql.md', import.meta.url), 'utf8');

/** The block of the page that has this text, for these instances. */
function documented(text: string, services: readonly ServiceProcess[]): string {
  const block = [...PAGE.matchAll(/^```\w*\n(.*?)^```$/gms)]
    .map(([, content]) => content ?? '')
    .find((content) => content.includes(text));
  assert.ok(block, `no block has ${text}`);
  const [one, two] = services.map(({ url }) => new URL(url).host);
  assert.ok(block.includes('10.0.0.11:8080') && block.includes('10.0.0.12:8080'));
  return block.replaceAll('10.0.0.11:8080', String(one)).replaceAll('10.0.0.12:8080', String(two));
}

type Balanced = (services: readonly ServiceProcess[]) => Promise<RunningProxy>;

const nginx: Balanced = (services) =>
  startNginxWith((port) => {
    const block = documented('proxy_pass', services).replace('listen 443 ssl;', `listen 127.0.0.1:${port};`);
    return `events {} error_log stderr notice; pid nginx.pid; http { access_log off; ${block} }`;
  });

const caddy: Balanced = (services) =>
  startCaddyWith((port) => {
    const block = documented('reverse_proxy', services).replace('hooks.example.com {', `http://127.0.0.1:${port} {`);
    return `{\n  admin off\n}\n${block}`;
  });

/**
 * After one instance is killed, the other answers, and each acknowledged event was published once, as it was sent. With `mayRefuse`, the
 * proxy may answer 502 to a POST until it knows that the instance is gone.
 */
async function behind(t: TestContext, start: Balanced, { mayRefuse }: { readonly mayRefuse: boolean }): Promise<void> {
  const one = await spawnService(t, { after: await startedFolder(t) });
  const two = await spawnService(t, { after: one });
  const proxy = await start([one, two]);
  cleanUp(t, proxy.stop);
  const token = await tokenFor(proxy.url, one.credentials);
  const admin = createClient(proxy.url, token);
  await succeeded(admin.post('event-types', { name: 'order.created', description: 'An order was placed.' }));
  const event = (idempotencyKey: string) => ({ type: 'order.created', data: {}, idempotencyKey });
  /** Repeats a request that the proxy answered with 502, as the page says. Returns how often. */
  const publish = async (key: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const request = { method: 'POST', headers, body: JSON.stringify(event(key)) };
    for (let repeats = 0; ; repeats += 1) {
      const response = await fetch(`${proxy.url}${EDGE}/events`, request);
      const answer = await response.text();
      if (response.status === 502) continue;
      assert.equal(response.status, 202, answer);
      return repeats;
    }
  };
  const keys = Array.from({ length: 60 }, (_, order) => `order ${order}`);
  const oneByOne = async (some: readonly string[]): Promise<number> => {
    let repeats = 0;
    for (const key of some) {
      repeats += await publish(key);
      await succeeded(admin.get('webhooks'));
    }
    return repeats;
  };
  assert.equal(await oneByOne(keys.slice(0, 20)), 0);
  for (const { log } of [one, two]) assert.match(log.text(), /"path":"[^"]*\/edge\/v1\//, 'both have answered');

  one.kill('SIGSTOP');
  const underWay = keys.slice(20, 40).map(publish);
  await Promise.race(underWay);
  one.kill('SIGKILL');
  await one.exited;
  await Promise.all(underWay);

  const repeats = await oneByOne(keys.slice(40));
  if (!mayRefuse) assert.equal(repeats, 0, 'no POST is refused');
  const again = admin.post('events', { events: keys.map(event) });
  const { accepted, duplicates } = await succeeded<{ accepted: number; duplicates: number }>(again);
  assert.deepEqual({ accepted, duplicates }, { accepted: 0, duplicates: keys.length }, 'all were published');
}

describe('two instances behind one name', () => {
  onInstances('answer through nginx, also after one is killed', (t) => behind(t, nginx, { mayRefuse: false }));
  // Debian's Caddy 2.6 does not give a POST to another instance.
  onInstances('answer through Caddy, also after one is killed', (t) => behind(t, caddy, { mayRefuse: true }));
});
