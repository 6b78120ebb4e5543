/** An endpoint that is changed while its challenge is under way. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { challengeAnswer } from '../../src/wire/challenge.ts';
import { type Deferred, deferred } from '../support/deferred.ts';
import { type HttpsServer, startHttpsServer } from '../support/https-server.ts';
import { refused } from '../support/refusals.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR, openTestServices, type TestServices } from '../support/services.ts';
import { sharedCertificates } from '../support/tls.ts';

repeats('postgres');

const SECRET = 'c2VjcmV0IG9mIHRoZSBlbmRwb2ludA==';

type Held = {
  readonly s: TestServices;
  readonly server: HttpsServer;
  /** The paths of the challenges, in order of arrival. */
  readonly challenged: string[];
  /** Makes the next challenges wait: each reports its path and continues when released. */
  holdNext(): { readonly came: Promise<void>; readonly letGo: () => void };
  readonly id: string;
};

/** A verified endpoint whose receiver holds `SECRET`. */
async function open(t: TestContext): Promise<Held> {
  const { ca, server: identity } = sharedCertificates();
  const challenged: string[] = [];
  const holds: { readonly came: Deferred<void>; readonly gate: Deferred<void> }[] = [];
  const server = await startHttpsServer(identity, {
    answer: async ({ url, headers }, response) => {
      challenged.push(url);
      const hold = holds.shift();
      hold?.came.resolve();
      await hold?.gate.promise;
      const token = String(headers['x-challenge-sha256']);
      const answer = challengeAnswer({ pathAndQuery: url, token, secret: SECRET });
      response.writeHead(200, { 'x-challenge-sha256': answer }).end();
    },
  });
  t.after(() => server.close());
  const s = await openTestServices(t, { caPem: ca });
  const fields = { name: 'Receiver', url: `${server.origin}/first`, secret: SECRET, tokenChallenge: true };
  const { id } = await s.endpoints.create(fields, ACTOR);
  challenged.length = 0;
  return {
    s,
    server,
    challenged,
    id,
    holdNext: () => {
      const hold = { came: deferred(), gate: deferred() };
      holds.push(hold);
      return { came: hold.came.promise, letGo: hold.gate.resolve };
    },
  };
}

describe('an endpoint that is changed while it is challenged', () => {
  it('is not challenged again if the other change keeps the settings of the challenge', async (t) => {
    const { s, server, challenged, id, holdNext } = await open(t);
    const hold = holdNext();
    const moving = s.endpoints.patch(id, { url: `${server.origin}/second` }, ACTOR);
    await hold.came;
    await s.endpoints.patch(id, { name: 'renamed' }, ACTOR);
    hold.letGo();
    await moving;
    const { name, url, verified, enabled } = await s.endpoints.get(id);
    assert.deepEqual([name, url, verified, enabled], ['renamed', `${server.origin}/second`, true, true]);
    assert.deepEqual(challenged, ['/second']);
  });

  it('is not challenged again for a verification either', async (t) => {
    const { s, challenged, id, holdNext } = await open(t);
    const hold = holdNext();
    const verifying = s.endpoints.verify(id, ACTOR);
    await hold.came;
    await s.endpoints.patch(id, { contentEncoding: 'gzip' }, ACTOR);
    hold.letGo();
    const { verified, contentEncoding } = await verifying;
    assert.deepEqual([verified, contentEncoding], [true, 'gzip']);
    assert.deepEqual(challenged, ['/first']);
  });

  it('is challenged again if its secret was replaced in between, because the answer to the old one proves nothing', async (t) => {
    const { s, challenged, id, holdNext } = await open(t);
    const hold = holdNext();
    const verifying = s.endpoints.verify(id, ACTOR);
    await hold.came;
    await s.endpoints.rotateSecret(id, { secret: 'the receiver lacks this one' }, ACTOR);
    hold.letGo();
    const { verified, enabled, lastVerification } = await verifying;
    assert.deepEqual([verified, enabled, lastVerification?.verified], [true, true, false]);
    assert.match(lastVerification?.error ?? '', /^wrong_answer: /);
    assert.deepEqual(challenged, ['/first', '/first']);
  });

  it('is challenged at most twice: then the change is refused, and the other changes stay', async (t) => {
    const { s, server, challenged, id, holdNext } = await open(t);
    const [one, two] = [holdNext(), holdNext()];
    const verifying = refused(() => s.endpoints.verify(id, ACTOR), { code: 'conflict', says: 'try once more' });
    await one.came;
    await s.endpoints.rotateApiKey(id, { apiKey: 'a'.repeat(32) }, ACTOR);
    one.letGo();
    await two.came;
    await s.endpoints.rotateApiKey(id, { apiKey: 'b'.repeat(32) }, ACTOR);
    two.letGo();
    await verifying;
    const { apiKey, verified, url } = await s.endpoints.get(id);
    assert.deepEqual([apiKey.reveal(), verified, url], ['b'.repeat(32), true, `${server.origin}/first`]);
    assert.deepEqual(challenged, ['/first', '/first']);
  });
});
