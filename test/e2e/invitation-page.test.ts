/** Tests the page where an invited user sets a password. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { verifyPassword } from '../../src/access/password.ts';
import { succeeded } from '../support/client.ts';
import { choose, invite, open, PASSWORD, storedHash } from '../support/invitations.ts';

describe('the page of an invitation', () => {
  it('shows the problem of a password next to the field, and stays valid', async (t) => {
    const { service, user, url } = await invite(t);
    const tries: readonly [password: string, again: string, field: string, problem: string][] = [
      ['too short', 'too short', 'password', 'Password must have at least 12 characters.'],
      ['x'.repeat(201), 'x'.repeat(201), 'password', 'Password must have at most 200 characters.'],
      ['grace-grace1', 'grace-grace1', 'password', 'Password is too easy to guess: choose another one.'],
      [PASSWORD, `${PASSWORD}!`, 'passwordAgain', 'Password again does not match.'],
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

  it('accepts any characters, up to the length that it shows', async (t) => {
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

  it('refuses forms of other origins with a page, and sets nothing', async (t) => {
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

  it('runs no script, loads only its stylesheet, cannot be framed, and sends no referrer', async (t) => {
    const { url } = await invite(t);
    for (const page of [await open(url), await choose(url, 'short'), await choose(url, PASSWORD), await open(url)]) {
      const { headers, text } = page;
      assert.equal(
        headers.get('content-security-policy'),
        // The logo of the customers' portal is a data URL.
        "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      );
      assert.equal(headers.get('referrer-policy'), 'no-referrer');
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('x-frame-options'), 'DENY');
      assert.equal(headers.get('set-cookie'), null);
      assert.doesNotMatch(text, /<script|<style|<img|<iframe|\son\w+=|style="|https?:/i);
      assert.match(text, /<html lang="en">/);
      const links = [...text.matchAll(/<link [^>]*>/g)].map(([link]) => link);
      assert.match(links.join(), /^<link rel="stylesheet" href="\/assets\/[0-9a-f]{16}\/portal\.css">$/);
      for (const [, id] of text.matchAll(/<label for="(\w+)"/g)) assert.ok(text.includes(`<input id="${id}"`), id);
    }
  });
});
