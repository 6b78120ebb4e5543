/** Forms about a record that changes after they were opened. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeEvent, OPERATOR_ONLY } from '../../src/domain/event.ts';
import { createIds, randomBytes } from '../../src/kernel/ids.ts';
import { SEEN_FIELD } from '../../src/portal/parts/fields.ts';
import { fieldDifferences } from '../../src/portal/record/record-form.ts';
import { expiryStore } from '../../src/store/shared/expiry.ts';
import { type ApiClient, succeeded } from '../support/client.ts';
import { startDeliverPortal } from '../support/deliver-portal.ts';
import { makeEventType, unique } from '../support/journey.ts';
import { formAt, sendForm } from '../support/portal-forms.ts';
import { newSession } from '../support/portal-requests.ts';
import { openBeside, startService } from '../support/service.ts';
import { sharedCertificates } from '../support/tls.ts';
import { pgpVector } from '../support/vectors.ts';

type Fields = Readonly<Record<string, unknown>>;
type Kind = {
  readonly collection: string;
  readonly body: Fields;
  /** The other change, and how the page shows it. */
  readonly other: Fields;
  readonly now: string;
  /** The values typed into the form, and how the page shows them. */
  readonly typed: Readonly<Record<string, string>>;
  readonly yours: string;
  /** The record after it was saved. */
  readonly saved: Fields;
  /** Typed secrets, and the ones that the page asks for again. */
  readonly secrets?: Readonly<Record<string, string>>;
  readonly typeAgain?: string;
  /** Further forms that act on the record, with their choices. */
  readonly actions?: Readonly<Record<string, Readonly<Record<string, string>>>>;
};

const url = 'https://receiver.example/hook';
const idOf = async (made: Promise<{ id: string }>): Promise<string> => (await made).id;
const make = (admin: ApiClient, collection: string, body: Fields): Promise<{ id: string }> =>
  succeeded(admin.post(collection, body));

const KINDS: Readonly<Record<string, (admin: ApiClient) => Promise<Kind>>> = {
  'a user': async () => ({
    collection: 'users',
    body: { userName: 'ada', role: 'viewer', permissions: ['orders:view'] },
    other: { permissions: ['orders:view', 'orders:manage'] },
    now: '<div>orders:manage</div><div>orders:view</div>',
    typed: { displayName: 'Countess <b>' },
    yours: 'Countess &lt;b&gt;',
    saved: { displayName: 'Countess <b>', permissions: ['orders:view'] },
  }),
  'an application': async (admin) => ({
    collection: 'applications',
    body: { name: 'robot', userId: await idOf(make(admin, 'users', { userName: 'robot' })) },
    other: { accessTokenValiditySeconds: 777 },
    now: '777',
    typed: { name: 'Mine' },
    yours: 'Mine',
    saved: { name: 'Mine', accessTokenValiditySeconds: 3600 },
    actions: { 'regenerate-secret': { overlapSeconds: '0' }, 'revoke-tokens': {} },
  }),
  'a product': async () => ({
    collection: 'products',
    body: { name: 'Shop', scopes: [{ name: 'orders:view', description: 'See orders.' }] },
    other: { scopes: [{ name: 'orders:view', description: 'Read orders.' }] },
    now: 'orders:view: Read orders.',
    typed: { name: 'Mine' },
    yours: 'orders:view: See orders.',
    saved: { name: 'Mine', scopes: [{ name: 'orders:view', description: 'See orders.' }] },
  }),
  'an endpoint': async () => ({
    collection: 'endpoints',
    body: {
      name: 'In',
      url,
      oauth: { clientId: 'c', clientSecret: 'kept-secret', tokenUrl: 'https://login.example/token' },
    },
    other: { oauth: { clientId: 'theirs' } },
    now: 'theirs',
    typed: { name: 'Mine' },
    yours: 'Mine',
    saved: { name: 'Mine' },
    secrets: { 'oauth.clientSecret': 'typed-secret' },
    typeAgain: 'Client secret',
    actions: {
      'rotate-secret': { activateAfterSeconds: '0', overlapSeconds: '0', secret: 'agreed-secret-of-32-characters!!' },
      'rotate-api-key': { activateAfterSeconds: '0' },
    },
  }),
  'a key': async () => ({
    collection: 'keys',
    body: { name: 'first', publicKey: pgpVector('curve25519') },
    other: { publicKey: pgpVector('rsa4096') },
    now: 'Public key',
    typed: { name: 'mine' },
    yours: 'mine',
    saved: { name: 'mine' },
  }),
  'an event type': async () => ({
    collection: 'event-types',
    body: { name: 'order.placed' },
    other: { dataSchema: { required: ['orderId'] } },
    now: 'orderId',
    typed: { description: 'Mine' },
    yours: 'Mine',
    saved: { description: 'Mine', dataSchema: null },
  }),
  'a webhook': async (admin) => {
    await makeEventType(admin, 'invoice.paid');
    const endpointId = await idOf(make(admin, 'endpoints', { name: 'In', url }));
    const second = await idOf(make(admin, 'endpoints', { name: 'The other endpoint', url }));
    return {
      collection: 'webhooks',
      body: { name: 'Invoices', endpointId, eventTypes: ['invoice.paid', 'order.*'] },
      other: { endpointId: second },
      now: 'The other endpoint',
      typed: { 'retry.maxAttempts': '7' },
      yours: '7',
      saved: { endpointId, retry: { policy: 'exponential', maxAttempts: 7 } },
    };
  },
};

const CHANGED = 'This was changed after you opened it';
const table = (text: string): string => /<caption[^>]*>What differs[\s\S]*?<\/table>/.exec(text)?.[0] ?? '';

describe('a form that was opened before another change of', () => {
  for (const [name, prepare] of Object.entries(KINDS)) {
    it(`${name} saves nothing, shows both values, and saves when it is sent again`, async (t) => {
      const service = await startService(t);
      const { admin } = service;
      const { token } = await newSession(service, 'administrator');
      const { collection, body, other, now, typed, yours, saved, secrets = {}, typeAgain } = await prepare(admin);
      const { id } = await make(admin, collection, body);
      const path = `${service.url}/${collection}/${id}/edit`;
      const record = async (): Promise<Fields> => succeeded(admin.get(`${collection}/${id}`));

      const opened = await formAt(path, token);
      const { headers } = await admin.get(`${collection}/${id}`);
      // The tags of these forms leave out what the service itself writes.
      if (!['webhooks', 'endpoints', 'keys'].includes(collection))
        assert.equal(opened.get(SEEN_FIELD), headers.get('etag'));
      await succeeded(admin.patch(`${collection}/${id}`, other));
      const before = await record();
      const refused = await sendForm(path, token, opened, { ...typed, ...secrets });
      assert.equal(refused.status, 412, refused.text);
      assert.match(refused.text, new RegExp(CHANGED));
      assert.ok(table(refused.text).includes(yours), `yours: ${table(refused.text)}`);
      assert.ok(table(refused.text).includes(now), `now: ${table(refused.text)}`);
      for (const secret of [...Object.values(secrets), 'kept-secret']) assert.ok(!refused.text.includes(secret));
      if (typeAgain !== undefined) assert.ok(refused.text.includes(`Enter again: ${typeAgain}.`));
      assert.deepEqual(await record(), before);

      const second = await formAt(path, token, refused);
      for (const [field, value] of Object.entries(typed)) assert.equal(second.get(field), value);
      for (const field of Object.keys(secrets)) assert.equal(second.get(field), '');
      assert.equal((await sendForm(path, token, opened, typed)).status, 412, 'the first form stays out of date');
      assert.deepEqual(await record(), before);

      const done = await sendForm(path, token, second, secrets);
      assert.equal(done.status, 303, done.text);
      const after = await record();
      for (const [field, value] of Object.entries(saved)) assert.deepEqual(after[field], value, field);
    });

    it(`${name} and that was to delete it leaves it until it is sent again`, async (t) => {
      const service = await startService(t);
      const { admin } = service;
      const { token } = await newSession(service, 'administrator');
      const { collection, body, other, actions = {} } = await prepare(admin);
      const { id } = await make(admin, collection, body);
      const read = () => admin.get<Fields>(`${collection}/${id}`);
      const opened = new Map<string, URLSearchParams>();
      for (const action of [...Object.keys(actions), 'delete']) {
        opened.set(action, await formAt(`${service.url}/${collection}/${id}/${action}`, token));
      }
      await succeeded(admin.patch(`${collection}/${id}`, other));
      const before = (await read()).body;
      for (const [action, form] of opened) {
        const path = `${service.url}/${collection}/${id}/${action}`;
        const refused = await sendForm(path, token, form, actions[action]);
        assert.equal(refused.status, 412, `${action}: ${refused.text}`);
        assert.match(refused.text, new RegExp(CHANGED));
        assert.doesNotMatch(refused.text, /agreed-secret/);
        assert.deepEqual((await read()).body, before, action);
        opened.set(action, await formAt(path, token, refused));
      }
      const path = `${service.url}/${collection}/${id}/delete`;
      const done = await sendForm(path, token, opened.get('delete') ?? new URLSearchParams());
      assert.equal(done.status, 303, done.text);
      assert.equal((await read()).status, 404);
    });
  }

  it('a secret to be replaced makes one when it is sent again, and the same one when that is sent twice', async (t) => {
    const service = await startService(t);
    const { admin } = service;
    const { token } = await newSession(service, 'administrator');
    const userId = await idOf(make(admin, 'users', { userName: 'robot' }));
    const { id } = await make(admin, 'applications', { name: 'robot', userId });
    const path = `${service.url}/applications/${id}/regenerate-secret`;
    const opened = await formAt(path, token);
    await succeeded(admin.post(`applications/${id}/regenerate-secret`, { overlapSeconds: 3600 }));
    const refused = await sendForm(path, token, opened, { overlapSeconds: '0' });
    assert.equal(refused.status, 412);
    const form = await formAt(path, token, refused);
    const made = [await sendForm(path, token, form), await sendForm(path, token, form)];
    assert.deepEqual(
      made.map(({ status }) => status),
      [303, 303],
    );
    const [first, second] = made.map(({ headers }) => headers.get('location'));
    assert.equal(first, second);
  });

  it('keeps the tag that it was opened with while other things are wrong with it', async (t) => {
    const service = await startService(t);
    const { admin } = service;
    const { token } = await newSession(service, 'administrator');
    const { id } = await make(admin, 'event-types', { name: 'order.placed' });
    const path = `${service.url}/event-types/${id}/edit`;
    const opened = await formAt(path, token);
    await succeeded(admin.patch(`event-types/${id}`, { description: 'Theirs' }));
    const wrong = await sendForm(path, token, opened, { dataSchema: '{' });
    assert.equal(wrong.status, 400);
    const late = await sendForm(path, token, await formAt(path, token, wrong), { dataSchema: '' });
    assert.equal(late.status, 412);
    assert.equal((await succeeded<Fields>(admin.get(`event-types/${id}`))).description, 'Theirs');
  });
});

describe('a form of a webhook', () => {
  it('is not out of date because the webhook started, which a person decides elsewhere', async (t) => {
    const service = await startService(t);
    const { admin } = service;
    const { token } = await newSession(service, 'administrator');
    const endpointId = await idOf(make(admin, 'endpoints', { name: 'In', url }));
    await makeEventType(admin, 'order.placed');
    const { id } = await make(admin, 'webhooks', { name: 'Orders', endpointId, eventTypes: ['order.placed'] });
    const path = `${service.url}/webhooks/${id}/edit`;
    const opened = await formAt(path, token);
    await succeeded(admin.post(`webhooks/${id}/start`));
    assert.equal((await sendForm(path, token, opened, { name: 'Mine' })).status, 303);
    assert.equal((await succeeded<Fields>(admin.get(`webhooks/${id}`))).name, 'Mine');
  });
});

describe('a form of an endpoint', () => {
  it('is not out of date because the service warned that the client certificate expires', async (t) => {
    const service = await startService(t);
    const { admin } = service;
    const { token } = await newSession(service, 'administrator');
    const clientCertificate = sharedCertificates().issue({ names: ['us.example'], days: 25 });
    const { id } = await make(admin, 'endpoints', { name: 'In', url, clientCertificate });
    const path = `${service.url}/endpoints/${id}/edit`;
    const opened = await formAt(path, token);
    const db = await openBeside(t, service);
    const expiry = expiryStore(db);
    const expiring = await expiry.next(service.clock(), [30]);
    assert.ok(expiring?.id === id);
    const ids = createIds(service.clock, randomBytes);
    const event = makeEvent(
      { type: 'webhook.key_expiring', audience: OPERATOR_ONLY, data: {} },
      { ids, now: service.clock() },
    );
    await expiry.warn(expiring, 30, event);
    assert.equal((await sendForm(path, token, opened, { name: 'Mine' })).status, 303);
    assert.equal((await succeeded<Fields>(admin.get(`endpoints/${id}`))).name, 'Mine');
  });
});

describe('what differs between two forms', () => {
  const cases: readonly [what: string, yours: Fields, now: Fields, fields: readonly string[]][] = [
    ['nothing', { a: 1, b: ['x', 'y'] }, { b: ['y', 'x'], a: 1 }, []],
    ['empty and absent', { a: '', b: [], c: null }, { d: null }, []],
    [
      'a member of an object',
      { retry: { policy: 'linear', max: 1 } },
      { retry: { policy: 'linear', max: 2 } },
      ['retry.max'],
    ],
    ['an object that one has', { oauth: { clientId: 'c' } }, { oauth: null }, ['oauth.clientId']],
    ['no and absent', { a: false }, {}, ['a']],
  ];
  for (const [what, yours, now, fields] of cases) {
    it(`is ${JSON.stringify(fields)} for ${what}`, () => {
      assert.deepEqual(
        fieldDifferences(yours, now).map(({ field }) => field),
        fields,
      );
    });
  }
});

describe('two administrators at one user', () => {
  for (const isScriptless of [false, true]) {
    it(`do not overwrite each other${isScriptless ? ', without JavaScript' : ''}`, async (t) => {
      const { openAs, admin } = await startDeliverPortal(t);
      const { id } = await make(admin, 'users', { userName: unique('ada'), role: 'viewer', displayName: 'Ada' });
      const expecting = [412];
      const first = await openAs('administrator', `/users/${id}/edit`, { isBrowserless: isScriptless, expecting });
      const second = await openAs('administrator', `/users/${id}/edit`, { isBrowserless: true });
      await second.page.getByLabel('Name', { exact: false }).nth(1).fill('Ada Lovelace');
      await second.page.getByRole('button', { name: 'Save' }).click();
      await second.page.getByText('is saved.').waitFor();

      const { page } = first;
      await page.getByLabel('Email address').fill('ada@example.com');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('alert').getByText(CHANGED).waitFor();
      const rows = await page.getByRole('table', { name: 'What differs' }).getByRole('row').allInnerTexts();
      assert.deepEqual(
        rows.slice(1).map((row) => row.split(/\s*[\t\n]\s*/)),
        [
          ['Name', 'Ada', 'Ada Lovelace'],
          ['Email address', 'ada@example.com', 'none'],
        ],
      );
      assert.equal(await page.getByLabel('Email address').inputValue(), 'ada@example.com');
      if (!isScriptless) await first.isAccessible();
      assert.equal((await succeeded<Fields>(admin.get(`users/${id}`))).email, null);
      await page.locator('[name=displayName]').fill('Ada Lovelace');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('is saved.').waitFor();
      const { displayName, email } = await succeeded<Fields>(admin.get(`users/${id}`));
      assert.deepEqual([displayName, email], ['Ada Lovelace', 'ada@example.com']);
    });
  }
});
