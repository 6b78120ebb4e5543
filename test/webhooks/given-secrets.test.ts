/** Secrets that are given (contract §4.8): white space or an invisible character at either end is refused by name, at every door alike. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { refusalOf } from '../support/client.ts';
import { created } from '../support/customers.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { startService } from '../support/service.ts';

const ENDS: readonly (readonly [end: string, name: string])[] = [
  [' ', 'a space'],
  ['\u00a0', 'a no-break space'],
  ['\ufeff', 'a byte order mark'],
  ['\u2028', 'U+2028'],
];
const URL = 'https://receiver.example/in';
const BASIC = { method: 'basic', userName: 'sallyport' };
const OAUTH = { clientId: 'me', tokenUrl: 'https://login.example/token' };

/** The secrets that may have any text, as they are set and as the form of the portal sends them. */
const FIELDS: readonly (readonly [
  field: string,
  body: (secret: string) => object,
  form: (secret: string) => Readonly<Record<string, string>>,
])[] = [
  ['secret', (secret) => ({ secret }), (secret) => ({ secret })],
  [
    'oauth.clientSecret',
    (clientSecret) => ({ oauth: { ...OAUTH, clientSecret } }),
    (secret) => ({
      'oauth.clientId': OAUTH.clientId,
      'oauth.tokenUrl': OAUTH.tokenUrl,
      'oauth.clientSecret': secret,
    }),
  ],
  [
    'authentication.password',
    (password) => ({ authentication: { ...BASIC, password } }),
    (secret) => ({
      'authentication.method': BASIC.method,
      'authentication.userName': BASIC.userName,
      'authentication.password': secret,
    }),
  ],
];

describe('a given secret', () => {
  it('that begins or ends with white space or an invisible character is refused with its name', async (t) => {
    const service = await startService(t);
    const { admin } = service;
    const { token } = await newSession(service, 'administrator');
    const kept = await created(admin, 'endpoints', {
      name: 'kept',
      url: URL,
      authentication: { ...BASIC, password: 'p' },
    });
    for (const [field, body, form] of FIELDS) {
      for (const [end, name] of ENDS) {
        for (const [secret, problem] of [
          [`${end}a b`, `must not begin with ${name}`],
          [`a b${end}`, `must not end with ${name}`],
        ] as const) {
          const sent = [admin.post('endpoints', { name: 'new', url: URL, ...body(secret) })];
          if (field === 'secret') sent.push(admin.post(`endpoints/${kept.id}/rotate-secret`, body(secret)));
          else sent.push(admin.patch(`endpoints/${kept.id}`, { authentication: null, ...body(secret) }));
          if (field.startsWith('authentication'))
            sent.push(admin.post(`endpoints/${kept.id}/rotate-authentication`, body(secret)));
          for (const one of sent) assert.deepEqual((await refusalOf(one, 400)).details, [{ field, problem }]);
          const page = await request(`${service.url}/endpoints/new`, {
            token,
            form: { name: 'new', url: URL, ...form(secret) },
          });
          assert.deepEqual([page.status, page.text.includes(problem)], [400, true], `${field}: ${page.text}`);
        }
      }
      // Within a secret each is a part of it.
      for (const [inside] of ENDS)
        await created(admin, 'endpoints', { name: 'good', url: URL, ...body(`a${inside}b`) } as never);
    }
  });
});
