import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { sallyport } from '../support/command.ts';
import { lacking } from '../support/programs.ts';
import { temporaryFolder } from '../support/service.ts';

type Shell = 'bash' | 'zsh' | 'fish';

/** How a shell is called, and what it runs once before it completes, with the script in `file`. */
const SHELLS: Readonly<Record<Shell, { readonly options: readonly string[]; begin(file: string): string }>> = {
  bash: { options: ['--norc'], begin: (file) => `source ${file}` },
  // Calls the function as zsh's own `bashcompinit` does.
  zsh: {
    options: ['-f'],
    begin: (file) => `source ${file}; emulate sh; setopt kshglob noshglob braceexpand`,
  },
  fish: { options: ['--no-config'], begin: (file) => `source ${file}` },
};

/** Prints the completions of a command line whose last word is begun, each on a line. */
function completing(shell: Shell, words: readonly string[]): string {
  if (shell === 'fish') return `complete -C '${words.join(' ')}'`;
  const given = words.map((word) => `'${word}'`).join(' ');
  return `COMP_WORDS=(${given}); COMP_CWORD=${words.length - 1}; _sallyport; printf '%s\\n' "\${COMPREPLY[@]}"`;
}

const END = '= end of the completions =';

/** The completions of each command line. One shell does all of them: zsh takes a second to load its functions. */
async function completions(t: TestContext, shell: Shell, lines: readonly string[]): Promise<string[][]> {
  const { status, stdout } = await sallyport(['completion', shell]);
  assert.equal(status, 0);
  const folder = temporaryFolder(t);
  const file = join(folder, 'completion');
  writeFileSync(file, stdout);
  const { options, begin } = SHELLS[shell];
  const asked = lines.map((line) => ['sallyport', ...line.split(' ')]);
  const script = [begin(file), ...asked.flatMap((words) => [completing(shell, words), `echo '${END}'`])].join('\n');
  const env = { ...process.env, HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
  const output = execFileSync(shell, [...options, '-c', script], { encoding: 'utf8', env });
  const answers = output.split(`${END}\n`);
  assert.equal(answers.length, lines.length + 1, output);
  return asked.map((words, at) =>
    (answers[at] ?? '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split('\t')[0] ?? '')
      // zsh itself drops the candidates that do not begin with the word.
      .filter((candidate) => candidate.startsWith(words.at(-1) ?? '')),
  );
}

const COMPLETED: readonly (readonly [line: string, completions: readonly string[]])[] = [
  ['webh', ['webhook']],
  ['webhook cr', ['create']],
  ['webhook create --standard', ['--standard-webhooks']],
  ['serve --trusted', ['--trusted-proxies']],
  // A command that has others below it, and options of its own.
  ['backup ver', ['verify']],
  ['backup --with', ['--with-master-key']],
];

for (const shell of ['bash', 'zsh', 'fish'] as const) {
  it(`the script of ${shell} completes groups, commands and options`, { skip: lacking(shell) }, async (t) => {
    const answers = await completions(
      t,
      shell,
      COMPLETED.map(([line]) => line),
    );
    assert.deepEqual(
      answers,
      COMPLETED.map(([, wanted]) => wanted),
    );
  });
}

it('another shell is refused', async () => {
  const { status, stderr } = await sallyport(['completion', 'tcsh']);
  assert.equal(status, 2);
  assert.match(stderr, /<shell> must be one of bash, zsh, fish/);
});
