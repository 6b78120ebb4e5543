import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BUILT_IN_EVENT_TYPES, installBuiltInEventTypes } from '../../src/events/built-in.ts';
import { EVENT_SAMPLE_BYTES, viewEventType } from '../../src/events/event-types.ts';
import { publishMany } from '../support/batches.ts';
import { refused } from '../support/refusals.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR, makeEventType, makeWebhook, openTestServices, type TestServices } from '../support/services.ts';
import { execute, leavingNothing, NOW } from '../support/store.ts';

repeats('postgres');

const idOf = async ({ store }: TestServices, name: string): Promise<string> =>
  (await store.eventTypes.getByName(name))?.id ?? '';

describe('event types', () => {
  it('are read as written', async (t) => {
    const s = await openTestServices(t);
    const dataSchema = { type: 'object', required: ['n'] };
    const { id, ...view } = viewEventType(await s.eventTypes.create({ name: 'order.placed', dataSchema }, ACTOR));
    const at = '2026-11-21T05:00:00.000Z';
    assert.deepEqual(view, {
      name: 'order.placed',
      description: '',
      encryptionRequired: false,
      builtIn: false,
      dataSchema,
      sample: null,
      group: null,
      deprecated: false,
      public: true,
      searchPaths: [],
      source: null,
      createdAt: at,
      updatedAt: at,
    });
    assert.deepEqual((await s.eventTypes.get(id)).dataSchema, dataSchema);
  });

  it('have a sample that satisfies the schema, whichever of them is changed', async (t) => {
    const s = await openTestServices(t);
    const dataSchema = { type: 'object', properties: { n: { type: 'integer' } } };
    const { id } = await s.eventTypes.create(
      { name: 'order.placed', sample: { n: 1 }, dataSchema, group: 'Orders' },
      ACTOR,
    );
    const refusedFor = (patch: object, field: string, says: RegExp) =>
      refused(() => s.eventTypes.patch(id, patch, ACTOR), { code: 'validation_failed', fields: [field], says });
    await refusedFor({ sample: { n: 'one' } }, 'sample.n', /does not satisfy dataSchema: must be an integer/);
    await refusedFor({ dataSchema: { required: ['m'] } }, 'sample.m', /does not satisfy dataSchema: is required/);
    await refusedFor({ sample: { text: 'x'.repeat(EVENT_SAMPLE_BYTES) } }, 'sample', /at most 16384 bytes/);
    const changed = await s.eventTypes.patch(id, { sample: null, deprecated: true, public: false }, ACTOR);
    assert.deepEqual(
      [changed.sample, changed.group, changed.deprecated, changed.public],
      [null, 'Orders', true, false],
    );
  });

  it('of employees always require encryption', async (t) => {
    const s = await openTestServices(t);
    const made = await s.eventTypes.create({ name: 'employee.promoted', encryptionRequired: false }, ACTOR);
    assert.equal(made.encryptionRequired, true);
    assert.equal((await s.eventTypes.patch(made.id, { encryptionRequired: false }, ACTOR)).encryptionRequired, true);
  });

  let deep: unknown = 1;
  for (let level = 0; level < 200_000; level += 1) deep = [deep];
  const bad: readonly [what: string, body: unknown, field: string][] = [
    ['no name', {}, 'name'],
    ['a name without a category', { name: 'placed' }, 'name'],
    ['a name of three parts', { name: 'order.item.placed' }, 'name'],
    ['a name in upper case', { name: 'Order.placed' }, 'name'],
    ['a pattern for a name', { name: 'order.*' }, 'name'],
    ['a name that begins with a digit', { name: '1order.placed' }, 'name'],
    ['a part of 65 characters', { name: `order.${'x'.repeat(65)}` }, 'name'],
    ['a line feed after the name', { name: 'order.placed\n' }, 'name'],
    ['the category of the service', { name: 'webhook.mine' }, 'name'],
    ['a description of 1001 characters', { name: 'order.x', description: 'x'.repeat(1001) }, 'description'],
    ['a text for encryptionRequired', { name: 'order.x', encryptionRequired: 'yes' }, 'encryptionRequired'],
    ['a list for a schema', { name: 'order.x', dataSchema: [] }, 'dataSchema'],
    ['a schema that is none', { name: 'order.x', dataSchema: { type: 'thing' } }, 'dataSchema'],
    [
      'a schema that refers elsewhere',
      { name: 'order.x', dataSchema: { $ref: 'https://example.com/schema' } },
      'dataSchema',
    ],
    [
      'a schema of a dialect that is not spoken here',
      { name: 'order.x', dataSchema: { $schema: 'http://json-schema.org/draft-04/schema#' } },
      'dataSchema.$schema',
    ],
    [
      'a schema that is of 2020-12 by its name and of draft-07 by what it says',
      {
        name: 'order.x',
        dataSchema: { $schema: 'https://json-schema.org/draft/2020-12/schema', items: [{ type: 'string' }] },
      },
      'dataSchema',
    ],
    [
      'a schema with a broken pattern',
      { name: 'order.x', dataSchema: { properties: { a: { pattern: '(' } } } },
      'dataSchema',
    ],
    [
      'a schema whose answer would be a promise',
      { name: 'order.x', dataSchema: { $async: true, required: ['n'] } },
      'dataSchema',
    ],
    [
      'a number in a schema that no double holds',
      { name: 'order.x', dataSchema: JSON.parse('{"properties":{"n":{"maximum":1e400}}}') as unknown },
      'dataSchema.properties.n.maximum',
    ],
    ['a schema that is nested without end', { name: 'order.x', dataSchema: { examples: [deep] } }, 'body'],
    ['the mark of what is built in', { name: 'order.x', builtIn: true }, 'builtIn'],
  ];
  for (const [what, body, field] of bad) {
    it(`are refused with ${what}`, async (t) => {
      const s = await openTestServices(t);
      await leavingNothing(s, () =>
        refused(() => s.eventTypes.create(body, ACTOR), { code: 'validation_failed', fields: [field] }),
      );
    });
  }

  it('keep their name, because webhooks subscribe by it', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, 'order.placed');
    const id = await idOf(s, 'order.placed');
    for (const name of ['order.paid', 'order.placed', null]) {
      await leavingNothing(s, () =>
        refused(() => s.eventTypes.patch(id, { name }, ACTOR), {
          code: 'validation_failed',
          fields: ['name'],
          says: 'cannot be changed',
        }),
      );
    }
    await leavingNothing(s, () =>
      refused(() => s.eventTypes.create({ name: 'order.placed' }, ACTOR), { code: 'conflict', fields: ['name'] }),
    );
  });

  it('that a webhook names cannot be deleted, and the refusal names the webhook', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, 'order.placed');
    const id = await idOf(s, 'order.placed');
    const webhook = await makeWebhook(s, ['order.placed']);
    await leavingNothing(s, () =>
      refused(() => s.eventTypes.remove(id, ACTOR), {
        code: 'in_use',
        says: `webhook ${webhook.name} (${webhook.id})`,
      }),
    );
    await s.webhooks.patch(webhook.id, { eventTypes: ['order.*'] }, ACTOR);
    await s.eventTypes.remove(id, ACTOR);
    await refused(() => s.eventTypes.get(id), { code: 'not_found' });
  });

  it('that require encryption cannot be deleted while the log has their events', async (t) => {
    const s = await openTestServices(t);
    for (const encryptionRequired of [true, false]) {
      const name = encryptionRequired ? 'health.reported' : 'order.placed';
      await makeEventType(s, name, { encryptionRequired });
      const id = await idOf(s, name);
      await s.publish({ type: name, data: {}, subject: 'jane' }, ACTOR);
      if (encryptionRequired) {
        await leavingNothing(s, () =>
          refused(() => s.eventTypes.remove(id, ACTOR), { code: 'in_use', says: 'events in the log' }),
        );
        await s.erasures.erase({ subject: 'jane' }, ACTOR);
      }
      await s.eventTypes.remove(id, ACTOR);
    }
  });

  it('are looked up once for all events that are published together, known or not', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, 'order.placed');
    const getByName = t.mock.method(s.store.eventTypes, 'getByName');
    const drafts = ['order.placed', 'order.unknown'].flatMap((type) => [1, 2, 3].map(() => ({ type, dataJson: '{}' })));
    const problems = await s.eventTypes.problemsOf(drafts);
    assert.deepEqual(
      problems.map(({ length }) => length),
      [0, 0, 0, 1, 1, 1],
    );
    assert.deepEqual(
      getByName.mock.calls.map(({ arguments: [name] }) => name),
      ['order.placed', 'order.unknown'],
    );
  });

  it('use a new schema immediately, for later events', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, 'order.placed', { dataSchema: { required: ['a'] } });
    const id = await idOf(s, 'order.placed');
    const problemsOf = async (data: unknown) =>
      (await s.eventTypes.problemsOf([{ type: 'order.placed', dataJson: JSON.stringify(data) }]))[0];
    assert.deepEqual(await problemsOf({ b: 1 }), [{ field: 'data.a', problem: 'is required' }]);
    await s.eventTypes.patch(id, { dataSchema: { required: ['b'] } }, ACTOR);
    assert.deepEqual(await problemsOf({ b: 1 }), []);
    await s.eventTypes.patch(id, { dataSchema: null }, ACTOR);
    assert.deepEqual(await problemsOf({}), []);
  });
});

describe('an event type that begins to require encryption', () => {
  const subscribed: readonly [how: string, patterns: readonly string[], refusedFor: boolean][] = [
    ['by its name', ['order.secret'], true],
    ['by its category', ['order.*'], true],
    ['to others of its category', ['order.placed'], false],
    ['to a category that begins alike', ['orders.*'], false],
  ];
  for (const [how, patterns, refusedFor] of subscribed) {
    it(`is ${refusedFor ? 'refused' : 'taken'} while a webhook without a key is subscribed ${how}`, async (t) => {
      const s = await openTestServices(t);
      for (const name of ['order.secret', 'order.placed', 'orders.placed']) await makeEventType(s, name);
      const id = await idOf(s, 'order.secret');
      const webhook = await makeWebhook(s, patterns);
      const patch = () => s.eventTypes.patch(id, { encryptionRequired: true }, ACTOR);
      if (!refusedFor) return assert.equal((await patch()).encryptionRequired, true);
      const expected = {
        code: 'conflict',
        fields: ['encryptionRequired'],
        says: `webhook ${webhook.name} (${webhook.id})`,
      } as const;
      await leavingNothing(s, () => refused(patch, expected));
    });
  }

  it('is also refused at its creation while a webhook without a key subscribes to its category', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, 'order.placed');
    const webhook = await makeWebhook(s, ['order.*']);
    const create = () => s.eventTypes.create({ name: 'order.secret', encryptionRequired: true }, ACTOR);
    await leavingNothing(s, () =>
      refused(create, { code: 'conflict', fields: ['encryptionRequired'], says: webhook.id }),
    );
    await s.webhooks.remove(webhook.id, ACTOR);
    assert.equal((await create()).encryptionRequired, true);
  });

  it('is accepted if every subscriber has a key, and can be changed in other ways afterwards', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, 'order.secret');
    await makeWebhook(s, ['order.*'], { key: true });
    const id = await idOf(s, 'order.secret');
    await s.eventTypes.patch(id, { encryptionRequired: true }, ACTOR);
    assert.equal((await s.eventTypes.patch(id, { description: 'x' }, ACTOR)).encryptionRequired, true);
  });
});

describe('the built-in event types', () => {
  it('cannot be changed or deleted', async (t) => {
    const s = await openTestServices(t);
    for (const { id, name } of BUILT_IN_EVENT_TYPES) {
      await leavingNothing(s, async () => {
        await refused(() => s.eventTypes.patch(id, { description: 'mine' }, ACTOR), { code: 'read_only', says: name });
        await refused(() => s.eventTypes.remove(id, ACTOR), { code: 'read_only', says: name });
      });
    }
  });

  it('can be hidden from customers and shown again, and keep that over a start', async (t) => {
    const s = await openTestServices(t);
    const { eventTypes } = s.store;
    const { id = '', name = '' } = BUILT_IN_EVENT_TYPES[0] ?? {};
    assert.equal((await s.eventTypes.patch(id, { public: false }, ACTOR)).public, false);
    await leavingNothing(s, () =>
      refused(() => s.eventTypes.patch(id, { public: true, deprecated: true }, ACTOR), {
        code: 'read_only',
        says: name,
      }),
    );
    await installBuiltInEventTypes(s.store, NOW + 5);
    const kept = await eventTypes.getByName(name);
    assert.deepEqual([kept?.public, kept?.builtIn], [false, true]);
    assert.equal((await s.eventTypes.patch(id, { public: true }, ACTOR)).public, true);
  });

  it('about employees are offered to customers once one was published', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, 'order.placed');
    await makeEventType(s, 'order.audited', { public: false });
    const offered = async () => (await s.store.eventTypes.offered()).map(({ name }) => name);
    assert.deepEqual(
      (await offered()).filter((name) => !name.startsWith('webhook.')),
      ['order.placed'],
    );
    await publishMany(s, 'employee.created', 1);
    assert.ok((await offered()).includes('employee.created'));
    assert.ok(!(await offered()).includes('employee.updated'));
    await s.eventTypes.patch(await idOf(s, 'employee.created'), { public: false }, ACTOR);
    assert.ok(!(await offered()).includes('employee.created'));
  });

  it('are written at a start only if they changed, and keep their createdAt', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, 'order.placed');
    const before = s.database.commits();
    await installBuiltInEventTypes(s.store, NOW + 5);
    assert.equal(s.database.commits(), before);
    await execute(s, "UPDATE event_type SET description = 'old' WHERE name = 'webhook.failed'");
    await installBuiltInEventTypes(s.store, NOW + 9);
    const { description, createdAt, updatedAt } =
      (await s.store.eventTypes.getByName('webhook.failed')) ?? assert.fail();
    assert.deepEqual([description === 'old', createdAt, updatedAt], [false, NOW, NOW + 9]);
    assert.equal((await s.store.eventTypes.getByName('order.placed'))?.builtIn, false);
  });
});
