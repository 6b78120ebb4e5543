import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { standardWebhooks } from '../../src/receiver/index.ts';
import { pgpDecryption } from '../../src/receiver/pgp.ts';
import { TRANSPORTS } from '../support/receiver-transports.ts';
import { requestVectors } from '../support/vectors.ts';

const { now, toleranceSeconds, secrets, apiKey, privateKeys, requests } = requestVectors;
const keys = Object.entries(privateKeys).map(([name, privateKey]) => [name, { privateKey }]);

for (const { name: transport, start } of TRANSPORTS) {
  describe(`of the requests in the vectors a receiver (${transport})`, () => {
    for (const vector of requests) {
      const { name, url, method, headers, bodyBase64 } = vector;
      it(`${vector.refused === undefined ? 'takes' : 'refuses'} "${name}"`, async (t) => {
        const messageIds: string[] = [];
        const refusals: string[] = [];
        const hasWebhookHeaders = headers.some(([header]) => header === 'webhook-id');
        let secretIndex: number | null = null;
        const send = await start(t, {
          secrets,
          apiKey,
          toleranceSeconds,
          clock: () => Date.parse(now),
          decrypt: pgpDecryption(Object.fromEntries(keys)),
          ...(hasWebhookHeaders && { standardWebhooks }),
          onRecords: (records, delivery) => {
            messageIds.push(...records.map(({ messageId }) => messageId));
            secretIndex = delivery.secretIndex;
          },
          onRefusal: ({ code }) => void refusals.push(code),
        });
        const { pathname, search } = new URL(url);
        const body = Buffer.from(bodyBase64, 'base64');
        const { status } = await send({ method, path: pathname + search, headers, body });
        if (vector.refused !== undefined) {
          assert.deepEqual([refusals, messageIds], [[vector.refused], []]);
        } else {
          assert.deepEqual([status, refusals, messageIds], [204, [], vector.messageIds]);
          assert.equal(secretIndex, messageIds.length === 0 ? null : vector.secretIndex);
        }
      });
    }
  });
}
