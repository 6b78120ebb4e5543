import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeReceiver } from '../support/receiver-program-tests.ts';
import { receiverFile } from '../support/receiver-programs.ts';

describeReceiver({
  language: 'Ruby',
  needs: { ruby: 'ruby ruby-webrick', gpg: 'gnupg' },
  servesTls: true,
  readsHeadersFirst: true,
  prepare: (folder) => ({
    command: () => ['ruby', '-w', receiverFile('receiver.rb')],
    commandAt: (_port, epochSeconds) => {
      const fixedClock = join(folder, 'fixed-clock.rb');
      writeFileSync(fixedClock, `Time.define_singleton_method(:now) { Time.at(${epochSeconds}) }\n`);
      return ['ruby', '-r', fixedClock, receiverFile('receiver.rb')];
    },
  }),
});
