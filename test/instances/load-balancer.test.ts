/** Two instances behind a real nginx and a real Caddy, with the configurations of docs/how-to/run-on-postgresql.md. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, type TestContext } from 'node:test';
import { cleanUp } from '../support/cleanup.ts';
import { createClient, succeeded, tokenFor } from '../support/client.ts';
import { onInstances } from '../support/instances.ts';
import { type RunningProxy, startCaddyWith, startNginxWith } from '../support/proxies.ts';
import { type ServiceProcess, spawnService } from '../support/service.ts';

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

/** Every request is answered as if there were one instance, also after one is killed. */
async function behind(t: TestContext, start: Balanced): Promise<void> {
  const one = await spawnService(t);
  const two = await spawnService(t, { after: one });
  const proxy = await start([one, two]);
  cleanUp(t, proxy.stop);
  const admin = createClient(proxy.url, await tokenFor(proxy.url, one.credentials));
  await succeeded(admin.post('event-types', { name: 'order.created', description: 'An order was placed.' }));
  const round = async (): Promise<void> => {
    for (let orderId = 0; orderId < 20; orderId += 1) {
      const { status, body } = await admin.post('events', { type: 'order.created', data: { orderId } });
      assert.equal(status, 202, JSON.stringify(body));
      await succeeded(admin.get('webhooks'));
    }
  };
  await round();
  for (const { log } of [one, two]) assert.match(log.text(), /"path":"[^"]*\/edge\/v1\//, 'both have answered');
  one.kill('SIGKILL');
  await one.exited;
  await round();
}

describe('two instances behind one name', () => {
  onInstances('answer everything through nginx, also after one is killed', (t) => behind(t, nginx));
  onInstances('answer everything through Caddy, also after one is killed', (t) => behind(t, caddy));
});
