import assert from 'node:assert/strict';
import { it } from 'node:test';
import { retrySpanMs } from '../../../src/domain/retry.ts';
import { endpointSummary } from '../../../src/portal/endpoints/endpoint-summary.ts';
import { filterChip } from '../../../src/portal/parts/mark.ts';
import { retriesText } from '../../../src/portal/webhooks/format-fields.ts';

it('the form of an endpoint says what will happen, for each verification, with events and without', () => {
  const cases: readonly (readonly [form: string, says: RegExp])[] = [
    ['', /^$/],
    ['url=nonsense', /^$/],
    ['url=https://a.example/in&tokenChallenge=true', /^a\.example gets a challenge.* Nothing else is sent until/],
    ['url=https://a.example/in&tokenChallenge=cloudevents', /^a\.example gets an OPTIONS request/],
    [
      'url=https://a.example/in&tokenChallenge=false&eventTypes=a.b&eventTypes=a.c',
      /^a\.example is enabled immediately\. A webhook of the same name sends a\.b and a\.c to it immediately\.$/,
    ],
    ['url=https://a.example/in&tokenChallenge=true&eventTypes=a.b', / sends a\.b to it, once you start it\.$/],
    // In the words of the form of a webhook.
    ['url=https://a.example/in&tokenChallenge=true&eventTypes=*', / sends every event to it, once you start it\.$/],
    [
      'url=https://a.example/in&tokenChallenge=true&eventTypes=a.*&morePatterns=b.a+b.b+b.c',
      / sends every a event, b\.a and 2 other kinds of events to it, once/,
    ],
  ];
  for (const [form, says] of cases) assert.match(endpointSummary(new URLSearchParams(form)), says);
});

it('retries are told by how long they take, and how they end', () => {
  const exponential = { retryPolicy: 'exponential', maxAttempts: 20, retryDelaysSeconds: null } as const;
  assert.ok(Math.abs(retrySpanMs(exponential) / 86_400_000 - 2.58) < 0.05);
  assert.equal(retriesText(exponential), '20 attempts over about 2.5 days, then dead');
  assert.equal(retriesText({ ...exponential, retryPolicy: 'linear' }), '20 attempts over about 2 hours, then dead');
  assert.equal(
    retriesText({ retryPolicy: 'schedule', maxAttempts: 3, retryDelaysSeconds: [5, 300] }),
    '3 attempts, after 5 s, 5 min, over about 5 minutes, then dead',
  );
  assert.equal(retriesText({ ...exponential, maxAttempts: 1 }), 'one attempt, then dead');
});

it('a filter is a chip that says its condition, to screen readers too', () => {
  assert.equal(filterChip(null), null);
  const { markup } = filterChip({ 'data.total': { $gte: 250 } }) ?? assert.fail();
  assert.match(
    markup,
    /title="only if data\.total is at least 250".*>filtered<.*: only if data\.total is at least 250</s,
  );
});
