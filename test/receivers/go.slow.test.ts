import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeReceiver } from '../support/receiver-program-tests.ts';
import { receiverFile } from '../support/receiver-programs.ts';

const STANDING = `
package main

import (
	"os"
	"strconv"
	"time"
)

func init() {
	seconds, _ := strconv.ParseInt(os.Args[1], 10, 64)
	now = func() time.Time { return time.Unix(seconds, 0) }
}
`;

describeReceiver({
  language: 'Go',
  needs: { go: 'golang-go', gpg: 'gnupg' },
  servesTls: true,
  readsHeadersFirst: true,
  prepare: (folder) => {
    const program = join(folder, 'receiver');
    const standing = join(folder, 'standing');
    writeFileSync(join(folder, 'standing.go'), STANDING);
    const source = receiverFile('receiver.go');
    const go = (...args: readonly string[]): unknown => execFileSync('go', args, { cwd: folder, stdio: 'pipe' });
    go('vet', source);
    go('build', '-o', program, source);
    // All sources must be in one folder.
    execFileSync('cp', [source, folder]);
    go('build', '-o', standing, 'receiver.go', 'standing.go');
    return {
      command: () => [program],
      commandAt: (_port, epochSeconds) => [standing, String(epochSeconds)],
    };
  },
});
