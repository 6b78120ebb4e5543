/** Bodies that are large enough to be read in slices. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EVENTS_PER_REQUEST } from '../../src/domain/event.ts';
import type { AcceptedView } from '../../src/events/publish.ts';
import { JSON_VALUES_MAX } from '../../src/http/body.ts';
import { refusalOf, succeeded } from '../support/client.ts';
import { makeEventType } from '../support/journey.ts';
import { startService } from '../support/service.ts';

const TYPE = 'order.placed';

describe('a large body', () => {
  it('of events is accepted as a small one is, and its problems name the same places', async (t) => {
    const { admin } = await startService(t);
    await makeEventType(admin, TYPE);
    const text = 'x'.repeat(2000);
    const events = Array.from({ length: EVENTS_PER_REQUEST }, (_, n) => ({ type: TYPE, data: { n, text } }));
    const { accepted } = await succeeded<AcceptedView>(admin.post('events', { events }));
    assert.equal(accepted, EVENTS_PER_REQUEST);
    const table: readonly (readonly [at: number, event: object, field: string])[] = [
      [7, { type: 'order.unknown', data: { text } }, 'events[7].type'],
      [8, { type: TYPE, data: { text }, dta: 1 }, 'events[8].dta'],
      [9, { type: TYPE, data: [text] }, 'events[9].data'],
      [10, { type: TYPE, data: { text }, subject: '\ud800' }, 'events[10].subject'],
      [11, { type: TYPE, data: { text: 'x'.repeat(256 * 1024) } }, 'events[11].data'],
      [12, { type: TYPE, data: { text: 'x'.repeat(300 * 1024) } }, 'events[12].data'],
    ];
    for (const [at, event, field] of table) {
      const refusal = await refusalOf(admin.post('events', { events: events.with(at, event as never) }), 400);
      assert.deepEqual(
        refusal.details?.map((one) => one.field),
        [field],
        JSON.stringify(refusal.details),
      );
    }
    await refusalOf(admin.post('events', { events: [...events, events[0]] }), 400);
  });

  it('of one event with half a million members is refused by its size', async (t) => {
    const { admin } = await startService(t);
    await makeEventType(admin, TYPE);
    const data = Object.fromEntries(Array.from({ length: 480_000 }, (_, n) => [String(n * 7), 1]));
    const refusal = await refusalOf(admin.post('events', { type: TYPE, data }), 400);
    assert.match(refusal.description, /^data has \d+ bytes of JSON, more than 262144/);
    const beside = await refusalOf(admin.post('events', { type: TYPE, data: {}, beside: data }), 400);
    assert.match(
      beside.description,
      /^body has more than 16384 bytes of JSON: beside its data, an event has only short texts/,
    );
  });

  it('of the administration is refused with 413 if it has too many values', async (t) => {
    const { admin } = await startService(t);
    const values = Array.from({ length: JSON_VALUES_MAX }, () => 1);
    assert.match((await refusalOf(admin.post('webhooks', { values }), 413)).description, /more than 20000 values/);
    assert.equal(
      (await refusalOf(admin.post('webhooks', { values: values.slice(10) }), 400)).code,
      'validation_failed',
    );
  });
});
