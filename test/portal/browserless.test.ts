/** The visitor without a browser, by whom many tests of pages read: it does what a browser without JavaScript does. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { plainVisitor } from '../support/browserless/visitor.ts';
import { cleanUp } from '../support/cleanup.ts';

type Received = { readonly method: string; readonly url: string; readonly cookie: string; readonly body: string };

/** Serves each page at its path. `/go` sets a cookie and leads to `/end`. */
async function serve(t: TestContext, pages: Readonly<Record<string, string>>) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    let body = '';
    for await (const piece of request.setEncoding('utf8')) body += piece as string;
    received.push({ method, url, cookie: headers.cookie ?? '', body });
    const page = pages[url.replace(/\?.*/, '')];
    if (url === '/go')
      response.writeHead(303, { location: '/end', 'set-cookie': ['a=1; Path=/', 'b=; Max-Age=0'] }).end();
    else response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html' }).end(page ?? '<p>none</p>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(t, () => void server.close().closeAllConnections());
  return { received, base: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const FORM = `<!doctype html><html lang="en"><head><title>A &amp; B</title></head><body><main>
<h1>Shop</h1><p hidden>Never</p><p>One<br>two <b>three</b></p>
<form method="post" action="/go">
<input type="hidden" name="token" value="t&quot;1">
<label for="name">Name <span>optional</span></label><input id="name" name="name" value="old">
<textarea name="text" aria-label="Text">
first
second</textarea>
<fieldset><legend>Size</legend>
<input type="radio" name="size" id="s" value="s" checked><label for="s">Small</label>
<input type="radio" name="size" id="l" value="l"><label for="l">Large</label></fieldset>
<label><input type="checkbox" name="tick"> Tick</label>
<input name="off" value="x" disabled>
<select name="kind" aria-label="Kind"><option value="">Any</option><option value="1">First</option></select>
<details><summary>More</summary><input name="more" aria-label="Further"></details>
<button name="which" value="send">Send</button><button formaction="/end" formmethod="get">Look</button>
</form>
<table><caption>Orders</caption>
<tr><th scope="row"><a href="/end">Nine</a><span>to Acme</span></th><td>9</td></tr></table>
</main></body></html>`;

describe('a visitor without a browser', () => {
  it('fills in a form and sends what a browser sends, with cookies and through redirects', async (t) => {
    const { base, received } = await serve(t, { '/': FORM, '/end': '<h1>The end</h1>' });
    const { page, open, context } = plainVisitor(base, []);
    await context.addCookies([{ name: 'b', value: '2' }]);
    assert.equal(await open('/'), 200);
    assert.equal(await page.title(), 'A & B');
    await page.getByLabel('Name').fill('new é');
    await page.getByRole('radio', { name: 'Large' }).check();
    await page.getByText('Tick').click();
    await page.getByRole('combobox', { name: 'Kind' }).selectOption('First');
    await assert.rejects(page.getByLabel('Further').fill('x'), /hidden/);
    await page.getByText('More').click();
    await page.getByLabel('Further').fill('x');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('heading', { name: 'The end', level: 1 }).waitFor();
    await page.waitForURL('**/end');
    const sent = received.find(({ method }) => method === 'POST');
    assert.deepEqual(
      [...new URLSearchParams(sent?.body)],
      [
        ['token', 't"1'],
        ['name', 'new é'],
        ['text', 'first\r\nsecond'],
        ['size', 'l'],
        ['tick', 'on'],
        ['kind', '1'],
        ['more', 'x'],
        ['which', 'send'],
      ],
    );
    assert.deepEqual([sent?.cookie, received.at(-1)?.cookie], ['b=2', 'a=1']);
    await page.goBack();
    await page.getByRole('button', { name: 'Look' }).click();
    assert.match(received.at(-1)?.url ?? '', /^\/end\?token=t%221&name=old&.*&more=$/);
  });

  it('finds shown elements by role, label and text, and fails unless exactly one fits', async (t) => {
    const { base } = await serve(t, { '/': FORM });
    const { page, open } = plainVisitor(base, []);
    await open('/');
    await assert.rejects(page.getByText('Never').waitFor(), /hidden/);
    await assert.rejects(page.getByText('Nothing').waitFor(), /0 elements/);
    await assert.rejects(page.getByRole('radio').click(), /2 elements/);
    await assert.rejects(page.getByLabel('Name').waitFor({ state: 'detached' }));
    assert.equal(await page.getByText('Never').count(), 1);
    assert.equal(await page.locator('p', { hasText: 'three' }).innerText(), 'One\ntwo three');
    assert.equal(await page.getByRole('group', { name: 'Size' }).locator('input:checked').inputValue(), 's');
    const row = page.getByRole('table', { name: 'Orders' }).getByRole('row', { name: /^Nine to Acme 9$/ });
    assert.equal((await row.innerText()).replace(/\s+/g, ' '), 'Nine to Acme 9');
    assert.equal(await row.filter({ has: page.locator('td:not([class])') }).count(), 1);
    assert.equal(await page.locator('main > form > details > input[name^="mo"], h1').count(), 2);
    assert.deepEqual(await page.locator('option').allInnerTexts(), ['Any', 'First']);
  });

  it('notes failed pages that were not expected, and markup that would run', async (t) => {
    const running =
      '<p onclick="go()">a</p><script>go()</script><a href="javascript:go()">b</a><script src="/a.js"></script>';
    const { base } = await serve(t, { '/': `<main>${running}</main>` });
    const { open, problems } = plainVisitor(base, [400]);
    assert.equal(await open('/nothing'), 404);
    await open('/');
    assert.equal(problems.length, 4, problems.join('\n'));
    const { base: broken } = await serve(t, { '/': '<main><p>a</main>' });
    await assert.rejects(plainVisitor(broken, []).open('/'), /not open/);
  });
});
