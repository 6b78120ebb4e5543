/** Libraries that others wrote read the bodies of formats: the SDKs of CloudEvents, and those of Standard Webhooks and Svix. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openDispatching, TYPE } from '../support/dispatching.ts';
import { eventsOf, type FormatVector, formatVectors, sourceOf } from '../support/format-vectors.ts';
import type { SeenRequest } from '../support/https-server.ts';
import { createMailbox } from '../support/mailbox.ts';
import { npmModules } from '../support/npm-tools.ts';
import { pythonWithTools } from '../support/python-tools.ts';
import { ACTOR, makeEndpoint, makeWebhook } from '../support/services.ts';

const tool = (name: string): string => fileURLToPath(new URL(`../tools/${name}`, import.meta.url));
const load = (name: string): unknown => createRequire(join(npmModules('other-receivers'), 'x'))(name);
const cloudEvents = formatVectors.bodies.filter(({ format }) => format !== 'standard');

type Read = Readonly<Record<string, unknown>>;

/** The values that a reader must find in a vector, as `attributes` and `data`. */
function wanted(vector: FormatVector): { readonly attributes: Read; readonly data: unknown }[] {
  return eventsOf(vector).map((event) => ({
    attributes: {
      specversion: '1.0',
      id: event.messageId,
      source: sourceOf(event),
      type: event.eventType,
      correlationid: event.correlationId,
      time: event.createdAt,
      ...(event.subject !== null && { subject: event.subject }),
      ...(vector.thin && { url: formatVectors.url.join(event.messageId) }),
    },
    data: vector.thin ? null : JSON.parse(event.dataJson),
  }));
}

/** The attributes that `wanted` names, with the time as an instant. */
function found(all: Read, names: object, data: unknown): { readonly attributes: Read; readonly data: unknown } {
  const attributes = Object.fromEntries(Object.keys(names).map((name) => [name, all[name]]));
  return { attributes: { ...attributes, time: Date.parse(String(all.time)) }, data: data || null };
}

it('the CloudEvents SDK of JavaScript reads every body, batches too', () => {
  type Sdk = { HTTP: { toEvent(message: { headers: object; body: string }): Read | Read[] } };
  const { HTTP } = load('cloudevents') as Sdk;
  for (const vector of cloudEvents) {
    const events = [HTTP.toEvent({ headers: { ...vector.headers }, body: vector.body })].flat();
    const expected = wanted(vector);
    const read = events.map((event, n) => found(event, expected[n]?.attributes ?? {}, event.data));
    // The SDK does not decode percent-encoded headers (HTTP binding §3.1.3.2): the subject is compared as it came.
    const undecoded = vector.headers['ce-subject'];
    for (const { attributes } of expected)
      if (undecoded !== undefined) Object.assign(attributes, { subject: undecoded });
    assert.deepEqual(read, expected, vector.name);
  }
});

it('the CloudEvents SDK of Python reads every body but batches, which it does not know', () => {
  const single = cloudEvents.filter(({ batch }) => !batch);
  const input = JSON.stringify(single.map(({ headers, body }) => ({ headers, body })));
  const output = execFileSync(pythonWithTools(), [tool('cloudevents_reader.py')], { input, encoding: 'utf8' });
  const events = JSON.parse(output) as { attributes: Read; data: unknown }[];
  for (const [n, vector] of single.entries()) {
    const [expected] = wanted(vector);
    const { attributes = {}, data } = events[n] ?? {};
    assert.deepEqual(found(attributes, expected?.attributes ?? {}, data), expected, vector.name);
  }
});

it('the libraries of Svix and Standard Webhooks verify deliveries of the format standard, and no altered ones', async (t) => {
  const d = await openDispatching(t, { now: Date.now() });
  const came = createMailbox<SeenRequest>('request');
  d.receiver.route('/standard', (request) => {
    came.put(request);
    return { status: 204 };
  });
  const secret = Buffer.alloc(32, 9).toString('base64');
  const { id: endpointId } = await makeEndpoint(d, { url: `${d.receiver.origin}/standard`, secret });
  const { id } = await makeWebhook(d, [TYPE], { endpointId, format: 'standard' });
  await d.webhooks.start(id, ACTOR);
  const [eventId] = await d.publishMany(1);
  await d.start();
  const { headers, body } = await came.take();
  const sent = body.toString('utf8');
  const named = Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('webhook-')));
  assert.equal(named['webhook-id'], eventId);
  type Library = { Webhook: new (secret: string) => { verify(body: string, headers: object): void } };
  const { Webhook } = load('svix') as Library;
  new Webhook(`whsec_${secret}`).verify(sent, named);
  assert.throws(() => new Webhook(`whsec_${secret}`).verify(`${sent} `, named), /[Nn]o matching signature/);
  const messages = [sent, `${sent} `].map((text) => ({ secret: `whsec_${secret}`, body: text, headers: named }));
  const input = JSON.stringify(messages);
  const output = execFileSync(pythonWithTools(), [tool('standard_webhooks.py')], { input, encoding: 'utf8' });
  const [good, altered] = JSON.parse(output) as (string | null)[];
  assert.deepEqual([good, typeof altered], [null, 'string']);
});
