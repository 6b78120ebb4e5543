/** A service with an invited user, and the page that the invitation opens. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { openPostgres } from '../../src/store/postgres/driver/postgres.ts';
import { openSqlite } from '../../src/store/sqlite/driver/sqlite.ts';
import { type ApiClient, succeeded } from './client.ts';
import { databaseUrlOf, type Service, type ServiceInProcess, startService } from './service.ts';

export const PASSWORD = 'seventeen badgers at dawn';

export type Invited = {
  readonly service: ServiceInProcess;
  readonly admin: ApiClient;
  readonly user: string;
  readonly url: string;
  readonly token: string;
};

export async function invite(t: TestContext, userName = 'grace'): Promise<Invited> {
  const service = await startService(t);
  const { admin } = service;
  const { id: user } = await succeeded<{ id: string }>(admin.post('users', { userName, role: 'operator' }));
  const { url } = await succeeded<{ url: string }>(admin.post(`users/${user}/invite`));
  return { service, admin, user, url, token: url.split('/').at(-1) ?? '' };
}

type Page = { readonly status: number; readonly headers: Headers; readonly text: string };

export async function open(url: string, init: RequestInit = {}): Promise<Page> {
  const response = await fetch(url, { redirect: 'error', ...init });
  const text = await response.text();
  assert.equal(response.headers.get('content-type'), 'text/html;charset=UTF-8', text);
  return { status: response.status, headers: response.headers, text };
}

export function choose(url: string, password: string, passwordAgain = password): Promise<Page> {
  return open(url, { method: 'POST', body: new URLSearchParams({ password, passwordAgain }) });
}

/** Reads a user's stored password hash directly from the database. */
export async function storedHash({ dataDir }: Service, user: string): Promise<string | null> {
  const url = databaseUrlOf(dataDir);
  const database =
    url === null
      ? openSqlite(`${dataDir}/sallyport.db`)
      : await openPostgres({ connection: { connectionString: url } });
  try {
    const row = await database.get('SELECT password_hash AS hash FROM user_account WHERE id = @user', { user });
    return row?.hash === null ? null : String(row?.hash);
  } finally {
    await database.close();
  }
}

/** Whether the page says that the invitation cannot be used. Every such invitation gets the same page. */
export function isUnusable({ status, text }: Page): boolean {
  return status === 404 && text.includes('<h1>This link cannot be used</h1>');
}
