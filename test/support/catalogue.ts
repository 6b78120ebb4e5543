/** Short notations for rules and products, and random rules that often overlap and conflict. */
import fc from 'fast-check';
import type { Product, Rule } from '../../src/domain/catalogue.ts';

export function rule(methods: string, path: string, scope = 'a:view', more: { permission?: string } = {}): Rule {
  return { methods: methods.split(' '), path, scope, ...more };
}

/** A product that declares `a:view`, the scope of `rule`. */
export function product(name: string, ...rules: Rule[]): Product {
  return { id: `id of ${name}`, name, scopes: [{ name: 'a:view', description: '' }], rules };
}

export const word: fc.Arbitrary<string> = fc.constantFrom('a', 'b', 'c');
const patterns = fc
  .tuple(
    fc.array(fc.oneof(word, fc.constant('{}')), { maxLength: 5 }),
    fc.option(fc.constantFrom('{*}', 'a', '{}'), { nil: '{}' }),
  )
  .map(([parts, last]) => [...parts, last].map((part, at) => part.replace('{', `{p${at}`)).join('/'));
const methods = fc.constantFrom('GET', 'HEAD', 'POST', 'GET POST');
/** Methods, path, and a number that identifies the rule. */
export const randomRules: fc.Arbitrary<[string, string, number][]> = fc.array(
  fc.tuple(methods, patterns, fc.nat(999)),
  { maxLength: 60 },
);
