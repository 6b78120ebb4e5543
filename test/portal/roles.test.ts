/** Who may come to which page: for every page that is registered, and every role. */

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { ADMIN_REQUEST_BYTES } from '../../src/domain/limits.ts';
import type { PortalRole } from '../../src/domain/user.ts';
import { FORM_FIELDS_MAX } from '../../src/http/body.ts';
import { mayAct } from '../../src/portal/frame/call.ts';
import { SESSION_COOKIE } from '../../src/portal/frame/cookies.ts';
import { SMALL_FORM_BYTES } from '../../src/portal/parts/limits.ts';
import { filledPath, portalPages } from '../support/portal-pages.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { sendRaw } from '../support/raw-request.ts';
import { openBeside, type ServiceInProcess, startService } from '../support/service.ts';
import { contentsOf, writtenByRequests } from '../support/store.ts';

const ROLES: readonly PortalRole[] = ['viewer', 'operator', 'administrator'];
const pages = portalPages();

describe('every page of the portal', () => {
  it('is registered once, with a role unless it is one for coming in or for receivers', () => {
    const names = pages.map(({ method, path }) => `${method} ${path}`);
    assert.deepEqual([...new Set(names)], names);
    const open = pages.filter(({ role }) => role === null).map(({ path }) => path);
    for (const path of open)
      assert.match(path, /^\/(sign-in|session-ended|theme|portal-links|event-catalogue|downloads)(\/|$)/);
  });

  it('sends visitors without a session to the sign-in page, and does nothing', async (t) => {
    const service = await startService(t);
    const unchanged = await watch(t, service);
    for (const { method, path, role } of pages) {
      if (role === null) continue;
      const reply = await request(service.url + filledPath(path), { ...(method === 'POST' && { form: {} }) });
      assert.equal(reply.status, 303, `${method} ${path}`);
      assert.match(reply.headers.get('location') ?? '', /^\/sign-in(\?|$)/, path);
    }
    await unchanged();
  });

  for (const role of ROLES) {
    const denied = pages.filter((page) => page.role !== null && !mayAct(role, page.role));
    if (role !== 'administrator') {
      it(`refuses ${role}s everything beyond their role, and does nothing`, async (t) => {
        assert.ok(denied.length > 0, `nothing takes more than ${role}`);
        const service = await startService(t);
        const { token } = await newSession(service, role);
        const unchanged = await watch(t, service);
        for (const { method, path } of denied) {
          const reply = await request(service.url + filledPath(path), {
            token,
            ...(method === 'POST' && { form: {} }),
          });
          assert.equal(reply.status, 403, `${method} ${path}`);
          assert.match(
            reply.text,
            /Your role does not allow this[\s\S]*This needs the role (Operator|Administrator), and yours/,
            path,
          );
        }
        await unchanged();
      });
    }

    it(`answers ${role}s within their role without a fault`, async (t) => {
      const service = await startService(t);
      for (const { method, path, role: takes } of pages) {
        if (takes === null || !mayAct(role, takes)) continue;
        const { token } = await newSession(service, role);
        const reply = await request(service.url + filledPath(path), { token, ...(method === 'POST' && { form: {} }) });
        assert.ok(reply.status < 500 && reply.status !== 403, `${method} ${path}: ${reply.status}`);
        if (method === 'GET') assert.doesNotMatch(reply.headers.get('location') ?? '', /^\/sign-in/, path);
        assert.match(reply.headers.get('cache-control') ?? '', /no-store/, path);
      }
    });
  }

  it('that takes a form refuses visitors without the role before reading it', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'viewer');
    const { port } = new URL(service.url);
    const announced = (cookie: string): readonly string[] => [
      `Cookie: __Host-${SESSION_COOKIE}=${cookie}`,
      'Content-Type: application/x-www-form-urlencoded',
      `Content-Length: ${ADMIN_REQUEST_BYTES}`,
    ];
    for (const [cookie, status] of [
      ['A'.repeat(43), 303],
      [token, 403],
    ] as const) {
      const answer = await sendRaw(Number(port), '/users/new', { method: 'POST', headers: announced(cookie) });
      assert.equal(answer.status, status);
    }
  });

  it('that takes a form refuses one of too many fields, and a large one where it has few', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'administrator');
    const post = (path: string, form: Record<string, string>) => request(service.url + path, { token, form });
    const many = await post(
      '/users/new',
      Object.fromEntries(Array.from({ length: FORM_FIELDS_MAX }, (_, at) => [at, ''])),
    );
    assert.equal(many.status, 400);
    assert.match(many.text, /The form has more than 10000 fields/);
    for (const path of ['/theme', '/sign-out']) {
      assert.equal((await post(path, { back: 'x'.repeat(SMALL_FORM_BYTES) })).status, 413, path);
    }
    const back = `/audit?actor=${'ü'.repeat(1000)}`;
    assert.equal((await post('/theme', { back, theme: 'dark' })).status, 303);
  });

  it('accepts forms only with the token of the session, and only from its own site', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'administrator');
    const other = await newSession(service, 'administrator');
    const { url } = service;
    const unchanged = await watch(t, service);
    const forged: readonly [what: string, form: Record<string, string>, headers: Record<string, string>][] = [
      ['no token', { formToken: '' }, {}],
      ["another session's token", { formToken: await tokenOf(url, other.token) }, {}],
      ['another site, by Origin', {}, { origin: 'https://evil.example' }],
      ['a page without an origin', {}, { origin: 'null' }],
      ['another port', {}, { origin: `${url.replace(/:\d+$/, '')}:1` }],
      ['another site, by Sec-Fetch-Site', {}, { 'sec-fetch-site': 'cross-site' }],
      ['a neighbouring host', {}, { 'sec-fetch-site': 'same-site' }],
      ['no page at all', {}, { 'sec-fetch-site': 'none' }],
    ];
    for (const { method, path, role } of pages) {
      if (method !== 'POST' || role === null) continue;
      for (const [what, form, headers] of forged) {
        const reply = await request(url + filledPath(path), { token, form, headers });
        assert.equal(reply.status, 403, `${path}: ${what}`);
        assert.match(reply.text, /send that form again/, `${path}: ${what}`);
      }
    }
    await unchanged();
  });
});

async function tokenOf(url: string, session: string): Promise<string> {
  const { text } = await request(`${url}/account`, { token: session });
  return /name="formToken" value="([^"]+)"/.exec(text)?.[1] ?? assert.fail('no form has a token');
}

/** The result asserts that nothing was written since. The last use of a session does not count. */
async function watch(t: TestContext, service: ServiceInProcess): Promise<() => Promise<void>> {
  const database = await openBeside(t, service);
  // An instance renews its own row.
  const written = async (): Promise<unknown> => writtenByRequests(await contentsOf(database));
  const before = await written();
  return async () => assert.deepEqual(await written(), before);
}
