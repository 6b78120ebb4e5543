/** `pull` and `catchUp` call the sender in the same way. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createCalls } from '../../src/receiver/calls.ts';
import { type CatchUpOptions, catchUp, pull } from '../../src/receiver/index.ts';
import { pgpDecryption } from '../../src/receiver/pgp.ts';
import { succeeded } from '../support/client.ts';
import { importKey } from '../support/journey.ts';
import { pgpKeyPair } from '../support/pgp-keys.ts';
import { numbers, type Orders, publishOrders, readableOrders } from '../support/readable-orders.ts';

type Read = (
  options: Omit<CatchUpOptions<Orders>, 'onRecords'>,
  /** Called after each part with everything that was read so far. */
  each?: (got: readonly number[]) => Promise<void>,
) => Promise<readonly number[]>;

const pulled: Read = async (options, each) => {
  const got: number[] = [];
  for await (const { records } of pull<Orders>({ ...options, limit: 1000 })) {
    got.push(...records.map(({ data }) => data.n));
    await each?.(got);
  }
  return got;
};

const caughtUp: Read = async (options, each) => {
  const got: number[] = [];
  const onRecords: CatchUpOptions<Orders>['onRecords'] = async (records) => {
    got.push(...records.map(({ data }) => data.n));
    await each?.(got);
  };
  await catchUp<Orders>({ ...options, onRecords });
  return got;
};

/** `calls`: after a read that failed twice, and a token that was revoked. `again`: what is read again after an end at the fifth record. */
const READERS = [
  {
    name: 'pull',
    mode: 'pull',
    read: pulled,
    // Two acknowledgements failed, and one had a token that was revoked. The last record was not acknowledged.
    calls: ['GET', 'GET', 'GET', 'POST', 'POST', 'POST', 'POST', 'GET', 'POST'],
    again: [4],
  },
  { name: 'catchUp', mode: 'push', read: caughtUp, calls: ['GET', 'GET', 'GET', 'GET', 'GET'], again: numbers(0, 5) },
] as const;

for (const { name, mode, read, calls, again } of READERS)
  describe(name, () => {
    it('decrypts with the key of the webhook, and says what it lacks', async (t) => {
      const { publicKey, privateKey } = await pgpKeyPair();
      const { admin, id, options } = await readableOrders(t, mode);
      await importKey(admin, 'customer', publicKey);
      await succeeded(admin.patch(`webhooks/${id}`, { encryptionKeyName: 'customer' }));
      await publishOrders(admin, 0, 3);
      await assert.rejects(read(options), { name: 'CatchUpError', status: null, message: /^no_decryption/ });
      assert.deepEqual(await read({ ...options, decrypt: pgpDecryption({ customer: { privateKey } }) }), [0, 1, 2]);
    });

    it('asks for another token when one has ended, and repeats calls that failed for the moment', async (t) => {
      const { admin, application, options } = await readableOrders(t, mode);
      await publishOrders(admin, 0, 1500);
      const unavailable = (status: number) => () =>
        Promise.resolve(new Response('', { status, headers: { 'retry-after': '0' } }));
      const broken = () => Promise.reject(new TypeError('fetch failed'));
      const faults = [broken, unavailable(503), unavailable(429), broken];
      let tokens = 0;
      const methods: string[] = [];
      const faulty: CatchUpOptions<Orders>['fetch'] = (input, init) => {
        methods.push(init?.method ?? 'GET');
        const fails = init?.method === 'POST' || methods.length <= 2;
        return (fails ? faults.shift()?.() : undefined) ?? fetch(input, init);
      };
      const token = (): string | Promise<string> => {
        tokens += 1;
        return options.token();
      };
      const got = await read({ ...options, token, fetch: faulty }, async ({ length }) => {
        if (length === 1000) await succeeded(admin.post(`applications/${application.id}/revoke-tokens`, {}));
      });
      assert.deepEqual(got, numbers(0, 1500));
      assert.equal(tokens, 2);
      assert.deepEqual(methods, calls);
    });

    it('ends with the refusal of the sender', async (t) => {
      const { admin, options } = await readableOrders(t, mode);
      await publishOrders(admin, 0, 1);
      await assert.rejects(read({ ...options, token: () => 'spt_wrong' }), { name: 'CatchUpError', status: 401 });
      const unknown = { ...options, webhookId: '0193a1f0-0000-7000-8000-000000000000' };
      await assert.rejects(read(unknown), { name: 'CatchUpError', status: 404 });
    });

    it('follows new records until it is ended', async (t) => {
      const { admin, options } = await readableOrders(t, mode);
      const ending = new AbortController();
      let followed: readonly number[] = [];
      const following = read({ ...options, follow: true, signal: ending.signal }, async (got) => {
        followed = got;
        if (got.length < 5) await publishOrders(admin, got.length, got.length + 1);
        else ending.abort(new Error('enough'));
      });
      await publishOrders(admin, 0, 1);
      await assert.rejects(following, { message: 'enough' });
      assert.deepEqual(followed, numbers(0, 5));
      assert.deepEqual(await read(options), again);
    });
  });

it('a call whose token had ended counts no failure for it', async () => {
  const statuses = [200, 401, 503, 200];
  const options = {
    url: 'https://sender.example/',
    webhookId: 'w',
    token: () => 'spt_token',
    fetch: () => Promise.resolve(new Response('', { status: statuses.shift() ?? 500 })),
  };
  const calls = createCalls(options, 2);
  await calls.acknowledge(0);
  await calls.acknowledge(1);
  assert.deepEqual(statuses, []);
});

it('a call waits as long as the sender asks, in seconds or until a date, but not longer than its own longest pause', async (t) => {
  const now = Date.parse('2026-11-21T05:00:00Z');
  t.mock.timers.enable({ apis: ['Date'], now });
  const pauses: unknown[] = [];
  t.mock.method(globalThis, 'setTimeout', (resume: () => void, ms: unknown) => {
    pauses.push(ms);
    queueMicrotask(resume);
  });
  const cases: readonly (readonly [header: string | null, pauseMs: number])[] = [
    ['2', 2000],
    ['86400', 30_000],
    ['9'.repeat(400), 30_000],
    ['Sat, 21 Nov 2026 05:00:20 GMT', 20_000],
    ['Saturday, 21-Nov-26 05:00:20 GMT', 20_000],
    ['Sat Nov 21 05:00:20 2026', 20_000],
    ['Sat, 21 Nov 2026 06:00:00 GMT', 30_000],
    ['Sat, 21 Nov 2026 04:00:00 GMT', 500],
    ...[null, '', '0', '-1', '1.5', '0x10', 'soon', '2099-01-01', 'Sat, 99 Nov 2026 06:00:00 GMT'].map(
      (header) => [header, 500] as const,
    ),
  ];
  for (const [header, pauseMs] of cases) {
    const headers = header === null ? {} : { 'retry-after': header };
    const answers = [new Response('', { status: 503, headers }), new Response('')];
    const fetch = () => Promise.resolve(answers.shift() ?? assert.fail());
    const options = { url: 'https://sender.example/', webhookId: 'w', token: () => 'spt_token', fetch };
    await createCalls(options).acknowledge(0);
    assert.equal(pauses.pop(), pauseMs, `${header}`);
  }
  assert.deepEqual(pauses, []);
});
