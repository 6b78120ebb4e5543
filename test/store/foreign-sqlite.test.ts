import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeEndpoint, makeEventType } from '../support/journey.ts';
import { startService } from '../support/service.ts';

test('another SQLite, such as that of Debian, finds the database whole while optional columns are null', async (t) => {
  const service = await startService(t);
  await makeEventType(service.admin, 'order.placed');
  await makeEndpoint(service.admin, {
    url: 'https://127.0.0.1:9443/',
    secret: Buffer.alloc(32, 7).toString('base64'),
    apiKey: '0123456789abcdef'.repeat(2),
  });
  await service.stop();
  const path = join(service.dataDir, 'sallyport.db');
  const ask = (sql: string): string => execFileSync('sqlite3', [path, sql], { encoding: 'utf8' }).trim();
  assert.notEqual(ask('SELECT count(*) FROM event_type WHERE data_schema IS NULL'), '0');
  assert.notEqual(ask('SELECT count(*) FROM endpoint WHERE last_verification IS NULL'), '0');
  assert.equal(ask('PRAGMA integrity_check'), 'ok');
});
