/** The page of one's own account, or of the session that a portal link began. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { VISITED_COOKIE } from '../../src/portal/frame/cookies.ts';
import { makeCustomer, sessionOf } from '../support/customers.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { startService } from '../support/service.ts';

describe('the page of one’s own account', () => {
  it('tells only an administrator to set a password for a passkey: nobody else can', async (t) => {
    const service = await startService(t);
    for (const [role, said] of [
      ['administrator', 'A passkey needs a password beside it: set one above.'],
      ['viewer', 'A passkey needs a password beside it.<'],
    ] as const) {
      const { token } = await newSession(service, role);
      const { text } = await request(`${service.url}/account`, { token });
      assert.ok(text.includes(said), role);
    }
  });

  it('of a session by a link names the operator, but not to an administrator of the operator', async (t) => {
    const service = await startService(t);
    const customer = await makeCustomer(service);
    const { token } = await newSession(service, 'administrator');
    const form = { name: 'Corner Shop', logo: '', accent: '' };
    assert.equal((await request(`${service.url}/settings/customers-portal`, { token, form })).status, 303);
    const link = await sessionOf(service, customer, 'link');
    const { text } = await request(`${service.url}/account`, { token: link });
    assert.match(text, /With a link from Corner Shop, so without a password\./);
    const opened = await request(`${service.url}/customers/${customer.id}/open`, { token, form: {} });
    const visited = new RegExp(`${VISITED_COOKIE}=([\\w-]+)`).exec(opened.headers.get('set-cookie') ?? '')?.[1];
    const cookie = `sallyport=${token}; ${VISITED_COOKIE}=${visited}`;
    const seen = await request(`${service.url}/account`, { headers: { cookie } });
    assert.match(seen.text, /You are looking at/);
    assert.doesNotMatch(seen.text, /With a link from/);
  });
});
