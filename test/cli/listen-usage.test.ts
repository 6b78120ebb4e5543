import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { sallyport } from '../support/command.ts';
import { startListener } from '../support/listening.ts';
import { temporaryFolder } from '../support/service.ts';
import { SECRET, signedRequest } from '../support/signed-request.ts';

const GIVEN = ['--secret', SECRET];

describe('the certificate of sallyport listen', () => {
  it('is stored for the next time, with a private key file', async (t) => {
    const folder = join(temporaryFolder(t), 'a', 'b');
    const first = await startListener(t, GIVEN, folder);
    assert.equal(first.certificateFile, join(folder, 'certificate.pem'));
    assert.equal(statSync(join(folder, 'private-key.pem')).mode & 0o777, 0o600);
    const certificate = readFileSync(first.certificateFile, 'utf8');
    await first.end();
    const second = await startListener(t, GIVEN, folder);
    assert.equal(readFileSync(second.certificateFile, 'utf8'), certificate);
    assert.equal((await second.send(await signedRequest())).status, 204);
  });

  it('is replaced for another host, and if it is unusable', async (t) => {
    const folder = temporaryFolder(t);
    const { certificateFile, end } = await startListener(t, GIVEN, folder);
    await end();
    const certificate = readFileSync(certificateFile, 'utf8');
    const other = await startListener(t, [...GIVEN, '--host', '127.0.0.2'], folder);
    assert.notEqual(readFileSync(certificateFile, 'utf8'), certificate);
    await other.end();
    writeFileSync(join(folder, 'private-key.pem'), 'nonsense');
    const repaired = await startListener(t, GIVEN, folder);
    assert.equal((await repaired.send(await signedRequest())).status, 204);
  });

  it('is for localhost, both loopback addresses and the host, as openssl reads it', async (t) => {
    const { certificateFile } = await startListener(t, [...GIVEN, '--host', '127.0.0.2']);
    const text = execFileSync('openssl', ['x509', '-in', certificateFile, '-noout', '-text'], { encoding: 'utf8' });
    for (const name of [
      'DNS:localhost',
      'IP Address:127.0.0.1',
      'IP Address:127.0.0.2',
      'IP Address:0:0:0:0:0:0:0:1',
    ]) {
      assert.ok(text.includes(name), name);
    }
    execFileSync('openssl', ['verify', '-CAfile', certificateFile, certificateFile]);
  });
});

describe('sallyport listen with wrong usage', () => {
  const wrong: readonly [args: readonly string[], problem: string][] = [
    [['--reset', '--status', '500'], '--reset cannot be used with --status'],
    [['--status', '100'], '--status must be 200 to 599'],
    [['--status', '600'], '--status must be 200 to 599'],
    [['--delay', '3600001'], '--delay must be at most 3600000'],
    [['--delay', '1s'], '--delay must be a whole number'],
    [['--port', '65536'], '--port must be at most 65535'],
    [['--forward', 'localhost:3000'], '--forward must be an http: or https: URL'],
    [['--forward', 'ftp://localhost/'], '--forward must be an http: or https: URL'],
    [['--pgp-passphrase', 'x'], '--pgp-passphrase requires --pgp-key'],
    [['--secret', ''], '--secret is empty'],
    [['--secret', 'a\n'], "--secret must not end with a line feed: printf '%s' writes a text without one"],
    [['--secret', '\ufeffa'], "--secret must not begin with a byte order mark: printf '%s' writes a text without one"],
  ];
  for (const [args, problem] of wrong) {
    it(`is refused with the reason: ${args.join(' ')}`, async (t) => {
      const folder = join(temporaryFolder(t), 'listen');
      const { status, stdout, stderr } = await sallyport(['listen', '--certificate-folder', folder, ...args]);
      assert.deepEqual([status, stdout], [2, '']);
      assert.equal(stderr, `sallyport listen: ${problem}\nSee: sallyport listen --help\n`);
      assert.ok(!existsSync(folder));
    });
  }

  it('ends with 1 if it cannot listen, read a key or store its certificate', async (t) => {
    const { url } = await startListener(t, GIVEN);
    const folder = temporaryFolder(t);
    const ends = async (args: readonly string[], message: RegExp): Promise<void> => {
      const { status, stdout, stderr } = await sallyport(['listen', '--certificate-folder', folder, ...args]);
      assert.deepEqual([status, stdout], [1, ''], stderr);
      assert.match(stderr, message);
    };
    await ends(
      ['--port', new URL(url).port],
      /^sallyport: another program listens on 127\.0\.0\.1:\d+\. Stop it, or start with --port \d+\n$/,
    );
    await ends(['--pgp-key', join(folder, 'none')], /^sallyport: \S+ cannot be read \(ENOENT\)/);
    writeFileSync(join(folder, 'file'), '');
    await ends(
      ['--certificate-folder', join(folder, 'file', 'x')],
      /^sallyport: the certificate cannot be stored in .*ENOTDIR/,
    );
  });
});
