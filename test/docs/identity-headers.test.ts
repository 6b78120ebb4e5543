/** Every example and page that lists the identity headers of forward auth lists exactly those that Sallyport sends (contract §3.5). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { IDENTITY_HEADERS } from '../../src/http/routes/forward-auth.ts';

const expected = IDENTITY_HEADERS.map((name) => name.toLowerCase()).sort();

/** The lists of each file: what the first group of the pattern matches, once for each header. */
const LISTS: readonly (readonly [file: string, what: string, pattern: RegExp])[] = [
  ['docs/examples/nginx.conf', 'what the answer sets', /^ *auth_request_set \$\S+ \$upstream_http_(x_auth_\w+);$/gm],
  ['docs/examples/nginx.conf', 'what the API gets', /^ *proxy_set_header (X-Auth-\S+) \$auth_\w+;$/gm],
  ['docs/examples/Caddyfile', 'what the API gets', /(?<=^\s*copy_headers .*)(X-Auth-\S+)/gm],
  ['docs/examples/envoy.yaml', 'what a client must not set', /^ *- remove: (x-auth-\S+)$/gm],
  ['docs/how-to/forward-auth.md', 'the table', /^\| `(X-Auth-[\w-]+)` \|/gm],
  ['docs/contract.md', 'the answer', /^\| `(X-Auth-[\w-]+)` \|/gm],
];

function read(file: string): string {
  return readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
}

describe('the identity headers of forward auth', () => {
  for (const [file, what, pattern] of LISTS) {
    it(`are all in ${file}: ${what}`, () => {
      const found = [...read(file).matchAll(pattern)].map(([, name = '']) => name.toLowerCase().replaceAll('_', '-'));
      assert.deepEqual(found.sort(), expected);
    });
  }

  it('match the patterns by which Traefik and Envoy copy them', () => {
    assert.match(read('docs/how-to/forward-auth.md'), /^ *authResponseHeadersRegex: '\^X-Auth-'$/m);
    assert.match(read('docs/how-to/forward-auth.md'), /^ *aliasHeadersStrategy: reject$/m);
    assert.match(read('docs/examples/envoy.yaml'), /^ *- \{ prefix: x-auth-, ignore_case: true \}$/m);
    assert.deepEqual(
      IDENTITY_HEADERS.filter((name) => !/^X-Auth-/.test(name)),
      [],
    );
  });
});
