import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_THEME } from '../../../src/domain/portal-theme.ts';
import { Refusal } from '../../../src/kernel/refusal.ts';
import { refusalView } from '../../../src/portal/frame/refusal-page.ts';
import { problemText, refusedForm } from '../../../src/portal/parts/fields.ts';
import { errorSummary } from '../../../src/portal/parts/form.ts';
import { listText, sentence, shareText } from '../../../src/portal/parts/text.ts';
import { DatabaseUnavailable, mayBeCommitted, UNAVAILABLE_REASONS } from '../../../src/store/port/errors.ts';

const VISIT = { errorId: 'id', isSignedIn: true, path: '/', brand: null };

describe('a reason as a sentence', () => {
  for (const [text, made] of [
    ['the endpoint is not enabled', 'The endpoint is not enabled.'],
    ['it is not enabled. Verify it first.', 'It is not enabled. Verify it first.'],
    ['really?', 'Really?'],
    ['x-api-key is missing', 'x-api-key is missing.'],
  ] as const) {
    it(JSON.stringify(text), () => assert.equal(sentence(text), made));
  }

  it('ends once wherever it is read', () => {
    const refusal = new Refusal('invalid_state', 'it is not enabled. Verify it first.');
    const whole = '>It is not enabled. Verify it first.<';
    assert.ok(refusalView(refusal, VISIT).content.markup.includes(whole));
    assert.ok(errorSummary(refusedForm(new URLSearchParams(), refusal))?.markup.includes(whole));
  });
});

describe('a problem of a field', () => {
  for (const [problem, said] of [
    ['must have at least 1 character', 'is required'],
    ['is not the id of an endpoint', 'does not exist: choose another one'],
    ['is not the id of a customer', 'does not exist: choose another one'],
    ['must be at most 100', 'must be at most 100'],
  ] as const) {
    it(`is said in a form's words: ${problem}`, () => assert.equal(problemText(problem), said));
  }
});

it('a list in a sentence has a word before its last item', () => {
  assert.deepEqual(
    [[], ['a'], ['a', 'b'], ['a', 'b', 'c']].map((parts) => listText(parts)),
    ['', 'a', 'a and b', 'a, b and c'],
  );
  assert.equal(listText(['a', 'b', 'c'], 'or'), 'a, b or c');
});

describe('a share', () => {
  for (const [share, text] of [
    [32 / 126, '25.4 %'],
    [18 / 85, '21.2 %'],
    [0.9999, '99.9 %'],
    [1, '100 %'],
    [0, '0 %'],
    [0.0001, '0.0 %'],
  ] as const) {
    it(`is rounded, never up to the whole: ${text}`, () => assert.equal(shareText(share), text));
  }
});

describe('the page of a refused request', () => {
  it('names the provider to a customer', () => {
    const brand = { ...NO_THEME, name: 'Acme' };
    const { markup } = refusalView(new Refusal('server_error', 'broken'), { ...VISIT, brand }).content;
    assert.match(markup, /tell Acme this number/);
  });

  const textOf = (refusal: Refusal): string => refusalView(refusal, VISIT).content.markup;

  for (const reason of UNAVAILABLE_REASONS) {
    it(`says the truth about the database that is unavailable: ${reason}`, () => {
      const refusal = new DatabaseUnavailable(reason);
      const isUnknown = ['unknown', 'stopped', 'missing', 'replaced'].includes(reason);
      assert.equal(mayBeCommitted(refusal), isUnknown);
      const shown = textOf(refusal);
      assert.ok(!shown.includes('Nothing was changed'));
      // The API and commands show the message.
      assert.equal(refusal.message.includes('read it before you repeat it'), isUnknown);
      assert.ok(shown.includes('read it before you repeat it') === isUnknown);
      assert.ok(shown.includes('Your request was not completed.') !== isUnknown);
      const isTemporary = ['locked', 'unreachable', 'waiting', 'overloaded'].includes(reason);
      assert.equal(shown.includes('Try again in a few seconds'), isTemporary);
    });
  }

  it('tells to try again only if that can help', () => {
    const busy = new Refusal('unavailable', 'it is busy', { headers: { 'Retry-After': '5' } });
    assert.ok(textOf(busy).includes('It is busy. Your request was not completed. Try again in a few seconds.'));
    assert.ok(textOf(new Refusal('unavailable', 'a setting is missing')).includes('>A setting is missing.<'));
  });
});
