/** GnuPG as a shell script would use it: a process for each message. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { output } from './processes.ts';
import { subfolder } from './work-folder.ts';

/** Answers a function that encrypts a file so many times, and how long that took in milliseconds. */
export async function gpgLoop(
  folder: string,
  publicKey: string,
  bodyFile: string,
): Promise<(count: number) => Promise<number>> {
  const home = subfolder(folder, 'gnupg');
  const keyFile = join(folder, 'key.asc');
  writeFileSync(keyFile, publicKey);
  const gpg = (...args: readonly string[]): Promise<string> =>
    output('gpg', ['--batch', '--quiet', '--no-autostart', '--homedir', home, ...args]);
  await gpg('--import', keyFile);
  const encrypting = ['--trust-model', 'always', '--recipient', 'bench@example.com', '--compress-algo', 'none'];
  return async (count) => {
    const startedAt = performance.now();
    for (let n = 0; n < count; n += 1)
      await gpg(...encrypting, '--output', '/dev/null', '--yes', '--encrypt', bodyFile);
    return performance.now() - startedAt;
  };
}
