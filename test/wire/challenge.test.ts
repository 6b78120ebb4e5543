import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  challengeAnswer,
  challengeBody,
  isChallengeToken,
  newChallengeToken,
  verifyChallengeAnswer,
} from '../../src/wire/challenge.ts';
import { answerChallenge, challengeHeader } from '../../src/wire/challenge-answer.ts';
import { standardWebhookHeaders } from '../../src/wire/payload.ts';
import { pathAndQuery } from '../../src/wire/signature.ts';
import { signingVectors } from '../support/vectors.ts';
import { verifyStandardWebhook } from '../support/verification.ts';

const TOKEN = 'q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA';
const CHALLENGE = { pathAndQuery: '/in', token: TOKEN, secret: 'not-base64-secret!' };

describe('the token challenge', () => {
  for (const { name, url, secret, token, signature } of signingVectors.challenge) {
    it(`matches the vector "${name}" on both sides`, async () => {
      const challenge = { pathAndQuery: pathAndQuery(new URL(url)), token, secret };
      assert.equal(challengeAnswer(challenge), signature);
      assert.equal(await answerChallenge(challenge), signature);
      assert.deepEqual(verifyChallengeAnswer(challenge, signature), { ok: true });
    });
  }

  it('makes a token from 32 random bytes', () => {
    const sizes: number[] = [];
    const token = newChallengeToken((size) => {
      sizes.push(size);
      return Buffer.from(TOKEN, 'base64url');
    });
    assert.equal(token, TOKEN);
    assert.deepEqual(sizes, [32]);
    assert.notEqual(newChallengeToken(randomBytes), newChallengeToken(randomBytes));
  });

  it('has the body and the header of the contract', () => {
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
    // A search for the blanks before the end would take an hour.
    ['a long run of blanks', `x${' '.repeat(2_000_000)}x`, 'malformed_answer'],
    ['the answer of another path', challengeAnswer({ ...CHALLENGE, pathAndQuery: '/IN' }), 'wrong_answer'],
    ['the answer with another secret', challengeAnswer({ ...CHALLENGE, secret: 'other' }), 'wrong_answer'],
  ];
  for (const [what, given, code] of refused) {
    it(`does not accept ${what}`, () => {
      const verdict = verifyChallengeAnswer(CHALLENGE, given);
      assert.ok(!verdict.ok);
      assert.equal(verdict.code, code);
      assert.ok(!verdict.description.includes(answer));
    });
  }

  it('accepts the answer, and refuses it with a changed byte', () => {
    fc.assert(
      fc.property(fc.nat(answer.length - 1), fc.integer({ min: 1, max: 127 }), (position, difference) => {
        const changed = Buffer.from(answer).map((byte, index) => (index === position ? byte ^ difference : byte));
        assert.ok(!verifyChallengeAnswer(CHALLENGE, changed.toString()).ok);
      }),
    );
  });

  it('recognizes its own tokens', () => {
    for (const text of ['', TOKEN.slice(1), `${TOKEN}A`, `${TOKEN.slice(1)}=`, `${TOKEN.slice(1)}.`, `${TOKEN}\n`]) {
      assert.equal(isChallengeToken(text), false, JSON.stringify(text));
    }
    assert.equal(isChallengeToken(TOKEN), true);
  });

  it('is answered for tokens of any form', async () => {
    for (const token of [
      TOKEN,
      TOKEN.slice(1),
      'a',
      '3f2504e0-4f89-11d3-9a0c-0305e82c3301',
      'ab+/=',
      'x.y.z',
      '17.95',
      '{"n":1}',
    ]) {
      const wanted = createHmac('sha256', CHALLENGE.secret)
        .update(`POST${CHALLENGE.pathAndQuery}${token}`)
        .digest('base64');
      assert.equal(await answerChallenge({ ...CHALLENGE, token }), wanted, token);
    }
  });

  it('explains that an answer in Base64url must be standard Base64', () => {
    const right = Buffer.alloc(32, 0xff).toString('base64');
    for (const answer of [right.replaceAll('/', '_'), right.replaceAll('/', '_').slice(0, 43), right.slice(0, 43)]) {
      const verdict = verifyChallengeAnswer(CHALLENGE, answer);
      assert.ok(!verdict.ok && verdict.code === 'malformed_answer');
      assert.match(
        verdict.description,
        /is Base64url, or has no padding: it must be standard Base64, with \+ and \/ and one = /,
      );
    }
    const wrong = verifyChallengeAnswer(CHALLENGE, right);
    assert.ok(!wrong.ok && wrong.code === 'wrong_answer');
  });

  it('is not answered if the answer would be a valid signature of a body', async () => {
    const body = '{"records":[]}';
    const forged = { ...CHALLENGE, token: `.1795237200.${body}` };
    assert.throws(() => challengeAnswer(forged), RangeError);
    assert.equal(await answerChallenge(forged), null);
    const inPath = { ...CHALLENGE, pathAndQuery: `/in?a.1795237200.${body}` };
    assert.equal(await answerChallenge(inPath), null);
    for (const token of ['', `${TOKEN}, ${TOKEN}`, 'two words', 'ë', 'x'.repeat(1025)])
      assert.equal(await answerChallenge({ ...CHALLENGE, token }), null, token);
    // Our receiver would refuse it anyway, because the path is not a webhook-id.
    const { 'webhook-signature': signature } = standardWebhookHeaders({
      id: 'x',
      at: 1_795_237_200_000,
      body: Buffer.from(body),
      secrets: [CHALLENGE.secret],
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
