import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { describeReceiver } from '../support/receiver-program-tests.ts';
import { type ReceiverProgram, receiverFile } from '../support/receiver-programs.ts';
import { requestVectors } from '../support/vectors.ts';

const source = receiverFile('receiver.sh');

/** Runs the program with a fixed clock, by replacing its call of `date`. */
function fixedClock(folder: string, epochSeconds: number, more: string): [string, ...string[]] {
  const programs = join(folder, 'programs');
  mkdirSync(programs, { recursive: true });
  const date = `#!/bin/sh\nif [ "$*" = +%s ]; then echo ${epochSeconds}; else exec /bin/date "$@"; fi\n`;
  writeFileSync(join(programs, 'date'), date, { mode: 0o755 });
  return ['/bin/sh', '-c', `PATH=${programs}:$PATH exec ${source} ${more}`];
}

const program: ReceiverProgram = {
  language: 'shell',
  needs: { bash: 'bash', openssl: 'openssl', jq: 'jq', socat: 'socat', gpg: 'gnupg', flock: 'util-linux' },
  servesTls: true,
  readsHeadersFirst: true,
  listening: /listening on AF=/,
  prepare: (folder) => ({
    command: () => [source, 'serve'],
    commandAt: (_port, epochSeconds) => fixedClock(folder, epochSeconds, 'serve'),
  }),
};

describeReceiver(program, () => {
  it('accepts a request from a file', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'receiver-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const { requests, secrets, apiKey, now } = requestVectors;
    const plain = requests.find(({ name }) => name === 'plain');
    assert.ok(plain && 'records' in plain);
    const body = Buffer.from(plain.bodyBase64, 'base64');
    const headers = [...plain.headers, ['Content-Length', String(body.length)]].map((pair) => `${pair.join(': ')}\r\n`);
    const head = `POST ${new URL(plain.url).pathname} HTTP/1.1\r\n${headers.join('')}\r\n`;
    writeFileSync(join(folder, 'request.http'), Buffer.concat([Buffer.from(head), body]));
    const [program, ...args] = fixedClock(folder, Date.parse(now) / 1000, `2>&1 < ${join(folder, 'request.http')}`);
    const output = execFileSync(program, args, {
      encoding: 'utf8',
      env: {
        PATH: process.env.PATH,
        WEBHOOK_SECRETS: secrets.join('\n'),
        WEBHOOK_API_KEYS: apiKey,
        WEBHOOK_STATE: folder,
      },
    });
    const [record] = plain.records;
    assert.equal(
      output,
      `${record?.messageId} order.created ${JSON.stringify(record?.data)}\nHTTP/1.1 204 \r\nConnection: close\r\n\r\n`,
    );
  });
});
