import assert from 'node:assert/strict';
import { it } from 'node:test';
import { entryText } from '../../../src/portal/audit/audit-pages.ts';

it('the audit log tells a verification that failed from one that succeeded', () => {
  const verified = (to: unknown): string =>
    entryText({ action: 'endpoint.verify', changes: { lastVerification: { from: null, to } } });
  assert.equal(verified({ verified: true }), 'Verified the endpoint');
  assert.equal(verified({ verified: false }), 'Tried to verify the endpoint: failed');
  assert.equal(entryText({ action: 'endpoint.verify', changes: {} }), 'Verified the endpoint');
  const created = { lastVerification: { from: null, to: { verified: false } } };
  assert.equal(entryText({ action: 'endpoint.create', changes: created }), 'Created the endpoint');
  assert.equal(entryText({ action: 'thing.do-it', changes: {} }), 'thing: do it');
});
