/** The library of Svix verifies what Sallyport delivers to an imported endpoint, with the secret of the export. */

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { it } from 'node:test';
import { OUTPOST_SECRET, outpostExport, SVIX_SECRET, svixExport } from '../support/exports.ts';
import { imported, importing } from '../support/imports.ts';
import { npmModules } from '../support/npm-tools.ts';

type Library = { Webhook: new (secret: string) => { verify(body: string, headers: object): unknown } };

const { Webhook } = createRequire(join(npmModules('other-receivers'), 'x'))('svix') as Library;
const DATA = { orderId: 42, name: 'Zoë' };

/** The requests to the receiver of an imported endpoint. */
const SENDERS = [
  { name: 'Svix', args: ['svix'], secret: SVIX_SECRET, customer: 'acct_17', exportOf: svixExport, prefix: 'svix-' },
  {
    name: 'Svix with the headers of Standard Webhooks',
    args: ['svix', '--header-prefix', 'webhook-'],
    secret: SVIX_SECRET,
    customer: 'acct_17',
    exportOf: svixExport,
    prefix: 'webhook-',
  },
  {
    name: 'Outpost in its mode standard',
    args: ['outpost', '--header-prefix', 'webhook-'],
    secret: SVIX_SECRET,
    customer: 'acct_18',
    exportOf: ({ url }: { readonly url: string }) =>
      outpostExport({ config: { url }, credentials: { secret: SVIX_SECRET } }),
    prefix: 'webhook-',
  },
] as const;

for (const { name, args, secret, customer, exportOf, prefix } of SENDERS)
  it(`the library of Svix verifies a delivery after the move from ${name}`, async (t) => {
    const here = await importing(t);
    const [sender, ...options] = args;
    const file = here.file(exportOf({ url: here.url }));
    await imported(here, [sender, file, '--apply', '--start', ...options]);
    await here.json(['event', 'publish', 'order.created', JSON.stringify(DATA), '--customer', customer]);
    const { headers, body } = await here.next();
    const sent = body.toString();
    const named = Object.fromEntries(Object.entries(headers).filter(([header]) => header.startsWith(prefix)));
    assert.equal(Object.keys(named).length, 3);
    // Throws unless the signature is right. Not all versions return the payload.
    new Webhook(secret).verify(sent, named);
    assert.deepEqual(JSON.parse(sent), DATA);
    assert.throws(() => new Webhook(secret).verify(`${sent} `, named), /[Nn]o matching signature/);
    assert.throws(() => new Webhook(`whsec_${OUTPOST_SECRET.slice(6)}`).verify(sent, named), /[Nn]o matching/);
  });
