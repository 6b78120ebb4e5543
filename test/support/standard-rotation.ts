/** Deliveries of a real service before, during and after a rotation, for the official libraries of Standard Webhooks to verify. */
import type { TestContext } from 'node:test';
import { asymmetricSignatures, ed25519Key } from '../../src/wire/ed25519.ts';
import { standardWebhookHeaders } from '../../src/wire/payload.ts';
import { succeeded } from './client.ts';
import { connect, makeEventType, publish, startJourney } from './journey.ts';

export type StandardMessage = {
  readonly secret: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
};

export type Verified = StandardMessage & {
  /** The description. */
  readonly what: string;
  readonly valid: boolean;
};

const TYPE = 'order.placed';
const ROTATION = { activateAfterSeconds: 60, overlapSeconds: 60 };

/** Returns each delivery twice, for a receiver with the old secret and one with the new secret, and some forged deliveries. */
export async function deliveriesOfRotation(t: TestContext): Promise<Verified[]> {
  const journey = await startJourney(t);
  const { service, admin } = journey;
  await makeEventType(admin, TYPE);
  const { at, endpoint } = await connect(journey, [TYPE], { webhook: { standardWebhooks: true } });
  // `next` rejects once the service signs with the new secret, which this receiver does not have.
  const raw = async (n: number): Promise<Omit<StandardMessage, 'secret'>> => {
    const before = journey.receiver.requests.length;
    await publish(admin, TYPE, { n, name: 'Zoë ☃' });
    await at.next().catch(() => undefined);
    const request = journey.receiver.requests[before];
    if (request === undefined) throw new Error('nothing was delivered');
    const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
    const headers = Object.fromEntries(names.map((name) => [name, String(request.headers[name])]));
    return { body: request.body.toString('utf8'), headers };
  };
  const first = await raw(1);
  const { secret: next } = await succeeded<{ secret: string }>(
    admin.post(`endpoints/${endpoint.id}/rotate-secret`, ROTATION),
  );
  const announced = await raw(2);
  service.advance(60_000);
  const active = await raw(3);
  service.advance(60_000);
  const over = await raw(4);
  const former = `whsec_${at.secret}`;
  const rotated = `whsec_${next}`;
  const sent = [
    ['before the rotation', first, true, false],
    ['announced', announced, true, true],
    ['active, within the overlap', active, true, true],
    ['after the overlap', over, false, true],
  ] as const;
  return [
    ...sent.flatMap(([what, message, takesFormer, takesNew]) => [
      { what: `${what}, the former secret`, ...message, secret: former, valid: takesFormer },
      { what: `${what}, the new secret`, ...message, secret: rotated, valid: takesNew },
    ]),
    { what: 'another body', ...first, body: `${first.body} `, secret: former, valid: false },
    {
      what: 'another id',
      ...first,
      headers: { ...first.headers, 'webhook-id': 'msg_x' },
      secret: former,
      valid: false,
    },
  ];
}

/** A message that is signed now with Ed25519 only, and the same with the signature of a secret after that. */
export function deliveriesOfEd25519(): { readonly only: StandardMessage; readonly beside: StandardMessage } {
  const secret = Buffer.alloc(32, 7).toString('base64');
  const body = '{"name":"Zoë ☃"}';
  const bytes = Buffer.from(body);
  const headers = standardWebhookHeaders({
    id: 'unused',
    name: 'msg_1',
    at: Date.now(),
    body: bytes,
    secrets: [secret],
  });
  const { 'webhook-id': id = '', 'webhook-timestamp': timestamp = '', 'webhook-signature': v1 } = headers;
  const v1a = asymmetricSignatures({ id, timestamp, body: bytes }, [
    ed25519Key(Buffer.alloc(32, 8).toString('base64')),
  ]);
  const signedBy = (signature: string): StandardMessage => ({
    secret: `whsec_${secret}`,
    body,
    headers: { ...headers, 'webhook-signature': signature },
  });
  return { only: signedBy(v1a), beside: signedBy(`${v1a} ${v1}`) };
}
