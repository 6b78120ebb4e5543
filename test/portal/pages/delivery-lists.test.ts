/** The lists of deliveries: for each one its end or its next attempt, its response, and when. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ERROR_CLASSES } from '../../../src/domain/outcome.ts';
import type { Delivery } from '../../../src/domain/webhook.ts';
import { readStateCounts } from '../../../src/portal/deliveries/delivery-counts.ts';
import { readAsked } from '../../../src/portal/deliveries/delivery-filters.ts';
import { deliveryBadge, progressOf } from '../../../src/portal/deliveries/delivery-rows.ts';
import { failuresOnce, lookedUp } from '../../../src/portal/deliveries/delivery-search.ts';
import { latestSection, readLatestDeliveries } from '../../../src/portal/deliveries/latest-deliveries.ts';
import { quickFilters } from '../../../src/portal/deliveries/search-line.ts';
import { relativeTime, shortTime } from '../../../src/portal/parts/text.ts';
import { ACTOR, makeEventType, makeWebhook, openTestServices } from '../../support/services.ts';
import { NOW } from '../../support/store.ts';

const PENDING = {
  id: 'd',
  webhookId: 'w',
  webhookName: 'Orders',
  webhookState: 'running',
  webhookMode: 'push',
  eventType: 'order.created',
  subject: 'buyer-7',
  offset: 7,
  state: 'pending',
  attemptCount: 0,
  nextAttemptAt: null,
  isLeased: false,
  createdAt: NOW - 5000,
  settledAt: null,
} as Delivery;

function textOf(markup: string): string {
  return markup
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

describe('the end of a delivery', () => {
  const cases: readonly (readonly [more: Partial<Delivery>, told: string])[] = [
    [{ state: 'delivered', attemptCount: 1, settledAt: NOW }, 'after 5 s'],
    [{ state: 'dead', attemptCount: 20, settledAt: NOW + 3_600_000 }, 'after 1 h'],
    [{ state: 'discarded' }, '–'],
    [{ attemptCount: 3, nextAttemptAt: NOW + 40 * 60_000 }, 'retry in 40 min'],
    [{ attemptCount: 3, nextAttemptAt: NOW }, 'retry due now'],
    [{ attemptCount: 3, nextAttemptAt: NOW + 9000, isLeased: true }, 'in progress'],
    [{}, 'not tried yet'],
    [{ webhookState: 'failing' }, 'held back'],
    [{ webhookState: 'failed', attemptCount: 2, nextAttemptAt: NOW + 9000 }, 'webhook failed'],
    [{ webhookState: 'stopped' }, 'webhook stopped'],
    [{ webhookMode: 'pull' }, 'not acknowledged'],
  ];
  for (const [more, told] of cases) {
    it(`is told, or what it waits for: ${told}`, () =>
      assert.equal(textOf(progressOf({ ...PENDING, ...more }, NOW).markup), told));
  }
});

describe('the latest deliveries of a webhook', () => {
  const attempt = {
    id: 'a',
    responseStatus: 500,
    errorClass: 'http_status',
    errorMessage: null,
    startedAt: NOW - 60_000,
  };
  const retried = { ...PENDING, attemptCount: 10, nextAttemptAt: NOW + 40 * 60_000 };
  const waiting = { ...PENDING, id: 'e', webhookState: 'failing' as const };
  const delivered = { ...PENDING, id: 'f', state: 'delivered' as const, attemptCount: 1, settledAt: NOW };
  const { markup } = latestSection(
    {
      rows: [
        { delivery: retried, attempt },
        { delivery: delivered, attempt: { ...attempt, responseStatus: 204, errorClass: null } },
        { delivery: waiting, attempt: null },
      ],
      heldBack: null,
    },
    ['w'],
    { now: NOW, isPulled: false },
  );

  it('have the response and the next attempt in columns of their own, and no empty cell', () => {
    const rows = [...markup.matchAll(/<tr id=.*?<\/tr>/gs)].map(([row]) =>
      Object.fromEntries(
        [...row.matchAll(/data-label="([^"]*)".*?<div class="cell">(.*?)<\/div><\/td>/gs)].map(
          ([, label = '', cell = '']) => [label, textOf(cell)],
        ),
      ),
    );
    const row = { Subject: 'buyer-7', Published: textOf(shortTime(NOW - 5000).markup) };
    assert.deepEqual(rows, [
      { State: 'pending', ...row, Response: '500 ×10 Internal Server Error', Outcome: 'retry in 40 min' },
      { State: 'delivered', ...row, Response: '204', Outcome: 'after 5 s' },
      { State: 'pending', ...row, Response: '–', Outcome: 'held back' },
    ]);
  });
});

describe('the deliveries that a page reads as the latest', () => {
  const read = (newest: readonly Delivery[], tried: readonly Delivery[]) =>
    readLatestDeliveries(
      {
        deliveries: { list: async () => ({ items: newest }), atPlaces: async () => tried },
        attempts: { latestOf: async () => [], lastOf: async (all: readonly Delivery[]) => all.map(() => null) },
      } as unknown as Parameters<typeof readLatestDeliveries>[0],
      [1],
    );
  const held = (offset: number): Delivery =>
    ({ ...PENDING, id: `h${offset}`, offset, attemptCount: 0, webhookState: 'failing' }) as Delivery;
  const tried = { ...PENDING, id: 't', offset: 3, attemptCount: 9, webhookState: 'failing' } as Delivery;

  it('are the newest ones without a gap', async () => {
    const running = [
      { ...held(9), webhookState: 'running' as const },
      { ...held(8), webhookState: 'running' as const },
    ];
    const { rows, heldBack } = await read(running, [tried]);
    assert.deepEqual([rows.map(({ delivery }) => delivery.offset), heldBack], [[9, 8], null]);
  });

  it('are those of the last attempts while newer ones are held back, and the lead says what they wait for', async () => {
    const failed = { ...held(9), webhookState: 'failed' as const };
    const cases: readonly (readonly [readonly Delivery[], string])[] = [
      [[held(9), held(8)], 'Newer deliveries are held back until one of these succeeds.'],
      [[failed], 'Newer deliveries wait until you start the webhook.'],
      [[failed, held(8)], 'Newer deliveries wait until one of these succeeds, or you start the webhook.'],
    ];
    for (const [newest, heldBack] of cases) {
      const latest = await read(newest, [tried]);
      assert.deepEqual([latest.rows.map(({ delivery }) => delivery.offset), latest.heldBack], [[3], heldBack]);
      const { markup } = latestSection(latest, ['w'], { now: NOW, isPulled: false });
      assert.ok(markup.includes('Deliveries tried last') && markup.includes(heldBack), markup);
    }
  });
});

describe('the states above the list of deliveries', () => {
  const links = (
    terms: Parameters<typeof quickFilters>[0]['terms'],
  ): readonly (readonly [string, string, boolean])[] => {
    const query = new URLSearchParams({ limit: '5', cursor: 'c' });
    const { markup: list } = quickFilters({ path: '/deliveries', query, terms, counts: {} });
    return [...list.matchAll(/<a href="([^"]*)"([^>]*)>([^<]*)</g)].map(([, href = '', more = '', label = '']) => [
      label,
      href.replaceAll('&amp;', '&'),
      more.includes('aria-current'),
    ]);
  };

  it('are always there, mark the chosen one, and keep the other filters', () => {
    const webhook = { field: 'webhook', value: 'Orders' } as const;
    assert.deepEqual(links([webhook, { field: 'state', value: 'dead' }]), [
      ['All', '/deliveries?limit=5&q=webhook%3AOrders', false],
      ['Pending', '/deliveries?limit=5&q=webhook%3AOrders+state%3Apending', false],
      ['of these failed', '/deliveries?limit=5&q=webhook%3AOrders+state%3Apending+failed', false],
      ['Dead', '/deliveries?limit=5&q=webhook%3AOrders+state%3Adead', true],
      ['Delivered', '/deliveries?limit=5&q=webhook%3AOrders+state%3Adelivered', false],
    ]);
    assert.deepEqual(
      links([]).map(([label, , isCurrent]) => [label, isCurrent]),
      [
        ['All', true],
        ['Pending', false],
        ['of these failed', false],
        ['Dead', false],
        ['Delivered', false],
      ],
    );
  });
});

describe('the counts beside the states', () => {
  it('are those of the failures and of the queues, and none where a filter would need a search', async (t) => {
    const services = await openTestServices(t);
    const { store } = services;
    await makeEventType(services, 'order.created');
    const { id } = await makeWebhook(services, ['order.created'], { name: 'Orders' });
    const event = { type: 'order.created', data: {} };
    await services.publish({ events: [event, event, event] }, ACTOR);
    const counts = async (q: string) => {
      const asked = await lookedUp({ services, store } as never, readAsked(new URLSearchParams({ q }), NOW));
      return readStateCounts(store, asked, failuresOnce(store, asked));
    };
    const all = { pending: '3', failed: '0', dead: '0' };
    assert.deepEqual(await counts(''), all);
    assert.deepEqual(await counts(`webhook:${id} state:dead`), all);
    assert.deepEqual(await counts('customer:own'), all);
    assert.deepEqual(await counts('state:pending failed'), all);
    for (const q of ['type:order.created', 'state:dead 503', 'since:1h', 'buyer-7', 'webhook:unknown'])
      assert.deepEqual(await counts(q), {}, q);
  });

  it('say where more may exist, and are left out where none was found of them', async (t) => {
    const services = await openTestServices(t);
    const { store } = services;
    const asked = await lookedUp({ services, store } as never, readAsked(new URLSearchParams(), NOW));
    const counts = (dead: number) => readStateCounts(store, asked, async () => ({ groups: [], dead, isWhole: false }));
    assert.deepEqual(await counts(7), { pending: '0', failed: undefined, dead: '7+' });
    assert.deepEqual(await counts(0), { pending: '0', failed: undefined, dead: undefined });
  });

  it('are inside the links', () => {
    const { markup } = quickFilters({
      path: '/deliveries',
      query: new URLSearchParams(),
      terms: [],
      counts: { dead: '10+' },
    });
    assert.match(markup, />Dead <span class="count">10\+<\/span><\/a>/);
    assert.match(markup, />Delivered<\/a>/);
  });
});

describe('the retried deliveries', () => {
  it('are the pending ones with a failed attempt, and the search for them is the chosen state', () => {
    const { terms, problems, filter } = readAsked(new URLSearchParams({ q: 'state:pending response:failed' }), NOW);
    assert.deepEqual(problems, []);
    assert.deepEqual(filter.response, { errorClasses: ERROR_CLASSES });
    const line = { path: '/deliveries', query: new URLSearchParams(), terms, counts: {} };
    assert.deepEqual(
      [...quickFilters(line).markup.matchAll(/aria-current="true">([^<]*)</g)].map(([, label]) => label),
      ['of these failed'],
    );
  });
});

describe('a pending delivery', () => {
  it('has the colour of a problem while its webhook fails or does not run', () => {
    const toneOf = (more: Partial<Delivery>): string | undefined =>
      /badge-(\w+)/.exec(deliveryBadge({ ...PENDING, ...more }).markup)?.[1];
    assert.equal(toneOf({}), 'info');
    for (const webhookState of ['failing', 'failed', 'stopped'] as const)
      assert.equal(toneOf({ webhookState }), 'caution', webhookState);
    assert.equal(toneOf({ webhookState: 'failed', state: 'delivered' }), 'positive');
  });
});

describe('a relative time', () => {
  it('says whether it is to come, so that a browser whose clock is behind never puts the past ahead', () => {
    const local = (at: number): string | undefined => /data-local="(\w+)"/.exec(relativeTime(at, NOW).markup)?.[1];
    assert.equal(local(NOW - 60_000), 'relative');
    assert.equal(local(NOW + 1000), 'relative', 'written between the time of the page and its reading');
    assert.equal(local(NOW + 60_000), 'ahead');
  });
});
