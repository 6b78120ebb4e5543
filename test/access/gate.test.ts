import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mintToken, tokenRowKey } from '../../src/domain/credential.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import type { Refusal } from '../../src/kernel/refusal.ts';
import { refused } from '../support/refusals.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { ACTOR, makeApplication, makeUser, openTestServices, type TestServices, tokenOf } from '../support/services.ts';
import { leavingNothing, NOW } from '../support/store.ts';

repeatsInSlowTier('postgres');

const challengeOf = ({ headers }: Refusal): string | undefined => headers['WWW-Authenticate'];

async function tokenFor(
  s: TestServices,
  scopes: readonly string[],
  user: Record<string, unknown> = {},
): Promise<string> {
  const { id } = await makeUser(s, { permissions: scopes, ...user });
  const { application, clientSecret } = await makeApplication(s, { userId: id, scopes });
  return tokenOf(s, application.clientId, clientSecret);
}

describe('the gate’s authentication', () => {
  it('returns the application and the user of a token', async (t) => {
    const s = await openTestServices(t);
    const user = await makeUser(s, { permissions: ['p:x'], constraints: { divisions: ['sales'] } });
    const { application, clientSecret } = await makeApplication(s, { userId: user.id, scopes: ['employees:view'] });
    const token = await tokenOf(s, application.clientId, clientSecret);
    for (const value of [`Bearer ${token}`, `bearer ${token}`, `BEARER   ${token} `]) {
      assert.deepEqual(await s.gate.authenticate([value]), {
        actor: `application:${application.id}`,
        applicationId: application.id,
        clientId: application.clientId,
        scope: ['employees:view'],
        userId: user.id,
        userName: user.userName,
        permissions: ['p:x'],
        customerId: null,
        role: 'service',
        constraints: { divisions: ['sales'] },
        expiresAt: NOW + 3_600_000,
      });
    }
  });

  it('asks for credentials without an error code if none were sent', async (t) => {
    const s = await openTestServices(t);
    const refusal = await refused(() => s.gate.authenticate([]), { code: 'unauthorized' });
    assert.deepEqual([refusal.status, challengeOf(refusal)], [401, 'Bearer']);
  });

  const invalid = (description: string): string => `Bearer error="invalid_token", error_description="${description}"`;
  const malformed: readonly [what: string, values: (token: string) => string[]][] = [
    ['another scheme', () => ['Basic YTpi']],
    ['no token', () => ['Bearer ']],
    ['an empty value', () => ['']],
    ['no scheme', (token) => [token]],
    ['no space', (token) => [`Bearer${token}`]],
    ['a tab for the space', (token) => [`Bearer\t${token}`]],
    ['two tokens', (token) => [`Bearer ${token} ${token}`]],
    ['two tokens with a comma', (token) => [`Bearer ${token}, Bearer ${token}`]],
    ['quotes', (token) => [`Bearer "${token}"`]],
    ['8 KiB of spaces before it', (token) => [`Bearer ${' '.repeat(8192)}${token}`]],
  ];
  for (const [what, values] of malformed) {
    it(`refuses a header with ${what}`, async (t) => {
      const s = await openTestServices(t);
      const token = await tokenFor(s, ['employees:view']);
      const refusal = await refused(() => s.gate.authenticate(values(token)), { code: 'invalid_token' });
      assert.equal(challengeOf(refusal), invalid('the Authorization header is not of the form Bearer <token>'));
    });
  }

  it('refuses two headers, even with the same token', async (t) => {
    const s = await openTestServices(t);
    const token = await tokenFor(s, ['employees:view']);
    const refusal = await refused(() => s.gate.authenticate([`Bearer ${token}`, `Bearer ${token}`]), {
      code: 'invalid_token',
    });
    assert.equal(challengeOf(refusal), invalid('the Authorization header was sent more than once'));
  });

  const worthless: readonly [what: string, spoil: (s: TestServices, token: string) => Promise<string> | string][] = [
    ['is unknown', () => mintToken(5, randomBytes)],
    ['was cut', (_, token) => token.slice(0, -1)],
    ['was lengthened', (_, token) => `${token}0`],
    ['has one letter changed', (_, token) => `${token.slice(0, 20)}${token[20] === 'a' ? 'b' : 'a'}${token.slice(21)}`],
    [
      'has the row of another and random bytes of its own',
      (_, token) => mintToken(tokenRowKey(token) ?? 0, randomBytes),
    ],
    ['is a client secret', async (s) => (await makeApplication(s)).clientSecret],
    [
      'has expired, to the millisecond',
      (s, token) => {
        s.advance(3_600_000);
        return token;
      },
    ],
    [
      'was revoked',
      async (s, token) => {
        const { applicationId } = await s.gate.authenticate([`Bearer ${token}`]);
        await s.store.tokens.revoke(tokenRowKey(token) ?? 0, applicationId);
        return token;
      },
    ],
    [
      'was revoked with all others',
      async (s, token) => {
        const { applicationId } = await s.gate.authenticate([`Bearer ${token}`]);
        await s.applications.revokeTokens(applicationId, ACTOR);
        return token;
      },
    ],
    [
      'is of an application that was switched off',
      async (s, token) => {
        const { applicationId } = await s.gate.authenticate([`Bearer ${token}`]);
        await s.applications.patch(applicationId, { active: false }, ACTOR);
        return token;
      },
    ],
    [
      'is of an application that was deleted',
      async (s, token) => {
        const { applicationId } = await s.gate.authenticate([`Bearer ${token}`]);
        await s.applications.remove(applicationId, ACTOR);
        return token;
      },
    ],
    [
      'is of a user that was switched off',
      async (s, token) => {
        const { userId } = await s.gate.authenticate([`Bearer ${token}`]);
        await s.users.patch(userId ?? '', { active: false }, ACTOR);
        return token;
      },
    ],
  ];
  for (const [what, spoil] of worthless) {
    it(`refuses a token that ${what}`, async (t) => {
      const s = await openTestServices(t);
      const token = await spoil(s, await tokenFor(s, ['employees:view']));
      const refusal = await refused(() => leavingNothing(s, () => s.gate.authenticate([`Bearer ${token}`])), {
        code: 'invalid_token',
      });
      assert.deepEqual(
        [refusal.status, challengeOf(refusal)],
        [401, invalid('the access token is unknown, expired or revoked')],
      );
    });
  }

  it('accepts a token until one millisecond before it expires', async (t) => {
    const s = await openTestServices(t);
    const token = await tokenFor(s, ['employees:view']);
    s.advance(3_599_999);
    assert.equal((await s.gate.authenticate([`Bearer ${token}`])).expiresAt, NOW + 3_600_000);
  });
});
