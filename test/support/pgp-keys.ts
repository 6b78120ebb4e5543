/** Generates PGP key pairs, with an expiry if a test needs one. */
import * as openpgp from 'openpgp';

export type PgpKeyPair = { readonly publicKey: string; readonly privateKey: string };

/** Returns armored keys, valid for `lastsDays` from `at` (default: a second ago). Without `lastsDays` they never expire. */
export async function pgpKeyPair({
  lastsDays,
  at = Date.now() - 1000,
}: {
  readonly lastsDays?: number;
  readonly at?: number;
} = {}): Promise<PgpKeyPair> {
  return openpgp.generateKey({
    type: 'ecc',
    userIDs: { email: 'hr@example.com' },
    date: new Date(at),
    format: 'armored',
    ...(lastsDays !== undefined && { keyExpirationTime: lastsDays * 86_400 }),
  });
}
