import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Refusal } from '../../src/receiver/index.ts';
import { type Options, type Send, TRANSPORTS, webHandler, webRequest } from '../support/receiver-transports.ts';
import { API_KEY, SECRET, signedRequest } from '../support/signed-request.ts';
import { WRONG_AUTHORIZATION } from './wrong-authorization.ts';
import { WRONG_CONTENTS } from './wrong-contents.ts';
import type { WrongRequest } from './wrong-request.ts';
import { WRONG_SIGNED_HEADERS } from './wrong-signed-headers.ts';

const WRONG_REQUESTS = [...WRONG_AUTHORIZATION, ...WRONG_SIGNED_HEADERS, ...WRONG_CONTENTS];

async function refuse(start: (options: Options) => Promise<Send>, wrong: WrongRequest): Promise<void> {
  const refusals: Refusal[] = [];
  const send = await start({
    secrets: [SECRET],
    apiKey: API_KEY,
    onRecords: () => assert.fail('records of a refused request were handed over'),
    onError: (error) => assert.fail(String(error)),
    onRefusal: (refusal) => void refusals.push(refusal),
    ...wrong.options,
  });
  const { status, headers, body } = await send(await wrong.change(await signedRequest(wrong.sent)));
  assert.equal(refusals.length, 1, body);
  const { code, description, verified } = refusals[0] as Refusal;
  assert.equal(code, wrong.code, description);
  assert.match(description, wrong.description);
  assert.equal(body, `${code}: ${description}`);
  assert.equal(status, wrong.status);
  assert.equal(verified, wrong.verified);
  assert.equal(headers.get('allow'), 'POST');
  assert.equal(headers.get('www-authenticate'), 'HMAC-SHA256');
  assert.ok(!body.includes(SECRET) && !body.includes(API_KEY));
}

for (const { name, start } of TRANSPORTS) {
  describe(`a receiver (${name}) refuses`, () => {
    for (const wrong of WRONG_REQUESTS) it(wrong.what, (t) => refuse((options) => start(t, options), wrong));
  });
}

describe('a receiver does not read the body of', () => {
  for (const wrong of WRONG_REQUESTS.filter(({ readsBody }) => !readsBody)) {
    it(wrong.what, () =>
      refuse(async (options) => {
        const handle = webHandler(options);
        return async (raw) => {
          const request = webRequest(raw);
          const response = await handle(request);
          assert.equal(request.bodyUsed, false);
          return { status: response.status, headers: new Map(response.headers), body: await response.text() };
        };
      }, wrong),
    );
  }
});
