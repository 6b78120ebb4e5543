import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeReceiver } from '../support/receiver-program-tests.ts';
import { receiverFile } from '../support/receiver-programs.ts';

const FIXED_CLOCK = `
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
    const fixedClock = join(folder, 'fixed-clock');
    writeFileSync(join(folder, 'fixed_clock.go'), FIXED_CLOCK);
    const source = receiverFile('receiver.go');
    const go = (...args: readonly string[]): unknown => execFileSync('go', args, { cwd: folder, stdio: 'pipe' });
    go('vet', source);
    go('build', '-o', program, source);
    // All sources must be in one folder.
    execFileSync('cp', [source, folder]);
    go('build', '-o', fixedClock, 'receiver.go', 'fixed_clock.go');
    return {
      command: () => [program],
      commandAt: (_port, epochSeconds) => [fixedClock, String(epochSeconds)],
    };
  },
});
