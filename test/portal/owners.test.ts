/** Whose a record is, wherever the operator sees one. A customer's portal never says it: everything there is its own. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startHistory } from '../support/portal-history.ts';
import { request } from '../support/portal-requests.ts';

const OWNER = 'Acme';
/** The customer's records are named after it in lower case, so the name with a capital is that of the owner. */
const PAGES = (ids: Readonly<Record<string, string>>): readonly string[] => [
  '/',
  '/endpoints',
  '/webhooks',
  '/keys',
  '/applications',
  '/users',
  '/deliveries',
  '/deliveries/failures',
  '/deliveries/watch',
  `/deliveries/replay?webhook=${ids.webhooks}`,
  '/webhooks/suggestions?webhook=acme',
  '/search?q=of+acme',
  '/event-types',
];

describe('the owner of a record', () => {
  it('stands on every page of the operator, and on none of the customer', async (t) => {
    const { service, ids, sessions } = await startHistory(t);
    const open = (path: string, token: string) => request(`${service.url}${path}`, { token });
    for (const path of PAGES(ids.customer)) {
      const { status, text } = await open(path, sessions.operator);
      assert.equal(status, 200, path);
      assert.match(mainOf(text), new RegExp(`\\b${OWNER}\\b`), path);
      const theirs = await open(path, sessions.customer);
      if (theirs.status === 200) assert.doesNotMatch(mainOf(theirs.text), /· Acme|cell-owner/, path);
    }
  });
});

function mainOf(page: string): string {
  return page.slice(page.indexOf('<main'));
}
