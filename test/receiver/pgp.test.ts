import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import * as openpgp from 'openpgp';
import type { Refusal } from '../../src/receiver/index.ts';
import { pgpDecryption } from '../../src/receiver/pgp.ts';
import { encryptBinary } from '../../src/wire/pgp.ts';
import { type Options, TRANSPORTS } from '../support/receiver-transports.ts';
import { type RawRequest, SECRET, signedRequest } from '../support/signed-request.ts';
import { type Gnupg, startGnupg } from '../wire/gnupg.ts';

const CONTENT = Buffer.from('{"subscriptionId":"w1","sessionId":"s1","attemptNumber":1,"records":[]}');
const HEADERS = {
  'content-type': 'application/octet-stream',
  'x-content-encrypted': 'true',
  'x-pgp-key-name': 'payroll',
};

let gnupg: Gnupg;
let own: { publicKey: string; privateKey: string };
let locked: { publicKey: string; privateKey: string };
let message: Uint8Array;

before(async () => {
  gnupg = startGnupg();
  own = gnupg.makeKey('own', 'curve25519');
  const userIDs = { email: 'locked@example.com' };
  locked = await openpgp.generateKey({ type: 'ecc', userIDs, passphrase: 'correct horse', format: 'armored' });
  message = await encryptBinary(own.publicKey, CONTENT, Date.now() + 1000);
});
after(() => gnupg.close());

/** Builds a signed request, because these errors happen before the sender signs or in the receiver's keys. */
function encrypted(bytes: Uint8Array, headers: Record<string, string> = {}): Promise<RawRequest> {
  return signedRequest({ payload: { bytes, headers: { ...HEADERS, ...headers } } });
}

async function signedMessage(): Promise<Uint8Array> {
  return openpgp.encrypt({
    message: await openpgp.createMessage({ binary: CONTENT }),
    encryptionKeys: await openpgp.readKey({ armoredKey: own.publicKey }),
    signingKeys: await openpgp.readPrivateKey({ armoredKey: own.privateKey }),
    format: 'binary',
    date: new Date(Date.now() + 1000),
  });
}

const flipped = (bytes: Uint8Array, at: number): Uint8Array =>
  bytes.map((byte, index) => (index === (at + bytes.length) % bytes.length ? byte ^ 1 : byte));

type Wrong = {
  readonly what: string;
  readonly request: () => Promise<RawRequest>;
  readonly decrypt?: () => NonNullable<Options['decrypt']>;
  readonly says: RegExp;
};

const CASES: readonly Wrong[] = [
  ...[1, 40, 100].map((bytes) => ({
    what: `a message that lacks its last ${bytes} bytes`,
    request: () => encrypted(message.subarray(0, -bytes)),
    says: /^(the PGP message does not decrypt: it was changed or truncated on the way|the body is not a binary PGP message)$/,
  })),
  { what: 'an empty message', request: () => encrypted(new Uint8Array(0)), says: /PGP message/ },
  {
    what: 'a message in ASCII armor',
    request: () => encrypted(Buffer.from('-----BEGIN PGP MESSAGE-----')),
    says: /not a binary PGP message/,
  },
  {
    what: 'a message with a changed byte at its end',
    request: () => encrypted(flipped(message, -1)),
    says: /changed or truncated/,
  },
  {
    what: 'a message with a changed byte within',
    request: () => encrypted(flipped(message, -30)),
    says: /changed or truncated/,
  },
  {
    what: 'a message that is signed',
    request: async () => encrypted(await signedMessage()),
    says: /^the PGP message is signed, which is not supported$/,
  },
  {
    what: 'a message for a password',
    request: async () =>
      encrypted(
        await openpgp.encrypt({
          message: await openpgp.createMessage({ binary: CONTENT }),
          passwords: 'x',
          format: 'binary',
        }),
      ),
    says: /is for no key, not for [0-9A-F]{16}$/,
  },
  {
    what: 'a message for another key',
    request: async () => encrypted(await encryptBinary(locked.publicKey, CONTENT, Date.now() + 1000)),
    says: /^the PGP message is for [0-9A-F]{16}, not for [0-9A-F]{16}$/,
  },
  {
    what: 'an unknown key name',
    request: () => encrypted(message, { 'x-pgp-key-name': 'salaries' }),
    says: /^no private key has the name "salaries"; the names are: payroll$/,
  },
  {
    what: 'the name of a property of every object',
    request: () => encrypted(message, { 'x-pgp-key-name': 'constructor' }),
    says: /^no private key has the name "constructor"/,
  },
  {
    what: 'a public key in place of the private one',
    request: () => encrypted(message),
    decrypt: () => pgpDecryption({ payroll: { privateKey: own.publicKey } }),
    says: /^the private key cannot be read$/,
  },
  {
    what: 'a private key without its passphrase',
    request: async () => encrypted(message),
    decrypt: () => pgpDecryption({ payroll: { privateKey: locked.privateKey } }),
    says: /has a passphrase and none was given$/,
  },
  {
    what: 'a private key with another passphrase',
    request: async () => encrypted(message),
    decrypt: () => pgpDecryption({ payroll: { privateKey: locked.privateKey, passphrase: 'x' } }),
    says: /does not open the private key$/,
  },
];

for (const { name, start } of TRANSPORTS) {
  describe(`an encrypted delivery (${name})`, () => {
    it('is decrypted and decompressed with the key that it names', async (t) => {
      const received: unknown[] = [];
      const keys = { payroll: { privateKey: own.privateKey }, salaries: { ...locked, passphrase: 'correct horse' } };
      const onRecords: Options['onRecords'] = (records) => void received.push(records[0]?.messageId);
      const send = await start(t, { secrets: SECRET, decrypt: pgpDecryption(keys), onRecords });
      for (const [keyName, { publicKey }] of Object.entries({ payroll: own, salaries: locked })) {
        for (const gzip of [false, true]) {
          const records = [{ messageId: `${keyName} ${gzip}` }];
          const sent = { records, gzip, encryption: { keyName, publicKey } };
          const { status, body } = await send(await signedRequest({ ...sent, at: Date.now() + 2000 }));
          assert.deepEqual([status, body], [204, '']);
        }
      }
      assert.deepEqual(received, ['payroll false', 'payroll true', 'salaries false', 'salaries true']);
    });

    it('from GnuPG is decrypted', async (t) => {
      const send = await start(t, { secrets: SECRET, decrypt: pgpDecryption({ payroll: own }), onRecords: () => {} });
      const { status, body } = await send(
        await encrypted(gnupg.encrypt('own', gzipSync(CONTENT), []), { 'x-original-encoding': 'gzip' }),
      );
      assert.deepEqual([status, body], [204, '']);
    });

    for (const { what, request, decrypt = () => pgpDecryption({ payroll: own }), says } of CASES) {
      it(`is refused with ${what}`, async (t) => {
        const refusals: Refusal[] = [];
        const send = await start(t, {
          secrets: SECRET,
          decrypt: decrypt(),
          onRecords: () => assert.fail('handed over'),
          onError: (error) => assert.fail(String(error)),
          onRefusal: (refusal) => void refusals.push(refusal),
        });
        const { status, body } = await send(await request());
        const { code, description, verified } = refusals[0] as Refusal;
        assert.deepEqual([status, code, verified, body], [500, 'decryption_failed', true, `${code}: ${description}`]);
        assert.match(description, says);
      });
    }

    it('gets 500 if the program’s own decryption throws, and passes the error only to the program', async (t) => {
      const errors: string[] = [];
      const send = await start(t, {
        secrets: SECRET,
        decrypt: async () => {
          throw new Error('hsm.internal.example does not answer');
        },
        onRecords: () => assert.fail('handed over'),
        onError: (error) => void errors.push(String(error)),
      });
      const { status, body } = await send(await encrypted(message));
      assert.deepEqual([status, body], [500, 'failed: see the log of the receiver']);
      assert.deepEqual(errors, ['Error: hsm.internal.example does not answer']);
    });

    it('that is a zip bomb is refused at the size limit', async (t) => {
      const send = await start(t, { secrets: SECRET, decrypt: pgpDecryption({ payroll: own }), onRecords: () => {} });
      const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024));
      const bytes = await encryptBinary(own.publicKey, bomb, Date.now() + 1000);
      const { status, body } = await send(await encrypted(bytes, { 'x-original-encoding': 'gzip' }));
      assert.deepEqual([status, body], [413, 'too_large: the decoded body has more than the 4194304 bytes allowed']);
    });
  });
}
