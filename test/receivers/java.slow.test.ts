import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeReceiver } from '../support/receiver-program-tests.ts';
import { receiverFile } from '../support/receiver-programs.ts';

const STANDING = `
import java.time.*;

class Standing {
    public static void main(String[] args) throws Exception {
        Receiver.clock = Clock.fixed(Instant.ofEpochSecond(Long.parseLong(args[0])), ZoneOffset.UTC);
        Receiver.main(new String[0]);
    }
}
`;

describeReceiver({
  language: 'Java',
  needs: { javac: 'default-jdk-headless', gpg: 'gnupg', openssl: 'openssl' },
  servesTls: true,
  readsHeadersFirst: true,
  prepare: (folder) => {
    const source = receiverFile('Receiver.java');
    const standing = join(folder, 'Standing.java');
    writeFileSync(standing, STANDING);
    execFileSync('javac', ['-Xlint:all,-serial', '-Werror', '-d', folder, source, standing], { stdio: 'pipe' });
    return {
      command: () => ['java', source],
      commandAt: (_port, epochSeconds) => ['java', '-cp', folder, 'Standing', String(epochSeconds)],
    };
  },
  tlsSettings: (folder) => {
    const keystore = join(folder, 'tls.p12');
    const [certificate, key] = ['certificate.pem', 'privateKey.pem'].map((name) => join(folder, name));
    const from = ['-in', certificate ?? '', '-inkey', key ?? ''];
    execFileSync('openssl', ['pkcs12', '-export', ...from, '-out', keystore, '-passout', 'pass:changeit']);
    return { WEBHOOK_TLS_KEYSTORE_FILE: keystore, WEBHOOK_TLS_KEYSTORE_PASSWORD: 'changeit' };
  },
});
