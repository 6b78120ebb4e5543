/** Runs the JavaScript functions of docs/hand-out.md with the vectors. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import {
  authenticVectors,
  challengeVectors,
  forgedVectors,
  type HandOutRequest,
  requestOf,
  secretsOf,
} from '../support/hand-out.ts';
import { requestVectors } from '../support/vectors.ts';

type HandOut = {
  isAuthentic(request: HandOutRequest, secrets: readonly string[], now: number): boolean;
  challengeAnswer(request: HandOutRequest, secret: string): string | null;
};

const page = readFileSync(new URL('../../docs/hand-out.md', import.meta.url), 'utf8');
const [, code = ''] = /^```js\n([\s\S]*?)^```/m.exec(page) ?? [];
const { isAuthentic, challengeAnswer }: HandOut = await import(`data:text/javascript,${encodeURIComponent(code)}`);
const now = Date.parse(requestVectors.now);

describe('the functions of docs/hand-out.md', () => {
  it('accept every valid delivery', () => {
    assert.ok(authenticVectors.length > 15);
    for (const vector of authenticVectors)
      assert.ok(isAuthentic(requestOf(vector), secretsOf(vector), now), vector.name);
  });

  it('refuse every delivery that is not authentic', () => {
    assert.ok(forgedVectors.length > 30);
    for (const vector of forgedVectors) assert.ok(!isAuthentic(requestOf(vector), secretsOf(vector), now), vector.name);
  });

  it('answer the challenge, and nothing that is not one', () => {
    assert.ok(challengeVectors.length > 3);
    for (const vector of challengeVectors) {
      const [secret = ''] = secretsOf(vector);
      const expected = 'answer' in vector ? vector.answer : null;
      assert.equal(challengeAnswer(requestOf(vector), secret), expected, vector.name);
    }
  });

  it('have an example step by step, which is one of the vectors', () => {
    const [, section = ''] = /^## The signature step by step\n([\s\S]*?)^## /m.exec(page) ?? [];
    const heartbeat = requestVectors.requests.find(({ name }) => name === 'a heartbeat') ?? assert.fail();
    const { path, headers, body } = requestOf(heartbeat);
    const [secret = ''] = secretsOf(heartbeat);
    const [request = '', text = ''] = [...section.matchAll(/^```\n([\s\S]*?)\n```/gm)].map(([, block = '']) => block);
    const signed = ['date', 'x-content-sha256', 'authorization'].map((name) => `${name}: ${headers[name]}`);
    assert.equal(request, [`POST ${path} HTTP/1.1`, ...signed, '', body.toString()].join('\n'));
    assert.ok(section.includes(secret));
    const signature = createHmac('sha256', Buffer.from(secret, 'base64')).update(text).digest('base64');
    assert.ok(headers.authorization?.endsWith(`&Signature=${signature}`));
  });

  it('have an example of a challenge, which is one of the vectors', () => {
    const [, section = ''] = /^## Respond to the challenge\n([\s\S]*?)^## /m.exec(page) ?? [];
    const vector = challengeVectors.find(({ name }) => name === 'a challenge, base64 secret') ?? assert.fail();
    const { path, headers } = requestOf(vector);
    const token = headers['x-challenge-sha256'] ?? '';
    const answer = 'answer' in vector ? vector.answer : assert.fail();
    for (const shown of [token, path, answer, `POST${path}${token}`])
      assert.ok(section.includes(`\`${shown}\``), shown);
  });

  it('run with the number of vectors that the page says', () => {
    assert.ok(page.includes(`${requestVectors.requests.length} requests, valid`));
  });
});
