import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { canonicalPath, rawReserved } from '../../src/domain/path.ts';

test('a canonical target is read unchanged, without its query', () => {
  for (const [target, path, segments] of [
    ['/', '/', ['']],
    ['/a', '/a', ['a']],
    ['/services/api/x/users/v1', '/services/api/x/users/v1', ['services', 'api', 'x', 'users', 'v1']],
    ['/a/b?c=d/../e;f=%2e%2e%00%zz\\', '/a/b', ['a', 'b']],
    ['/a?', '/a', ['a']],
    ['/a?b?c', '/a', ['a']],
    ["/a-._~!$&'()*+,=:@Z9", "/a-._~!$&'()*+,=:@Z9", ["a-._~!$&'()*+,=:@Z9"]],
    ['/...', '/...', ['...']],
    ['/.a/a./..a', '/.a/a./..a', ['.a', 'a.', '..a']],
    ['/a%20b', '/a%20b', ['a%20b']],
    ['/%40me', '/%40me', ['%40me']],
    ['/caf%C3%A9', '/caf%C3%A9', ['caf%C3%A9']],
  ] as const) {
    assert.deepEqual(canonicalPath(target), { ok: true, path, segments });
  }
});

test('the case of hex digits is normalised, the case of letters and a trailing slash are kept', () => {
  assert.deepEqual(canonicalPath('/Caf%c3%a9/%e2%82%ac'), {
    ok: true,
    path: '/Caf%C3%A9/%E2%82%AC',
    segments: ['Caf%C3%A9', '%E2%82%AC'],
  });
  assert.deepEqual(canonicalPath('/a/'), { ok: true, path: '/a/', segments: ['a', ''] });
  assert.notDeepEqual(canonicalPath('/a'), canonicalPath('/A'));
});

/** Each of these is read as another path by some server or proxy. */
const TRICKS: Readonly<Record<string, readonly string[]>> = {
  'empty segment': ['//', '//a', '/a//b', '/a//', '///'],
  'dot segment': ['/.', '/..', '/a/.', '/a/..', '/a/./b', '/a/../b', '/../../etc/passwd', '/a/..?b'],
  'encoded dot': ['/%2e', '/%2E%2E/a', '/a/%2e%2e/b', '/a/.%2e/b', '/a/%2E./b', '/a%2eb'],
  'encoded slash': ['/a%2Fb', '/a%2fb', '/%2F', '/a/..%2F..%2Fb'],
  backslash: ['/a\\b', '/\\', '/a/..\\b', '/a%5Cb', '/a%5cb'],
  'path parameter': ['/a;b', '/a;x=1/b', '/;', '/a/..;/b', '/a%3Bx=1', '/a%3bx'],
  'encoded query or fragment': ['/a%3Fb', '/a%3fb', '/a%23b'],
  'control character': [
    '/a\0',
    '/a\nb',
    '/a\r',
    '/a\tb',
    '/a\x7f',
    '/a%00',
    '/a%0a',
    '/a%0D',
    '/a%1F',
    '/a%7F',
    '/a%C2%85',
  ],
  'broken escape': ['/a%', '/a%2', '/a%zz', '/a%2x', '/%', '/a%%2e', '/a%u002e', '/a%+1'],
  'double encoding': ['/a%252e', '/a%25', '/%2525', '/%252F', '/a%25u', '/%25%32%65', '/%%32%65'],
  'escape of an unreserved character': ['/%61', '/%41', '/%7A', '/%5A', '/%30', '/%39', '/%2D', '/%5F', '/%7E', '/%7e'],
  'raw character that belongs encoded': ['/a b', '/a"b', '/<a>', '/[a]', '/a^', '/`a`', '/{a}', '/a|b'],
  'raw character outside ASCII': ['/é', '/a\u2044b', '/\uff0e\uff0e/a', '/\ud800', '/a?é'],
  'not UTF-8': [
    '/%C0%AE',
    '/%C0%AF',
    '/%E0%80%AF',
    '/%ED%A0%80',
    '/%F4%90%80%80',
    '/%FF',
    '/%80',
    '/%C3',
    '/%C3a%A9',
    '/%C3/%A9',
  ],
  'look-alike': [
    '/%EF%BC%8F',
    '/%EF%BC%8E%EF%BC%8E',
    '/%E2%80%A4',
    '/%E2%80%A5/a',
    '/%CD%BE',
    '/%EF%BD%81',
    '/%C2%A0',
    '/%E2%84%AA',
    '/%EF%BC%A5',
  ],
  fragment: ['/a#', '/a#b', '/#', '/a?b#c'],
  'no origin form': ['', '*', 'a', 'a/b', '?a', '\\a', 'http://a/b', 'https://a', 'a:443', ' /a', '.', '../a', '%2Fa'],
  'white space': ['/a ', '/ a', '/a b?c', '/a?b c', '/a\u00a0'],
};

for (const [trick, targets] of Object.entries(TRICKS)) {
  test(`refuses a target with this trick: ${trick}`, () => {
    for (const target of targets) {
      const verdict = canonicalPath(target);
      assert.ok(!verdict.ok, `${JSON.stringify(target)} was let through`);
      assert.equal(verdict.code, 'ambiguous_path');
      assert.match(verdict.description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    }
  });
}

test('refuses every trick also in the middle of a path that is fine', () => {
  const escapes = [
    '%2e',
    '%2F',
    '%5C',
    '%3B',
    '%00',
    '%25',
    '%61',
    '%zz',
    '\\',
    ';',
    '#',
    '//',
    '/./',
    '/../',
    '%C0%AE',
    'é',
  ];
  const clean = fc.string({ unit: fc.constantFrom(...'abc-_~'), minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(clean, fc.constantFrom(...escapes), clean, (before, trick, after) => {
      assert.ok(canonicalPath(`/${before}/${after}`).ok);
      assert.ok(!canonicalPath(`/${before}${trick}${after}`).ok);
      assert.ok(!canonicalPath(`/${before}/${after}${trick}?x`).ok);
    }),
  );
});

test('a target of 8 KiB is read, a longer one is refused', () => {
  assert.ok(canonicalPath(`/${'a'.repeat(8191)}`).ok);
  assert.ok(!canonicalPath(`/${'a'.repeat(8192)}`).ok);
  assert.ok(!canonicalPath(`/?${'a'.repeat(8192)}`).ok);
});

test('every ASCII character is accepted in at most one spelling, but the reserved ones, which rawReserved unites', () => {
  for (let code = 0; code < 128; code += 1) {
    const raw = String.fromCharCode(code);
    const encoded = `%${code.toString(16).toUpperCase().padStart(2, '0')}`;
    const isRead = [`/x${raw}x`, `/x${encoded}x`].map((target) => {
      const verdict = canonicalPath(target);
      return verdict.ok && verdict.path === target && verdict.segments.length === 1;
    });
    const reserved = "!$&'()*+,=:@".includes(raw);
    assert.equal(isRead[0] && isRead[1], reserved, `${encoded} is read ${isRead}`);
    assert.equal(rawReserved(encoded) === raw, reserved, encoded);
    assert.ok(reserved || rawReserved(encoded) === encoded);
  }
});

const character = fc.oneof(
  fc.constantFrom(...'abZ09-._~!@:/%?;\\', '%2e', '%c3%a9', '%40', '%20', '%E2%82%AC', '%25', '%', '..'),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
);
const targets = fc.array(character, { maxLength: 12 }).map((parts) => `/${parts.join('')}`);

test('canonicalisation is idempotent, and what passes says the same to every reader', () => {
  fc.assert(
    fc.property(targets, (target) => {
      const verdict = canonicalPath(target);
      if (!verdict.ok) return;
      assert.deepEqual(canonicalPath(verdict.path), verdict);
      assert.equal(`/${verdict.segments.join('/')}`, verdict.path);
      // A reader that resolves dots, one that decodes once, and one that decodes twice.
      assert.equal(new URL(`http://x${verdict.path}`).pathname, verdict.path);
      const decoded = decodeURIComponent(verdict.path);
      assert.equal(decodeURIComponent(decoded), decoded);
      assert.doesNotMatch(decoded, /[\p{Cc}\\;?#%]/u);
      // And one that folds compatibility forms.
      assert.equal(decoded.normalize('NFKC').slice(1).split('/').length, verdict.segments.length);
    }),
    { numRuns: 2000 },
  );
});

test('text that a client encodes as one segment arrives as that segment', () => {
  const unit = fc.constantFrom(...'aZ9-_@+=,:$& é日', '😀');
  fc.assert(
    fc.property(fc.string({ unit, minLength: 1 }), (text) => {
      const segment = encodeURIComponent(text);
      assert.deepEqual(canonicalPath(`/a/${segment}/b`), {
        ok: true,
        path: `/a/${segment}/b`,
        segments: ['a', segment, 'b'],
      });
    }),
  );
});
