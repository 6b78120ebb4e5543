import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { challengeAnswer, challengeBody, newChallengeToken, verifyChallengeAnswer } from '../../src/wire/challenge.ts';
import { answerChallenge, challengeHeader, isChallengeToken } from '../../src/wire/challenge-answer.ts';
import { pathAndQuery } from '../../src/wire/signature.ts';
import { standardWebhookHeaders } from '../../src/wire/standard-webhooks.ts';
import { verifyStandardWebhook } from '../../src/wire/standard-webhooks-verification.ts';
import { signingVectors } from '../support/vectors.ts';

const TOKEN = 'q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA';
const CHALLENGE = { pathAndQuery: '/in', token: TOKEN, secret: 'not-base64-secret!' };

describe('the token challenge', () => {
  for (const { name, url, secret, token, signature } of signingVectors.challenge) {
    it(`gives and verifies the vector "${name}", on both sides`, async () => {
      const challenge = { pathAndQuery: pathAndQuery(new URL(url)), token, secret };
      assert.equal(challengeAnswer(challenge), signature);
      assert.equal(await answerChallenge(challenge), signature);
      assert.deepEqual(verifyChallengeAnswer(challenge, signature), { ok: true });
    });
  }

  it('makes a token of the 32 bytes it is given', () => {
    const sizes: number[] = [];
    const token = newChallengeToken((size) => {
      sizes.push(size);
      return Buffer.from(TOKEN, 'base64url');
    });
    assert.equal(token, TOKEN);
    assert.deepEqual(sizes, [32]);
    assert.notEqual(newChallengeToken(randomBytes), newChallengeToken(randomBytes));
  });

  it('writes the body and names the header of the contract', () => {
    assert.equal(challengeBody('0193a1f0'), '{"type":"endpoint.challenge","endpointId":"0193a1f0"}');
    assert.equal(challengeHeader, 'x-challenge-sha256');
  });

  const answer = challengeAnswer(CHALLENGE);
  const refused: [string, string | null | undefined, string][] = [
    ['no answer', undefined, 'missing_answer'],
    ['no answer of a Headers object', null, 'missing_answer'],
    ['an empty answer', '', 'missing_answer'],
    ['hexadecimal', Buffer.from(answer, 'base64').toString('hex'), 'malformed_answer'],
    ['the URL-safe alphabet', Buffer.from(answer, 'base64').toString('base64url'), 'malformed_answer'],
    ['the token itself', TOKEN, 'malformed_answer'],
    ['the answer of another path', challengeAnswer({ ...CHALLENGE, pathAndQuery: '/IN' }), 'wrong_answer'],
    ['the answer with another secret', challengeAnswer({ ...CHALLENGE, secret: 'other' }), 'wrong_answer'],
  ];
  it('passes over space around the answer, which is no part of it', () => {
    for (const given of [`${answer} `, `\t${answer}`, ` \t${answer}\t `])
      assert.deepEqual(verifyChallengeAnswer(CHALLENGE, given), { ok: true });
  });

  for (const [what, given, code] of refused) {
    it(`does not accept ${what}`, () => {
      const verdict = verifyChallengeAnswer(CHALLENGE, given);
      assert.ok(!verdict.ok);
      assert.equal(verdict.code, code);
      assert.ok(!verdict.description.includes(answer));
    });
  }

  it('accepts the answer and no text with a changed byte', () => {
    fc.assert(
      fc.property(fc.nat(answer.length - 1), fc.integer({ min: 1, max: 127 }), (position, difference) => {
        const changed = Buffer.from(answer).map((byte, index) => (index === position ? byte ^ difference : byte));
        assert.ok(!verifyChallengeAnswer(CHALLENGE, changed.toString()).ok);
      }),
    );
  });

  it('tells a token from any other text', () => {
    for (const text of ['', TOKEN.slice(1), `${TOKEN}A`, `${TOKEN.slice(1)}=`, `${TOKEN.slice(1)}.`, `${TOKEN}\n`]) {
      assert.equal(isChallengeToken(text), false, JSON.stringify(text));
    }
    assert.equal(isChallengeToken(TOKEN), true);
  });

  it('signs nothing but a token, so that nobody can have a body signed by asking for an answer', async () => {
    const body = '{"records":[]}';
    const forged = { ...CHALLENGE, token: `.1795237200.${body}` };
    assert.throws(() => challengeAnswer(forged), RangeError);
    assert.equal(await answerChallenge(forged), null);
    // Even were it signed, a receiver of ours would not take the path for an id.
    const { 'webhook-signature': signature } = standardWebhookHeaders({
      id: 'x',
      at: 1_795_237_200_000,
      body: Buffer.from(body),
      secret: CHALLENGE.secret,
    });
    const headers = { 'webhook-id': 'POST/in', 'webhook-timestamp': '1795237200', 'webhook-signature': signature };
    const verdict = await verifyStandardWebhook({
      headers,
      body: Buffer.from(body),
      secrets: [CHALLENGE.secret],
      now: 1_795_237_200_000,
    });
    assert.ok(!verdict.ok && verdict.code === 'malformed_id');
  });
});
