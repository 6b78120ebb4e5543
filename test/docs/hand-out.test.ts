/** Runs the JavaScript functions of docs/hand-out.md with the vectors. */
import assert from 'node:assert/strict';
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

  it('run with the number of vectors that the page says', () => {
    assert.ok(page.includes(`has ${requestVectors.requests.length} requests`));
  });
});
