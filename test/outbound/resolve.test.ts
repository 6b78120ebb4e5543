import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createResolve,
  LOOKUPS_SLOW,
  LOOKUPS_UNKNOWN,
  LOOKUPS_UNKNOWN_PER_CUSTOMER,
  LOOKUPS_WAITING_PER_CUSTOMER,
  NAMES_REMEMBERED,
  SLOW_LOOKUP_MS,
  systemResolve,
} from '../../src/outbound/resolve.ts';

/** Resolves when all consequences of a look-up have happened. */
const nextTurn = (): Promise<void> => new Promise(setImmediate);

/** Longer than any test. */
const NEVER_MS = 600_000;

const ANSWER = [{ address: '192.0.2.1', family: 4 }];

/** A system resolver whose look-ups end when the test says so. */
function openResolve(missing: Error | null = null, limitMs = NEVER_MS) {
  let now = 0;
  const asked: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const resolve = createResolve({
    stopwatch: () => now,
    exhaustion: async () => missing,
    limitMs,
    lookup: (hostname) =>
      new Promise((answer, fail) => {
        asked.push(hostname);
        ends.set(hostname, (error) => (error === undefined ? answer(ANSWER) : fail(error)));
      }),
  });
  /** Ends the look-up of a name, which took so long. */
  const end = async (
    hostname: string,
    { tookMs = 0, error }: { tookMs?: number; error?: Error } = {},
  ): Promise<void> => {
    now += tookMs;
    ends.get(hostname)?.(error);
    await nextTurn();
  };
  /** Has names looked up that take so long, one after the other. */
  const learn = async (hostnames: readonly string[], tookMs: number): Promise<void> => {
    for (const hostname of hostnames) {
      const answer = resolve(hostname);
      await nextTurn();
      await end(hostname, { tookMs });
      await answer;
    }
    asked.length = 0;
  };
  return { resolve, asked, end, learn };
}

const names = (what: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${what}${n}.example`);

describe('a name', () => {
  it('that is not found while the process has no descriptor left may be there all the same', async () => {
    const missing = Object.assign(new Error('no more'), { code: 'EMFILE' });
    const notFound = Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    for (const [exhaustion, told] of [
      [missing, missing],
      [null, notFound],
    ] as const) {
      const { resolve, end } = openResolve(exhaustion);
      const answer = resolve('a.example');
      const failed = assert.rejects(answer, (error) => error === told);
      await nextTurn();
      await end('a.example', { error: notFound });
      await failed;
    }
  });

  it('is looked up once for all concurrent callers, and again afterwards', async () => {
    const { resolve, asked, end } = openResolve();
    const answers = [resolve('a.example'), resolve('a.example'), resolve('b.example')];
    await nextTurn();
    assert.deepEqual(asked, ['a.example', 'b.example']);
    await end('a.example');
    await end('b.example');
    assert.deepEqual(await Promise.all(answers), [ANSWER, ANSWER, ANSWER]);
    void resolve('a.example');
    await nextTurn();
    assert.equal(asked.length, 3);
  });

  it('that cannot be looked up fails for all its callers, and the next caller looks it up again', async () => {
    const { resolve, asked, end } = openResolve();
    const answers = [resolve('a.example'), resolve('a.example')].map((answer) => assert.rejects(answer, /ENOTFOUND/));
    await nextTurn();
    await end('a.example', { error: new Error('ENOTFOUND') });
    await Promise.all(answers);
    const again = resolve('a.example');
    await nextTurn();
    await end('a.example');
    assert.deepEqual([await again, asked.length], [ANSWER, 2]);
  });

  it('is looked up by the system where nothing else is said', async () => {
    assert.ok((await systemResolve('localhost')).length > 0);
    await assert.rejects(systemResolve('no-such-name.invalid'), { syscall: 'getaddrinfo' });
  });
});

describe('the names of one customer', () => {
  it('take a part of the places, and those of others take turns with them', async () => {
    const { resolve, asked, end } = openResolve();
    const many = names('many', LOOKUPS_UNKNOWN_PER_CUSTOMER + 3);
    for (const name of many) void resolve(name, 'one');
    for (const owner of ['two', 'three']) for (const name of names(owner, 5)) void resolve(name, owner);
    await nextTurn();
    // All places are taken.
    assert.equal(asked.length, LOOKUPS_UNKNOWN);
    assert.equal(asked.filter((name) => name.startsWith('many')).length, LOOKUPS_UNKNOWN_PER_CUSTOMER);
    void resolve('new.example', 'four');
    await end('many0.example');
    await end('many1.example');
    // The first customer has waited longest. Then it is the turn of the last one, because the others have as many as they may.
    assert.deepEqual(asked.slice(LOOKUPS_UNKNOWN), [many[LOOKUPS_UNKNOWN_PER_CUSTOMER], 'new.example']);
    await end('two0.example');
    assert.equal(asked.at(-1), 'two4.example');
  });

  it('may wait in a bounded number', async () => {
    const { resolve, end } = openResolve();
    const all = names('many', LOOKUPS_UNKNOWN_PER_CUSTOMER + LOOKUPS_WAITING_PER_CUSTOMER);
    for (const name of all) void resolve(name, 'one');
    await assert.rejects(resolve('next.example', 'one'), {
      code: 'EAI_AGAIN',
      message: /you have too many host names/,
    });
    const other = resolve('next.example', 'other');
    await nextTurn();
    await end('next.example');
    assert.deepEqual(await other, ANSWER);
  });

  it('that wait do not hold up another customer that asks for the same name', async () => {
    const { resolve, asked, end } = openResolve();
    for (const name of [...names('slow', LOOKUPS_UNKNOWN_PER_CUSTOMER), 'same.example']) void resolve(name, 'one');
    const other = resolve('same.example', 'other');
    await nextTurn();
    assert.equal(asked.at(-1), 'same.example');
    await end('same.example');
    assert.deepEqual(await other, ANSWER);
    // The first customer's turn has not come: it looks the name up for itself.
    await end('slow0.example');
    assert.equal(asked.filter((name) => name === 'same.example').length, 2);
  });
});

describe('a look-up that takes too long', () => {
  it('fails, keeps its place as long as the system works on it, and is not begun any more if it waited', async (t) => {
    // Keeps the process alive, which the time limit does not.
    const alive = setInterval(() => {}, 1000);
    t.after(() => clearInterval(alive));
    const { resolve, asked, end } = openResolve(null, 0);
    const hanging = names('hanging', LOOKUPS_UNKNOWN);
    const late = [...hanging, 'waiting.example'].map((name) => assert.rejects(resolve(name), { code: 'ETIMEOUT' }));
    await Promise.all(late);
    assert.deepEqual(asked, hanging);
    const next = assert.rejects(resolve('next.example'), { code: 'ETIMEOUT' });
    await end('hanging0.example');
    assert.deepEqual(asked, [...hanging, 'next.example']);
    await next;
  });
});

describe('names whose servers do not answer', () => {
  it('delay only names that were never resolved, beyond a bound of concurrent look-ups', async () => {
    const { resolve, asked, end, learn } = openResolve();
    await learn(['known.example'], SLOW_LOOKUP_MS - 1);
    const hanging = names('hanging', LOOKUPS_UNKNOWN);
    for (const name of [...hanging, 'next.example', 'known.example']) resolve(name).catch(() => undefined);
    await nextTurn();
    assert.deepEqual(asked, [...hanging, 'known.example']);
    await end('hanging3.example', { tookMs: 10_000, error: new Error('EAI_AGAIN') });
    assert.equal(asked.at(-1), 'next.example');
  });

  it('have places of their own from then on', async () => {
    const { resolve, asked, end, learn } = openResolve();
    const slow = names('slow', LOOKUPS_SLOW + 1);
    await learn(slow, SLOW_LOOKUP_MS);
    for (const name of [...slow, 'new.example']) void resolve(name);
    await nextTurn();
    assert.deepEqual(asked, [...slow.slice(0, -1), 'new.example']);
    await end('slow0.example');
    assert.equal(asked.at(-1), slow.at(-1));
  });

  it('are like any other once they answer', async () => {
    const { resolve, asked, end, learn } = openResolve();
    const slow = names('slow', LOOKUPS_SLOW + 1);
    await learn(slow, 5000);
    const back = slow.at(-1) ?? '';
    await learn([back], 3);
    for (const name of slow) void resolve(name);
    await nextTurn();
    assert.ok(asked.includes(back));
    await end(back);
  });

  it('are all looked up in the end if all are asked for at the same time, so many together', async () => {
    const { resolve, asked, end } = openResolve();
    const all = names('many', 100);
    const answers = all.map((name) => resolve(name));
    let done = 0;
    for (await nextTurn(); done < all.length; done += 1) {
      assert.equal(asked.length, Math.min(all.length, done + LOOKUPS_UNKNOWN));
      await end(asked[done] ?? '');
    }
    assert.equal((await Promise.all(answers)).length, 100);
    assert.deepEqual(asked, all);
  });
});

it('no more names are remembered than a bounded number: the one looked up longest ago is forgotten', async () => {
  const { resolve, asked, end, learn } = openResolve();
  await learn(['first.example'], 5000);
  await learn(names('other', NAMES_REMEMBERED), 0);
  // Unknown again, it does not wait for the places of slow ones.
  const slow = names('slow', LOOKUPS_SLOW);
  await learn(slow, 5000);
  for (const name of [...slow, 'first.example']) void resolve(name);
  await nextTurn();
  assert.equal(asked.at(-1), 'first.example');
  await end('first.example');
});
