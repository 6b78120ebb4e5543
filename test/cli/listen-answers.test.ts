import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { cleanUp } from '../support/cleanup.ts';
import { exchange, startListener } from '../support/listening.ts';
import { SECRET, signedRequest, withHeader } from '../support/signed-request.ts';

const GIVEN = ['--secret', SECRET];

describe('sallyport listen fails on purpose', () => {
  it('with a status, for every delivery, but not for challenges and refused requests', async (t) => {
    const listener = await startListener(t, [...GIVEN, '--status', '503']);
    for (let round = 0; round < 2; round++) {
      const [status, { answered }] = await exchange(listener, await signedRequest());
      assert.deepEqual([status, answered], [503, { status: 503, onPurpose: true, forwarded: null }]);
    }
    assert.equal(
      (await exchange(listener, withHeader(await signedRequest(), 'x-challenge-sha256', 'q'.repeat(43))))[0],
      200,
    );
    assert.equal((await exchange(listener, withHeader(await signedRequest(), 'date', '')))[0], 401);
  });

  it('for a number of deliveries', async (t) => {
    const listener = await startListener(t, [...GIVEN, '--fail-first', '2']);
    const statuses = [];
    await exchange(listener, withHeader(await signedRequest(), 'date', ''));
    for (let round = 0; round < 4; round++) statuses.push((await exchange(listener, await signedRequest()))[0]);
    assert.deepEqual(statuses, [500, 500, 204, 204]);
  });

  it('by resetting the connection', async (t) => {
    const listener = await startListener(t, [...GIVEN, '--reset', '--fail-first', '1']);
    await assert.rejects(listener.send(await signedRequest()), /ECONNRESET|socket hang up/);
    assert.deepEqual((await listener.next()).answered, { status: 'reset', onPurpose: true, forwarded: null });
    assert.equal((await exchange(listener, await signedRequest()))[0], 204);
  });

  it('by answering late', async (t) => {
    const listener = await startListener(t, [...GIVEN, '--delay', '300']);
    const since = performance.now();
    assert.equal((await listener.send(await signedRequest())).status, 204);
    assert.ok(performance.now() - since >= 299);
  });
});

describe('sallyport listen forwards', () => {
  async function program(t: TestContext, status: number): Promise<{ url: string; bodies: string[] }> {
    const bodies: string[] = [];
    const server = createServer(async (request, response) => {
      bodies.push(
        `${request.method} ${request.url} ${request.headers['content-type']} ${Buffer.concat(await request.toArray())}`,
      );
      response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end('thanks');
    });
    cleanUp(t, () => {
      server.close();
      server.closeAllConnections();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/in?a=1`, bodies };
  }

  for (const status of [202, 307, 409]) {
    it(`the decoded JSON, and replies ${status} like the program`, async (t) => {
      const { url, bodies } = await program(t, status);
      const listener = await startListener(t, [...GIVEN, '--forward', url]);
      const [answered, shown] = await exchange(listener, await signedRequest({ gzip: true }));
      assert.equal(answered, status);
      const { forwarded } = shown.answered as { forwarded: string };
      assert.match(forwarded, new RegExp(`^http://127\\.0\\.0\\.1:\\d+/in\\?a=1 answered ${status} in \\d+ ms$`));
      const [method, path, type, ...json] = bodies.join().split(' ');
      assert.deepEqual([method, path, type], ['POST', '/in?a=1', 'application/json']);
      assert.deepEqual(JSON.parse(json.join(' ')), shown.delivery);
    });
  }

  it('no refused request and no planned failure', async (t) => {
    const { url, bodies } = await program(t, 200);
    const listener = await startListener(t, [...GIVEN, '--forward', url, '--fail-first', '1', '--status', '503']);
    assert.equal((await exchange(listener, withHeader(await signedRequest(), 'date', '')))[0], 401);
    assert.equal((await exchange(listener, await signedRequest()))[0], 503);
    assert.deepEqual(bodies, []);
    assert.equal((await exchange(listener, await signedRequest()))[0], 200);
    assert.equal(bodies.length, 1);
  });

  it('and replies 502 if the program does not answer', async (t) => {
    // An unused port. fetch refuses the first one (WHATWG Fetch, "bad port").
    const listener = await startListener(t, [...GIVEN, '--forward', 'http://127.0.0.1:2/']);
    const [status, { answered }] = await exchange(listener, await signedRequest());
    assert.equal(status, 502);
    const { forwarded } = answered as { forwarded: string };
    assert.match(
      forwarded,
      /^http:\/\/127\.0\.0\.1:\d+\/ did not answer: .*(?:ECONNREFUSED|Connection refused).* \(in \d+ ms\)$/,
    );
  });
});
