/** Attempts that this machine cannot make, and faults of a receiver that look similar. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import type { Dispatcher } from '../../src/delivery/dispatcher.ts';
import { createOauthTokens } from '../../src/delivery/oauth.ts';
import { createSend } from '../../src/delivery/send.ts';
import { FAULT_PAUSE_MS } from '../../src/domain/judge.ts';
import type { ResolveHost } from '../../src/outbound/resolve.ts';
import {
  type Connected,
  type Dispatching,
  isDrained,
  openDispatching,
  takeRecords,
  until,
} from '../support/dispatching.ts';
import { startRawTlsServer } from '../support/https-server.ts';
import { sharedCertificates } from '../support/tls.ts';
import { loopbackTransport } from '../support/transport.ts';

const RECORDS = 30;
const OAUTH = { clientId: 'me', clientSecret: 'secret', tokenUrl: 'https://login.example/token' };

type Exhausted = Dispatching & {
  /** From now on there are descriptors again. */
  recover(): void;
  /** The reported faults of this service. */
  readonly told: string[];
  startDispatcher(): ReturnType<Dispatching['start']>;
};

/** A resolver that fails as in a process without a free file descriptor. Connecting fails with the same error. */
async function exhausted(t: TestContext): Promise<Exhausted> {
  const d = await openDispatching(t);
  let isExhausted = true;
  const resolve: ResolveHost = async () => {
    if (isExhausted) throw Object.assign(new Error('no'), { code: 'EMFILE', syscall: 'getaddrinfo' });
    return [{ address: '127.0.0.1', family: 4 }];
  };
  const transport = loopbackTransport(t, { caPem: sharedCertificates().ca, resolve });
  const told: string[] = [];
  const onFault = (_endpointId: string, message: string): void => void told.push(message);
  const send = createSend({ transport, oauth: createOauthTokens({ transport, clock: d.clock }), onFault });
  return {
    ...d,
    told,
    recover: () => {
      isExhausted = false;
    },
    startDispatcher: () => d.start({ send }),
  };
}

const attemptsOf = ({ rows }: Dispatching, { number }: Connected) =>
  rows(`SELECT kind, attempt_number, error_class FROM attempt WHERE webhook_number = ${number} ORDER BY key`);

/** Waits until so many attempts are settled, and goes to the end of the pause after the last: none is made before. */
async function toEndOfPause(
  d: Dispatching,
  dispatcher: Dispatcher,
  connected: Connected,
  attempts: number,
): Promise<void> {
  const progress = async () => (await d.webhooks.get(connected.webhook.id)).progress;
  await until('the pause', async () => (await progress()).probeAt === d.clock() + FAULT_PAUSE_MS);
  d.advance(FAULT_PAUSE_MS - 1);
  dispatcher.wake();
  await d.looked();
  assert.equal((await attemptsOf(d, connected)).length, attempts);
  d.advance(1);
  dispatcher.wake();
}

describe('while the process has no descriptor left', () => {
  it('each pause makes and records one attempt, none counts, and every record arrives once there are descriptors', async (t) => {
    const d = await exhausted(t);
    const connected = await d.connect({ webhook: { maxBatchRecords: 1, retry: { maxAttempts: 2 } } });
    const { at, webhook, number } = connected;
    await d.publishMany(RECORDS);
    const dispatcher = await d.startDispatcher();
    for (let round = 1; round <= 4; round += 1) await toEndOfPause(d, dispatcher, connected, round);
    await until('the fifth', async () => (await attemptsOf(d, connected)).length === 5);
    const fault = { kind: 'delivery', attempt_number: 1, error_class: 'internal' };
    assert.deepEqual(
      await attemptsOf(d, connected),
      Array.from({ length: 5 }, () => fault),
    );
    assert.deepEqual(new Set(d.told), new Set(['this machine has no more of what a connection takes (EMFILE)']));
    const { state, stateReason, failingSinceAt, failureStreak, deadStreak } = (await d.webhooks.get(webhook.id))
      .progress;
    assert.deepEqual([state, stateReason, failingSinceAt, failureStreak, deadStreak], ['started', null, null, 0, 0]);
    assert.deepEqual(
      await d.rows(`SELECT DISTINCT state, attempt_count, lease_owner FROM batch WHERE webhook_number = ${number}`),
      [{ state: 'pending', attempt_count: 0, lease_owner: null }],
    );
    d.recover();
    await toEndOfPause(d, dispatcher, connected, 5);
    await takeRecords(at, RECORDS);
    await until('the end', () => isDrained(d));
    const arrived = (await attemptsOf(d, connected)).slice(5);
    assert.deepEqual(new Set(arrived.map(({ attempt_number }) => attempt_number)), new Set([1]));
    assert.equal((await d.webhooks.get(webhook.id)).progress.state, 'running');
  });

  it('a heartbeat is tried once for each pause, too', async (t) => {
    const d = await exhausted(t);
    const connected = await d.connect({ webhook: { heartbeatSeconds: 1 } });
    d.advance(1000);
    const dispatcher = await d.startDispatcher();
    for (let round = 1; round <= 3; round += 1) await toEndOfPause(d, dispatcher, connected, round);
    await until('the fourth', async () => (await attemptsOf(d, connected)).length === 4);
    d.recover();
    await toEndOfPause(d, dispatcher, connected, 4);
    assert.deepEqual((await connected.at.next()).records, []);
    assert.deepEqual(new Set((await attemptsOf(d, connected)).map(({ kind }) => kind)), new Set(['heartbeat']));
  });

  it('a token request that cannot be sent does not count against the token server', async (t) => {
    const d = await exhausted(t);
    const connected = await d.connect({ endpoint: { oauth: OAUTH } });
    await d.publishMany(1);
    await d.startDispatcher();
    await until('the attempt', async () => (await attemptsOf(d, connected)).length === 1);
    assert.deepEqual(
      (await attemptsOf(d, connected)).map(({ error_class }) => error_class),
      ['internal'],
    );
    assert.equal((await d.webhooks.get(connected.webhook.id)).progress.state, 'started');
  });
});

describe('a receiver whose answers make the HTTP client fail', () => {
  it('has its records dead after maxAttempts, as with any other failure', async (t) => {
    const d = await openDispatching(t);
    const port = await startRawTlsServer(t, sharedCertificates().server, async (socket) => {
      await once(socket, 'data');
      socket.write('HTTP/1.1 099 Below\r\nContent-Length: 0\r\n\r\n');
    });
    const connected = await d.connect({
      endpoint: { url: `https://localhost:${port}/` },
      webhook: { retry: { policy: 'linear', maxAttempts: 2 } },
    });
    await d.publishMany(1);
    const dispatcher = await d.start();
    await until('the first attempt', async () => (await attemptsOf(d, connected)).length === 1);
    d.advance(30_000);
    dispatcher.wake();
    await until('dead', async () => (await d.rows("SELECT 1 FROM batch WHERE state = 'dead'")).length === 1);
    assert.deepEqual(
      (await attemptsOf(d, connected)).map(({ attempt_number, error_class }) => [attempt_number, error_class]),
      [
        [1, 'malformed_response'],
        [2, 'malformed_response'],
      ],
    );
  });
});
