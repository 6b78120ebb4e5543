import { describeReceiver } from '../support/receiver-program-tests.ts';
import { receiverFile } from '../support/receiver-programs.ts';

const AT = `
import runpy, sys, time
time.time = lambda: float(sys.argv[2])
runpy.run_path(sys.argv[1], run_name='__main__')
`;

describeReceiver({
  language: 'Python',
  needs: { python3: 'python3', gpg: 'gnupg' },
  servesTls: true,
  readsHeadersFirst: true,
  verifiesPublicKeys: false,
  prepare: () => ({
    command: () => ['python3', receiverFile('receiver.py')],
    commandAt: (_port, epochSeconds) => ['python3', '-c', AT, receiverFile('receiver.py'), String(epochSeconds)],
  }),
});
