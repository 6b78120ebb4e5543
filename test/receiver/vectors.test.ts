import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { standardWebhooks } from '../../src/receiver/index.ts';
import { pgpDecryption } from '../../src/receiver/pgp.ts';
import { TRANSPORTS } from '../support/receiver-transports.ts';
import { type HandedRecord, type RequestVector, requestVectors } from '../support/vectors.ts';

const { now, toleranceSeconds, maxBytes, secrets, apiKey, privateKeys, requests } = requestVectors;
const keys = Object.entries(privateKeys).map(([name, privateKey]) => [name, { privateKey }]);

for (const { name: transport, start } of TRANSPORTS) {
  describe(`a receiver (${transport}), given a vector,`, () => {
    for (const vector of requests) {
      it(`${verb(vector)} "${vector.name}"`, async (t) => {
        const handed: HandedRecord[] = [];
        const refusals: string[] = [];
        let secretIndex: number | null = null;
        const send = await start(t, {
          secrets: vector.secrets ?? secrets,
          apiKey,
          toleranceSeconds,
          maxBytes,
          clock: () => Date.parse(now),
          decrypt: pgpDecryption(Object.fromEntries(keys)),
          ...(vector.standardWebhooks && { standardWebhooks }),
          onRecords: (records, delivery) => {
            // Through JSON, because the objects of the fetch-style receiver come from another realm.
            for (const { messageId, eventType, data } of records) {
              handed.push(JSON.parse(JSON.stringify({ messageId, eventType, data })) as HandedRecord);
            }
            secretIndex = delivery.secretIndex;
          },
          onRefusal: ({ code }) => void refusals.push(code),
        });
        const { method, headers } = vector;
        const { pathname, search } = new URL(vector.url);
        const body = Buffer.from(vector.bodyBase64, 'base64');
        const reply = await send({ method, path: pathname + search, headers, body });
        if (vector.refused !== undefined) {
          assert.deepEqual([reply.status, refusals, handed], [vector.status, [vector.refused], []]);
        } else if (vector.answer !== undefined) {
          assert.deepEqual([reply.status, refusals, handed], [200, [], []]);
          assert.equal(reply.headers.get('x-challenge-sha256'), vector.answer);
        } else {
          assert.deepEqual([reply.status, refusals, handed], [204, [], vector.records]);
          assert.equal(secretIndex, handed.length === 0 ? null : vector.secretIndex);
        }
      });
    }
  });
}

describe('a PGP message without integrity protection', () => {
  const vector = requests.find(({ name }) => name === 'a PGP message without integrity protection') as RequestVector;
  const { method, headers } = vector;
  const body = Buffer.from(vector.bodyBase64, 'base64');
  for (const { name: transport, start } of TRANSPORTS) {
    it(`is accepted with a warning if allowed (${transport})`, async (t) => {
      const warned: string[] = [];
      const handed: string[] = [];
      const options = { allowUnprotected: true, onUnprotected: (keyName: string) => void warned.push(keyName) };
      const send = await start(t, {
        secrets,
        apiKey,
        toleranceSeconds,
        maxBytes,
        clock: () => Date.parse(now),
        decrypt: pgpDecryption(Object.fromEntries(keys), options),
        onRecords: (records) => void handed.push(...records.map(({ eventType }) => eventType)),
      });
      const { status } = await send({ method, path: new URL(vector.url).pathname, headers, body });
      assert.equal(status, 204);
      assert.deepEqual([warned.length, handed.length], [1, 1]);
    });
  }
});

function verb(vector: RequestVector): string {
  if (vector.refused !== undefined) return 'refuses';
  return vector.answer === undefined ? 'takes' : 'answers';
}
