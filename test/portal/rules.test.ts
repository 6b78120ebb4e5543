/** The small rules of the portal, by table. */

import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, it } from 'node:test';
import { TLSSocket } from 'node:tls';
import { Refusal, refuseField } from '../../src/kernel/refusal.ts';
import { readResourceLinks, resourceId, resourceLink } from '../../src/portal/audit/entries.ts';
import {
  addressFor,
  browserName,
  isPlainLoopback,
  isTrustworthy,
  requestOrigin,
} from '../../src/portal/frame/browser.ts';
import { ownPath } from '../../src/portal/frame/call.ts';
import {
  clearCookie,
  createCookies,
  readCookie,
  readFlash,
  setCookie,
  writeFlash,
} from '../../src/portal/frame/cookies.ts';
import { forgeryProblem, formToken, seal, unseal } from '../../src/portal/frame/forgery.ts';
import { accepts } from '../../src/portal/frame/headers.ts';
import { navigationOf, sectionOf, tabsButton } from '../../src/portal/frame/navigation.ts';
import { readChoice, readInstant, readText } from '../../src/portal/frame/query.ts';
import { differences } from '../../src/portal/parts/differences.ts';
import { newForm, refusedForm } from '../../src/portal/parts/fields.ts';
import { pager, withQuery } from '../../src/portal/parts/list.ts';
import { briefTime, relativeText, relativeTime, spanText, time } from '../../src/portal/parts/text.ts';
import { makeUser, openTestServices } from '../support/services.ts';

type Headers = Readonly<Record<string, string>>;
const asked = (headers: Headers, socket: unknown = {}): IncomingMessage =>
  ({ headers, socket }) as unknown as IncomingMessage;

describe('a cookie', () => {
  const table: readonly [header: string | undefined, value: string | null][] = [
    [undefined, null],
    ['', null],
    ['a=1', '1'],
    ['b=2; a=1', '1'],
    ['aa=2;a=1', '1'],
    ['a=1; a=2', '1'],
    ['a', null],
    ['a=x=y', 'x=y'],
    [' a = 1 ', '1'],
  ];
  for (const [cookie, value] of table) {
    it(`a of ${JSON.stringify(cookie)} is ${value}`, () =>
      assert.equal(readCookie({ headers: { cookie } }, 'a'), value));
  }
});

describe('the cookies of the portal', () => {
  const { of, placed } = createCookies(() => null);
  const host = 'localhost:8080';
  const set = [setCookie('a', '1'), clearCookie('b')];
  const strong = [
    '__Host-a=1; Path=/; Secure; HttpOnly; SameSite=Lax',
    '__Host-b=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Lax',
  ];
  const plain = ['a=1; Path=/; HttpOnly; SameSite=Lax', 'b=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax'];

  it('are protected, but not over plain HTTP on a loopback address', () => {
    assert.deepEqual(placed(set, asked({ host: 'edge.example' }), false), strong);
    for (const headers of [{ host }, { host, origin: 'http://localhost:8080' }])
      assert.deepEqual(placed(set, asked(headers), false), plain);
    assert.deepEqual(placed(set, asked({ host, origin: 'https://edge.example' }), false), strong);
    // A browser keeps the cookies of a frame on another site only with these.
    assert.deepEqual(
      placed(set, asked({ host }), true),
      strong.map((cookie) => cookie.replace('SameSite=Lax', 'SameSite=None; Secure; Partitioned')),
    );
  });

  it('count without protection only on a loopback address, and replace those of the other kind', () => {
    assert.equal(of(asked({ host: 'edge.example', cookie: 'a=planted' }))('a'), null);
    assert.equal(of(asked({ host: 'edge.example', cookie: 'a=planted; __Host-a=1' }))('a'), '1');
    assert.equal(of(asked({ host, cookie: 'a=1' }))('a'), '1');
    assert.equal(of(asked({ host, cookie: '__Host-a=1' }))('a'), '1');
    const [first = ''] = set;
    assert.deepEqual(placed([first], asked({ host, cookie: '__Host-a=0' }), false), [
      plain[0],
      '__Host-a=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Lax',
    ]);
    assert.deepEqual(placed([first], asked({ host: 'edge.example', cookie: 'a=0' }), false), [
      strong[0],
      'a=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
    ]);
  });
});

describe('a form token', () => {
  it('is another text each time, and holds only for its own cookie', () => {
    const [one, other] = [formToken('cookie'), formToken('cookie')];
    assert.notEqual(one, other);
    for (const token of [one, other]) assert.equal(forgeryProblem(asked({}), token, 'cookie', null), null);
    for (const token of [null, '', 'x', one.slice(1), `${one}AAAA`, formToken('other')]) {
      assert.equal(forgeryProblem(asked({}), token, 'cookie', null), 'the form is out of date');
    }
  });

  it('is taken from the host that was asked, or the one that clients see', () => {
    const token = formToken('c');
    const table: readonly [headers: Headers, publicHost: string | null, isOwn: boolean][] = [
      [{ host: 'edge.example', origin: 'https://edge.example' }, null, true],
      [{ host: 'EDGE.example:8080', origin: 'http://edge.example:8080' }, null, true],
      [{ host: '10.0.0.1:8080', origin: 'https://edge.example' }, 'edge.example', true],
      [{ host: '10.0.0.1:8080', origin: 'https://edge.example' }, null, false],
      [{ host: 'edge.example', origin: 'https://edge.example.evil.example' }, null, false],
      [{ host: 'edge.example', origin: 'null' }, null, false],
      [{ origin: 'https://edge.example' }, null, false],
    ];
    for (const [headers, publicHost, isOwn] of table) {
      assert.equal(forgeryProblem(asked(headers), token, 'c', publicHost) === null, isOwn, JSON.stringify(headers));
    }
  });
});

describe('a message that a redirect brings', () => {
  const sent = (text: string): string =>
    /sallyport-flash=([^;]+)/.exec(writeFlash('c', { tone: 'negative', text }))?.[1] ?? '';
  it('comes back as it was, cut where it is too long', () => {
    const read = (value: string): unknown => readFlash(value, 'c');
    assert.deepEqual(read(sent('Not  done: "ü"; a=b')), { tone: 'negative', text: 'Not  done: "ü"; a=b' });
    assert.equal((read(sent('x'.repeat(9000))) as { text: string }).text.length, 500);
    assert.equal(read('made.up'), null);
    assert.equal(readFlash(null, 'c'), null);
  });
  it('works for no other session', () => {
    assert.equal(unseal('c', seal('c', 'text')), 'text');
    assert.equal(unseal('d', seal('c', 'text')), null);
    assert.equal(unseal('c', seal('c', 'text').replace('.', 'A.')), null);
  });
});

describe('a path to go on to', () => {
  it('is one of this site, or the first page', () => {
    const table: readonly [path: string | null, to: string][] = [
      [null, '/'],
      ['', '/'],
      ['/audit?a=b', '/audit?a=b'],
      ['/a/../b', '/b'],
      ['audit', '/'],
      ['//evil.example', '/'],
      ['///evil.example', '/'],
      ['/\\evil.example', '/'],
      ['https://evil.example', '/'],
      ['/\n/evil.example', '/'],
    ];
    for (const [path, to] of table) assert.equal(ownPath(path), to, String(path));
  });
});

describe('a browser', () => {
  it('is recognised by its User-Agent', () => {
    const chrome = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0 Safari/537.36';
    const table: readonly [agent: string, name: string][] = [
      [chrome, 'Chrome on Linux'],
      [`${chrome} Edg/150`, 'Edge on Linux'],
      ['Mozilla/5.0 (Macintosh; Intel Mac OS X 15) Version/18 Safari/605', 'Safari on macOS'],
      ['Mozilla/5.0 (Android 16; Mobile) Gecko/140 Firefox/140.0', 'Firefox on Android'],
      ['Firefox/140.0', 'Firefox'],
      ['something on Windows', 'A browser on Windows'],
      ['curl/8', 'An unknown browser'],
    ];
    for (const [agent, name] of table) assert.equal(browserName(agent), name);
  });

  it('gets a secure cookie if its connection is secure', () => {
    const tls = Object.create(TLSSocket.prototype) as TLSSocket;
    const table: readonly [request: IncomingMessage, publicUrl: string | null, isSecure: boolean][] = [
      [asked({ host: 'edge.example' }), null, false],
      [asked({}), null, false],
      [asked({ host: 'edge.example' }, tls), null, true],
      [asked({ host: 'edge.example', 'sec-fetch-site': 'none' }), null, true],
      [asked({ host: 'edge.example' }), 'https://edge.example', true],
      [asked({ host: 'edge.example' }), 'http://edge.example', false],
      [asked({ host: '127.0.0.1.evil.example' }), null, false],
    ];
    for (const [request, publicUrl, isSecure] of table) assert.equal(isTrustworthy(request, publicUrl), isSecure);
    assert.equal(requestOrigin(asked({ host: 'a:1' })), 'http://a:1');
    assert.equal(requestOrigin(asked({ host: 'a:1' }, tls)), 'https://a:1');
    assert.equal(requestOrigin(asked({ host: 'a:1', origin: 'https://b' })), 'https://b');
  });

  it('gets cookies without protection only if it came over plain HTTP to a loopback address, without a proxy', () => {
    const tls = Object.create(TLSSocket.prototype) as TLSSocket;
    const local = { host: 'localhost:8080' };
    const table: readonly (readonly [request: IncomingMessage, publicUrl: string | null, isPlain: boolean])[] = [
      [asked(local), null, true],
      [asked(local), 'http://127.0.0.1:8080', true],
      [asked({ host: '127.0.0.1' }), null, true],
      [asked({ host: '127.8.9.10:80' }), null, true],
      [asked({ host: '[::1]:8080' }), null, true],
      [asked(local, tls), null, false],
      [asked({}), null, false],
      [asked(local), 'https://edge.example', false],
      [asked({ ...local, 'x-forwarded-for': '192.0.2.1' }), null, false],
      [asked({ ...local, forwarded: 'proto=https' }), null, false],
      ...[
        'edge.example',
        '10.0.0.1',
        '127.0.0.1.evil.example',
        'localhost.evil.example',
        'evil.localhost',
        '[::2]',
      ].map((host) => [asked({ host }), null, false] as const),
    ];
    for (const [request, publicUrl, isPlain] of table)
      assert.equal(isPlainLoopback(request, publicUrl), isPlain, JSON.stringify([request.headers, publicUrl]));
  });

  it('sees the address that it opened, if that is another name of this machine, and never that of a proxy', () => {
    const own = 'http://127.0.0.1:8080';
    const table: readonly (readonly [request: IncomingMessage, publicUrl: string | null, address: string | null])[] = [
      [asked({ host: 'localhost:8080' }), own, 'http://localhost:8080'],
      [asked({ host: '[::1]:8080' }), own, 'http://[::1]:8080'],
      [asked({ host: 'localhost:8080' }), null, null],
      [asked({ host: 'localhost:8080' }), 'http://edge.example', 'http://edge.example'],
      [asked({ host: 'localhost:8080' }), 'https://edge.example', 'https://edge.example'],
      [asked({ host: 'evil.example' }), own, own],
      [asked({ host: 'localhost:8080', 'x-forwarded-for': '192.0.2.1' }), own, own],
    ];
    for (const [request, publicUrl, address] of table) assert.equal(addressFor(request, publicUrl), address);
  });

  it('names the encodings that it accepts', () => {
    assert.equal(accepts({ 'accept-encoding': 'gzip;q=0.5, br' }, 'gzip'), true);
    assert.equal(accepts({ 'accept-encoding': 'gzip;q=0.000' }, 'gzip'), false);
    assert.equal(accepts({}, 'br'), false);
  });
});

describe('the navigation', () => {
  it('offers pages that there are, and knows which list a page is in', () => {
    assert.deepEqual(
      navigationOf(() => false),
      [],
    );
    const [group, ...others] = navigationOf((path) => path === '/audit');
    assert.deepEqual(
      group?.items.map(({ path }) => path),
      ['/audit'],
    );
    assert.deepEqual(others, []);
    const keys = { path: '/keys' };
    assert.equal(sectionOf([keys], '/keys/1'), keys);
    assert.equal(sectionOf([keys, { path: '/' }], '/keysets'), null);
  });

  it('names the current page on the button of its menu, and only itself beside all pages', () => {
    const groups = navigationOf((path) => path === '/audit');
    assert.match(tabsButton(groups, '/audit').markup, /aria-label="Menu: Audit log"/);
    assert.match(tabsButton(groups, '/account').markup, /aria-label="Menu"/);
  });
});

describe('a query', () => {
  const query = new URLSearchParams({ text: '  a ', empty: ' ', state: 'dead', other: 'x' });
  it('is read with care', () => {
    assert.equal(readText(query, 'text'), 'a');
    assert.equal(readText(query, 'empty'), null);
    assert.equal(readText(query, 'absent'), null);
    assert.equal(readChoice(query, 'state', ['dead', 'pending']), 'dead');
    assert.equal(readChoice(query, 'other', ['dead']), null);
  });
  const instants: readonly [text: string, iso: string | null][] = [
    ['2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['2026-11-21T05:00', '2026-11-21T05:00:00.000Z'],
    ['2026-11-21T05:00:01.5', '2026-11-21T05:00:01.500Z'],
    ['2026-11-21T05:00:00Z', '2026-11-21T05:00:00.000Z'],
    ['2026-11-21T05:00+01:00', '2026-11-21T04:00:00.000Z'],
    ['', null],
  ];
  for (const [text, iso] of instants) {
    it(`has the instant ${iso} in ${JSON.stringify(text)}`, () => {
      const at = readInstant(new URLSearchParams({ since: text }), 'since');
      assert.equal(at === null ? null : new Date(at).toISOString(), iso);
    });
  }
  for (const text of ['now', '2026', '2026-13-45', '21.11.2026', '1e99']) {
    it(`has no instant in ${text}`, () => {
      assert.throws(() => readInstant(new URLSearchParams({ since: text }), 'since'), Refusal);
    });
  }
  it('is kept in links, except the parts that they change', () => {
    const kept = new URLSearchParams('a=1&a=2&cursor=x&empty=');
    assert.equal(withQuery('/p', kept, { cursor: null }), '/p?a=1&a=2');
    assert.equal(withQuery('/p', kept, { cursor: 'y', a: '' }), '/p?cursor=y');
    assert.equal(withQuery('/p', new URLSearchParams('constructor=1'), { a: '2' }), '/p?constructor=1&a=2');
    assert.equal(withQuery('/p', new URLSearchParams(), {}), '/p');
    assert.equal(pager({ path: '/p', query: new URLSearchParams(), nextCursor: null }), null);
    assert.match(pager({ path: '/p', query: kept, nextCursor: null })?.markup ?? '', /End of the list/);
  });
});

describe('a form', () => {
  it('has its first values, and the typed values after a refusal', () => {
    const begun = newForm({ name: 'a', count: 3, list: ['x', 'y'], on: true, off: false, none: null });
    assert.deepEqual([begun.value('name'), begun.value('count'), begun.value('none')], ['a', '3', '']);
    assert.deepEqual(begun.values('list'), ['x', 'y']);
    assert.deepEqual([begun.isChecked('on'), begun.isChecked('off')], [true, false]);
    const typed = new URLSearchParams({ name: 'typed' });
    const refused = refusedForm(typed, refuseField('list[1].name', 'is wrong'));
    assert.equal(refused.value('name'), 'typed');
    assert.equal(refused.problem('list'), 'is wrong');
    assert.equal(refused.problem('list[1]'), 'is wrong');
    assert.equal(refused.problem('li'), null);
    assert.deepEqual(refusedForm(typed, new Refusal('conflict', 'it is there')).problems, [
      { field: '', problem: 'it is there' },
    ]);
  });
});

describe('a time', () => {
  it('is in UTC, in words, or not there', () => {
    assert.match(time(0).markup, /datetime="1970-01-01T00:00:00.000Z".*>1970-01-01 00:00:00 UTC</);
    assert.match(time(null).markup, /–/);
    assert.match(relativeTime(null, 0).markup, /never/);
    assert.match(relativeTime(0, 60_000).markup, />1 minute ago</);
    const table: readonly [ms: number, text: string][] = [
      [0, 'now'],
      [-4999, 'now'],
      [-5000, '5 seconds ago'],
      [61_000, 'in 1 minute'],
      [-3 * 3_600_000, '3 hours ago'],
      [2 * 86_400_000, 'in 2 days'],
      [3 * 86_400_000 - 60_000, 'in 3 days'],
      [-59_700, '1 minute ago'],
      [23.6 * 3_600_000, 'in 1 day'],
      [-364 * 86_400_000, '1 year ago'],
      [-40 * 86_400_000, '1 month ago'],
      [-800 * 86_400_000, '2 years ago'],
    ];
    for (const [ms, text] of table) assert.equal(relativeText(ms), text);
    const brief: readonly [ms: number, text: string][] = [
      [0, 'due now'],
      [-9000, 'due now'],
      // Less than a second has no unit.
      [400, 'due now'],
      [999, 'due now'],
      [1000, 'in 1 s'],
      [30_000, 'in 30 s'],
      [61_000, 'in 1 min'],
      [3 * 3_600_000, 'in 3 h'],
      [2 * 86_400_000, 'in 2 d'],
    ];
    for (const [ms, text] of brief) assert.match(briefTime(ms, 0).markup, new RegExp(`>${text}<`));
    const spans: readonly [ms: number, text: string][] = [
      [12.4, '12 ms'],
      [1200, '1.2 s'],
      [300_000, '5 min'],
      [9_000_000, '2 h 30 min'],
      [7_200_000, '2 h'],
      [3 * 86_400_000, '3 d'],
      [90_000_000, '1 d 1 h'],
    ];
    for (const [ms, text] of spans) assert.equal(spanText(ms), text);
  });
});

describe('differences', () => {
  const shown = (changes: Parameters<typeof differences>[0]): string =>
    differences(changes)
      .markup.replace(/<[^>]+>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim();
  it('are readable', () => {
    assert.equal(shown({}), 'No fields changed');
    assert.equal(shown({ maxAttempts: { from: 1, to: 2 } }), 'max attempts 1 → 2');
    assert.equal(shown({ name: { from: 'a', to: null }, id: { from: 'x', to: null } }), 'name a id x');
    assert.equal(
      shown({
        active: { from: true, to: false },
        name: { from: '', to: 'b' },
        retry: { from: { maxAttempts: 1 }, to: {} },
        scopes: { from: [], to: ['a', 'b'] },
        at: { from: 1_700_000_000_000, to: undefined },
        email: { from: 'x', to: undefined },
      }),
      'active yes → no name empty → b retry max attempts: 1 → none scopes none → a, b at 2023-11-14 22:13:20 UTC → none email x → none',
    );
  });
  it('of a new record leave out empty fields', () => {
    const fresh = (to: unknown) => ({ from: null, to });
    assert.equal(shown({ id: fresh('1'), name: fresh('a'), email: fresh(null), scopes: fresh([]) }), 'name a');
    const many = Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => [name, fresh(name)]));
    assert.match(shown(many), /3 more/);
    assert.match(shown({ key: fresh('k'.repeat(500)) }), /^key k{60}… k{500}$/);
  });
});

describe('the targets of audit entries', () => {
  it('is called as people know it, with a link if there is a page', async (t) => {
    const services = await openTestServices(t);
    const user = await makeUser(services, { userName: 'grace' });
    const gone = services.ids.uuid();
    const references = [`user:${user.id}`, `webhook:${gone}`, 'service', 'mystery', 'subject:x', `delivery:${gone}`];
    const linkOf = await readResourceLinks(services.store, references, (path) => path === '/users/{id}');
    assert.deepEqual(linkOf(`user:${user.id}`), { kind: 'user', name: 'grace', href: `/users/${user.id}` });
    assert.deepEqual(linkOf(`webhook:${gone}`), { kind: 'webhook', name: `…${gone.slice(-12)} (deleted)`, href: null });
    assert.deepEqual(linkOf('service'), { kind: null, name: 'Sallyport itself', href: null });
    assert.deepEqual(linkOf('mystery'), { kind: null, name: 'mystery', href: null });
    assert.deepEqual(linkOf('subject:x'), { kind: 'subject', name: 'x', href: null });
    assert.deepEqual(linkOf(`delivery:${gone}`), {
      kind: 'delivery',
      name: `…${gone.slice(-12)} (deleted)`,
      href: null,
    });
    assert.deepEqual(linkOf('asked:later'), { kind: 'asked', name: 'later', href: null });
    assert.match(resourceLink(linkOf('service')).markup, /^<span>Sallyport itself/);
    assert.match(resourceId(`user:${user.id}`).markup, /…/);
    assert.match(resourceId('service').markup, /<code>service/);
  });
});
