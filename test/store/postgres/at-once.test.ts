/** Two instances on one PostgreSQL database that write at the same time: what SQLite prevents by its one writer. */

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { BUILT_IN_SCOPES } from '../../../src/access/built-in.ts';
import { installBuiltInProducts } from '../../../src/access/products.ts';
import type { Application } from '../../../src/domain/application.ts';
import type { AuditEntry } from '../../../src/domain/audit.ts';
import type { User } from '../../../src/domain/user.ts';
import { installBuiltInEventTypes } from '../../../src/events/built-in.ts';
import { createIds, randomBytes } from '../../../src/kernel/ids.ts';
import { createVault, MASTER_KEY_BYTES } from '../../../src/kernel/vault.ts';
import type { StatementResult } from '../../../src/store/port/database.ts';
import { StaleWrite } from '../../../src/store/port/errors.ts';
import { noFigures } from '../../../src/store/port/figures.ts';
import { tokenStore, watchAccess } from '../../../src/store/postgres/access.ts';
import { openPostgres, type PostgresDatabase } from '../../../src/store/postgres/driver/postgres.ts';
import { createPostgresStore } from '../../../src/store/postgres/store.ts';
import { SESSIONS_PER_USER_MAX } from '../../../src/store/shared/access/sessions.ts';
import { cleanUp } from '../../support/cleanup.ts';
import { openEmptied } from '../../support/emptied-databases.ts';
import { NOW } from '../../support/store.ts';

const clock = (): number => NOW;

async function openInstances(t: TestContext) {
  const first = await openEmptied(t, NOW);
  const second = await openPostgres({ connection: { connectionString: first.url } });
  cleanUp(t, () => second.close());
  const key = randomBytes(MASTER_KEY_BYTES);
  const instances = [first.database, second].map((database) => {
    const ids = createIds(clock, randomBytes);
    const access = watchAccess(database);
    const store = createPostgresStore(database, createVault(key, randomBytes), ids, access);
    const entry = (): AuditEntry => ({
      id: ids.uuid(),
      at: NOW,
      actor: 'service',
      action: 'user.update',
      target: 'user:1',
      customerId: null,
      changes: {},
    });
    return { database, ids, access, store, entry };
  });
  const [one, other] = instances;
  assert.ok(one && other);
  return { one, other, instances };
}
type Instance = Awaited<ReturnType<typeof openInstances>>['one'];

const user = (id: string, more: Partial<User> = {}): User => ({
  customerId: null,
  id,
  userName: `user ${id}`,
  displayName: null,
  email: null,
  active: true,
  role: 'service',
  permissions: [],
  constraints: {},
  passwordHash: null,
  createdAt: NOW,
  updatedAt: NOW,
  ...more,
});

const application = (id: string, userId: string): Application => ({
  customerId: null,
  id,
  name: id,
  userId,
  clientId: `client ${id}`,
  scopes: ['a:view'],
  active: true,
  secretHash: Buffer.alloc(32),
  secretCreatedAt: NOW,
  accessTokenValiditySeconds: 3600,
  previousSecretHash: null,
  previousSecretExpiresAt: null,
  tokensRevokedThrough: 0,
  lastUsedAt: null,
  createdAt: NOW,
  updatedAt: NOW,
});

/** Which of the writes succeeded. All others must be stale. */
async function written(writes: readonly Promise<unknown>[]): Promise<boolean[]> {
  const outcomes = await Promise.allSettled(writes);
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') assert.ok(outcome.reason instanceof StaleWrite, String(outcome.reason));
  }
  return outcomes.map(({ status }) => status === 'fulfilled');
}

async function makeApplications({ store, entry }: Instance, names: readonly string[]): Promise<Application[]> {
  await store.users.insert(user('1'), entry());
  const made = names.map((name) => application(name, '1'));
  for (const one of made) await store.applications.insert(one, entry());
  return made;
}

describe('two instances', () => {
  it('leave one administrator when each takes the rights of one', async (t) => {
    const { one, other } = await openInstances(t);
    const administrator = { role: 'administrator', permissions: BUILT_IN_SCOPES } as const;
    for (let round = 0; round < 10; round += 1) {
      const [ada, ben] = [user(`a${round}`, administrator), user(`b${round}`, administrator)];
      for (const each of [ada, ben]) await one.store.users.insert(each, one.entry());
      const outcomes = await written([
        one.store.users.update({ ...ada, active: false, updatedAt: NOW + 1 }, ada, one.entry()),
        other.store.users.update({ ...ben, role: 'operator', updatedAt: NOW + 1 }, ben, other.entry()),
      ]);
      assert.deepEqual(outcomes.toSorted(), [false, true]);
      const left = outcomes[0] ? ben : ada;
      // The next round needs its own two.
      await one.database.commit([
        { sql: "UPDATE user_account SET role = 'operator' WHERE id = @id", params: { id: left.id } },
      ]);
    }
  });

  it('write one of two products that were checked at the same version', async (t) => {
    const { one, other } = await openInstances(t);
    for (let round = 0; round < 10; round += 1) {
      const version = await one.store.products.version();
      const outcomes = await written(
        [one, other].map(({ store, entry }, n) => {
          const product = { id: `${round} ${n}`, name: `${round} ${n}`, builtIn: false, scopes: [], rules: [] };
          const stamped = { ...product, createdAt: NOW, updatedAt: NOW };
          return store.products.insert(stamped, entry(), [store.products.atVersion(version)]);
        }),
      );
      assert.deepEqual(outcomes.toSorted(), [false, true]);
    }
  });

  it('install the built-in products and the check of the master key when they start at the same time', async (t) => {
    const { instances } = await openInstances(t);
    await Promise.all(instances.map(({ store }) => installBuiltInProducts(store, NOW)));
    await Promise.all(instances.map(({ store }) => installBuiltInEventTypes(store, NOW)));
    await Promise.all(instances.map(({ store }) => store.settings.checkMasterKey()));
    const counts = await Promise.all(instances.map(async ({ store }) => (await store.products.all()).length));
    assert.ok(counts[0] !== undefined && counts[0] > 0 && counts[0] === counts[1]);
  });

  const OPERATORS = { customerId: null, returnUrl: null };
  it('keep the bound on the sessions of a user', async (t) => {
    const { one, instances } = await openInstances(t);
    const ada = user('1', { role: 'operator' });
    await one.store.users.insert(ada, one.entry());
    const begin = ({ store, ids, entry }: Instance): Promise<void> => {
      const session = { id: ids.uuid(), userId: '1', tokenHash: randomBytes(32), role: 'operator', method: 'password' };
      const times = { createdAt: NOW, seenAt: NOW, expiresAt: NOW + 1000 };
      return store.sessions.begin(
        { ...session, ...times, address: '', userAgent: '', ...OPERATORS } as never,
        ada,
        entry(),
      );
    };
    const each = Array.from({ length: SESSIONS_PER_USER_MAX });
    await Promise.all(instances.flatMap((instance) => each.map(() => begin(instance))));
    assert.equal((await one.store.sessions.ofUser('1', NOW)).length, SESSIONS_PER_USER_MAX);
    assert.equal(await one.store.audit.firstBroken(), null);
    assert.equal((await one.store.audit.head())?.entries, 2 * SESSIONS_PER_USER_MAX + 1);
  });

  it('add up the figures of the same intervals', async (t) => {
    const { one, instances } = await openInstances(t);
    const webhooks = [3, 1, 2];
    const gathered = (bucket: number) =>
      webhooks.map((webhookNumber) => ({
        webhookNumber,
        at: NOW,
        figures: { ...noFigures(), attempts: 1, delivered: 2, latencies: new Map([[bucket, 1]]) },
      }));
    const rounds = [1, 2, 3, 4, 5];
    await Promise.all(
      instances.flatMap(({ store }, n) =>
        rounds.map(() => store.figures.add(n === 0 ? gathered(7) : gathered(8).toReversed())),
      ),
    );
    for (const spanSeconds of [60, 600, 3600] as const) {
      for (const webhookNumber of webhooks) {
        const range = { spanSeconds, webhookNumber, from: 0, to: NOW + 1 };
        const [found, ...more] = await one.store.figures.read(range);
        assert.deepEqual(more, []);
        assert.deepEqual([found?.figures.attempts, found?.figures.delivered], [10, 20]);
        assert.deepEqual(
          found?.figures.latencies,
          new Map([
            [7, 5],
            [8, 5],
          ]),
        );
      }
    }
  });

  it('keep the latest use of each application', async (t) => {
    const { one, instances } = await openInstances(t);
    const names = Array.from({ length: 30 }, (_, n) => `a${n}`);
    await makeApplications(one, names);
    for (let round = 1; round <= 10; round += 1) {
      for (const [n, { store }] of instances.entries()) {
        for (const name of n === 0 ? names : names.toReversed()) store.applicationUses.note(name, NOW + round * 2 + n);
      }
      await Promise.all(instances.map(({ store }) => store.applicationUses.write(100)));
    }
    const rows = await one.database.all('SELECT DISTINCT last_used_at FROM application_use', {});
    assert.deepEqual(rows, [{ last_used_at: NOW + 21 }]);
  });

  it('see a revocation by the other with the next call, and hear of it', async (t) => {
    const { one, other } = await openInstances(t);
    const [shop] = await makeApplications(one, ['shop']);
    assert.ok(shop);
    let calls = 0;
    const before = await other.store.tokens.version();
    other.access.changed();
    await other.store.tokens.version();
    other.store.sessions.subscribe(() => {
      calls += 1;
    });
    other.access.changed();
    await other.store.tokens.version();
    const heard = calls;
    await one.store.applications.update({ ...shop, active: false, updatedAt: NOW + 1 }, shop, one.entry());
    assert.notEqual(await other.store.tokens.version(), before);
    other.access.changed();
    await other.store.tokens.version();
    assert.equal(calls, heard + 1);
  });
});

const tokenOf = ({ ids }: Instance, { id }: Application, tokensRevokedThrough = 0) => ({
  // As by a process whose clock is ahead: a watermark from the clock of the revocation would not cover it.
  key: ids.rowKey(tokensRevokedThrough) + 1000,
  hash: Buffer.alloc(32),
  applicationId: id,
  scope: 'a:view "\\',
  expiresAt: NOW + 1000,
  tokensRevokedThrough,
});

describe('tokens of one turn', () => {
  it('are issued together, and each is refused separately', async (t) => {
    const { one } = await openInstances(t);
    const [shop, till] = await makeApplications(one, ['shop', 'till']);
    assert.ok(shop && till);
    const tokens = [
      tokenOf(one, shop),
      tokenOf(one, till, 5),
      tokenOf(one, application('gone', '1')),
      tokenOf(one, till),
    ];
    assert.deepEqual(await written(tokens.map((token) => one.store.tokens.issue(token))), [true, false, false, true]);
    const found = await Promise.all(tokens.map(({ key }) => one.store.tokens.find(key)));
    assert.deepEqual(
      found.map((grant) => grant?.clientId),
      ['client shop', undefined, undefined, 'client till'],
    );
    assert.deepEqual(await written([one.store.tokens.issue(tokens[0] as (typeof tokens)[0])]), [false]);
  });

  it('do not outlive a revocation by the other instance that they overlap', async (t) => {
    const { one, other } = await openInstances(t);
    let [shop] = await makeApplications(one, ['shop']);
    for (let round = 0; round < 20; round += 1) {
      assert.ok(shop);
      const before: Application = shop;
      const revoked = {
        ...before,
        tokensRevokedThrough: one.ids.rowKey(before.tokensRevokedThrough),
        updatedAt: before.updatedAt + 1,
      };
      let isOver = false;
      const revocation = one.store.applications.update(revoked, before, one.entry()).finally(() => {
        isOver = true;
      });
      const issuing: Promise<unknown>[] = [];
      while (!isOver) {
        const tokens = [1, 2, 3].map(() =>
          other.store.tokens.issue(tokenOf(other, before, before.tokensRevokedThrough)),
        );
        issuing.push(...tokens);
        await Promise.allSettled(tokens);
      }
      await revocation;
      await written(issuing);
      shop = (await one.store.applications.get('shop')) ?? undefined;
      const alive = await one.store.tokens.inForce(
        { id: 'shop', tokensRevokedThrough: shop?.tokensRevokedThrough ?? 0 },
        NOW,
        100_000,
      );
      assert.equal(alive.count, 0);
    }
  });

  it('do not outlive the deactivation of their user that they overlap', async (t) => {
    const { one, other } = await openInstances(t);
    const [shop] = await makeApplications(one, ['shop', 'till']);
    assert.ok(shop);
    for (let round = 0; round < 10; round += 1) {
      const [before, current] = [await one.store.users.get('1'), await one.store.applications.get('shop')];
      assert.ok(before && current);
      const off = { ...before, active: false, updatedAt: before.updatedAt + 1 };
      let isOver = false;
      const deactivation = one.store.users.update(off, before, one.entry()).finally(() => {
        isOver = true;
      });
      const issuing: Promise<unknown>[] = [];
      while (!isOver) {
        const token = other.store.tokens.issue(tokenOf(other, shop, current.tokensRevokedThrough));
        issuing.push(token);
        await Promise.allSettled([token]);
      }
      await deactivation;
      await written(issuing);
      await one.store.users.update({ ...off, active: true, updatedAt: off.updatedAt + 1 }, off, one.entry());
      const { tokensRevokedThrough = 0 } = (await one.store.applications.get('shop')) ?? {};
      assert.equal((await one.store.tokens.inForce({ id: 'shop', tokensRevokedThrough }, NOW, 100_000)).count, 0);
    }
  });

  it('are issued once if the answer to their commit was lost, and not under a key that is taken', async (t) => {
    const { one } = await openInstances(t);
    const [shop] = await makeApplications(one, ['shop']);
    assert.ok(shop);
    // What the driver does after a lost answer, and after a request that never arrived.
    for (const sent of [['sql', 'again'], ['again']] as const) {
      const database: PostgresDatabase = {
        ...one.database,
        commit: async (statements) => {
          let results: readonly StatementResult[] = [];
          for (const text of sent) {
            const run = statements.map((statement) => ({ ...statement, sql: statement[text] ?? statement.sql }));
            results = await one.database.commit(run);
          }
          return results;
        },
      };
      const tokens = tokenStore(database, one.access);
      const token = tokenOf(one, shop, 0);
      await tokens.issue(token);
      assert.equal((await tokens.find(token.key))?.applicationId, 'shop');
      await assert.rejects(tokens.issue({ ...token, hash: Buffer.alloc(32, 7) }), StaleWrite);
    }
  });
});
