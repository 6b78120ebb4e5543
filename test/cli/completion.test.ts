import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { sallyport } from '../support/command.ts';
import { lacking } from '../support/programs.ts';
import { temporaryFolder } from '../support/service.ts';

type Shell = 'bash' | 'zsh' | 'fish';

/** The completions of a command line whose last word is begun. */
const COMPLETE: Readonly<Record<Shell, (file: string, words: readonly string[]) => string>> = {
  bash: (file, words) =>
    `source ${file}; COMP_WORDS=(${shown(words)}); COMP_CWORD=${words.length - 1}; _sallyport; printf '%s\\n' "\${COMPREPLY[@]}"`,
  // Calls the function as zsh's own `bashcompinit` does.
  zsh: (file, words) =>
    `source ${file}; emulate sh; setopt kshglob noshglob braceexpand; COMP_WORDS=(${shown(words)}); ` +
    `COMP_CWORD=${words.length - 1}; _sallyport; printf '%s\\n' "\${COMPREPLY[@]}"`,
  fish: (file, words) => `source ${file}; complete -C '${words.join(' ')}'`,
};

function shown(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(' ');
}

async function completions(t: TestContext, shell: Shell, ...words: string[]): Promise<string[]> {
  const { status, stdout } = await sallyport(['completion', shell]);
  assert.equal(status, 0);
  const folder = temporaryFolder(t);
  const file = join(folder, 'completion');
  writeFileSync(file, stdout);
  const quiet = shell === 'fish' ? ['--no-config'] : shell === 'zsh' ? ['-f'] : ['--norc'];
  const script = COMPLETE[shell](file, ['sallyport', ...words]);
  const env = { ...process.env, HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
  const output = execFileSync(shell, [...quiet, '-c', script], { encoding: 'utf8', env });
  return (
    output
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split('\t')[0] ?? '')
      // zsh itself drops the candidates that do not begin with the word.
      .filter((candidate) => candidate.startsWith(words.at(-1) ?? ''))
  );
}

for (const shell of ['bash', 'zsh', 'fish'] as const) {
  describe(`the completion script of ${shell}`, { skip: lacking(shell) }, () => {
    it('completes groups, commands and options', async (t) => {
      assert.deepEqual(await completions(t, shell, 'webh'), ['webhook']);
      assert.deepEqual(await completions(t, shell, 'webhook', 'cr'), ['create']);
      assert.deepEqual(await completions(t, shell, 'webhook', 'create', '--standard'), ['--standard-webhooks']);
      assert.deepEqual(await completions(t, shell, 'serve', '--trusted'), ['--trusted-proxies']);
    });

    it('completes the commands and the options of a command that has others below it', async (t) => {
      assert.deepEqual(await completions(t, shell, 'backup', 'ver'), ['verify']);
      assert.ok((await completions(t, shell, 'backup', '--with')).includes('--with-master-key'));
    });
  });
}

it('another shell is refused', async () => {
  const { status, stderr } = await sallyport(['completion', 'tcsh']);
  assert.equal(status, 2);
  assert.match(stderr, /<shell> must be one of bash, zsh, fish/);
});
