import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Refusal } from '../../../src/kernel/refusal.ts';
import { refusedForm } from '../../../src/portal/parts/fields.ts';
import { errorSummary } from '../../../src/portal/parts/form.ts';
import { sentence } from '../../../src/portal/parts/text.ts';
import { refusalView } from '../../../src/portal/refusal-page.ts';

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
    assert.ok(refusalView(refusal, 'id', true).content.markup.includes(whole));
    assert.ok(errorSummary(refusedForm(new URLSearchParams(), refusal))?.markup.includes(whole));
  });
});
