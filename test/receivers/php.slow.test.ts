import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeReceiver } from '../support/receiver-program-tests.ts';
import { receiverFile } from '../support/receiver-programs.ts';

describeReceiver({
  language: 'PHP',
  needs: { php: 'php-cli php-sqlite3', gpg: 'gnupg' },
  servesTls: false,
  readsHeadersFirst: false,
  listening: /Development Server \(.*\) started/,
  beginsUnset: true,
  prepare: (folder) => {
    const source = receiverFile('receiver.php');
    return {
      command: (port) => ['php', '-S', `127.0.0.1:${port}`, source],
      commandAt: (port, epochSeconds) => {
        const fixedClock = join(folder, 'fixed-clock.php');
        const time = `function time(): int { return ${epochSeconds}; }`;
        writeFileSync(fixedClock, `<?php namespace Sallyport; ${time} require '${source}';`);
        return ['php', '-S', `127.0.0.1:${port}`, fixedClock];
      },
    };
  },
});
