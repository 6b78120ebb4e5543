import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createObservers } from '../../src/observe/observers.ts';
import { openTestServices } from '../support/services.ts';

it('answered requests are counted, whatever their status', async (t) => {
  const { store, clock } = await openTestServices(t);
  const { observeRequest, answeredRequests } = createObservers({ store, clock });
  assert.equal(answeredRequests(), 0);
  observeRequest({ route: '/livez', method: 'GET', status: 200, refusal: null, seconds: 0.001 });
  observeRequest({ route: null, method: 'GET', status: 404, refusal: 'not_found', seconds: 0.001 });
  assert.equal(answeredRequests(), 2);
});
