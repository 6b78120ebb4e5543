import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { grantScope, parseScope, SCOPE_NAME } from '../../src/domain/credential.ts';

const ALL = { ok: true, names: [], all: true } as const;
const part = fc.string({ unit: fc.constantFrom(...'abZ09._-/'), minLength: 1, maxLength: 12 });
const scopeName = fc.tuple(part, part).map((parts) => parts.join(':'));
const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `a:${String(i).padStart(2, '0')}`);

test('a scope name is <resource>:<action> of letters, digits and . _ - / in at most 128 characters', () => {
  for (const name of ['a:b', 'Employees:View', 'x/users.v1_a-b:view/all', '0:0', `a:${'b'.repeat(126)}`]) {
    assert.match(name, SCOPE_NAME);
  }
  const wrong = [
    '',
    ':',
    'a',
    'a:',
    ':b',
    'a:b:c',
    'a b:c',
    'a:b\n',
    'a:b ',
    'ä:b',
    'a:*',
    'a:"b"',
    'all',
    `a:${'b'.repeat(127)}`,
  ];
  for (const name of wrong) assert.doesNotMatch(name, SCOPE_NAME);
});

test('absent, empty, blank or all asks for every registered scope', () => {
  for (const text of [undefined, '', ' ', '   ', 'all', ' all ', 'all all']) assert.deepEqual(parseScope(text), ALL);
});

test('names are sorted and distinct, for any order and number of spaces', () => {
  assert.deepEqual(parseScope('b:x a:y'), { ok: true, names: ['a:y', 'b:x'], all: false });
  assert.deepEqual(parseScope('  b:x   a:y b:x '), { ok: true, names: ['a:y', 'b:x'], all: false });
  assert.deepEqual(parseScope('a:b A:b'), { ok: true, names: ['A:b', 'a:b'], all: false });
});

test('20 distinct names pass however often they repeat, and the 21st is refused by name', () => {
  const twenty = numbered(20);
  assert.deepEqual(parseScope([...twenty, ...twenty].reverse().join(' ')), { ok: true, names: twenty, all: false });
  const verdict = parseScope(numbered(21).join(' '));
  assert.deepEqual(verdict, {
    ok: false,
    code: 'invalid_scope',
    description: "more than 20 scopes are named; the first one over the limit is 'a:20'",
  });
});

test('a malformed scope is refused, and the description names it safely', () => {
  for (const [text, quoted] of [
    ['a:b employees', "'employees'"],
    ['a:b\tc:d', "'a:b?c:d'"],
    ['a:b\nc:d', "'a:b?c:d'"],
    ['a:b\u00a0c:d', "'a:b?c:d'"],
    ['a:b,c:d', "'a:b,c:d'"],
    ['a:"b\\', "'a:?b?'"],
    ["a:'", "'a:?'"],
    ['ALL', "'ALL'"],
    ['all:', "'all:'"],
    ['x'.repeat(200), `'${'x'.repeat(64)}'`],
    ['all a:b', "'all'"],
    ['a:b all', "'all'"],
  ] as const) {
    const verdict = parseScope(text);
    assert.ok(!verdict.ok);
    assert.equal(verdict.code, 'invalid_scope');
    assert.ok(verdict.description.includes(quoted), `${verdict.description} names ${quoted}`);
  }
});

test('text over 8 KiB is refused even when it only repeats one name', () => {
  assert.ok(parseScope('a:b '.repeat(2048)).ok);
  assert.ok(!parseScope('a:b '.repeat(2049)).ok);
  assert.ok(!parseScope(' '.repeat(10_000_000)).ok);
});

test('any text gets a verdict, and a description that RFC 6749 §5.2 allows', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc
      .array(fc.oneof(scopeName, fc.constantFrom('all', '', '\t', 'a')), { maxLength: 30 })
      .map((names) => names.join(' ')),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const verdict = parseScope(text);
      if (!verdict.ok) {
        assert.match(verdict.description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
        return;
      }
      assert.equal(verdict.all, verdict.names.length === 0);
      assert.deepEqual(verdict.names, [...new Set(verdict.names)].sort());
      for (const name of verdict.names) assert.ok(SCOPE_NAME.test(name) && text.split(' ').includes(name));
    }),
  );
});

test('a list of names parses to its set, however it is written', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(scopeName, { minLength: 1, maxLength: 20 }),
      fc.constantFrom(' ', '  '),
      (names, separator) => {
        assert.deepEqual(parseScope(names.join(separator)), { ok: true, names: [...names].sort(), all: false });
      },
    ),
  );
});

test('all grants every registered scope, sorted and distinct, more than 20 too', () => {
  const registered = numbered(30);
  assert.deepEqual(grantScope(ALL, [...registered].reverse()), { ok: true, granted: registered });
  assert.deepEqual(grantScope(ALL, ['b:x', 'a:y', 'b:x']), { ok: true, granted: ['a:y', 'b:x'] });
});

test('an application without scopes is granted nothing', () => {
  for (const asked of [ALL, { ok: true, names: ['a:x'], all: false } as const]) {
    const description = 'no scope is registered for this application';
    assert.deepEqual(grantScope(asked, []), { ok: false, code: 'invalid_scope', description });
  }
});

test('named scopes are granted as asked, or none of them', () => {
  const asked = { ok: true, names: ['a:x', 'b:y'], all: false } as const;
  assert.deepEqual(grantScope(asked, ['c:z', 'b:y', 'a:x']), { ok: true, granted: ['a:x', 'b:y'] });
  for (const registered of [['a:x'], ['a:x', 'B:y'], ['a:x', 'b:yy']]) {
    assert.deepEqual(grantScope(asked, registered), {
      ok: false,
      code: 'invalid_scope',
      description: "scope 'b:y' is not registered for this application",
    });
  }
});

test('a grant has exactly the requested scopes, or it is refused', () => {
  const names = fc.uniqueArray(fc.constantFrom(...numbered(8)), { minLength: 1 });
  fc.assert(
    fc.property(names, fc.array(fc.constantFrom(...numbered(8))), (asked, registered) => {
      const verdict = grantScope({ ok: true, names: [...asked].sort(), all: false }, registered);
      assert.equal(
        verdict.ok,
        asked.every((name) => registered.includes(name)),
      );
      if (verdict.ok) assert.deepEqual(verdict.granted, [...asked].sort());
    }),
  );
});
