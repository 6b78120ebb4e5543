import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { decodeFormText, FORM_FIELDS_MAX, parseForm, parseRepeatedForm } from '../../src/http/body.ts';
import { refused } from '../support/refusals.ts';

describe('a form', () => {
  it('is read as URLSearchParams writes it', () => {
    const names = fc.uniqueArray(fc.string({ unit: 'grapheme' }), { maxLength: 8 });
    fc.assert(
      fc.property(names, fc.array(fc.string({ unit: 'grapheme' }), { minLength: 8, maxLength: 8 }), (keys, values) => {
        const pairs = keys.map((key, at): [string, string] => [key, values[at] ?? '']);
        assert.deepEqual(Object.entries(parseForm(new URLSearchParams(pairs).toString())).sort(), pairs.sort());
      }),
    );
  });

  it('may contain empty pairs, names without a value, and values with equals signs', () => {
    assert.deepEqual({ ...parseForm('&a=1&&b&c==x=&') }, { a: '1', b: '', c: '=x=' });
  });

  it('may contain names of object properties', () => {
    assert.deepEqual(Object.entries(parseForm('__proto__=1&constructor=2')), [
      ['__proto__', '1'],
      ['constructor', '2'],
    ]);
  });

  for (const [what, text, says] of [
    ['a repeated name', 'a=1&b=2&a=1', 'the parameter a was sent more than once'],
    ['a name repeated in another spelling', 'a=1&%61=2', 'the parameter a was sent more than once'],
    ['a name repeated without a value', 'a=1&a', 'the parameter a was sent more than once'],
    ['a percent sign alone', 'a=100%', 'broken or not UTF-8'],
    ['a percent sign without hex digits', 'a=%zz', 'broken or not UTF-8'],
    ['an escape that is not UTF-8', 'a=%ff', 'broken or not UTF-8'],
    ['an overlong escape', 'a=%c0%af', 'broken or not UTF-8'],
    ['an encoded surrogate', '%ed%a0%80=a', 'broken or not UTF-8'],
  ] as const) {
    it(`is refused for ${what}`, async () => {
      await refused(() => parseForm(text), { code: 'invalid_request', says });
    });
  }

  it('with repeated names keeps their order, up to a limit', async () => {
    assert.deepEqual(
      [...parseRepeatedForm('a=1&&b=2&a=3')],
      [
        ['a', '1'],
        ['b', '2'],
        ['a', '3'],
      ],
    );
    assert.equal(parseRepeatedForm(Array(FORM_FIELDS_MAX).fill('a').join('&')).size, FORM_FIELDS_MAX);
    for (const text of ['a&'.repeat(FORM_FIELDS_MAX), '&'.repeat(1024 * 1024)]) {
      await refused(() => parseRepeatedForm(text), {
        code: 'invalid_request',
        says: `the form has more than ${FORM_FIELDS_MAX} fields`,
      });
    }
  });

  it('decodes a plus sign as a space and an encoded one as itself', () => {
    assert.equal(decodeFormText('a+b%2Bc%20d'), 'a b+c d');
  });
});
