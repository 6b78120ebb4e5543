/** The documentation in the portal. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lexer } from 'marked';
import { documentFiles } from '../../src/kernel/assets.ts';
import { createLibrary } from '../../src/portal/documentation/library.ts';
import { markdown, sectionsOf } from '../../src/portal/parts/markdown.ts';
import { startPortal } from '../support/browser.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { startService } from '../support/service.ts';

describe('the documentation', () => {
  it('has every page, in which links and images lead to files of the documentation and to headings', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'viewer');
    const read = async (path: string): Promise<string> => {
      const { status, text } = await request(service.url + path, { token });
      assert.equal(status, 200, path);
      return text;
    };
    const texts = new Map<string, string>();
    for (const file of documentFiles().filter((name) => name.endsWith('.md'))) {
      texts.set(`/docs/${file}`, await read(`/docs/${file}`));
    }
    assert.ok(texts.size > 30);
    for (const [path, text] of texts) {
      assert.match(text, /<article class="doc"><h1 id=/, path);
      assert.match(text, /<title>[^<]+ – Sallyport<\/title>/, path);
      const [, article = ''] = /<article class="doc">(.*)<\/article>/s.exec(text) ?? [];
      for (const [, address = ''] of article.matchAll(/(?:href|src)="([^"]*)"/g)) {
        if (address.startsWith('http')) continue;
        const [file = '', anchor] = address.split('#');
        const target = file === '' ? path : file;
        const found = texts.get(target) ?? (await read(target));
        if (anchor !== undefined) assert.ok(found.includes(` id="${anchor}"`), `${path}: ${address}`);
      }
    }
  });

  it('shows what a page contains as text, and no markup of its own', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'viewer');
    const { text } = await request(`${service.url}/docs/contract.md`, { token });
    const [, article = ''] = /<article class="doc">(.*)<\/article>/s.exec(text) ?? [];
    const allowed =
      /^\/?(h[1-3]|p|pre|code|blockquote|ul|ol|li|table|thead|tbody|tr|th|td|div|hr|br|strong|em|a|img|button|svg|path|rect|use)$/;
    for (const [, name = ''] of article.matchAll(/<(\/?\w+)/g)) assert.match(name, allowed);
  });

  it('keeps the lines of a drawing, and no others', () => {
    const page = '```text\n│ a gate │\n```\n\n```sh\nsallyport serve --host 0.0.0.0\n```\n';
    const shown = [...markdown(lexer(page), () => null).markup.matchAll(/<pre class="([^"]*)"/g)];
    assert.deepEqual(
      shown.map(([, name]) => name),
      ['doc-drawing', ''],
    );
  });

  it('says where a page belongs and which pages are beside it, and finds pages in place of lists of them', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'viewer');
    const read = async (path: string) => (await request(service.url + path, { token })).text;
    const page = await read('/docs/how-to/create-a-webhook.md');
    assert.match(page, /<a href="\/docs#how-to-send-webhooks">How to send webhooks<\/a>/);
    assert.match(page, /href="\/docs\/how-to\/register-an-endpoint\.md" rel="prev"/);
    assert.match(page, /href="\/docs\/how-to\/deliver-in-other-formats\.md" rel="next"/);
    // The first and the last page of a group have one neighbour.
    assert.doesNotMatch(await read('/docs/how-to/register-an-endpoint.md'), /rel="prev"/);
    assert.doesNotMatch(await read('/docs/how-to/erase-personal-data.md'), /rel="next"/);
    const found = await read('/docs/search?q=rotate+secret');
    const [, results = ''] = /<ol class="doc-results">(.*?)<\/ol>/s.exec(found) ?? [];
    assert.match(results, /^\s*<li>\s*<a class="doc-result" href="\/docs\/how-to\/rotate-secrets\.md/);
    assert.doesNotMatch(results, /docs\/README\.md|Where next/);
  });

  it('is for users who are signed in, and has nothing outside of its folder', async (t) => {
    const service = await startService(t);
    const { status } = await request(`${service.url}/docs/README.md`);
    assert.equal(status, 303);
    const { token } = await newSession(service, 'viewer');
    for (const path of ['/docs/..%2fpackage.json', '/docs/%2e%2e/package.json', '/docs/nothing.md', '/docs/images']) {
      const reply = await request(service.url + path, { token });
      assert.ok([400, 404].includes(reply.status), `${path}: ${reply.status}`);
    }
    const file = `${service.url}/docs/receivers/receiver.py`;
    const example = await request(`${file}?plain`, { token });
    assert.deepEqual([example.status, example.headers.get('content-type')], [200, 'text/plain;charset=UTF-8']);
    // A program is a page of the portal, with a way back, and its file.
    const { text } = await request(file, { token });
    assert.match(text, /<title>receiver\.py – Sallyport<\/title>/);
    assert.match(text, /<a href="\/docs\/receivers\/README\.md">Receivers<\/a>/);
    assert.match(text, /href="\/docs\/receivers\/receiver\.py\?plain" download="receiver\.py"/);
    assert.ok(text.includes(example.text.split('\n').at(-2)?.trim() ?? 'a line'));
  });

  it('finds tasks before references, and cuts excerpts between words', async () => {
    const library = createLibrary();
    const first = async (words: string): Promise<string | undefined> => (await library.search(words))[0]?.file;
    assert.equal(await first('replay'), 'how-to/replay.md');
    assert.equal(await first('rotate secret'), 'how-to/rotate-secrets.md');
    assert.equal(await first('backup'), 'how-to/back-up-and-restore.md');
    for (const words of ['retry', 'retries']) assert.equal(await first(words), 'how-to/retries-and-failures.md', words);
    const cut = (await library.search('rotate secret')).filter(({ excerpt }) => / …$/.test(excerpt.markup));
    assert.ok(cut.length > 0);
    for (const { section, excerpt } of cut) {
      const shown = excerpt.markup.replaceAll(/<[^>]+>/g, '').replaceAll(/^… | …$/g, '');
      const words = new Set(section.pieces.flatMap(({ text }) => text.split(' ')));
      const [begin = '', end = ''] = [shown.split(' ').at(0), shown.split(' ').at(-1)];
      for (const word of [begin, end]) assert.ok(words.has(word) || word.includes('&'), word);
    }
  });

  it('has the text of a page in pieces that can be shown: without comments, and code by its lines', () => {
    const page = [
      '# Keys\n\n<!-- a comment about keys -->\n\n',
      'Nothing here. A **master key** encrypts secrets<br>in the `database`.\n\n```sh\nexport A=1\nset-key --now\n```\n\n',
      '- Rotate the key\n\n  once a year.\n- Then restart.\n\n| Setting | Meaning |\n| --- | --- |\n| `KEY` | The key. |\n',
    ].join('');
    const [section] = sectionsOf(lexer(page));
    assert.deepEqual(
      section?.pieces.map(({ kind, text }) => `${kind}: ${text}`),
      [
        'prose: Nothing here. A master key encrypts secrets in the database.',
        'code: export A=1',
        'code: set-key --now',
        'prose: Rotate the key',
        'prose: once a year.',
        'prose: Then restart.',
        'row: KEY – The key.',
      ],
    );
  });

  it('is read and searched in a browser', async (t) => {
    const portal = await startPortal(t);
    const { page, open, isAccessible } = await portal.signIn('viewer');
    await open('/');
    await page.getByRole('link', { name: 'Documentation' }).click();
    await page.waitForURL('**/docs');
    await isAccessible();
    await page.getByRole('searchbox', { name: 'Search the documentation' }).fill('rotate secret');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs/search?q=rotate+secret');
    await isAccessible();
    await page.locator('.doc-results a').first().click();
    await page.waitForURL('**/docs/**.md**');
    assert.match(await page.getByRole('article').innerText(), /rotat/i);
    await open('/docs/how-to/publish-events.md');
    await page.getByRole('navigation', { name: 'On this page' }).getByRole('link', { name: 'The fields' }).click();
    assert.equal(new URL(page.url()).hash, '#the-fields');
    await page.locator('.doc-contents a[aria-current=location]').getByText('The fields').waitFor();
    assert.equal(await page.locator('.doc-contents a[aria-current]').count(), 1);
    await page.getByRole('button', { name: 'Copy the code' }).first().click();
    await page.locator('.copy.copied').or(page.locator('body')).first().waitFor();
    await open('/docs/search?q=%3Cscript%3Enothing');
    await page.getByText('Nothing found').waitFor();
  });
});
