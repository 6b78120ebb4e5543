/** Every page of both portals, and of those who are not signed in, is HTML in which the Nu Html Checker finds no error. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { htmlChecker } from '../../scripts/runtimes/programs.ts';
import { SERVICE } from '../../src/domain/acting.ts';
import { cleanUp } from '../support/cleanup.ts';
import { makeCustomer, ORDERS, seedBelongings, sessionOf } from '../support/customers.ts';
import { shownPages } from '../support/portal-pages.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { type SeededIds, seededPath, seedPortal, type Words } from '../support/portal-seed.ts';
import { startReceiver } from '../support/receiver.ts';
import { startService } from '../support/service.ts';
import { sharedCertificates } from '../support/tls.ts';

const WORDS: Words = {
  userName: 'grace',
  displayName: 'Grace Hopper',
  product: 'Orders API',
  description: 'Orders of the shop.',
  application: 'Warehouse sync',
  endpoints: ['Acme shop', 'Globex', 'Initech staging'],
  webhooks: ['Orders to Acme', 'Orders to Globex', 'Orders to Initech'],
  eventTypes: [ORDERS, 'invoice.paid'],
  keys: ['acme-2026', 'globex-2026'],
  data: (number) => ({ orderId: number }),
  subject: 'customer-4711',
  failure: { status: 503, headers: { 'content-type': 'text/plain' }, body: 'busy' },
};

/** More than the portal of a customer has with the least rows. */
const PAGES_MIN = 80;

it('every page has valid markup', async (t) => {
  const { ca, server } = sharedCertificates();
  const service = await startService(t, { ca });
  const receiver = await startReceiver(t, server, { clock: service.clock });
  const { ids } = await seedPortal({ service, admin: service.admin, receiver }, WORDS);
  const customer = await makeCustomer(service);
  const own = await seedBelongings(service, customer);
  const { token } = await newSession(service, 'administrator');
  const link = await sessionOf(service, customer, 'link');
  const folder = mkdtempSync(join(tmpdir(), 'pages-'));
  cleanUp(t, () => rmSync(folder, { recursive: true }));
  let kept = 0;
  const keep = async (path: string, session?: string): Promise<void> => {
    const page = await request(service.url + path, { token: session });
    if (page.headers.get('content-type')?.startsWith('text/html') !== true || page.text === '') return;
    kept += 1;
    writeFileSync(join(folder, `${kept}${path.replaceAll(/[^a-z]+/gi, '-')}.html`), page.text);
  };
  const keepAll = async (session: string, seeded: SeededIds): Promise<void> => {
    for (const { path } of shownPages()) {
      const target = seededPath(path, seeded);
      if (target !== null) await keep(target, session);
    }
  };
  await keepAll(token, { ...ids, '/customers': customer.id });
  await keepAll(link, Object.fromEntries(Object.entries(own.ids).map(([kind, id]) => [`/${kind}`, id])));
  for (const path of ['/nothing', '/results/none', '/search?q=token+expiration']) await keep(path, token);
  const { token: invitation } = await service.services.invitations.invite(customer.userId, SERVICE);
  for (const path of [
    '/sign-in',
    `/sign-in/${customer.id}`,
    '/session-ended',
    '/portal-links/x',
    `/invitations/${invitation}`,
  ])
    await keep(path);
  assert.ok(kept > PAGES_MIN, String(kept));

  const checked = spawnSync('java', ['-jar', htmlChecker(), '--errors-only', '--format', 'gnu', folder], {
    encoding: 'utf8',
  });
  assert.equal(checked.error, undefined);
  // One line for each kind of error.
  const errors = new Map(checked.stderr.split('\n').map((line) => [line.replace(/^.*?: (?=error|fatal)/, ''), line]));
  errors.delete('');
  assert.deepEqual([...errors.values()], []);
  assert.equal(checked.status, 0);
});
