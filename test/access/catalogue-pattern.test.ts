import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parsePattern, patternShape } from '../../src/domain/path.ts';

const many = (count: number): string => Array.from({ length: count }, (_, i) => `/{s${i}}`).join('');

test('a pattern is read segment by segment', () => {
  assert.deepEqual(parsePattern('/services/api/{userId}/files/{file_1*}'), {
    ok: true,
    segments: [
      { kind: 'literal', text: 'services' },
      { kind: 'literal', text: 'api' },
      { kind: 'parameter', name: 'userId' },
      { kind: 'literal', text: 'files' },
      { kind: 'rest', name: 'file_1' },
    ],
  });
  assert.deepEqual(parsePattern('/{rest*}'), { ok: true, segments: [{ kind: 'rest', name: 'rest' }] });
  for (const path of ['/a', '/@me', '/things:batch', '/caf%C3%A9', '/a%20b', '/{a}/{A}', many(32)]) {
    assert.ok(parsePattern(path).ok, path);
  }
});

test('an invalid pattern is refused with its problem', () => {
  const wrong: readonly (readonly [RegExp, readonly string[]])[] = [
    [
      /^is no canonical path/,
      ['', 'a', 'a/b', '//', '/a//b', '/a/./b', '/a/..', '/a;b', '/a\\b', '/a b', '/é', '/a#b', '/%2e', '/%61'],
    ],
    [
      /^is no canonical path/,
      ['/a{b', '/a}b', '/{a', '/{{a}}', '/{a/b}', '/%{a}41', 'https://x/a', '/{a}{{b', `/${'{'.repeat(8000)}`],
    ],
    [/^has a query or an escape in lower case$/, ['/a?b', '/a?', '/caf%c3%a9']],
    [/^encodes a reserved character/, ['/%40me', '/things%3Abatch']],
    [/^ends with a slash$/, ['/', '/a/', '/{a}/', '/{a*}/']],
    [
      /^has braces that are not a whole segment/,
      ['/{}', '/{1a}', '/{_a}', '/{a-b}', '/{a**}', '/{*}', '/x{a}', '/{a}x', '/{a}{b}', '/{a }'],
    ],
    [/^names \{a\} twice$/, ['/{a}/{a}', '/{a}/b/{a*}']],
    [/^has \{a\*\} before its last segment$/, ['/{a*}/b', '/{a*}/{b*}']],
    [/^has more than 32 segments$/, [many(33)]],
    [/^is longer than 8192 bytes$/, [`/{${'a'.repeat(8192)}}`]],
  ];
  for (const [description, paths] of wrong) {
    for (const path of paths) {
      const verdict = parsePattern(path);
      assert.ok(!verdict.ok, `${path} was taken for a pattern`);
      assert.equal(verdict.code, 'invalid_pattern');
      assert.match(verdict.description, description, path);
    }
  }
});

test('any text gets a verdict, and a pattern is what its segments say', () => {
  const piece = fc.oneof(
    fc.constantFrom('/', '{', '}', '*', 'a', '{a}', '{b*}', '%41', '.', '/x', '/{c}'),
    fc.string({ maxLength: 2 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const path = `/${pieces.join('')}`;
      const verdict = parsePattern(path);
      if (!verdict.ok) return;
      const text = { literal: '', parameter: '}', rest: '*}' } as const;
      const written = verdict.segments.map((segment) =>
        segment.kind === 'literal' ? segment.text : `{${segment.name}${text[segment.kind]}`,
      );
      assert.equal(`/${written.join('/')}`, path);
    }),
  );
});

test('patterns have the same shape exactly if only their names differ', () => {
  const shape = (path: string): string => {
    const verdict = parsePattern(path);
    assert.ok(verdict.ok);
    return patternShape(verdict.segments);
  };
  assert.equal(shape('/a/{b}/{c*}'), shape('/a/{x}/{y*}'));
  const different = ['/a/{b}', '/a/{b*}', '/{a}/b', '/a/b', '/A/b', '/{a}/{b}', '/a', '/{a}', '/{a*}'];
  assert.equal(new Set(different.map(shape)).size, different.length);
});
