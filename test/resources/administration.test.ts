import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { COMMAND_LINE } from '../../src/domain/acting.ts';
import { Refusal } from '../../src/kernel/refusal.ts';
import { refusingDuplicates } from '../../src/resources/administration.ts';
import { ConstraintViolation } from '../../src/store/port/errors.ts';
import { refused } from '../support/refusals.ts';
import { ACTOR, actingAs, makeApplication, makeEndpoint, makeUser, openTestServices } from '../support/services.ts';
import { leavingNothing, NOW } from '../support/store.ts';

const MISSING = '0193a1f0-0000-7000-8000-00000000ffff';

/** How each ended: a value, or the code of its refusal. Anything else thrown is a fault, and fails the test. */
async function endings(work: readonly Promise<unknown>[]): Promise<unknown[]> {
  return Promise.all(
    work.map((one) =>
      one.then(
        () => 'done',
        (error: unknown) => {
          if (error instanceof Refusal) return error.code;
          throw error;
        },
      ),
    ),
  );
}

/**
 * Lets two pieces of work meet in every way: the one that is `late` begins up to ten steps after the other. Gives the
 * different endings, sorted.
 */
async function meetings(
  meet: (late: <T>(work: () => Promise<T>) => Promise<T>) => Promise<unknown[]>,
): Promise<string[]> {
  const met = new Set<string>();
  for (let steps = 0; steps <= 10; steps++) {
    const late = async <T>(work: () => Promise<T>): Promise<T> => {
      for (let step = 0; step < steps; step++) await null;
      if (steps === 10) await new Promise((resolve) => setImmediate(resolve));
      return work();
    };
    met.add((await meet(late)).join(' '));
  }
  return [...met].toSorted();
}

describe('every administrative change', () => {
  it('is audited with actor, action, target and changes', async (t) => {
    const s = await openTestServices(t);
    await makeUser(s);
    const { id } = await s.users.create({ userName: 'ada' }, actingAs('user:1'));
    s.advance(1000);
    await s.users.patch(id, { displayName: 'Ada' }, actingAs('user:2'));
    s.advance(1000);
    await s.users.change(id, 'user.set-password', COMMAND_LINE, (before, { updatedAt }) => ({
      ...before,
      updatedAt,
      passwordHash: 'x',
    }));
    await s.users.remove(id, actingAs('user:3'));
    const log = (await s.store.audit.list(null, 4)).toReversed();
    assert.deepEqual(
      log.map(({ at, actor, action, target }) => [at, actor, action, target]),
      [
        [NOW, 'user:1', 'user.create', `user:${id}`],
        [NOW + 1000, 'user:2', 'user.update', `user:${id}`],
        [NOW + 2000, 'command-line', 'user.set-password', `user:${id}`],
        [NOW + 2000, 'user:3', 'user.delete', `user:${id}`],
      ],
    );
    assert.deepEqual(log[1]?.changes, { displayName: { from: null, to: 'Ada' } });
    assert.deepEqual(log[3]?.changes.userName, { from: 'ada', to: null });
    assert.equal(await s.store.audit.firstBroken(), null);
  });

  it('has a later updatedAt, even within one millisecond and when the clock goes back', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeUser(s);
    const instants: number[] = [];
    for (const step of [0, 0, -5000, 10_000]) {
      s.advance(step);
      const { updatedAt } = await s.users.patch(id, { displayName: `Name ${instants.length}` }, ACTOR);
      instants.push(updatedAt - NOW);
    }
    assert.deepEqual(instants, [1, 2, 3, 5000]);
    assert.equal((await s.users.get(id)).createdAt, NOW);
  });

  for (const id of [MISSING, 'ada', '', MISSING.toUpperCase(), `${MISSING}\n`, "' OR ''='", 'x'.repeat(10_000)]) {
    it(`is refused for the id ${JSON.stringify(id.slice(0, 40))}, which does not exist`, async (t) => {
      const s = await openTestServices(t);
      await makeUser(s);
      await leavingNothing(s, async () => {
        for (const work of [
          () => s.users.get(id),
          () => s.users.patch(id, {}, ACTOR),
          () => s.users.remove(id, ACTOR),
        ]) {
          const { message } = await refused(work, { code: 'not_found', says: 'there is no user' });
          assert.ok(message.length < 100);
        }
      });
    });
  }

  it('is refused whole when one field is wrong', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeUser(s);
    await leavingNothing(s, () =>
      refused(() => s.users.patch(id, { displayName: 'fine', email: 'none', roles: [] }, ACTOR), {
        code: 'validation_failed',
        fields: ['roles'],
      }),
    );
    await leavingNothing(s, () =>
      refused(() => s.users.patch(id, { displayName: 'fine', email: 'none' }, ACTOR), {
        code: 'validation_failed',
        fields: ['email'],
      }),
    );
  });
});

describe('a list', () => {
  it('continues after an id in order of creation, and misses no new record', async (t) => {
    const s = await openTestServices(t);
    const ids = [];
    for (let n = 0; n < 5; n++) ids.push((await makeUser(s)).id);
    const page = await s.users.list('', 3);
    ids.push((await makeUser(s)).id);
    const rest = await s.users.list(page.at(-1)?.id ?? '', 200);
    assert.deepEqual(
      [...page, ...rest].map(({ id }) => id),
      ids,
    );
  });
});

describe('changes at the same time', () => {
  it('are all kept when they are of different fields', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeUser(s);
    const patches = [
      { displayName: 'x' },
      { email: 'x@example.com' },
      { role: 'viewer' },
      { permissions: ['a:b'] },
      { constraints: { divisions: ['y'] } },
    ];
    await Promise.all(patches.map((patch) => s.users.patch(id, patch, ACTOR)));
    const { displayName, email, role, permissions, constraints } = await s.users.get(id);
    assert.deepEqual({ displayName, email, role, permissions, constraints }, Object.assign({}, ...patches));
  });

  it('to one name succeed once, and the others learn that it is taken', async (t) => {
    const s = await openTestServices(t);
    const work = Array.from({ length: 10 }, () => s.users.create({ userName: 'ada' }, ACTOR));
    assert.deepEqual((await endings(work)).toSorted(), [...Array.from({ length: 9 }, () => 'conflict'), 'done']);
    assert.equal((await s.rows('SELECT id FROM audit')).length, 1);
  });

  it('delete a record once: the others get 404', async (t) => {
    const s = await openTestServices(t);
    await makeUser(s);
    const { id } = await makeUser(s);
    const work = Array.from({ length: 5 }, () => s.users.remove(id, ACTOR));
    assert.deepEqual((await endings(work)).toSorted(), ['done', 'not_found', 'not_found', 'not_found', 'not_found']);
    assert.equal((await s.rows("SELECT id FROM audit WHERE action = 'user.delete'")).length, 1);
  });

  it('that patch and delete never mix: the patch comes first, or there is nothing to patch', async (t) => {
    const s = await openTestServices(t);
    await makeUser(s);
    const met = await meetings(async (late) => {
      const { id } = await makeUser(s);
      const ends = await endings([
        s.users.remove(id, ACTOR),
        late(() => s.users.patch(id, { displayName: 'x' }, ACTOR)),
      ]);
      assert.equal(await s.store.users.get(id), null);
      return ends;
    });
    assert.deepEqual(met, ['done done', 'done not_found']);
  });

  it('that delete a record and refer to it: the first one wins, and the other is refused with the reason', async (t) => {
    const s = await openTestServices(t);
    const ofEndpoint = await meetings(async (late) => {
      const { id } = await makeEndpoint(s);
      const webhook = { name: 'w', endpointId: id, eventTypes: ['webhook.failed'] };
      return endings([late(() => s.endpoints.remove(id, ACTOR)), s.webhooks.create(webhook, ACTOR)]);
    });
    assert.deepEqual(ofEndpoint, ['done validation_failed', 'in_use done']);
    const ofUser = await meetings(async (late) => {
      const { id: userId } = await makeUser(s);
      const { application } = await makeApplication(s);
      return endings([
        late(() => s.users.remove(userId, ACTOR)),
        s.applications.patch(application.id, { userId }, ACTOR),
      ]);
    });
    assert.deepEqual(ofUser, ['done validation_failed', 'in_use done']);
  });
});

describe('refusingDuplicates', () => {
  const things = { name: 'small-thing', unique: { 'thing.name': 'name', 'thing.code': 'shortCode' } };
  const thing = { name: 'One', shortCode: 'a"1' };
  it('names the field of a taken column, its value, and the resource', async () => {
    const write = Promise.reject(new ConstraintViolation('unique', ['thing.place', 'thing.code']));
    await refused(() => refusingDuplicates(things, thing, write), {
      code: 'conflict',
      fields: ['shortCode'],
      says: 'shortCode is taken: another small thing has "a\\"1"',
    });
  });

  const passedOn = [
    new ConstraintViolation('unique', ['other.name']),
    new ConstraintViolation('check', ['thing.name']),
    new Error('disk full'),
  ];
  for (const error of passedOn) {
    it(`passes on ${error.message} as it is`, async () => {
      await assert.rejects(refusingDuplicates(things, thing, Promise.reject(error)), (thrown) => thrown === error);
    });
  }
});
