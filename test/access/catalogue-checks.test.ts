import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compileCatalogue, conflictsOf, matchRule, type Product, problemsOf } from '../../src/domain/catalogue.ts';
import { product, randomRules, rule, word } from '../support/catalogue.ts';

test('rules that match exactly the same paths of a method are conflicts, and both are named', () => {
  const products = [
    product('Users', rule('GET POST', '/users/{id}', 'users:view'), rule('GET', '/users/me')),
    product('People', rule('GET', '/people'), rule('PUT GET', '/users/{userId}', 'people:view', { permission: 'p:q' })),
  ];
  assert.deepEqual(conflictsOf(products), [
    {
      field: 'rules[1].path',
      problem:
        'takes GET /users/{userId} for people:view with permission p:q, but rules[0].path of product Users takes ' +
        'GET /users/{id} for users:view',
      productId: 'id of People',
      otherProductId: 'id of Users',
      otherField: 'rules[0].path',
    },
  ]);
});

test('identical rules are a conflict too, rules that only overlap are none', () => {
  assert.equal(conflictsOf([product('P', rule('GET', '/a/{b*}'), rule('GET', '/a/{c*}'))]).length, 1);
  const overlapping = ['/a/b', '/a/{b}', '/a/{b*}', '/{a}/b', '/A/b'].map((path) => rule('GET', path));
  assert.deepEqual(conflictsOf([product('P', ...overlapping, rule('HEAD POST', '/a/{b}'))]), []);
  assert.deepEqual(conflictsOf([product('P', rule('GET GET', '/a'), rule('GET', '/{a'), rule('GET', '/{a'))]), []);
});

test('where no conflict is found, the order of rules and products does not matter', () => {
  fc.assert(
    fc.property(randomRules, fc.array(word, { minLength: 1, maxLength: 6 }), (written, segments) => {
      const rules = written.map(([names, path], at) => rule(names, `/${path}`, `s:${at}`));
      const free = rules.filter((it, at) =>
        conflictsOf([product('P', ...rules.slice(0, at)), product('Q', it)]).every(
          ({ productId }) => productId !== 'id of Q',
        ),
      );
      assert.deepEqual(conflictsOf([product('P', ...free)]), []);
      for (const method of ['GET', 'HEAD', 'POST']) {
        const [inOrder, reversed] = [free, free.toReversed()].map((it) =>
          matchRule(compileCatalogue([product('P', ...it)]), method, segments),
        );
        assert.deepEqual(inOrder, reversed);
      }
    }),
    { numRuns: 50 },
  );
});

test('a fine product has no problems', () => {
  assert.deepEqual(problemsOf(product('P', rule('GET M-SEARCH', '/a/{b}', 'a:view', { permission: 'hr/admin' }))), []);
  assert.deepEqual(problemsOf({ id: '1', name: 'Empty', scopes: [], rules: [] }), []);
});

test('every problem of a product is named by its field', () => {
  const wrong: Product = {
    id: '1',
    name: 'Wrong',
    scopes: [
      { name: 'a:view', description: '' },
      { name: 'all', description: '' },
      { name: 'a:view', description: '' },
    ],
    rules: [
      { methods: [], path: '/a/', scope: 'b:view' },
      { methods: ['GET', 'get', 'GET'], path: '/a', scope: 'a:view', permission: '' },
      rule('GET', '/a//b', 'a:view', { permission: 'a b' }),
    ],
  };
  assert.deepEqual(
    problemsOf(wrong).map(({ field, problem }) => `${field} ${problem}`),
    [
      'scopes[1].name is not of the form <resource>:<action>',
      'scopes[2].name repeats an earlier scope',
      'rules[0].methods is empty',
      'rules[0].path ends with a slash',
      'rules[0].scope is not a scope of this product',
      'rules[1].methods[1] is not a method in upper case',
      'rules[1].methods[2] repeats an earlier method',
      'rules[1].permission is not a permission name',
      'rules[2].path is no canonical path: the request target contains an empty segment',
      'rules[2].permission is not a permission name',
    ],
  );
});

test('a product has at most 1,000 rules, and those beyond are not read', () => {
  const rules = Array.from({ length: 1000 }, (_, i) => rule('GET', `/a${i}`));
  assert.deepEqual(problemsOf(product('P', ...rules)), []);
  assert.deepEqual(problemsOf(product('P', ...rules, rule('GET', 'wrong'))), [
    { field: 'rules', problem: 'has more than 1000 items' },
  ]);
});
