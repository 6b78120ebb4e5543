/** The request of an attempt as a command that a shell reads back. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { curlCommand } from '../../../src/portal/deliveries/curl.ts';

const URL = 'https://shop.example/in?a=1';

/** The words of commands as a shell reads them, with `curl` replaced by a program that prints its arguments. */
function wordsOf(commands: readonly string[], env: Readonly<Record<string, string>> = {}): string[][] {
  const script = `curl() { printf '%s\\0' "$@"; printf '\\1\\0'; }\n${commands.join('\n')}`;
  const printed = execFileSync('/bin/sh', ['-c', script], { env, encoding: 'utf8' });
  return printed
    .split('\u0001\0')
    .slice(0, -1)
    .map((words) => words.split('\0').slice(0, -1));
}

describe('the curl command of an attempt', () => {
  it('has every header and the body, and variables in place of secrets', () => {
    const headers = {
      'content-type': 'application/json',
      'x-api-key': '[secret]',
      authorization: 'Bearer [secret]',
      'x-note': "it's",
    };
    const command = curlCommand({ url: URL, headers, body: '{"a":"$HOME"}' });
    assert.doesNotMatch(command, /\[secret\]/);
    const values = [
      'content-type: application/json',
      'x-api-key: k 1',
      'authorization: Bearer t',
      "x-note: it's",
    ].flatMap((value) => ['--header', value]);
    assert.deepEqual(wordsOf([command], { X_API_KEY: 'k 1', AUTHORIZATION: 't' }), [
      ['--request', 'POST', URL].concat(values, '--data-binary', '{"a":"$HOME"}'),
    ]);
  });

  it('names a file for a body that is not text or is long', () => {
    const bodyOf = (headers: Readonly<Record<string, string>>, body: string | null) =>
      wordsOf([curlCommand({ url: URL, headers, body })])[0]?.at(-1);
    assert.equal(bodyOf({ 'content-encoding': 'gzip' }, '{}'), '@body.json');
    assert.equal(bodyOf({ 'x-content-encrypted': 'true' }, '{}'), '@body.json');
    assert.equal(bodyOf({}, null), '@body.json');
    assert.equal(bodyOf({}, `"${'x'.repeat(9000)}"`), '@body.json');
  });

  it('is read back by a shell, whatever the values are', () => {
    const text = fc.string({ unit: 'grapheme' }).map((one) => one.replaceAll('\0', '').replaceAll('\u0001', ''));
    const requests = fc.sample(fc.tuple(text, text), 200).map(([value, body]) => ({ value, body: `${body}'` }));
    const commands = requests.map(({ value, body }) => curlCommand({ url: URL, headers: { 'x-a': value }, body }));
    assert.deepEqual(
      wordsOf(commands).map((words) => [words[4], words[6]]),
      requests.map(({ value, body }) => [`x-a: ${value}`, body]),
    );
  });
});
