/** A refusal lists all problems at once: `details` names every field (contract §1.4), including problems that only the store can find. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkAll, Refusal, refuseBackwards, refuseField } from '../../src/kernel/refusal.ts';
import { refused } from '../support/refusals.ts';
import { ACTOR, makeEventType, openTestServices, type TestServices } from '../support/services.ts';
import { leavingNothing } from '../support/store.ts';

type Case = readonly [what: string, work: (s: TestServices) => Promise<unknown>, fields: readonly string[]];

const cases: readonly Case[] = [
  [
    'an endpoint',
    (s) => {
      const oauth = { clientId: 'a', clientSecret: 'b', tokenUrl: 'http://b.example' };
      const clientCertificate = { certificate: 'x', privateKey: 'y' };
      return s.endpoints.create({ name: 'n', url: 'http://a.example', oauth, clientCertificate }, ACTOR);
    },
    ['url', 'oauth.tokenUrl', 'clientCertificate.certificate'],
  ],
  [
    'a webhook',
    (s) => {
      const eventTypes = ['order.placed', 'order.lost', 'order.found'];
      return s.webhooks.create({ name: 'n', endpointId: 'x', eventTypes, encryptionKeyName: 'none' }, ACTOR);
    },
    ['endpointId', 'eventTypes[1]', 'eventTypes[2]', 'encryptionKeyName'],
  ],
  [
    'a webhook that lacks its key',
    (s) => s.webhooks.create({ name: 'n', endpointId: 'x', eventTypes: ['employee.created'] }, ACTOR),
    ['endpointId', 'encryptionKeyName'],
  ],
  [
    'an application',
    (s) => s.applications.create({ name: 'n', userId: 'x', scopes: ['a:b', 'c:d'] }, ACTOR),
    ['userId', 'scopes[0]', 'scopes[1]'],
  ],
  [
    'a product',
    (s) => s.products.create({ name: 'n', scopes: [{ name: 'x' }, { name: 'y' }] }, ACTOR),
    ['scopes[0].name', 'scopes[1].name'],
  ],
  [
    'events',
    (s) =>
      s.publish({ events: ['order.lost', 'order.placed', 'order.found'].map((type) => ({ type, data: {} })) }, ACTOR),
    ['events[0].type', 'events[2].type'],
  ],
];

describe('all problems of a request in one reply', () => {
  for (const [what, work, fields] of cases) {
    it(`with ${what}`, async (t) => {
      const s = await openTestServices(t);
      await makeEventType(s, 'order.placed');
      await leavingNothing(s, async () => {
        const { message, details } = await refused(() => work(s), { code: 'validation_failed', fields });
        const more = fields.length > 1 ? `, and ${fields.length - 1} more` : '';
        assert.equal(message, `${fields[0]} ${details?.[0]?.problem}${more}`);
      });
    });
  }
});

describe('checks that run together', () => {
  it('pass if all pass', async () => {
    assert.equal(await checkAll([() => undefined, async () => undefined]), undefined);
  });

  it('end with an error that names no field', async () => {
    const field = (): never => {
      throw refuseField('a', 'is wrong');
    };
    const other = new Refusal('conflict', 'taken');
    await assert.rejects(
      checkAll([
        field,
        () => {
          throw other;
        },
      ]),
      other,
    );
  });
});

describe('a range of time', () => {
  it('ends after it begins, if both are known', async () => {
    for (const [from, until] of [
      [null, null],
      [1, null],
      [null, 1],
      [1, 2],
    ] as const) {
      assert.equal(refuseBackwards(from, until), undefined);
    }
    for (const [from, until] of [
      [1, 1],
      [2, 1],
      [0, 0],
    ] as const) {
      const asked = { code: 'validation_failed', fields: ['until'], says: /^until must be later than since$/ } as const;
      await refused(() => refuseBackwards(from, until), asked);
      await refused(() => refuseBackwards(from, until, 'from'), { ...asked, says: /^until must be later than from$/ });
    }
  });
});
