import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import {
  ATTEMPT_TIMEOUT_MAX_SECONDS,
  BATCH_RECORDS_MAX,
  TOKEN_VALIDITY_MAX_SECONDS,
  TOKEN_VALIDITY_MIN_SECONDS,
} from '../../src/kernel/limits/limits.ts';
import { FIGURE_SPANS } from '../../src/store/figures.ts';

const schema = readFileSync(new URL('../../schema.sql', import.meta.url), 'utf8');

describe('schema.sql', () => {
  it('has the limits of the service in its CHECKs', () => {
    const ranges = Array.from(schema.matchAll(/CHECK \((\w+) BETWEEN (\d+) AND (\d+)\)/g), ([, column, from, to]) => [
      column,
      Number(from),
      Number(to),
    ]);
    assert.deepEqual(ranges, [
      ['access_token_validity_seconds', TOKEN_VALIDITY_MIN_SECONDS, TOKEN_VALIDITY_MAX_SECONDS],
      ['max_batch_records', 1, BATCH_RECORDS_MAX],
      ['timeout_seconds', 1, ATTEMPT_TIMEOUT_MAX_SECONDS],
    ]);
    const [, spans = ''] = /span_seconds IN \(([\d, ]+)\)/.exec(schema) ?? [];
    assert.deepEqual(
      spans.split(', ').map(Number),
      FIGURE_SPANS.map(({ seconds }) => seconds),
    );
    // A delivery's id has 26 bits for the number of its webhook.
    assert.match(schema, new RegExp(`CHECK \\(number < ${2 ** 26}\\)`));
  });
});
