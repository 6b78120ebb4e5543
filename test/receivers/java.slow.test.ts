import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeReceiver } from '../support/receiver-program-tests.ts';
import { receiverFile } from '../support/receiver-programs.ts';

const FIXED_CLOCK = `
import java.time.*;

class FixedClock {
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
    const fixedClock = join(folder, 'FixedClock.java');
    writeFileSync(fixedClock, FIXED_CLOCK);
    execFileSync('javac', ['-Xlint:all,-serial', '-Werror', '-d', folder, source, fixedClock], { stdio: 'pipe' });
    return {
      command: () => ['java', source],
      commandAt: (_port, epochSeconds) => ['java', '-cp', folder, 'FixedClock', String(epochSeconds)],
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
