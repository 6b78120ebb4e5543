/** Libraries of other products verify deliveries that are signed as these products sign (contract §12.6). */

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { succeeded } from '../support/client.ts';
import { connect, makeEventType, publish, startJourney } from '../support/journey.ts';
import { npmModules } from '../support/npm-tools.ts';

const TYPE = 'order.placed';

/** The part of `stripe` that is used here. */
type StripeLibrary = {
  readonly webhooks: {
    constructEvent(body: Buffer, header: string, secret: string): Readonly<Record<string, unknown>>;
  };
};

/** The part of `@octokit/webhooks-methods` that is used here. */
type OctokitLibrary = { verify(secret: string, body: string, signature: string): Promise<boolean> };

/** A delivery while a rotation announces a new secret: both secrets and what was sent. */
async function rotated(t: TestContext, signature: Readonly<Record<string, string>>) {
  const journey = await startJourney(t);
  await makeEventType(journey.admin, TYPE);
  const { at, endpoint } = await connect(journey, [TYPE], { webhook: { signature } });
  const rotation = { activateAfterSeconds: 3600, overlapSeconds: 3600 };
  const { secret: next } = await succeeded<{ secret: string }>(
    journey.admin.post(`endpoints/${endpoint.id}/rotate-secret`, rotation),
  );
  await publish(journey.admin, TYPE, { name: 'Zoë' });
  const { request } = await at.next();
  return { ...request, secret: at.secret, next };
}

for (const key of ['text', 'prefixed'])
  it(`stripe constructs the event with either secret of a rotation as a key of the kind ${key}, and not from a changed body`, async (t) => {
    const modules = npmModules('other-receivers');
    const Stripe = createRequire(join(modules, 'index.js'))(join(modules, 'stripe')) as new (
      key: string,
    ) => StripeLibrary;
    const { webhooks } = new Stripe('sk_test_unused');
    const { body, headers, secret, next } = await rotated(t, { preset: 'stripe', key });
    const header = String(headers['stripe-signature']);
    const prefix = key === 'prefixed' ? 'whsec_' : '';
    for (const one of [prefix + secret, prefix + next])
      assert.deepEqual(webhooks.constructEvent(body, header, one), JSON.parse(body.toString()));
    const changed = Buffer.from(body.toString().replace('Zoë', 'Zoe'));
    assert.throws(() => webhooks.constructEvent(changed, header, prefix + secret), /No signatures found matching/);
    assert.throws(
      () => webhooks.constructEvent(body, header, key === 'text' ? `whsec_${secret}` : secret),
      /No signatures found matching/,
    );
  });

it('@octokit/webhooks-methods verifies the active secret, and not a changed body', async (t) => {
  const index = join(npmModules('other-receivers'), '@octokit/webhooks-methods/dist-node/index.js');
  const { verify } = (await import(pathToFileURL(index).href)) as OctokitLibrary;
  const { body, headers, secret, next } = await rotated(t, { preset: 'github' });
  const signature = String(headers['x-hub-signature-256']);
  assert.equal(await verify(secret, body.toString(), signature), true);
  assert.equal(await verify(next, body.toString(), signature), false);
  assert.equal(await verify(secret, body.toString().replace('Zoë', 'Zoe'), signature), false);
});
