/** How long a session lasts, and everything that ends it. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hashPassword } from '../../src/access/password.ts';
import { SESSION_SEEN_EVERY_MS } from '../../src/access/sessions.ts';
import { COMMAND_LINE } from '../../src/domain/acting.ts';
import { PASSWORD_MAX_LENGTH } from '../../src/domain/limits.ts';
import { CLIENT_FAILURES_MAX, NETWORK_FAILURES_MAX } from '../../src/domain/throttle.ts';
import { type Role, SESSION_IDLE_MS, SESSION_MS } from '../../src/domain/user.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import { SESSION_COOKIE, VISITOR_COOKIE } from '../../src/portal/frame/cookies.ts';
import { formToken } from '../../src/portal/frame/forgery.ts';
import { SESSIONS_PER_USER_MAX } from '../../src/store/shared/access/sessions.ts';
import { succeeded } from '../support/client.ts';
import { newSession, type PortalReply, request } from '../support/portal-requests.ts';
import { type ServiceInProcess, startService } from '../support/service.ts';

const VISITOR = { address: '127.0.0.1', userAgent: 'a test' };
const PASSWORD = 'seventeen badgers at dawn';

async function isSignedIn({ url }: Pick<ServiceInProcess, 'url'>, token: string): Promise<boolean> {
  const { status, headers } = await request(`${url}/account`, { token });
  if (status === 200) return true;
  assert.deepEqual([status, headers.get('location')], [303, '/sign-in?next=%2Faccount']);
  return false;
}

/** A visit to the sign-in page, and what posting the form with its cookie answers. */
async function signIn(url: string, fields: Readonly<Record<string, string>>, cookies = ''): Promise<PortalReply> {
  const page = await request(`${url}/sign-in`, { headers: { cookie: cookies } });
  const visit = new RegExp(`${VISITOR_COOKIE}=([^;]+)`).exec(page.headers.get('set-cookie') ?? '')?.[1] ?? '';
  const cookie = `${VISITOR_COOKIE}=${visit}${cookies === '' ? '' : `; ${cookies}`}`;
  return request(`${url}/sign-in`, { form: { formToken: formToken(visit), ...fields }, headers: { cookie } });
}

function sessionIn({ headers }: PortalReply): string | null {
  return new RegExp(`${SESSION_COOKIE}=([^;]+)`).exec(headers.get('set-cookie') ?? '')?.[1] ?? null;
}

async function userWithPassword({ services }: ServiceInProcess, userName: string, role: Role): Promise<{ id: string }> {
  const passwordHash = await hashPassword(PASSWORD, randomBytes);
  return services.users.create({ userName, role }, COMMAND_LINE, {
    complete: (user) => ({ ...user, passwordHash }),
  });
}

describe('a session', () => {
  it('is over after half an hour without a request, and lasts with one', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'viewer');
    for (let at = 0; at < 3; at += 1) {
      service.advance(SESSION_IDLE_MS - SESSION_SEEN_EVERY_MS);
      assert.equal(await isSignedIn(service, token), true);
    }
    service.advance(SESSION_IDLE_MS + SESSION_SEEN_EVERY_MS);
    assert.equal(await isSignedIn(service, token), false);
  });

  it('is over after twelve hours at the latest', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'viewer');
    for (let passed = 0; passed < SESSION_MS - SESSION_IDLE_MS / 2; passed += SESSION_IDLE_MS / 2) {
      assert.equal(await isSignedIn(service, token), true);
      service.advance(SESSION_IDLE_MS / 2);
    }
    service.advance(SESSION_IDLE_MS / 2);
    assert.equal(await isSignedIn(service, token), false);
  });

  it('ends with the account, its role, a new password by invitation, and with signing out', async (t) => {
    const service = await startService(t);
    const { admin, services } = service;
    const ends: readonly [what: string, end: (userId: string, token: string) => Promise<unknown>][] = [
      ['switched off', (id) => succeeded(admin.patch(`users/${id}`, { active: false }))],
      ['deleted', (id) => admin.delete(`users/${id}`)],
      ['another role', (id) => succeeded(admin.patch(`users/${id}`, { role: 'viewer' }))],
      ['no portal role', (id) => succeeded(admin.patch(`users/${id}`, { role: 'service' }))],
      [
        'a new password',
        async (id) => {
          const { token } = await services.invitations.invite(id, COMMAND_LINE);
          await services.invitations.accept(token, { password: PASSWORD, passwordAgain: PASSWORD });
        },
      ],
      ['signed out', (_, token) => request(`${service.url}/sign-out`, { token, form: {} })],
      [
        'signed out everywhere',
        (_, token) => request(`${service.url}/account/sign-out-everywhere`, { token, form: {} }),
      ],
    ];
    const { token: bystander } = await newSession(service, 'administrator');
    for (const [what, end] of ends) {
      const { token, userId } = await newSession(service, 'operator');
      assert.equal(await isSignedIn(service, token), true, what);
      await end(userId, token);
      assert.equal(await isSignedIn(service, token), false, what);
    }
    assert.equal(await isSignedIn(service, bystander), true);
  });

  it('begins with a password set by an invitation: once, and only for a form of this site', async (t) => {
    const service = await startService(t);
    const { services, admin } = service;
    const { token: before, userId } = await newSession(service, 'operator');
    const { token: other } = await newSession(service, 'viewer');
    const set = async (token: string, site: string | null, cookie = '') => {
      const response = await fetch(`${service.url}/invitations/${token}`, {
        method: 'POST',
        redirect: 'manual',
        body: new URLSearchParams({ password: PASSWORD, passwordAgain: PASSWORD }),
        headers: { ...(site !== null && { 'Sec-Fetch-Site': site }), ...(cookie !== '' && { Cookie: cookie }) },
      });
      const began = /sallyport=([\w-]{43})/.exec(response.headers.getSetCookie().join())?.[1] ?? null;
      return { status: response.status, location: response.headers.get('location'), began };
    };
    // Another site could sign a visitor in to an account of its own.
    for (const site of [null, 'cross-site', 'same-site', 'none']) {
      const { token } = await services.invitations.invite(userId, COMMAND_LINE);
      assert.deepEqual(await set(token, site), { status: 200, location: null, began: null }, String(site));
    }
    assert.equal(await isSignedIn(service, before), false);

    const { token } = await services.invitations.invite(userId, COMMAND_LINE);
    const done = await set(token, 'same-origin', `__Host-sallyport=${other}`);
    assert.deepEqual([done.status, done.location], [303, '/']);
    assert.equal(await isSignedIn(service, done.began ?? ''), true);
    assert.equal(await isSignedIn(service, other), false, 'the session that the browser had is ended');
    assert.deepEqual(await set(token, 'same-origin'), { status: 404, location: null, began: null });
    const { items } = await succeeded<{ items: { action: string }[] }>(admin.get(`audit?actor=user:${userId}&limit=2`));
    assert.deepEqual(
      items.map(({ action }) => action),
      ['user.sign-in', 'user.set-password'],
    );
  });

  it('does not come back with an account that is switched on again, or given its role again', async (t) => {
    const service = await startService(t);
    const { token, userId } = await newSession(service, 'operator');
    await succeeded(service.admin.patch(`users/${userId}`, { active: false }));
    await succeeded(service.admin.patch(`users/${userId}`, { active: true }));
    assert.equal(await isSignedIn(service, token), false);
  });

  it('of another user is not ended by its id', async (t) => {
    const service = await startService(t);
    const mine = await newSession(service, 'viewer');
    const other = await newSession(service, 'viewer');
    const path = `${service.url}/account/sessions/${other.sessionId}/end`;
    assert.equal((await request(path, { token: mine.token, form: {} })).status, 303);
    assert.equal(await isSignedIn(service, other.token), true);
  });

  it('is ended by an administrator in the name of that administrator', async (t) => {
    const service = await startService(t);
    const administrator = await newSession(service, 'administrator');
    const other = await newSession(service, 'viewer');
    const path = `${service.url}/users/${other.userId}/sign-out`;
    assert.equal((await request(path, { token: administrator.token, form: {} })).status, 303);
    assert.equal(await isSignedIn(service, other.token), false);
    assert.equal(await isSignedIn(service, administrator.token), true);
    const itself = await newSession(service, 'viewer');
    await request(`${service.url}/account/sign-out-everywhere`, { token: itself.token, form: {} });
    const { items } = await succeeded<{ items: { actor: string; action: string; target: string }[] }>(
      service.admin.get('audit'),
    );
    assert.deepEqual(
      items.filter(({ action }) => action === 'user.sign-out-everywhere').map(({ actor, target }) => [actor, target]),
      [
        [`user:${itself.userId}`, `user:${itself.userId}`],
        [`user:${administrator.userId}`, `user:${other.userId}`],
      ],
    );
  });

  it('is stored only as a hash', async (t) => {
    const service = await startService(t);
    const { token, userId } = await newSession(service, 'viewer');
    const [session] = await service.services.sessions.ofUser(userId);
    assert.equal(session?.tokenHash.length, 32);
    assert.ok(!JSON.stringify(session).includes(token));
    const audit = await request(`${service.url}/audit`, { token });
    assert.match(audit.text, /user\.sign-in/);
    assert.ok(!audit.text.includes(token));
  });

  it('gives way to newer ones where an account has too many', async (t) => {
    const service = await startService(t);
    const user = await service.services.users.create({ userName: 'busy', role: 'viewer' }, COMMAND_LINE);
    const tokens: string[] = [];
    for (let at = 0; at <= SESSIONS_PER_USER_MAX; at += 1) {
      const begun = await service.services.sessions.begin(user, 'password', VISITOR);
      tokens.push(begun?.token ?? '');
      service.advance(1);
    }
    assert.equal((await service.services.sessions.ofUser(user.id)).length, SESSIONS_PER_USER_MAX);
    assert.equal(await isSignedIn(service, tokens[0] ?? ''), false);
    assert.equal(await isSignedIn(service, tokens[1] ?? ''), true);
  });
});

describe('signing in', () => {
  it('always sets a new cookie, and ends the session of the old one', async (t) => {
    const service = await startService(t);
    await userWithPassword(service, 'grace', 'operator');
    const fixed = 'A'.repeat(43);
    const first = await signIn(service.url, { userName: 'grace', password: PASSWORD }, `${SESSION_COOKIE}=${fixed}`);
    const token = sessionIn(first);
    assert.equal(first.status, 303);
    assert.ok(token !== null && token !== fixed);
    assert.equal(await isSignedIn(service, fixed), false);
    assert.equal(await isSignedIn(service, token), true);

    const again = await request(`${service.url}/sign-in`, { token, form: { userName: 'grace', password: PASSWORD } });
    const next = sessionIn(again);
    assert.ok(next !== null && next !== token);
    assert.equal(await isSignedIn(service, token), false);
    assert.equal(await isSignedIn(service, next), true);
  });

  it('says and sets the same for everything that is wrong', async (t) => {
    const service = await startService(t);
    await userWithPassword(service, 'grace', 'operator');
    await userWithPassword(service, 'robot', 'service');
    const { id } = await userWithPassword(service, 'gone', 'viewer');
    await succeeded(service.admin.patch(`users/${id}`, { active: false }));
    await service.services.users.create({ userName: 'new', role: 'viewer' }, COMMAND_LINE);
    const wrong = [
      ['nobody', PASSWORD],
      ['grace', 'another password of mine'],
      ['grace', ''],
      ['robot', PASSWORD],
      ['gone', PASSWORD],
      ['new', ''],
      ['', ''],
    ] as const;
    const replies: string[] = [];
    for (const [userName, password] of wrong) {
      const reply = await signIn(service.url, { userName, password });
      assert.equal(reply.status, 401, userName);
      assert.equal(sessionIn(reply), null, userName);
      replies.push(
        reply.text.replaceAll(`value="${userName}"`, 'value=""').replace(/name="formToken" value="[^"]*"/g, ''),
      );
    }
    assert.deepEqual(new Set(replies).size, 1);
  });

  it('allows ten failures a minute for one name, and then refuses right passwords too', async (t) => {
    const service = await startService(t);
    await userWithPassword(service, 'grace', 'operator');
    for (let at = 0; at < 10; at += 1) {
      assert.equal((await signIn(service.url, { userName: 'grace', password: `guess ${at}` })).status, 401);
    }
    const right = await signIn(service.url, { userName: 'grace', password: PASSWORD });
    assert.equal(right.status, 429);
    assert.match(right.headers.get('retry-after') ?? '', /^\d+$/);
    assert.equal(sessionIn(right), null);
    service.advance(61_000);
    assert.equal((await signIn(service.url, { userName: 'grace', password: PASSWORD })).status, 303);
  });

  it('goes on only to a page of this site', async (t) => {
    const service = await startService(t);
    await userWithPassword(service, 'grace', 'operator');
    const targets: readonly [next: string, to: string][] = [
      ['/audit?action=user.create', '/audit?action=user.create'],
      ['//evil.example', '/'],
      ['/\\evil.example', '/'],
      ['https://evil.example/', '/'],
      ['javascript:alert(1)', '/'],
      ['/\t/evil.example', '/'],
      ['', '/'],
    ];
    for (const [next, to] of targets) {
      const reply = await signIn(service.url, { userName: 'grace', password: PASSWORD, next });
      assert.equal(reply.headers.get('location'), to, next);
    }
  });

  it('accepts its form only with the cookie that came with it', async (t) => {
    const service = await startService(t);
    await userWithPassword(service, 'grace', 'operator');
    const fields = { userName: 'grace', password: PASSWORD };
    const without = await request(`${service.url}/sign-in`, {
      form: { ...fields, formToken: formToken('A'.repeat(43)) },
    });
    assert.equal(without.status, 403);
    assert.match(without.text, /did not send the session cookie/);
    const other = `${VISITOR_COOKIE}=${'B'.repeat(43)}`;
    const forged = await request(`${service.url}/sign-in`, {
      form: { ...fields, formToken: formToken('A'.repeat(43)) },
      headers: { cookie: other },
    });
    assert.equal(forged.status, 403);
    assert.equal(sessionIn(forged), null);
  });

  it('gives a cookie of its own in place of one that it cannot have given', async (t) => {
    const { url } = await startService(t);
    const own = 'A-_9'.repeat(11).slice(1);
    assert.equal(own.length, 43);
    for (const cookie of [own.slice(1), `${own}A`, own.repeat(200), `${own.slice(1)}=`, `${own.slice(1)}%`]) {
      const headers = { cookie: `${VISITOR_COOKIE}=${cookie}` };
      const page = await request(`${url}/sign-in`, { headers });
      assert.match(page.headers.get('set-cookie') ?? '', new RegExp(`^${VISITOR_COOKIE}=[A-Za-z0-9_-]{43};`));
      const posted = await request(`${url}/sign-in/passkey/options`, {
        form: { formToken: formToken(cookie) },
        headers: { ...headers, host: 'localhost' },
      });
      assert.equal(posted.status, 403);
    }
    const kept = await request(`${url}/sign-in`, { headers: { cookie: `${VISITOR_COOKIE}=${own}` } });
    assert.equal(kept.headers.get('set-cookie'), null);
  });

  it('with a passkey is never held back by what others behind the same address try', async (t) => {
    const service = await startService(t);
    const ask = (path: string, visitor: number, fields: Record<string, string> = {}): Promise<PortalReply> => {
      const cookie = String(visitor).padStart(43, 'A');
      return request(`${service.url}/sign-in/passkey${path}`, {
        form: { ...fields, formToken: formToken(cookie) },
        headers: { cookie: `${VISITOR_COOKIE}=${cookie}`, host: 'localhost' },
      });
    };
    for (let visitor = 0; visitor < 110; visitor += 1) {
      assert.equal((await ask('/options', visitor)).status, 200);
      assert.equal((await ask('', visitor, { response: '{}' })).status, 401);
    }
  });

  it('is not offered over plain HTTP from elsewhere, where the browser would keep no cookie', async (t) => {
    const service = await startService(t);
    const asked = async (headers: Record<string, string>): Promise<string> =>
      (await request(`${service.url}/sign-in`, { headers })).text;
    const insecure = await asked({ host: 'edge.example' });
    assert.match(insecure, /Signing in needs HTTPS/);
    assert.doesNotMatch(insecure, /<input[^>]*type="password"/);
    // Browsers say where they come from at addresses alone that they trust.
    assert.doesNotMatch(await asked({ host: 'edge.example', 'sec-fetch-site': 'none' }), /needs HTTPS/);
    for (const host of ['localhost:8080', '127.0.0.1', '[::1]:1', 'portal.localhost']) {
      assert.match(await asked({ host }), /<input[^>]*type="password"/, host);
    }
  });
});

describe("changing one's own password", () => {
  it('takes the current one, ends the other sessions, and keeps this one', async (t) => {
    const service = await startService(t);
    await userWithPassword(service, 'grace', 'viewer');
    const [mine = '', other = ''] = await Promise.all(
      [1, 2].map(async () => sessionIn(await signIn(service.url, { userName: 'grace', password: PASSWORD })) ?? ''),
    );
    const change = (form: Record<string, string>): Promise<PortalReply> =>
      request(`${service.url}/account/password`, { token: mine, form });
    const next = 'a new one for the spring';
    const refused: readonly [Record<string, string>, RegExp][] = [
      [{ currentPassword: 'wrong', password: next, passwordAgain: next }, /Current password is wrong/],
      [{ currentPassword: PASSWORD, password: 'short', passwordAgain: 'short' }, /New password must have at least 12/],
      [{ currentPassword: PASSWORD, password: next, passwordAgain: `${next}r` }, /Password again does not match/],
    ];
    for (const [form, says] of refused) {
      const reply = await change(form);
      assert.equal(reply.status, 400);
      assert.match(reply.text, says);
      assert.ok(!reply.text.includes(next) && !reply.text.includes(PASSWORD));
    }
    assert.equal(await isSignedIn(service, other), true);
    assert.equal((await change({ currentPassword: PASSWORD, password: next, passwordAgain: next })).status, 303);
    assert.equal(await isSignedIn(service, mine), true);
    assert.equal(await isSignedIn(service, other), false);
    assert.equal((await signIn(service.url, { userName: 'grace', password: PASSWORD })).status, 401);
    assert.equal((await signIn(service.url, { userName: 'grace', password: next })).status, 303);
  });

  it('is not tried without end', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'viewer');
    const statuses: number[] = [];
    for (let at = 0; at < 11; at += 1) {
      const form = { currentPassword: `guess ${at}`, password: PASSWORD, passwordAgain: PASSWORD };
      statuses.push((await request(`${service.url}/account/password`, { token, form })).status);
    }
    assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 400), 429]);
  });

  it('is changed by one user while many others guess theirs', async (t) => {
    const service = await startService(t);
    // Longer than any password: it is wrong without the half second that it takes to hash one.
    const form = { currentPassword: 'x'.repeat(PASSWORD_MAX_LENGTH + 1), password: PASSWORD, passwordAgain: PASSWORD };
    const change = (token: string) => request(`${service.url}/account/password`, { token, form });
    for (let user = 0; user < NETWORK_FAILURES_MAX / CLIENT_FAILURES_MAX; user += 1) {
      const { token } = await newSession(service, 'viewer');
      for (let at = 0; at < CLIENT_FAILURES_MAX; at += 1) assert.equal((await change(token)).status, 400);
      assert.equal((await change(token)).status, 429);
    }
    assert.equal((await change((await newSession(service, 'viewer')).token)).status, 400);
  });
});
