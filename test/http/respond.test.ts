import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, it } from 'node:test';
import { loggedPath } from '../../src/http/respond.ts';

const logged = (url: string): string => loggedPath({ url } as IncomingMessage);
const TOKEN = 'spi_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf1sSE3A';

describe('the path in the log', () => {
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
    [`/elsewhere/${TOKEN}/x`, '/elsewhere/[secret]/x'],
    ['/x/sps_003aUlTJC7tj', '/x/[secret]'],
    ['/x/spt%5F003aUlTJC7tj', '/x/[secret]'],
    // A client id is no secret.
    ['/x/spc_000SYW7R', '/x/spc_000SYW7R'],
    [`/${'a'.repeat(600)}`, `/${'a'.repeat(499)}`],
  ];
  for (const [url, shown] of table) {
    it(`of ${url.slice(0, 60)} is ${shown.slice(0, 60)}`, () => assert.equal(logged(url), shown));
  }
});
