/** Tests an invitation from its creation by the API or the command to its use, after which it is refused. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { verifyPassword } from '../../src/access/password.ts';
import { refusalOf, succeeded, tokenFor } from '../support/client.ts';
import { sallyportJson } from '../support/command.ts';
import { choose, invite, isUnusable, open, PASSWORD, storedHash } from '../support/invitations.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { onSqlite } from '../support/store.ts';

repeatsInSlowTier('postgres');

const HOUR_MS = 3_600_000;

describe('an invitation', () => {
  it('is created by the API, opened, and sets the password once', async (t) => {
    const { service, admin, user, url, token } = await invite(t);
    assert.ok(url.startsWith(`${service.url}/invitations/spi_`));

    const page = await open(url);
    assert.equal(page.status, 200);
    assert.match(page.text, /<input id="user" value="grace" autocomplete="username" readonly>/);
    assert.match(page.text, /<form method="post" class="form">/);
    assert.ok(!page.text.includes(token));

    const done = await choose(url, PASSWORD);
    assert.equal(done.status, 200, done.text);
    assert.match(done.text, /<h1>Your password is set<\/h1>/);
    assert.ok(!done.text.includes(PASSWORD));
    assert.ok(await verifyPassword(PASSWORD, await storedHash(service, user)));

    assert.ok(isUnusable(await open(url)));
    assert.ok(isUnusable(await choose(url, 'another one of mine')));
    assert.ok(await verifyPassword(PASSWORD, await storedHash(service, user)));
    const shown = await succeeded<Record<string, unknown>>(admin.get(`users/${user}`));
    assert.ok(!('passwordHash' in shown));
  });

  it('has an expiry, and is refused after that', async (t) => {
    const { service, admin, user, url: first } = await invite(t);
    const asked = service.clock();
    const reply = await admin.post<{ url: string; expiresAt: string }>(`users/${user}/invite`);
    assert.equal(reply.status, 201);
    assert.ok(Math.abs(Date.parse(reply.body.expiresAt) - asked - 72 * HOUR_MS) < HOUR_MS);
    assert.ok(isUnusable(await open(first)));
    service.advance(71 * HOUR_MS);
    assert.equal((await open(reply.body.url)).status, 200);
    service.advance(2 * HOUR_MS);
    assert.ok(isUnusable(await open(reply.body.url)));
    assert.ok(isUnusable(await choose(reply.body.url, PASSWORD)));
    assert.equal(await storedHash(service, user), null);
  });

  it('needs the scope, the permission, and an active user', async (t) => {
    const { service, admin, user } = await invite(t);
    const viewer = admin.as(await tokenFor(service.url, service.credentials, 'users:view'));
    assert.equal((await refusalOf(viewer.post(`users/${user}/invite`), 401)).code, 'insufficient_scope');
    assert.equal((await refusalOf(admin.as(null).post(`users/${user}/invite`), 401)).code, 'unauthorized');
    assert.equal((await refusalOf(admin.post('users/nobody/invite'), 404)).code, 'not_found');
    assert.equal((await refusalOf(admin.post(`users/${user}/invite`, { for: 'ever' }), 400)).code, 'validation_failed');
    await succeeded(admin.patch(`users/${user}`, { active: false }));
    assert.equal((await refusalOf(admin.post(`users/${user}/invite`), 409)).code, 'invalid_state');
  });

  it('is refused once its user is inactive', async (t) => {
    const { service, admin, user, url } = await invite(t);
    await succeeded(admin.patch(`users/${user}`, { active: false }));
    assert.ok(isUnusable(await open(url)));
    assert.ok(isUnusable(await choose(url, PASSWORD)));
    assert.equal(await storedHash(service, user), null);
  });

  it('shows the same page if it is invalid, used or expired', async (t) => {
    const { service, admin, user, url: used } = await invite(t);
    await choose(used, PASSWORD);
    const { url: replaced } = await succeeded<{ url: string }>(admin.post(`users/${user}/invite`));
    const { url: gone } = await succeeded<{ url: string }>(admin.post(`users/${user}/invite`));
    const before = await open(gone);
    assert.equal(before.status, 200);
    await succeeded(admin.delete(`users/${user}`));
    const wrong = [
      used,
      replaced,
      gone,
      `${service.url}/invitations/spi_x`,
      `${service.url}/invitations/anything`,
      `${gone}?a=b`,
    ];
    const pages = await Promise.all(wrong.map((url) => open(url)));
    const [first, ...others] = pages.slice(0, -1).map(({ status, text }) => ({ status, text }));
    assert.equal(first?.status, 404);
    for (const other of others) assert.deepEqual(other, first);
    assert.equal(pages.at(-1)?.status, 400);
  });

  it('sets only one of two passwords that are posted at the same time', async (t) => {
    const { service, user, url } = await invite(t);
    const tried = ['the first of two passwords', 'the other of two passwords'];
    const pages = await Promise.all(tried.map((password) => choose(url, password)));
    assert.deepEqual(pages.map(({ status }) => status).sort(), [200, 404]);
    const won = tried[pages.findIndex(({ status }) => status === 200)] ?? '';
    assert.ok(await verifyPassword(won, await storedHash(service, user)));
  });

  it('never logs its token or the password', async (t) => {
    const { service, admin, user, url, token } = await invite(t);
    const { log } = service;
    await open(url);
    await choose(url, 'short');
    await choose(url, PASSWORD);
    await open(url);
    for (const path of [
      `/invitations/${token}/more`,
      `//invitations/${token}`,
      `/invitations/${token};x`,
      `/x/${token}`,
    ]) {
      assert.ok((await fetch(service.url + path)).status >= 400);
    }
    assert.equal((await fetch(url, { method: 'PUT' })).status, 405);
    await admin.get(`users/${user}`);
    await log.line((line) => line.msg === 'request' && line.path === `/services/api/x/edge/v1/users/${user}`);
    assert.ok(log.lines().some((line) => line.path === '/invitations/[secret]' && line.status === 200));
    for (const secret of [token, token.slice(4), PASSWORD]) assert.ok(!log.text().includes(secret), secret);
  });

  onSqlite(
    'is printed by the command for a user’s name, with the address of the running server whatever the settings say',
    async (t) => {
      const { service, user } = await invite(t);
      const env = { SALLYPORT_DATA: service.dataDir, SALLYPORT_PUBLIC_URL: service.url };
      const made = await sallyportJson<{ url: string; expiresAt: string }>(['user', 'invite', 'grace'], { env });
      assert.deepEqual(Object.keys(made), ['url', 'expiresAt']);
      assert.equal((await open(made.url)).status, 200);
      const again = await sallyportJson<{ url: string }>(['user', 'invite', user], {
        env: { SALLYPORT_DATA: service.dataDir, SALLYPORT_HOST: '0.0.0.0', SALLYPORT_PORT: '8443' },
      });
      assert.ok(again.url.startsWith(`${service.url}/invitations/spi_`), again.url);
      assert.ok(isUnusable(await open(made.url)));
      assert.equal((await choose(again.url, PASSWORD)).status, 200);
      assert.ok(await verifyPassword(PASSWORD, await storedHash(service, user)));
    },
  );
});
