/** The certificate of the development receiver. It is stored, so that senders need to trust it only once. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import { makePrivateFolder } from '../../kernel/folder.ts';
import { writePrivateFile } from '../../kernel/private-file.ts';
import { CommandError } from '../errors.ts';
import { type Identity, makeCertificate } from './self-signed.ts';

const LISTEN_CERTIFICATE_DAYS = 365;

/** `certificateFile`: for SALLYPORT_CA_FILE of the sender. */
type KeptIdentity = Identity & { readonly certificateFile: string };

const DAY_MS = 86_400_000;

/** In the state folder of the user (XDG Base Directory Specification). */
export function defaultFolder(env: Readonly<Record<string, string | undefined>>): string {
  return join(env.XDG_STATE_HOME || join(homedir(), '.local', 'state'), 'sallyport', 'listen');
}

/** The stored certificate, or a new one if that is for another host or about to expire. */
export function keptIdentity(folder: string, host: string, now: number): KeptIdentity {
  const names = ['localhost', '127.0.0.1', '::1', hostname(), host].filter(
    (name) => name !== '0.0.0.0' && name !== '::',
  );
  const certificateFile = join(folder, 'certificate.pem');
  const keyFile = join(folder, 'private-key.pem');
  try {
    if (existsSync(certificateFile) && existsSync(keyFile)) {
      const kept = { certificate: readFileSync(certificateFile, 'utf8'), privateKey: readFileSync(keyFile, 'utf8') };
      if (isUsable(kept, names, now)) return { ...kept, certificateFile };
    }
    const made = makeCertificate([...new Set(names)], now, LISTEN_CERTIFICATE_DAYS);
    makePrivateFolder(folder);
    // The key first: a trusted certificate without its key would be useless.
    writePrivateFile(keyFile, made.privateKey);
    writePrivateFile(certificateFile, made.certificate);
    return { ...made, certificateFile };
  } catch (cause) {
    throw new CommandError(`the certificate cannot be stored in ${folder}: ${(cause as Error).message}`, { cause });
  }
}

function isUsable({ certificate, privateKey }: Identity, names: readonly string[], now: number): boolean {
  try {
    const parsed = new X509Certificate(certificate);
    const covers = (name: string): boolean =>
      (isIP(name) === 0 ? parsed.checkHost(name) : parsed.checkIP(name)) !== undefined;
    const isPair = parsed.checkPrivateKey(createPrivateKey(privateKey));
    return isPair && names.every(covers) && Date.parse(parsed.validTo) > now + DAY_MS;
  } catch {
    // Replace an unreadable certificate.
    return false;
  }
}
