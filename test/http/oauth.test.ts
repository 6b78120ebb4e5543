import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { CLIENT_FAILURES_MAX, createThrottle } from '../../src/domain/throttle.ts';
import type { Call } from '../../src/http/route.ts';
import { createClientAuthentication } from '../../src/http/routes/client-authentication.ts';
import { parametersOf } from '../../src/http/routes/oauth-parameters.ts';
import { Refusal } from '../../src/kernel/refusal.ts';
import { deferred } from '../support/deferred.ts';
import { makeApplication, openTestServices } from '../support/services.ts';

/** Authenticates against a database that answers only after `answer` is called, like one across a network. */
async function start(t: TestContext) {
  const services = await openTestServices(t);
  const { application, clientSecret } = await makeApplication(services);
  const answering = deferred<void>();
  const { client } = createClientAuthentication({
    tokens: {
      version: () => services.tokens.version(),
      authenticate: async (credentials) => {
        await answering.promise;
        return services.tokens.authenticate(credentials);
      },
    },
    throttle: createThrottle(),
    clock: services.clock,
  });
  const outcomeOf = async (secret: string): Promise<string> => {
    const body = { clientId: application.clientId, clientSecret: secret };
    const call = { request: { headers: {} }, remoteAddress: '203.0.113.1', body, mediaType: 'application/json' };
    try {
      return (await client(call as Call, parametersOf(call))).id === application.id ? 'in' : 'another';
    } catch (error) {
      if (error instanceof Refusal) return error.code;
      throw error;
    }
  };
  return { outcomeOf, clientSecret, answer: () => answering.resolve() };
}

function count(outcomes: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

describe('concurrent authentications', () => {
  it('report ten failures, and afterwards not even the success', async (t) => {
    const { outcomeOf, clientSecret, answer } = await start(t);
    const guesses = Array.from({ length: 40 }, (_, at) => outcomeOf(`guess-${at}`));
    const right = outcomeOf(clientSecret);
    answer();
    assert.deepEqual(count(await Promise.all(guesses)), { invalid_client: CLIENT_FAILURES_MAX, too_many_requests: 30 });
    assert.equal(await right, 'too_many_requests');
  });

  it('all succeed with the right secret', async (t) => {
    const { outcomeOf, clientSecret, answer } = await start(t);
    const all = Array.from({ length: 200 }, () => outcomeOf(clientSecret));
    answer();
    assert.deepEqual(count(await Promise.all(all)), { in: 200 });
  });
});
