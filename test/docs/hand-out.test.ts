/** Runs the functions of docs/hand-out.md with the vectors. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { type RequestVector, requestVectors } from '../support/vectors.ts';

type Request = { readonly path: string; readonly headers: Readonly<Record<string, string>>; readonly body: Buffer };
type HandOut = {
  isAuthentic(request: Request, secrets: readonly string[], now: number): boolean;
  challengeAnswer(request: Request, secret: string): string | null;
};

const page = readFileSync(new URL('../../docs/hand-out.md', import.meta.url), 'utf8');
const [, code = ''] = /^```js\n([\s\S]*?)^```/m.exec(page) ?? [];
const { isAuthentic, challengeAnswer }: HandOut = await import(`data:text/javascript,${encodeURIComponent(code)}`);

const now = Date.parse(requestVectors.now);
const forgeries = new Set([
  'missing_authorization',
  'wrong_scheme',
  'malformed_authorization',
  'unsigned_header',
  'malformed_content_hash',
  'stale_date',
  'future_date',
  'wrong_signature',
  'wrong_content_hash',
]);
const vectors = requestVectors.requests.filter(
  ({ method, standardWebhooks }) => method === 'POST' && !standardWebhooks,
);
const secretsOf = ({ secrets }: RequestVector): readonly string[] => secrets ?? requestVectors.secrets;

/** As Node's server reads it. */
function requestOf({ url, headers, bodyBase64 }: RequestVector): Request {
  const { pathname, search } = new URL(url);
  return {
    path: `${pathname}${search}`,
    headers: Object.fromEntries(new Headers(headers.map(([name, value]) => [name, value]))),
    body: Buffer.from(bodyBase64, 'base64'),
  };
}

describe('the functions of docs/hand-out.md', () => {
  it('accept every valid delivery', () => {
    const valid = vectors.filter((vector) => 'records' in vector);
    assert.ok(valid.length > 15);
    for (const vector of valid) assert.ok(isAuthentic(requestOf(vector), secretsOf(vector), now), vector.name);
  });

  it('refuse every delivery that is not authentic', () => {
    const forged = vectors.filter(({ refused = '' }) => forgeries.has(refused));
    assert.ok(forged.length > 30);
    for (const vector of forged) assert.ok(!isAuthentic(requestOf(vector), secretsOf(vector), now), vector.name);
  });

  it('answer the challenge, and nothing that is not one', () => {
    const challenges = vectors.filter((vector) => 'answer' in vector || vector.refused === 'malformed_challenge');
    assert.ok(challenges.length > 3);
    for (const vector of challenges) {
      const [secret = ''] = secretsOf(vector);
      assert.equal(challengeAnswer(requestOf(vector), secret), 'answer' in vector ? vector.answer : null, vector.name);
    }
  });

  it('run with the number of vectors that the page says', () => {
    assert.ok(page.includes(`has ${requestVectors.requests.length} requests`));
  });
});
