import assert from 'node:assert/strict';
import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { format, inspect } from 'node:util';
import pino from 'pino';
import { secret } from '../../src/kernel/secret.ts';

const TEXT = 'hunter2-hunter2';
const held = secret(TEXT);
const record = { name: 'endpoint', secret: held, list: [held] };

/** The output of a program. */
function captured(write: (stream: Writable) => void): string {
  let text = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  write(stream);
  return text;
}

const shown: Readonly<Record<string, () => string>> = {
  'a template string': () => `${held}`,
  'String()': () => String(held),
  concatenation: () => `${''}${held}`.concat(String([held])),
  'JSON.stringify': () => JSON.stringify(record),
  'util.inspect': () => inspect(record, { depth: 9, showHidden: true, getters: true }),
  'util.inspect at its depth limit': () => inspect({ a: record }, { depth: 2 }),
  'util.format with every directive': () => format('%s %j %o %O', held, held, held, held),
  'console.log': () => captured((stream) => new Console(stream).log('made', held, record)),
  'console.table': () => captured((stream) => new Console(stream).table([record])),
  'the log': () => captured((stream) => pino(stream).info({ record, held }, 'made %s', held)),
  'an error message': () => new Error(`bad ${held}`, { cause: held }).stack ?? '',
};

describe('a secret', () => {
  for (const [where, show] of Object.entries(shown)) {
    it(`shows as [secret] in ${where}`, () => {
      const text = show();
      assert.ok(text.includes('[secret]'), text);
      assert.ok(!text.includes('hunter2'), text);
    });
  }

  it('does not show its text without custom inspection', () => {
    const text = captured((stream) => new Console(stream).dir(record, { showHidden: true, depth: 9 }));
    assert.ok(text.includes('reveal'), text);
    assert.ok(!text.includes('hunter2'), text);
  });

  it('has no property with its text, and is frozen', () => {
    const properties = Reflect.ownKeys(held).map((key) => String(Reflect.get(held, key)));
    assert.ok(properties.every((property) => !property.includes('hunter2')));
    assert.ok(Object.isFrozen(held));
    assert.throws(() => Object.assign(held, { reveal: () => 'other' }), TypeError);
    assert.equal(held.reveal(), TEXT);
  });

  it('reveals its text on request', () => {
    for (const text of ['', 'plain', '{"json":true}', 'ünïcödé \u{1f512}', '[secret]']) {
      assert.equal(secret(text).reveal(), text);
    }
  });
});
