/** A dispatcher with a real store and a real receiver in this process. Only the test advances the clock. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { createDispatcher, type Dispatcher, type DispatcherOptions } from '../../src/delivery/dispatcher.ts';
import { createLargeBodies } from '../../src/delivery/large-bodies.ts';
import { createOauthTokens } from '../../src/delivery/oauth.ts';
import { createSend, type Send } from '../../src/delivery/send.ts';
import type { AcceptedView } from '../../src/events/publish.ts';
import { createClockWatch } from '../../src/observe/clock-watch.ts';
import { createLog } from '../../src/observe/log.ts';
import type { Transport, TransportRequest } from '../../src/outbound/transport.ts';
import type { Store } from '../../src/store/port/store.ts';
import { cleanUp } from './cleanup.ts';
import { createLogReader, type LogReader } from './log-reader.ts';
import { type EndpointOptions, type Receiver, type ReceivingEndpoint, startReceiver } from './receiver.ts';
import {
  ACTOR,
  makeEndpoint,
  makeEventType,
  makeWebhook,
  openTestServices,
  type PushWebhook,
  type TestServices,
} from './services.ts';
import { onPostgres } from './store.ts';
import { sharedCertificates } from './tls.ts';
import { loopbackTransport } from './transport.ts';

export const TYPE = 'order.placed';

type Fields = Readonly<Record<string, unknown>>;

export type Connected = { readonly at: ReceivingEndpoint; readonly webhook: PushWebhook; readonly number: number };

export type Dispatching = TestServices & {
  readonly receiver: Receiver;
  readonly log: LogReader;
  readonly send: Send;
  /** Starts a dispatcher. A second one, started after the first stopped, behaves like the next process. */
  start(options?: Partial<DispatcherOptions>): Promise<Dispatcher>;
  /** Makes an endpoint at the receiver and a started webhook for `TYPE`. It sends no heartbeats by default. */
  connect(options?: {
    at?: ReceivingEndpoint;
    receiving?: EndpointOptions;
    endpoint?: Fields;
    webhook?: Fields;
  }): Promise<Connected>;
  /** Sets the wall clock forward, or back with a negative number, without time passing, as an administrator does. */
  setClock(byMs: number): void;
  /** Resolves after a whole look of a dispatcher that began after this call: it has claimed all that may be sent now. */
  looked(): Promise<void>;
  /** Publishes `count` events of `TYPE` and returns their ids. */
  publishMany(count: number, data?: Fields): Promise<string[]>;
};

export type DispatchingOptions = {
  readonly now?: number;
  /** Called with every request just before it is sent. */
  readonly onPost?: (request: TransportRequest) => void;
};

export async function openDispatching(
  t: TestContext,
  { now, onPost = () => undefined }: DispatchingOptions = {},
): Promise<Dispatching> {
  const started: Dispatcher[] = [];
  const { ca: caPem, server } = sharedCertificates();
  const services = await openTestServices(t, { caPem, ...(now === undefined ? {} : { now }) });
  const { clock, ids, store } = services;
  await makeEventType(services, TYPE);
  const receiver = await startReceiver(t, server, { clock });
  const log = createLogReader();
  const direct = loopbackTransport(t, { caPem });
  const transport: Transport = {
    ...direct,
    post: (request) => {
      onPost(request);
      return direct.post(request);
    },
  };
  const send = createSend({ transport, oauth: createOauthTokens({ transport, clock }) });
  const largeBodies = createLargeBodies({
    source: services.source,
    onFault: assert.ifError,
    onCannotGiveWay: assert.ifError,
  });
  // Registered last, so that it runs first: a dispatcher needs the receiver and the store to settle its deliveries before it stops.
  cleanUp(t, async () => {
    await Promise.all(started.map((dispatcher) => dispatcher.stop()));
    await largeBodies.close();
  });
  const { make: makeLargeBody } = largeBodies;
  let setByMs = 0;
  let paths = 0;
  let looks = 0;
  /** Counts the looks of a dispatcher with this store: each begins with this verb. */
  const counting = (watched: DispatcherOptions['store']): DispatcherOptions['store'] => {
    const changed: Store['dispatch']['changed'] = async () => {
      looks += 1;
      return watched.dispatch.changed();
    };
    return { ...watched, dispatch: { ...watched.dispatch, changed } };
  };
  return {
    ...services,
    receiver,
    log,
    send,
    looked: async () => {
      const second = looks + 2;
      await until('a look', () => {
        for (const dispatcher of started) dispatcher.wake();
        return looks >= second;
      });
    },
    start: async ({ store: ownStore = store, ...options } = {}) => {
      const checkClock = createClockWatch({
        clockLead: store.clockLead,
        clock,
        stopwatch: () => clock() - setByMs,
        log: createLog('debug', { write: log.take }),
      });
      const dispatcher = createDispatcher({
        store: counting(ownStore),
        clock,
        checkClock,
        ids,
        send,
        log: createLog('debug', { write: log.take }),
        jitter: () => 0.5,
        pollMs: POLL_MS,
        makeLargeBody,
        formatOf: services.formatOf,
        ...options,
      });
      started.push(dispatcher);
      await dispatcher.start();
      return dispatcher;
    },
    connect: async ({ at, receiving = {}, endpoint = {}, webhook = {} } = {}) => {
      paths += 1;
      const place = at ?? receiver.endpoint(`/hook-${paths}`, receiving);
      const { url, secret, apiKey } = place;
      const made = await makeEndpoint(services, { url, secret, apiKey, ...endpoint });
      const fields = { endpointId: made.id, heartbeatSeconds: 0, ...webhook };
      const subscribed = await makeWebhook(services, [TYPE], fields);
      const running = (await services.webhooks.start(subscribed.id, ACTOR)) as PushWebhook;
      return { at: place, webhook: running, number: running.progress.webhookNumber };
    },
    setClock: (byMs) => {
      setByMs += byMs;
      services.advance(byMs);
    },
    publishMany: async (count, data = {}) => {
      const published: string[] = [];
      for (let left = count; left > 0; left -= 1000) {
        const events: Fields[] = Array.from({ length: Math.min(left, 1000) }, (_, n) => ({
          type: TYPE,
          data: { n, ...data },
        }));
        const { accepted, events: taken }: AcceptedView = await services.publish({ events }, ACTOR);
        assert.equal(accepted, events.length);
        published.push(...taken.map(({ id }) => id));
      }
      return published;
    },
  };
}

/** The message ids of all records that an endpoint received, in order of arrival. */
export function messageIds({ deliveries }: ReceivingEndpoint): string[] {
  return deliveries.flatMap(({ records }) => records.map(({ messageId }) => messageId));
}

/** The offsets of all records that an endpoint received, in order of arrival. */
export function offsets({ deliveries }: ReceivingEndpoint): number[] {
  return deliveries.flatMap(({ records }) => records.map(({ offset }) => offset));
}

/** Waits for deliveries until `count` records have arrived. */
export async function takeRecords(at: ReceivingEndpoint, count: number): Promise<void> {
  for (let taken = 0; taken < count; ) taken += (await at.next()).records.length;
}

/** How often a dispatcher and a waiting test look. On PostgreSQL each look takes several queries. */
const [POLL_MS, ASK_EVERY_MS] = onPostgres ? [20, 10] : [5, 2];
const TIMEOUT_MS = 60_000;

/** Polls until `isSo` returns true, for changes without an event to wait for. Throws after a minute. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`timed out waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  }
}

/** Whether every record of every webhook is settled. */
export async function isDrained({ rows }: Pick<TestServices, 'rows'>): Promise<boolean> {
  const [row] = await rows('SELECT coalesce(sum(waiting_records + pending_records), 0) AS n FROM webhook_status');
  return Number(row?.n) === 0;
}

/**
 * Options of a dispatcher that count its claims and deliveries, and a wait until everything that may be sent now was sent, also under a
 * rate. Settlements claim too, and a claim that began before the clock moved on may end after a look.
 */
export function watchDeliveries({ store, send, looked }: Pick<Dispatching, 'store' | 'send' | 'looked'>): {
  readonly options: Pick<DispatcherOptions, 'store' | 'send'>;
  everythingIsSent(): Promise<void>;
} {
  /** Claims, and reads of claims that are in progress. */
  let claims = 0;
  let reading = 0;
  /** Deliveries whose records were read in this thread, those that were sent, and those that are settled. */
  let begun = 0;
  let sent = 0;
  let ended = 0;
  const { dispatch, settlements } = store;
  const counted =
    <A extends readonly unknown[], R>(read: (...asked: A) => Promise<R>) =>
    async (...asked: A): Promise<R> => {
      reading += 1;
      try {
        return await read(...asked);
      } finally {
        reading -= 1;
      }
    };
  const target: typeof dispatch.target = (...asked) => {
    claims += 1;
    return dispatch.target(...asked);
  };
  const records: typeof dispatch.records = (...asked) => {
    begun += 1;
    return dispatch.records(...asked);
  };
  const settle: typeof settlements.settle = async (settlement) => {
    await settlements.settle(settlement);
    ended += settlement.batches.filter(({ batch, attempt }) => batch !== null && attempt !== null).length;
  };
  const counting: Send = (...asked) => {
    sent += 1;
    return send(...asked);
  };
  const watchedDispatch = {
    ...dispatch,
    target: counted(target),
    dueBatches: counted(dispatch.dueBatches),
    firstPending: counted(dispatch.firstPending),
    waiting: counted(dispatch.waiting),
    waitingKeys: counted(dispatch.waitingKeys),
    dueByKey: counted(dispatch.dueByKey),
    unlabelled: counted(dispatch.unlabelled),
    firstOfKeys: counted(dispatch.firstOfKeys),
    keysAfter: counted(dispatch.keysAfter),
    records,
  };
  return {
    options: {
      store: { ...store, dispatch: watchedDispatch, settlements: { ...settlements, settle } },
      send: counting,
    },
    everythingIsSent: async () => {
      for (let before = -1; before !== claims; ) {
        before = claims;
        await looked();
        await until('the deliveries in progress', () => reading === 0 && sent >= begun && sent === ended);
      }
    },
  };
}
