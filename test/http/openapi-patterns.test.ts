/** Patterns of the OpenAPI document use only syntax that ECMAScript, RE2 and Python read in the same way. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiDocument } from '../support/openapi-document.ts';
import { patternsIn } from '../support/openapi-patterns.ts';
import { describedOnce, startDescribedService } from '../support/openapi-service.ts';

/** Syntax that RE2 lacks or reads differently: https://github.com/google/re2/wiki/Syntax. */
const FOREIGN: readonly (readonly [what: string, found: RegExp])[] = [
  ['look-around', /\(\?(?:[=!]|<[=!])/],
  ['a backreference', /\\(?:[1-9]|k<)/],
  ['an escape by code point, other than \\xHH', /\\(?:u|c[A-Za-z]|x(?![0-9a-f]{2}))/],
  ['a property of Unicode', /\\p/i],
  ['a class whose members differ between engines', /\\[sSwWdDbB]/],
  ['more than 1,000 repeats', /\{(?:\d+,)?(?:100[1-9]|10[1-9]\d|1[1-9]\d\d|[2-9]\d{3}|\d{5,})\}/],
  ['a named group', /\(\?(?:P?<[A-Za-z])/],
];

describe('the patterns of the OpenAPI document', () => {
  it('use only syntax that RE2 has and reads the same way, and compile with the flag u', async (t) => {
    const patterns = patternsIn((await describedOnce(t)).document);
    assert.ok(patterns.length > 10);
    for (const [what, found] of FOREIGN)
      assert.deepEqual(
        patterns.filter((pattern) => found.test(pattern)),
        [],
        what,
      );
    for (const pattern of patterns) assert.ok(new RegExp(pattern, 'u'), pattern);
  });

  it('are distinguished by these rules', () => {
    const foreign = [
      'a(?!b)',
      'a(?<=b)',
      '(a)\\1',
      '\\u00e9',
      '\\x{41}',
      '\\p{Cc}',
      '\\s',
      'a{0,1001}',
      'a{2000}',
      '(?<n>a)',
    ];
    for (const pattern of foreign)
      assert.ok(
        FOREIGN.some(([, found]) => found.test(pattern)),
        pattern,
      );
    for (const pattern of ['a{0,1000}', '(?:a|b)', '\\x1f', '\\.'])
      assert.ok(!FOREIGN.some(([, found]) => found.test(pattern)), pattern);
  });
});

type Asked = {
  /** The schema, and the path of the text in it. */
  readonly schema: string;
  readonly field: string;
  readonly path: string;
  body(text: string): object;
  readonly taken: readonly string[];
  readonly refused: readonly string[];
  /** Allowed by the pattern, and refused for a reason that a pattern cannot express. */
  readonly beyond?: readonly string[];
};

const ENDPOINT = { name: 'a', url: 'https://receiver.example/' };
const OAUTH = { clientId: 'a', clientSecret: 'a', tokenUrl: 'https://issuer.example/' };
const RULE = { methods: ['GET'], path: '/services/api/x/a', scope: 'a:b' };
const URLS = {
  taken: [
    'https://a.example',
    'https://a.example/b?c=d',
    'https://a.example:65535/',
    'https://a.example:10443?x',
    'HTTPS://A.Example/B',
    'https://93.184.216.34/',
    'https://[2606:2800:220:1:248:1893:25c8:1946]:8443/',
    'https://bücher.example/straße',
    'https://shop1/',
    'https://a_b.example./',
    'https://a.example/|^`{}"<>[]',
  ],
  refused: [
    '',
    'http://a.example/',
    'https://',
    'https:a.example',
    'https://a.example:0/',
    'https://a.example:65536/',
    'https://a.example:/',
    'https://a.example/#b',
    'https://a@b.example/',
    'https://a.example/ ',
    'https://a b/',
    'https://a.example\\b',
    'https://a.example/\\b',
    'https://a%2eexample/',
    '/a',
    'https://a.example/\n',
    'https://a.example:70000/',
  ],
  beyond: ['https://a.example/\u200b', 'https://10.1.2.3/', 'https://1572395042/', 'https://ｒeceiver.example/'],
};

const ASKED: readonly Asked[] = [
  { schema: 'EndpointInput', field: 'url', path: 'endpoints', body: (url) => ({ ...ENDPOINT, url }), ...URLS },
  {
    schema: 'EndpointInput',
    field: 'oauth.tokenUrl',
    path: 'endpoints',
    ...URLS,
    body: (tokenUrl) => ({ ...ENDPOINT, oauth: { ...OAUTH, tokenUrl } }),
  },
  {
    schema: 'EndpointInput',
    field: 'oauth.clientId',
    path: 'endpoints',
    body: (clientId) => ({ ...ENDPOINT, oauth: { ...OAUTH, clientId } }),
    taken: ['a', ' a!~ ', 'x'.repeat(512)],
    refused: ['', 'a:b', 'ü', 'a\n', 'x'.repeat(513)],
  },
  {
    schema: 'EndpointInput',
    field: 'oauth.clientSecret',
    path: 'endpoints',
    body: (clientSecret) => ({ ...ENDPOINT, oauth: { ...OAUTH, clientSecret } }),
    taken: ['a', 'a b', 'ü😀', 'a:b'],
    refused: ['', ' a', 'a ', 'a\n', '\ufeffa', 'a\u0000b', 'a\nb', 'a\u3000'],
  },
  {
    schema: 'EndpointInput',
    field: 'secret',
    path: 'endpoints',
    body: (secret: string) => ({ ...ENDPOINT, secret }),
    taken: ['a', 'a b', 'a\nb', 'ü😀', 'whsec_YWJj'],
    refused: ['', ' ', ' a', 'a ', 'a\n', 'a\r\n', '\ta', '\ufeffa', 'a\u00a0', 'a\u200b'],
    beyond: ['whsec_abc', 'a\u0000b'],
  },
  {
    schema: 'EndpointInput',
    field: 'apiKey',
    path: 'endpoints',
    body: (apiKey: string) => ({ ...ENDPOINT, apiKey }),
    taken: ['0123456789abcdefABCDEF0123456789'],
    refused: [
      '',
      '0123456789abcdefABCDEF012345678',
      '0123456789abcdefABCDEF012345678g',
      '0123456789abcdefABCDEF0123456789\n',
    ],
  },
  {
    schema: 'EndpointInput',
    field: 'name',
    path: 'endpoints',
    body: (name: string) => ({ ...ENDPOINT, name }),
    taken: ['a', 'a b', 'ü😀', '=1', 'a\u2027b'],
    refused: ['', ' a', 'a ', 'a\nb', '\ufeffa', 'a\u0085'],
  },
  {
    schema: 'ProductInput',
    field: 'rules[0].path',
    path: 'products',
    body: (path) => ({ name: 'a', scopes: [{ name: 'a:b' }], rules: [{ ...RULE, path }] }),
    taken: [
      '/a',
      '/.well-known/a',
      '/a/{b}/{c*}',
      '/a:b@c',
      '/...',
      '/..a/.b',
      '/%C3%A4',
      '/a%20b',
      "/!$&'()*+,=",
      '/{a}',
      '/a.b/~c_-',
    ],
    refused: [
      '',
      'a',
      '/',
      '//a',
      '/a/',
      '/.',
      '/../a',
      '/{a*}/b',
      '/a{b}',
      '/{1}',
      '/{}',
      '/%41',
      '/%2f',
      '/%2F',
      '/a b',
      '/ä',
      '/a%',
      '/a;b',
      '/a?b',
      '/a#b',
      '/%c3%a4',
      '/%40',
      '/a\n',
    ],
    beyond: ['/{a}/{a}', '/%C3'],
  },
  {
    schema: 'ProductInput',
    field: 'rules[0].methods[0]',
    path: 'products',
    body: (method) => ({ name: 'a', scopes: [{ name: 'a:b' }], rules: [{ ...RULE, methods: [method] }] }),
    taken: ['GET', 'M-SEARCH'],
    refused: ['', '*', 'get', '-A', 'A B', 'GET\n', 'Ä'],
  },
  {
    schema: 'ProductInput',
    field: 'scopes[0].name',
    path: 'products',
    body: (name) => ({ name: 'a', scopes: [{ name }] }),
    taken: ['a:b', 'A.b_c/d-9:e'],
    refused: ['', 'a', ':a', 'a:', 'a:b:c', 'a b:c', 'ä:b', 'a:b\n'],
  },
  {
    schema: 'ProductInput',
    field: 'rules[0].permission',
    path: 'products',
    body: (permission) => ({ name: 'a', scopes: [{ name: 'a:b' }], rules: [{ ...RULE, permission }] }),
    taken: ['a:b', 'a'],
    refused: ['', 'a b', 'ä', 'a\n'],
  },
  {
    schema: 'EventTypeInput',
    field: 'name',
    path: 'event-types',
    body: (name: string) => ({ name }),
    taken: ['a.b', 'a1_-.b1_-'],
    refused: ['', 'a', 'A.b', 'a.b.c', '1.b', 'a.b\n', 'a.ü'],
  },
];

describe('what a pattern of a request says', () => {
  it('is what the service does', async (t) => {
    const { document, admin } = await startDescribedService(t);
    for (const { schema, field, path, body, taken, refused, beyond = [] } of ASKED) {
      const allows = (text: string): boolean => new RegExp(patternOf(document, schema, field), 'u').test(text);
      const takes = async (text: string): Promise<boolean> => {
        const { status, body: answer } = await admin.post(path, body(text));
        assert.ok(status === 201 || status === 400 || status === 409, `${text}: ${status}`);
        const { error } = answer as { error?: { details?: readonly { field: string }[] | null } };
        return status !== 400 || error?.details?.every((detail) => detail.field !== field) === true;
      };
      for (const text of taken)
        assert.deepEqual([field, text, allows(text), await takes(text)], [field, text, true, true]);
      for (const text of beyond)
        assert.deepEqual([field, text, allows(text), await takes(text)], [field, text, true, false]);
      for (const text of refused) {
        assert.deepEqual([field, text, await takes(text)], [field, text, false]);
        // A length is a bound of its own.
        assert.ok(text === '' || text.length > 500 || !allows(text), JSON.stringify(text));
      }
    }
  });
});

/** The pattern of a field such as `rules[0].path`. */
function patternOf(document: ApiDocument, schema: string, field: string): string {
  type Node = { readonly [name: string]: Node } & {
    readonly pattern?: string;
    readonly anyOf?: readonly Node[];
    readonly $ref?: string;
  };
  const { schemas } = document.components as unknown as { readonly schemas: Readonly<Record<string, Node>> };
  const opened = (node: Node | undefined): Node => {
    if (node?.$ref !== undefined) return opened(schemas[node.$ref.split('/').at(-1) ?? '']);
    return node?.anyOf === undefined ? (node as Node) : opened(node.anyOf[0]);
  };
  let at = opened(schemas[schema]);
  for (const step of field.replaceAll('[0]', '.items').split('.'))
    at = opened(step === 'items' ? (at.items as Node) : at.properties?.[step]);
  const { pattern } = at;
  assert.ok(typeof pattern === 'string', `${schema}.${field} has no pattern`);
  return pattern;
}
