/** PGP keys (contract §4.9). Only keys that can encrypt are accepted; the refusal of any other says why. */

import { z } from 'zod';
import type { PgpKey } from '../domain/webhook.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import { refuseField } from '../kernel/refusal.ts';
import { customerIdInput, customerIdView, id, instant, isoInstant } from '../kernel/schemas.ts';
import { type Administration, administer } from '../resources/administration.ts';
import { type BodyOf, inputReader } from '../resources/input.ts';
import { CUSTOMER_FILTER, type ListRules } from '../resources/list-rules.ts';
import type { CustomerVerbs } from '../store/port/customers.ts';
import type { Store } from '../store/port/store.ts';
import type { WebhookVerbs } from '../store/port/webhooks.ts';
import { PGP_KEY_BYTES } from '../wire/limits.ts';
import { inspectPublicKey } from '../wire/pgp.ts';

/** The name is sent in a header. */
const keyName = z
  .string()
  .regex(
    /^[A-Za-z0-9(](?:[A-Za-z0-9 ._@()-]{0,98}[A-Za-z0-9._@()-])?$/,
    'must be 1 to 100 letters, digits, spaces, dots, dashes, underscores, parentheses or @, beginning with a ' +
      'letter, a digit or (, without a space at its end',
  );

const keyInput = z
  .strictObject({
    customerId: customerIdInput,
    name: keyName,
    publicKey: z
      .string()
      .min(1)
      .max(PGP_KEY_BYTES)
      .meta({ description: 'ASCII armor; a key that can encrypt.', pattern: '-----BEGIN PGP PUBLIC KEY BLOCK-----' }),
  })
  .meta({ id: 'KeyInput', description: 'A PGP public key under a name that webhooks refer to.' });
export type KeyBody = BodyOf<typeof keyInput>;
type KeyInput = z.output<typeof keyInput>;

export const keyView = z
  .object({
    id,
    customerId: customerIdView,
    name: z.string(),
    publicKey: z.string().meta({ description: 'ASCII armor' }),
    fingerprint: z.string(),
    algorithm: z.string(),
    expiresAt: instant.nullable(),
    expired: z.boolean(),
    createdAt: instant,
    updatedAt: instant,
  })
  .meta({ id: 'Key', description: 'A PGP public key that deliveries are encrypted to.' });
export type KeyView = z.infer<typeof keyView>;
export const keyReader = inputReader(keyInput, keyView);

export const KEY_LIST: ListRules = { name: 'keys', filters: { customerId: CUSTOMER_FILTER }, sorts: {} };

export type Keys = Administration<PgpKey, KeyBody, KeyInput>;

export function createKeys({
  store,
  clock,
  ids,
}: {
  store: CustomerVerbs & WebhookVerbs & Pick<Store, 'customerId'>;
  clock: Clock;
  ids: Ids;
}): Keys {
  return administer<PgpKey, KeyBody, KeyInput>(
    {
      name: 'key',
      store: store.keys,
      owners: store,
      reader: keyReader,
      writable: ({ customerId, name, publicKey }) => ({ customerId, name, publicKey }),
      shown: (key) => viewKey(key, clock()),
      build: async ({ customerId, name, publicKey }, before, stamp) => {
        if (before?.publicKey === publicKey) return { record: { ...before, ...stamp, name } };
        const verdict = await inspectPublicKey(publicKey, clock(), customerId);
        if (!verdict.ok) throw refuseField('publicKey', `cannot be used (${verdict.code}): ${verdict.description}`);
        const { fingerprint, algorithm, expiresAt } = verdict;
        const read = { fingerprint, algorithm, expiresAt };
        return { record: { ...stamp, customerId, name, publicKey, ...read, warnedDays: null } };
      },
      referrers: async ({ customerId, name }) =>
        (await store.webhooks.ofKey(customerId, name)).map((webhook) => `webhook ${webhook.name} (${webhook.id})`),
      unique: { 'pgp_key.name': 'name' },
      audited: ({ warnedDays, ...key }) => key,
    },
    { clock, ids },
  );
}

export function isExpired({ expiresAt }: Pick<PgpKey, 'expiresAt'>, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}

export function viewKey(key: PgpKey, now: number): KeyView {
  const { id, customerId, name, publicKey, fingerprint, algorithm } = key;
  return {
    id,
    customerId,
    name,
    publicKey,
    fingerprint,
    algorithm,
    expiresAt: isoInstant(key.expiresAt),
    expired: isExpired(key, now),
    createdAt: isoInstant(key.createdAt),
    updatedAt: isoInstant(key.updatedAt),
  };
}
