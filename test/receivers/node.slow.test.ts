import { describeReceiver } from '../support/receiver-program-tests.ts';
import { receiverFile } from '../support/receiver-programs.ts';

describeReceiver({
  language: 'JavaScript',
  needs: { gpg: 'gnupg' },
  servesTls: true,
  readsHeadersFirst: true,
  prepare: () => ({
    command: () => [process.execPath, receiverFile('receiver.mjs')],
    commandAt: (_port, epochSeconds) => [
      process.execPath,
      '--import',
      `data:text/javascript,Date.now = () => ${epochSeconds * 1000};`,
      receiverFile('receiver.mjs'),
    ],
  }),
});
