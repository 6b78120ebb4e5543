/** A PGP key of the benchmarks' own. */
import { generateKey } from 'openpgp';

/** RSA of 2048 bits, armored: what GnuPG 2.2 makes of a user who does not care. */
export async function makePublicKey(): Promise<string> {
  const userIDs = [{ name: 'Bench', email: 'bench@example.com' }];
  // Valid from yesterday on, because clocks of seconds and milliseconds may disagree.
  const date = new Date(Date.now() - 86_400_000);
  return (await generateKey({ type: 'rsa', rsaBits: 2048, userIDs, date, format: 'armored' })).publicKey;
}
