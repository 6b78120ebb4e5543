import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ADMINISTRATION_SCOPES, BUILT_IN_SCOPES } from '../../src/access/built-in.ts';
import { verifyPassword } from '../../src/access/password.ts';
import { createTokens } from '../../src/access/tokens.ts';
import { readConfig } from '../../src/config/config.ts';
import type { FirstCredentials } from '../../src/data/data.ts';
import { type FolderData, openFolder } from '../../src/data/data-folder.ts';
import { makeFirstCredentials } from '../../src/data/first-start.ts';
import { hashCredential } from '../../src/domain/credential.ts';
import { firstCredentialStore } from '../../src/store/shared/settings.ts';
import type { SqliteDatabase } from '../../src/store/sqlite/driver/sqlite.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { cleanUp } from '../support/cleanup.ts';
import { unusedFolder } from '../support/command.ts';

async function newFolder(t: TestContext): Promise<FolderData> {
  const data = await openFolder({ ...readConfig({}), dataDir: unusedFolder(t) }, { exclusive: true });
  cleanUp(t, () => data.close());
  return data;
}

/** The same data on a database that fails after `commits` more commits, as if the process had died. */
function dyingAfter(data: FolderData, commits: number): FolderData {
  let left = commits;
  const db: SqliteDatabase = {
    ...data.db,
    commit: (statements) => {
      left -= 1;
      return left < 0 ? Promise.reject(new Error('died')) : data.db.commit(statements);
    },
  };
  const store = createSqliteStore(db, data.vault, data.ids);
  return { ...data, store, firstCredentials: firstCredentialStore(db, data.vault) };
}

async function credentialsOf(data: FolderData): Promise<FirstCredentials> {
  const credentials = await makeFirstCredentials(data);
  assert.ok(credentials);
  return credentials;
}

test('the first administrator has every permission, and the first application has every administration scope', async (t) => {
  const data = await newFolder(t);
  const credentials = await credentialsOf(data);
  assert.equal(credentials.dataDir, data.dataDir);
  assert.equal(credentials.adminUserName, 'admin');
  const user = await data.store.users.getByName(null, 'admin');
  assert.equal(user?.role, 'administrator');
  assert.deepEqual(user?.permissions, BUILT_IN_SCOPES.toSorted());
  assert.deepEqual(user?.constraints, {});
  assert.equal(await verifyPassword(credentials.adminPassword, user?.passwordHash ?? null), true);
  const client = await data.store.applications.getClient(credentials.clientId);
  assert.equal(client?.name, 'administration');
  assert.equal(client?.userId, user?.id);
  assert.deepEqual(client?.scopes, ADMINISTRATION_SCOPES.toSorted());
  assert.deepEqual(Buffer.from(client?.secretHash ?? []), hashCredential(credentials.clientSecret));

  const { authenticate, issue } = createTokens(data);
  const token = await issue(await authenticate(credentials), undefined);
  assert.equal(token.scope, ADMINISTRATION_SCOPES.toSorted().join(' '));
});

test('the audit log contains the creation of both, without secrets', async (t) => {
  const data = await newFolder(t);
  const { adminPassword, clientSecret } = await credentialsOf(data);
  const entries = await data.store.audit.list(null, 10);
  assert.deepEqual(
    entries.map(({ actor, action }) => [actor, action]),
    [
      ['service', 'application.create'],
      ['service', 'user.create'],
    ],
  );
  const text = JSON.stringify(entries);
  for (const hidden of [adminPassword, clientSecret, '$scrypt$']) assert(!text.includes(hidden), hidden);
  assert.equal(await data.store.audit.firstBroken(), null);
});

test('each start returns the same credentials until they are shown, and nothing is created twice', async (t) => {
  const data = await newFolder(t);
  const credentials = await credentialsOf(data);
  assert.deepEqual(await credentialsOf(data), credentials);
  assert.equal((await data.store.users.list('', 10)).length, 1);
  assert.equal((await data.store.applications.list('', 10)).length, 1);
});

test('a user or application that was deleted or renamed before the credentials were shown is not created again', async (t) => {
  const data = await newFolder(t);
  await credentialsOf(data);
  data.db.connection.exec(
    "DELETE FROM application; UPDATE user_account SET user_name = 'root', user_name_key = 'root'",
  );
  await credentialsOf(data);
  assert.deepEqual(await data.store.applications.list('', 10), []);
  assert.equal(await data.store.users.getByName(null, 'admin'), null);
});

for (const commits of [0, 1, 2, 3]) {
  test(`a process that dies after ${commits} of the four commits loses nothing: the next start continues`, async (t) => {
    const data = await newFolder(t);
    await assert.rejects(makeFirstCredentials(dyingAfter(data, commits)), /died/);
    const pending = await data.firstCredentials.get();
    const credentials = await credentialsOf(data);
    // The first commit determines the credentials.
    if (commits === 0) assert.equal(pending, null);
    else assert.equal(pending?.clientSecret, credentials.clientSecret);
    const [user, ...otherUsers] = await data.store.users.list('', 10);
    const [application, ...otherApplications] = await data.store.applications.list('', 10);
    assert.deepEqual([otherUsers, otherApplications], [[], []]);
    assert.equal(await verifyPassword(credentials.adminPassword, user?.passwordHash ?? null), true);
    assert.equal(application?.clientId, credentials.clientId);
    assert.equal(application?.userId, user?.id);
    assert.equal((await data.firstCredentials.get())?.made, true);
  });
}

test('the credentials are stored sealed, and are deleted once they have been shown', async (t) => {
  const data = await newFolder(t);
  const { adminPassword, clientSecret } = await credentialsOf(data);
  const settings = (): string =>
    data.db.connection
      .prepare('SELECT name, value FROM setting ORDER BY name')
      .all()
      .map((row) => Object.values(row as object).join(' '))
      .join('\n');
  assert.match(settings(), /first_credentials/);
  for (const hidden of [adminPassword, clientSecret]) assert(!settings().includes(hidden));
  await data.firstCredentials.forget();
  assert.doesNotMatch(settings(), /first_credentials/);
  assert.equal(await data.firstCredentials.get(), null);
});

test('processes that start at the same time create everything once and show the same credentials', async (t) => {
  const data = await newFolder(t);
  const [one, ...others] = await Promise.all([credentialsOf(data), credentialsOf(data), credentialsOf(data)]);
  for (const other of others) assert.deepEqual(other, one);
  assert.equal((await data.store.users.list('', 10)).length, 1);
  assert.equal((await data.store.applications.list('', 10)).length, 1);
});

test('a process that begins after the credentials were shown creates nothing', async (t) => {
  const data = await newFolder(t);
  await credentialsOf(data);
  await data.firstCredentials.forget();
  assert.equal(await makeFirstCredentials(data), null);
  assert.equal(await data.firstCredentials.get(), null);
  assert.equal((await data.store.applications.list('', 10)).length, 1);
});
