import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, it } from 'node:test';
import { allHeaders, firstHeader, hasBody, loggedPath } from '../../src/http/request.ts';

const sent = (...rawHeaders: string[]) => ({ rawHeaders });

describe('request headers', () => {
  it('are found in upper or lower case, by their whole name only', () => {
    const request = sent('Host', 'a', 'X-AUTHORIZATION', 'no', 'aUtHoRiZaTiOn', 'Bearer x', 'Authorizatio', 'no');
    assert.equal(firstHeader(request, 'authorization'), 'Bearer x');
    assert.equal(firstHeader(request, 'host'), 'a');
    assert.equal(firstHeader(request, 'cookie'), undefined);
    assert.deepEqual(allHeaders(request, 'cookie'), []);
  });

  it('are all returned if sent several times, in order', () => {
    const request = sent('Authorization', 'one', 'authorization', 'two');
    assert.equal(firstHeader(request, 'authorization'), 'one');
    assert.deepEqual(allHeaders(request, 'authorization'), ['one', 'two']);
  });

  it('are not searched for among values', () => {
    assert.equal(firstHeader(sent('X-A', 'host', 'X-B', 'b'), 'host'), undefined);
  });

  const bodies: readonly [what: string, headers: readonly string[], has: boolean][] = [
    ['nothing', [], false],
    ['a length of 0', ['Content-Length', '0'], false],
    ['a length', ['content-length', '7'], true],
    ['a transfer coding', ['Transfer-Encoding', 'chunked'], true],
  ];
  for (const [what, headers, has] of bodies) {
    it(`say that a request with ${what} has ${has ? 'a' : 'no'} body`, () => {
      assert.equal(hasBody(sent(...headers)), has);
    });
  }
});

const logged = (url: string): string => loggedPath({ url } as IncomingMessage);
const TOKEN = 'spi_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf1sSE3A';

describe('loggedPath', () => {
  const table: readonly [url: string, shown: string][] = [
    ['/', '/'],
    ['/services/api/x/edge/v1/users', '/services/api/x/edge/v1/users'],
    ['/livez?token=spt_1', '/livez'],
    ['/a??b', '/a'],
    [`/invitations/${TOKEN}`, '/invitations/[secret]'],
    [`/invitations/${TOKEN}?x`, '/invitations/[secret]'],
    [`/invitations/${TOKEN}/more`, '/invitations/[secret]'],
    [`//invitations//${TOKEN}`, '//invitations//[secret]'],
    [`/Invitations/${TOKEN}`, '/Invitations/[secret]'],
    [`/invitations%2F${TOKEN}`, '/invitations%2F[secret]'],
    ['/invitations/%73%70%69%5F003aUl', '/invitations/[secret]'],
    ['/invitations/anything', '/invitations/[secret]'],
    ['/invitations', '/invitations'],
    ['/portal-links/kq4Zc0', '/portal-links/[secret]'],
    ['/portal-links/kq4Zc0/more?x', '/portal-links/[secret]'],
    ['/Portal-Links%2fkq4Zc0', '/Portal-Links%2f[secret]'],
    ['/services/api/x/edge/v1/customers/1/portal-links', '/services/api/x/edge/v1/customers/1/portal-links'],
    [`/elsewhere/${TOKEN}/x`, '/elsewhere/[secret]/x'],
    ['/x/sps_003aUlTJC7tj', '/x/[secret]'],
    ['/x/spt%5F003aUlTJC7tj', '/x/[secret]'],
    ['/x/spp_003aUlTJC7tj', '/x/[secret]'],
    // A client id is not a secret.
    ['/x/spc_000SYW7R', '/x/spc_000SYW7R'],
    [`/${'a'.repeat(600)}`, `/${'a'.repeat(499)}`],
  ];
  for (const [url, shown] of table) {
    it(`shows ${url.slice(0, 60)} as ${shown.slice(0, 60)}`, () => assert.equal(logged(url), shown));
  }
});
