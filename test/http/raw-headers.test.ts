import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allHeaders, firstHeader, hasBody } from '../../src/http/raw-headers.ts';

const sent = (...rawHeaders: string[]) => ({ rawHeaders });

describe('headers as they were sent', () => {
  it('are found whatever their case, and only by their whole name', () => {
    const request = sent('Host', 'a', 'X-AUTHORIZATION', 'no', 'aUtHoRiZaTiOn', 'Bearer x', 'Authorizatio', 'no');
    assert.equal(firstHeader(request, 'authorization'), 'Bearer x');
    assert.equal(firstHeader(request, 'host'), 'a');
    assert.equal(firstHeader(request, 'cookie'), undefined);
    assert.deepEqual(allHeaders(request, 'cookie'), []);
  });

  it('are all given where one was sent several times, the first one first', () => {
    const request = sent('Authorization', 'one', 'authorization', 'two');
    assert.equal(firstHeader(request, 'authorization'), 'one');
    assert.deepEqual(allHeaders(request, 'authorization'), ['one', 'two']);
  });

  it('are not looked for among values', () => {
    assert.equal(firstHeader(sent('X-A', 'host', 'X-B', 'b'), 'host'), undefined);
  });

  const bodies: readonly [what: string, headers: readonly string[], has: boolean][] = [
    ['nothing', [], false],
    ['a length of 0', ['Content-Length', '0'], false],
    ['a length', ['content-length', '7'], true],
    ['a transfer coding', ['Transfer-Encoding', 'chunked'], true],
  ];
  for (const [what, headers, has] of bodies) {
    it(`tell a request with ${what} as one ${has ? 'with' : 'without'} a body`, () => {
      assert.equal(hasBody(sent(...headers)), has);
    });
  }
});
