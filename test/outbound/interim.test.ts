import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createHeadFilter, INTERIM_ANSWERS_MAX, INTERIM_HEADS_BYTES } from '../../src/outbound/incoming.ts';

/** The bytes that the parser gets of a response that arrives in these pieces. */
function passed(pieces: readonly string[], filter = createHeadFilter()): string {
  filter.begin();
  let text = '';
  for (const piece of pieces) {
    const rest = filter.pass(Buffer.from(piece, 'latin1'));
    if (rest === 'too many' || rest === 'too large') return rest;
    text += rest === null ? '' : Buffer.from(rest).toString('latin1');
  }
  return text;
}

const FINAL = 'HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\nHTTP/1.1 103 in a body.';
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nX: y\r\n\r\n';

test('the parser sees only the final response, after any interim responses', () => {
  const table: readonly (readonly [sent: string, seen: string])[] = [
    [FINAL, FINAL],
    [`HTTP/1.1 100 Continue\r\n\r\n${FINAL}`, FINAL],
    [`HTTP/1.0 100 \r\n\r\n${FINAL}`, FINAL],
    [`HTTP/1.1 199\r\n\r\n${FINAL}`, FINAL],
    [HINTS + HINTS + FINAL, FINAL],
    [`\r\n\r\n${HINTS}\r\n${FINAL}`, FINAL],
    [`HTTP/1.1 102 Processing\nA: b\n\n${FINAL}`, FINAL],
    ['HTTP/1.1 101 Switching Protocols\r\n\r\nx', 'HTTP/1.1 101 Switching Protocols\r\n\r\nx'],
    ['garbage', 'garbage'],
    ['HTTP/1.1 099 Below\r\n\r\n', 'HTTP/1.1 099 Below\r\n\r\n'],
    ['HTTP/1.1 1xx\r\n\r\n', 'HTTP/1.1 1xx\r\n\r\n'],
    ['http/1.1 103 x\r\n\r\n', 'http/1.1 103 x\r\n\r\n'],
    [HINTS, ''],
  ];
  for (const [sent, seen] of table) assert.equal(passed([sent]), seen, JSON.stringify(sent));
});

test('how an answer is cut into pieces changes nothing', () => {
  const heads = fc.array(fc.constantFrom(HINTS, 'HTTP/1.1 100 Continue\r\n\r\n', '\r\n', 'HTTP/1.1 110\n\n'), {
    maxLength: 8,
  });
  const ends = fc.constantFrom(FINAL, 'HTTP/1.1 204 No Content\r\n\r\n', 'HTTP/2 200\r\n\r\n', 'no HTTP at all', '');
  fc.assert(
    fc.property(heads, ends, fc.array(fc.nat(400), { maxLength: 20 }), (interim, end, cuts) => {
      const sent = interim.join('') + end;
      const at = [0, ...cuts.filter((cut) => cut < sent.length).sort((a, b) => a - b), sent.length];
      const pieces = at.slice(1).map((to, i) => sent.slice(at[i], to));
      assert.equal(passed(pieces), end);
    }),
  );
});

test('the count of interim responses begins again with each request on a connection', () => {
  const filter = createHeadFilter();
  const sent = HINTS.repeat(INTERIM_ANSWERS_MAX) + FINAL;
  for (let i = 0; i < 3; i += 1) assert.equal(passed([sent], filter), FINAL);
});

test('the bounds: sixteen interim answers, and 16 KiB of their heads', () => {
  assert.equal(passed([HINTS.repeat(INTERIM_ANSWERS_MAX) + FINAL]), FINAL);
  assert.equal(passed([HINTS.repeat(INTERIM_ANSWERS_MAX + 1) + FINAL]), 'too many');
  const head = (bytes: number): string => {
    const [begin, end] = ['HTTP/1.1 103 x\r\nA: ', '\r\n\r\n'];
    return begin + 'b'.repeat(bytes - begin.length - end.length) + end;
  };
  assert.equal(passed([head(INTERIM_HEADS_BYTES) + FINAL]), FINAL);
  assert.equal(passed([head(INTERIM_HEADS_BYTES + 1) + FINAL]), 'too many');
  assert.equal(passed(['HTTP/1.1 103 x\r\n', ...Array<string>(2000).fill('Name: value\r\n')]), 'too many');
  assert.equal(passed(Array<string>(10_000).fill('\r\n')), 'too many');
});

test('bytes that belong to no request pass as they are, so that the client refuses them', () => {
  const filter = createHeadFilter();
  const bytes = Buffer.from(HINTS);
  assert.equal(filter.pass(bytes), bytes);
});
