/**
 * The shares of one customer at the doors of the service (contract §8.8): work beyond a bound is refused for that customer, while the same
 * work of another customer and of the operator goes on. How the queues themselves share is tested with each of them.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import test, { type TestContext } from 'node:test';
import { RECORDS_WAITING_PER_CUSTOMER } from '../../src/delivery/reads/log-watch.ts';
import { COMMAND_LINE } from '../../src/domain/acting.ts';
import { cleanUp } from '../support/cleanup.ts';
import { type ApiClient, type ApiReply, EDGE, errorOf, succeeded, tokenFor } from '../support/client.ts';
import { created, makeCustomer, sessionOf, type TestCustomer } from '../support/customers.ts';
import { deferred } from '../support/deferred.ts';
import { makeEventType, startJourney, unique } from '../support/journey.ts';
import { occupyLivePages, occupyReads, occupySlices } from '../support/occupied.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { pgpVector } from '../support/vectors.ts';

const TYPE = 'order.placed';
/** As contract §8.8 has them. */
const TESTS = 4;
const KEYS = 9;
const PASSWORDS = 6;
const REQUESTS = 64;
const REQUESTS_OF_ENDPOINT = 8;

type Whose = { readonly api: ApiClient; readonly webhookId: string; readonly eventId: string };
type Ask = (whose: Whose) => Promise<ApiReply<unknown>>;

async function openWorld(t: TestContext) {
  const { service, admin, receiver } = await startJourney(t);
  await makeEventType(admin, TYPE);
  const belongingsOf = async (api: ApiClient): Promise<Whose> => {
    const { id } = await created(api, 'webhooks', { name: unique('read'), mode: 'pull', eventTypes: [TYPE] });
    const { events } = await succeeded<{ events: readonly { id: string }[] }>(
      api.post('events', { type: TYPE, data: {} }),
    );
    return { api, webhookId: id, eventId: events[0]?.id ?? '' };
  };
  const [customer, neighbour] = [await makeCustomer(service), await makeCustomer(service)];
  const one = await belongingsOf(customer.api);
  const others = [await belongingsOf(neighbour.api), await belongingsOf(admin)];
  return { service, receiver, customer, neighbour, one, others };
}

function assertRefused(reply: ApiReply<unknown>, what: string): void {
  assert.deepEqual([reply.status, errorOf(reply).code], [429, 'too_many_requests'], `${what} ${JSON.stringify(reply)}`);
  assert.match(reply.headers.get('retry-after') ?? '', /^\d+$/, what);
}

/** It was read: what is no JSON is refused as such. */
function assertTaken({ status, body }: ApiReply<unknown>, what: string): void {
  assert.ok([200, 202, 400].includes(status), `${what}: ${status} ${JSON.stringify(body)}`);
}

/** A body that is read in slices. */
const large = (body: object): string => ' '.repeat(17_000) + JSON.stringify(body);

const OCCUPIED: readonly (readonly [
  string,
  (customerId: string) => () => Promise<void>,
  Readonly<Record<string, Ask>>,
])[] = [
  [
    'pieces of work',
    occupySlices,
    {
      publishing: ({ api }) => api.post('events', { type: TYPE, data: {} }),
      'reading events': ({ api }) => api.post(`${EDGE}/events`, '{'),
      'a large body': ({ api, webhookId }) =>
        api.patch(`${EDGE}/webhooks/${webhookId}`, large({ name: unique('new') })),
      'a preview of a filter': ({ api, webhookId }) =>
        api.post(`webhooks/${webhookId}/filter-preview`, { filter: null }),
    },
  ],
  [
    'reads of records',
    occupyReads,
    {
      'a read': ({ api, webhookId }) => api.get(`webhooks/${webhookId}/records`),
      'a read of an event': ({ api, eventId }) => api.get(`events/${eventId}`),
    },
  ],
];

test('one customer that takes all of its shares', async (t) => {
  const { service, receiver, customer, neighbour, one, others } = await openWorld(t);

  for (const [what, occupy, asks] of OCCUPIED) {
    await t.test(what, async (t) => {
      const release = occupy(customer.id);
      cleanUp(t, release);
      for (const [name, ask] of Object.entries(asks)) {
        assertRefused(await ask(one), name);
        for (const other of others) assertTaken(await ask(other), name);
      }
      await release();
      for (const [name, ask] of Object.entries(asks)) assertTaken(await ask(one), name);
    });
  }

  await t.test('reads that wait', async () => {
    const read = ({ api, webhookId }: Whose, seconds: number): Promise<ApiReply<unknown>> =>
      api.get(`webhooks/${webhookId}/records?after=1000&wait=${seconds}`);
    const waiting = Array.from({ length: RECORDS_WAITING_PER_CUSTOMER + 1 }, () => read(one, 2));
    assertRefused(await Promise.race(waiting), 'a read that waits');
    for (const other of others) await succeeded(read(other, 1));
    await Promise.all(waiting);
  });

  await t.test('live pages', async (t) => {
    const path = `${service.url}/deliveries/live`;
    const token = await sessionOf(service, customer, 'link');
    const tokens = [await sessionOf(service, neighbour, 'link'), (await newSession(service, 'viewer')).token];
    const release = await occupyLivePages(customer.id);
    cleanUp(t, release);
    assert.equal((await request(path, { token })).status, 429);
    for (const other of tokens) assert.equal((await request(path, { token: other })).status, 200);
    await release();
    assert.equal((await request(path, { token })).status, 200);
  });

  await t.test('PGP keys that are checked', async () => {
    const key = (customerId: string | null) => ({ customerId, name: unique('key'), publicKey: pgpVector('rsa4096') });
    const caller = { actor: 'embedding-program', authority: 'unlimited' } as const;
    const create = (customerId: string | null) => service.services.keys.create(key(customerId), caller);
    const sent = await Promise.allSettled([
      ...Array.from({ length: KEYS + 1 }, () => create(customer.id)),
      create(neighbour.id),
      create(null),
    ]);
    const problems = sent.map((reply) => (reply.status === 'rejected' ? reply.reason.code : null));
    // One key less has a place if another customer's is checked first.
    assert.deepEqual(new Set(problems.slice(0, -2)), new Set([null, 'too_many_requests']));
    assert.equal(problems[KEYS], 'too_many_requests');
    assert.deepEqual(problems.slice(-2), [null, null]);
  });

  await t.test('passwords of an open session and of invitations', async () => {
    const { sessions, invitations } = service.services;
    const problemsOf = async (work: readonly Promise<unknown>[]): Promise<unknown[]> =>
      (await Promise.allSettled(work)).map((one) => (one.status === 'rejected' ? one.reason.code : null));
    const tried = Array.from({ length: PASSWORDS + 1 }, () => customer.userId);
    const confirmed = await problemsOf(
      [...tried, neighbour.userId].map((userId) => sessions.confirm(userId, 'wrong', 'password')),
    );
    assert.deepEqual(confirmed.slice(-2), ['too_many_requests', 'validation_failed']);
    const invited = async ({ id }: TestCustomer): Promise<string> => {
      const user = { customerId: id, userName: unique('user'), role: 'viewer' };
      const { id: userId } = await created(service.admin, 'users', user);
      return (await invitations.invite(userId, COMMAND_LINE)).token;
    };
    const tokens = await Promise.all([...tried.map(() => customer), neighbour].map(invited));
    const password = 'a good one for the spring';
    const accepted = await problemsOf(
      tokens.map((token) => invitations.accept(token, { password, passwordAgain: password })),
    );
    assert.deepEqual(accepted.slice(-2), ['too_many_requests', null]);
  });

  const receiving = async (api: ApiClient) => {
    const at = receiver.endpoint(`/${unique('hook')}`);
    const { url, secret, apiKey } = at;
    const endpoint = await created(api, 'endpoints', { name: unique('at'), url, secret, apiKey });
    const webhook = { name: unique('w'), endpointId: endpoint.id, eventTypes: [TYPE], maxBatchRecords: 1 };
    const { id } = await created(api, 'webhooks', { ...webhook, heartbeatSeconds: 0, timeoutSeconds: 60 });
    return { at, id };
  };
  /** Leaves requests unanswered from `begin` on until `end`. */
  const silence = () => {
    const end = deferred();
    cleanUp(t, () => end.resolve());
    let [count, wanted, isSilent] = [0, 0, false];
    let arrived = deferred();
    return {
      end: () => end.resolve(),
      /** Resolves when so many requests wait. */
      begin: (requests: number): Promise<void> => {
        [wanted, isSilent, arrived] = [requests, true, deferred()];
        return arrived.promise;
      },
      count: () => count,
      answer: async () => {
        if (isSilent) {
          count += 1;
          if (count === wanted) arrived.resolve();
          await end.promise;
        }
        return { status: 204 };
      },
    };
  };

  await t.test('test events', async () => {
    const { at, id } = await receiving(customer.api);
    const silent = silence();
    at.answer(silent.answer);
    const send = (api: ApiClient, webhookId: string): Promise<ApiReply<unknown>> =>
      api.post(`webhooks/${webhookId}/test`);
    const came = silent.begin(TESTS);
    const sent = Array.from({ length: TESTS }, () => send(customer.api, id));
    await came;
    assertRefused(await send(customer.api, id), 'a test');
    for (const { api } of others) await succeeded(send(api, (await receiving(api)).id));
    silent.end();
    for (const reply of await Promise.all(sent)) assert.equal(reply.status, 200);
  });

  await t.test('requests to endpoints', async () => {
    const silent = silence();
    const endpoints = REQUESTS / REQUESTS_OF_ENDPOINT + 1;
    const own = await Promise.all(Array.from({ length: endpoints }, () => receiving(customer.api)));
    const theirs = await receiving(neighbour.api);
    for (const { at } of own) at.answer(silent.answer);
    for (const { id } of own) await succeeded(customer.api.post(`webhooks/${id}/start`));
    await succeeded(neighbour.api.post(`webhooks/${theirs.id}/start`));
    const publish = (api: ApiClient, count: number): Promise<unknown> =>
      succeeded(api.post('events', { events: Array.from({ length: count }, () => ({ type: TYPE, data: {} })) }));
    // A webhook sends one record at a time until one was delivered.
    await publish(customer.api, 1);
    for (const { at, id } of own) {
      await at.next();
      await service.log.nextAttempt(id);
    }
    const came = silent.begin(REQUESTS);
    await publish(customer.api, REQUESTS_OF_ENDPOINT);
    await came;
    await publish(neighbour.api, 1);
    await theirs.at.next();
    assert.equal(silent.count(), REQUESTS);
    silent.end();
  });

  await t.test('bytes of bodies, by two applications of the customer', async () => {
    const tokens = [customer.token, await secondToken(customer, service.url)];
    const { port } = new URL(service.url);
    const sent = [...tokens, ...tokens, customer.token].map((token) => sendHalf(t, Number(port), token));
    // Four have room. Which of the five is refused depends on how their bytes arrive.
    assert.match(await Promise.race(sent), /^HTTP\/1\.1 429 .*\r\nRetry-After: 1\r\n/s);
    for (const { api } of others)
      await succeeded(api.post('events', { type: TYPE, data: { text: 'x'.repeat(200_000) } }));
  });
});

async function secondToken({ api, userId }: TestCustomer, url: string): Promise<string> {
  const body = { name: unique('second'), userId, scopes: ['events:publish'] };
  return tokenFor(url, await created<{ clientId: string; clientSecret: string }>(api, 'applications', body));
}

/** Sends more than half of a body of 8 MiB, for which the whole is reserved, and no more. Resolves with the answer. */
async function sendHalf(t: TestContext, port: number, token: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' });
  cleanUp(t, () => socket.destroy());
  const answer = once(socket, 'data');
  const head = [
    `POST ${EDGE}/events HTTP/1.1`,
    'Host: localhost',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${8 * 1024 * 1024}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${'{"type":"'.padEnd(4.5 * 1024 * 1024, 'x')}`);
  return String((await answer)[0]);
}
