/** Tests requests that must be refused: the error body, the line in the log, and that the database is unchanged. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { DATABASE_FILE } from '../../src/data/data-folder.ts';
import { openSqlite } from '../../src/store/sqlite/driver/sqlite.ts';
import { cleanUp } from './cleanup.ts';
import { type ApiClient, errorOf } from './client.ts';
import type { Service } from './service.ts';
import { contentsByOthers, writtenByRequests } from './store.ts';

export type BadInput = {
  readonly what: string;
  /** Default: `POST`. */
  readonly method?: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** The client that sends the request. Default: the administrator. */
  readonly client?: ApiClient;
  /** Default: 400. */
  readonly status?: number;
  /** Default: `validation_failed`. */
  readonly code?: string;
  /** The fields named in `details`, in order. Default: none. */
  readonly fields?: readonly string[];
  readonly says?: RegExp;
};

/** Runs one subtest per case. The description of a 400 must also name the first field. */
export async function refuseAll(
  t: TestContext,
  { admin, dataDir, log }: Service,
  cases: readonly BadInput[],
): Promise<void> {
  const database = openSqlite(join(dataDir, DATABASE_FILE));
  cleanUp(t, () => database.close());
  const found = contentsByOthers(database);
  const kept = (): Readonly<Record<string, readonly unknown[]>> => writtenByRequests(found());
  for (const { what, method = 'POST', path, body, headers = {}, client = admin, ...wanted } of cases) {
    await t.test(what, async () => {
      const before = kept();
      const reply = await client.send(method, path, { body, headers });
      const { status = 400, code = 'validation_failed', fields = [], says } = wanted;
      const shown = JSON.stringify(reply.body);
      assert.equal(reply.status, status, shown);
      const error = errorOf(reply);
      assert.equal(error.code, code, shown);
      assert.deepEqual(error.details?.map(({ field }) => field) ?? [], fields, shown);
      if (status === 400 && fields[0] !== undefined) assert.ok(error.description.includes(fields[0]), shown);
      if (says !== undefined) assert.match(error.description, says);
      const line = await log.line(({ errorId }) => errorId === error.errorId);
      assert.deepEqual([line.msg, line.status, line.method], ['request', status, method]);
      assert.deepEqual(kept(), before, 'something was written');
    });
  }
}
