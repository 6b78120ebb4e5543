/** Event data arrives as it was sent: each digit, escape and name, through every door and on both databases. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import type { AcceptedView } from '../../src/events/publish.ts';
import type { DeliveryView } from '../../src/webhooks/deliveries.ts';
import { type ApiReply, EDGE, refusalOf, succeeded, tokenFor } from '../support/client.ts';
import { until } from '../support/dispatching.ts';
import { connect, deliveriesOf, makeEventType, only, startJourney } from '../support/journey.ts';
import { jsonText, looseJsonText } from '../support/json-texts.ts';
import { pgpKeyPair } from '../support/pgp-keys.ts';
import { newSession, type PortalReply, request } from '../support/portal-requests.ts';
import type { ReceivingEndpoint } from '../support/receiver.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';

repeatsInSlowTier('postgres');

const TYPE = 'order.placed';
const KEY = 'orders';
const PRICE =
  '{"price":1.50,"id":12345678901234567890123,"tiny":1e-400,"huge":[-1E+400,-0],"nul":"\\u0000\\ud800","__proto__":{"a":0.0}}';

async function start(t: TestContext, webhook: Readonly<Record<string, unknown>> = {}) {
  const journey = await startJourney(t);
  await makeEventType(journey.admin, TYPE);
  return { ...journey, ...(await connect(journey, [TYPE], { webhook })) };
}

/** The text of the data of each event in a body, by the event's id. */
function dataIn(json: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [record, id = ''] of json.matchAll(
    /"messageId":"([^"]+)","eventType":"[^"]+","actorId":[^,]+,"correlationId":"[^"]+"\},"[^"]+":/g,
  )) {
    const begin = json.indexOf(record) + record.length;
    const next = json.indexOf('}},{"offset":', begin);
    found.set(id, json.slice(begin, next === -1 ? json.length - ']}'.length - '}}'.length : next));
  }
  return found;
}

/** The data that arrives, until that of all these events is there. */
async function arrived(at: ReceivingEndpoint, ids: readonly string[]): Promise<string[]> {
  const found = new Map<string, string>();
  while (!ids.every((id) => found.has(id)))
    for (const [id, data] of dataIn((await at.next()).json)) found.set(id, data);
  return ids.map((id) => String(found.get(id)));
}

const idsOf = ({ events }: AcceptedView): string[] => events.map(({ id }) => id);

describe('event data', () => {
  it('is delivered and pulled as it was sent, singly and in a list, for any JSON', async (t) => {
    const { admin, service, at, webhook } = await start(t);
    const texts = [PRICE, ...fc.sample(jsonText, 80)];
    const loose = fc.sample(looseJsonText, 20);
    const listed = [...texts.map((json) => ({ json, loose: json })), ...loose];
    const body = `{ "events" :\n[${listed.map(({ loose: data }) => `{"data":${data},"type":"${TYPE}"}`).join(' , ')}] }`;
    const accepted = await succeeded<AcceptedView>(admin.post('events', body));
    const expected = listed.map(({ json }) => json);
    assert.deepEqual(await arrived(at, idsOf(accepted)), expected);
    const pulled = await fetch(`${service.url}${EDGE}/webhooks/${webhook.id}/records?limit=1000`, {
      headers: { Authorization: `Bearer ${await tokenFor(service.url, service.credentials)}` },
    });
    assert.deepEqual([...dataIn(await pulled.text()).values()], expected);
    for (const { json, loose: data } of [{ json: PRICE, loose: PRICE }, ...loose.slice(0, 3)]) {
      const one = await succeeded<AcceptedView>(admin.post('events', `{"type":"${TYPE}","d\\u0061ta":${data}}`));
      assert.deepEqual(await arrived(at, idsOf(one)), [json]);
    }
  });

  it('is delivered encrypted, judged by a filter and a schema, and sent again as it was sent', async (t) => {
    const journey = await startJourney(t);
    const { admin } = journey;
    const { publicKey, privateKey } = await pgpKeyPair();
    await succeeded(admin.post('keys', { name: KEY, publicKey }));
    const dataSchema = { properties: { price: { type: 'number', minimum: 1.5 } } };
    await succeeded(admin.post('event-types', { name: TYPE, dataSchema }));
    const { at, webhook } = await connect(journey, [TYPE], {
      receiving: { privateKeys: { [KEY]: privateKey } },
      webhook: { encryptionKeyName: KEY, filter: { 'data.price': 1.5 } },
    });
    const post = (data: string): Promise<AcceptedView> =>
      succeeded(admin.post('events', `{"type":"${TYPE}","data":${data}}`));
    const { field } = only(
      (await refusalOf(admin.post('events', `{"type":"${TYPE}","data":{"price":1.490}}`), 400)).details ?? [],
    );
    assert.equal(field, 'data.price');
    const equal = '{"price":1.500000000000000000001e0,"x":2e1}';
    const [first = ''] = idsOf(await post(equal));
    await post('{"price":1.6000}');
    const [last = ''] = idsOf(await post(PRICE));
    assert.deepEqual(await arrived(at, [first, last]), [equal, PRICE]);
    let deliveries: DeliveryView[] = [];
    // A delivery that is sent again before its outcome is known stays one delivery.
    await until('the outcomes', async () => {
      deliveries = await deliveriesOf(admin, webhook);
      return deliveries.every(({ state }) => state === 'delivered');
    });
    assert.deepEqual(
      deliveries.map(({ eventId }) => eventId),
      [first, last],
    );
    await succeeded(admin.post(`deliveries/${deliveries.at(-1)?.id}/replay`, {}));
    assert.deepEqual(await arrived(at, [last]), [PRICE]);
  });

  it('counts as the same event only with the same digits', async (t) => {
    const { admin } = await start(t);
    const post = (data: string): Promise<ApiReply<AcceptedView>> =>
      admin.post('events', `{"type":"${TYPE}","idempotencyKey":"k","data":${data}}`);
    await succeeded(post('{"a":1.50,"b":{"c":2,"d":"\\u0000"}}'));
    const again = await succeeded<AcceptedView>(post('{"b":{"d":"\\u0000","c":2}, "a":1.50}'));
    assert.equal(again.duplicates, 1);
    for (const other of ['{"a":1.5,"b":{"c":2,"d":"\\u0000"}}', '{"a":1.50,"b":{"c":2,"d":"\\ufffd"}}'])
      assert.equal((await refusalOf(post(other), 409)).code, 'idempotency_conflict');
  });

  it('is refused with a name that comes twice, and so is the event', async (t) => {
    const { admin } = await start(t);
    const cases: readonly [body: string, field: string][] = [
      [`{"type":"${TYPE}","data":{"a":{"b":[0,{"c":1,"d":1,"\\u0063":2}]}}}`, 'data.a.b[1].c'],
      [
        `{"events":[{"type":"${TYPE}","data":{}},{"type":"${TYPE}","data":{"__proto__":1,"__proto__":2}}]}`,
        'events[1].data.__proto__',
      ],
      [`{"type":"${TYPE}","data":{"a":1},"data":{"a":1}}`, 'data'],
      [`{"events":[{"type":"${TYPE}","data":{},"type":"${TYPE}"}]}`, 'events[0].type'],
      [`{"type":"${TYPE}","data":${'{"a":'.repeat(101)}1${'}'.repeat(101)}}`, 'data'],
      [`{"type":"${TYPE}","data":{"a":"${'ü'.repeat(131_070)}"}}`, 'data'],
      [`{"events":[{"type":"${TYPE}","data":[1]}]}`, 'events[0].data'],
    ];
    for (const [body, field] of cases) {
      const { code, details } = await refusalOf(admin.post('events', body), 400);
      assert.deepEqual([code, details?.[0]?.field], ['validation_failed', field]);
    }
    for (const body of [
      '{"type":"a.b","data":{"a":1 2}}',
      '{"data":{"a":[}}',
      '{"data":{',
      '{"type":"a.b","data":{"a":01}}',
      '',
    ])
      assert.equal((await refusalOf(admin.post('events', body), 400)).code, 'malformed_json', body);
    assert.deepEqual(await succeeded(admin.get('deliveries')), { items: [], nextCursor: null });
  });

  it('may have the largest size beside any white space', async (t) => {
    const { admin, at } = await start(t);
    const data = `{"a":"${'ü'.repeat(131_068)}"}`;
    const accepted = await succeeded<AcceptedView>(
      admin.post('events', `{"type":"${TYPE}",${' '.repeat(1_000_000)}"data":${data.replace(':', ' : ')}}`),
    );
    assert.deepEqual(await arrived(at, idsOf(accepted)), [data]);
  });

  it('keeps its digits in the portal', async (t) => {
    const { admin, service, at, webhook } = await start(t);
    const { token } = await newSession(service, 'operator');
    const send = (data: string): Promise<PortalReply> =>
      request(`${service.url}/publish`, { token, form: { type: TYPE, data } });
    const repeated = await send('{"a":1,"b":{"c":1,"c":2}}');
    assert.equal(repeated.status, 400);
    assert.ok(repeated.text.includes('b.c is there more than once'), repeated.text);
    assert.equal((await send('{"price": 1.50,\r\n "n": [1e400]}')).status, 303);
    const { json } = await at.next();
    assert.deepEqual([...dataIn(json).values()], ['{"price":1.50,"n":[1e400]}']);
    const delivery = only(await deliveriesOf(admin, webhook));
    const { text } = await request(`${service.url}/deliveries/${delivery.id}`, { token });
    assert.ok(text.includes('&quot;price&quot;: 1.50,'), text);
  });
});
