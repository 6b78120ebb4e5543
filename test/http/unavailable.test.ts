/** Replies while the database is unavailable: the store names the reason, and the door says when to repeat the request. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { asRefusal } from '../../src/http/error-body.ts';
import { createLog } from '../../src/observe/log.ts';
import { DatabaseUnavailable, mayBeCommitted, UNAVAILABLE_REASONS } from '../../src/store/port/errors.ts';
import { unavailable as unavailableServer } from '../../src/store/postgres/driver/errors.ts';
import { unavailable as unavailableFile } from '../../src/store/sqlite/driver/errors.ts';

describe('a database that is unavailable', () => {
  for (const reason of UNAVAILABLE_REASONS) {
    it(`is answered with Retry-After, which the store does not know: ${reason}`, () => {
      for (const error of [new DatabaseUnavailable(reason), unavailableFile(reason), unavailableServer(reason)]) {
        assert.deepEqual(error.headers, {});
        const { status, headers, message, repeat } = asRefusal(error, 'id', createLog('silent'), true);
        assert.deepEqual(
          { status, headers, message, repeat },
          {
            status: 503,
            headers: { 'Retry-After': '5' },
            message: error.message,
            repeat: error.repeat,
          },
        );
      }
    });

    it(`is told without the operator’s remedies to anybody else: ${reason}`, () => {
      for (const error of [new DatabaseUnavailable(reason), unavailableFile(reason), unavailableServer(reason)]) {
        const told = asRefusal(error, 'id', createLog('silent'));
        assert.doesNotMatch(told.message, /database|Sallyport|disk|server|backup|restart/i);
        assert.equal(told.message.includes('before you repeat it'), mayBeCommitted(error));
        const { status, headers, repeat } = asRefusal(error, 'id', createLog('silent'), true);
        assert.deepEqual([told.status, told.headers, told.repeat], [status, headers, repeat]);
      }
    });

    it(`has a text that fits every database: ${reason}`, () => {
      assert.doesNotMatch(
        new DatabaseUnavailable(reason).message,
        /\b(files?|threads?|servers?|standby|backup|role)\b/,
      );
    });
  }

  it('has a text of its own where a file and a server need different help', () => {
    assert.match(unavailableFile('damaged').message, /restore a backup with sallyport restore <backup> --force/);
    assert.match(unavailableServer('damaged').message, /the database server reports an internal error/);
  });
});
