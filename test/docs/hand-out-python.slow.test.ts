/** Runs the Python functions of docs/hand-out.md with the vectors. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { authenticVectors, challengeVectors, forgedVectors, requestOf, secretsOf } from '../support/hand-out.ts';
import { requestVectors } from '../support/vectors.ts';

const page = readFileSync(new URL('../../docs/hand-out.md', import.meta.url), 'utf8');
const [, code = ''] = /^```python\n([\s\S]*?)^```/m.exec(page) ?? [];

const MAIN = `
import json, sys

for vector in json.load(sys.stdin):
    body = base64.b64decode(vector["body"])
    verified = is_authentic(vector["path"], vector["headers"], body, vector["secrets"], vector["now"])
    print(json.dumps([verified, challenge_answer(vector["path"], vector["headers"], vector["secrets"][0])]))
`;

it('the Python functions of docs/hand-out.md agree with the vectors', () => {
  const vectors = [...authenticVectors, ...forgedVectors, ...challengeVectors];
  const now = Date.parse(requestVectors.now) / 1000;
  const input = vectors.map((vector) => {
    const { path, headers, body } = requestOf(vector);
    return { path, headers, body: body.toString('base64'), secrets: secretsOf(vector), now };
  });
  const output = execFileSync('python3', ['-c', code + MAIN], { input: JSON.stringify(input), encoding: 'utf8' });
  const results = output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as [boolean, string | null]);
  assert.equal(results.length, vectors.length);
  for (const [at, vector] of vectors.entries()) {
    const [isVerified, answer] = results[at] ?? [];
    if (challengeVectors.includes(vector)) assert.equal(answer, 'answer' in vector ? vector.answer : null, vector.name);
    else assert.equal(isVerified, authenticVectors.includes(vector), vector.name);
  }
});
