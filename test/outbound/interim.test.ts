import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createHeadReader, INTERIM_ANSWERS_MAX, INTERIM_HEADS_BYTES } from '../../src/outbound/incoming.ts';

/** The status of the response that arrives in these pieces, with its body; or why it has none; null while its head is not complete. */
function read(pieces: readonly string[]): string | null {
  const reader = createHeadReader();
  for (const [at, piece] of pieces.entries()) {
    const found = reader.read(Buffer.from(piece, 'latin1'));
    if (found === null) continue;
    if (typeof found === 'string') return found;
    const more = pieces.slice(at + 1).join('');
    return `${found.head.status} ${Buffer.from(found.rest).toString('latin1')}${more}`;
  }
  return null;
}

const FINAL = 'HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\nHTTP/1.1 103 in a body.';
const SEEN = '200 HTTP/1.1 103 in a body.';
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nX: y\r\n\r\n';

test('only the final response counts, after any interim responses', () => {
  const table: readonly (readonly [sent: string, seen: string | null])[] = [
    [FINAL, SEEN],
    [`HTTP/1.1 100 Continue\r\n\r\n${FINAL}`, SEEN],
    [`HTTP/1.0 100 \r\n\r\n${FINAL}`, SEEN],
    [`HTTP/1.1 199\r\n\r\n${FINAL}`, SEEN],
    [HINTS + HINTS + FINAL, SEEN],
    [`\r\n\r\n${HINTS}\r\n${FINAL}`, SEEN],
    [`HTTP/1.1 102 Processing\nA: b\n\n${FINAL}`, SEEN],
    ['HTTP/1.1 101 Switching Protocols\r\n\r\nx', 'other protocol'],
    ['garbage', 'not HTTP'],
    ['HTTP/1.1 099 Below\r\n\r\n', 'no status'],
    ['HTTP/1.1 1xx\r\n\r\n', 'not HTTP'],
    ['http/1.1 103 x\r\n\r\n', 'not HTTP'],
    [HINTS, null],
  ];
  for (const [sent, seen] of table) assert.equal(read([sent]), seen, JSON.stringify(sent));
});

test('how an answer is cut into pieces changes nothing', () => {
  const heads = fc.array(fc.constantFrom(HINTS, 'HTTP/1.1 100 Continue\r\n\r\n', '\r\n', 'HTTP/1.1 110\n\n'), {
    maxLength: 8,
  });
  const ends = fc.constantFrom<readonly [string, string | null]>(
    [FINAL, SEEN],
    ['HTTP/1.1 204 No Content\r\n\r\n', '204 '],
    ['HTTP/2 200\r\n\r\n', 'not HTTP'],
    ['no HTTP at all', 'not HTTP'],
    ['', null],
  );
  fc.assert(
    fc.property(heads, ends, fc.array(fc.nat(400), { maxLength: 20 }), (interim, [end, seen], cuts) => {
      const sent = interim.join('') + end;
      const at = [0, ...cuts.filter((cut) => cut < sent.length).sort((a, b) => a - b), sent.length];
      const pieces = at.slice(1).map((to, i) => sent.slice(at[i], to));
      assert.equal(read(pieces), seen);
    }),
  );
});

test('the bounds: sixteen interim answers, and 16 KiB of their heads', () => {
  assert.equal(read([HINTS.repeat(INTERIM_ANSWERS_MAX) + FINAL]), SEEN);
  assert.equal(read([HINTS.repeat(INTERIM_ANSWERS_MAX + 1) + FINAL]), 'too many interim');
  const head = (bytes: number): string => {
    const [begin, end] = ['HTTP/1.1 103 x\r\nA: ', '\r\n\r\n'];
    return begin + 'b'.repeat(bytes - begin.length - end.length) + end;
  };
  assert.equal(read([head(INTERIM_HEADS_BYTES) + FINAL]), SEEN);
  assert.equal(read([head(INTERIM_HEADS_BYTES + 1) + FINAL]), 'too many interim');
  assert.equal(read(['HTTP/1.1 103 x\r\n', ...Array<string>(2000).fill('Name: value\r\n')]), 'too many interim');
  assert.equal(read(Array<string>(10_000).fill('\r\n')), 'too many interim');
});
