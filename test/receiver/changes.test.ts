import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createReceiver, standardWebhooks } from '../../src/receiver/index.ts';
import { TRANSPORTS } from '../support/receiver-transports.ts';
import { type RawRequest, type SignedRequestOptions, signedRequest } from '../support/signed-request.ts';

const headerValue = fc.string({ unit: fc.constantFrom(...'abcXYZ019-_,.'), maxLength: 20 });
const headerName = fc.string({ unit: fc.constantFrom(...'abcXYZ019-'), maxLength: 20 }).map((rest) => `X-${rest}`);
const sent: fc.Arbitrary<SignedRequestOptions & { secret: string }> = fc.record({
  path: fc.tuple(fc.webPath(), fc.webQueryParameters()).map(([path, query]) => {
    const { pathname, search } = new URL(`https://h.example${path}?${query}`);
    return pathname + search;
  }),
  secret: fc.oneof(fc.string({ minLength: 1 }), fc.base64String({ minLength: 4 })),
  apiKey: fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 32, maxLength: 32 }),
  gzip: fc.boolean(),
  standardWebhooks: fc.boolean(),
  customHeaders: fc.uniqueArray(fc.record({ name: headerName, value: headerValue }), {
    maxLength: 4,
    selector: ({ name }) => name.toLowerCase(),
  }),
  records: fc.array(fc.record({ dataJson: fc.jsonValue().map((value) => JSON.stringify(value)) }), { maxLength: 3 }),
});

/** The headers that a receiver reads. */
const READ = /^(x-api-key|authorization|date|x-content-sha256|webhook-.*)$/;

describe('deliveries that src/wire signs', () => {
  for (const { name, start } of TRANSPORTS) {
    it(`are accepted by a receiver (${name})`, async (t) => {
      await fc.assert(
        fc.asyncProperty(sent, async (one) => {
          let handled = 0;
          const send = await start(t, {
            secrets: ['another', one.secret],
            apiKey: ['another', one.apiKey ?? ''],
            ...(one.standardWebhooks === true && { standardWebhooks }),
            onRecords: (records) => {
              handled += records.length;
            },
          });
          const { status, body } = await send(await signedRequest(one));
          assert.deepEqual([status, body, handled], [204, '', one.records?.length]);
        }),
        { numRuns: 60 },
      );
    });
  }
});

describe('a changed byte', () => {
  const flip = (bytes: Uint8Array, position: number, difference: number): Uint8Array =>
    bytes.map((byte, index) => (index === position % bytes.length ? byte ^ difference : byte));

  async function isTaken(one: SignedRequestOptions & { secret: string }, request: RawRequest): Promise<boolean> {
    const { secret, apiKey = '' } = one;
    let taken = false;
    const receiver = createReceiver({
      secrets: secret,
      apiKey,
      ...(one.standardWebhooks === true && { standardWebhooks }),
      onRecords: () => {
        taken = true;
      },
      onError: (error) => assert.fail(String(error)),
    });
    const { status, refusal } = await receiver.receive({ ...request, pathAndQuery: request.path });
    assert.equal(status < 300, refusal === null);
    assert.ok(status < 300 || !taken);
    return status < 300;
  }

  it('of the body, the path or a header that the receiver reads is refused without an exception', async () => {
    await fc.assert(
      fc.asyncProperty(sent, fc.nat(), fc.integer({ min: 1, max: 127 }), async (one, position, difference) => {
        const request = await signedRequest(one);
        assert.ok(await isTaken(one, request));
        assert.ok(!(await isTaken(one, { ...request, body: flip(request.body, position, difference) })));
        const flipText = (text: string): string =>
          Buffer.from(flip(Buffer.from(text), position, difference)).toString();
        const path = flipText(request.path);
        // The signature covers the path in lower case, so it does not detect a change of case.
        if (path.toLowerCase() !== request.path.toLowerCase()) assert.ok(!(await isTaken(one, { ...request, path })));
        const custom = (one.customHeaders ?? []).map((header) => header.name);
        for (const [at, [name, value]] of request.headers.entries()) {
          if (value === '' || !(READ.test(name) || custom.includes(name))) continue;
          const headers = request.headers.with(at, [name, flipText(value)]);
          assert.ok(!(await isTaken(one, { ...request, headers })), name);
        }
      }),
    );
  });

  it('of any part of the request causes no exception', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string(),
        fc.string(),
        fc.array(
          fc.tuple(
            fc.oneof(fc.string(), fc.constantFrom('authorization', 'date', 'x-api-key', 'x-challenge-sha256')),
            fc.string(),
          ),
        ),
        fc.anything(),
        async (method, pathAndQuery, headers, body) => {
          const options = {
            secrets: 's',
            onRecords: () => assert.fail('handed over'),
            onError: (error: unknown) => assert.fail(String(error)),
          };
          const { refusal } = await createReceiver(options).receive({
            method,
            pathAndQuery,
            headers,
            body: body as Uint8Array,
          });
          assert.ok(refusal !== null);
        },
      ),
    );
  });
});
