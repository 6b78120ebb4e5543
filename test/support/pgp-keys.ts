/** PGP key pairs made on the spot, with an end where a test wants one. */
import * as openpgp from 'openpgp';

export type PgpKeyPair = { readonly publicKey: string; readonly privateKey: string };

/** Armored. `lastsDays` from `at` on, which is a second ago unless said; without it the key never expires. */
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
