import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { originOf } from '../../src/kernel/url.ts';

describe('originOf', () => {
  const named: readonly (readonly [url: string, origin: string])[] = [
    ['https://shop.example/back?x=1', 'https://shop.example'],
    ['http://127.0.0.1:3000/', 'http://127.0.0.1:3000'],
    ['https://[2001:db8::1]:8443/', 'https://[2001:db8::1]:8443'],
    ['https://my_shop.example./', 'https://my_shop.example.'],
    ['https://Köln.example/', 'https://xn--kln-sna.example'],
    ['http://localhost', 'http://localhost'],
  ];
  for (const [url, origin] of named) it(`is ${origin} for ${url}`, () => assert.equal(originOf(new URL(url)), origin));

  // Each of these is a URL, and its host would mean something else in a Content-Security-Policy.
  for (const url of ['https://*/', 'https://*.example/', "https://a;script-src'self'/", 'https://a,b/', 'data:,x']) {
    it(`is null for ${url}`, () => assert.equal(originOf(new URL(url)), null));
  }
});
