/** A PGP key of the benchmarks' own. */
import { generateKey, readKey } from 'openpgp';

/** RSA of 2048 bits, armored: what GnuPG 2.2 makes of a user who does not care. */
export async function makePublicKey(): Promise<string> {
  const userIDs = [{ name: 'Bench', email: 'bench@example.com' }];
  // Valid from yesterday on, because clocks of seconds and milliseconds may disagree.
  const date = new Date(Date.now() - 86_400_000);
  return (await generateKey({ type: 'rsa', rsaBits: 2048, userIDs, date, format: 'armored' })).publicKey;
}

/** Armored, just below 64 KiB: so many user ids, and the signature of each damaged. Each must be checked to find that out. */
export async function makeDamagedKey(users: number): Promise<string> {
  const userIDs = Array.from({ length: users }, (_, n) => ({ name: `u${n}`, email: `u${n}@example.com` }));
  const date = new Date(Date.now() - 86_400_000);
  const made = await generateKey({ type: 'curve25519', userIDs, date, format: 'armored' });
  const key = await readKey({ armoredKey: made.publicKey });
  for (const { selfCertifications } of key.users)
    for (const signature of selfCertifications) {
      const { params } = signature as unknown as { params: { RS?: Uint8Array; r?: Uint8Array } };
      const bytes = params.RS ?? params.r;
      if (bytes === undefined) throw new Error('the signature has another form');
      bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    }
  return key.armor();
}
