/** An invitation's whole way: made through the API or by the command, opened, used, and refused ever after. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { verifyPassword } from '../../src/access/password.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { type ApiClient, refusalOf, succeeded, tokenFor } from '../support/client.ts';
import { sallyportJson } from '../support/command.ts';
import { type Service, type ServiceInProcess, startService } from '../support/service.ts';

const PASSWORD = 'seventeen badgers at dawn';
const HOUR_MS = 3_600_000;

type Invited = {
  readonly service: ServiceInProcess;
  readonly admin: ApiClient;
  readonly user: string;
  readonly url: string;
  readonly token: string;
};

async function invite(t: TestContext, userName = 'grace'): Promise<Invited> {
  const service = await startService(t);
  const { admin } = service;
  const { id: user } = await succeeded<{ id: string }>(admin.post('users', { userName, role: 'operator' }));
  const { url } = await succeeded<{ url: string }>(admin.post(`users/${user}/invite`));
  return { service, admin, user, url, token: url.split('/').at(-1) ?? '' };
}

type Page = { readonly status: number; readonly headers: Headers; readonly text: string };

async function open(url: string, init: RequestInit = {}): Promise<Page> {
  const response = await fetch(url, { redirect: 'error', ...init });
  const text = await response.text();
  assert.equal(response.headers.get('content-type'), 'text/html;charset=UTF-8', text);
  return { status: response.status, headers: response.headers, text };
}

function choose(url: string, password: string, passwordAgain = password): Promise<Page> {
  return open(url, { method: 'POST', body: new URLSearchParams({ password, passwordAgain }) });
}

/** The hash that is stored, read behind the service. */
async function storedHash({ dataDir }: Service, user: string): Promise<string | null> {
  const database = openSqlite(`${dataDir}/sallyport.db`);
  try {
    const row = database.connection.prepare('SELECT password_hash AS hash FROM user_account WHERE id = ?').get(user);
    return (row as { hash: string | null }).hash;
  } finally {
    await database.close();
  }
}

/** The one page for everything that cannot be used, or null for another. */
function isUnusable({ status, text }: Page): boolean {
  return status === 404 && text.includes('<h1>This link cannot be used</h1>');
}

describe('an invitation', () => {
  it('is made through the API, opened, and sets the password once', async (t) => {
    const { service, admin, user, url, token } = await invite(t);
    assert.ok(url.startsWith(`${service.url}/invitations/spi_`));

    const page = await open(url);
    assert.equal(page.status, 200);
    assert.match(page.text, /<input id="user" value="grace" autocomplete="username" readonly>/);
    assert.match(page.text, /<form method="post">/);
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

  it('says until when it is good, and is refused after that', async (t) => {
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

  it('takes the scope and the permission, and a user who is there and active', async (t) => {
    const { service, admin, user } = await invite(t);
    const viewer = admin.as(await tokenFor(service.url, service.credentials, 'users:view'));
    assert.equal((await refusalOf(viewer.post(`users/${user}/invite`), 401)).code, 'insufficient_scope');
    assert.equal((await refusalOf(admin.as(null).post(`users/${user}/invite`), 401)).code, 'unauthorized');
    assert.equal((await refusalOf(admin.post('users/nobody/invite'), 404)).code, 'not_found');
    assert.equal((await refusalOf(admin.post(`users/${user}/invite`, { for: 'ever' }), 400)).code, 'validation_failed');
    await succeeded(admin.patch(`users/${user}`, { active: false }));
    assert.equal((await refusalOf(admin.post(`users/${user}/invite`), 409)).code, 'invalid_state');
  });

  it('is refused once its user is switched off', async (t) => {
    const { service, admin, user, url } = await invite(t);
    await succeeded(admin.patch(`users/${user}`, { active: false }));
    assert.ok(isUnusable(await open(url)));
    assert.ok(isUnusable(await choose(url, PASSWORD)));
    assert.equal(await storedHash(service, user), null);
  });

  it('gives one and the same page for what is wrong, used or gone', async (t) => {
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

  it('shows beside the field what is wrong with a password, and stays good', async (t) => {
    const { service, user, url } = await invite(t);
    const tries: readonly [password: string, again: string, field: string, problem: string][] = [
      ['too short', 'too short', 'password', 'Password: must have at least 12 characters.'],
      ['x'.repeat(201), 'x'.repeat(201), 'password', 'Password: must have at most 200 characters.'],
      ['grace-grace1', 'grace-grace1', 'password', 'Password: is one of those that are guessed first.'],
      [PASSWORD, `${PASSWORD}!`, 'passwordAgain', 'The same again: is not the same.'],
    ];
    for (const [password, again, field, problem] of tries) {
      const page = await choose(url, password, again);
      assert.equal(page.status, 400);
      assert.ok(page.text.includes(`<p class="problem" id="${field}-problem" role="alert">${problem}</p>`), page.text);
      const input = new RegExp(`<input id="${field}"[^>]*>`).exec(page.text)?.[0] ?? '';
      assert.match(input, new RegExp(`aria-describedby="[^"]*${field}-problem" aria-invalid="true"`));
      assert.doesNotMatch(page.text, /type="password"[^>]*value=/);
      assert.equal(page.text.match(/role="alert"/g)?.length, 1);
    }
    assert.equal(await storedHash(service, user), null);
    assert.equal((await choose(url, PASSWORD)).status, 200);
  });

  it('takes any characters, and as many as it says', async (t) => {
    const { service, admin, user, url } = await invite(t);
    const password = `漢字 & <"'> 🦊 ${'é;%+='.repeat(30)}`;
    assert.equal((await choose(url, password)).status, 200);
    assert.ok(await verifyPassword(password, await storedHash(service, user)));
    const { url: second } = await succeeded<{ url: string }>(admin.post(`users/${user}/invite`));
    const longest = `${'漢'.repeat(60)}${'ьйцукен вода'.repeat(11)}xyz vbn!`;
    assert.equal(longest.length, 200);
    assert.equal((await choose(second, longest)).status, 200);
    assert.ok(await verifyPassword(longest, await storedHash(service, user)));
  });

  it('sets one password of two that are posted at the same time', async (t) => {
    const { service, user, url } = await invite(t);
    const tried = ['the first of two passwords', 'the other of two passwords'];
    const pages = await Promise.all(tried.map((password) => choose(url, password)));
    assert.deepEqual(pages.map(({ status }) => status).sort(), [200, 404]);
    const won = tried[pages.findIndex(({ status }) => status === 200)] ?? '';
    assert.ok(await verifyPassword(won, await storedHash(service, user)));
  });

  it('refuses forms that are not its own as a page too, and sets nothing', async (t) => {
    const { service, user, url } = await invite(t);
    const form = 'application/x-www-form-urlencoded';
    const bodies: readonly [type: string, body: string, status: number][] = [
      [form, '', 400],
      [form, `password=${PASSWORD}`, 400],
      [form, `password=${PASSWORD}&password=${PASSWORD}&passwordAgain=${PASSWORD}`, 400],
      [form, `password=${PASSWORD}&passwordAgain=${PASSWORD}&role=administrator`, 400],
      [form, `password=%ff${PASSWORD}&passwordAgain=%ff${PASSWORD}`, 400],
      [form, `password=${'x'.repeat(9000)}`, 413],
      ['application/json', JSON.stringify({ password: PASSWORD, passwordAgain: PASSWORD }), 415],
      ['text/plain', `password=${PASSWORD}&passwordAgain=${PASSWORD}`, 415],
    ];
    for (const [type, body, status] of bodies) {
      const page = await open(url, { method: 'POST', headers: { 'Content-Type': type }, body });
      assert.equal(page.status, status, body.slice(0, 60));
    }
    assert.equal(await storedHash(service, user), null);
    assert.equal((await open(url)).status, 200);
  });

  it('escapes the user’s name', async (t) => {
    const { url } = await invite(t, `"><script>alert('1')</script>`);
    const { text } = await open(url);
    assert.ok(text.includes('value="&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"'), text);
    assert.doesNotMatch(text, /<script/);
  });

  it('is on a page that runs nothing, loads nothing, is framed nowhere, and sends its address to nobody', async (t) => {
    const { url } = await invite(t);
    for (const page of [await open(url), await choose(url, 'short'), await choose(url, PASSWORD), await open(url)]) {
      const { headers, text } = page;
      const style = /<style>([\s\S]*?)<\/style>/.exec(text)?.[1] ?? '';
      const digest = createHash('sha256').update(style).digest('base64');
      assert.equal(
        headers.get('content-security-policy'),
        `default-src 'none'; style-src 'sha256-${digest}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
      );
      assert.equal(headers.get('referrer-policy'), 'no-referrer');
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('x-frame-options'), 'DENY');
      assert.equal(headers.get('set-cookie'), null);
      assert.doesNotMatch(text, /<script|<img|<link|<iframe|\son\w+=|style="|https?:/i);
      assert.match(text, /<html lang="en">/);
      assert.match(text, /prefers-color-scheme: dark/);
      for (const [, id] of text.matchAll(/<label for="(\w+)"/g)) assert.ok(text.includes(`<input id="${id}"`), id);
    }
  });

  it('leaves its token and the password in no log line, whatever is asked of it', async (t) => {
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

  it('is throttled: ten wrong tries of one link, a hundred of any, and the neighbours of the first stay welcome', async (t) => {
    const { service, url } = await invite(t);
    const wrong = `${service.url}/invitations/spi_wrong`;
    for (let time = 0; time < 10; time += 1) assert.equal((await open(wrong)).status, 404);
    const blocked = await open(wrong);
    assert.equal(blocked.status, 429);
    assert.match(blocked.headers.get('retry-after') ?? '', /^\d+$/);
    assert.match(blocked.text, /<h1>Too many tries<\/h1>/);
    assert.equal((await open(url)).status, 200);

    for (let time = 0; time < 90; time += 1) assert.equal((await open(`${wrong}-${time}`)).status, 404);
    assert.equal((await open(url)).status, 429);
    assert.equal((await choose(url, PASSWORD)).status, 429);
    service.advance(61_000);
    assert.equal((await choose(url, PASSWORD)).status, 200);
  });

  it('is printed by the command, for a user by name, at the address of the server beside it', async (t) => {
    const { service, user } = await invite(t);
    const env = { SALLYPORT_DATA: service.dataDir, SALLYPORT_PUBLIC_URL: service.url };
    const made = await sallyportJson<{ url: string; expiresAt: string }>(['user', 'invite', 'grace'], { env });
    assert.deepEqual(Object.keys(made), ['url', 'expiresAt']);
    assert.equal((await open(made.url)).status, 200);
    const again = await sallyportJson<{ url: string }>(['user', 'invite', user], {
      env: { SALLYPORT_DATA: service.dataDir, SALLYPORT_HOST: '0.0.0.0', SALLYPORT_PORT: '8443' },
    });
    assert.match(again.url, /^http:\/\/localhost:8443\/invitations\/spi_/);
    assert.ok(isUnusable(await open(made.url)));
    const invitation = again.url.replace('http://localhost:8443', service.url);
    assert.equal((await choose(invitation, PASSWORD)).status, 200);
    assert.ok(await verifyPassword(PASSWORD, await storedHash(service, user)));
  });
});
