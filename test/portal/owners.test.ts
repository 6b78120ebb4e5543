/** Whose a record is, wherever the operator sees one. A customer's portal never says it: everything there is its own. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { succeeded } from '../support/client.ts';
import { created } from '../support/customers.ts';
import { startHistory } from '../support/portal-history.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { startService } from '../support/service.ts';

const OWNER = 'Acme';
/** The customer's records are named after it in lower case, so the name with a capital is that of the owner. */
const PAGES = (ids: Readonly<Record<string, string>>): readonly string[] => [
  '/',
  '/endpoints',
  '/webhooks',
  '/keys',
  '/applications',
  '/users',
  '/deliveries',
  '/deliveries/failures',
  '/deliveries/watch',
  `/deliveries/replay?webhook=${ids.webhooks}`,
  '/webhooks/suggestions?webhook=acme',
  '/search?q=of+acme',
  '/event-types',
];

/** Pages that create, change or delete: their titles and breadcrumbs say whose. */
const DANGEROUS = (ids: Readonly<Record<string, string>>): readonly string[] => [
  ...['endpoints', 'webhooks', 'keys', 'applications', 'users'].flatMap((list) => [
    `/${list}/${ids[list]}/edit`,
    `/${list}/${ids[list]}/delete`,
  ]),
  ...['rotate-secret', 'rotate-api-key', 'rotate-authentication', 'receiver'].map(
    (page) => `/endpoints/${ids.endpoints}/${page}`,
  ),
  ...['regenerate-secret', 'revoke-tokens'].map((page) => `/applications/${ids.applications}/${page}`),
];

describe('the owner of a record', () => {
  it('stands on every page of the operator, and on none of the customer', async (t) => {
    const { service, ids, sessions } = await startHistory(t);
    const open = (path: string, token: string) => request(`${service.url}${path}`, { token });
    for (const path of PAGES(ids.customer)) {
      const { status, text } = await open(path, sessions.operator);
      assert.equal(status, 200, path);
      assert.match(mainOf(text), new RegExp(`\\b${OWNER}\\b`), path);
      const theirs = await open(path, sessions.customer);
      if (theirs.status === 200) assert.doesNotMatch(mainOf(theirs.text), /· Acme|cell-owner/, path);
    }
    // Its keys may have the names of a customer's.
    assert.match((await open('/keys', sessions.operator)).text, /cell-owner quiet">Your company</);
  });

  it('is in the title and the breadcrumbs of what changes it, and of the results', async (t) => {
    const { service, ids, sessions } = await startHistory(t);
    const open = (path: string, token: string) => request(`${service.url}${path}`, { token });
    const crumb = `<a href="/customers/${ids.operator.customers}">${OWNER}</a>`;
    for (const path of DANGEROUS(ids.customer)) {
      const { status, text } = await open(path, sessions.operator);
      assert.equal(status, 200, path);
      assert.match(headingOf(text), / · Acme(\?| cannot be deleted yet)?$/, path);
      assert.ok(crumbsOf(text).includes(crumb), path);
      const theirs = await open(path, sessions.customer);
      assert.doesNotMatch(mainOf(theirs.text), /· Acme|\/customers\//, path);
    }
    // The operator's own have no customer.
    for (const path of DANGEROUS(ids.operator)) {
      const { text } = await open(path, sessions.operator);
      assert.doesNotMatch(headingOf(text) + crumbsOf(text), /·|\/customers/, path);
    }
    const endpoint = `/endpoints/${ids.customer.endpoints}`;
    assert.match((await open(endpoint, sessions.operator)).text, /<title>Endpoint of acme · Acme – /);
    const results = [
      [`${endpoint}/rotate-secret`, { activateAfterSeconds: '86400', overlapSeconds: '0' }, 'New secret for '],
      [`/applications/${ids.customer.applications}/regenerate-secret`, { overlapSeconds: '0' }, 'New secret of '],
      [`/users/${ids.customer.users}/invite`, {}, 'Invitation for '],
    ] as const;
    for (const [path, form, title] of results) {
      const sent = await request(`${service.url}${path}`, { token: sessions.operator, form });
      assert.equal(sent.status, 303, path);
      const { text } = await open(sent.headers.get('location') ?? '', sessions.operator);
      assert.match(headingOf(text), new RegExp(`^${title}.* · Acme$`));
      assert.ok(crumbsOf(text).includes(crumb), path);
    }
    const done = await request(`${service.url}/users/${ids.customer.users}/invite`, {
      token: sessions.customer,
      form: {},
    });
    assert.doesNotMatch(headingOf((await open(done.headers.get('location') ?? '', sessions.customer)).text), /·/);
  });

  it('is chosen first in the form of a new record, also without the script', async (t) => {
    const { service, ids, sessions } = await startHistory(t);
    const customer = ids.operator.customers ?? '';
    const token = sessions.operator;
    const open = async (path: string, as = token) => (await request(`${service.url}${path}`, { token: as })).text;
    for (const list of ['endpoints', 'webhooks', 'applications', 'users', 'keys']) {
      const own = await open(`/${list}/new`);
      assert.match(own, /name="for" type="radio" value="own" checked/, list);
      const theirs = await open(`/${list}/new?customer=${customer}`);
      assert.match(theirs, /name="for" type="radio" value="customer" checked/, list);
      assert.match(theirs, /name="customer"[^>]* value="Acme"/, list);
      assert.ok(theirs.indexOf('name="for"') < theirs.indexOf('id="field-name"') || list === 'users', list);
      assert.doesNotMatch(await open(`/${list}/new`, sessions.customer), /name="(for|customer|customerId)"/, list);
    }
    const webhook = { name: 'Parcels', eventTypes: 'order.shipped', format: 'standard', for: 'customer' };
    const send = (path: string, form: Readonly<Record<string, string>>, as = token) =>
      request(`${service.url}${path}`, { token: as, form });
    const offered = (text: string): string[] =>
      [...(/<select id="field-endpointId".*?<\/select>/s.exec(text)?.[0] ?? '').matchAll(/value="([^"]+)"/g)].map(
        ([, id = '']) => id,
      );
    assert.ok(offered(await open('/webhooks/new')).includes(ids.operator.endpoints ?? ''));

    // Choosing creates nothing, keeps what was typed, and offers what is the customer's.
    const chosen = await send('/webhooks/new?chooses', {
      ...webhook,
      customer: 'acme-1',
      endpointId: ids.operator.endpoints ?? '',
    });
    assert.equal(chosen.status, 200);
    assert.deepEqual(offered(chosen.text), [ids.customer.endpoints]);
    assert.match(chosen.text, /name="name"[^>]* value="Parcels"/);
    assert.match(chosen.text, /name="customer"[^>]* value="Acme"/);
    // A part of a name is enough if one customer fits. What does not fit is said beside the field alone.
    const part = await send('/webhooks/new?chooses', { ...webhook, customer: 'acm' });
    assert.match(part.text, /name="customer"[^>]* value="Acme"/);
    assert.deepEqual(offered(part.text), [ids.customer.endpoints]);
    const unknown = await send('/webhooks/new?chooses', { ...webhook, customer: 'Nobody' });
    assert.equal(unknown.status, 200);
    assert.match(unknown.text, /Customer “Nobody” does not exist\. Enter a name, an id or an external id\./);
    assert.doesNotMatch(unknown.text, /error-summary|data-focus/);
    const sent = await send('/webhooks/new', { ...webhook, customer: 'Nobody' });
    assert.equal(sent.status, 400);
    assert.match(sent.text, /error-summary/);
    const before = await service.services.webhooks.list('', 50);
    assert.equal(
      before.some(({ name }) => name === 'Parcels'),
      false,
    );

    // An endpoint of another owner is refused, and so is a customer that is not named.
    for (const [more, status] of [
      [{ customer: 'Acme', endpointId: ids.operator.endpoints ?? '' }, 400],
      [{ customer: '', endpointId: ids.customer.endpoints ?? '' }, 400],
      [{ customer: 'Acme', endpointId: ids.customer.endpoints ?? '' }, 303],
    ] as const) {
      assert.equal((await send('/webhooks/new', { ...webhook, ...more })).status, status);
    }
    const made = (await service.services.webhooks.list('', 50)).filter(({ name }) => name === 'Parcels');
    assert.deepEqual(
      made.map(({ customerId }) => customerId),
      [customer],
    );
    await created(service.admin, 'customers', { name: 'Acme Labs' });
    const several = await send('/webhooks/new?chooses', { ...webhook, customer: 'acm' });
    assert.match(several.text, /Customer “acm” does not exist\. Did you mean Acme Labs or Acme\?/);
    // In a customer's portal the fields mean nothing: what it creates is its own.
    const theirs = { userName: 'linus', role: 'viewer', for: 'own' };
    assert.equal((await send('/users/new', theirs, sessions.customer)).status, 303);
    assert.equal(
      (await service.services.users.list('', 50)).find(({ userName }) => userName === 'linus')?.customerId,
      customer,
    );
  });
});

it('the customer of a form is found by its name among any number of similar ones, and never guessed', async (t) => {
  const service = await startService(t);
  const { token } = await newSession(service, 'administrator');
  const acme = await created(service.admin, 'customers', { name: 'Acme', externalId: 'acme-1' });
  for (let n = 0; n < 21; n += 1) await created(service.admin, 'customers', { name: `Acme ${n}` });
  let made = 0;
  const send = async (customer: string) => {
    made += 1;
    const form = { name: `At ${made}`, url: `https://shop.example/${made}`, tokenChallenge: 'false', for: 'customer' };
    return request(`${service.url}/endpoints/new`, { token, form: { ...form, customer } });
  };
  const owners = async () => (await service.services.endpoints.list('', 50)).map(({ customerId }) => customerId);
  assert.equal((await send('acme')).status, 303);
  assert.deepEqual(await owners(), [acme.id]);
  const filtered = (await request(`${service.url}/endpoints?customer=Acme`, { token })).text;
  assert.match(filtered, />At 1</);

  const namesake = await created(service.admin, 'customers', { name: 'Acme' });
  const refused = await send('Acme');
  assert.equal(refused.status, 400);
  assert.match(refused.text, /Customer “Acme” fits several\. Enter the id or the external id of one\./);
  assert.deepEqual(await owners(), [acme.id]);
  for (const one of ['acme-1', String(namesake.id)]) assert.equal((await send(one)).status, 303);
  assert.deepEqual(await owners(), [acme.id, acme.id, namesake.id]);
  // Another case is another name.
  const loud = await created(service.admin, 'customers', { name: 'ACME' });
  assert.equal((await send('ACME')).status, 303);
  assert.equal((await owners()).at(-1), loud.id);

  const publish = (customer: unknown) => request(`${service.url}/publish?customer=${customer}`, { token });
  assert.match((await publish(namesake.id)).text, new RegExp(`name="customer"[^>]* value="${namesake.id}"`));
  assert.match((await publish(loud.id)).text, /name="customer"[^>]* value="ACME"/);
});

it('a form for a customer that is gone says so, and is not one for the operator', async (t) => {
  const service = await startService(t);
  const { token } = await newSession(service, 'administrator');
  const { id } = await created(service.admin, 'customers', { name: 'Acme' });
  await succeeded(service.admin.delete(`customers/${id}`));
  const send = (form: Readonly<Record<string, string>>) => request(`${service.url}/endpoints/new`, { token, form });
  const endpoint = { name: 'Shop', url: 'https://shop.example/in', tokenChallenge: 'false' };
  const chosen = await send({ ...endpoint, for: 'customer', customer: 'Acme', customerId: id });
  assert.equal(chosen.status, 400);
  assert.match(chosen.text, /id="field-customer-problem">Customer “Acme” does not exist\./);
  assert.match(chosen.text, /name="customer"[^>]* value="Acme"/);
  const given = await send({ ...endpoint, customerId: id });
  assert.equal(given.status, 404);
  assert.match(given.text, /There is nothing here/);
  assert.doesNotMatch(given.text, /name="url"/);
  assert.deepEqual(await service.services.endpoints.list('', 10), []);
});

function headingOf(page: string): string {
  return /<h1>(.*?)<\/h1>/s.exec(page)?.[1] ?? '';
}

function crumbsOf(page: string): string {
  return /<nav aria-label="Breadcrumb".*?<\/nav>/s.exec(page)?.[0] ?? '';
}

function mainOf(page: string): string {
  return page.slice(page.indexOf('<main'));
}
