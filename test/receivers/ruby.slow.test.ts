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
      const standing = join(folder, 'standing.rb');
      writeFileSync(standing, `Time.define_singleton_method(:now) { Time.at(${epochSeconds}) }\n`);
      return ['ruby', '-r', standing, receiverFile('receiver.rb')];
    },
  }),
});
