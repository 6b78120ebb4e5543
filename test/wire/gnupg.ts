/** GnuPG with a temporary home, as a second implementation for the tests of PGP. Its agent is stopped at the end. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type Gnupg = {
  /** Makes a key pair without passphrase or expiry. Returns both keys armored. */
  readonly makeKey: (name: string, algorithm: keyof typeof PARAMETERS) => { publicKey: string; privateKey: string };
  /** Makes a key of two algorithms: of the primary key and of its subkey. With `expires`, such as `1y`, a second subkey, which is newer. */
  readonly makeKeyOf: (name: string, primary: string, subkey: string, expires?: string) => string;
  /** The id of the key that GnuPG encrypts for at an instant, of a key of this home. */
  readonly encryptingKeyId: (name: string, at: number) => string;
  readonly decrypt: (message: Uint8Array) => Buffer;
  /** Encrypts for a key of this home. */
  readonly encrypt: (name: string, body: Uint8Array, options: readonly string[]) => Buffer;
  /** The packets of a message, one per line, from `--list-packets`. */
  readonly listPackets: (message: Uint8Array) => string;
  readonly close: () => void;
};

const PARAMETERS = {
  rsa2048: signAndEncrypt('RSA\nKey-Length: 2048', 'RSA\nSubkey-Length: 2048'),
  /** One key for everything, without a subkey. */
  rsa2048Single: 'Key-Type: RSA\nKey-Length: 2048\nKey-Usage: sign,cert,encrypt',
  curve25519: signAndEncrypt('EDDSA\nKey-Curve: ed25519', 'ECDH\nSubkey-Curve: cv25519'),
  nistp256: signAndEncrypt('ECDSA\nKey-Curve: nistp256', 'ECDH\nSubkey-Curve: nistp256'),
} as const;

export function startGnupg(): Gnupg {
  const home = mkdtempSync(join(tmpdir(), 'gpg-'));
  const run = (options: readonly string[], input: Uint8Array | string = ''): Buffer =>
    execFileSync('gpg', ['--homedir', home, '--batch', '--quiet', '--trust-model', 'always', ...options], {
      input,
      stdio: ['pipe', 'pipe', 'pipe'],
      maxBuffer: 128 * 1024 * 1024,
    });
  return {
    makeKey(name, algorithm) {
      const parameters = join(home, `${name}.parameters`);
      writeFileSync(
        parameters,
        `%no-protection\n${PARAMETERS[algorithm]}\nName-Email: ${name}@example.com\nExpire-Date: 0\n%commit\n`,
      );
      run(['--generate-key', parameters]);
      return {
        publicKey: run(['--armor', '--export', `${name}@example.com`]).toString(),
        privateKey: run(['--armor', '--export-secret-keys', `${name}@example.com`]).toString(),
      };
    },
    makeKeyOf(name, primary, subkey, expires) {
      const user = `${name}@example.com`;
      const unprotected = ['--pinentry-mode', 'loopback', '--passphrase', ''];
      // As if a day had passed between them: the newer one is chosen.
      const at = (days: number): string[] => ['--faked-system-time', gpgTime(Date.now() - days * 86_400_000)];
      run([...at(3), ...unprotected, '--quick-generate-key', user, primary, 'sign,cert', 'never']);
      const [, fingerprint = ''] =
        /^fpr:+([0-9A-F]{40})/m.exec(run(['--with-colons', '--list-keys', user]).toString()) ?? [];
      run([...at(2), ...unprotected, '--quick-add-key', fingerprint, subkey, 'encr', 'never']);
      if (expires !== undefined)
        run([...at(1), ...unprotected, '--quick-add-key', fingerprint, subkey, 'encr', expires]);
      return run(['--armor', '--export', user]).toString();
    },
    encryptingKeyId(name, at) {
      const message = run(['--faked-system-time', gpgTime(at), '--recipient', `${name}@example.com`, '--encrypt'], 'x');
      return keyIdOf(run(['--list-packets', '--list-only'], message).toString());
    },
    decrypt: (message) => run(['--decrypt'], message),
    encrypt: (name, body, options) => run([...options, '--recipient', `${name}@example.com`, '--encrypt'], body),
    listPackets: (message) => run(['--list-packets'], message).toString(),
    close() {
      execFileSync('gpgconf', ['--homedir', home, '--kill', 'gpg-agent']);
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function gpgTime(at: number): string {
  return `${new Date(at).toISOString().replace(/[-:]|\..*/g, '')}!`;
}

/** The key that a message is encrypted for, in the output of `--list-packets`. */
export function keyIdOf(packets: string): string {
  return /keyid ([0-9A-F]{16})/.exec(packets)?.[1] ?? '';
}

function signAndEncrypt(primary: string, subkey: string): string {
  return `Key-Type: ${primary}\nKey-Usage: sign,cert\nSubkey-Type: ${subkey}\nSubkey-Usage: encrypt`;
}
