import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { standardWebhookHeaders } from '../../src/wire/payload.ts';
import type { MessageFailureCode } from '../../src/wire/standard-webhooks-verification.ts';
import { signingVectors } from '../support/vectors.ts';
import { type MessageToVerify, verifyStandardWebhook } from '../support/verification.ts';

const AT = Date.parse('2026-11-21T05:00:00Z');
const SECRET = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';
const BODY = new TextEncoder().encode('{"records":[]}');
const SIGNED = standardWebhookHeaders({ id: 'b1', at: AT, body: BODY, secrets: [SECRET] });

function verify(changes: Partial<MessageToVerify>): ReturnType<typeof verifyStandardWebhook> {
  return verifyStandardWebhook({ headers: SIGNED, body: BODY, secrets: [SECRET], now: AT, ...changes });
}

function withHeader(name: keyof typeof SIGNED, value: string | undefined): Partial<MessageToVerify> {
  return { headers: { ...SIGNED, [name]: value } };
}

describe('Standard Webhooks', () => {
  for (const { secret, id, timestamp, bodyBase64, signature } of signingVectors.standardWebhooks) {
    it(`signs and verifies the vector "${id}"`, async () => {
      const body = Buffer.from(bodyBase64, 'base64');
      const at = timestamp * 1000;
      const headers = standardWebhookHeaders({ id: id.replace('msg_', ''), at: at + 999, body, secrets: [secret] });
      assert.deepEqual(headers, {
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signature,
      });
      const verdict = await verifyStandardWebhook({ headers, body, secrets: ['other', secret], now: at });
      assert.deepEqual(verdict, { ok: true, id, signedAt: at, secretIndex: 1 });
    });
  }

  it('is verified by the standardwebhooks library with whsec_<secret>', () => {
    const body = '{"records":[{"offset":1}],"name":"Zoë"}';
    const headers = standardWebhookHeaders({ id: 'b1', at: Date.now(), body: Buffer.from(body), secrets: [SECRET] });
    assert.deepEqual(new Webhook(`whsec_${SECRET}`).verify(body, headers), JSON.parse(body));
    assert.throws(() => new Webhook(`whsec_${SECRET}`).verify(`${body} `, headers));
  });

  it('verifies what the standardwebhooks library signs', async () => {
    const signature = new Webhook(`whsec_${SECRET}`).sign('msg_b1', new Date(AT), Buffer.from(BODY));
    assert.ok((await verify(withHeader('webhook-signature', signature))).ok);
  });

  it('accepts one valid signature among others and other versions', async () => {
    const good = SIGNED['webhook-signature'];
    assert.ok((await verify(withHeader('webhook-signature', `v1a,abc v1,AAAA ${good}`))).ok);
  });

  const good = SIGNED['webhook-signature'];
  const cases: [string, Partial<MessageToVerify>, MessageFailureCode][] = [
    ['everything where there is no secret', { secrets: [] }, 'wrong_signature'],
    ['no id', withHeader('webhook-id', undefined), 'missing_header'],
    ['no timestamp', withHeader('webhook-timestamp', undefined), 'missing_header'],
    ['no signature', withHeader('webhook-signature', undefined), 'missing_header'],
    ['an id without msg_', withHeader('webhook-id', 'b1'), 'malformed_id'],
    ['an id with a dot', withHeader('webhook-id', 'msg_b1.1795237200'), 'malformed_id'],
    ['another id', withHeader('webhook-id', 'msg_b2'), 'wrong_signature'],
    ['letters before the timestamp', withHeader('webhook-timestamp', 'TS1795237200'), 'malformed_timestamp'],
    ['letters after the timestamp', withHeader('webhook-timestamp', '1795237200abc'), 'malformed_timestamp'],
    ['a sign before the timestamp', withHeader('webhook-timestamp', '+1795237200'), 'malformed_timestamp'],
    ['a space before the timestamp', withHeader('webhook-timestamp', ' 1795237200'), 'malformed_timestamp'],
    ['a fraction of the timestamp', withHeader('webhook-timestamp', '1795237200.9'), 'malformed_timestamp'],
    ['a zero before the timestamp', withHeader('webhook-timestamp', '01795237200'), 'wrong_signature'],
    ['another timestamp', withHeader('webhook-timestamp', '1795237201'), 'wrong_signature'],
    ['an old timestamp', { now: AT + 301_000 }, 'stale_timestamp'],
    ['a timestamp ahead', { now: AT - 301_000 }, 'future_timestamp'],
    [
      'a signature of another version only',
      withHeader('webhook-signature', good.replace('v1', 'v2')),
      'malformed_signature',
    ],
    ['17 signatures', withHeader('webhook-signature', Array(17).fill(good).join(' ')), 'malformed_signature'],
    ['another secret', { secrets: ['another'] }, 'wrong_signature'],
    ['another body', { body: new Uint8Array(3) }, 'wrong_signature'],
  ];
  for (const [what, changes, code] of cases) {
    it(`refuses ${what}`, async () => {
      const verdict = await verify(changes);
      assert.ok(!verdict.ok);
      assert.equal(verdict.code, code);
    });
  }

  it('rejects for an empty secret, even next to a valid one', async () => {
    await assert.rejects(verify({ secrets: [SECRET, ''] }), RangeError);
  });

  it('verifies every signed message, and refuses any changed byte', async () => {
    const secret = fc.string({ minLength: 1 });
    const body = fc.uint8Array({ minLength: 1, maxLength: 100 });
    await fc.assert(
      fc.asyncProperty(fc.uuid({ version: 7 }), secret, body, fc.nat(), async (id, key, bytes, position) => {
        const headers = standardWebhookHeaders({ id, at: AT, body: bytes, secrets: [key] });
        const message = { headers, body: bytes, secrets: [key], now: AT };
        assert.ok((await verifyStandardWebhook(message)).ok);
        const changed = bytes.map((byte, index) => (index === position % bytes.length ? byte ^ 1 : byte));
        assert.ok(!(await verifyStandardWebhook({ ...message, body: changed })).ok);
      }),
    );
  });

  it('never rejects, for any headers', async () => {
    const headers = fc.dictionary(fc.constantFrom(...Object.keys(SIGNED)), fc.string());
    await fc.assert(fc.asyncProperty(headers, async (given) => assert.ok(!(await verify({ headers: given })).ok)));
  });
});
