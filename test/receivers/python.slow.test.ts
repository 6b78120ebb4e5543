import { pythonWithTools } from '../support/python-tools.ts';
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
  prepare: () => ({
    command: () => ['python3', receiverFile('receiver.py')],
    // With the package cryptography, which only public keys need.
    commandAt: (_port, epochSeconds) => [
      pythonWithTools(),
      '-c',
      AT,
      receiverFile('receiver.py'),
      String(epochSeconds),
    ],
  }),
});
