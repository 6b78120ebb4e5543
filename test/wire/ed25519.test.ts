import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { asymmetricSignatures, ed25519Key, ed25519PublicKey, publicJwk } from '../../src/wire/ed25519.ts';
import { publicKeyWebhooks } from '../../src/wire/public-key-verification.ts';
import { ed25519Vectors } from '../support/vectors.ts';
import { verifyStandardWebhook } from '../support/verification.ts';

const seedOf = (byte: number): string => Buffer.alloc(32, byte).toString('base64');
const publicOf = (seed: string): string => `whpk_${ed25519PublicKey(seed)}`;

function verify(headers: Readonly<Record<string, string>>, body: Uint8Array, publicKeys: readonly string[]) {
  const now = Number(headers['webhook-timestamp']) * 1000;
  return verifyStandardWebhook({ headers, body, secrets: [], reading: publicKeyWebhooks(publicKeys), now });
}

describe('a signature v1a', () => {
  for (const { name, privateKey, publicKey, id, timestamp, bodyBase64, signature } of ed25519Vectors) {
    it(`is that of the vector “${name}”, and is verified with the public key`, async () => {
      const body = Buffer.from(bodyBase64, 'base64');
      assert.equal(`whpk_${ed25519PublicKey(privateKey)}`, publicKey);
      const made = asymmetricSignatures({ id, timestamp: String(timestamp), body }, [ed25519Key(privateKey)]);
      assert.equal(made, signature);
      const headers = { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': made };
      assert.deepEqual(await verify(headers, body, [publicKey]), {
        ok: true,
        id,
        signedAt: timestamp * 1000,
        secretIndex: null,
      });
    });
  }

  it('is accepted from either key of a rotation, and from no other key, body, id or time', async () => {
    const [one, other, third] = [seedOf(1), seedOf(2), seedOf(3)];
    const body = Buffer.from('{"a":1}');
    const head = { id: 'msg_1', timestamp: '1795237200' };
    const signature = asymmetricSignatures({ ...head, body }, [ed25519Key(one), ed25519Key(other)]);
    const headers = { 'webhook-id': head.id, 'webhook-timestamp': head.timestamp, 'webhook-signature': signature };
    for (const seed of [one, other]) assert.equal((await verify(headers, body, [publicOf(seed)])).ok, true);
    assert.equal((await verify(headers, body, [publicOf(third), publicOf(other)])).ok, true);
    const code = async (changed: Readonly<Record<string, string>>, bytes: Uint8Array, seed: string) => {
      const verdict = await verify({ ...headers, ...changed }, bytes, [publicOf(seed)]);
      return verdict.ok ? 'ok' : verdict.code;
    };
    assert.equal(await code({}, body, third), 'wrong_signature');
    assert.equal(await code({}, Buffer.from('{"a":2}'), one), 'wrong_signature');
    assert.equal(await code({ 'webhook-id': 'msg_2' }, body, one), 'wrong_signature');
    assert.equal(await code({ 'webhook-timestamp': '1795237201' }, body, one), 'wrong_signature');
    assert.equal(await code({ 'webhook-signature': 'v1a,AAAA' }, body, one), 'wrong_signature');
    assert.equal(
      await code({ 'webhook-signature': signature.replaceAll('v1a,', 'v2,') }, body, one),
      'malformed_signature',
    );
  });

  it('is no signature for a receiver that has only secrets', async () => {
    const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': '1', 'webhook-signature': `v1a,${'A'.repeat(86)}==` };
    const verdict = await verifyStandardWebhook({ headers, body: Buffer.from(''), secrets: ['x'], now: 1000 });
    assert.equal(verdict.ok ? '' : verdict.code, 'malformed_signature');
  });

  it('is verified for any body, and not once a byte of it has changed', async () => {
    const key = ed25519Key(seedOf(9));
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 64 }), fc.nat(), async (body, place) => {
        const signature = asymmetricSignatures({ id: 'msg_1', timestamp: '1', body }, [key]);
        const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': '1', 'webhook-signature': signature };
        assert.equal((await verify(headers, body, [publicOf(seedOf(9))])).ok, true);
        const changed = body.with(place % body.length, (body[place % body.length] ?? 0) ^ 1);
        assert.equal((await verify(headers, changed, [publicOf(seedOf(9))])).ok, false);
      }),
      { numRuns: 50 },
    );
  });
});

it('a JWK names its key by the thumbprint of RFC 7638: the example of RFC 8037 Appendix A.3', () => {
  const x = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo';
  assert.deepEqual(publicJwk(Buffer.from(x, 'base64url').toString('base64')), {
    kty: 'OKP',
    crv: 'Ed25519',
    x,
    kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
    use: 'sig',
    alg: 'EdDSA',
  });
});
