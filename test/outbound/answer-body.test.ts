/** Where the body of a response ends. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { announcesForbiddenBody, type BodyProgress, bodyAfter } from '../../src/outbound/answer-body.ts';
import { readHead } from '../../src/outbound/answer-head.ts';

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

type Read = { readonly content: string; readonly progress: BodyProgress };

/** Reads these pieces until the body ends. */
function read(head: string, pieces: readonly string[]): Read {
  const body = bodyAfter(readHead(head)).read;
  let content = '';
  let progress: BodyProgress = 'more';
  for (const piece of pieces) {
    assert.equal(progress, 'more');
    progress = body(Buffer.from(piece, 'latin1'), (part) => (content += Buffer.from(part).toString('latin1')));
  }
  return { content, progress };
}

test('a body ends after its length, after the last chunk and its trailers, or with the connection', () => {
  const table: readonly (readonly [head: string, body: string, content: string, progress: BodyProgress])[] = [
    [`${OK}Content-Length: 3\r\n\r\n`, 'abc', 'abc', 'end'],
    [`${OK}Content-Length: 3\r\n\r\n`, 'ab', 'ab', 'more'],
    [`${OK}Content-Length: 3\r\n\r\n`, 'abcHTTP', 'abc', 'beyond'],
    [`${OK}Content-Length: 0\r\n\r\n`, '', '', 'end'],
    [CHUNKED, '3\r\nabc\r\n0\r\n\r\n', 'abc', 'end'],
    [CHUNKED, 'A;name="x"\r\n0123456789\r\n1 \r\nx\r\n00\r\nT: u\r\n\r\n', '0123456789x', 'end'],
    [CHUNKED, '0\r\n\r\nHTTP', '', 'beyond'],
    [CHUNKED, '3\r\nabc\r\n', 'abc', 'more'],
    [OK.concat('\r\n'), 'abc', 'abc', 'more'],
    [`${OK}Transfer-Encoding: gzip\r\n\r\n`, 'abc', 'abc', 'more'],
    ['HTTP/1.1 204 No\r\nContent-Length: 3\r\n\r\n', '', '', 'end'],
    ['HTTP/1.1 304 No\r\nTransfer-Encoding: chunked\r\n\r\n', 'x', '', 'beyond'],
  ];
  for (const [head, body, content, progress] of table)
    assert.deepEqual(read(head, [body]), { content, progress }, JSON.stringify([head, body]));
  const ends = [OK.concat('\r\n'), CHUNKED].map((head) => bodyAfter(readHead(head)).endsWithConnection);
  assert.deepEqual(ends, [true, false]);
});

test('a chunk that violates HTTP is a problem', () => {
  for (const body of [
    'zz\r\n',
    '\r\n',
    ';\r\n',
    '1\nx',
    '1;a\nx',
    '1\r\nxy\r\n',
    '1\r\nx\n',
    '1\rx',
    '0\r\n\rx',
    `${'f'.repeat(13)}\r\n`,
  ])
    assert.equal(typeof read(CHUNKED, [body]).progress, 'object', JSON.stringify(body));
});

test('how a body is cut into pieces changes nothing', () => {
  const chunk = fc.tuple(fc.stringMatching(/^[a-z\r\n]{1,30}$/), fc.constantFrom('', ';a=b', ' ', ';'));
  fc.assert(
    fc.property(
      fc.array(chunk, { maxLength: 5 }),
      fc.constantFrom('', 'T: u\r\n'),
      fc.array(fc.nat(200)),
      (chunks, trailer, cuts) => {
        const parts = chunks.map(([text, extension]) => `${text.length.toString(16)}${extension}\r\n${text}\r\n`);
        const sent = `${parts.join('')}0\r\n${trailer}\r\n`;
        const at = [0, ...cuts.filter((cut) => cut < sent.length).sort((a, b) => a - b), sent.length];
        const pieces = at.slice(1).map((to, i) => sent.slice(at[i], to));
        assert.deepEqual(read(CHUNKED, pieces), { content: chunks.map(([text]) => text).join(''), progress: 'end' });
      },
    ),
  );
});

test('a connection is used again if the head allows it', () => {
  const table: readonly (readonly [head: string, isPersistent: boolean])[] = [
    [`${OK}\r\n`, true],
    [`${OK}Connection: close\r\n\r\n`, false],
    [`${OK}Connection: a, Close\r\n\r\n`, false],
    [`${OK}Connection: keep-alive\r\n\r\n`, true],
    ['HTTP/1.0 200 OK\r\n\r\n', false],
    ['HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n\r\n', true],
  ];
  for (const [head, isPersistent] of table) assert.equal(readHead(head).isPersistent, isPersistent, head);
  const announcing = [
    '204 No\r\nContent-Length: 3',
    '304 No\r\nTransfer-Encoding: chunked',
    '204 No\r\nContent-Length: 0',
    '204 No',
    '200 OK\r\nContent-Length: 3',
  ];
  assert.deepEqual(
    announcing.map((text) => announcesForbiddenBody(readHead(`HTTP/1.1 ${text}\r\n\r\n`))),
    [true, true, false, false, false],
  );
});
