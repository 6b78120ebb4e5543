import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compileCatalogue, matchRule, type Rule } from '../../src/domain/catalogue.ts';
import { canonicalPath, parsePattern } from '../../src/domain/path.ts';
import { product, randomRules, rule, word } from '../support/catalogue.ts';

/** The pattern that a request is matched by, or null. */
const patternOf = (rules: readonly Rule[], method: string, path: string): string | null =>
  matchRule(compileCatalogue([product('P', ...rules)]), method, path)?.pattern ?? null;

test('a match names the scope, the permission, the rule, the product and the parameters', () => {
  const catalogue = compileCatalogue([
    product('Users', rule('GET', '/x/users/{userId}', 'users:view')),
    product('Files', rule('PUT', '/x/files/{area}/{file*}', 'files:edit', { permission: 'files:write' })),
  ]);
  assert.deepEqual(matchRule(catalogue, 'GET', '/x/users/42'), {
    scope: 'users:view',
    permission: 'users:view',
    pattern: '/x/users/{userId}',
    productName: 'Users',
    params: { userId: '42' },
  });
  assert.deepEqual(matchRule(catalogue, 'PUT', ['x', 'files', 'a%20b', 'c', 'd']), {
    scope: 'files:edit',
    permission: 'files:write',
    pattern: '/x/files/{area}/{file*}',
    productName: 'Files',
    params: { area: 'a%20b', file: 'c/d' },
  });
});

test('what no rule names is refused', () => {
  const rules = [rule('GET', '/a/b'), rule('GET', '/a/b/{c}'), rule('POST', '/z/{rest*}')];
  const refused = [
    '/',
    '/a',
    '/a/B',
    '/a/b/c/d',
    '/b',
    '/a/b/',
    '/a/b/c/',
    '/A/b',
    '/z',
    '/z/',
    '/z/y',
    '',
    '/a/bb',
    '/a/b%20',
  ];
  for (const path of refused) assert.equal(patternOf(rules, 'GET', path), null, path);
  for (const path of ['/z', '/z/', '/z/a/']) assert.equal(patternOf(rules, 'POST', path), null, path);
  for (const method of ['PUT', 'get', 'OPTIONS', '', 'GET '])
    assert.equal(patternOf(rules, method, '/a/b'), null, method);
  assert.equal(matchRule(compileCatalogue([]), 'GET', '/a'), null);
  assert.equal(matchRule(compileCatalogue([]), 'HEAD', '/a'), null);
});

test('the longest literal match wins, compared from the left', () => {
  const all = ['/a/b/c', '/a/b/{p}', '/a/{p}/c', '/a/{p}/{q}', '/a/{p}/{r*}', '/a/{r*}', '/{p}/b/c', '/{r*}'];
  for (const [path, pattern] of [
    ['/a/b/c', '/a/b/c'],
    ['/a/b/x', '/a/b/{p}'],
    ['/a/x/c', '/a/{p}/c'],
    ['/a/x/y', '/a/{p}/{q}'],
    ['/a/b/c/d', '/a/{p}/{r*}'],
    ['/a/b', '/a/{r*}'],
    ['/x/b/c', '/{p}/b/c'],
    ['/x/b/d', '/{r*}'],
    ['/a', '/{r*}'],
  ] as const) {
    assert.equal(
      patternOf(
        all.map((it) => rule('GET', it)),
        'GET',
        path,
      ),
      pattern,
    );
    assert.equal(
      patternOf(
        all.toReversed().map((it) => rule('GET', it)),
        'GET',
        path,
      ),
      pattern,
      'in any order',
    );
  }
});

test('a literal that leads nowhere does not hide a parameter that leads on', () => {
  const rules = [
    rule('GET', '/a/b/c/d'),
    rule('GET', '/{p}/b/c/e'),
    rule('GET', '/a/{p}/c/f'),
    rule('POST', '/a/b/c/g'),
  ];
  assert.equal(patternOf(rules, 'GET', '/a/b/c/e'), '/{p}/b/c/e');
  assert.equal(patternOf(rules, 'GET', '/a/b/c/f'), '/a/{p}/c/f');
  assert.equal(patternOf(rules, 'GET', '/a/b/c/g'), null);
});

test('HEAD is matched as GET, unless there is a HEAD rule of the same shape', () => {
  const gets = [rule('GET', '/a/{p}', 'get:p'), rule('GET', '/a/me', 'get:me')];
  const scopeOf = (rules: readonly Rule[], path: string): string | undefined =>
    matchRule(compileCatalogue([product('P', ...rules)]), 'HEAD', path)?.scope;
  assert.equal(scopeOf(gets, '/a/x'), 'get:p');
  const both = [...gets, rule('HEAD', '/a/{q}', 'head:p')];
  assert.equal(scopeOf(both, '/a/x'), 'head:p');
  assert.equal(scopeOf(both, '/a/me'), 'get:me', 'the longest literal match wins among both');
  assert.equal(scopeOf([rule('HEAD', '/a', 'head:a')], '/a'), 'head:a');
  assert.equal(scopeOf([rule('POST', '/a')], '/a'), undefined);
  assert.equal(patternOf([rule('HEAD', '/a')], 'GET', '/a'), null);
});

test('an encoded reserved character does not slip past the rule for its raw spelling', () => {
  const rules = [rule('GET', '/users/{id}'), rule('GET', '/users/@me'), rule('GET', '/files/{rest*}')];
  assert.equal(patternOf(rules, 'GET', '/users/@me'), '/users/@me');
  assert.equal(patternOf(rules, 'GET', '/users/%40me'), null);
  assert.equal(patternOf(rules, 'GET', '/users/a%40b'), '/users/{id}');
  assert.equal(patternOf(rules, 'GET', '/users/caf%C3%A9'), '/users/{id}');
  assert.equal(patternOf(rules, 'GET', '/files/%40me'), '/files/{rest*}');
});

test('parameters may be named like what every object has', () => {
  const catalogue = compileCatalogue([product('P', rule('GET', '/{constructor}/{toString}'), rule('GET', '/a'))]);
  const match = matchRule(catalogue, 'GET', '/x/y');
  assert.deepEqual({ ...match?.params }, { constructor: 'x', toString: 'y' });
  assert.deepEqual(Object.keys(matchRule(catalogue, 'GET', '/a')?.params ?? { none: '' }), []);
});

test('more rules than bits in a word are distinguished, and thousands of segments work', () => {
  const rules = Array.from({ length: 100 }, (_, i) => rule('GET', `/a${i}/{p}`, `a:${i}`));
  const catalogue = compileCatalogue([product('P', ...rules, rule('GET', '/rest/{r*}', 'r:r'))]);
  for (let i = 0; i < 100; i += 1) assert.equal(matchRule(catalogue, 'GET', `/a${i}/x`)?.scope, `a:${i}`);
  assert.equal(matchRule(catalogue, 'GET', '/a100/x'), null);
  const long = Array<string>(4000).fill('x');
  assert.equal(matchRule(catalogue, 'GET', ['rest', ...long])?.params.r, long.join('/'));
  assert.equal(matchRule(catalogue, 'GET', long), null);
});

test('an invalid pattern stops the compilation, so that a wider rule does not replace it', () => {
  assert.throws(() => compileCatalogue([product('P', rule('GET', '/a/{p}'), rule('GET', '/a/{b'))]), TypeError);
});

test('of conflicting rules the earlier product keeps its paths', () => {
  const products = [
    product('First', rule('GET', '/a/{x}', 'first:view')),
    product('Second', rule('GET', '/a/{y}', 'second:view')),
  ];
  assert.equal(matchRule(compileCatalogue(products), 'GET', '/a/1')?.scope, 'first:view');
});

test('the catalogue agrees with a slow matcher on random rules and paths', () => {
  const requests = fc.array(
    fc.tuple(
      fc.constantFrom('GET', 'HEAD', 'POST', 'PUT'),
      fc.array(fc.oneof(word, fc.constantFrom('z', '')), { minLength: 1, maxLength: 7 }),
    ),
    { minLength: 20, maxLength: 40 },
  );
  fc.assert(
    fc.property(randomRules, requests, (written, asked) => {
      const rules = written.map(([names, path, number]) => rule(names, `/${path}`, `s:${number}`));
      const catalogue = compileCatalogue([product('P', ...rules)]);
      for (const [method, segments] of asked) {
        const match = matchRule(catalogue, method, segments);
        const expected = slowMatch(rules, method, segments);
        assert.equal(match?.pattern, expected?.path);
        assert.equal(match?.scope, expected?.scope);
        assert.deepEqual(matchRule(catalogue, method, `/${segments.join('/')}`), match);
        if (match === null) continue;
        const filled = match.pattern.replace(/\{(\w+)\*?\}/g, (_, name: string) => match.params[name] ?? '');
        assert.equal(filled, `/${segments.join('/')}`);
      }
    }),
  );
});

test('a target that is canonical and a pattern of its literals match each other', () => {
  const unit = fc.constantFrom(...'ab0-_~@:', '%20', '%C3%A9');
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit, minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 }),
      (segments) => {
        const path = `/${segments.join('/')}`;
        const canonical = canonicalPath(path);
        assert.ok(canonical.ok && parsePattern(path).ok);
        assert.equal(patternOf([rule('GET', path), rule('GET', '/{rest*}')], 'GET', canonical.path), path);
      },
    ),
  );
});

/** The rule by its definition: try every rule, keep the one whose kinds of segments come first from the left. */
function slowMatch(rules: readonly Rule[], method: string, segments: readonly string[]): Rule | undefined {
  const ranks = (path: string): string[] =>
    path
      .slice(1)
      .split('/')
      .map((part) => (part.endsWith('*}') ? '2' : part.startsWith('{') ? '1' : '0'));
  const matches = ({ path }: Rule): boolean => {
    const parts = path.slice(1).split('/');
    const open = parts.at(-1)?.endsWith('*}') ?? false;
    if (segments.includes('') || (open ? segments.length < parts.length : segments.length !== parts.length))
      return false;
    return parts.every((part, at) => part.startsWith('{') || part === segments[at]);
  };
  const own = rules.filter((it) => it.methods.includes(method));
  const candidates = method === 'HEAD' ? [...own, ...rules.filter((it) => it.methods.includes('GET'))] : own;
  let best: Rule | undefined;
  for (const candidate of candidates.filter(matches)) {
    const [a, b] = [ranks(candidate.path), ranks(best?.path ?? '/{r*}')];
    const at = a.findIndex((rank, i) => rank !== b[i]);
    if (best === undefined || (at !== -1 && (a[at] ?? '') < (b[at] ?? ''))) best = candidate;
  }
  return best;
}
