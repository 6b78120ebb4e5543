/** Who comes into a customer's portal and API, and what ends it: portal links, sessions, tokens, and the customer itself. */
import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { SESSION_COOKIE } from '../../src/portal/frame/cookies.ts';
import { errorOf, refusalOf, succeeded, TOKEN, tokenFor } from '../support/client.ts';
import { created, makeCustomer, ORDERS, openLink, sessionOf, type TestCustomer } from '../support/customers.ts';
import { deliveriesOf, makeEventType, readWebhook, startJourney } from '../support/journey.ts';
import { request } from '../support/portal-requests.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { type ServiceInProcess, startService } from '../support/service.ts';

repeatsInSlowTier('postgres');

type Link = { readonly url: string; readonly expiresAt: string };

function linkFor({ admin }: ServiceInProcess, { id }: Pick<TestCustomer, 'id'>, more: object = {}): Promise<Link> {
  return created(admin, `customers/${id}/portal-links`, { role: 'administrator', ...more });
}

async function open(t: TestContext): Promise<{ service: ServiceInProcess; customer: TestCustomer }> {
  const service = await startService(t);
  return { service, customer: await makeCustomer(service) };
}

/** The answer of an unusable link, without its error id and the cookie of a new visitor. */
async function answerOf(url: string): Promise<unknown> {
  const { status, headers, text } = await request(url);
  assert.ok(!(headers.get('set-cookie') ?? '').includes(`${SESSION_COOKIE}=`));
  return [status, text.replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|value="[\w-]{60,}"/g, '…')];
}

describe('a portal link', () => {
  it('opens the portal of its customer once', async (t) => {
    const { service, customer } = await open(t);
    const { url } = await linkFor(service, customer);
    const token = await openLink(url);
    const { status, text } = await request(`${service.url}/`, { token });
    assert.equal(status, 200);
    assert.match(text, /Overview/);
    assert.equal((await request(url)).status, 404);
    assert.equal((await request(`${service.url}/`, { token })).status, 200);
  });

  it('is opened by one of several visitors who come at the same time', async (t) => {
    const { service, customer } = await open(t);
    const { url } = await linkFor(service, customer);
    const replies = await Promise.all([1, 2, 3, 4].map(() => request(url)));
    assert.deepEqual(replies.map(({ status }) => status).sort(), [303, 404, 404, 404]);
    const cookies = replies.filter(({ headers }) => headers.get('set-cookie')?.includes(`${SESSION_COOKIE}=`));
    assert.equal(cookies.length, 1);
  });

  it('is not used up by programs that look at it, or by browsers that fetch it ahead', async (t) => {
    const { service, customer } = await open(t);
    const { url } = await linkFor(service, customer);
    for (const [method, headers] of [
      ['HEAD', {}],
      ['GET', { 'sec-purpose': 'prefetch' }],
      ['GET', { 'sec-purpose': 'prefetch;prerender' }],
      ['GET', { purpose: 'prefetch' }],
      ['GET', { 'x-moz': 'prefetch' }],
    ] as const) {
      const reply = await request(url, { method, headers });
      assert.equal(reply.status, 404, JSON.stringify(headers));
      assert.equal(reply.headers.get('set-cookie')?.includes(`${SESSION_COOKIE}=`) ?? false, false);
    }
    await openLink(url);
  });

  it('answers the same if it was used, has expired, is unknown, or is of an inactive or deleted customer', async (t) => {
    const { service, customer } = await open(t);
    const { admin } = service;
    const gone = await created(admin, 'customers', { name: 'gone' });
    const used = await linkFor(service, customer);
    await openLink(used.url);
    const ofGone = await linkFor(service, gone);
    assert.equal((await admin.delete(`customers/${gone.id}`)).status, 204);
    const other = await makeCustomer(service);
    const ofInactive = await linkFor(service, other);
    await succeeded(admin.patch(`customers/${other.id}`, { active: false }));
    const expired = await linkFor(service, customer, { expiresInSeconds: 60 });
    service.advance(60_000);
    const unknown = await answerOf(`${service.url}/portal-links/${'A'.repeat(43)}`);
    assert.equal((unknown as [number])[0], 404);
    for (const { url } of [used, ofGone, ofInactive, expired]) assert.deepEqual(await answerOf(url), unknown);
  });

  it('is in no log, and no page tells another site where it came from', async (t) => {
    const { service, customer } = await open(t);
    const { url } = await linkFor(service, customer);
    const token = url.split('/').at(-1) ?? '';
    for (let visits = 0; visits < 2; visits += 1) {
      const { headers } = await request(url);
      assert.equal(headers.get('referrer-policy'), 'same-origin');
      assert.match(headers.get('cache-control') ?? '', /no-store/);
    }
    await service.log.line(({ path, status }) => path === '/portal-links/[secret]' && status === 404);
    assert.ok(!service.log.text().includes(token));
    const entries = await succeeded<{ items: unknown[] }>(service.admin.get('audit?limit=200'));
    assert.ok(!JSON.stringify(entries).includes(token));
  });

  it('is for a known, active customer, and within its bounds', async (t) => {
    const { service, customer } = await open(t);
    const { admin } = service;
    const path = `customers/${customer.id}/portal-links`;
    for (const body of [
      {},
      { role: 'operator' },
      { role: 'viewer', expiresInSeconds: 59 },
      { role: 'viewer', expiresInSeconds: 86_401 },
      { role: 'viewer', sessionSeconds: 299 },
      { role: 'viewer', returnUrl: 'javascript:alert(1)' },
      { role: 'viewer', returnUrl: 'https://user:password@shop.example/' },
      { role: 'viewer', returnUrl: 'https://*' },
      { role: 'viewer', returnUrl: "https://shop.example;script-src'self'/" },
    ]) {
      assert.equal((await refusalOf(admin.post(path, body), 400)).code, 'validation_failed', JSON.stringify(body));
    }
    await refusalOf(admin.post(`customers/${customer.userId}/portal-links`, { role: 'viewer' }), 404);
    await refusalOf(customer.api.post(path, { role: 'viewer' }), 401);
    await succeeded(admin.patch(`customers/${customer.id}`, { active: false }));
    await refusalOf(admin.post(path, { role: 'viewer' }), 409);
  });

  it('opens a session that lasts as long as it says', async (t) => {
    const { service, customer } = await open(t);
    const { url } = await linkFor(service, customer, { role: 'viewer', sessionSeconds: 300 });
    const token = await openLink(url);
    const statusOf = async (path: string, form?: Record<string, string>): Promise<number> =>
      (await request(service.url + path, { token, ...(form !== undefined && { form }) })).status;
    assert.equal(await statusOf('/endpoints'), 200);
    assert.equal(await statusOf('/endpoints/new'), 403);
    service.advance(300_000);
    assert.equal(await statusOf('/endpoints'), 303);
  });
});

describe('a customer that is deactivated', () => {
  it('has its sessions, applications and tokens refused with the next request', async (t) => {
    const { service, customer } = await open(t);
    const { admin, url } = service;
    const other = await makeCustomer(service);
    const tokens = [await sessionOf(service, customer, 'user'), await sessionOf(service, customer, 'link')];
    for (const token of tokens) assert.equal((await request(`${url}/`, { token })).status, 200);
    await succeeded(customer.api.get('endpoints'));
    await succeeded(admin.patch(`customers/${customer.id}`, { active: false }));
    for (const token of tokens) {
      const { status, headers } = await request(`${url}/`, { token });
      assert.deepEqual([status, headers.get('location')], [303, '/sign-in']);
    }
    assert.equal(errorOf(await customer.api.get('endpoints')).code, 'invalid_token');
    const asked = { ...customer.credentials, grantType: 'client_credentials' };
    const refused = await customer.api.as(null).post(TOKEN, asked);
    assert.equal(errorOf(refused).code, 'invalid_client');
    await succeeded(other.api.get('endpoints'));
    await tokenFor(url, other.credentials);
    await succeeded(admin.patch(`customers/${customer.id}`, { active: true }));
    await tokenFor(url, customer.credentials);
  });

  it('has its live pages told within a second', async (t) => {
    const { service, customer } = await open(t);
    const token = await sessionOf(service, customer, 'link');
    const ended = Promise.withResolvers<string>();
    const begun = Promise.withResolvers<void>();
    const headers = { accept: 'text/event-stream', cookie: `${SESSION_COOKIE}=${token}` };
    const sent = httpRequest(`${service.url}/deliveries/live`, { headers }, (response) => {
      let text = '';
      begun.resolve();
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.once('end', () => ended.resolve(text));
    });
    sent.on('error', ended.reject);
    sent.end();
    t.after(() => sent.destroy());
    await begun.promise;
    await succeeded(service.admin.patch(`customers/${customer.id}`, { active: false }));
    assert.match(await ended.promise, /signed-out/);
  });

  it('has its webhooks stopped with their waiting records, and started again automatically', async (t) => {
    const { service, admin, receiver } = await startJourney(t);
    const customer = await makeCustomer(service);
    await makeEventType(admin, ORDERS);
    const at = receiver.endpoint('/customer');
    const endpoint = await created(customer.api, 'endpoints', {
      name: 'shop',
      url: at.url,
      secret: at.secret,
      apiKey: at.apiKey,
    });
    const body = { endpointId: endpoint.id, eventTypes: [ORDERS], heartbeatSeconds: 0, maxBatchRecords: 1 };
    const [webhook, stopped] = [
      await created(customer.api, 'webhooks', { name: 'one', ...body }),
      await created(customer.api, 'webhooks', { name: 'two', ...body }),
    ];
    await succeeded(customer.api.post(`webhooks/${webhook.id}/start`));
    await succeeded(admin.patch(`customers/${customer.id}`, { active: false }));
    const { state, stateReason } = await readWebhook(admin, webhook);
    assert.deepEqual([state, stateReason], ['stopped', 'customer_inactive']);
    await refusalOf(admin.post(`webhooks/${webhook.id}/start`), 409);
    await succeeded(admin.post('events', { type: ORDERS, data: { n: 1 }, customerId: customer.id }));
    const [waiting] = await deliveriesOf(admin, webhook);
    assert.deepEqual([waiting?.state, waiting?.attemptCount], ['pending', 0]);
    assert.equal(at.deliveries.length, 0);
    await succeeded(admin.patch(`customers/${customer.id}`, { active: true }));
    await service.log.nextAttempt(webhook.id);
    assert.equal((await deliveriesOf(admin, webhook))[0]?.state, 'delivered');
    // Someone had stopped the other one.
    assert.equal((await readWebhook(admin, stopped)).state, 'stopped');
  });
});

describe('a user of a customer', () => {
  it('is unknown at the sign-in of the operator', async (t) => {
    const { service, customer } = await open(t);
    const { admin, url } = service;
    const invitation = await created<{ url: string }>(admin, `users/${customer.userId}/invite`, {});
    const password = 'a long password of a customer';
    const form = new URLSearchParams({ password, passwordAgain: password });
    const set = await fetch(invitation.url, { method: 'POST', body: form, redirect: 'manual' });
    assert.equal(set.status, 200);
    const signIn = async (userName: string): Promise<unknown> => {
      const token = 'x'.repeat(43);
      const { status, text, headers } = await request(`${url}/sign-in`, {
        form: { userName, password, next: '/', formToken: '' },
        headers: { cookie: `${SESSION_COOKIE}=${token}` },
      });
      assert.ok(!(headers.get('set-cookie') ?? '').includes(`${SESSION_COOKIE}=`));
      return [
        status,
        text.replaceAll(userName, '…').replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|value="[\w-]{60,}"/g, '…'),
      ];
    };
    assert.deepEqual(await signIn(customer.userName), await signIn('nobody-at-all'));
    const { items } = await succeeded<{ items: { id: string }[] }>(admin.get(`audit?target=user:${customer.userId}`));
    assert.ok(items.length > 0);
  });

  it('may have the name that others have elsewhere, and gets messages only about its own', async (t) => {
    const { service, customer } = await open(t);
    const other = await makeCustomer(service);
    const user = { userName: 'ada', role: 'viewer' };
    for (const api of [service.admin, customer.api, other.api]) await created(api, 'users', user);
    const taken = await refusalOf(customer.api.post('users', user), 409);
    assert.deepEqual(
      taken.details?.map(({ field }) => field),
      ['userName'],
    );
    await created(customer.api, 'users', { userName: 'grace', role: 'viewer' });
    await created(other.api, 'users', { userName: 'grace', role: 'viewer' });
    const { items } = await succeeded<{ items: { customerId: string }[] }>(customer.api.get('users?limit=200'));
    assert.ok(items.every(({ customerId }) => customerId === customer.id));
  });
});

describe('rights of a customer', () => {
  it('go no further than the customer’s: neither a product’s scope nor the operator’s permissions', async (t) => {
    const { service, customer } = await open(t);
    const { admin } = service;
    await created(admin, 'products', {
      name: 'shop',
      scopes: [
        { name: 'shop:offered', description: 'Offered.', offered: true },
        { name: 'shop:internal', description: 'Not offered.' },
      ],
      rules: [],
    });
    const { api } = customer;
    const user = await created(api, 'users', { userName: 'plain', role: 'viewer' });
    for (const scope of ['shop:internal', 'shop:offered']) {
      const body = { name: 'more', userId: user.id, scopes: [scope] };
      assert.equal((await refusalOf(api.post('applications', body), 401)).code, 'insufficient_permission', scope);
    }
    for (const permission of [
      'catalogue:manage',
      'customers:view',
      'events:erase',
      'tokens:introspect',
      'edge:metrics',
    ]) {
      const userReply = await api.post('users', { userName: 'more', permissions: [permission] });
      assert.equal(userReply.status, 400, permission);
      const applicationReply = await api.post('applications', { name: 'more', userId: user.id, scopes: [permission] });
      assert.ok([400, 401].includes(applicationReply.status), permission);
      // The operator cannot give them to a customer either.
      const given = await admin.post('users', { customerId: customer.id, userName: 'more', permissions: [permission] });
      assert.equal(given.status, 400, permission);
    }
    assert.equal((await succeeded<{ items: object[] }>(api.get('applications'))).items.length, 1);
  });

  it('of an application that manages users do not make an administrator', async (t) => {
    const { service, customer } = await open(t);
    const { api } = customer;
    for (const role of ['administrator'] as const) {
      const refused = await refusalOf(api.post('users', { userName: 'more', role }), 401);
      assert.match(refused.description, /the role administrator/);
    }
    const user = await created(api, 'users', { userName: 'plain', role: 'viewer' });
    await refusalOf(api.patch(`users/${user.id}`, { role: 'administrator' }), 401);
    // Nor does it take over the one that there is.
    await refusalOf(api.patch(`users/${customer.userId}`, { displayName: 'mine' }), 401);
    // An administrator in the portal does.
    const token = await sessionOf(service, customer, 'link');
    const form = { userName: 'another', role: 'administrator' };
    const made = await request(`${service.url}/users/new`, { token, form });
    assert.equal(made.status, 303, made.text);
  });

  it('say nothing about the operator’s last administrator', async (t) => {
    const { service, customer } = await open(t);
    const { admin } = service;
    const { items } = await succeeded<{ items: { id: string; role: string; customerId: string | null }[] }>(
      admin.get('users?limit=200'),
    );
    const administrators = items.filter(({ role }) => role === 'administrator');
    assert.equal(administrators.length, 2);
    const last = administrators.find(({ customerId }) => customerId === null);
    // The customer's administrator is none of the operator's.
    const refused = await refusalOf(admin.patch(`users/${last?.id}`, { role: 'operator' }), 409);
    assert.equal(refused.code, 'last_administrator');
    // A customer may lose its own.
    await succeeded(admin.patch(`users/${customer.userId}`, { active: false }));
  });
});

describe('a portal token', () => {
  const tokensOf = ({ id }: Pick<TestCustomer, 'id'>) => `customers/${id}/portal-tokens`;

  it('belongs to no application, for forward auth and for introspection', async (t) => {
    const { service, customer } = await open(t);
    const { url, admin } = service;
    const { token } = await created<{ token: string }>(admin, tokensOf(customer), { role: 'viewer' });
    const { status, headers } = await fetch(`${url}/services/api/oauth2/forward-auth`, {
      headers: {
        authorization: `Bearer ${token}`,
        'x-forwarded-method': 'GET',
        'x-forwarded-uri': '/services/api/x/edge/v1/endpoints',
      },
    });
    assert.equal(status, 200);
    assert.deepEqual(
      ['x-auth-client-id', 'x-auth-user-id', 'x-auth-customer-id'].map((name) => headers.get(name)),
      ['', '', customer.id],
    );
    const introspected = async (): Promise<Record<string, unknown>> => {
      const response = await fetch(`${url}/services/api/oauth2/introspect`, {
        method: 'POST',
        headers: { authorization: `Bearer ${await tokenFor(url, service.credentials)}` },
        body: new URLSearchParams({ token }),
      });
      return (await response.json()) as Record<string, unknown>;
    };
    const { exp, jti, username, permissions, scope, constraints, ...others } = await introspected();
    assert.deepEqual(others, { active: true, token_type: 'Bearer', customerId: customer.id, iss: url, aud: url });
    assert.deepEqual(permissions, String(scope).split(' '));
    assert.deepEqual([typeof exp, typeof jti, typeof username, constraints], ['number', 'string', 'string', {}]);
    service.advance(900_000);
    assert.deepEqual(await introspected(), { active: false });
  });

  it('reaches the resources of the customer, by its role, until it expires', async (t) => {
    const { service, customer } = await open(t);
    const { admin } = service;
    const mine = await created(admin, 'endpoints', { name: 'own', url: 'https://in.example/', enabled: false });
    const theirs = { name: 'theirs', url: 'https://in.example/', enabled: false, customerId: customer.id };
    const endpoint = await created(admin, 'endpoints', theirs);
    const before = service.clock();
    const made = await created<{ token: string; expiresAt: string }>(admin, tokensOf(customer), {
      role: 'administrator',
    });
    assert.match(made.token, /^spp_[0-9A-Za-z]{49}$/);
    const expiresAt = Date.parse(made.expiresAt);
    assert.ok(expiresAt >= before + 900_000 && expiresAt <= service.clock() + 900_000);
    const viewing = await created<{ token: string }>(admin, tokensOf(customer), {
      role: 'viewer',
      expiresInSeconds: 60,
    });
    const [administrator, viewer] = [admin.as(made.token), admin.as(viewing.token)];
    for (const api of [administrator, viewer]) {
      const { items } = await succeeded<{ items: { id: string }[] }>(api.get('endpoints'));
      assert.deepEqual(
        items.map(({ id }) => id),
        [endpoint.id],
      );
      await refusalOf(api.get(`endpoints/${mine.id}`), 404);
      for (const path of ['customers', 'products', 'erasures/none']) await refusalOf(api.get(path), 401);
      await refusalOf(api.post(tokensOf(customer), { role: 'viewer' }), 401);
    }
    assert.equal(
      (await refusalOf(viewer.patch(`endpoints/${endpoint.id}`, { name: 'x' }), 401)).code,
      'insufficient_scope',
    );
    await succeeded(administrator.patch(`endpoints/${endpoint.id}`, { name: 'renamed' }));
    const { items } = await succeeded<{ items: { actor: string; action: string }[] }>(administrator.get('audit'));
    assert.match(items.find(({ action }) => action === 'endpoint.update')?.actor ?? '', /^portal-token:/);
    // Neither a cookie nor a portal link.
    assert.equal((await request(`${service.url}/`, { token: made.token })).status, 303);
    assert.equal((await request(`${service.url}/portal-links/${made.token}`)).status, 404);
    service.advance(60_000);
    assert.equal((await refusalOf(viewer.get('endpoints'), 401)).code, 'invalid_token');
    await succeeded(administrator.get('endpoints'));
    service.advance(840_000);
    assert.equal((await refusalOf(administrator.get('endpoints'), 401)).code, 'invalid_token');
  });

  it('ends with the customer, and is made within bounds, for a known, active customer, by who may', async (t) => {
    const { service, customer } = await open(t);
    const { admin } = service;
    for (const body of [
      {},
      { role: 'operator' },
      { role: 'viewer', expiresInSeconds: 59 },
      { role: 'viewer', expiresInSeconds: 3601 },
      { role: 'viewer', sessionSeconds: 300 },
    ])
      assert.equal((await refusalOf(admin.post(tokensOf(customer), body), 400)).code, 'validation_failed');
    await refusalOf(admin.post(`customers/${customer.userId}/portal-tokens`, { role: 'viewer' }), 404);
    await refusalOf(customer.api.post(tokensOf(customer), { role: 'viewer' }), 401);
    const { token } = await created<{ token: string }>(admin, tokensOf(customer), { role: 'viewer' });
    const api = admin.as(token);
    await succeeded(api.get('webhooks'));
    assert.ok(!service.log.text().includes(token));
    await succeeded(admin.patch(`customers/${customer.id}`, { active: false }));
    await refusalOf(api.get('webhooks'), 401);
    assert.equal((await refusalOf(admin.post(tokensOf(customer), { role: 'viewer' }), 409)).code, 'invalid_state');
    await succeeded(admin.patch(`customers/${customer.id}`, { active: true }));
    await refusalOf(api.get('webhooks'), 401);
  });
});
