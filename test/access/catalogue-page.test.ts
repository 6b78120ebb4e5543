/** Compares docs/api-catalogue.md with the catalogue: every row of its tables is a test case. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { compileCatalogue, conflictsOf, matchRule, type Product, problemsOf } from '../../src/domain/catalogue.ts';
import { canonicalPath } from '../../src/domain/path.ts';

const page = readFileSync(new URL('../../docs/api-catalogue.md', import.meta.url), 'utf8');

/** The product that the command on the page makes. */
const product: Product = {
  id: 'shop',
  name: 'Shop',
  scopes: [...page.matchAll(/--scope '([^'=]+)=([^']*)'/g)].map(([, name = '', description = '']) => ({
    name,
    description,
  })),
  rules: [...page.matchAll(/--rule '(\S+) (\S+) (\S+)'/g)].map(([, methods = '', path = '', scope = '']) => ({
    methods: methods.split(','),
    path,
    scope,
  })),
};
const catalogue = compileCatalogue([product]);

/** The rows of the table under a heading, each as the texts of its cells without backticks. */
function rows(heading: string): string[][] {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const lines = (section.split('\n## ', 1)[0] ?? '').split('\n').filter((line) => line.startsWith('| `'));
  return lines.map((line) =>
    line
      .slice(2, -2)
      .split(' | ')
      .map((cell) => cell.replace(/^`(.*)`$/, '$1')),
  );
}

function outcome(method: string, target: string): string {
  const path = canonicalPath(target);
  if (!path.ok) return 'refused';
  return matchRule(catalogue, method, path.segments)?.pattern ?? 'no rule';
}

describe('the documentation of the API catalogue', () => {
  it('shows a valid product', () => {
    assert.equal(product.scopes.length, 3);
    assert.equal(product.rules.length, 6);
    assert.deepEqual(problemsOf(product), []);
    assert.deepEqual(conflictsOf([product]), []);
  });

  const precedence = rows('Which rule counts');
  it('has the expected tables', () => {
    assert.ok(precedence.length >= 10);
    assert.ok(tricks.length >= 20);
  });

  for (const [request = '', rule, needs] of precedence) {
    it(`is right that ${request} gets ${rule}`, () => {
      const [method = '', path = ''] = request.split(' ');
      const match = matchRule(catalogue, method, path);
      assert.equal(match?.pattern ?? 'none', rule);
      assert.equal(match?.scope ?? 'refused', needs);
    });
  }

  const tricks = rows('Paths that can be read in two ways');
  for (const [path = '', happens] of tricks) {
    it(`is right that ${path} gets ${happens}`, () => assert.equal(outcome('GET', path), happens));
  }
});
