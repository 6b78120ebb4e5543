/** A revocation ends every token that exists when it is written, also beside other writers, but no credentials. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { ClientCredentials } from '../../src/access/tokens.ts';
import type { Application } from '../../src/domain/application.ts';
import { hashCredential, mintToken } from '../../src/domain/credential.ts';
import type { Call } from '../../src/http/route.ts';
import type { ClientAuthentication } from '../../src/http/routes/client-authentication.ts';
import { tokenRoutes } from '../../src/http/routes/token.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import { StaleWrite } from '../../src/store/port/errors.ts';
import { holdLock } from '../support/lock-holder.ts';
import { refused } from '../support/refusals.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR, makeApplication, openTestServices, type TestServices } from '../support/services.ts';
import { leavingNothing, onSqlite } from '../support/store.ts';

repeats('postgres');

type Holder = {
  readonly s: TestServices;
  readonly application: Application;
  readonly credentials: ClientCredentials;
};

async function startHolding(t: TestContext): Promise<Holder> {
  const s = await openTestServices(t);
  const { application, clientSecret } = await makeApplication(s, { scopes: ['employees:view'] });
  return { s, application, credentials: { clientId: application.clientId, clientSecret } };
}

/** A token with this row key, and the statement with which another process issues it. */
function tokenAt(key: number, { id }: Application): { readonly token: string; readonly sql: string } {
  const token = mintToken(key, randomBytes);
  const hash = hashCredential(token).toString('hex');
  const sql = `INSERT INTO access_token VALUES (${key}, x'${hash}', '${id}', 'employees:view', 9007199254740991)`;
  return { token, sql };
}

/** Issues a token at its endpoint. `between` runs between the check of the credentials and the token. */
async function issue(
  { s, credentials }: Holder,
  between: () => unknown,
): Promise<{ access_token: string; scope: string }> {
  const authentication: ClientAuthentication = {
    client: async () => {
      const client = await s.tokens.authenticate(credentials);
      await between();
      return client;
    },
  };
  const [route] = tokenRoutes({ tokens: s.tokens, authentication });
  const call = { body: { grantType: 'client_credentials' }, mediaType: 'application/json' } as unknown as Call;
  return (await route?.respond(call))?.body as { access_token: string; scope: string };
}

const enter = ({ s }: Holder, token: string) => s.gate.authenticate([`Bearer ${token}`]);
const watermark = async ({ s, application }: Holder): Promise<number> =>
  (await s.applications.get(application.id)).tokensRevokedThrough;

describe('a revocation that waits for its commit', () => {
  const ways: readonly [what: string, revoke: (holder: Holder) => Promise<unknown>][] = [
    ['revoking tokens', ({ s, application }) => s.applications.revokeTokens(application.id, ACTOR)],
    [
      'a new secret with it',
      ({ s, application }) => s.applications.regenerateSecret(application.id, { revokeTokens: true }, ACTOR),
    ],
    [
      'switching the application off and on',
      async ({ s, application: { id } }) => {
        await s.applications.patch(id, { active: false }, ACTOR);
        await s.applications.patch(id, { active: true }, ACTOR);
      },
    ],
    [
      'switching the user off and on',
      async ({ s, application: { userId } }) => {
        await s.users.patch(userId, { active: false }, ACTOR);
        await s.users.patch(userId, { active: true }, ACTOR);
      },
    ],
  ];
  for (const [what, revoke] of ways) {
    onSqlite(
      `ends everything that another process issued in the meantime, whose keys are above its own: ${what}`,
      async (t) => {
        const holder = await startHolding(t);
        const { s, application } = holder;
        const { token, sql } = tokenAt(s.ids.rowKey() + 10_000_000, application);
        const other = await holdLock(t, s.path, sql);
        const revoked = revoke(holder);
        await other.release();
        await revoked;
        await refused(() => enter(holder, token), { code: 'invalid_token' });
      },
    );
  }

  it('does not touch other changes of the application and its user: they end no token', async (t) => {
    const holder = await startHolding(t);
    const { s, application, credentials } = holder;
    const { accessToken } = await s.tokens.issue(await s.tokens.authenticate(credentials), undefined);
    await s.applications.patch(application.id, { name: 'renamed' }, ACTOR);
    await s.applications.regenerateSecret(application.id, {}, ACTOR);
    await s.users.patch(application.userId, { displayName: 'Renamed' }, ACTOR);
    await enter(holder, accessToken);
    assert.equal(await watermark(holder), 0);
  });
});

describe('a revocation by a process whose clock is ahead', () => {
  it('refuses no token that is issued behind it', async (t) => {
    const holder = await startHolding(t);
    const { s, application, credentials } = holder;
    const through = s.ids.rowKey() + 10_000_000;
    await s.database.commit([
      { sql: 'UPDATE application SET tokens_revoked_through = @value', params: { value: through } },
    ]);
    const client = await s.tokens.authenticate(credentials);
    const { accessToken } = await s.tokens.issue(client, undefined);
    assert.equal((await enter(holder, accessToken)).applicationId, application.id);
    await s.applications.revokeTokens(application.id, ACTOR);
    await refused(() => enter(holder, accessToken), { code: 'invalid_token' });
  });

  it('is not lowered by a later revocation of this process', async (t) => {
    const holder = await startHolding(t);
    const { s, application } = holder;
    const through = s.ids.rowKey() + 10_000_000;
    await s.database.commit([
      { sql: 'UPDATE application SET tokens_revoked_through = @value', params: { value: through } },
    ]);
    await s.applications.revokeTokens(application.id, ACTOR);
    assert.ok((await watermark(holder)) > through);
    await s.users.patch(application.userId, { active: false }, ACTOR);
    assert.ok((await watermark(holder)) > through + 1);
  });
});

describe('a change of an application that was decided on before its user was switched off', () => {
  it('is not written, and so does not bring the tokens back', async (t) => {
    const holder = await startHolding(t);
    const { s, application, credentials } = holder;
    const { accessToken } = await s.tokens.issue(await s.tokens.authenticate(credentials), undefined);
    const before = await s.applications.get(application.id);
    await s.users.patch(application.userId, { active: false }, ACTOR);
    const renamed = { ...before, name: 'renamed', updatedAt: before.updatedAt + 1 };
    await leavingNothing(s, () => assert.rejects(s.store.applications.update(renamed, before, s.entry()), StaleWrite));
    await s.applications.patch(application.id, { name: 'renamed' }, ACTOR);
    await s.users.patch(application.userId, { active: true }, ACTOR);
    await refused(() => enter(holder, accessToken), { code: 'invalid_token' });
  });
});

describe('credentials', () => {
  it('get a token although a revocation comes between their check and the token', async (t) => {
    const holder = await startHolding(t);
    const { s, application } = holder;
    let revoked: Promise<unknown> | undefined;
    const issued = await issue(holder, () => (revoked ??= s.applications.revokeTokens(application.id, ACTOR)));
    assert.equal(issued.scope, 'employees:view');
    assert.equal((await enter(holder, issued.access_token)).applicationId, application.id);
  });

  onSqlite(
    'get a token with the current scopes if another process revokes the tokens of the application',
    async (t) => {
      const holder = await startHolding(t);
      const { s, application } = holder;
      const other = await holdLock(
        t,
        s.path,
        `UPDATE application SET tokens_revoked_through = ${s.ids.rowKey() + 10_000_000}, scopes = '["employees:edit"]'`,
      );
      let released: Promise<void> | undefined;
      const issued = await issue(holder, () => {
        released ??= other.release();
      });
      await released;
      assert.equal(issued.scope, 'employees:edit');
      assert.equal((await enter(holder, issued.access_token)).applicationId, application.id);
    },
  );

  const ends: readonly [what: string, end: (holder: Holder) => Promise<unknown>][] = [
    [
      'their secret is replaced',
      ({ s, application: { id } }) => s.applications.regenerateSecret(id, { revokeTokens: true }, ACTOR),
    ],
    [
      'the application is switched off',
      ({ s, application: { id } }) => s.applications.patch(id, { active: false }, ACTOR),
    ],
    ['its user is switched off', ({ s, application: { userId } }) => s.users.patch(userId, { active: false }, ACTOR)],
    ['the application is deleted', ({ s, application: { id } }) => s.applications.remove(id, ACTOR)],
  ];
  for (const [what, end] of ends) {
    it(`get none, and are not told why, when ${what} between their check and the token`, async (t) => {
      const holder = await startHolding(t);
      const { s } = holder;
      const says = 'the client credentials are not valid';
      let ended: Promise<unknown> | undefined;
      await refused(() => issue(holder, () => (ended ??= end(holder))), { code: 'invalid_client', says });
      assert.deepEqual(await s.rows('SELECT key FROM access_token'), []);
    });
  }
});
